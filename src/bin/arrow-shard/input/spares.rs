//! Memory that is used again for the next part of a text: fresh memory has to be cleared by the system.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum size of a vector that is kept, in bytes. Others are for unusually long records.
const MAX_BYTES: usize = 4 << 20;

/// Vectors that are not in use.
#[derive(Debug)]
pub(super) struct Spares<T>(Arc<Mutex<Vec<Vec<T>>>>);

impl<T> Clone for Spares<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Spares<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Spares<T> {
    /// Returns an empty vector.
    pub(super) fn take(&self) -> Spare<T> {
        let mut spares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Spare {
            items: spares.pop().unwrap_or_default(),
            spares: self.clone(),
        }
    }
}

/// A vector that returns to the spares when it is dropped.
#[derive(Debug)]
pub(super) struct Spare<T> {
    items: Vec<T>,
    spares: Spares<T>,
}

impl<T> Deref for Spare<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.items
    }
}

impl<T> DerefMut for Spare<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.items
    }
}

impl<T> Drop for Spare<T> {
    fn drop(&mut self) {
        let mut items = mem::take(&mut self.items);
        if (1..=MAX_BYTES).contains(&(items.capacity() * size_of::<T>())) {
            items.clear();
            let spares = &self.spares.0;
            let mut spares = spares.lock().unwrap_or_else(PoisonError::into_inner);
            spares.push(items);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_unless_it_is_large() {
        let spares = Spares::default();
        let mut first = spares.take();
        first.extend_from_slice(&[1_u8; 1000]);
        let memory = first.as_ptr();
        let other = spares.take();
        drop(first);
        drop(other);
        let again = spares.take();
        assert_eq!((again.as_ptr(), again.len()), (memory, 0));
        let mut large = Spares::default().take();
        large.resize(MAX_BYTES + 1, 0_u8);
        let spares = large.spares.clone();
        drop(large);
        assert_eq!(spares.take().capacity(), 0);
    }
}
