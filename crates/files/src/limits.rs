//! How much of everything is accepted. Each limit is far above what planners write and far below what hurts.

/// Levels of nesting in JSON and YAML.
pub const JSON_DEPTH: usize = 64;
/// Bytes of small JSON files beside a session.
pub const SESSION_BYTES: u64 = 64 << 20;
/// Bytes of a file that holds a session or its tasks. What a run writes has no more.
pub const TASKS_BYTES: u64 = 256 << 20;
/// Bytes of a table, `tasks.csv` among them.
pub const CSV_BYTES: u64 = TASKS_BYTES;
/// Bytes of one role-spec.
pub const ROLE_SPEC_BYTES: u64 = 1 << 20;
/// Bytes of one discovery file.
pub const DISCOVERY_BYTES: u64 = 1 << 20;
/// Bytes of an append-only log of lines.
pub const LOG_BYTES: u64 = 256 << 20;
/// Bytes of one line of such a log.
pub const LOG_LINE_BYTES: usize = 1 << 20;
/// Tasks in one session.
pub const TASKS: usize = 1_000_000;
/// Names that are read from one folder.
pub const FOLDER_ENTRIES: usize = 100_000;
/// Problems of one kind that are shown for one file.
pub const SHOWN_PER_KIND: usize = 100;
/// Characters of a task's findings.
pub const FINDINGS_CHARS: usize = 500;
