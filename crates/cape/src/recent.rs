//! A cache of the values computed last.

use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

/// The values met last, by key.
pub(crate) struct Recent<K, V: ?Sized>(Mutex<LruCache<K, Arc<V>>>);

impl<K: Hash + Eq, V: ?Sized> Recent<K, V> {
    /// Holds `most` values, one at least.
    pub(crate) fn new(most: usize) -> Self {
        // bounded from the beginning, it would take the room of all values at once
        let mut values = LruCache::unbounded();
        values.resize(NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN));
        Self(Mutex::new(values))
    }

    pub(crate) fn get(&self, key: &K) -> Option<Arc<V>> {
        self.lock().get(key).cloned()
    }

    pub(crate) fn put(&self, key: K, value: Arc<V>) {
        self.lock().put(key, value);
    }

    /// The value of a key, made where it is not there. Nobody waits while it is made.
    pub(crate) fn get_or(&self, key: K, make: impl FnOnce() -> Arc<V>) -> Arc<V> {
        self.get(&key).unwrap_or_else(|| {
            let value = make();
            self.put(key, Arc::clone(&value));
            value
        })
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<K, Arc<V>>> {
        // what a panic left behind is still whole: values are put in when they are complete
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
