//! The Debian package: an `ar` archive of three files, made without Debian's own tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::stage::{BINARY, COMPLETIONS, LICENCES, PAGES};
use super::{Release, archive, at, copy, write};
use crate::shell::{Outcome, must_succeed};

/// Makes the package of a staged folder.
pub(crate) fn make(staged: &Path, release: &Release, scratch: &Path, to: &Path) -> Outcome<PathBuf> {
    let (architecture, _) = release.architecture()?;
    let data = scratch.join("deb-data");
    let size = lay_out(staged, &data)?;
    let binary = fs::read(staged.join(BINARY)).map_err(|error| at(staged, &error))?;
    let libc = libc(&binary).ok_or("the binary does not say which libc it needs")?;
    let control = format!(
        "Package: team-executor\nVersion: {}\nArchitecture: {architecture}\nMaintainer: team-executor developers <team-executor@localhost>\n\
         Installed-Size: {}\nDepends: libc6 (>= {libc}), libgcc-s1\nSection: devel\nPriority: optional\n\
         Description: Runs teams of coding agents over a dependency graph\n \
         A planner writes roles, tasks and dependencies as a folder of files.\n \
         team-executor runs them, and continues after any crash.\n",
        release.version,
        size.div_ceil(1024),
    );
    write(&scratch.join("deb-control/control"), control)?;
    let here = Path::new(".");
    let control = archive::pack(&scratch.join("deb-control"), here, &scratch.join("control.tar.gz"))?;
    let data = archive::pack(&data, here, &scratch.join("data.tar.gz"))?;
    let mut bytes = b"!<arch>\n".to_vec();
    add(&mut bytes, "debian-binary", b"2.0\n");
    for (name, path) in [("control.tar.gz", control), ("data.tar.gz", data)] {
        add(&mut bytes, name, &fs::read(&path).map_err(|error| at(&path, &error))?);
    }
    let package = to.join(format!("team-executor_{}_{architecture}.deb", release.version));
    write(&package, bytes)?;
    Ok(package)
}

/// Puts the staged files where Debian has them; how many bytes they have.
fn lay_out(staged: &Path, data: &Path) -> Outcome<u64> {
    let docs = data.join("usr/share/doc/team-executor");
    let mut files = vec![(staged.join(BINARY), data.join("usr/bin/team-executor"))];
    files.extend(COMPLETIONS.map(|(path, _, debian)| (staged.join(path), data.join(debian))));
    files.extend(
        ["README.md", "CHANGELOG.md", LICENCES[1], LICENCES[2]].map(|name| (staged.join(name), docs.join(name))),
    );
    files.push((staged.join(LICENCES[0]), docs.join("copyright")));
    let pages = staged.join(PAGES);
    for page in fs::read_dir(&pages).map_err(|error| at(&pages, &error))? {
        let page = page.map_err(|error| at(&pages, &error))?;
        files.push((page.path(), data.join("usr/share/man/man1").join(page.file_name())));
    }
    let mut size = 0;
    for (from, to) in &files {
        copy(from, to)?;
        size += fs::metadata(to).map_err(|error| at(to, &error))?.len();
    }
    let pages = files.iter().map(|(_, to)| to).filter(|to| to.extension().is_some_and(|end| end == "1"));
    must_succeed(Command::new("gzip").args(["-9n", "--"]).args(pages))?;
    Ok(size)
}

/// The newest version of the C library that a binary asks for.
fn libc(binary: &[u8]) -> Option<String> {
    let mark = b"GLIBC_2.";
    let minors = binary.windows(mark.len() + 3).filter(|window| window.starts_with(mark)).filter_map(|window| {
        let digits: String =
            window[mark.len()..].iter().map(|b| char::from(*b)).take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    });
    minors.max().map(|minor| format!("2.{minor}"))
}

/// Adds a file to an `ar` archive: a header of sixty bytes, then what is in it, filled to an even length.
fn add(archive: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, "100644", bytes.len());
    archive.extend_from_slice(header.as_bytes());
    archive.extend_from_slice(bytes);
    archive.extend((bytes.len() % 2 == 1).then_some(b'\n'));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_an_archive_begin_at_even_places() {
        let mut archive = Vec::new();
        add(&mut archive, "one", b"odd");
        add(&mut archive, "two", b"even");
        assert_eq!(archive.len(), 60 + 4 + 60 + 4);
        assert!(archive[64..].starts_with(b"two             0           0     0     100644  4         `\neven"));
    }

    #[test]
    fn newest_libc_is_found_by_number() {
        assert_eq!(libc(b"..GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.9\0...."), Some("2.34".to_owned()));
        assert_eq!(libc(b"static"), None);
    }
}
