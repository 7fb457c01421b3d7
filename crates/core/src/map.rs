//! The only map of this crate: it keeps the order of insertion, and its hasher has a fixed key, so that nothing varies
//! between runs.

use std::hash::{BuildHasherDefault, DefaultHasher};

/// A hash map in order of insertion.
pub(crate) type Map<K, V> = indexmap::IndexMap<K, V, BuildHasherDefault<DefaultHasher>>;
