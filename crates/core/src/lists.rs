//! Many short lists in two flat arrays: 100,000 tasks cost two allocations and not 100,000.

/// For each key from 0 on, a list of items.
#[derive(Debug, Clone)]
pub(crate) struct Lists<T> {
    /// Where each key's list starts in `items`; one more than there are keys.
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// Groups items by key; each list keeps the order in which its items came. Every key is below `keys`.
    pub(crate) fn group(keys: usize, pairs: impl IntoIterator<Item = (u32, T)>) -> Self {
        let pairs: Vec<_> = pairs.into_iter().collect();
        let mut starts = vec![0; keys + 1];
        for (key, _) in &pairs {
            starts[*key as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut order = vec![0; pairs.len()];
        for (nth, (key, _)) in pairs.iter().enumerate() {
            let place = &mut next[*key as usize];
            order[*place as usize] = nth;
            *place += 1;
        }
        Self { starts, items: order.into_iter().map(|nth| pairs[nth].1).collect() }
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The list of one key.
    pub(crate) fn get(&self, key: u32) -> &[T] {
        let key = key as usize;
        &self.items[self.starts[key] as usize..self.starts[key + 1] as usize]
    }

    /// The items of all lists, by key.
    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_grouped_and_keep_their_order() {
        let lists = Lists::group(4, [(2, 'a'), (0, 'b'), (2, 'c'), (0, 'd')]);
        assert_eq!(lists.len(), 4);
        assert_eq!((0..4).map(|key| lists.get(key)).collect::<Vec<_>>(), [&['b', 'd'][..], &[], &['a', 'c'], &[]]);
        assert_eq!(lists.items(), ['b', 'd', 'a', 'c']);
        assert_eq!(Lists::<char>::group(0, []).len(), 0);
    }
}
