//! A file in the way of one of ours gets another name and is kept.

use std::fs::File;

use rustix::io::Errno;

use crate::free::{numbered, plain_or_numbered, unless_taken};
use crate::{Dir, How};

/// What a name ends with that was given to something which stood in the way.
const ASIDE: &str = ".aside";

impl Dir {
    /// Gives something the first name of `stem-1`, `stem-2`, … that is free, and returns that name.
    pub fn rename_free(&self, from: &str, stem: &str) -> Result<String, Errno> {
        Ok(numbered(stem, |to| unless_taken(self.rename_new(from, to)))?.0)
    }

    /// Moves something to the first name of `stem`, `stem-2`, `stem-3`, … that is free in another folder, and returns that
    /// name.
    pub fn move_free(&self, from: &str, into: &Self, stem: &str) -> Result<String, Errno> {
        Ok(plain_or_numbered(stem, |to| unless_taken(self.move_new(from, into, to)))?.0)
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

const fn is_no_file_of_ours(errno: Errno) -> bool {
    matches!(errno, Errno::LOOP | Errno::ISDIR | Errno::NXIO | Errno::MLINK | Errno::FBIG)
}
