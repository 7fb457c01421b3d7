//! Opens a file in the browser that the user prefers. It is no worker: nothing waits for it, and it outlives this program.

#![expect(clippy::disallowed_methods, reason = "this crate starts processes")]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::probe::probe;

/// The programs that know which browser that is.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

/// Opens a file with the first opener in a `PATH`, in this environment. Whether there was one.
pub fn browse(file: &Path, environment: &[(String, String)]) -> io::Result<bool> {
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
    let Some(opener) = OPENERS.iter().find_map(|name| probe(name, path, Path::new("/")).ok()) else { return Ok(false) };
    let mut command = Command::new(opener);
    command.arg(file).env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn()?;
    // It ends when the browser has the file. The thread waits for it, so that it leaves no zombie.
    std::thread::spawn(move || child.wait());
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn first_opener_in_path_is_given_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let (seen, opener) = (dir.path().join("seen"), dir.path().join("open"));
        let text = format!("#!/bin/sh\nprintf %s \"$1\" > {0}.new && /bin/mv {0}.new {0}\n", seen.display());
        std::fs::write(&opener, text).unwrap();
        let none = [("PATH".to_owned(), dir.path().display().to_string())];
        assert!(!browse(Path::new("/page.html"), &none).unwrap(), "it cannot be started");
        std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert!(browse(Path::new("/page.html"), &none).unwrap());
        let latest = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !seen.exists() {
            assert!(std::time::Instant::now() < latest, "it was not started");
            std::thread::yield_now();
        }
        assert_eq!(std::fs::read_to_string(&seen).unwrap(), "/page.html");
    }
}
