//! The stable names of everything that can be found in a session. Scripts match on these, so a name is never reused.

/// Declares the codes with their names and what each means.
macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// What sort of finding it is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[$doc])* $variant),+
        }

        impl Code {
            /// Every code, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The stable name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }
    };
}

codes! {
    /// The command line asks for something that does not exist.
    Usage = "usage",
    /// No session was named.
    SessionRequired = "session-required",
    /// There is no such folder.
    SessionNotFound = "session-not-found",
    /// The folder holds nothing that any dialect knows.
    NoSession = "no-session",
    /// A file that the dialect needs is not there.
    FileMissing = "file-missing",
    /// A file is there and cannot be read.
    FileUnreadable = "file-unreadable",
    /// A file is larger than its limit.
    FileTooLarge = "file-too-large",
    /// A path or a link leads out of the session folder.
    LeavesSession = "leaves-session",
    /// A file is not in its format, or not UTF-8.
    Corrupt = "corrupt",
    /// A key stands twice in one object.
    DuplicateKey = "duplicate-key",
    /// A required field is missing.
    MissingField = "missing-field",
    /// A field has a value that it cannot have.
    InvalidField = "invalid-field",
    /// There is no role-specs folder, or nothing in it.
    RoleSpecsMissing = "role-specs-missing",
    /// A role has no instructions.
    RoleSpecNotFound = "role-spec-not-found",
    /// A role-spec has no front matter, or one that cannot be read.
    FrontMatter = "front-matter",
    /// A role-spec lacks one of its phases.
    PhaseMissing = "phase-missing",
    /// An id that cannot be one.
    InvalidId = "invalid-id",
    /// One id for two things.
    DuplicateId = "duplicate-id",
    /// A dependency on a task that does not exist.
    UnknownDependency = "unknown-dependency",
    /// A task that depends on itself.
    SelfDependency = "self-dependency",
    /// Tasks that depend on each other.
    Cycle = "cycle",
    /// A role that no rule can resolve, or that does not exist.
    UnknownRole = "unknown-role",
    /// A task that is described but not placed in the graph.
    UnplacedTask = "unplaced-task",
    /// A task that does not say what to do.
    NothingToDo = "nothing-to-do",
    /// More tasks than the limit.
    TooManyTasks = "too-many-tasks",
    /// An artifact that breaks a rule of the registry.
    InvalidArtifact = "invalid-artifact",
    /// A discovery that says something else than the task's state.
    Contradiction = "contradiction",
    /// A byte order mark.
    ByteOrderMark = "byte-order-mark",
    /// Half a character in an escape.
    LoneSurrogate = "lone-surrogate",
    /// A field under another name.
    FieldAlias = "field-alias",
    /// A field in another form.
    OtherForm = "other-form",
    /// A word that stands for another.
    OtherWord = "other-word",
    /// A field that the format requires and that can be done without.
    DefaultUsed = "default-used",
    /// A time that is not written as the format says.
    OddTime = "odd-time",
    /// A CSV table that is not quite one.
    OddTable = "odd-table",
    /// A dependency that is listed twice.
    RepeatedDependency = "repeated-dependency",
    /// A reference for context that names no task.
    UnknownContext = "unknown-context",
    /// A wave that the dependencies contradict.
    WaveOrder = "wave-order",
    /// State that the rules of the format do not allow, such as a completed task without findings.
    IncompleteState = "incomplete-state",
    /// Two files of one session that disagree.
    Disagreement = "disagreement",
    /// A line of a log that cannot be read.
    SkippedLine = "skipped-line",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
    }
}
