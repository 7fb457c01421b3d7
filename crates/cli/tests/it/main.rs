//! The built binary, from outside.

#![expect(clippy::disallowed_methods, reason = "tests plant files")]
#![expect(clippy::expect_used, clippy::panic, reason = "a test stops at the first surprise")]

mod agents;
mod artifacts;
mod attention;
mod background;
mod budgets;
mod callers;
mod ci_reports;
mod coding_agents;
mod config;
mod conversations;
mod corpus;
mod crash;
mod csv;
mod data;
mod departures;
mod disk;
mod doctor;
mod doors;
mod environment;
mod estimates;
mod events;
mod everyday;
mod fallbacks;
mod faults;
mod fixtures;
mod help;
mod hooks;
mod import;
mod init;
mod install;
mod kept;
mod keys;
mod lifecycle;
mod log;
mod logs;
#[cfg(feature = "nats")]
mod machines;
mod mcp;
mod output;
mod pasted;
mod pinned;
mod planners;
mod prune;
mod readme;
mod refusals;
mod rehearse;
mod reports;
mod run;
mod schemas;
mod screen;
mod seen;
mod sentences;
mod serve;
mod settings;
mod status;
mod timeline;
mod trees;
mod tried;
mod tutorial;
mod ui;
mod usage;
mod verdict;
mod which;
