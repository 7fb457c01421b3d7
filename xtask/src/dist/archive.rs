//! Archives that are the same on every machine: sorted, owned by root, with the time of the last commit.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Outcome, command, must_succeed};

/// Packs a folder with its name.
pub(crate) fn tar_gz(folder: &Path, to: &Path) -> Outcome<PathBuf> {
    let (parent, name) = (folder.parent().unwrap_or(folder), folder.file_name().unwrap_or_default());
    pack(parent, name.as_ref(), to)
}

/// Packs what is at a path in a folder, by that path.
pub(crate) fn pack(folder: &Path, path: &Path, to: &Path) -> Outcome<PathBuf> {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--format=gnu", "--owner=root:0", "--group=root:0", "--mode=u=rwX,go=rX"]);
    tar.args([format!("--mtime=@{}", time()), "--use-compress-program=gzip -n".to_owned()]);
    must_succeed(tar.arg("--directory").arg(folder).arg("--create").arg("--file").arg(to).arg(path))?;
    Ok(to.to_owned())
}

/// Seconds since 1970: `SOURCE_DATE_EPOCH`, else when the last commit was made.
fn time() -> u64 {
    let said = std::env::var("SOURCE_DATE_EPOCH").ok();
    let commit =
        || command("git log -1 --format=%ct").output().ok().and_then(|output| String::from_utf8(output.stdout).ok());
    said.or_else(commit).and_then(|seconds| seconds.trim().parse().ok()).unwrap_or(0)
}
