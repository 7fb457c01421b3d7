//! What the command can be told that reaches into conversations with agents.

use clap::{Args as ClapArgs, Subcommand};

use super::options::Format;

#[derive(Debug, ClapArgs)]
pub(crate) struct Talk {
    /// What to do; without it, the conversations that go on are listed
    #[command(subcommand)]
    pub(crate) what: Option<TalkWhat>,

    /// How to print
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: Format,
}

/// What is done with a conversation.
#[derive(Debug, Subcommand)]
pub(crate) enum TalkWhat {
    /// List the conversations that go on, with what their agents ask
    List,
    /// Say something to the agent: now if it can be heard while it works, else when its turn is over
    Send {
        /// The task that it works on
        #[arg(value_name = "TASK")]
        task: String,
        /// What to say
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
    },
    /// Stop what the agent is doing; it then waits for `send`
    Interrupt {
        /// The task that it works on
        #[arg(value_name = "TASK")]
        task: String,
    },
    /// End the conversation; without a report the task has failed
    Close {
        /// The task that it is about
        #[arg(value_name = "TASK")]
        task: String,
    },
    /// Let the agent do what it asked for
    Allow(Answer),
    /// Do not let the agent do what it asked for; it goes on without it
    Deny(Answer),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Answer {
    /// The task that the agent works on
    #[arg(value_name = "TASK")]
    pub(crate) task: String,
    /// Which question, by its number; without it, the oldest
    #[arg(long, value_name = "N")]
    pub(crate) question: Option<u64>,
}
