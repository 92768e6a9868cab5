//! Selection of the array elements that become the positions of a chunk.

use crate::error::Result;
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use std::sync::Arc;

/// The positions of a chunk, as elements of an array.
///
/// Nested arrays pass their slots to the children instead of gathering the children's arrays, so that only leaves copy
/// values, and only where they must.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    len: usize,
    /// The element at every position, arbitrary where `mask` is null; `None` if position `i` has element `i`.
    picks: Option<Arc<[usize]>>,
    /// Positions that are null regardless of the array.
    mask: Option<NullBuffer>,
}

impl Slots {
    /// Returns slots for all elements of an array of length `len`.
    pub(super) fn all(len: usize) -> Self {
        Self {
            len,
            picks: None,
            mask: None,
        }
    }

    /// Returns slots for the given elements, one per position.
    pub(super) fn picks(picks: Vec<usize>, mask: Option<NullBuffer>) -> Self {
        Self {
            len: picks.len(),
            picks: Some(picks.into()),
            mask: mask.filter(|m| m.null_count() > 0),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the positions are the elements of the array in order.
    pub(super) fn is_all(&self) -> bool {
        self.picks.is_none()
    }

    /// Returns the element at a position; arbitrary if the position is masked.
    pub(super) fn pick(&self, position: usize) -> usize {
        match &self.picks {
            Some(picks) => picks[position],
            None => position,
        }
    }

    /// Returns whether a position is not masked.
    pub(super) fn is_open(&self, position: usize) -> bool {
        self.mask.as_ref().is_none_or(|m| m.is_valid(position))
    }

    pub(super) fn mask(&self) -> Option<&NullBuffer> {
        self.mask.as_ref()
    }

    /// Returns the same elements, with another mask.
    pub(super) fn with_mask(&self, mask: Option<NullBuffer>) -> Self {
        Self {
            mask,
            ..self.clone()
        }
    }

    /// Returns the nulls of the positions, which combine the mask with the nulls `own` of the array.
    pub(super) fn nulls(&self, own: Option<&NullBuffer>) -> Option<NullBuffer> {
        let nulls = match (own, &self.picks) {
            (None, _) => self.mask.clone(),
            (Some(_), None) => NullBuffer::union(own, self.mask.as_ref()),
            (Some(own), Some(picks)) => {
                let valid = |i: usize| self.is_open(i) && own.is_valid(picks[i]);
                Some(NullBuffer::new(BooleanBuffer::collect_bool(
                    self.len, valid,
                )))
            }
        };
        nulls.filter(|n| n.null_count() > 0)
    }

    /// Returns the part of an array that contains all selected elements, and the slots relative to it. If a caller
    /// shreds an array in windows, converting this part does not convert the other windows again.
    pub(super) fn cut(&self, array: &dyn Array) -> (ArrayRef, Self) {
        let Some(picks) = &self.picks else {
            return (array.slice(0, self.len), self.clone());
        };
        let open = || (0..self.len).filter(|i| self.is_open(*i)).map(|i| picks[i]);
        let (first, last) = open().fold((usize::MAX, 0), |(a, b), pick| (a.min(pick), b.max(pick)));
        // A masked position has an arbitrary element.
        let first = first.min(last);
        let end = array.len().min(last + 1);
        let picks = picks.iter().map(|pick| pick.clamp(&first, &last) - first);
        let slots = Self {
            picks: Some(picks.collect()),
            ..self.clone()
        };
        (array.slice(first, end - first), slots)
    }

    /// Returns the selected elements of a leaf array, and their nulls. The array must have bytes per value.
    pub(super) fn take(&self, array: &dyn Array) -> Result<(ArrayRef, Option<NullBuffer>)> {
        let nulls = self.nulls(array.nulls());
        let Some(picks) = &self.picks else {
            return Ok((array.slice(0, self.len), nulls));
        };
        let picks: Vec<u64> = picks.iter().map(|p| *p as u64).collect();
        let indices = UInt64Array::try_new(picks.into(), self.mask.clone())?;
        Ok((arrow_select::take::take(array, &indices, None)?, nulls))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Int32Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;

    #[test]
    fn a_cut_has_what_is_picked_and_little_else() {
        let array = Int32Array::from_iter_values(0..100);
        let mask = |bits: &[bool]| Some(NullBuffer::from(bits.to_vec()));
        for (picks, mask, least) in [
            (vec![50, 53, 51, 50], None, 4),
            (vec![0, 53, 51, 999], mask(&[false, true, true, false]), 3),
            (vec![7, 99], mask(&[false, false]), 1),
            (vec![], None, 1),
        ] {
            let slots = Slots::picks(picks, mask);
            let (part, cut) = slots.cut(&array);
            assert_eq!(part.len(), least);
            let expected = (0..slots.len()).map(|i| {
                slots
                    .is_open(i)
                    .then(|| i32::try_from(slots.pick(i)).unwrap())
            });
            let (taken, _) = cut.take(&part).unwrap();
            assert!(taken.as_primitive::<Int32Type>().iter().eq(expected));
        }
        let (part, cut) = Slots::all(40).cut(&array);
        assert_eq!((part.len(), cut.len()), (40, 40));
    }
}
