//! The YAML between two `---` at the top of a markdown file. Says what is written there, not whether it is right.

mod parse;
mod split;
#[cfg(test)]
mod tests;
mod yaml;

pub use parse::parse;
pub use split::{Split, split};
pub use yaml::{Entry, FrontMatter, MAX_BYTES, MAX_DEPTH, Node, Yaml, YamlError, YamlErrorKind};
