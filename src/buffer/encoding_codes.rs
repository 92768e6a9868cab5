//! Spec: docs/format.md, "Block codes of encodings" (property `arrow_shard.encoding_codes`).

use crate::encoding::EncodingCode;
use crate::error::{Error, Result};
use crate::format::{NameValuePair, ValueKind, find_property};
use bytes::Bytes;

/// Name of the property of a stripe field that holds its [`EncodingCodes`].
pub const ENCODING_CODES_PROPERTY: &str = "arrow_shard.encoding_codes";

/// The codes of all blocks of a field, per encoding. A reader that does not support one of them can choose the
/// next encoding of the field before it reads any block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EncodingCodes {
    /// Pairs of an encoding's ordinal and its codes, little-endian. Ordinals ascend.
    entries: Vec<(u16, Bytes)>,
}

impl EncodingCodes {
    /// Finds the codes in the properties of a stripe field. They are empty without such a property.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the property is malformed.
    pub fn from_properties(properties: &[NameValuePair]) -> Result<Self> {
        let Some(value) = find_property(properties, ENCODING_CODES_PROPERTY) else {
            return Ok(Self::default());
        };
        match &value.kind {
            Some(ValueKind::Bytes(bytes)) => Self::parse(bytes),
            _ => None,
        }
        .ok_or_else(|| Error::corrupt(format!("property {ENCODING_CODES_PROPERTY} is malformed")))
    }

    fn parse(bytes: &Bytes) -> Option<Self> {
        let mut entries: Vec<(u16, Bytes)> = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let [e0, e1, c0, c1] = *bytes.get(at..)?.first_chunk::<4>()?;
            let encoding = u16::from_le_bytes([e0, e1]);
            let codes = at + 4..at + 4 + 2 * usize::from(u16::from_le_bytes([c0, c1]));
            if codes.end > bytes.len() || entries.last().is_some_and(|(last, _)| *last >= encoding)
            {
                return None;
            }
            at = codes.end;
            entries.push((encoding, bytes.slice(codes)));
        }
        Some(Self { entries })
    }

    /// Checks that this build can decode all blocks of an encoding, as far as their codes are known.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) with the unsupported codes.
    pub fn check(&self, encoding: usize) -> Result<()> {
        let ordinals = |(ordinal, _): &(u16, Bytes)| usize::from(*ordinal);
        let Ok(noted) = self.entries.binary_search_by_key(&encoding, ordinals) else {
            return Ok(());
        };
        let codes = self.entries[noted].1.chunks_exact(2);
        let codes =
            codes.map(|code| EncodingCode::from_u16(u16::from_le_bytes([code[0], code[1]])));
        let mut lacking: Vec<EncodingCode> = codes.filter(|code| !code.is_supported()).collect();
        lacking.sort_unstable();
        lacking.dedup();
        if lacking.is_empty() {
            return Ok(());
        }
        const MAX_LISTED_CODES: usize = 8;
        let mut names: Vec<String> = lacking
            .iter()
            .take(MAX_LISTED_CODES)
            .map(ToString::to_string)
            .collect();
        if lacking.len() > MAX_LISTED_CODES {
            names.push(format!("{} more", lacking.len() - MAX_LISTED_CODES));
        }
        Err(Error::unsupported(format!(
            "blocks encoded as {} cannot be decoded by this build",
            names.join(", ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn property(bytes: &[u8]) -> [NameValuePair; 1] {
        [NameValuePair::new(ENCODING_CODES_PROPERTY, bytes.to_vec())]
    }

    #[test]
    fn codes_that_this_build_lacks_are_named() {
        let noted = [0, 0, 3, 0, 1, 0, 1, 0x90, 1, 0x90, 3, 0, 0, 0];
        let read = EncodingCodes::from_properties(&property(&noted)).unwrap();
        read.check(1).unwrap();
        read.check(3).unwrap();
        let error = read.check(0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let expected = "blocks encoded as unknown encoding (36865) cannot be decoded by this build";
        assert_eq!(error.message(), expected);
    }

    #[test]
    fn a_long_list_of_unknown_codes_makes_a_short_message() {
        let codes = (0x9000..0xA000u16).flat_map(u16::to_le_bytes);
        let noted: Vec<u8> = [0, 0, 0, 0x10].into_iter().chain(codes).collect();
        let read = EncodingCodes::from_properties(&property(&noted)).unwrap();
        let error = read.check(0).unwrap_err();
        assert!(error.message().contains("4088 more"), "{error}");
        assert!(error.message().len() < 400);
    }

    #[test]
    fn other_shapes_are_refused() {
        let texts = [NameValuePair::new(ENCODING_CODES_PROPERTY, "1, 2")];
        for properties in [
            texts,
            property(&[0]),
            property(&[0, 0, 1, 0]),
            property(&[0, 0, 1, 0, 1]),
            property(&[0, 0, 255, 255, 1, 0]),
            // Ordinals of encodings that do not ascend.
            property(&[1, 0, 0, 0, 1, 0, 0, 0]),
        ] {
            let error = EncodingCodes::from_properties(&properties).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert!(error.message().contains(ENCODING_CODES_PROPERTY));
        }
        let none = EncodingCodes::from_properties(&property(&[])).unwrap();
        assert_eq!(none, EncodingCodes::default());
    }
}
