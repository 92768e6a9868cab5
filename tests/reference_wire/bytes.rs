//! Parses numbers, frames and protobuf messages, without code of the library.

use xxhash_rust::xxh3::xxh3_64;

/// The result of a check; the error names the broken rule and its place.
pub(crate) type Check = Result<(), String>;

/// Returns an error with the name of a rule, unless the rule holds.
pub(crate) fn rule(holds: bool, rule: &str, found: impl FnOnce() -> String) -> Check {
    if holds {
        return Ok(());
    }
    Err(format!("[{rule}] {}", found()))
}

/// Adds a place to an error.
pub(crate) fn at<T>(
    result: Result<T, String>,
    place: impl FnOnce() -> String,
) -> Result<T, String> {
    result.map_err(|e| format!("{}: {e}", place()))
}

/// Returns a range of a file, which must exist.
pub(crate) fn part(bytes: &[u8], start: u64, end: u64) -> Result<&[u8], String> {
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    range
        .and_then(|(start, end)| bytes.get(start..end))
        .ok_or_else(|| {
            format!(
                "[references are in bounds] {start}..{end} of {} bytes",
                bytes.len()
            )
        })
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], String> {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk().copied())
        .ok_or_else(|| format!("{N} bytes are missing at {at} of {}", bytes.len()))
}

pub(crate) fn u8_at(bytes: &[u8], at: usize) -> Result<u8, String> {
    array::<1>(bytes, at).map(|b| b[0])
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Result<u16, String> {
    array(bytes, at).map(u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Result<u32, String> {
    array(bytes, at).map(u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Result<u64, String> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// Reads a u32 that counts bytes or values.
pub(crate) fn size_at(bytes: &[u8], at: usize) -> Result<usize, String> {
    u32_at(bytes, at).map(|n| n as usize)
}

/// Parses little-endian numbers of `width` bytes each.
pub(crate) fn words(bytes: &[u8], width: usize) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut all = [0; 8];
        all[..width].copy_from_slice(chunk);
        u64::from_le_bytes(all)
    };
    bytes.chunks_exact(width).map(word).collect()
}

/// Returns the XOR of the halves of XXH3-64.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    let hash = xxh3_64(bytes).to_le_bytes();
    let half = |at: usize| u32::from_le_bytes([hash[at], hash[at + 1], hash[at + 2], hash[at + 3]]);
    half(0) ^ half(4)
}

/// Returns the payload of a frame, which must consist of length, payload and checksum, without other bytes.
pub(crate) fn frame<'a>(file: &'a [u8], reference: &DataRef) -> Result<&'a [u8], String> {
    let frame = part(file, reference.start, reference.end)?;
    let len = size_at(frame, 0)?;
    rule(
        frame.len() == len + 8,
        "a reference to a message covers its frame",
        || format!("{} bytes, and a length of {len}", frame.len()),
    )?;
    let payload = &frame[4..4 + len];
    rule(
        u32_at(frame, 4 + len)? == checksum(payload),
        "a frame ends with the checksum of its payload",
        || format!("bytes {}..{}", reference.start, reference.end),
    )?;
    Ok(payload)
}

/// A field of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field<'a> {
    Varint(u64),
    I64(u64),
    Len(&'a [u8]),
    I32,
}

/// A protobuf message.
#[derive(Debug, Clone)]
pub(crate) struct Message<'a> {
    name: &'static str,
    fields: Vec<(u64, Field<'a>)>,
}

fn varint(bytes: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or("a message ends in a varint")?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("a varint of more than ten bytes".to_owned())
}

