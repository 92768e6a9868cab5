//! Spec: Chapter 6, "Primitive Fixed-Size Types Encoding": numbers without a value dictionary on their
//! way into blocks or a raw buffer.

use super::choose::{self, Choice, Weighed};
use super::nulls::{StagedPresence, extend_filled};
use super::raw::RawNumbers;
use super::settings::{Settings, WINDOW};
use crate::buffer::{BlockStreamWriter, FinishedBuffer, PiecePool};
use crate::encoding::{NumberKind, Word, number, presence};
use crate::error::Result;
use crate::format::BufferKind;
use arrow_buffer::{BooleanBuffer, NullBuffer};
use std::sync::Arc;

/// Encodes numbers that never have a dictionary, such as codes and bits.
#[derive(Debug)]
pub(super) enum PlainNumbers<W> {
    /// As they are.
    Raw(Box<RawNumbers<W>>),
    /// In encoded blocks.
    Blocks(Box<NumberBlocks<W>>),
}

impl<W: Word> PlainNumbers<W> {
    pub(super) fn new(kind: NumberKind, settings: Settings, pool: &Arc<PiecePool>) -> Self {
        match settings.is_raw() {
            true => Self::Raw(Box::new(RawNumbers::new(pool.clone()))),
            false => Self::Blocks(Box::new(NumberBlocks::new(kind, settings, pool.clone()))),
        }
    }

    /// Appends values. Null positions take the value before them.
    pub(super) fn push(&mut self, values: &[W], nulls: Option<&NullBuffer>) -> Result<()> {
        match self {
            Self::Raw(encoder) => {
                encoder.push(values, nulls);
                Ok(())
            }
            Self::Blocks(encoder) => encoder.push(values, nulls),
        }
    }

    /// The finished buffer.
    pub(super) fn finish(self, buffer: BufferKind) -> Result<FinishedBuffer> {
        match self {
            Self::Raw(encoder) => Ok(encoder.finish(buffer)),
            Self::Blocks(mut encoder) => {
                if !encoder.is_empty() {
                    encoder.flush()?;
                }
                encoder.finish(buffer)
            }
        }
    }
}

/// The numbers of a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberWindow<'a, W> {
    /// What is to be stored, at null positions too.
    pub(super) values: &'a [W],
    /// Which positions have values, if that is stored with them.
    pub(super) present: Option<&'a BooleanBuffer>,
    /// Positions before the first value of all, whose numbers are made up.
    pub(super) leading: usize,
}

/// Numbers in encoded blocks, and those of the current window on their way there.
#[derive(Debug)]
pub(super) struct NumberBlocks<W> {
    kind: NumberKind,
    settings: Settings,
    /// The values of the current window.
    staged: Vec<W>,
    presence: StagedPresence,
    blocks: BlockStreamWriter,
    /// The last value, or what stands at a null for it.
    last: Option<W>,
    /// Whether a value has come that is not null.
    seen: bool,
    /// Staged positions before the first value of all.
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

    /// Whether nothing is staged.
    pub(super) fn is_empty(&self) -> bool {
        self.staged.is_empty()
    }

    /// Whether the window takes no more values.
    pub(super) fn is_full(&self) -> bool {
        self.staged.len() == WINDOW
    }

    /// Stages the values from `at` on, as many as the window takes, and gives their number.
    pub(super) fn stage(&mut self, values: &[W], nulls: Option<&NullBuffer>, at: usize) -> usize {
        let room = (WINDOW - self.staged.len()).min(values.len() - at);
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

    /// Notes that a value has come, `at` staged positions after the first.
    fn see_first(&mut self, at: usize) {
        if !self.seen {
            (self.seen, self.blank) = (true, at);
        }
    }

    /// How many of the staged positions stand before the first value of all. Nulls behind it repeat
    /// values, and they do not.
    fn leading(&self) -> usize {
        match self.seen {
            true => self.blank,
            false => self.staged.len(),
        }
    }

    /// The staged values from the first of all on.
    pub(super) fn staged_values(&self) -> &[W] {
        &self.staged[self.leading()..]
    }

    /// Takes which of the staged values are present.
    pub(super) fn take_presence(&mut self) -> Option<BooleanBuffer> {
        self.presence.take()
    }

    /// The staged values.
    pub(super) fn window<'a>(&'a self, present: Option<&'a BooleanBuffer>) -> NumberWindow<'a, W> {
        NumberWindow {
            values: &self.staged,
            present,
            leading: self.leading(),
        }
    }

    /// How the staged values are best encoded.
    pub(super) fn choose(&self) -> Choice<number::Plan> {
        choose::numbers(&self.staged, self.kind, &self.settings)
    }

    /// How the staged values might be encoded.
    pub(super) fn weigh(&self) -> Vec<Weighed<number::Plan>> {
        choose::weigh_numbers(&self.staged, self.kind, &self.settings)
    }

    fn push(&mut self, values: &[W], nulls: Option<&NullBuffer>) -> Result<()> {
        let mut at = 0;
        while at < values.len() {
            at += self.stage(values, nulls, at);
            if self.is_full() {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let present = self.take_presence();
        let choice = self.choose();
        self.encode_staged(&choice.plan, present.as_ref())
    }

    /// Encodes the staged values, which are forgotten.
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

    /// Encodes `count` times the same value, in blocks of a window each.
    pub(super) fn encode_alike(&mut self, value: W, count: u64) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let some = usize::try_from(left).map_or(WINDOW, |left| left.min(WINDOW));
            self.blocks.push(some, &[], |out| {
                number::encode(&[value], self.kind, &number::Plan::SingleValue, out)
            })?;
            left -= some as u64;
        }
        Ok(())
    }

    /// Encodes values that came before those that are staged; `has` says which are present.
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

    /// Forgets the staged values, which are stored.
    pub(super) fn clear_window(&mut self) {
        self.staged.clear();
        self.blank = 0;
    }

    /// Bytes held in memory.
    pub(super) fn memory_size(&self) -> usize {
        self.staged.capacity() * W::BYTES + self.blocks.size()
    }

    /// The finished buffer of all values that were encoded.
    pub(super) fn finish(self, buffer: BufferKind) -> Result<FinishedBuffer> {
        let embedded = self.settings.embedded_presence;
        Ok(self.blocks.finish(buffer)?.with_embedded(embedded, false))
    }
}
