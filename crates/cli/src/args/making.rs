//! What `init` can be told.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use team_executor_core::Complexity;
use team_executor_files::Dialect;
use team_executor_files::lifecycle::PIPELINES;
use team_executor_files::pipeline::naming::is_slug;

use super::options::{Format, made_parser};

/// What a new session is made of.
#[derive(Debug, ClapArgs)]
pub(crate) struct Init {
    /// What is asked for, in a sentence or more
    #[arg(value_name = "REQUIREMENT", required_unless_present = "from")]
    pub(crate) requirement: Option<String>,

    /// Which pipeline [default: full-lifecycle]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(PIPELINES), conflicts_with = "from")]
    pub(crate) pipeline: Option<String>,

    /// Take the tasks from a table (.csv, .json) or from spec-kit, Task Master, beads, a Claude Code task list or a Markdown check list
    #[arg(long, value_name = "PATH")]
    pub(crate) from: Option<PathBuf>,

    /// The tag of a Task Master file whose tasks are taken [default: master]
    #[arg(long, value_name = "NAME", requires = "from")]
    pub(crate) tag: Option<String>,

    /// How the session is written
    #[arg(long, value_name = "NAME", value_parser = made_parser(), default_value = "tc")]
    pub(crate) dialect: Dialect,

    /// How complex the work is; a run of `enhanced-parallel` finds out by itself unless given
    #[arg(long, value_name = "LEVEL", value_parser = complexity_parser(), conflicts_with = "from")]
    pub(crate) complexity: Option<Complexity>,

    /// A specialist who joins, whatever the requirement says; may be given several times
    #[arg(long, value_name = "NAME", conflicts_with = "from")]
    pub(crate) role: Vec<String>,

    /// A short name for the session [default: the first words of the requirement]
    #[arg(long, value_name = "SLUG", value_parser = slug)]
    pub(crate) name: Option<String>,

    /// The folder of the session [default: a new one in .workflow/.team/]
    #[arg(long, value_name = "PATH")]
    pub(crate) dir: Option<PathBuf>,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

fn slug(text: &str) -> Result<String, String> {
    let expected = || "small letters and digits with `-` between them are expected, for instance auth-login".to_owned();
    is_slug(text).then(|| text.to_owned()).ok_or_else(expected)
}

fn complexity_parser() -> impl clap::builder::TypedValueParser<Value = Complexity> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let words = PossibleValuesParser::new(Complexity::WORDS);
    words.try_map(|word| Complexity::from_word(&word).ok_or("no such level"))
}
