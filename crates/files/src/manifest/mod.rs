//! Artifact manifests: `artifacts/<task>/artifact-manifest.json`, and the entries of a session's `artifact_registry`.

mod check;
mod format;
#[cfg(test)]
mod tests;

pub use check::check;
pub(crate) use format::METADATA;
pub use format::{ABOUT, Manifest, OBJECT, SHAPE, read, read_all, understand};
