//! What the blocks of a stripe field share to be smaller: trained dictionaries of Zstandard, and
//! symbols of FSST.

use super::staged::{BlockInput, Staged};
use crate::buffer::{FinishedBuffer, MAX_OPAQUE_DICTIONARIES, OpaqueDictionary};
use crate::encoding::{DictionaryKind, Trained, bytes, number};
use crate::error::Result;
use crate::write::choose::{self, Choice};
use crate::write::profile::Profile;
use crate::write::settings::Settings;
use arrow_buffer::ArrowNativeType;

/// Blocks of a window below which nothing is shared: there is nothing to judge by.
const LEAST_BLOCKS: usize = 8;
/// Blocks that plans are tried on, which teach nothing.
const TRIED_BLOCKS: usize = 4;
/// Bytes that samples for training should have: values that stand together in blocks.
const SAMPLE_BYTES: usize = 2048;
/// Bytes of samples: training takes about a second for them.
const TRAINING_BYTES: usize = 2 << 20;
/// Bytes of the dictionaries that are tried. Larger ones save hardly more in the blocks of a log, and
/// readers have to fetch them.
const DICTIONARY_BYTES: [usize; 2] = [8 << 10, 32 << 10];
/// Bytes of samples per byte of a dictionary: smaller shares teach what seldom occurs.
const SAMPLES_PER_BYTE: usize = 16;
/// The share of what a dictionary saved at first that it may lose before another is trained.
const LOST: f64 = 0.4;
/// Values that teach symbols.
const LESSON_VALUES: usize = 8192;

/// What the blocks of a stripe field share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// What blocks name, with the numbers that they name it by.
    stored: Vec<(u32, OpaqueDictionary)>,
    last_id: u32,
    /// The dictionary that was trained last, and what values cost with it then, of what they cost
    /// without.
    trained: Option<(Trained, f64)>,
    symbols: bytes::Learned,
}

impl Shared {
    /// The cheapest of what was chosen for the blocks of a window without sharing, and of what they
    /// could share.
    pub(super) fn choose(
        &mut self,
        staged: &Staged<'_>,
        len: usize,
        choice: Choice<bytes::Plan>,
        settings: &Settings,
    ) -> Result<Choice<bytes::Plan>> {
        let window = Window::new(staged, len, settings);
        if window.blocks.len() < LEAST_BLOCKS {
            return Ok(choice);
        }
        let tried: Vec<BlockInput<'_>> = window.tried().collect();
        let tried: Vec<bytes::Input<'_>> = tried.iter().map(BlockInput::input).collect();
        let cost = |plan: &bytes::Plan| choose::tried_bytes(plan, &tried, settings);
        let mut best = Choice {
            cost: cost(&choice.plan)?,
            plan: choice.plan,
        };
        let alone = best.cost;
        let mut offer = |plan: bytes::Plan, cost: f64| {
            if cost < best.cost {
                best = Choice { plan, cost };
            }
        };
        if settings.profile == Profile::Balanced {
            let plan = self.learn(staged, len, settings)?;
            let cost = cost(&plan)?;
            offer(plan, cost);
        }
        let zstd = |dictionary: &Trained| bytes::Plan::Trained {
            dictionary: dictionary.clone(),
            offsets: Some(choose::offsets_plan(settings)),
        };
        if let Some((dictionary, first)) = &self.trained {
            let (plan, first) = (zstd(dictionary), *first);
            let cost = cost(&plan)?;
            offer(plan, cost);
            if cost / alone - first <= (1.0 - first).abs() * LOST {
                return Ok(best);
            }
        }
        let level = choose::levels(settings.profile).0;
        if let Some(id) = self.next_id()
            && let Some((dictionary, of_blocks, total)) =
                window.best_dictionary(id, level, |dictionary| cost(&zstd(dictionary)))?
        {
            offer(zstd(&dictionary), total);
            self.last_id = id;
            self.trained = Some((dictionary, of_blocks / alone));
        }
        Ok(best)
    }

    /// A number for what is shared next, if there may be more.
    fn next_id(&self) -> Option<u32> {
        let next = self.last_id + 1;
        (next as usize <= MAX_OPAQUE_DICTIONARIES).then_some(next)
    }

    /// FSST with symbols that suit the window: those of the windows before, or others.
    fn learn(
        &mut self,
        staged: &Staged<'_>,
        len: usize,
        settings: &Settings,
    ) -> Result<bytes::Plan> {
        let lesson = Settings {
            block_values: LESSON_VALUES,
            ..*settings
        };
        let lesson = staged.slice(0, staged.block_len(0, len, &lesson));
        let plan = bytes::Plan::fsst_values(number::Plan::Ffor).with_symbols(&self.symbols);
        let plan = plan.learned_from(&lesson.input())?;
        let known = plan.symbols().and_then(bytes::Learned::dictionary);
        let (None, Some(id), Some(learned)) = (known, self.next_id(), plan.symbols()) else {
            return Ok(plan);
        };
        self.symbols = learned.in_dictionary(id);
        self.last_id = id;
        Ok(plan.with_symbols(&self.symbols))
    }

