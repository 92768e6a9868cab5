//! Spec: docs/format.md, "Value dictionary": encodes the entries of a dictionary like the values of a block.

use super::codes::EntryType;
use crate::buffer::dictionary_number_kind;
use crate::encoding::{NumberKind, Word, bytes, number};
use crate::error::Result;
use crate::write::choose::profile::Profile;
use crate::write::choose::settings::Settings;
use crate::write::choose::{self, ByteSample};

/// Fewest entries that are encoded. The bytes of fewer do not matter, and stored entries need no decoding.
const FEWEST: usize = 64;
/// Most entries that are encoded, and most of their bytes: within `Limits::strict`.
pub(super) const MAX_ENCODED: usize = 1 << 18;
pub(super) const MAX_BYTES: usize = 16 << 20;
/// Encoded entries must be smaller than this share of stored ones, which need no decoding.
const WORTHWHILE: f64 = 0.8;
/// Entries from which the encoding is chosen.
const SAMPLED: usize = 8192;

/// The entries of a dictionary, by code.
#[derive(Clone, Copy)]
pub(super) struct StoredEntries<'a> {
    entry: EntryType,
    /// The entries, one after the other.
    values: &'a [u8],
    /// Offsets of the entries in `values`, one more than entries.
    offsets: &'a [u64],
}

impl<'a> StoredEntries<'a> {
    pub(super) fn new(entry: EntryType, values: &'a [u8], offsets: &'a [u64]) -> Self {
        Self {
            entry,
            values,
            offsets,
        }
    }

    /// Returns the size of the encoded entries, divided by their size if they are stored as they are: 1 if they are.
    pub(super) fn share(&self, settings: &Settings) -> Result<f64> {
        let stored = self.entry.size(self.len(), self.values.len()).max(1) as f64;
        let region = self.encode(settings)?;
        Ok(region.map_or(1.0, |region| region.len() as f64 / stored))
    }

    fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns the region of the encoded entries, or `None` if they are better stored as they are.
    pub(super) fn encode(&self, settings: &Settings) -> Result<Option<Vec<u8>>> {
        let encodes = settings.capabilities.every_nesting && settings.profile != Profile::Plain;
        let fits = (FEWEST..=MAX_ENCODED).contains(&self.len()) && self.values.len() <= MAX_BYTES;
        // For readers, a size of 0 means that sizes vary.
        if !encodes || !fits || self.entry.width == Some(0) {
            return Ok(None);
        }
        let settings = Settings {
            embedded_presence: false,
            compressor_dictionaries: false,
            delimited: false,
            blobs: None,
            ..*settings
        };
        let kind = dictionary_number_kind(self.entry.value_type);
        let region = match (kind, self.entry.width) {
            (Some(kind), Some(2)) => self.numbers::<u16>(kind, &settings)?,
            (Some(kind), Some(4)) => self.numbers::<u32>(kind, &settings)?,
            (Some(kind), Some(8)) => self.numbers::<u64>(kind, &settings)?,
            (Some(_), _) => return Ok(None),
            (None, width) => self.strings(width, &settings)?,
        };
        let stored = self.entry.size(self.len(), self.values.len()) as f64;
        Ok(Some(region).filter(|region| (region.len() as f64) < WORTHWHILE * stored))
    }

    fn numbers<W: Word>(&self, kind: NumberKind, settings: &Settings) -> Result<Vec<u8>> {
        let words = W::chunks(self.values).iter();
        let words: Vec<W> = words.map(|it| W::from_le(*it)).collect();
        let plan = choose::numbers(&words, kind, settings).plan;
        let mut region = Vec::new();
        number::encode(&words, kind, &plan, &mut region)?;
        Ok(region)
    }

    fn strings(&self, width: Option<usize>, settings: &Settings) -> Result<Vec<u8>> {
        let input = |len: usize| match width {
            Some(width) => {
                let end = len.saturating_mul(width);
                let values = self.values.get(..end).unwrap_or_default();
                bytes::Input::fixed(width, len, values, None)
            }
            None => {
                let offsets = self.offsets.get(..=len).unwrap_or_default();
                bytes::Input::variable(offsets, self.values, None)
            }
        };
        let all = input(self.len());
        let sample = ByteSample {
            block: input(self.len().min(SAMPLED)),
            window: all,
        };
        let mut learned = bytes::Learned::default();
        let plan = choose::byte_strings(sample, &mut learned, settings)?.plan;
        let mut region = Vec::new();
        bytes::encode(&all, &plan, &mut region)?;
        Ok(region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::BasicType;
    use crate::write::choose::settings::test_settings;

    /// Returns whether entries with these bytes are encoded.
    fn is_encoded(width: Option<usize>, entries: &[Vec<u8>], profile: Profile) -> bool {
        let value_type = match width {
            Some(8) => BasicType::Int64,
            Some(_) => BasicType::FixedSizeBinary,
            None => BasicType::String,
        };
        let entry = EntryType {
            value_type,
            width,
            kind: None,
            ordered: true,
            most_bytes: usize::MAX,
        };
        let mut offsets = vec![0];
        offsets.extend(entries.iter().scan(0, |end, entry| {
            *end += entry.len() as u64;
            Some(*end)
        }));
        let values = entries.concat();
        let stored = StoredEntries::new(entry, &values, &offsets);
        stored.encode(&test_settings(profile)).unwrap().is_some()
    }

    fn texts(count: usize, len: usize) -> Vec<Vec<u8>> {
        let text = |i: usize| {
            let mut text = i.to_string().into_bytes();
            text.resize(len, b'x');
            text
        };
        (0..count).map(text).collect()
    }

    #[test]
    fn entries_are_encoded_if_they_are_neither_few_nor_too_many() {
        let balanced = Profile::Balanced;
        assert!(is_encoded(None, &texts(FEWEST, 300), balanced));
        assert!(!is_encoded(None, &texts(FEWEST - 1, 300), balanced));
        assert!(!is_encoded(None, &texts(FEWEST, 300), Profile::Plain));
        assert!(is_encoded(None, &texts(MAX_ENCODED, 8), balanced));
        assert!(!is_encoded(None, &texts(MAX_ENCODED + 1, 8), balanced));
        assert!(!is_encoded(None, &texts(64, MAX_BYTES / 64 + 1), balanced));
    }

    #[test]
    fn entries_of_every_width_but_none_are_encoded() {
        let numbers: Vec<Vec<u8>> = (0..1000u64).map(|i| i.to_le_bytes().to_vec()).collect();
        assert!(is_encoded(Some(8), &numbers, Profile::Balanced));
        assert!(is_encoded(Some(200), &texts(1000, 200), Profile::Balanced));
        // Readers take a size of 0 for sizes that vary.
        assert!(!is_encoded(
            Some(0),
            &vec![Vec::new(); 1000],
            Profile::Balanced
        ));
        let mut seed = 1u64;
        let mut noise = || {
            seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            seed.to_be_bytes()[..5].to_vec()
        };
        let mut long = || (0..8).flat_map(|_| noise()).collect();
        let random: Vec<Vec<u8>> = (0..1000).map(|_| long()).collect();
        assert!(!is_encoded(Some(40), &random, Profile::Balanced));
    }
}
