//! Spec: Chapter 6, "Primitive Fixed-Size Types Encoding": numbers on their way into blocks or a raw
//! buffer.

use super::bits::StagedPresence;
use super::choose::{self, Weighed};
use super::codes::{EntryType, NULL};
use super::explain::Candidate;
use super::finish::FinishedLeaf;
use super::raw::RawNumbers;
use super::settings::{Settings, WINDOW};
use super::trial::{NumberWindow, Trial};
use crate::buffer::{BlockStreamWriter, FinishedBuffer, PiecePool};
use crate::encoding::{NumberKind, Word};
use crate::encoding::{number, presence};
use crate::error::Result;
use crate::format::BufferKind;
use crate::stats::DistinctStats;
use arrow_buffer::{BooleanBuffer, NullBuffer};
use std::sync::Arc;

/// Encodes the numbers of one stripe field.
#[derive(Debug)]
pub(super) enum NumberEncoder<W> {
    /// As they are.
    Raw(Box<RawNumbers<W>>),
    /// In encoded blocks.
    Blocks(Box<BlockNumbers<W>>),
}

impl<W: Word> NumberEncoder<W> {
    pub(super) fn new(kind: NumberKind, settings: Settings, pool: &Arc<PiecePool>) -> Self {
        match settings.is_raw() {
            true => Self::Raw(Box::new(RawNumbers::new(pool.clone()))),
            false => Self::Blocks(Box::new(BlockNumbers::new(kind, settings, pool.clone()))),
        }
    }

    /// Takes note of the distinct values.
    pub(super) fn with_distinct(mut self, distinct: Option<DistinctStats>) -> Self {
        match &mut self {
            Self::Raw(encoder) => encoder.distinct = distinct,
            Self::Blocks(encoder) => encoder.distinct = distinct,
        }
        self
    }

    /// Stores the values with a dictionary if that pays; raw values never have one.
    pub(super) fn with_trial(mut self, entry: Option<EntryType>) -> Self {
        if let Self::Blocks(encoder) = &mut self {
            encoder.trial = entry.map(Trial::new);
        }
        self
    }

    /// Appends values. Null positions take the value before them, which encodes best and shows
    /// nothing of what the array held there.
    pub(super) fn push(&mut self, values: &[W], nulls: Option<&NullBuffer>) -> Result<()> {
        match self {
            Self::Raw(encoder) => {
                encoder.push(values, nulls);
                Ok(())
            }
            Self::Blocks(encoder) => encoder.push(values, nulls),
        }
    }

    /// How the staged values might be encoded.
    pub(super) fn into_candidates(self) -> Result<Vec<Candidate>> {
        match self {
            Self::Raw(_) => {
                let plain = Weighed::plain(number::Plan::Plain, W::BYTES as f64);
                Ok(vec![plain.into()])
            }
            Self::Blocks(encoder) => encoder.into_candidates(),
        }
    }

    /// Bytes held in memory.
    pub(super) fn memory_size(&self) -> usize {
        match self {
            Self::Raw(encoder) => encoder.memory_size(),
            Self::Blocks(encoder) => encoder.memory_size(),
        }
    }

    /// The finished buffer of values that have no dictionary.
    pub(super) fn finish(self, buffer: BufferKind) -> Result<FinishedBuffer> {
        match self {
            Self::Raw(encoder) => Ok(encoder.finish(buffer)),
            Self::Blocks(encoder) => encoder.finish(buffer),
        }
    }

    /// The finished values, with a dictionary if that pays.
    pub(super) fn finish_values(self) -> Result<FinishedLeaf> {
        match self {
            Self::Raw(encoder) => Ok(encoder.finish_values()),
            Self::Blocks(encoder) => encoder.finish_values(),
        }
    }
}

/// Appends values. Null positions take the value before them: the last one of `to`, else `before`,
/// else the first of `values`; zero if there is none either.
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

/// Encodes the numbers of one stripe field in blocks.
#[derive(Debug)]
pub(super) struct BlockNumbers<W> {
    kind: NumberKind,
    settings: Settings,
    /// The values of the current window.
    staged: Vec<W>,
    presence: StagedPresence,
    /// The windows before, as long as a value dictionary pays.
    trial: Option<Trial>,
    blocks: BlockStreamWriter,
    /// The last value, or what stands at a null for it.
    last: Option<W>,
    distinct: Option<DistinctStats>,
    /// Whether a value has come that is not null.
    seen: bool,
    /// Staged positions before the first value of all.
    blank: usize,
}

impl<W: Word> BlockNumbers<W> {
    fn new(kind: NumberKind, settings: Settings, pool: Arc<PiecePool>) -> Self {
        Self {
            kind,
            settings,
            staged: Vec::new(),
            presence: StagedPresence::default(),
            trial: None,
            blocks: BlockStreamWriter::new(pool),
            last: None,
            distinct: None,
            seen: false,
            blank: 0,
        }
    }

