//! The npm packages: `team-executor` with a launcher, and one with the binary for this machine, which npm picks among the optional
//! dependencies. No script runs at installation.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::stage::{BINARY, LICENCES};
use super::{Release, archive, copy, write};
use crate::shell::{Outcome, root};

/// The architectures that have a package, in the words of Node.
const ARCHITECTURES: [&str; 2] = ["x64", "arm64"];
/// Starts the binary of this machine.
const LAUNCHER: &str = include_str!("launcher.js");

/// Makes both packages of a staged folder.
pub(crate) fn make(staged: &Path, release: &Release, scratch: &Path, to: &Path) -> Outcome<[PathBuf; 2]> {
    let (_, architecture) = release.architecture()?;
    let names = ARCHITECTURES.map(|architecture| (of(architecture), json!(release.version)));
    let launcher = json!({
        "bin": {"team-executor": "bin/team-executor.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": names.into_iter().collect::<serde_json::Map<_, _>>(),
    });
    let folder = scratch.join("npm-launcher/package");
    write(&folder.join("bin/team-executor.js"), LAUNCHER)?;
    copy(&root().join("README.md"), &folder.join("README.md"))?;
    let launcher = package("team-executor", launcher, &folder, release, to)?;

    let platform = json!({"os": ["linux"], "cpu": [architecture], "libc": ["glibc"], "preferUnplugged": true});
    let folder = scratch.join("npm-platform/package");
    copy(&staged.join(BINARY), &folder.join("bin/team-executor"))?;
    copy(&staged.join(LICENCES[2]), &folder.join(LICENCES[2]))?;
    Ok([launcher, package(&of(architecture), platform, &folder, release, to)?])
}

fn of(architecture: &str) -> String {
    format!("@team-executor/linux-{architecture}")
}

/// Writes the manifest of a package and packs its folder.
fn package(name: &str, mut manifest: Value, folder: &Path, release: &Release, to: &Path) -> Outcome<PathBuf> {
    manifest["name"] = json!(name);
    manifest["version"] = json!(release.version);
    manifest["description"] = json!("Runs teams of coding agents over the dependency graph that a planner wrote");
    manifest["license"] = json!("MIT OR Apache-2.0");
    write(&folder.join("package.json"), format!("{manifest:#}\n"))?;
    for licence in &LICENCES[..2] {
        copy(&root().join(licence), &folder.join(licence))?;
    }
    let file = name.trim_start_matches('@').replace('/', "-");
    archive::tar_gz(folder, &to.join(format!("{file}-{}.tgz", release.version)))
}
