//! Nulls: presence inside blocks, and the values stored at null positions.

use crate::encoding::Word;
use crate::format::WINDOW_ROWS;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

/// Presence that will be stored in the blocks of the staged values.
#[derive(Debug, Default)]
pub(super) struct StagedPresence(Option<BooleanBufferBuilder>);

impl StagedPresence {
    /// Appends the presence of `len` values after `staged` earlier ones.
    pub(super) fn append(&mut self, staged: usize, len: usize, nulls: Option<&BooleanBuffer>) {
        if nulls.is_none() && self.0.is_none() {
            return;
        }
        let bits = self.0.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(WINDOW_ROWS);
            bits.append_n(staged, true);
            bits
        });
        match nulls {
            Some(nulls) => bits.append_buffer(nulls),
            None => bits.append_n(len, true),
        }
    }

    /// Removes and returns the presence of all staged values, or `None` if none is null.
    pub(super) fn take(&mut self) -> Option<BooleanBuffer> {
        self.0.take().map(|mut bits| bits.finish())
    }
}

/// Appends values. A null position repeats the value before it: the last one of `to`, else `before`, else the first of
/// `values` that is not null, else zero.
pub(super) fn extend_filled<W: Word>(
    to: &mut Vec<W>,
    before: Option<W>,
    values: &[W],
    nulls: &BooleanBuffer,
) {
    let fill = |to: &[W], next: Option<usize>| {
        let last = to.last().copied().or(before);
        last.or_else(|| next.map(|next| values[next]))
            .unwrap_or(W::ZERO)
    };
    let mut done = 0;
    for (start, end) in nulls.set_slices() {
        let blank = fill(to, Some(start));
        to.extend(std::iter::repeat_n(blank, start - done));
        to.extend_from_slice(&values[start..end]);
        done = end;
    }
    let blank = fill(to, None);
    to.extend(std::iter::repeat_n(blank, values.len() - done));
}
