//! What can be demanded of what a worker delivers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use team_executor_core::ArtifactKind;

/// What is demanded at one level: of a task, of a role, or of one type of artifacts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checks {
    /// Files that must be delivered, as they are named in the worker's own folder.
    pub files: Option<Vec<String>>,
    /// Whether each file must have something in it.
    pub not_empty: Option<bool>,
    /// The JSON Schema that each JSON file must follow, absolute.
    pub schema: Option<PathBuf>,
    /// The headings that each markdown file must have.
    pub sections: Option<Vec<String>>,
    /// A command that must end well.
    pub verify: Option<Verify>,
    /// How many bytes each file may have.
    pub max_bytes: Option<u64>,
    /// How long it may take to hash all files, in milliseconds.
    pub max_ms: Option<u64>,
}

/// How many bytes a file may have, unless that is set.
pub(crate) const MAX_BYTES: u64 = 16 << 30;
/// How long it may take to hash all files of a delivery, unless that is set.
pub(crate) const MAX_MS: u64 = 5 * 60 * 1000;

/// A command that judges what was delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verify {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take, in milliseconds.
    pub limit_ms: Option<u64>,
}

/// Everything that is demanded of the artifacts of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demands {
    /// Of all of them.
    pub own: Checks,
    /// Of those of one type, where nothing is demanded of all.
    pub kinds: BTreeMap<ArtifactKind, Checks>,
}

impl Checks {
    /// These, and what they leave open from others.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            files: self.files.clone().or_else(|| other.files.clone()),
            not_empty: self.not_empty.or(other.not_empty),
            schema: self.schema.clone().or_else(|| other.schema.clone()),
            sections: self.sections.clone().or_else(|| other.sections.clone()),
            verify: self.verify.clone().or_else(|| other.verify.clone()),
            max_bytes: self.max_bytes.or(other.max_bytes),
            max_ms: self.max_ms.or(other.max_ms),
        }
    }
}

impl Demands {
    /// These, and the files that a plan names, unless others are demanded.
    #[must_use]
    pub fn or_files(mut self, files: &[String]) -> Self {
        if !files.is_empty() {
            self.own.files.get_or_insert_with(|| files.to_vec());
        }
        self
    }

    /// Whether something is demanded even of a task that delivers nothing.
    pub(crate) fn of_nothing(&self) -> bool {
        self.own.verify.is_some() || self.own.files.as_ref().is_some_and(|files| !files.is_empty())
    }

    /// What is demanded of a file of some type.
    pub(super) fn for_kind(&self, kind: ArtifactKind) -> Checks {
        self.kinds.get(&kind).map_or_else(|| self.own.clone(), |of_kind| self.own.or(of_kind))
    }

    /// How many bytes a file of some type may have, and how long it may take to hash all of them.
    pub(super) fn bounds(&self, kind: ArtifactKind) -> (u64, Duration) {
        let Checks { max_bytes, max_ms, .. } = self.for_kind(kind);
        (max_bytes.unwrap_or(MAX_BYTES), Duration::from_millis(max_ms.unwrap_or(MAX_MS)))
    }

    /// The commands that judge artifacts of these types, each once.
    pub(super) fn commands(&self, kinds: impl IntoIterator<Item = ArtifactKind>) -> Vec<Verify> {
        if let Some(verify) = &self.own.verify {
            return vec![verify.clone()];
        }
        let mut commands = Vec::new();
        for verify in kinds.into_iter().filter_map(|kind| self.kinds.get(&kind)?.verify.as_ref()) {
            if !commands.contains(verify) {
                commands.push(verify.clone());
            }
        }
        commands
    }

    /// Every command that may be run.
    pub fn all_commands(&self) -> impl Iterator<Item = &Verify> {
        self.levels().filter_map(|checks| checks.verify.as_ref())
    }

    /// Every schema that may be used.
    pub fn all_schemas(&self) -> impl Iterator<Item = &PathBuf> {
        self.levels().filter_map(|checks| checks.schema.as_ref())
    }

    fn levels(&self) -> impl Iterator<Item = &Checks> {
        std::iter::once(&self.own).chain(self.kinds.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verify(program: &str) -> Option<Verify> {
        Some(Verify { command: vec![program.to_owned()], limit_ms: None })
    }

    #[test]
    fn general_checks_come_before_checks_of_a_type() {
        let code = Checks { verify: verify("build"), not_empty: Some(false), ..Checks::default() };
        let kinds = BTreeMap::from([
            (ArtifactKind::Code, code.clone()),
            (ArtifactKind::Test, Checks { verify: verify("build"), ..Checks::default() }),
            (ArtifactKind::Report, Checks { verify: verify("read"), ..Checks::default() }),
        ]);
        let mut demands = Demands { own: Checks::default(), kinds };
        assert!(!demands.of_nothing());
        assert_eq!(demands.for_kind(ArtifactKind::Code), code);
        assert_eq!(demands.for_kind(ArtifactKind::Document), Checks::default());
        let commands = |demands: &Demands| -> Vec<String> {
            demands.commands(ArtifactKind::ALL.iter().copied()).into_iter().map(|one| one.command[0].clone()).collect()
        };
        assert_eq!(commands(&demands), ["build", "read"]);
        demands.own = Checks { verify: verify("test"), ..Checks::default() };
        assert_eq!(commands(&demands), ["test"]);
        assert_eq!(demands.for_kind(ArtifactKind::Code).not_empty, Some(false));
        assert!(demands.of_nothing());
    }
}
