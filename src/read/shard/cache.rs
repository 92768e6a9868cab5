//! Parsed elements of an open shard, kept up to a number of bytes.

use hashbrown::HashMap;
use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Parsed elements by key, shared by all clones of a shard. If they exceed a number of bytes, the oldest are dropped
/// first; a caller that holds one keeps it.
#[derive(Debug)]
pub(in crate::read) struct Cache<K, V> {
    kept: Mutex<CacheElements<K, V>>,
    max_bytes: u64,
}

/// The elements that a cache holds.
#[derive(Debug)]
struct CacheElements<K, V> {
    elements: HashMap<K, (Arc<V>, u64)>,
    /// The keys, the oldest first.
    order: VecDeque<K>,
    bytes: u64,
}

impl<K: Eq + Hash + Copy, V> Cache<K, V> {
    pub(in crate::read) fn new(max_bytes: u64) -> Self {
        let kept = CacheElements {
            elements: HashMap::new(),
            order: VecDeque::new(),
            bytes: 0,
        };
        Self {
            kept: Mutex::new(kept),
            max_bytes,
        }
    }

    fn lock(&self) -> MutexGuard<'_, CacheElements<K, V>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::read) fn get(&self, key: &K) -> Option<Arc<V>> {
        self.lock()
            .elements
            .get(key)
            .map(|(value, _)| value.clone())
    }

    /// Keeps a value with `bytes` bytes outside of itself, unless another thread was faster. Returns the kept value.
    pub(in crate::read) fn insert(&self, key: K, value: V, bytes: u64) -> Arc<V> {
        let own = (size_of::<V>() + 2 * size_of::<K>() + size_of::<Arc<V>>()) as u64;
        let bytes = bytes.saturating_add(own);
        let mut kept = self.lock();
        if let Some((value, _)) = kept.elements.get(&key) {
            return value.clone();
        }
        let value = Arc::new(value);
        kept.elements.insert(key, (value.clone(), bytes));
        kept.order.push_back(key);
        kept.bytes = kept.bytes.saturating_add(bytes);
        kept.shrink(self.max_bytes);
        value
    }

    /// Adds bytes by which a value has grown.
    pub(in crate::read) fn grow(&self, key: &K, bytes: u64) {
        let mut kept = self.lock();
        if let Some((_, own)) = kept.elements.get_mut(key) {
            *own = own.saturating_add(bytes);
            kept.bytes = kept.bytes.saturating_add(bytes);
            kept.shrink(self.max_bytes);
        }
    }
}

impl<K: Eq + Hash + Copy, V> CacheElements<K, V> {
    fn shrink(&mut self, max_bytes: u64) {
        while self.bytes > max_bytes
            && let Some(oldest) = self.order.pop_front()
        {
            if let Some((_, bytes)) = self.elements.remove(&oldest) {
                self.bytes = self.bytes.saturating_sub(bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_beyond_the_bytes() {
        let cache: Cache<u64, u8> = Cache::new(10_000);
        for key in 0..3 {
            cache.insert(key, 0, 3000);
        }
        assert!((0..3).all(|key| cache.get(&key).is_some()));
        cache.insert(3, 0, 3000);
        assert!(cache.get(&0).is_none());
        assert!((1..4).all(|key| cache.get(&key).is_some()));
        cache.grow(&2, 3000);
        assert!(cache.get(&1).is_none());
        assert!((2..4).all(|key| cache.get(&key).is_some()));
        // A value larger than the limit drops all others, and itself.
        assert_eq!(*cache.insert(9, 7, u64::MAX), 7);
        let kept = cache.lock();
        assert_eq!(
            (kept.elements.len(), kept.order.len(), kept.bytes),
            (0, 0, 0)
        );
    }

    #[test]
    fn what_was_kept_first_stays() {
        let cache: Cache<u64, u8> = Cache::new(10_000);
        assert_eq!(*cache.insert(1, 1, 0), 1);
        assert_eq!(*cache.insert(1, 2, 0), 1);
        assert_eq!(cache.lock().order.len(), 1);
    }
}
