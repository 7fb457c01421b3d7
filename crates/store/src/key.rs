//! A secret of the user, which lies outside of every project. A project may bring any file with it; a text that this key has
//! signed was written by this user.

use std::path::Path;

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest as _, Sha256};
use team_executor_beneath::{make_shared, ours};

use crate::derived::hex;
use crate::real_disk::RealDisk;
use crate::replace::place_new;

/// The file of the key in the folder for it.
const FILE: &str = "key";
const BYTES: usize = 32;

/// A secret that only the user has.
pub struct Key([u8; BYTES]);

impl Key {
    /// The key in a folder, if there is one. Nothing is made.
    pub fn find(folder: &Path) -> Option<Self> {
        let bytes = ours::read_chosen(&folder.join(FILE), BYTES as u64).ok()?;
        bytes.try_into().ok().map(Self)
    }

    /// The key in a folder, made if it is missing; nothing if that is not possible.
    pub fn find_or_make(folder: &Path) -> Option<Self> {
        Self::find(folder).or_else(|| {
            let mut bytes = [0; BYTES];
            let filled = getrandom(&mut bytes, GetRandomFlags::empty()).ok()?;
            if filled != BYTES {
                return None;
            }
            let disk = RealDisk::from(make_shared(folder).ok()?);
            match place_new(&disk, FILE, &bytes) {
                Ok(()) => Some(Self(bytes)),
                // Another start was faster.
                Err(error) if error.errno == Errno::EXIST => Self::find(folder),
                Err(_) => None,
            }
        })
    }

    /// The signature of a text in a context: the same text elsewhere has another one.
    pub fn sign(&self, context: &[&str], text: &str) -> String {
        let mut inner = Sha256::new().chain_update(self.0);
        for part in context.iter().chain([&text]) {
            inner = inner.chain_update((part.len() as u64).to_le_bytes()).chain_update(part);
        }
        hex(&Sha256::new().chain_update(self.0).chain_update(inner.finalize()).finalize())
    }
}

/// The secret itself is never printed.
impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn key_is_made_once_and_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state/team-executor");
        assert!(Key::find(&folder).is_none());
        let sign = |key: Option<Key>| key.unwrap().sign(&["a"], "text");
        let first = sign(Key::find_or_make(&folder));
        assert_eq!((sign(Key::find_or_make(&folder)), sign(Key::find(&folder))), (first.clone(), first.clone()));
        let mode = std::fs::metadata(folder.join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let other = sign(Key::find_or_make(&dir.path().join("other")));
        assert_ne!(other, first);
    }

    #[test]
    fn signature_is_of_one_text_in_one_context() {
        let key = Key([7; BYTES]);
        let all = [
            key.sign(&["a"], "b"),
            key.sign(&["b"], "a"),
            key.sign(&[], "ab"),
            key.sign(&["ab"], ""),
            key.sign(&["", "a"], "b"),
        ];
        for (nth, one) in all.iter().enumerate() {
            assert!(!all[nth + 1..].contains(one), "{nth}");
        }
    }
}
