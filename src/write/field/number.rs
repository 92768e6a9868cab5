//! Spec: Chapter 6, "Primitive Fixed-Size Types Encoding": numbers on their way into blocks or a raw
//! buffer, with a value dictionary where that pays.

use super::codes::{EntryType, NULL};
use super::finished_leaf::FinishedLeaf;
use super::plain_numbers::NumberBlocks;
use super::raw::RawNumbers;
use super::trial::Trial;
use crate::buffer::{FinishedBuffer, PiecePool};
use crate::encoding::{NumberKind, Word, number};
use crate::error::Result;
use crate::format::BufferKind;
use crate::stats::DistinctStats;
use crate::write::choose::Weighed;
use crate::write::choose::candidate::Candidate;
use crate::write::choose::settings::{Settings, WINDOW};
use arrow_buffer::NullBuffer;
use std::sync::Arc;

/// Encodes the numbers of one stripe field.
#[derive(Debug)]
pub(super) enum NumberEncoder<W> {
    /// Stored as they are.
    Raw(Box<RawNumbers<W>>),
    /// Stored in encoded blocks.
    Blocks(Box<BlockNumbers<W>>),
}

impl<W: Word> NumberEncoder<W> {
    pub(super) fn new(kind: NumberKind, settings: Settings, pool: &Arc<PiecePool>) -> Self {
        if settings.is_raw() {
            Self::Raw(Box::new(RawNumbers::new(pool.clone())))
        } else {
            Self::Blocks(Box::new(BlockNumbers::new(kind, settings, pool.clone())))
        }
    }

    /// Sets the collector of distinct values.
    pub(super) fn with_distinct(mut self, distinct: Option<DistinctStats>) -> Self {
        match &mut self {
            Self::Raw(encoder) => encoder.distinct = distinct,
            Self::Blocks(encoder) => encoder.distinct = distinct,
        }
        self
    }

    /// Stores the values with a dictionary where it pays off. Raw values never get one.
    pub(super) fn with_trial(mut self, entry: Option<EntryType>) -> Self {
        if let Self::Blocks(encoder) = &mut self {
            encoder.trial = entry.map(Trial::new);
        }
        self
    }

    /// Appends values. A null position repeats the value before it, which encodes best and hides the array's content
    /// there.
    pub(super) fn push(&mut self, values: &[W], nulls: Option<&NullBuffer>) -> Result<()> {
        match self {
            Self::Raw(encoder) => {
                encoder.push(values, nulls);
                Ok(())
            }
            Self::Blocks(encoder) => encoder.push(values, nulls),
        }
    }

    /// Returns the candidate encodings of the staged values.
    pub(super) fn into_candidates(self) -> Result<Vec<Candidate>> {
        match self {
            Self::Raw(_) => {
                let plain = Weighed::plain(number::Plan::Plain, W::BYTES as f64);
                Ok(vec![plain.into()])
            }
            Self::Blocks(encoder) => encoder.into_candidates(),
        }
    }

    /// Returns the memory size in bytes.
    pub(super) fn memory_size(&self) -> usize {
        match self {
            Self::Raw(encoder) => encoder.memory_size(),
            Self::Blocks(encoder) => encoder.memory_size(),
        }
    }

    /// Returns the finished buffer of values without a dictionary.
    pub(super) fn finish(self, buffer: BufferKind) -> Result<FinishedBuffer> {
        match self {
            Self::Raw(encoder) => Ok(encoder.finish(buffer)),
            Self::Blocks(encoder) => encoder.finish(buffer),
        }
    }

    /// Returns the finished values, with a dictionary where it pays off.
    pub(super) fn finish_values(self) -> Result<FinishedLeaf> {
        match self {
            Self::Raw(encoder) => Ok(encoder.finish_values()),
            Self::Blocks(encoder) => encoder.finish_values(),
        }
    }
}

/// Encodes the numbers of one stripe field in blocks, with a dictionary where it pays off.
#[derive(Debug)]
pub(super) struct BlockNumbers<W> {
    blocks: NumberBlocks<W>,
    /// The earlier windows, as long as a value dictionary pays.
    trial: Option<Trial>,
    distinct: Option<DistinctStats>,
}

impl<W: Word> BlockNumbers<W> {
    fn new(kind: NumberKind, settings: Settings, pool: Arc<PiecePool>) -> Self {
        Self {
            blocks: NumberBlocks::new(kind, settings, pool),
            trial: None,
            distinct: None,
        }
    }