    fn push(&mut self, values: &[W], nulls: Option<&NullBuffer>) -> Result<()> {
        let mut at = 0;
        while at < values.len() {
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
            at += room;
            if self.staged.len() == WINDOW {
                self.flush()?;
            }
        }
        Ok(())
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

    /// Takes note of the staged values.
    fn note_distinct(&mut self) {
        let leading = self.leading();
        if let Some(distinct) = &mut self.distinct {
            distinct.add_numbers(&self.staged[leading..]);
        }
    }

    fn flush(&mut self) -> Result<()> {
        let present = self.presence.take();
        let settings = &self.settings;
        let window = NumberWindow {
            values: &self.staged,
            present: present.as_ref(),
            leading: self.leading(),
        };
        if let Some(trial) = &mut self.trial
            && let Some(per_value) = trial.known_alternative(settings)
            && trial.add_numbers(window, per_value, settings)?
        {
            self.clear_window();
            return Ok(());
        }
        let choice = choose::numbers(&self.staged, self.kind, settings);
        if let Some(trial) = &mut self.trial {
            trial.note_alternative(choice.cost);
            if trial.add_numbers(window, choice.cost, settings)? {
                self.clear_window();
                return Ok(());
            }
            self.give_up()?;
        }
        self.note_distinct();
        self.encode(&choice.plan, present.as_ref())
    }

    /// Encodes the windows that were kept for a dictionary without one.
    fn give_up(&mut self) -> Result<()> {
        let Some(trial) = self.trial.take() else {
            return Ok(());
        };
        let staged = std::mem::take(&mut self.staged);
        let codes = trial.into_codes();
        if let Some(distinct) = &mut self.distinct {
            let entries = codes.entries().iter().flat_map(W::chunks);
            let entries: Vec<W> = entries.map(|&bytes| W::from_le(bytes)).collect();
            distinct.add_numbers(&entries);
        }
        let mut last = W::ZERO;
        for window in codes.codes().chunks(WINDOW) {
            for &code in window {
                if code != NULL {
                    let entry = codes.entries().entry(code);
                    last = W::chunks(entry)
                        .first()
                        .map_or(last, |&bytes| W::from_le(bytes));
                }
                self.staged.push(last);
            }
            let present = self
                .settings
                .embedded_presence
                .then(|| BooleanBuffer::collect_bool(window.len(), |i| window[i] != NULL));
            let choice = choose::numbers(&self.staged, self.kind, &self.settings);
            self.encode(&choice.plan, present.as_ref())?;
        }
        self.staged = staged;
        Ok(())
    }

    /// Encodes the staged values.
    fn encode(&mut self, plan: &number::Plan, present: Option<&BooleanBuffer>) -> Result<()> {
        for (i, values) in self.staged.chunks(self.settings.block_values).enumerate() {
            let section = match present {
                Some(present) => {
                    let start = i * self.settings.block_values;
                    presence::encode(&present.slice(start, values.len()), false)?
                }
                None => Vec::new(),
            };
            self.blocks.push(values.len(), &section, |out| {
                number::encode(values, self.kind, plan, out)
            })?;
        }
        self.clear_window();
        Ok(())
    }

    /// Forgets the staged values, which are stored.
    fn clear_window(&mut self) {
        self.staged.clear();
        self.blank = 0;
    }

    /// How the staged values might be encoded.
    fn into_candidates(mut self) -> Result<Vec<Candidate>> {
        let present = self.presence.take();
        let weighed = choose::weigh_numbers(&self.staged, self.kind, &self.settings);
        let mut candidates: Vec<Candidate> = weighed.into_iter().map(Candidate::from).collect();
        if let Some(trial) = &self.trial {
            let mut trial = Trial::new(trial.entry());
            let window = NumberWindow {
                values: &self.staged,
                present: present.as_ref(),
                leading: self.leading(),
            };
            if trial.add_numbers(window, f64::INFINITY, &self.settings)? {
                candidates.push(trial.weighed(&self.settings).into());
            }
        }
        Ok(candidates)
    }

    /// Bytes held in memory.
    fn memory_size(&self) -> usize {
        let trial = self.trial.as_ref().map_or(0, Trial::memory_size);
        let distinct = self.distinct.as_ref().map_or(0, DistinctStats::memory_size);
        self.staged.capacity() * W::BYTES + self.blocks.size() + trial + distinct
    }

    /// Encodes what is still staged, without a dictionary.
    fn complete(&mut self) -> Result<()> {
        self.give_up()?;
        match self.staged.is_empty() {
            true => Ok(()),
            false => self.flush(),
        }
    }

    /// The finished buffer of values that have no dictionary.
    fn finish(mut self, buffer: BufferKind) -> Result<FinishedBuffer> {
        self.complete()?;
        self.into_buffer(buffer)
    }

    fn into_buffer(self, buffer: BufferKind) -> Result<FinishedBuffer> {
        let embedded = self.settings.embedded_presence;
        Ok(self.blocks.finish(buffer)?.with_embedded(embedded, false))
    }

    /// The finished values, with a dictionary if that pays.
    fn finish_values(mut self) -> Result<FinishedLeaf> {
        if self.trial.is_some() && !self.staged.is_empty() {
            self.flush()?;
        }
        match self.trial.take() {
            Some(trial) if !trial.is_empty() => {
                Ok(trial.finish(self.settings)?.with_distinct(self.distinct))
            }
            _ => {
                self.complete()?;
                let mut distinct = self.distinct.take();
                let count = distinct
                    .as_mut()
                    .and_then(DistinctStats::complete_small::<W>);
                let leaf = FinishedLeaf::plain(vec![self.into_buffer(BufferKind::Data)?]);
                Ok(FinishedLeaf {
                    distinct_count: count,
                    ..leaf.with_distinct(distinct)
                })
            }
        }
    }
}
