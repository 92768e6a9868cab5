//! Spec: docs/format.md, "Compressor dictionaries": what blocks of a field share to be smaller.

use crate::error::{Error, Result};
use crate::kernels::{MAX_SYMBOL, Symbols};
use bytes::Bytes;
use std::fmt;

/// The kind of a compressor dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DictionaryKind {
    /// A formatted Zstandard dictionary. Its own id is the id of its buffer.
    Zstd,
    /// FSST symbols of eight bytes each, followed by their lengths.
    Symbols,
}

impl DictionaryKind {
    /// Returns the kind with this number.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for an unknown number.
    pub fn from_u32(kind: u32) -> Result<Self> {
        match kind {
            1 => Ok(Self::Zstd),
            2 => Ok(Self::Symbols),
            other => Err(Error::unsupported(format!(
                "compressor dictionaries of kind {other}, expected 1 (Zstandard) or 2 (FSST symbols)"
            ))),
        }
    }

    /// Returns the number of the kind.
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

/// The compressor dictionaries of a stripe field, prepared for decompression.
#[derive(Debug, Default)]
pub struct Dictionaries(Vec<(u32, CompressorDictionary)>);

#[derive(Debug)]
enum CompressorDictionary {
    Zstd(ZstdDictionary),
    Symbols(Box<Symbols>),
}

/// The dictionaries of a field without any.
static NONE: Dictionaries = Dictionaries(Vec::new());

/// Approximate memory of the decoding tables of a dictionary, in addition to its bytes.
const TABLES: u64 = 28 << 10;

impl Dictionaries {
    /// Returns the dictionaries of a field without any.
    pub fn none() -> &'static Self {
        &NONE
    }

    /// Adds a dictionary. Its id must be unique.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the payload is not a dictionary of this kind, or has
    /// another id.
    pub fn add(&mut self, id: u32, kind: DictionaryKind, payload: Bytes) -> Result<()> {
        let entry = match kind {
            DictionaryKind::Zstd => {
                CompressorDictionary::Zstd(ZstdDictionary::try_new(id, payload)?)
            }
            DictionaryKind::Symbols => CompressorDictionary::Symbols(Box::new(symbols(&payload)?)),
        };
        self.0.push((id, entry));
        Ok(())
    }

    /// Returns the approximate memory of all dictionaries, in bytes.
    pub fn memory_size(&self) -> u64 {
        let size = |(_, entry): &(u32, CompressorDictionary)| match entry {
            CompressorDictionary::Zstd(dictionary) => TABLES + 2 * dictionary.payload.len() as u64,
            CompressorDictionary::Symbols(_) => size_of::<Symbols>() as u64,
        };
        self.0.iter().map(size).fold(0, u64::saturating_add)
    }

    fn find(&self, id: u32) -> Option<&CompressorDictionary> {
        self.0.iter().find(|(own, _)| *own == id).map(|(_, e)| e)
    }

    fn missing(id: u32, kind: DictionaryKind) -> Error {
        Error::corrupt(format!(
            "compressed with dictionary {id}, and the field has no OPAQUE_DICTIONARY buffer of that \
             id that holds {kind}"
        ))
    }

    /// Returns the dictionary that a Zstandard frame refers to.
    #[cfg(feature = "zstd")]
    pub(super) fn zstd(&self, id: u32) -> Result<&ZstdDictionary> {
        match self.find(id) {
            Some(CompressorDictionary::Zstd(dictionary)) => Ok(dictionary),
            _ => Err(Self::missing(id, DictionaryKind::Zstd)),
        }
    }

    /// Returns the symbols that a block refers to.
    pub(super) fn symbols(&self, id: u32) -> Result<&Symbols> {
        match self.find(id) {
            Some(CompressorDictionary::Symbols(symbols)) => Ok(symbols),
            _ => Err(Self::missing(id, DictionaryKind::Symbols)),
        }
    }
}

/// Parses symbols, which are followed by their lengths.
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

/// A Zstandard dictionary.
pub(super) struct ZstdDictionary {
    /// The stored bytes.
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

    /// Keeps only the payload: this build cannot read blocks that need the dictionary.
    #[cfg(not(feature = "zstd"))]
    fn try_new(_id: u32, payload: Bytes) -> Result<Self> {
        Ok(Self { payload })
    }
}
