//! Compressor dictionaries of a stripe field, which its blocks share: trained dictionaries of Zstandard, and symbols of
//! FSST.

use super::window::{BlockInput, ByteWindow};
use crate::buffer::{FinishedBuffer, MAX_OPAQUE_DICTIONARIES, OpaqueDictionary};
use crate::encoding::{DictionaryKind, Trained, bytes, number};
use crate::error::Result;
use crate::write::choose::profile::Profile;
use crate::write::choose::{self, Choice};
use arrow_buffer::ArrowNativeType;

/// Fewest blocks of a window for a compressor dictionary: with fewer, there is too little to judge by.
const MIN_BLOCKS: usize = 8;
/// Approximate number of blocks to try plans on. They are not used for training.
const TRIED_BLOCKS: usize = 4;
/// Bytes per training sample: consecutive values of a block.
const SAMPLE_BYTES: usize = 2048;
/// Most bytes of all samples: training on them takes about a second.
const TRAINING_BYTES: usize = 2 << 20;
/// Sizes in bytes of the dictionaries to try. Larger ones hardly save more in the blocks of a log, and readers have to
/// fetch them.
const DICTIONARY_BYTES: [usize; 2] = [8 << 10, 32 << 10];
/// Bytes of samples per byte of a dictionary: with fewer, the dictionary learns rare content.
const SAMPLES_PER_BYTE: usize = 16;
/// Share of a dictionary's initial saving that may be lost before a new one is trained.
const LOST: f64 = 0.4;

/// The compressor dictionaries of a stripe field.
#[derive(Debug, Default)]
pub(super) struct CompressorDictionaries {
    /// The dictionaries that blocks refer to, by id.
    stored: Vec<(u32, OpaqueDictionary)>,
    last_id: u32,
    /// The dictionary trained last, and the cost of values with it at that time, relative to the cost without it.
    trained: Option<(Trained, f64)>,
    symbols: bytes::Learned,
}

impl CompressorDictionaries {
    /// Returns the cheapest of `choice`, made without compressor dictionaries, and the plans with them.
    pub(super) fn choose(
        &mut self,
        window: ByteWindow<'_>,
        choice: Choice<bytes::Plan>,
    ) -> Result<Choice<bytes::Plan>> {
        let settings = window.settings;
        let blocks = WindowBlocks::new(window);
        if blocks.places.len() < MIN_BLOCKS {
            return Ok(choice);
        }
        let tried: Vec<BlockInput<'_>> = blocks.tried().collect();
        let tried: Vec<bytes::Input<'_>> = tried.iter().map(BlockInput::input).collect();
        let cost = |plan: &bytes::Plan| choose::tried_bytes(plan, &tried, settings);
        let mut best = Choice {
            cost: cost(&choice.plan)?,
            ..choice
        };
        let alone = best.cost;
        let mut offer = |plan: bytes::Plan, cost: f64| {
            if cost < best.cost {
                (best.plan, best.cost) = (plan, cost);
            }
        };
        if settings.profile == Profile::Balanced {
            let plan = self.learn(window)?;
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
                blocks.best_dictionary(id, level, |dictionary| cost(&zstd(dictionary)))?
        {
            offer(zstd(&dictionary), total);
            self.last_id = id;
            self.trained = Some((dictionary, of_blocks / alone));
        }
        Ok(best)
    }

    /// Returns the id of the next dictionary, unless the limit is reached.
    fn next_id(&self) -> Option<u32> {
        let next = self.last_id + 1;
        (next as usize <= MAX_OPAQUE_DICTIONARIES).then_some(next)
    }

    /// Returns a plan for FSST with symbols that suit the window: symbols of earlier windows, or new ones.
    fn learn(&mut self, window: ByteWindow<'_>) -> Result<bytes::Plan> {
        let all = window.slice(0, window.len);
        // The symbols are stored once for all blocks.
        let symbols = self.symbols.for_texts(&all.input(), usize::MAX)?;
        let plan = bytes::Plan::fsst_values(number::Plan::Ffor).with_symbols(&symbols);
        let known = plan.symbols().and_then(bytes::Learned::dictionary);
        let (None, Some(id), Some(learned)) = (known, self.next_id(), plan.symbols()) else {
            return Ok(plan);
        };
        self.symbols = learned.in_dictionary(id);
        self.last_id = id;
        Ok(plan.with_symbols(&self.symbols))
    }

    /// Keeps the dictionary that blocks of this plan refer to.
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

    /// Returns the memory size in bytes.
    pub(super) fn memory_size(&self) -> usize {
        let stored = self.stored.iter().map(|(_, stored)| stored.payload.len());
        stored.sum::<usize>()
            + self
                .trained
                .as_ref()
                .map_or(0, |(trained, _)| trained.payload().len())
    }

    /// Returns the buffers of the dictionaries that blocks refer to.
    pub(super) fn finish(self) -> Result<Vec<FinishedBuffer>> {
        let buffer = |(id, stored): (u32, OpaqueDictionary)| {
            Ok(FinishedBuffer::opaque_dictionary(id, stored.encode()?))
        };
        self.stored.into_iter().map(buffer).collect()
    }
}

/// The blocks that the values of a window will be cut into.
struct WindowBlocks<'a> {
    window: ByteWindow<'a>,
    /// Ordinal of the first value of each block, and the number of its values.
    places: Vec<(usize, usize)>,
}

