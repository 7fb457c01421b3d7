//! The built binary, from outside.

#![expect(clippy::disallowed_methods, reason = "tests plant files")]
#![expect(clippy::expect_used, clippy::panic, reason = "a test stops at the first surprise")]

mod agents;
mod artifacts;
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
mod lifecycle;
mod log;
mod logs;
mod mcp;
mod output;
mod planners;
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
mod trees;
mod tried;
mod tutorial;
mod usage;
mod verdict;
mod which;
