//! Spec: Chapter 6, "Primitive Fixed-Size Types Encoding": blocks of numbers, one window after the other.

use super::nulls::{StagedPresence, extend_filled};
use crate::buffer::{BlockStreamWriter, FinishedBuffer, PiecePool};
use crate::encoding::{NumberKind, Word, number, presence};
use crate::error::Result;
use crate::format::{BufferKind, WINDOW_ROWS};
use crate::write::choose::settings::Settings;
use crate::write::choose::{self, Choice, Weighed};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use std::sync::Arc;

/// The numbers of a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberWindow<'a, W> {
    /// The numbers to store, including those at null positions.
    pub(super) values: &'a [W],
    /// Presence of the positions, if it is stored with the values.
    pub(super) present: Option<&'a BooleanBuffer>,
    /// Number of positions before the first value of the field. Their numbers are placeholders.
    pub(super) leading: usize,
}

/// Encoded blocks of numbers, and the numbers staged for the current window.
#[derive(Debug)]
pub(super) struct NumberBlocks<W> {
    kind: NumberKind,
    settings: Settings,
    /// The values of the current window.
    staged: Vec<W>,
    presence: StagedPresence,
    blocks: BlockStreamWriter,
    /// The last stored value, possibly of a null.
    last: Option<W>,
    /// Whether a value that is not null has been staged.
    seen: bool,
    /// Staged positions before the first value of the field.
    blank: usize,
}

impl<W: Word> NumberBlocks<W> {
    pub(super) fn new(kind: NumberKind, settings: Settings, pool: Arc<PiecePool>) -> Self {
        Self {
            kind,
            settings,
            staged: Vec::new(),
            presence: StagedPresence::default(),
            blocks: BlockStreamWriter::new(pool).with_checksums(!settings.is_member),
            last: None,
            seen: false,
            blank: 0,
        }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns whether nothing is staged.
    pub(super) fn is_empty(&self) -> bool {
        self.staged.is_empty()
    }

    /// Returns whether the window is full.
    pub(super) fn is_full(&self) -> bool {
        self.staged.len() == WINDOW_ROWS
    }

    /// Stages values from `at` on until the window is full, and returns their number.
    pub(super) fn stage(&mut self, values: &[W], nulls: Option<&NullBuffer>, at: usize) -> usize {
        let room = (WINDOW_ROWS - self.staged.len()).min(values.len() - at);
        let part = &values[at..at + room];
        let nulls = nulls.map(|n| n.inner().slice(at, room));
        if self.settings.embedded_presence {
            self.presence
                .append(self.staged.len(), room, nulls.as_ref());
        }
        match &nulls {
            None => {
                self.see_first(self.staged.len());
                self.staged.extend_from_slice(part);
            }
            Some(nulls) => {
                if let Some(first) = nulls.set_indices().next() {
                    self.see_first(self.staged.len() + first);
                }
                extend_filled(&mut self.staged, self.last, part, nulls);
            }
        }
        self.last = self.staged.last().copied();
        room
    }

    /// Records the first value of the field, at staged position `at`.
    fn see_first(&mut self, at: usize) {
        if !self.seen {
            (self.seen, self.blank) = (true, at);
        }
    }

    /// Returns the number of staged positions before the first value of the field. Only later nulls repeat a value.
    fn leading(&self) -> usize {
        if self.seen {
            self.blank
        } else {
            self.staged.len()
        }
    }

    /// Returns the staged values, starting with the first value of the field.
    pub(super) fn staged_values(&self) -> &[W] {
        &self.staged[self.leading()..]
    }

    /// Removes and returns the presence of the staged values.
    pub(super) fn take_presence(&mut self) -> Option<BooleanBuffer> {
        self.presence.take()
    }

    /// Returns the staged values as a window.
    pub(super) fn window<'a>(&'a self, present: Option<&'a BooleanBuffer>) -> NumberWindow<'a, W> {
        NumberWindow {
            values: &self.staged,
            present,
            leading: self.leading(),
        }
    }

    /// Returns the best encoding of the staged values.
    pub(super) fn choose(&self) -> Choice<number::Plan> {
        choose::numbers(&self.staged, self.kind, &self.settings)
    }

    /// Returns the candidate encodings of the staged values.
    pub(super) fn weigh(&self) -> Vec<Weighed<number::Plan>> {
        choose::weigh_numbers(&self.staged, self.kind, &self.settings)
    }

    /// Encodes the staged values and clears the window.
    pub(super) fn encode_staged(
        &mut self,
        plan: &number::Plan,
        present: Option<&BooleanBuffer>,
    ) -> Result<()> {
        let staged = std::mem::take(&mut self.staged);
        self.encode(&staged, plan, present)?;
        self.staged = staged;
        self.clear_window();
        Ok(())
    }

    /// Encodes `count` repetitions of a value, in blocks of up to one window.
    pub(super) fn encode_alike(&mut self, value: W, count: u64) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let some = usize::try_from(left).map_or(WINDOW_ROWS, |left| left.min(WINDOW_ROWS));
            self.blocks.push(some, &[], |out| {
                number::encode(&[value], self.kind, &number::Plan::SingleValue, out)
            })?;
            left -= some as u64;
        }
        Ok(())
    }

    /// Encodes values that precede the staged ones; `has` returns whether a position is present.
    pub(super) fn encode_window(
        &mut self,
        values: &[W],
        has: impl Fn(usize) -> bool,
    ) -> Result<()> {
        let embedded = self.settings.embedded_presence;
        let present = embedded.then(|| BooleanBuffer::collect_bool(values.len(), has));
        let choice = choose::numbers(values, self.kind, &self.settings);
        self.encode(values, &choice.plan, present.as_ref())
    }

    fn encode(
        &mut self,
        values: &[W],
        plan: &number::Plan,
        present: Option<&BooleanBuffer>,
    ) -> Result<()> {
        for (i, values) in values.chunks(self.settings.block_numbers()).enumerate() {
            let section = match present {
                Some(present) => {
                    let start = i * self.settings.block_numbers();
                    presence::encode(&present.slice(start, values.len()), false)?
                }
                None => Vec::new(),
            };
            self.blocks.push(values.len(), &section, |out| {
                number::encode(values, self.kind, plan, out)
            })?;
        }
        Ok(())
    }

    /// Drops the staged values, which are stored in blocks or taken by the dictionary.
    pub(super) fn clear_window(&mut self) {
        self.staged.clear();
        self.blank = 0;
    }

    /// Returns the memory size in bytes.
    pub(super) fn memory_size(&self) -> usize {
        self.staged.capacity() * W::BYTES + self.blocks.size()
    }

    /// Returns the finished buffer of all encoded values.
    pub(super) fn finish(self, buffer: BufferKind) -> Result<FinishedBuffer> {
        let embedded = self.settings.embedded_presence;
        Ok(self.blocks.finish(buffer)?.with_embedded(embedded, false))
    }
}