impl<'a> WindowBlocks<'a> {
    fn new(window: ByteWindow<'a>) -> Self {
        let (mut places, mut start) = (Vec::new(), 0);
        while start < window.len {
            let values = window.block_len(start);
            places.push((start, values));
            start += values;
        }
        Self { window, places }
    }

    /// Returns whether plans are tried on a block.
    fn is_tried(&self, block: usize) -> bool {
        let step = self.places.len() / TRIED_BLOCKS;
        block % step == step / 2
    }

    fn tried(&self) -> impl Iterator<Item = BlockInput<'a>> {
        let places = self.places.iter().enumerate();
        let tried = places.filter(|(i, _)| self.is_tried(*i));
        tried.map(|(_, &(start, len))| self.window.slice(start, len))
    }

    /// Returns the dictionary with the lowest cost per value, the cost of the blocks alone, and the cost including a
    /// share of the dictionary. The dictionary must pay in this window alone; later windows use it
    /// without that share.
    fn best_dictionary(
        &self,
        id: u32,
        level: i32,
        cost: impl Fn(&Trained) -> Result<f64>,
    ) -> Result<Option<(Trained, f64, f64)>> {
        let samples = self.samples();
        let values = self.places.iter().map(|(_, len)| *len).sum::<usize>();
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

    /// Returns samples of the blocks that plans are not tried on.
    fn samples(&self) -> Samples {
        let mut samples = Samples::default();
        let places = self.places.iter().enumerate();
        let teaching: Vec<_> = places.filter(|(i, _)| !self.is_tried(*i)).collect();
        let ends = |start: usize| self.window.offsets[start].as_usize();
        let bytes: usize = teaching
            .iter()
            .map(|&(_, &(start, len))| ends(start + len) - ends(start))
            .sum();
        // From a larger window, take only every `step`-th sample, so that all blocks contribute.
        let step = bytes.div_ceil(TRAINING_BYTES).max(1);
        let mut ordinal = 0;
        for (_, &(start, len)) in teaching {
            let mut first = ends(start);
            for value in start..start + len {
                let end = ends(value + 1);
                if end - first >= SAMPLE_BYTES || (value + 1 == start + len && end > first) {
                    if ordinal % step == 0 {
                        let bytes = &self.window.values[first..end];
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

/// Samples to train dictionaries on.
#[derive(Default)]
struct Samples {
    bytes: Vec<u8>,
    sizes: Vec<usize>,
}

impl Samples {
    /// Trains a dictionary of up to `most` bytes, if there are enough samples for that size.
    fn train(&self, most: usize, id: u32, level: i32) -> Option<Trained> {
        let enough = self.bytes.len() >= most * SAMPLES_PER_BYTE;
        enough
            .then(|| Trained::train(&self.bytes, &self.sizes, most, id, level))
            .flatten()
    }
}
