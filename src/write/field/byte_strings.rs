//! Spec: Chapter 6, "Primitive Variable-Sized Encoding": strings and binary values on their way into
//! blocks.

mod compressor_dictionaries;
mod window;

use super::byte_run::{check_length, note_run};
use super::codes::{Codes, FinishedEntries, NULL};
use super::finished_leaf::{FinishedBytes, FinishedLeaf};
use super::leaf_encoder::BytesEncoder;
use super::nulls::StagedPresence;
use super::plan::FieldPlan;
use super::trial::{DictionaryTrial, Offer, TrialWindows};
use crate::buffer::{BlockStreamWriter, Physical};
use crate::column::{ByteValues, append_views};
use crate::encoding::{bytes, presence};
use crate::error::{Error, Result};
use crate::format::{BufferKind, WINDOW_ROWS};
use crate::limits::Limits;
use crate::stats::{ByteRun, ByteStats, DecimalStats, DistinctStats};
use crate::write::choose::candidate::Candidate;
use crate::write::choose::settings::Settings;
use crate::write::choose::{self, ByteSample, Choice, Weighed};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer};
use compressor_dictionaries::CompressorDictionaries;
use window::StagedBytes;

/// Bytes of staged values after which they are encoded, even if the window is not full.
const WINDOW_BYTES: usize = 4 << 20;

/// Encodes the byte values of one stripe field in blocks.
#[derive(Debug)]
pub(super) struct BlockBytes {
    settings: Settings,
    staged: StagedBytes,
    /// Positions of the window before the staged ones.
    in_window: usize,
    presence: StagedPresence,
    /// Nulls among the staged positions, for encodings with a code for null.
    nulls: StagedPresence,
    trial: DictionaryTrial,
    blocks: BlockStreamWriter,
    /// FSST symbols learned from earlier windows.
    learned: bytes::Learned,
    /// Compressor dictionaries of the blocks, if they are enabled.
    compressors: Option<CompressorDictionaries>,
    stats: ByteStats,
    decimals: Option<DecimalStats>,
    distinct: Option<DistinctStats>,
    total_bytes: u64,
}

impl BlockBytes {
    pub(super) fn new(plan: &FieldPlan) -> Self {
        Self {
            settings: plan.settings,
            staged: StagedBytes::new(plan.physical.width()),
            in_window: 0,
            presence: StagedPresence::default(),
            nulls: StagedPresence::default(),
            trial: DictionaryTrial::new(plan.tried_entry()),
            blocks: BlockStreamWriter::new(plan.pool.clone())
                .with_checksums(!plan.settings.is_member)
                .with_blobs(plan.settings.blobs.is_some()),
            learned: bytes::Learned::default(),
            compressors: (plan.settings.compressor_dictionaries
                && plan.physical == Physical::Bytes)
                .then(CompressorDictionaries::default),
            stats: plan.byte_stats(),
            decimals: plan.decimal_stats(),
            distinct: plan.distinct(),
            total_bytes: 0,
        }
    }

    /// Appends contiguous values. Each run without nulls is copied at once.
    fn push_ranges(
        &mut self,
        len: usize,
        nulls: Option<&NullBuffer>,
        data: &[u8],
        offset: impl Fn(usize) -> usize,
    ) -> Result<()> {
        let mut at = 0;
        while at < len {
            let mut room = self.room(len - at);
            // A window of long values ends early.
            if offset(at + room) - offset(at) > WINDOW_BYTES {
                let limit = offset(at) + WINDOW_BYTES;
                let fits = (1..=room).take_while(|&n| offset(at + n) <= limit).last();
                room = fits.unwrap_or(1);
            }
            let nulls = self.stage_nulls(at, room, nulls);
            match &nulls {
                None => self.stage_run(at, room, data, &offset)?,
                Some(nulls) => {
                    let mut done = 0;
                    for (start, end) in nulls.set_slices() {
                        self.stage_empty(start - done);
                        self.stage_run(at + start, end - start, data, &offset)?;
                        done = end;
                    }
                    self.stage_empty(room - done);
                }
            }
            self.advance(room)?;
            at += room;
        }
        Ok(())
    }