    fn push(&mut self, values: &[W], nulls: Option<&NullBuffer>) -> Result<()> {
        let mut at = 0;
        while at < values.len() {
            at += self.blocks.stage(values, nulls, at);
            if self.blocks.is_full() {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Adds the staged values to the distinct values.
    fn note_distinct(&mut self) {
        if let Some(distinct) = &mut self.distinct {
            distinct.add_numbers(self.blocks.staged_values());
        }
    }

    fn flush(&mut self) -> Result<()> {
        let present = self.blocks.take_presence();
        let window = self.blocks.window(present.as_ref());
        let settings = self.blocks.settings();
        if let Some(trial) = &mut self.trial
            && let Some(per_value) = trial.known_alternative(settings)
            && trial.add_numbers(window, per_value, settings)?
        {
            self.blocks.clear_window();
            return Ok(());
        }
        let choice = self.blocks.choose();
        if let Some(trial) = &mut self.trial {
            trial.note_alternative(choice.cost);
            if trial.add_numbers(window, choice.cost, settings)? {
                self.blocks.clear_window();
                return Ok(());
            }
            self.give_up()?;
        }
        self.note_distinct();
        self.blocks.encode_staged(&choice.plan, present.as_ref())
    }

    /// Encodes the windows kept for a dictionary without one.
    fn give_up(&mut self) -> Result<()> {
        let Some(trial) = self.trial.take() else {
            return Ok(());
        };
        let codes = trial.into_codes();
        if let Some(distinct) = &mut self.distinct {
            let entries = codes.entries().iter().flat_map(W::chunks);
            let entries: Vec<W> = entries.map(|&bytes| W::from_le(bytes)).collect();
            distinct.add_numbers(&entries);
        }
        let (mut last, mut values) = (W::ZERO, Vec::new());
        for window in codes.codes().chunks(WINDOW) {
            values.clear();
            for &code in window {
                if code != NULL {
                    let entry = codes.entries().entry(code);
                    last = W::chunks(entry)
                        .first()
                        .map_or(last, |&bytes| W::from_le(bytes));
                }
                values.push(last);
            }
            let has = |i: usize| window[i] != NULL;
            self.blocks.encode_window(&values, has)?;
        }
        Ok(())
    }

    /// Returns the candidate encodings of the staged values.
    fn into_candidates(mut self) -> Result<Vec<Candidate>> {
        let present = self.blocks.take_presence();
        let weighed = self.blocks.weigh();
        let mut candidates: Vec<Candidate> = weighed.into_iter().map(Candidate::from).collect();
        if let Some(trial) = &self.trial {
            let mut trial = Trial::new(trial.entry());
            let (window, settings) = (self.blocks.window(present.as_ref()), self.blocks.settings());
            if trial.add_numbers(window, f64::INFINITY, settings)? {
                candidates.push(trial.weighed(settings).into());
            }
        }
        Ok(candidates)
    }

    /// Returns the memory size in bytes.
    fn memory_size(&self) -> usize {
        let trial = self.trial.as_ref().map_or(0, Trial::memory_size);
        let distinct = self.distinct.as_ref().map_or(0, DistinctStats::memory_size);
        self.blocks.memory_size() + trial + distinct
    }

    /// Encodes the remaining staged values, without a dictionary.
    fn complete(&mut self) -> Result<()> {
        self.give_up()?;
        if self.blocks.is_empty() {
            Ok(())
        } else {
            self.flush()
        }
    }

    /// Returns the finished buffer of values without a dictionary.
    fn finish(mut self, buffer: BufferKind) -> Result<FinishedBuffer> {
        self.complete()?;
        self.blocks.finish(buffer)
    }

    /// Returns the finished values, with a dictionary where it pays off.
    fn finish_values(mut self) -> Result<FinishedLeaf> {
        if self.trial.is_some() && !self.blocks.is_empty() {
            self.flush()?;
        }
        match self.trial.take() {
            Some(trial) if !trial.is_empty() => {
                let leaf = trial.finish(*self.blocks.settings())?;
                Ok(leaf.with_distinct(self.distinct))
            }
            _ => {
                self.complete()?;
                let mut distinct = self.distinct.take();
                let count = distinct
                    .as_mut()
                    .and_then(DistinctStats::complete_small::<W>);
                let leaf = FinishedLeaf::plain(vec![self.blocks.finish(BufferKind::Data)?]);
                Ok(FinishedLeaf {
                    distinct_count: count,
                    ..leaf.with_distinct(distinct)
                })
            }
        }
    }
}
