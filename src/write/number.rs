//! Numbers on their way into blocks or a raw buffer.

use super::choose;
use super::codes::{Entries, EntryType, NULL};
use super::explain::Candidate;
use super::options::Profile;
use super::trial::{NumberWindow, Trial};
use crate::buffer::{BlockStreamWriter, FinishedBuffer};
use crate::encoding::{NumberKind, Word};
use crate::encoding::{number, presence};
use crate::error::Result;
use crate::format::{BufferKind, Capabilities};
use crate::stats::DistinctStats;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer};

/// Positions after which blocks end, and encodings are chosen anew. Scans that are split by
/// record range, and parallel tasks, meet at these borders.
pub(super) const WINDOW: usize = 65_536;

/// How the buffers of a column are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) profile: Profile,
    /// Whether presence goes into the blocks of the values.
    pub(super) embedded_presence: bool,
    pub(super) block_values: usize,
    /// Whether values that come without a dictionary get one where that pays.
    pub(super) dictionaries: bool,
    /// Whether statistics are collected.
    pub(super) statistics: bool,
    pub(super) filter: FilterChoice,
    /// Probability of a false positive of filters.
    pub(super) filter_fpp: f64,
    /// Whether values of 16 bytes are integers in two's complement.
    pub(super) wide_integers: bool,
    pub(super) capabilities: Capabilities,
}

/// Whether a column gets membership filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilterChoice {
    Never,
    /// Where it should pay.
    Automatic,
    Always,
}

impl Settings {
    /// Whether buffers are raw.
    pub(super) fn is_raw(&self) -> bool {
        self.profile == Profile::Plain && self.capabilities.raw_buffers
    }
}

/// Presence that is to go into the blocks of the staged values.
#[derive(Debug, Default)]
pub(super) struct StagedPresence(Option<BooleanBufferBuilder>);

impl StagedPresence {
    /// Appends the presence of `len` values to those of `staged` earlier ones.
    pub(super) fn append(&mut self, staged: usize, len: usize, nulls: Option<&BooleanBuffer>) {
        if nulls.is_none() && self.0.is_none() {
            return;
        }
        let bits = self.0.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(WINDOW);
            bits.append_n(staged, true);
            bits
        });
        match nulls {
            Some(nulls) => bits.append_buffer(nulls),
            None => bits.append_n(len, true),
        }
    }

    /// Takes the presence of all staged values.
    pub(super) fn take(&mut self) -> Option<BooleanBuffer> {
        self.0.take().map(|mut bits| bits.finish())
    }
}

/// Encodes the numbers of one stripe field.
#[derive(Debug)]
pub(super) struct NumberEncoder<W> {
    kind: NumberKind,
    settings: Settings,
    /// The values of the current window; of the whole stripe if the buffer is raw.
    staged: Vec<W>,
    presence: StagedPresence,
    /// The windows before, as long as a value dictionary pays.
    trial: Option<Trial>,
    blocks: BlockStreamWriter,
    last: W,
    distinct: Option<DistinctStats>,
    /// Whether a value has come that is not null.
    seen: bool,
    /// Staged positions before the first value of all.
    blank: usize,
}

impl<W: Word> NumberEncoder<W> {
    pub(super) fn new(kind: NumberKind, settings: Settings) -> Self {
        Self {
            kind,
            settings,
            staged: Vec::new(),
            presence: StagedPresence::default(),
            trial: None,
            blocks: BlockStreamWriter::default(),
            last: W::ZERO,
            distinct: None,
            seen: false,
            blank: 0,
        }
    }

    /// Takes note of the distinct values.
    pub(super) fn with_distinct(mut self, distinct: Option<DistinctStats>) -> Self {
        self.distinct = distinct;
        self
    }

    /// Stores the values with a dictionary if that pays.
    pub(super) fn with_trial(mut self, entry: Option<EntryType>) -> Self {
        self.trial = entry.map(Trial::new);
        self
    }

