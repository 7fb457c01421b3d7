//! A browser for the tests of the page. Where this machine has none, Debian's is unpacked into the build folder, once: nothing is
//! installed, so it needs no root. A machine without apt, or without its servers, goes without.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::shell::{Outcome, command, must_succeed, succeeds};

/// What browsers are called, as the tests look for them too.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A download that takes longer is given up.
const MOST_SECONDS: u32 = 200;

/// Starts the browser that was unpacked, with the libraries that came with it.
const STARTER: &str = r#"#!/bin/sh
here=${0%/*}
for libs in "$here"/usr/lib/*-linux-gnu "$here"/usr/lib/*-linux-gnu/pulseaudio; do
    LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$libs
done
export LD_LIBRARY_PATH
exec "$here/usr/lib/chromium/chromium" "$@"
"#;

/// Finds a browser, or unpacks one; the line for a person.
pub(crate) fn ensure(target: &Path) -> Outcome<String> {
    if std::env::var_os("CHROMIUM").is_some() {
        return Ok("the one that CHROMIUM names".to_owned());
    }
    let is_here = |name: &&&str| succeeds(&format!("{name} --version"));
    if let Some(name) = NAMES.iter().find(is_here) {
        return Ok(format!("found {name}"));
    }
    unpacked(target, &download)
}

/// Fills `chromium` in a folder, unless that was done before.
fn unpacked(target: &Path, download: &dyn Fn(&Path) -> Outcome) -> Outcome<String> {
    let at = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let (lock, folder, scratch) = (target.join("chromium.lock"), target.join("chromium"), target.join("chromium.new"));
    fs::create_dir_all(target).map_err(|error| at(target, error))?;
    // Two that test at the same time download once.
    let held = File::create(&lock).map_err(|error| at(&lock, error))?;
    held.lock().map_err(|error| at(&lock, error))?;
    if folder.join("chromium").exists() {
        return Ok("unpacked before".to_owned());
    }
    if scratch.exists() {
        fs::remove_dir_all(&scratch).map_err(|error| at(&scratch, error))?;
    }
    fs::create_dir(&scratch).map_err(|error| at(&scratch, error))?;
    if let Err(reason) = download(&scratch) {
        fs::remove_dir_all(&scratch).map_err(|error| at(&scratch, error))?;
        return Ok(format!("left out, and so are the tests that need it: {reason}"));
    }
    let starter = scratch.join("chromium");
    let mut file = File::options();
    let file = file.write(true).create_new(true).mode(0o755).open(&starter);
    file.and_then(|mut file| file.write_all(STARTER.as_bytes())).map_err(|error| at(&starter, error))?;
    fs::rename(&scratch, &folder).map_err(|error| at(&folder, error))?;
    Ok("unpacked from Debian's packages".to_owned())
}

/// Lets apt download what this machine lacks for a browser, with lists of its own, and unpacks it.
fn download(folder: &Path) -> Outcome {
    if !succeeds("apt-get --version") || !succeeds("dpkg-deb --version") {
        return Err("apt is not here".to_owned());
    }
    let at = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let (lists, cache) = (folder.join("lists"), folder.join("cache"));
    for made in [lists.join("partial"), cache.join("archives/partial")] {
        fs::create_dir_all(&made).map_err(|error| at(&made, error))?;
    }
    let apt = |words: &str| {
        let mut apt = command(&format!(
            "timeout {MOST_SECONDS} apt-get -qq -o Debug::NoLocking=1 -o APT::Sandbox::User= -o Acquire::Retries=0 \
             -o Acquire::http::Timeout=15"
        ));
        apt.arg(format!("-oDir::State::Lists={}", lists.display())).arg(format!("-oDir::Cache={}", cache.display()));
        must_succeed(apt.args(words.split(' '))).map_err(|error| format!("apt cannot fetch it: {error}"))
    };
    apt("update")?;
    apt("install --yes --no-install-recommends --download-only chromium")?;
    let archives = cache.join("archives");
    for entry in fs::read_dir(&archives).map_err(|error| at(&archives, error))? {
        let archive = entry.map_err(|error| at(&archives, error))?.path();
        if archive.extension().is_some_and(|extension| extension == "deb") {
            must_succeed(command("dpkg-deb -x").arg(&archive).arg(folder))?;
        }
    }
    for used in [&lists, &cache] {
        fs::remove_dir_all(used).map_err(|error| at(used, error))?;
    }
    let program = folder.join("usr/lib/chromium/chromium");
    if program.exists() { Ok(()) } else { Err("the package has another form than expected".to_owned()) }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn browser_is_unpacked_once_and_can_be_started() {
        let target = tempfile::tempdir().unwrap();
        let calls = Cell::new(0);
        let download = |folder: &Path| {
            calls.set(calls.get() + 1);
            fs::create_dir_all(folder.join("usr/lib/chromium")).map_err(|error| error.to_string())
        };
        assert_eq!(unpacked(target.path(), &download), Ok("unpacked from Debian's packages".to_owned()));
        assert_eq!(unpacked(target.path(), &download), Ok("unpacked before".to_owned()));
        assert_eq!(calls.get(), 1);
        let mode = target.path().join("chromium/chromium").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111);
    }

    #[test]
    fn failed_download_is_said_and_leaves_nothing() {
        let target = tempfile::tempdir().unwrap();
        let download = |folder: &Path| {
            fs::write(folder.join("half"), "").map_err(|error| error.to_string())?;
            Err("apt is not here".to_owned())
        };
        let line = unpacked(target.path(), &download).unwrap();
        assert_eq!(line, "left out, and so are the tests that need it: apt is not here");
        let left: Vec<_> = fs::read_dir(target.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["chromium.lock"]);
    }
}
