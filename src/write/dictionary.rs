//! Dictionary arrays on their way into codes and a value dictionary.

use super::number::{NumberEncoder, Settings};
use crate::buffer::{DictionaryInput, FinishedBuffer, Physical};
use crate::column::{Chunk, Values};
use crate::encoding::NumberKind;
use crate::error::{Error, Result};
use crate::format::{BasicType, BufferKind};
use arrow_buffer::NullBuffer;
use std::collections::HashMap;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

/// No code has been given to an entry of an array yet.
const UNSEEN: u32 = u32::MAX;

/// Encodes the dictionary arrays of one stripe field with one dictionary.
#[derive(Debug)]
pub(super) struct DictionaryEncoder {
    value_type: BasicType,
    physical: Physical,
    /// Whether codes keep the order of the array's entries.
    ordered: bool,
    codes: NumberEncoder<u32>,
    index: HashMap<Box<[u8]>, u32, Xxh3DefaultBuilder>,
    values: Vec<u8>,
    offsets: Vec<u64>,
    /// The entries of the last array, and the codes that they got.
    last: Option<(Arc<Chunk<Values>>, Vec<u32>)>,
    positions: u64,
    /// Bytes of the values that the codes stand for.
    raw_bytes: u64,
}

impl DictionaryEncoder {
    pub(super) fn new(
        value_type: BasicType,
        physical: Physical,
        ordered: bool,
        settings: Settings,
    ) -> Self {
        let settings = Settings {
            embedded_presence: false,
            ..settings
        };
        Self {
            value_type,
            physical,
            ordered,
            codes: NumberEncoder::new(NumberKind::Unsigned, settings),
            index: HashMap::default(),
            values: Vec::new(),
            offsets: vec![0],
            last: None,
            positions: 0,
            raw_bytes: 0,
        }
    }

    /// Number of entries so far.
    pub(super) fn entries(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Entry `code`.
    pub(super) fn entry(&self, code: usize) -> &[u8] {
        let range = self.offsets[code]..self.offsets[code + 1];
        #[expect(clippy::cast_possible_truncation, reason = "the entries are in memory")]
        &self.values[range.start as usize..range.end as usize]
    }

    /// Whether the array would bring the number of entries above `most`, or, if the order of
    /// entries matters, has other entries than the stripe.
    pub(super) fn would_overflow(
        &self,
        codes: &[u32],
        nulls: Option<&NullBuffer>,
        entries: &Arc<Chunk<Values>>,
        most: usize,
    ) -> bool {
        if self.ordered {
            let same = entries.len == self.entries()
                && (0..entries.len).all(|i| self.entry(i) == value(&entries.values, i));
            return self.positions > 0 && !same;
        }
        if self.entries() + entries.len <= most {
            return false;
        }
        let mut seen = vec![false; entries.len];
        let mut new = 0;
        for (i, &code) in codes.iter().enumerate() {
            let at = code as usize;
            if nulls.is_some_and(|n| n.is_null(i)) || std::mem::replace(&mut seen[at], true) {
                continue;
            }
            new += usize::from(!self.index.contains_key(value(&entries.values, at)));
        }
        self.entries() + new > most
    }

    /// Appends an array; every code at a present position names an entry that is not null.
    pub(super) fn push(
        &mut self,
        codes: &[u32],
        nulls: Option<&NullBuffer>,
        entries: &Arc<Chunk<Values>>,
    ) -> Result<()> {
        if codes.is_empty() {
            return Ok(());
        }
        let mut map = match self.last.take() {
            Some((last, map)) if Arc::ptr_eq(&last, entries) => map,
            _ => vec![UNSEEN; entries.len],
        };
        if self.ordered && self.positions == 0 {
            // Every entry gets its own ordinal as code, used or not.
            for (i, code) in map.iter_mut().enumerate() {
                *code = self.append(value(&entries.values, i))?;
            }
        } else if self.ordered {
            map = (0..self.offsets.len() - 1)
                .map(|i| u32::try_from(i).map_err(|_| too_many()))
                .collect::<Result<_>>()?;
        }
        let mut translated = Vec::with_capacity(codes.len());
        for (i, &code) in codes.iter().enumerate() {
            if nulls.is_some_and(|n| n.is_null(i)) {
                translated.push(0);
                continue;
            }
            let at = code as usize;
            if map[at] == UNSEEN {
                map[at] = self.code_of(value(&entries.values, at))?;
            }
            translated.push(map[at]);
            self.raw_bytes += self.entry(map[at] as usize).len() as u64;
        }
        self.last = Some((entries.clone(), map));
        self.positions += codes.len() as u64;
        self.codes.push(&translated, nulls)
    }

    fn code_of(&mut self, value: &[u8]) -> Result<u32> {
        if let Some(&code) = self.index.get(value) {
            return Ok(code);
        }
        let code = self.append(value)?;
        self.index.insert(value.into(), code);
        Ok(code)
    }

    fn append(&mut self, value: &[u8]) -> Result<u32> {
        let code = u32::try_from(self.entries())
            .ok()
            .filter(|&code| code < UNSEEN)
            .ok_or_else(too_many)?;
        self.values.extend_from_slice(value);
        self.offsets.push(self.values.len() as u64);
        Ok(code)
    }

    /// Bytes of the values that the codes stand for.
    pub(super) fn raw_bytes(&self) -> u64 {
        self.raw_bytes
    }

    /// Bytes held in memory.
    pub(super) fn memory_size(&self) -> usize {
        self.codes.memory_size() + 2 * self.values.len() + 48 * self.entries()
    }

    /// The finished buffers: codes and dictionary.
    pub(super) fn finish(self, kind: Option<NumberKind>) -> Result<Vec<FinishedBuffer>> {
        let count = u32::try_from(self.entries()).map_err(|_| too_many())?;
        let mut sorted: Vec<u32> = (0..count).collect();
        sorted.sort_by(|&a, &b| {
            let (a, b) = (self.entry(a as usize), self.entry(b as usize));
            match kind {
                Some(kind) => number_key(a, kind).cmp(&number_key(b, kind)),
                None => a.cmp(b),
            }
        });
        let width = self.physical.width();
        let fixed = u32::try_from(width.unwrap_or(0))
            .map_err(|_| Error::invalid("a fixed size exceeds 32 bits"))?;
        let dictionary = DictionaryInput {
            value_type: self.value_type,
            count,
            fixed_value_size: fixed,
            values: &self.values,
            offsets: width.is_none().then_some(&self.offsets[..]),
            sorted_ids: &sorted,
        }
        .encode();
        Ok(vec![
            self.codes.finish(BufferKind::Data)?,
            FinishedBuffer::dictionary(dictionary),
        ])
    }
}

fn too_many() -> Error {
    Error::invalid("a stripe has more than 2^32 - 2 dictionary entries; write smaller stripes")
}

/// A number of up to 8 bytes, as an integer that sorts like it; floats by total order.
fn number_key(bytes: &[u8], kind: NumberKind) -> u64 {
    let mut word = [0; 8];
    word[8 - bytes.len()..].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(word);
    let sign = 1 << 63;
    match kind {
        NumberKind::Unsigned => bits,
        NumberKind::Signed => bits ^ sign,
        NumberKind::Float if bits & sign == 0 => bits ^ sign,
        NumberKind::Float => !bits,
    }
}

/// The bytes of entry `i` of a leaf.
fn value(values: &Values, i: usize) -> &[u8] {
    match values {
        Values::Fixed { width, data } => &data[i * width..(i + 1) * width],
        Values::Bytes(bytes) => bytes.value(i),
        _ => &[],
    }
}
