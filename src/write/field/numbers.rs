//! Spec: Chapter 6, "Primitive Fixed-Size Types Encoding": numbers on their way into blocks or a raw
//! buffer, with a value dictionary where that pays.

use super::codes::{Codes, NULL};
use super::finished_leaf::FinishedLeaf;
use super::leaf_encoder::NumberEncoder;
use super::number_blocks::NumberBlocks;
use super::plan::FieldPlan;
use super::raw::RawNumbers;
use super::trial::{DictionaryTrial, Offer, TrialWindows};
use crate::buffer::PiecePool;
use crate::encoding::{NumberKind, Word};
use crate::error::Result;
use crate::format::{BufferKind, WINDOW_ROWS};
use crate::stats::DistinctStats;
use crate::write::choose::candidate::Candidate;
use crate::write::choose::settings::Settings;
use arrow_buffer::NullBuffer;
use std::sync::Arc;

/// Returns an encoder for numbers that never get a dictionary, such as codes, bits and offsets.
pub(super) fn plain_numbers<W: Word>(
    kind: NumberKind,
    settings: Settings,
    pool: &Arc<PiecePool>,
) -> Box<dyn NumberEncoder<W>> {
    if settings.is_raw() {
        Box::new(RawNumbers::new(pool.clone(), None))
    } else {
        Box::new(BlockNumbers {
            blocks: NumberBlocks::new(kind, settings, pool.clone()),
            trial: DictionaryTrial::new(None),
            distinct: None,
        })
    }
}

/// Returns an encoder for the numbers of a field. Raw values never get a dictionary.
pub(super) fn field_numbers<W: Word>(plan: &FieldPlan) -> Box<dyn NumberEncoder<W>> {
    let (settings, pool) = (plan.settings, plan.pool.clone());
    if settings.is_raw() {
        Box::new(RawNumbers::new(pool, plan.distinct()))
    } else {
        Box::new(BlockNumbers {
            blocks: NumberBlocks::new(plan.domain.kind(), settings, pool),
            trial: DictionaryTrial::new(plan.tried_entry()),
            distinct: plan.distinct(),
        })
    }
}

/// Encodes numbers in blocks, with a dictionary where it pays off.
#[derive(Debug)]
struct BlockNumbers<W> {
    blocks: NumberBlocks<W>,
    trial: DictionaryTrial,
    distinct: Option<DistinctStats>,
}

impl<W: Word> BlockNumbers<W> {
    fn flush(&mut self) -> Result<()> {
        let present = self.blocks.take_presence();
        let window = self.blocks.window(present.as_ref());
        let settings = self.blocks.settings();
        let add = |windows: &mut TrialWindows, alternative| {
            windows.add_numbers(window, alternative, settings)
        };
        let choose = || Ok(self.blocks.choose());
        let choice = match self.trial.offer(settings, add, choose)? {
            Offer::Taken => {
                self.blocks.clear_window();
                return Ok(());
            }
            Offer::Declined(choice, earlier) => {
                if let Some(codes) = earlier {
                    self.encode_codes(&codes)?;
                }
                choice
            }
        };
        if let Some(distinct) = &mut self.distinct {
            distinct.add_numbers(self.blocks.staged_values());
        }
        self.blocks.encode_staged(&choice.plan, present.as_ref())
    }

    /// Encodes windows without the dictionary that they were kept for.
    fn encode_codes(&mut self, codes: &Codes) -> Result<()> {
        if let Some(distinct) = &mut self.distinct {
            let entries = codes.entries().iter().flat_map(W::chunks);
            let entries: Vec<W> = entries.map(|&bytes| W::from_le(bytes)).collect();
            distinct.add_numbers(&entries);
        }
        let (mut last, mut values) = (W::ZERO, Vec::new());
        for window in codes.codes().chunks(WINDOW_ROWS) {
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
}

impl<W: Word> NumberEncoder<W> for BlockNumbers<W> {
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

    fn into_candidates(mut self: Box<Self>) -> Result<Vec<Candidate>> {
        let present = self.blocks.take_presence();
        let window = self.blocks.window(present.as_ref());
        let settings = self.blocks.settings();
        let weighed = self.blocks.weigh();
        self.trial
            .candidates(weighed, settings, |windows, alternative| {
                windows.add_numbers(window, alternative, settings)
            })
    }

    fn memory_size(&self) -> usize {
        let distinct = self.distinct.as_ref().map_or(0, DistinctStats::memory_size);
        self.blocks.memory_size() + self.trial.memory_size() + distinct
    }

    fn finish(mut self: Box<Self>, buffer: BufferKind) -> Result<FinishedLeaf> {
        if !self.blocks.is_empty() {
            self.flush()?;
        }
        let settings = *self.blocks.settings();
        if let Some(codes) = self.trial.give_up_unpaid(&settings) {
            self.encode_codes(&codes)?;
        }
        match self.trial.finish(settings)? {
            Some(leaf) => Ok(leaf.with_distinct(self.distinct)),
            None => {
                let buffer = self.blocks.finish(buffer)?;
                Ok(FinishedLeaf::of_numbers::<W>(buffer, self.distinct))
            }
        }
    }
}