    fn stage_run(
        &mut self,
        start: usize,
        len: usize,
        data: &[u8],
        offset: &impl Fn(usize) -> usize,
    ) -> Result<()> {
        let first = offset(start);
        let base = self.staged.values.len();
        let mut last = first;
        let mut longest = 0;
        self.staged
            .offsets
            .extend((start + 1..=start + len).map(|i| {
                let end = offset(i);
                longest = longest.max(end - last);
                last = end;
                (base + end - first) as u64
            }));
        check_length(longest)?;
        self.staged.values.extend_from_slice(&data[first..last]);
        Ok(())
    }

    fn stage_empty(&mut self, len: usize) {
        self.staged
            .offsets
            .extend(std::iter::repeat_n(self.staged.values.len() as u64, len));
    }

    /// Appends values of an array with views.
    fn push_views(
        &mut self,
        views: &[u128],
        buffers: &[Buffer],
        nulls: Option<&NullBuffer>,
    ) -> Result<()> {
        let mut at = 0;
        while at < views.len() {
            let room = self.room(views.len() - at);
            let valid = nulls.map(|n| n.inner().slice(at, room));
            let taken = append_views(
                &views[at..at + room],
                buffers,
                valid.as_ref(),
                WINDOW_BYTES,
                &mut self.staged.values,
                &mut self.staged.offsets,
            );
            self.stage_nulls(at, taken, nulls);
            self.advance(taken)?;
            at += taken;
        }
        Ok(())
    }

