//! `cargo xtask dist`: makes packages of the program for this machine. An archive, a Debian package and two npm packages, with their
//! checksums beside them. Nothing is installed or sent anywhere.

mod archive;
mod deb;
mod licences;
mod npm;
mod stage;

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::shell::{Outcome, command, must_succeed, read, root, succeeds};

/// What to package.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// Package this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Folder for the packages [default: dist in the build folder]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

/// Programs that are needed, each with the Debian package that has it.
const TOOLS: [(&str, &str); 4] =
    [("tar --version", "tar"), ("gzip --version", "gzip"), ("strip --version", "binutils"), ("rustc -vV", "rustup")];

/// The version and the machine that a package is for.
#[derive(Debug, Clone)]
pub(crate) struct Release {
    pub(crate) version: String,
    pub(crate) target: String,
}

impl Release {
    /// The name of the folder in the archive, and of the archive.
    pub(crate) fn name(&self) -> String {
        format!("team-executor-{}-{}", self.version, self.target)
    }

    /// The architecture in the words of Debian and of Node.
    pub(crate) fn architecture(&self) -> Outcome<(&'static str, &'static str)> {
        match self.target.split('-').next() {
            Some("x86_64") => Ok(("amd64", "x64")),
            Some("aarch64") => Ok(("arm64", "arm64")),
            _ => Err(format!("there are no packages for {}", self.target)),
        }
    }
}

/// Makes the packages.
pub(crate) fn run(choice: &Choice) -> Outcome {
    let missing: Vec<_> = TOOLS.iter().filter(|(probe, _)| !succeeds(probe)).map(|(_, package)| *package).collect();
    if !missing.is_empty() {
        return Err(format!("packaging needs {}\nhelp: apt-get install {}", missing.join(", "), missing.join(" ")));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let to = choice.to.clone().unwrap_or_else(|| target.join("dist"));
    fs::create_dir_all(&to).map_err(|error| at(&to, &error))?;
    let binary = match &choice.binary {
        Some(binary) => binary.clone(),
        None => {
            must_succeed(&mut command("cargo build --profile dist --package team-executor"))?;
            target.join("dist/team-executor")
        }
    };
    let release = Release { version: version()?, target: host()? };
    let scratch = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
    let staged = stage::stage(&binary, &release, &scratch.path().join(release.name()))?;
    let mut made = vec![archive::tar_gz(&staged, &to.join(format!("{}.tar.gz", release.name())))?];
    made.push(deb::make(&staged, &release, scratch.path(), &to)?);
    made.extend(npm::make(&staged, &release, scratch.path(), &to)?);
    write(&to.join("SHA256SUMS"), &checksums(&made)?)?;
    for file in &made {
        let bytes = fs::metadata(file).map_err(|error| at(file, &error))?.len();
        println!("{} ({:.1} MB)", file.display(), bytes as f64 / 1e6);
    }
    println!("{}", to.join("SHA256SUMS").display());
    Ok(())
}

/// Lines that `sha256sum --check` understands.
fn checksums(files: &[PathBuf]) -> Outcome<String> {
    let mut lines: Vec<String> = Vec::new();
    for file in files {
        let bytes = fs::read(file).map_err(|error| at(file, &error))?;
        let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        lines.push(format!("{digest}  {}\n", file.file_name().unwrap_or_default().to_string_lossy()));
    }
    lines.sort_by(|a, b| a[64..].cmp(&b[64..]));
    Ok(lines.concat())
}

fn version() -> Outcome<String> {
    let manifest: toml::Table = read("Cargo.toml")?.parse().map_err(|error| format!("Cargo.toml: {error}"))?;
    let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
    let version = package.and_then(|package| package.get("version")).and_then(toml::Value::as_str);
    version.map(ToOwned::to_owned).ok_or_else(|| "Cargo.toml has no version".to_owned())
}

/// The machine that the compiler builds for.
fn host() -> Outcome<String> {
    let said = command("rustc -vV").output().map_err(|error| format!("rustc: {error}"))?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(ToOwned::to_owned).ok_or_else(|| "rustc does not say what it builds for".to_owned())
}

/// Writes a file, with the folders above it.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> Outcome {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).and_then(|()| fs::write(path, text)).map_err(|error| at(path, &error))
}

/// Copies a file with its permissions, and makes the folders above it.
pub(crate) fn copy(from: &Path, to: &Path) -> Outcome {
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent).map_err(|error| at(parent, &error))?;
    fs::copy(from, to).map(drop).map_err(|error| at(from, &error))
}

/// An error of a file, with its path.
pub(crate) fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binstall_metadata_names_the_archive_that_is_made() {
        let release = Release { version: "1.2.3".to_owned(), target: "x86_64-unknown-linux-gnu".to_owned() };
        let manifest: toml::Table = read("crates/cli/Cargo.toml").unwrap().parse().unwrap();
        let metadata = &manifest["package"]["metadata"]["binstall"];
        let filled = |key: &str| {
            let text = metadata[key].as_str().unwrap().replace("{ version }", &release.version);
            text.replace("{ target }", &release.target)
                .replace("{ bin }", "team-executor")
                .replace("{ binary-ext }", "")
        };
        assert!(filled("pkg-url").ends_with(&format!("/{}.tar.gz", release.name())), "{}", filled("pkg-url"));
        assert_eq!(filled("bin-dir"), format!("{}/{}", release.name(), stage::BINARY));
        assert_eq!(filled("pkg-fmt"), "tgz");
    }

    #[test]
    fn architectures_without_packages_are_refused() {
        let release = |target: &str| Release { version: "1".to_owned(), target: target.to_owned() };
        assert_eq!(release("aarch64-unknown-linux-gnu").architecture(), Ok(("arm64", "arm64")));
        let refused = release("s390x-unknown-linux-gnu").architecture();
        assert_eq!(refused, Err("there are no packages for s390x-unknown-linux-gnu".to_owned()));
    }
}