    /// Appends values. Null positions take the value before them, which encodes best and shows
    /// nothing of what the array held there.
    pub(super) fn push(&mut self, values: &[W], nulls: Option<&NullBuffer>) -> Result<()> {
        let mut at = 0;
        while at < values.len() {
            let room = if self.settings.is_raw() {
                values.len() - at
            } else {
                (WINDOW - self.staged.len()).min(values.len() - at)
            };
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
                Some(nulls) => self.extend_filled(part, nulls),
            }
            self.last = self.staged.last().copied().unwrap_or(self.last);
            at += room;
            if !self.settings.is_raw() && self.staged.len() == WINDOW {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn extend_filled(&mut self, values: &[W], nulls: &BooleanBuffer) {
        let mut done = 0;
        for (start, end) in nulls.set_slices() {
            let is_first = done == 0 && self.staged.is_empty() && self.blocks.size() == 0;
            let fill = if is_first && self.trial.as_ref().is_none_or(Trial::is_empty) {
                values[start]
            } else {
                self.staged.last().copied().unwrap_or(self.last)
            };
            self.see_first(self.staged.len() + start - done);
            self.staged.extend(std::iter::repeat_n(fill, start - done));
            self.staged.extend_from_slice(&values[start..end]);
            done = end;
        }
        let fill = self.staged.last().copied().unwrap_or(self.last);
        self.staged
            .extend(std::iter::repeat_n(fill, values.len() - done));
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
        let choice = choose::numbers(&self.staged, self.kind, &self.settings);
        let leading = self.leading();
        if let Some(trial) = &mut self.trial {
            let window = NumberWindow {
                values: &self.staged,
                present: present.as_ref(),
                leading,
            };
            let cost = choice.cost * self.staged.len() as f64;
            if trial.add_numbers(window, cost, &self.settings)? {
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
        self.last = self.staged.last().copied().unwrap_or(self.last);
        self.staged.clear();
        self.blank = 0;
    }

    /// How the staged values might be encoded.
    pub(super) fn into_candidates(mut self) -> Result<Vec<Candidate>> {
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
    pub(super) fn memory_size(&self) -> usize {
        let trial = self.trial.as_ref().map_or(0, Trial::memory_size);
        let distinct = self.distinct.as_ref().map_or(0, DistinctStats::memory_size);
        self.staged.capacity() * W::BYTES + self.blocks.size() + trial + distinct
    }

    /// Encodes what is still staged, without a dictionary.
    fn complete(&mut self) -> Result<()> {
        if self.settings.is_raw() {
            self.note_distinct();
            return Ok(());
        }
        self.give_up()?;
        match self.staged.is_empty() {
            true => Ok(()),
            false => self.flush(),
        }
    }

    /// The finished buffer of values that have no dictionary.
    pub(super) fn finish(mut self, buffer: BufferKind) -> Result<FinishedBuffer> {
        self.complete()?;
        self.into_buffer(buffer)
    }

    fn into_buffer(self, buffer: BufferKind) -> Result<FinishedBuffer> {
        if self.settings.is_raw() {
            return Ok(FinishedBuffer::raw(buffer, to_le_bytes(&self.staged)));
        }
        let embedded = self.settings.embedded_presence;
        Ok(self.blocks.finish(buffer)?.with_embedded(embedded, false))
    }

    /// The finished values, with a dictionary if that pays.
    pub(super) fn finish_values(mut self) -> Result<FinishedLeaf> {
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

/// The buffers of the values of a leaf.
#[derive(Debug)]
pub(super) struct FinishedLeaf {
    pub(super) buffers: Vec<FinishedBuffer>,
    /// The entries, if there is a dictionary.
    pub(super) entries: Option<Entries>,
    pub(super) distinct: Option<DistinctStats>,
    /// Number of distinct values, if it is known.
    pub(super) distinct_count: Option<u64>,
}

impl FinishedLeaf {
    /// Values that have no dictionary.
    pub(super) fn plain(buffers: Vec<FinishedBuffer>) -> Self {
        Self {
            buffers,
            entries: None,
            distinct: None,
            distinct_count: None,
        }
    }

    /// Values that have a dictionary.
    pub(super) fn with_entries(buffers: Vec<FinishedBuffer>, entries: Entries) -> Self {
        Self {
            distinct_count: entries.distinct(),
            entries: Some(entries),
            ..Self::plain(buffers)
        }
    }

    /// Gives what is known of the distinct values, entries of the dictionary added.
    pub(super) fn with_distinct(mut self, mut distinct: Option<DistinctStats>) -> Self {
        if let (Some(entries), Some(distinct)) = (&self.entries, &mut distinct) {
            entries.used().for_each(|(entry, _)| distinct.add(entry));
        }
        self.distinct = distinct;
        self
    }
}

/// The bytes of words, as they stand in a raw buffer.
pub(super) fn to_le_bytes<W: Word>(words: &[W]) -> Vec<u8> {
    let mut bytes = vec![0; words.len() * W::BYTES];
    for (to, word) in W::chunks_mut(&mut bytes).iter_mut().zip(words) {
        *to = word.to_le();
    }
    bytes
}

/// Encodes a bitmap: the values of a Boolean field, or presence.
pub(super) fn finish_bits(
    bits: &BooleanBuffer,
    settings: Settings,
    buffer: BufferKind,
) -> Result<FinishedBuffer> {
    let mut bytes = bits.sliced().as_slice()[..bits.len().div_ceil(8)].to_vec();
    let spare = bytes.len() * 8 - bits.len();
    if let Some(last) = bytes.last_mut() {
        *last &= 0xff >> spare;
    }
    // Blocks of bits count bytes, and have to end at every window of positions.
    let most = settings.block_values.min(WINDOW / 8);
    let settings = Settings {
        embedded_presence: false,
        block_values: 1 << most.ilog2(),
        ..settings
    };
    if settings.is_raw() {
        return Ok(FinishedBuffer::raw(buffer, bytes));
    }
    let mut encoder = NumberEncoder::<u8>::new(NumberKind::Unsigned, settings);
    encoder.push(&bytes, None)?;
    encoder.finish(buffer)
}
