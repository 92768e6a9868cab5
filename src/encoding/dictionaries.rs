//! Spec: docs/format.md, "Compressor dictionaries": what blocks of a field share to be smaller.

use crate::error::{Error, Result};
use crate::kernels::{MAX_SYMBOL, Symbols};
use bytes::Bytes;
use std::fmt;

/// What a compressor dictionary is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DictionaryKind {
    /// A formatted dictionary of Zstandard, whose own id is that of its buffer.
    Zstd,
    /// Symbols of FSST, eight bytes each, and behind them the length of each.
    Symbols,
}

impl DictionaryKind {
    /// The kind with that number.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if there is none.
    pub fn from_u32(kind: u32) -> Result<Self> {
        match kind {
            1 => Ok(Self::Zstd),
            2 => Ok(Self::Symbols),
            other => Err(Error::unsupported(format!(
                "compressor dictionaries of kind {other}, expected 1 (Zstandard) or 2 (FSST symbols)"
            ))),
        }
    }

    /// The number of the kind.
    pub fn to_u32(self) -> u32 {
        match self {
            Self::Zstd => 1,
            Self::Symbols => 2,
        }
    }
}

impl fmt::Display for DictionaryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zstd => "Zstandard",
            Self::Symbols => "FSST symbols",
        })
    }
}

/// The compressor dictionaries of a stripe field, ready to decompress with.
#[derive(Debug, Default)]
pub struct Dictionaries(Vec<(u32, Entry)>);

#[derive(Debug)]
enum Entry {
    Zstd(ZstdDictionary),
    Symbols(Box<Symbols>),
}

/// A field without dictionaries.
static NONE: Dictionaries = Dictionaries(Vec::new());

/// About what a dictionary takes in memory beside its bytes: tables to decode by.
const TABLES: u64 = 28 << 10;

impl Dictionaries {
    /// Those of a field that has none.
    pub fn none() -> &'static Self {
        &NONE
    }

    /// Adds the dictionary with an id that no other has.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the payload is no such dictionary, or one of
    /// another id.
    pub fn add(&mut self, id: u32, kind: DictionaryKind, payload: Bytes) -> Result<()> {
        let entry = match kind {
            DictionaryKind::Zstd => Entry::Zstd(ZstdDictionary::try_new(id, payload)?),
            DictionaryKind::Symbols => Entry::Symbols(Box::new(symbols(&payload)?)),
        };
        self.0.push((id, entry));
        Ok(())
    }

    /// About how many bytes they take in memory.
    pub fn memory_size(&self) -> u64 {
        let size = |(_, entry): &(u32, Entry)| match entry {
            Entry::Zstd(dictionary) => TABLES + 2 * dictionary.payload.len() as u64,
            Entry::Symbols(_) => size_of::<Symbols>() as u64,
        };
        self.0.iter().map(size).fold(0, u64::saturating_add)
    }

    fn find(&self, id: u32) -> Option<&Entry> {
        self.0.iter().find(|(own, _)| *own == id).map(|(_, e)| e)
    }

    fn missing(id: u32, kind: DictionaryKind) -> Error {
        Error::corrupt(format!(
            "compressed with dictionary {id}, and the field has no OPAQUE_DICTIONARY buffer of that \
             id that holds {kind}"
        ))
    }

    /// The dictionary that a frame of Zstandard names.
    #[cfg(feature = "zstd")]
    pub(super) fn zstd(&self, id: u32) -> Result<&ZstdDictionary> {
        match self.find(id) {
            Some(Entry::Zstd(dictionary)) => Ok(dictionary),
            _ => Err(Self::missing(id, DictionaryKind::Zstd)),
        }
    }

    /// The symbols that a block names.
    pub(super) fn symbols(&self, id: u32) -> Result<&Symbols> {
        match self.find(id) {
            Some(Entry::Symbols(symbols)) => Ok(symbols),
            _ => Err(Self::missing(id, DictionaryKind::Symbols)),
        }
    }
}

/// Symbols, and behind them their lengths.
fn symbols(payload: &[u8]) -> Result<Symbols> {
    let count = payload.len() / (MAX_SYMBOL + 1);
    let (symbols, lengths) = payload
        .split_at_checked(count * MAX_SYMBOL)
        .filter(|(_, lengths)| lengths.len() == count)
        .ok_or_else(|| {
            Error::corrupt(format!(
                "expected FSST symbols of {} bytes each, found {} bytes",
                MAX_SYMBOL + 1,
                payload.len()
            ))
        })?;
    Symbols::try_new(symbols.as_chunks().0, lengths)
}

/// A dictionary of Zstandard.
pub(super) struct ZstdDictionary {
    /// The bytes, as they are stored.
    pub(super) payload: Bytes,
    #[cfg(feature = "zstd")]
    pub(super) prepared: zstd::zstd_safe::DDict<'static>,
}

impl fmt::Debug for ZstdDictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ZstdDictionary")
            .field(&self.payload.len())
            .finish()
    }
}

impl ZstdDictionary {
    #[cfg(feature = "zstd")]
    fn try_new(id: u32, payload: Bytes) -> Result<Self> {
        use zstd::zstd_safe::{DDict, get_dict_id_from_dict};
        let own = get_dict_id_from_dict(&payload).map_or(0, std::num::NonZeroU32::get);
        if own != id {
            return Err(Error::corrupt(format!(
                "expected a Zstandard dictionary of id {id}, that of its buffer, found {own}"
            )));
        }
        let prepared = DDict::try_create(&payload)
            .ok_or_else(|| Error::corrupt("the Zstandard dictionary is malformed"))?;
        Ok(Self { payload, prepared })
    }

    /// Blocks that need it cannot be read anyway.
    #[cfg(not(feature = "zstd"))]
    fn try_new(_id: u32, payload: Bytes) -> Result<Self> {
        Ok(Self { payload })
    }
}
