//! Spec: docs/format.md, "Compressor dictionaries": the bytes of an OPAQUE_DICTIONARY.
//!
//! ```text
//! u32 kind | u32 length | payload | u32 checksum of the payload
//! ```

use crate::encoding::DictionaryKind;
use crate::error::{Error, ErrorKind, Result};
use crate::format::checksum;
use bytes::Bytes;

/// Most dictionaries of one encoding. With this limit, ids in blocks take a byte, and a reader that
/// prepares all dictionaries needs little memory.
pub const MAX_OPAQUE_DICTIONARIES: usize = 255;

/// Bytes of kind and length.
const HEADER: usize = 8;
const CHECKSUM: usize = 4;

/// A compressor dictionary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpaqueDictionary {
    /// The kind of dictionary.
    pub kind: DictionaryKind,
    /// The content for the compressor.
    pub payload: Bytes,
}

impl OpaqueDictionary {
    /// Parses the bytes of a buffer. `verify` says whether to verify the checksum.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) if the number of bytes does not fit the stored length,
    /// [`Checksum`](ErrorKind::Checksum) if the payload is damaged,
    /// [`Unsupported`](ErrorKind::Unsupported) for an unknown kind.
    pub fn parse(bytes: &Bytes, verify: bool) -> Result<Self> {
        let Some(([k0, k1, k2, k3, l0, l1, l2, l3], rest)) = bytes.split_first_chunk::<HEADER>()
        else {
            return Err(Error::corrupt(format!(
                "expected a header of {HEADER} bytes, found {} bytes",
                bytes.len()
            )));
        };
        let len = u32::from_le_bytes([*l0, *l1, *l2, *l3]) as usize;
        let Some((payload, stored)) = rest
            .split_last_chunk::<CHECKSUM>()
            .filter(|(payload, _)| payload.len() == len)
        else {
            return Err(Error::corrupt(format!(
                "a payload of {len} bytes and its checksum in {} bytes",
                rest.len()
            )));
        };
        if verify {
            let (stored, computed) = (u32::from_le_bytes(*stored), checksum(payload));
            if stored != computed {
                return Err(Error::new(
                    ErrorKind::Checksum,
                    format!("expected {stored:08x}, computed {computed:08x}"),
                ));
            }
        }
        Ok(Self {
            kind: DictionaryKind::from_u32(u32::from_le_bytes([*k0, *k1, *k2, *k3]))?,
            payload: bytes.slice(HEADER..HEADER + len),
        })
    }

    /// Returns the bytes of the buffer.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for a payload of 4 GiB or more.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let len = u32::try_from(self.payload.len())
            .map_err(|_| Error::invalid("a compressor dictionary exceeds 4 GiB"))?;
        let mut out = Vec::with_capacity(HEADER + self.payload.len() + CHECKSUM);
        out.extend_from_slice(&self.kind.to_u32().to_le_bytes());
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&self.payload);
        out.extend_from_slice(&checksum(&self.payload).to_le_bytes());
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_an_error_or_does_no_harm() {
        let dictionary = OpaqueDictionary {
            kind: DictionaryKind::Symbols,
            payload: Bytes::from_static(b"abcdefgh\x03"),
        };
        let bytes = dictionary.encode().unwrap();
        let expected = [2, 0, 0, 0, 9, 0, 0, 0];
        assert_eq!((&bytes[..8], bytes.len()), (expected.as_slice(), 21));
        let parse = |bytes: &[u8]| OpaqueDictionary::parse(&Bytes::copy_from_slice(bytes), true);
        assert_eq!(parse(&bytes).unwrap(), dictionary);
        for at in 0..bytes.len() {
            assert!(parse(&bytes[..at]).is_err(), "cut to {at} bytes");
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            let error = parse(&changed).unwrap_err();
            let kind = match at {
                0..4 => ErrorKind::Unsupported,
                4..8 => ErrorKind::Corrupt,
                _ => ErrorKind::Checksum,
            };
            assert_eq!(error.kind(), kind, "byte {at}: {error}");
        }
        assert!(parse(&[bytes.as_slice(), &[0]].concat()).is_err());
    }
}