impl<'a> Message<'a> {
    /// Parses a message that may have only these fields, in ascending order, as every protobuf encoder writes them.
    pub(crate) fn parse(
        bytes: &'a [u8],
        name: &'static str,
        known: &[u64],
    ) -> Result<Self, String> {
        let mut rest = bytes;
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let key = varint(&mut rest)?;
            let (tag, kind) = (key >> 3, key & 7);
            let mut take = |n: usize| {
                let (head, tail) = rest
                    .split_at_checked(n)
                    .ok_or_else(|| format!("{name}: field {tag} is cut off"))?;
                rest = tail;
                Ok::<_, String>(head)
            };
            let field = match kind {
                0 => Field::Varint(varint(&mut rest)?),
                1 => Field::I64(u64_at(take(8)?, 0)?),
                5 => take(4).map(|_| Field::I32)?,
                2 => {
                    let len = varint(&mut rest)?;
                    let (head, tail) = usize::try_from(len)
                        .ok()
                        .and_then(|len| rest.split_at_checked(len))
                        .ok_or_else(|| format!("{name}: field {tag} is cut off"))?;
                    rest = tail;
                    Field::Len(head)
                }
                other => return Err(format!("{name}: field {tag} of wire type {other}")),
            };
            rule(
                known.contains(&tag),
                "messages have the reference's tags alone",
                || format!("{name} has field {tag}"),
            )?;
            fields.push((tag, field));
        }
        rule(
            fields.is_sorted_by_key(|(tag, _)| *tag),
            "fields come in the order of their tags",
            || name.to_owned(),
        )?;
        Ok(Self { name, fields })
    }

    pub(crate) fn all(&self, tag: u64) -> impl Iterator<Item = Field<'a>> + '_ {
        let fields = self.fields.iter();
        fields.filter(move |(t, _)| *t == tag).map(|(_, f)| *f)
    }

    pub(crate) fn tags(&self) -> impl Iterator<Item = u64> + '_ {
        self.fields.iter().map(|(tag, _)| *tag)
    }

    fn wrong(&self, tag: u64) -> String {
        format!(
            "[fields have the wire types of the reference] field {tag} of {}",
            self.name
        )
    }

    pub(crate) fn len(&self, tag: u64) -> Result<Option<&'a [u8]>, String> {
        match self.all(tag).last() {
            None => Ok(None),
            Some(Field::Len(bytes)) => Ok(Some(bytes)),
            Some(_) => Err(self.wrong(tag)),
        }
    }

    pub(crate) fn lens(&self, tag: u64) -> Result<Vec<&'a [u8]>, String> {
        let one = |field| match field {
            Field::Len(bytes) => Ok(bytes),
            _ => Err(self.wrong(tag)),
        };
        self.all(tag).map(one).collect()
    }

    pub(crate) fn texts(&self, tag: u64) -> Result<Vec<&'a str>, String> {
        let text = |bytes| std::str::from_utf8(bytes).map_err(|e| format!("field {tag}: {e}"));
        self.lens(tag)?.into_iter().map(text).collect()
    }

    /// Returns a fixed64 with explicit presence.
    pub(crate) fn optional(&self, tag: u64) -> Result<Option<u64>, String> {
        match self.all(tag).last() {
            None => Ok(None),
            Some(Field::I64(value)) => Ok(Some(value)),
            Some(_) => Err(self.wrong(tag)),
        }
    }

    /// Returns a fixed64, or 0 if it is absent.
    pub(crate) fn fixed(&self, tag: u64) -> Result<u64, String> {
        Ok(self.optional(tag)?.unwrap_or(0))
    }

    pub(crate) fn varint(&self, tag: u64) -> Result<u64, String> {
        match self.all(tag).last() {
            None => Ok(0),
            Some(Field::Varint(value)) => Ok(value),
            Some(_) => Err(self.wrong(tag)),
        }
    }

    pub(crate) fn flag(&self, tag: u64) -> Result<bool, String> {
        Ok(self.varint(tag)? == 1)
    }

    pub(crate) fn packed(&self, tag: u64) -> Result<Vec<u64>, String> {
        Ok(words(&self.lens(tag)?.concat(), 8))
    }

    pub(crate) fn reference(&self, tag: u64) -> Result<Option<DataRef>, String> {
        self.len(tag)?.map(DataRef::parse).transpose()
    }
}

/// A reference to some bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DataRef {
    pub(crate) url: String,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl DataRef {
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let message = Message::parse(bytes, "DataRef", &[1, 2])?;
        let range = message.len(2)?.unwrap_or_default();
        let range = Message::parse(range, "UInt64Range", &[1, 2])?;
        Ok(Self {
            url: message.texts(1)?.concat(),
            start: range.fixed(1)?,
            end: range.fixed(2)?,
        })
    }

    /// Parses the elements of a `DataRefArray`.
    pub(crate) fn list(bytes: &[u8]) -> Result<Vec<Self>, String> {
        let message = Message::parse(bytes, "DataRefArray", &[2, 3, 4])?;
        let (urls, starts) = (message.texts(2)?, message.packed(3)?);
        let ends = message.packed(4)?;
        rule(
            urls.len() == starts.len() && starts.len() == ends.len(),
            "the lists of a DataRefArray have one length",
            || format!("{}, {}, {}", urls.len(), starts.len(), ends.len()),
        )?;
        let places = urls.into_iter().zip(starts).zip(ends);
        let element = |((url, start), end): ((&str, u64), u64)| Self {
            url: url.to_owned(),
            start,
            end,
        };
        Ok(places.map(element).collect())
    }

    pub(crate) fn is_absent(&self) -> bool {
        self.url.is_empty() && self.end == 0
    }
}

/// Returns whether all bytes are zero.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}
