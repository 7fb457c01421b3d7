//! The options of `init`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use team_executor_core::Complexity;
use team_executor_files::Dialect;
use team_executor_files::lifecycle::PIPELINES;
use team_executor_files::pipeline::naming::is_slug;

use super::options::{Format, made_parser};

/// The contents of a new session.
#[derive(Debug, ClapArgs)]
pub(crate) struct Init {
    /// The goal, in one or more sentences
    #[arg(value_name = "REQUIREMENT", required_unless_present = "from")]
    pub(crate) requirement: Option<String>,

    /// Pipeline [default: full-lifecycle]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(PIPELINES), conflicts_with = "from")]
    pub(crate) pipeline: Option<String>,

    /// Import tasks: a table (.csv, .json), spec-kit, Task Master, beads, a Claude Code task list, a Markdown check list
    #[arg(long, value_name = "PATH")]
    pub(crate) from: Option<PathBuf>,

    /// Tag to import from a Task Master file [default: master]
    #[arg(long, value_name = "NAME", requires = "from")]
    pub(crate) tag: Option<String>,

    /// Dialect of the session
    #[arg(long, value_name = "NAME", value_parser = made_parser(), default_value = "tc")]
    pub(crate) dialect: Dialect,

    /// Complexity of the work [default: the smallest team; enhanced-parallel: set by its first tasks]
    #[arg(long, value_name = "LEVEL", value_parser = complexity_parser(), conflicts_with = "from")]
    pub(crate) complexity: Option<Complexity>,

    /// Add this specialist role; repeatable
    #[arg(long, value_name = "NAME", conflicts_with = "from")]
    pub(crate) role: Vec<String>,

    /// Short name of the session [default: the first words of the requirement]
    #[arg(long, value_name = "SLUG", value_parser = slug)]
    pub(crate) name: Option<String>,

    /// Folder of the session [default: a new one in .workflow/.team/]
    #[arg(long, value_name = "PATH")]
    pub(crate) dir: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

fn slug(text: &str) -> Result<String, String> {
    let expected = || "expected lowercase letters and digits with `-` between them, for instance auth-login".to_owned();
    is_slug(text).then(|| text.to_owned()).ok_or_else(expected)
}

fn complexity_parser() -> impl clap::builder::TypedValueParser<Value = Complexity> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let words = PossibleValuesParser::new(Complexity::WORDS);
    words.try_map(|word| Complexity::from_word(&word).ok_or("no such level"))
}
