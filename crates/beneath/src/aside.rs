//! Free names: a file in the way of one of ours gets another name and is kept.

use std::fs::File;

use rustix::io::Errno;

use crate::{Dir, How};

/// What a name ends with that was given to something which stood in the way.
const ASIDE: &str = ".aside";

impl Dir {
    /// Gives something the first name of `stem-1`, `stem-2`, … that is free, and returns that name.
    pub fn rename_free(&self, from: &str, stem: &str) -> Result<String, Errno> {
        first_free(numbered(stem, 1), |to| self.rename_new(from, to))
    }

    /// Moves something to the first name of `stem`, `stem-2`, `stem-3`, … that is free in another folder, and returns that
    /// name.
    pub fn move_free(&self, from: &str, into: &Self, stem: &str) -> Result<String, Errno> {
        let names = std::iter::once(stem.to_owned()).chain(numbered(stem, 2));
        first_free(names, |to| self.move_new(from, into, to))
    }

    /// Opens a file to append to it. Anything else in its place gets another name, ending in `.aside`.
    pub fn append_or_set_aside(&self, path: &str) -> Result<File, Errno> {
        match self.file(path, How::Append) {
            // Unless a folder on the way is the link.
            Err(errno) if is_no_file_of_ours(errno) && (errno != Errno::LOOP || self.is_link(path)) => {
                self.rename_free(path, &format!("{path}{ASIDE}"))?;
                self.file(path, How::Append)
            }
            opened => opened,
        }
    }

    /// Makes a file. Whatever has its name gets another one, ending in `.aside`.
    pub fn create_or_set_aside(&self, path: &str) -> Result<File, Errno> {
        match self.file(path, How::CreateNew) {
            Err(Errno::EXIST) => {
                self.rename_free(path, &format!("{path}{ASIDE}"))?;
                self.file(path, How::CreateNew)
            }
            opened => opened,
        }
    }
}

fn numbered(stem: &str, from: u64) -> impl Iterator<Item = String> {
    (from..).map(move |number| format!("{stem}-{number}"))
}

/// The first name that can be taken.
fn first_free(names: impl Iterator<Item = String>, take: impl Fn(&str) -> Result<(), Errno>) -> Result<String, Errno> {
    for name in names {
        match take(&name) {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::EXIST)
}

const fn is_no_file_of_ours(errno: Errno) -> bool {
    matches!(errno, Errno::LOOP | Errno::ISDIR | Errno::NXIO | Errno::MLINK | Errno::FBIG)
}
