//! What others read of what was registered: beside the files of each task, in the formats of a session.

use std::sync::OnceLock;

use team_executor_core::Artifact;
use team_executor_files::json::quote;
use team_executor_files::{manifest, write};
use team_executor_store::{DiskError, Durability, RealDisk, ReplaceError, replace};

use super::places::{Place, Roots};

/// Everything that a task delivered, as it was checked: where one manifest is not enough, or the worker's own has the name.
const CHECKED: &str = "artifact-manifest.checked.json";
/// The field that marks a manifest of ours, and what it says.
pub(super) const MARK: &str = "checked_by";
pub(super) const US: &str = "team-executor";

/// Whether a file in the folder of an attempt is a manifest and not delivered itself.
pub(crate) fn is_manifest(name: &str) -> bool {
    name == manifest::NAME || name == CHECKED
}

/// Writes what is known of the artifacts of an attempt into its own folder. Nothing is left there where nothing is.
pub(super) fn write_for(
    own: &str,
    artifacts: &[Artifact],
    has_manifest: bool,
    roots: &Roots,
) -> Result<(), ReplaceError> {
    let (name, text) = match artifacts {
        [] => return Ok(()),
        [one] if !has_manifest => {
            static MARKED: OnceLock<String> = OnceLock::new();
            let marked = MARKED.get_or_init(|| format!("{{{}: {}}}", quote(MARK), quote(US)));
            (manifest::NAME, write::manifest(Some(marked), one))
        }
        all => (CHECKED, write::artifact_registry(all)),
    };
    let folder = match RealDisk::open_folder(&roots.whole(Place::Run, own)) {
        Ok(folder) => folder,
        Err(errno) => return Err(DiskError { action: "open", name: own.to_owned(), errno }.into()),
    };
    replace(&folder, name, text.as_bytes(), Durability::Rendered)
}
