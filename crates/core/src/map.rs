//! The only map and set of this crate: they keep the order of insertion, and their hasher has a fixed key, so that nothing varies
//! between runs.

use std::hash::{BuildHasherDefault, DefaultHasher};

/// A hash map in order of insertion.
pub(crate) type Map<K, V> = indexmap::IndexMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// A hash set in order of insertion; its elements have numbers.
pub(crate) type Set<T> = indexmap::IndexSet<T, BuildHasherDefault<DefaultHasher>>;
