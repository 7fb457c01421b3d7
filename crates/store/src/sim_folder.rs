//! The names in a folder of the simulated disk: those that programs see, those that are durable, and what is between.

use std::collections::BTreeMap;

use rustix::io::Errno;

/// The names in one folder.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    pub(crate) names: BTreeMap<String, usize>,
    pub(crate) durable: BTreeMap<String, usize>,
    /// What is between the two.
    pub(crate) changes: Vec<Change>,
}

impl Folder {
    pub(crate) fn find(&self, name: &str) -> Result<usize, Errno> {
        self.names.get(name).copied().ok_or(Errno::NOENT)
    }

    pub(crate) fn change(&mut self, change: Change) {
        change.apply(&mut self.names);
        self.changes.push(change);
    }
}

/// A change of names.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Add(String, usize),
    Move(String, String),
    Remove(String),
}

impl Change {
    pub(crate) fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Add(name, inode) => {
                names.insert(name.clone(), *inode);
            }
            Self::Move(from, to) => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
            Self::Remove(name) => {
                names.remove(name);
            }
        }
    }
}
