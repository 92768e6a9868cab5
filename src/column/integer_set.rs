//! Finds the values of an array that are among given integers.

use super::range::{integers_within, kind_of, with_words};
use crate::kernels::{NumberKind, Word};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

/// Most bits per member of a bitmap over all values from the first to the last member: 64 bytes, while a hash table
/// takes 16 to 32 bytes per member.
const BITS_PER_MEMBER: u64 = 512;

/// A set of integers of at most 64 bits, stored as their [keys](super::integer_key).
#[derive(Debug)]
pub(crate) struct IntegerSet {
    low: u64,
    high: u64,
    members: Members,
}

#[derive(Debug)]
enum Members {
    /// All values from the first to the last.
    All,
    /// One bit per value, starting with the first.
    Bits(BooleanBuffer),
    /// A hash table of keys with linear probing.
    Table {
        keys: Vec<u64>,
        /// The key in free slots; it is not a member.
        free: u64,
        /// Number of low bits of a hash to drop; the remaining bits are the index of a slot.
        shift: u32,
    },
}

impl IntegerSet {
    /// Returns the set of the values of an array without nulls. Returns `None` if the values are not integers of at
    /// most 64 bits, if there are none, or if they do not ascend strictly.
    pub(crate) fn new(values: &ArrayRef) -> Option<Self> {
        fn keys<W: Word>(words: &[W], kind: NumberKind, len: usize) -> Vec<u64> {
            let words = words.iter().take(len);
            words.map(|word| word.order_key(kind).to_u64()).collect()
        }
        let kind = kind_of(values.data_type())?;
        let keys = with_words!(values, kind, keys(values.len()));
        if !keys.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let (&low, &high) = (keys.first()?, keys.last()?);
        let (count, span) = (keys.len() as u64, high - low);
        let members = if span == count - 1 {
            Members::All
        } else if span / BITS_PER_MEMBER < count {
            let mut bits = BooleanBufferBuilder::new(0);
            for key in keys {
                let bit = usize::try_from(key - low).ok()?;
                bits.append_n(bit - bits.len(), false);
                bits.append(true);
            }
            Members::Bits(bits.finish())
        } else {
            Members::table(&keys)
        };
        Some(Self { low, high, members })
    }

    /// Returns a bit per value of an array of the same type: whether it is a member. Bits at null positions are
    /// arbitrary. Returns `None` for another type.
    pub(crate) fn members_of(&self, array: &ArrayRef) -> Option<BooleanBuffer> {
        let kind = kind_of(array.data_type())?;
        let within = integers_within(array, self.low.into(), self.high.into())?;
        Some(match &self.members {
            Members::All => within,
            Members::Bits(bits) => with_words!(
                array,
                kind,
                narrowed(&within, |key| {
                    let bit = usize::try_from(key - self.low).unwrap_or(usize::MAX);
                    bit < bits.len() && bits.value(bit)
                })
            ),
            Members::Table { keys, free, shift } => with_words!(
                array,
                kind,
                narrowed(&within, |key| is_in_table(keys, *free, *shift, key))
            ),
        })
    }
}

impl Members {
    /// Returns a hash table with at least two slots per key. The keys must ascend.
    fn table(members: &[u64]) -> Self {
        let places = members.len().saturating_mul(2).next_power_of_two().max(2);
        let shift = 64 - places.trailing_zeros();
        // Free slots hold the smallest number that is not a member.
        let numbers = (0u64..).zip(members);
        let free = numbers.take_while(|(number, key)| number == *key).count() as u64;
        let mut keys = vec![free; places];
        for &member in members {
            let mut place = place_of(member, shift);
            while keys.get(place).is_some_and(|&key| key != free) {
                place = (place + 1) & (places - 1);
            }
            if let Some(key) = keys.get_mut(place) {
                *key = member;
            }
        }
        Self::Table { keys, free, shift }
    }
}

/// Returns the first slot to look for a key.
fn place_of(key: u64, shift: u32) -> usize {
    usize::try_from(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift).unwrap_or(0)
}

#[inline]
fn is_in_table(keys: &[u64], free: u64, shift: u32, key: u64) -> bool {
    let mut place = place_of(key, shift);
    while let Some(&found) = keys.get(place) {
        if found == key {
            return key != free;
        }
        if found == free {
            return false;
        }
        place = (place + 1) & (keys.len() - 1);
    }
    false
}

/// Returns the given positions without the positions of values that are not members.
fn narrowed<W: Word>(
    words: &[W],
    kind: NumberKind,
    positions: &BooleanBuffer,
    is_member: impl Fn(u64) -> bool,
) -> BooleanBuffer {
    BooleanBuffer::collect_bool(positions.len(), |i| {
        positions.value(i)
            && words
                .get(i)
                .is_some_and(|word| is_member(word.order_key(kind).to_u64()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Int8Array, Int64Array, UInt64Array};
    use std::collections::BTreeSet;
    use std::sync::Arc;

    fn check(members: &[i64], values: &[i64]) {
        let members: BTreeSet<i64> = members.iter().copied().collect();
        let array: ArrayRef = Arc::new(Int64Array::from_iter_values(members.iter().copied()));
        let set = IntegerSet::new(&array).unwrap();
        let values: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
        let found = set.members_of(&values).unwrap();
        for (i, value) in values
            .as_primitive::<Int64Type>()
            .values()
            .iter()
            .enumerate()
        {
            assert_eq!(found.value(i), members.contains(value), "{value} {set:?}");
        }
    }

    #[test]
    fn members_are_found_and_others_are_not() {
        let near: Vec<i64> = (-200..200).collect();
        check(&[5], &near);
        check(&(-3..50).collect::<Vec<_>>(), &near);
        check(&[-90, -7, 0, 11, 150], &near);
        // Many values, far apart and at both ends of the type.
        check(
            &[i64::MIN, -1, 3, 1 << 40, i64::MAX],
            &[i64::MIN, -1, 0, 3, 4, 1 << 40, i64::MAX],
        );
        let squares: Vec<i64> = (0..3000).map(|i| i * i * 1_000_003 - 77).collect();
        let around: Vec<i64> = squares.iter().flat_map(|&s| [s - 1, s, s + 1]).collect();
        check(&squares, &around);
    }

    #[test]
    fn the_key_that_marks_free_places_is_no_member() {
        let members: ArrayRef = Arc::new(UInt64Array::from(vec![0, 1, 1 << 50]));
        let set = IntegerSet::new(&members).unwrap();
        assert!(matches!(set.members, Members::Table { free: 2, .. }));
        let values: ArrayRef = Arc::new(UInt64Array::from(vec![0, 1, 2, 3, 1 << 50]));
        let found = set.members_of(&values).unwrap();
        assert_eq!(found.set_indices().collect::<Vec<_>>(), [0, 1, 4]);
    }

    #[test]
    fn what_has_no_ascending_keys_has_no_set() {
        let floats: ArrayRef = Arc::new(arrow_array::Float32Array::from(vec![1.0]));
        assert!(IntegerSet::new(&floats).is_none());
        let none: ArrayRef = Arc::new(Int8Array::from(Vec::<i8>::new()));
        assert!(IntegerSet::new(&none).is_none());
        for disorder in [vec![3, 1], vec![1, 1]] {
            let disorder: ArrayRef = Arc::new(Int8Array::from(disorder));
            assert!(IntegerSet::new(&disorder).is_none());
        }
    }
}
