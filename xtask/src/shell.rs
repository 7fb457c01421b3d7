//! Where the project is, how its files are listed, and how other programs are run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a chore returns: an error is one or more lines for a person.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// The root of the project.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// A command line as a program to run at the root, split at spaces.
pub(crate) fn command(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).current_dir(root());
    command
}

/// Whether a command line can be run and succeeds; its output is not shown.
pub(crate) fn succeeds(line: &str) -> bool {
    command(line).stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
}

/// Runs a program to its end with the terminal's output; an error says how it ended.
pub(crate) fn must_succeed(command: &mut Command) -> Outcome {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{program}` ended with {status}")),
        Err(error) => Err(format!("`{program}` could not be started: {error}")),
    }
}

/// The text of a file, by its path relative to the root.
pub(crate) fn read(path: &str) -> Outcome<String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

/// The files below a folder that have this extension, relative to the root and sorted. Build output and hidden folders
/// are left out; a folder that does not exist has no files.
pub(crate) fn files(folder: &str, extension: &str) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        if !folder.is_dir() {
            continue;
        }
        for path in entries(&folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) && path.is_file() {
                found.push(relative(&path));
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn entries(folder: &Path) -> Outcome<Vec<PathBuf>> {
    fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(|error| format!("{}: {error}", folder.display()))
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_listed_relative_to_the_root_and_sorted() {
        let found = files("xtask", "rs").unwrap();
        assert!(found.contains(&"xtask/src/shell.rs".to_owned()), "{found:?}");
        assert!(found.is_sorted());
        assert_eq!(files("no/such/folder", "rs"), Ok(Vec::new()));
    }

    #[test]
    fn a_program_that_fails_or_is_missing_is_an_error() {
        assert_eq!(must_succeed(&mut command("true")), Ok(()));
        assert_eq!(must_succeed(&mut command("false")), Err("`false` ended with exit status: 1".to_owned()));
        let missing = must_succeed(&mut command("no-such-program-here"));
        assert!(missing.is_err_and(|e| e.starts_with("`no-such-program-here` could not be started: ")));
        assert!(succeeds("true"));
        assert!(!succeeds("false"));
        assert!(!succeeds("no-such-program-here"));
    }
}
