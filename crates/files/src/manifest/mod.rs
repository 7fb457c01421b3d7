//! Artifact manifests: `artifacts/<task>/artifact-manifest.json`, and the entries of a session's `artifact_registry`.

mod check;
mod format;
#[cfg(test)]
mod tests;

pub use check::{check, comparable, is_version};
pub(crate) use format::METADATA;
pub use format::{ABOUT, Manifest, NAME, OBJECT, SHAPE, read, read_all, understand};
