//! Spec: Chapter 6, "Value Dictionary": the buffers of codes, and of the dictionary they refer to.

use super::codes::{Codes, EntryType, FinishedEntries, NULL};
use super::encoded_entries::StoredEntries;
use super::interner::Interner;
use super::numbers::plain_numbers;
use crate::buffer::{DictionaryInput, FinishedBuffer};
use crate::encoding::NumberKind;
use crate::error::{Error, Result};
use crate::format::BufferKind;
use crate::write::choose::settings::Settings;
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer};
use std::cmp::Reverse;
use std::sync::Arc;

impl Codes {
    /// Returns the finished buffers (codes and dictionary) and the entries. The most frequent entry gets code 0, unless
    /// the dictionary is ordered.
    pub(super) fn finish(
        self,
        entry: EntryType,
        settings: Settings,
    ) -> Result<(Vec<FinishedBuffer>, FinishedEntries)> {
        let Self {
            entries,
            mut codes,
            nulls,
        } = self;
        let count = u32::try_from(entries.len()).unwrap_or(NULL);
        let mut order: Vec<u32> = (0..count).collect();
        let mut frequencies = vec![0u32; entries.len()];
        for &code in codes.iter().filter(|&&code| code != NULL) {
            frequencies[code.as_usize()] += 1;
        }
        if !entry.ordered {
            order.sort_by_key(|code| Reverse(frequencies[code.as_usize()]));
            let mut renumbered = vec![0; entries.len()];
            for (new, old) in (0..).zip(&order) {
                renumbered[old.as_usize()] = new;
            }
            for code in codes.iter_mut().filter(|code| **code != NULL) {
                *code = renumbered[code.as_usize()];
            }
        }
        let null_entry = !settings.capabilities.presence_beside_dictionary && nulls > 0;
        let dictionary = encode_entries(&entries, &order, null_entry, entry, settings)?;
        let settings = Settings {
            embedded_presence: false,
            ..settings
        };
        let mut encoder = plain_numbers::<u32>(NumberKind::Unsigned, settings, &Arc::default());
        if null_entry {
            for code in codes.iter_mut().filter(|code| **code == NULL) {
                *code = count;
            }
        }
        let present = (nulls > 0 && !null_entry).then(|| {
            let bits = BooleanBuffer::collect_bool(codes.len(), |i| codes[i] != NULL);
            NullBuffer::new(bits)
        });
        encoder.push(&codes, present.as_ref())?;
        let mut buffers = encoder.finish(BufferKind::Data)?.buffers;
        buffers.push(FinishedBuffer::dictionary(dictionary));
        let entries = FinishedEntries {
            entries,
            frequencies,
            unique: !entry.ordered,
            size: u64::from(count) + u64::from(null_entry),
        };
        Ok((buffers, entries))
    }
}

/// Encodes a dictionary of the entries in that order, followed by the null entry if there is one.
fn encode_entries(
    entries: &Interner,
    order: &[u32],
    null_entry: bool,
    entry: EntryType,
    settings: Settings,
) -> Result<Vec<u8>> {
    let width = entry.width.unwrap_or(0);
    let mut values = Vec::with_capacity(entries.byte_len() + width);
    let mut offsets = Vec::with_capacity(order.len() + 2);
    offsets.push(0);
    for &code in order {
        values.extend_from_slice(entries.entry(code));
        offsets.push(values.len() as u64);
    }
    let mut count = u32::try_from(order.len()).unwrap_or(NULL);
    let null_id = null_entry.then_some(count);
    if null_entry {
        values.resize(values.len() + width, 0);
        offsets.push(values.len() as u64);
        count += 1;
    }
    let fixed_value_size =
        u32::try_from(width).map_err(|_| Error::invalid("a fixed size exceeds 32 bits"))?;
    let region = match null_id {
        None => StoredEntries::new(entry, &values, &offsets).encode(&settings)?,
        Some(_) => None,
    };
    let is_encoded = region.is_some();
    // Encoded entries have no sorted ids.
    let ids = if is_encoded { 0 } else { order.len() };
    let mut sorted: Vec<u32> = (0..u32::try_from(ids).unwrap_or(NULL)).collect();
    sorted.sort_by(|&a, &b| {
        let of = |new: u32| entries.entry(order[new.as_usize()]);
        match entry.kind {
            Some(kind) => number_key(of(a), kind).cmp(&number_key(of(b), kind)),
            None => of(a).cmp(of(b)),
        }
    });
    let input = DictionaryInput {
        value_type: entry.value_type,
        count,
        null_id,
        fixed_value_size,
        values: region.as_deref().unwrap_or(&values),
        offsets: (entry.width.is_none() && !is_encoded).then_some(&offsets[..]),
        sorted_ids: &sorted,
        is_encoded,
    };
    Ok(input.encode(settings.capabilities.spec_dictionary_header))
}

/// Converts a number of up to 8 bytes to an integer that sorts in the same order; floats by total order.
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