    fn push_values<'a>(
        &mut self,
        len: usize,
        nulls: Option<&NullBuffer>,
        value: impl Fn(usize) -> &'a [u8],
    ) -> Result<()> {
        let mut at = 0;
        while at < len {
            let room = self.room(len - at);
            let start = self.staged.values.len();
            let mut taken = 0;
            while taken < room && (taken == 0 || self.staged.values.len() - start < WINDOW_BYTES) {
                if nulls.is_none_or(|n| n.is_valid(at + taken)) {
                    let bytes = value(at + taken);
                    check_length(bytes.len())?;
                    self.staged.values.extend_from_slice(bytes);
                }
                self.staged.offsets.push(self.staged.values.len() as u64);
                taken += 1;
            }
            self.stage_nulls(at, taken, nulls);
            self.advance(taken)?;
            at += taken;
        }
        Ok(())
    }

    /// Returns how many of `len` more values the window takes.
    fn room(&self, len: usize) -> usize {
        let at = self.in_window + self.staged.len;
        let most = if self.settings.is_member {
            self.settings.block_values - at % self.settings.block_values
        } else {
            WINDOW_ROWS - at
        };
        most.min(len)
    }

    /// Returns whether a block may end here. The blocks of a packed group's members must end together.
    fn is_at_border(&self) -> bool {
        let at = self.in_window + self.staged.len;
        !self.settings.is_member || at.is_multiple_of(self.settings.block_values)
    }

    /// Refuses a block that is too large for readers. Only blocks of packed groups can be that large.
    fn check_block(&self, bytes: u64) -> Result<()> {
        let most = Limits::default().max_block_bytes();
        if self.settings.is_member && bytes > most {
            return Err(Error::invalid(format!(
                "a block of a packed group holds {bytes} bytes, and readers take {most}; write smaller \
                 blocks, or the column apart"
            )));
        }
        Ok(())
    }

    fn stage_nulls(
        &mut self,
        at: usize,
        len: usize,
        nulls: Option<&NullBuffer>,
    ) -> Option<BooleanBuffer> {
        let nulls = nulls.map(|n| n.inner().slice(at, len));
        self.nulls.append(self.staged.len, len, nulls.as_ref());
        if self.settings.embedded_presence {
            self.presence.append(self.staged.len, len, nulls.as_ref());
        }
        nulls
    }

    /// Adds the staged values to the statistics.
    fn note_values(&mut self, nulls: Option<&BooleanBuffer>) {
        match self.staged.fixed {
            Some(width) => self.note_run(nulls, |_, i| i * width),
            None => self.note_run(nulls, |offsets, i| offsets[i].as_usize()),
        }
    }

    fn note_run(&mut self, nulls: Option<&BooleanBuffer>, end: impl Fn(&[u64], usize) -> usize) {
        let run = ByteRun {
            bytes: &self.staged.values,
            end: |i: usize| end(&self.staged.offsets, i),
        };
        note_run(
            &mut self.stats,
            &mut self.distinct,
            self.staged.len,
            nulls,
            &run,
        );
    }

    fn advance(&mut self, len: usize) -> Result<()> {
        self.staged.len += len;
        let full = self.in_window + self.staged.len == WINDOW_ROWS;
        if full || (self.staged.values.len() >= WINDOW_BYTES && self.is_at_border()) {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.staged.len == 0 {
            return Ok(());
        }
        let presence = self.presence.take();
        let nulls = self.nulls.take().map(NullBuffer::new);
        let window = self.staged.window(nulls.as_ref(), &self.settings);
        let add =
            |dictionary: &mut TrialWindows, alternative| window.add_to(dictionary, alternative);
        let choose = || {
            let choice = match window.sample() {
                Some(sample) => {
                    let whole = window.slice(0, window.len);
                    let sample = ByteSample {
                        block: sample.input(),
                        window: whole.input(),
                    };
                    choose::byte_strings(sample, &mut self.learned, &self.settings)?
                }
                None => Choice {
                    plan: bytes::Plan::Plain,
                    cost: 0.0,
                    nanoseconds: 0.0,
                },
            };
            match &mut self.compressors {
                Some(compressors) => compressors.choose(window, choice),
                None => Ok(choice),
            }
        };
        let choice = match self.trial.offer(&self.settings, add, choose)? {
            Offer::Taken => {
                self.clear_window();
                return Ok(());
            }
            Offer::Declined(choice, earlier) => {
                if let Some(codes) = earlier {
                    self.encode_codes(&codes)?;
                }
                choice
            }
        };
        self.note_values(nulls.as_ref().map(NullBuffer::inner));
        self.encode(&choice.plan, presence.as_ref(), nulls.as_ref())
    }

    /// Encodes windows without the dictionary that they were kept for.
    fn encode_codes(&mut self, codes: &Codes) -> Result<()> {
        let earlier = StagedBytes::new(self.staged.fixed);
        let staged = std::mem::replace(&mut self.staged, earlier);
        (self.in_window, self.total_bytes) = (0, 0);
        // Statistics of decimals already include these values.
        let decimals = self.decimals.take();
        for start in (0..codes.codes().len()).step_by(WINDOW_ROWS) {
            let end = codes.codes().len().min(start + WINDOW_ROWS);
            self.push_codes(codes, start, end)?;
        }
        self.flush()?;
        (self.staged, self.decimals) = (staged, decimals);
        Ok(())
    }

    fn push_codes(&mut self, codes: &Codes, start: usize, end: usize) -> Result<()> {
        let window = &codes.codes()[start..end];
        let valid = BooleanBuffer::collect_bool(window.len(), |i| window[i] != NULL);
        let nulls = Some(NullBuffer::new(valid)).filter(|nulls| nulls.null_count() > 0);
        let value = |i: usize| match window[i] {
            NULL => &[][..],
            code => codes.entries().entry(code),
        };
        let Some(width) = self.staged.fixed else {
            return self.push_values(window.len(), nulls.as_ref(), value);
        };
        let mut data = vec![0; window.len() * width];
        for (i, to) in data.chunks_exact_mut(width.max(1)).enumerate() {
            if window[i] != NULL {
                to.copy_from_slice(value(i));
            }
        }
        self.push_fixed(&data, window.len(), nulls.as_ref())
    }

    /// Encodes the staged values.
    fn encode(
        &mut self,
        plan: &bytes::Plan,
        presence: Option<&BooleanBuffer>,
        nulls: Option<&NullBuffer>,
    ) -> Result<()> {
        let window = self.staged.window(nulls, &self.settings);
        if let Some(compressors) = &mut self.compressors {
            compressors.note(plan);
        }
        let mut start = 0;
        while start < window.len {
            let len = window.block_len(start);
            self.check_block((window.end(start + len) - window.end(start)) as u64)?;
            let section = match presence {
                Some(bits) => presence::encode(&bits.slice(start, len), false)?,
                None => Vec::new(),
            };
            let block = window.slice(start, len);
            if window.is_blob(start) {
                let value = window.value(start).unwrap_or_default();
                self.blocks.push_blob(value.len(), |out| {
                    bytes::encode(&block.input(), &bytes::Plan::Plain, out)
                })?;
            } else {
                self.blocks.push(len, &section, |out| {
                    bytes::encode(&block.input(), plan, out)
                })?;
            }
            start += len;
        }
        self.clear_window();
        Ok(())
    }

    /// Drops the staged values, which are stored in blocks or taken by the dictionary.
    fn clear_window(&mut self) {
        self.total_bytes += self.staged.values.len() as u64;
        self.in_window = (self.in_window + self.staged.len) % WINDOW_ROWS;
        self.staged.clear();
    }
}

