//! The options of `talk`.

use clap::{Args as ClapArgs, Subcommand};

use super::options::Format;

#[derive(Debug, ClapArgs)]
pub(crate) struct Talk {
    /// Action; without it, list the open conversations
    #[command(subcommand)]
    pub(crate) what: Option<TalkWhat>,

    /// Output format
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: Format,
}

/// An action on a conversation.
#[derive(Debug, Subcommand)]
pub(crate) enum TalkWhat {
    /// List open conversations and the questions of their agents
    List,
    /// Send a message to the agent, now or after its turn
    Send {
        /// ID of the agent's task
        #[arg(value_name = "TASK")]
        task: String,
        /// Message
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
    },
    /// Interrupt the agent; it then waits for `send`
    Interrupt {
        /// ID of the agent's task
        #[arg(value_name = "TASK")]
        task: String,
    },
    /// End the conversation; without a report the task fails
    Close {
        /// ID of the agent's task
        #[arg(value_name = "TASK")]
        task: String,
    },
    /// Allow the action that the agent asked for
    Allow(Answer),
    /// Deny it; the agent continues without it
    Deny(Answer),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Answer {
    /// ID of the agent's task
    #[arg(value_name = "TASK")]
    pub(crate) task: String,
    /// Number of the question [default: the oldest]
    #[arg(long, value_name = "N")]
    pub(crate) question: Option<u64>,
}