    /// Keeps what blocks of this plan name.
    pub(super) fn note(&mut self, plan: &bytes::Plan) {
        let (id, kind, payload) = match plan {
            bytes::Plan::Trained { dictionary, .. } => (
                dictionary.id(),
                DictionaryKind::Zstd,
                dictionary.payload().clone(),
            ),
            bytes::Plan::FsstValues { symbols, .. } => match symbols.dictionary() {
                Some(id) => (id, DictionaryKind::Symbols, symbols.payload()),
                None => return,
            },
            _ => return,
        };
        if !self.stored.iter().any(|(known, _)| *known == id) {
            self.stored.push((id, OpaqueDictionary { kind, payload }));
        }
    }

    /// Bytes held in memory.
    pub(super) fn memory_size(&self) -> usize {
        let stored = self.stored.iter().map(|(_, stored)| stored.payload.len());
        stored.sum::<usize>()
            + self
                .trained
                .as_ref()
                .map_or(0, |(trained, _)| trained.payload().len())
    }

    /// The buffers of what blocks name.
    pub(super) fn finish(self) -> Result<Vec<FinishedBuffer>> {
        let buffer = |(id, stored): (u32, OpaqueDictionary)| {
            Ok(FinishedBuffer::opaque_dictionary(id, stored.encode()?))
        };
        self.stored.into_iter().map(buffer).collect()
    }
}

/// The blocks that staged values will be cut into.
struct Window<'a> {
    staged: &'a Staged<'a>,
    /// The first value of each, and their number.
    blocks: Vec<(usize, usize)>,
}

impl<'a> Window<'a> {
    fn new(staged: &'a Staged<'a>, len: usize, settings: &Settings) -> Self {
        let (mut blocks, mut start) = (Vec::new(), 0);
        while start < len {
            let values = staged.block_len(start, len, settings);
            blocks.push((start, values));
            start += values;
        }
        Self { staged, blocks }
    }

    /// Whether plans are tried on a block.
    fn is_tried(&self, block: usize) -> bool {
        let step = self.blocks.len() / TRIED_BLOCKS;
        block % step == step / 2
    }

    fn tried(&self) -> impl Iterator<Item = BlockInput<'a>> {
        let blocks = self.blocks.iter().enumerate();
        let tried = blocks.filter(|(i, _)| self.is_tried(*i));
        tried.map(|(_, &(start, len))| self.staged.slice(start, len))
    }

    /// The dictionary with which a value costs least, what it costs in the blocks, and what with a share
    /// of the dictionary: it must pay in this window, those that follow get it for nothing.
    fn best_dictionary(
        &self,
        id: u32,
        level: i32,
        cost: impl Fn(&Trained) -> Result<f64>,
    ) -> Result<Option<(Trained, f64, f64)>> {
        let samples = self.samples();
        let values = self.blocks.iter().map(|(_, len)| *len).sum::<usize>();
        let mut best: Option<(Trained, f64, f64)> = None;
        for most in DICTIONARY_BYTES {
            let Some(dictionary) = samples.train(most, id, level) else {
                continue;
            };
            let of_blocks = cost(&dictionary)?;
            let total = of_blocks + dictionary.payload().len() as f64 / values as f64;
            if best.as_ref().is_none_or(|(.., least)| total < *least) {
                best = Some((dictionary, of_blocks, total));
            }
        }
        Ok(best)
    }

    /// Stretches of the other blocks.
    fn samples(&self) -> Samples {
        let mut samples = Samples::default();
        let blocks = self.blocks.iter().enumerate();
        let teaching: Vec<_> = blocks.filter(|(i, _)| !self.is_tried(*i)).collect();
        let ends = |start: usize| self.staged.offsets[start].as_usize();
        let bytes: usize = teaching
            .iter()
            .map(|&(_, &(start, len))| ends(start + len) - ends(start))
            .sum();
        // Of larger windows, a part of the samples spread over all blocks.
        let step = bytes.div_ceil(TRAINING_BYTES).max(1);
        let mut ordinal = 0;
        for (_, &(start, len)) in teaching {
            let mut first = ends(start);
            for value in start..start + len {
                let end = ends(value + 1);
                if end - first >= SAMPLE_BYTES || (value + 1 == start + len && end > first) {
                    if ordinal % step == 0 {
                        let bytes = &self.staged.values[first..end];
                        samples.bytes.extend_from_slice(bytes);
                        samples.sizes.push(end - first);
                    }
                    ordinal += 1;
                    first = end;
                }
            }
        }
        samples
    }
}

/// What dictionaries are trained on.
#[derive(Default)]
struct Samples {
    bytes: Vec<u8>,
    sizes: Vec<usize>,
}

impl Samples {
    /// A dictionary of up to `most` bytes, if there are enough samples for so many.
    fn train(&self, most: usize, id: u32, level: i32) -> Option<Trained> {
        let enough = self.bytes.len() >= most * SAMPLES_PER_BYTE;
        enough
            .then(|| Trained::train(&self.bytes, &self.sizes, most, id, level))
            .flatten()
    }
}