impl BytesEncoder for BlockBytes {
    fn push_fixed(&mut self, data: &[u8], len: usize, nulls: Option<&NullBuffer>) -> Result<()> {
        let width = self.staged.fixed.unwrap_or(0);
        let mut at = 0;
        while at < len {
            let room = self.room(len - at);
            let nulls = self.stage_nulls(at, room, nulls);
            let part = &data[at * width..(at + room) * width];
            match &nulls {
                None => self.staged.values.extend_from_slice(part),
                Some(nulls) => {
                    let base = self.staged.values.len();
                    self.staged.values.resize(base + part.len(), 0);
                    for (start, end) in nulls.set_slices() {
                        let bytes = start * width..end * width;
                        self.staged.values[base + bytes.start..base + bytes.end]
                            .copy_from_slice(&part[bytes]);
                    }
                }
            }
            if let Some(decimals) = &mut self.decimals {
                let value = |i: usize| &part[i * width..(i + 1) * width];
                decimals.update(room, nulls.as_ref(), value);
            }
            self.advance(room)?;
            at += room;
        }
        Ok(())
    }

    fn push(&mut self, values: &ByteValues, len: usize, nulls: Option<&NullBuffer>) -> Result<()> {
        match values {
            ByteValues::Offsets32(offsets, data) => {
                self.push_ranges(len, nulls, data, |i| offsets[i].as_usize())
            }
            ByteValues::Offsets64(offsets, data) => {
                self.push_ranges(len, nulls, data, |i| offsets[i].as_usize())
            }
            ByteValues::Views(views, buffers) => self.push_views(&views[..len], buffers, nulls),
        }
    }

    fn total_bytes(&self) -> u64 {
        self.total_bytes + self.staged.values.len() as u64
    }

    fn into_candidates(mut self: Box<Self>) -> Result<Vec<Candidate>> {
        let nulls = self.nulls.take().map(NullBuffer::new);
        let window = self.staged.window(nulls.as_ref(), &self.settings);
        let Some(sample) = window.sample() else {
            return Ok(vec![Weighed::plain(bytes::Plan::Plain, 0.0).into()]);
        };
        let whole = window.slice(0, window.len);
        let sample = ByteSample {
            block: sample.input(),
            window: whole.input(),
        };
        let weighed = choose::weigh_bytes(sample, &mut self.learned, &self.settings)?;
        self.trial
            .candidates(weighed, &self.settings, |dictionary, alternative| {
                window.add_to(dictionary, alternative)
            })
    }

    fn memory_size(&self) -> usize {
        let distinct = self.distinct.as_ref().map_or(0, DistinctStats::memory_size);
        let compressors = self.compressors.as_ref();
        let compressors = compressors.map_or(0, CompressorDictionaries::memory_size);
        self.staged.memory_size()
            + self.blocks.size()
            + self.trial.memory_size()
            + distinct
            + compressors
    }

    fn finish(mut self: Box<Self>) -> Result<FinishedBytes> {
        self.flush()?;
        if let Some(codes) = self.trial.give_up_unpaid(&self.settings) {
            self.encode_codes(&codes)?;
        }
        let leaf = match self.trial.finish(self.settings)? {
            Some(leaf) => leaf,
            None => {
                let embedded = self.settings.embedded_presence;
                let data = self.blocks.finish(BufferKind::Data)?;
                let mut buffers = vec![data.with_embedded(embedded, !self.settings.delimited)];
                if let Some(compressors) = self.compressors {
                    buffers.extend(compressors.finish()?);
                }
                FinishedLeaf::plain(buffers)
            }
        };
        for (entry, times) in leaf.entries.iter().flat_map(FinishedEntries::used) {
            self.stats.update_repeated(entry, times);
        }
        Ok(FinishedBytes {
            leaf: leaf.with_distinct(self.distinct),
            stats: self.stats,
            decimals: self.decimals,
        })
    }
}
