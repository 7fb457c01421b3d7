//! Whether an agent may do what it asks for: what was settled decides, or a person does.

use std::path::{Component, Path};

use super::dialogue::{Act, Question};
use crate::adapters::Permissions;

/// Whether it may; nothing if a person is to be asked. Files that it changes must be below one of these folders.
pub(super) fn settled(permissions: Permissions, question: &Question, folders: &[&Path]) -> Option<bool> {
    let is_below = |path: &Path| {
        let climbs = path.components().any(|part| part == Component::ParentDir);
        !climbs && (path.is_relative() || folders.iter().any(|folder| path.starts_with(folder)))
    };
    // A worker may know the same folder by a link.
    let is_linked = |path: &Path| {
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        folder.zip(path.file_name()).is_some_and(|(folder, name)| is_below(&folder.join(name)))
    };
    let is_within = question.paths.iter().all(|path| is_below(path) || path.is_absolute() && is_linked(path));
    match (permissions, question.act) {
        (_, Act::Look) | (Permissions::Full, _) => Some(true),
        (Permissions::Edit, Act::Edit) => Some(is_within),
        (Permissions::Ask, _) => None,
        (_, Act::Given) => Some(true),
        (Permissions::Read | Permissions::Edit, _) => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::Value;

    use super::*;

    #[test]
    fn path_through_a_link_is_where_it_leads() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(place.join("run/agents")).unwrap();
        std::os::unix::fs::symlink(place.join("run"), place.join("link")).unwrap();
        let asked = |path: &str, folder: &str| {
            let paths = vec![place.join(path)];
            let (id, rest) = (Value::Null, Value::Null);
            let question = Question { id, tool: String::new(), what: String::new(), act: Act::Edit, paths, rest };
            settled(Permissions::Edit, &question, &[&place.join(folder)])
        };
        assert_eq!(asked("link/agents/result.json", "run/agents"), Some(true));
        assert_eq!(asked("link/agents/result.json", "run/artifacts"), Some(false));
        assert_eq!(asked("gone/agents/result.json", "run/agents"), Some(false));
    }

    #[test]
    fn settled_permission_decides_else_a_person() {
        let folders = [Path::new("/p"), Path::new("/run/artifacts")];
        let asked = |permissions, act, path: &str| {
            let paths = vec![PathBuf::from(path)];
            let question =
                Question { id: Value::Null, tool: String::new(), what: String::new(), act, paths, rest: Value::Null };
            settled(permissions, &question, &folders)
        };
        for permissions in [Permissions::Read, Permissions::Edit, Permissions::Full, Permissions::Ask] {
            assert_eq!(asked(permissions, Act::Look, "/etc/hosts"), Some(true));
        }
        assert_eq!(asked(Permissions::Read, Act::Edit, "/p/a"), Some(false));
        assert_eq!(asked(Permissions::Edit, Act::Other, "/p/a"), Some(false));
        assert_eq!(asked(Permissions::Read, Act::Given, "/p/a"), Some(true));
        assert_eq!(asked(Permissions::Ask, Act::Given, "/p/a"), None);
        assert_eq!(asked(Permissions::Full, Act::Other, "/etc/a"), Some(true));
        assert_eq!(asked(Permissions::Ask, Act::Edit, "/p/a"), None);
        for (path, may) in [
            ("/p/src/a.rs", true),
            ("src/a.rs", true),
            ("/run/artifacts/T/a.md", true),
            ("/pp/a", false),
            ("/etc/hosts", false),
            ("/p/../etc/hosts", false),
            ("../a", false),
        ] {
            assert_eq!(asked(Permissions::Edit, Act::Edit, path), Some(may), "{path}");
        }
    }
}
