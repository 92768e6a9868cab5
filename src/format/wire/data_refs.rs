//! Spec: Chapter 6, "DataRefArray" (as it is stored).

use super::super::DataRef;
use super::check_size;
use super::raw::{Raw, RawFields};
use crate::error::{Error, Result, Within};
use crate::io::ByteRange;
use crate::limits::Limits;
use bytes::Bytes;

/// A stored [`DataRefArray`](crate::format::DataRefArray). References are read one by one, because the list of a
/// shard's fields may be long, and few of them are needed.
#[derive(Debug, Clone)]
pub struct DataRefs {
    /// One URL per reference, or none if all are empty.
    urls: Vec<String>,
    starts: Words,
    ends: Words,
}

/// Numbers of 8 bytes, little-endian.
#[derive(Debug, Clone, Default)]
struct Words {
    /// The first packed numbers, usually all. They share the memory of the payload.
    packed: Bytes,
    /// The numbers after them.
    others: Vec<u8>,
}

/// Bytes of field 2 with an empty value.
const EMPTY_URL: [u8; 2] = [0x12, 0];

impl DataRefs {
    /// Finds the columns of a payload.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the payload is not such a message, or if its columns differ in
    /// length; [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if the payload is too large.
    pub fn try_new(payload: &Bytes, limits: &Limits) -> Result<Self> {
        check_size(payload, limits)
            .and_then(|()| Self::parse(payload))
            .within(|| "DataRefArray".to_owned())
    }

    fn parse(payload: &Bytes) -> Result<Self> {
        let mut refs = Self {
            urls: Vec::new(),
            starts: Words::default(),
            ends: Words::default(),
        };
        // Usually all URLs are empty and come first.
        let fields = payload.as_chunks::<2>().0.iter();
        let mut urls = fields.take_while(|field| **field == EMPTY_URL).count();
        let rest = payload.get(2 * urls..).unwrap_or_default();
        for field in RawFields::new(rest) {
            match field? {
                (2, Raw::Len(url)) => {
                    if !url.is_empty() || !refs.urls.is_empty() {
                        refs.urls.resize(urls, String::new());
                        refs.urls.push(text(url)?);
                    }
                    urls += 1;
                }
                (3, value) => refs.starts.append(payload, value, "start")?,
                (4, value) => refs.ends.append(payload, value, "end")?,
                (2, value) => {
                    return Err(Error::corrupt(format!("expected a URL, found {value:?}")));
                }
                _ => {}
            }
        }
        let (starts, ends) = (refs.starts.len(), refs.ends.len());
        if urls != starts || starts != ends {
            return Err(Error::corrupt(format!(
                "{urls} URLs, {starts} starts and {ends} ends of references"
            )));
        }
        Ok(refs)
    }

    /// Returns the number of references, including absent ones.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    #[cfg(feature = "experimental")]
    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns reference `i`, or `None` if it is absent or past the end.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if it ends before it starts.
    pub fn get(&self, i: usize) -> Result<Option<DataRef>> {
        let (Some(start), Some(end)) = (self.starts.get(i), self.ends.get(i)) else {
            return Ok(None);
        };
        let range = ByteRange::try_new(start, end).within(|| format!("element {i}"))?;
        let url = || self.urls.get(i).cloned().unwrap_or_default();
        Ok((!range.is_empty()).then(|| DataRef { url: url(), range }))
    }
}

fn text(bytes: &[u8]) -> Result<String> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned)
        .map_err(|e| Error::corrupt(format!("a URL is not UTF-8: {e}")))
}

impl Words {
    fn len(&self) -> usize {
        (self.packed.len() + self.others.len()) / 8
    }

    fn get(&self, i: usize) -> Option<u64> {
        let packed = self.packed.as_chunks::<8>().0;
        let word = match i.checked_sub(packed.len()) {
            None => packed.get(i),
            Some(i) => self.others.as_chunks::<8>().0.get(i),
        };
        word.map(|word| u64::from_le_bytes(*word))
    }

    /// Appends packed numbers, or a single one.
    fn append(&mut self, payload: &Bytes, value: Raw<'_>, name: &str) -> Result<()> {
        match value {
            Raw::Len(packed) if packed.len().is_multiple_of(8) => {
                if self.len() == 0 {
                    self.packed = payload.slice_ref(packed);
                } else {
                    self.others.extend_from_slice(packed);
                }
                Ok(())
            }
            Raw::I64(value) => {
                self.others.extend_from_slice(&value.to_le_bytes());
                Ok(())
            }
            value => Err(Error::corrupt(format!(
                "expected numbers of 8 bytes for {name}, found {value:?}"
            ))),
        }
    }
}
