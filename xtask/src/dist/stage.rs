//! The folder that all packages are made of: the stripped binary, manual pages, completions and licences.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Release, at, copy, licences, write};
use crate::reference::{paths, printed};
use crate::shell::{Outcome, must_succeed, root};

/// The binary in the folder.
pub(crate) const BINARY: &str = "team-executor";
/// The manual pages in the folder.
pub(crate) const PAGES: &str = "man/man1";
/// Each completion script in the folder, its shell, and where Debian has it.
pub(crate) const COMPLETIONS: [(&str, &str, &str); 3] = [
    ("completions/team-executor.bash", "bash", "usr/share/bash-completion/completions/team-executor"),
    ("completions/_team-executor", "zsh", "usr/share/zsh/vendor-completions/_team-executor"),
    ("completions/team-executor.fish", "fish", "usr/share/fish/vendor_completions.d/team-executor.fish"),
];
/// The licence of the program and those of all that is linked into it.
pub(crate) const LICENCES: [&str; 3] = ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENSES.txt"];

/// Fills the folder.
pub(crate) fn stage(binary: &Path, release: &Release, folder: &Path) -> Outcome<PathBuf> {
    let program = folder.join(BINARY);
    copy(binary, &program)?;
    must_succeed(Command::new("strip").arg("--strip-all").arg(&program))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).map_err(|error| at(&program, &error))?;
    let said = printed(&program, ["--version"])?;
    if said.trim() != format!("team-executor {}", release.version) {
        return Err(format!("{} is {}, not {}", binary.display(), said.trim(), release.version));
    }
    for words in paths(&program)? {
        let page = printed(&program, ["man"].into_iter().chain(words.iter().map(String::as_str)))?;
        let name = [&["team-executor".to_owned()], &words[..]].concat().join("-");
        write(&folder.join(PAGES).join(format!("{name}.1")), page)?;
    }
    for (path, shell, _) in COMPLETIONS {
        write(&folder.join(path), printed(&program, ["completions", shell])?)?;
    }
    for name in ["README.md", "CHANGELOG.md", LICENCES[0], LICENCES[1]] {
        copy(&root().join(name), &folder.join(name))?;
    }
    write(&folder.join(LICENCES[2]), licences::third_party(&release.target)?)?;
    Ok(folder.to_owned())
}
