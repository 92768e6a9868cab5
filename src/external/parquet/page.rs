//! Pages, decompressed and compared with their headers before the crate `parquet` decodes them. Its decoders expect
//! sound pages: some reserve memory for the number of values in the header, and some return other values, without an
//! error, if a page has more bytes than its values.

use super::compression::Decompressor;
use super::deltas::{are_integers, size_of_extended_values, size_of_values};
use super::description::Codec;
use super::page_header::{PageHeader, PageKind, StoredLevels};
use super::runs::{are_values, count_highest, count_levels, repeated};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use arrow_schema::{DataType as ArrowType, TimeUnit};
use bytes::Bytes;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::Page;
use parquet::schema::types::ColumnDescPtr;

/// Bits of the widest code of a dictionary.
const MAX_CODE_BITS: u8 = 32;
/// The Julian day from which INT96 counts, as 1970-01-01.
const JULIAN_DAY_OF_1970: i64 = 2_440_588;
const NANOS_OF_DAY: i64 = 86_400_000_000_000;
/// Parquet's number of the only encoding of levels that is in use.
const RLE: i64 = 3;

/// A page for the crate `parquet`.
#[derive(Debug)]
pub(super) struct OpenedPage {
    pub(super) page: Page,
    /// Bytes that its values take when they are decoded, or more. Entries of a dictionary are not counted.
    pub(super) bytes: u64,
    /// Positions of its values: lists that are empty or null have none. 0 for a dictionary.
    pub(super) positions: u64,
    /// Bytes of the definition levels, which are just before the values.
    levels: usize,
    /// Bytes of the values, at the end of the page.
    values: usize,
}

impl OpenedPage {
    /// Returns the definition levels, and the values in their encoding.
    pub(super) fn levels_and_values(&self) -> (&[u8], &[u8]) {
        let buf: &[u8] = self.page.buffer();
        let before = buf.len().saturating_sub(self.values);
        let (levels, values) = buf.split_at(before);
        let first = levels.len().saturating_sub(self.levels);
        (levels.get(first..).unwrap_or_default(), values)
    }

    /// Converts a dictionary page to a data page with the same values, all of them present. `highest` is the definition
    /// level of present values.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) if the levels do not fit into a page.
    pub(super) fn into_data_page(self, highest: i16) -> Result<Page> {
        let num_values = self.page.num_values();
        let entries = self.page.buffer();
        let many = |_| Error::corrupt("too many levels of a Parquet column");
        let levels = match u8::try_from(highest).map_err(many)? {
            0 => Vec::new(),
            highest => repeated(highest, num_values),
        };
        let def_levels_byte_len = u32::try_from(levels.len()).unwrap_or(0);
        Ok(Page::DataPageV2 {
            buf: if levels.is_empty() {
                entries.clone()
            } else {
                [&levels, &entries[..]].concat().into()
            },
            num_values,
            encoding: Encoding::PLAIN,
            num_nulls: 0,
            num_rows: num_values,
            def_levels_byte_len,
            rep_levels_byte_len: 0,
            is_compressed: false,
            statistics: None,
        })
    }
}

/// Opens the pages of one chunk, the dictionary page first.
#[derive(Debug)]
pub(super) struct PageOpener {
    column: ColumnDescPtr,
    /// The encodings of the chunk, a bit for each of Parquet's numbers.
    encodings: u32,
    /// The definition level from which on a value is an item of a list; 0 if the positions of lists do not matter.
    item_level: u32,
    decompressor: Decompressor,
    has_dictionary: bool,
    /// Whether INT96 is read in nanoseconds, which reach from 1677 to 2262. The crate `parquet` wraps around beyond.
    are_nanoseconds: bool,
}

impl PageOpener {
    pub(super) fn new(column: ColumnDescPtr, codec: Codec, encodings: u32) -> Self {
        Self {
            column,
            encodings,
            item_level: 0,
            decompressor: Decompressor::new(codec),
            has_dictionary: false,
            are_nanoseconds: true,
        }
    }

    /// Sets the Arrow type in which INT96 is read.
    pub(super) fn with_instants_of(mut self, wanted: &ArrowType) -> Self {
        self.are_nanoseconds = match wanted {
            ArrowType::Timestamp(unit, _) => *unit == TimeUnit::Nanosecond,
            _ => true,
        };
        self
    }

    /// Sets the definition level from which on a value is an item of a list. The others are lists without items.
    pub(super) fn with_item_level(mut self, level: u32) -> Self {
        self.item_level = level;
        self
    }

    /// Accepts pages of codes, because the caller has opened the dictionary page before.
    pub(super) fn with_dictionary(mut self) -> Self {
        self.has_dictionary = true;
        self
    }

    /// Returns a page, given its header and its bytes, which begin with the header.
    ///
    /// # Errors
    /// [`Checksum`](ErrorKind::Checksum) if the bytes do not have the checksum in the header,
    /// [`Corrupt`](ErrorKind::Corrupt) if they are not the values that the header promises,
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) if they decode to too many bytes,
    /// [`Unsupported`](ErrorKind::Unsupported) for an encoding that cannot be read.
    pub(super) fn open(
        &mut self,
        header: &PageHeader,
        page: &Bytes,
        limits: &Limits,
    ) -> Result<OpenedPage> {
        let body = page.slice(header.len.min(page.len())..);
        if header.crc.is_some_and(|crc| crc32fast::hash(&body) != crc) {
            return Err(Error::new(ErrorKind::Checksum, "checksum mismatch"));
        }
        let too_many = |_| Error::corrupt("too many values in a Parquet page");
        let num_values = u32::try_from(header.values).map_err(too_many)?;
        let (page, bytes, positions, parts) = match header.levels {
            StoredLevels::None => {
                let page = self.dictionary(header, &body, num_values)?;
                let values = page.buffer().len();
                (page, 0, 0, (0, values))
            }
            StoredLevels::Compressed { encoding } => {
                let buf = self.decompressed(&body, header.uncompressed)?;
                let after = self.skip_repetition(&buf, encoding, header.values)?;
                let (levels, values) = self.split_levels(after, encoding)?;
                let present = self.present(levels, header.values)?;
                let positions = self.positions(levels, header.values)?;
                let (encoding, bytes) = self.check_values(header, values, present, limits)?;
                let parts = (levels.len(), values.len());
                let page = Page::DataPage {
                    buf,
                    num_values,
                    encoding,
                    def_level_encoding: Encoding::RLE,
                    rep_level_encoding: Encoding::RLE,
                    statistics: None,
                };
                (page, bytes, positions, parts)
            }
            StoredLevels::Apart {
                nulls,
                bytes: (definition, repetition),
                is_compressed,
            } => {
                let (is_nullable, is_repeated) = self.levels();
                let long = || Error::corrupt("levels longer than the Parquet page");
                let of_levels = repetition.checked_add(definition).ok_or_else(long)?;
                let buf = if is_compressed {
                    self.decompressed_after(&body, of_levels, header.uncompressed)?
                } else {
                    exact(&body, header.uncompressed)?
                };
                let (levels, values) = buf.split_at_checked(of_levels).ok_or_else(long)?;
                let (repeated, levels) = levels.split_at_checked(repetition).ok_or_else(long)?;
                self.check_repetition(repeated, header.values)?;
                let is_superfluous =
                    |levels: &[u8], has: bool| !has && !are_no_levels(levels, header.values);
                if is_superfluous(repeated, is_repeated) || is_superfluous(levels, is_nullable) {
                    return Err(Error::corrupt(
                        "levels in a Parquet page of required values",
                    ));
                }
                let present = self.present(levels, header.values)?;
                let positions = self.positions(levels, header.values)?;
                // Writers count empty lists in different ways.
                if !is_repeated && present.checked_add(nulls) != Some(header.values) {
                    return Err(Error::corrupt(format!(
                        "{present} of {} values in a Parquet page are present, and {nulls} null",
                        header.values
                    )));
                }
                let (encoding, bytes) = self.check_values(header, values, present, limits)?;
                let parts = (levels.len(), values.len());
                let small = |size: u64| u32::try_from(size).map_err(too_many);
                let page = Page::DataPageV2 {
                    num_nulls: small(header.values - present)?,
                    num_rows: num_values,
                    def_levels_byte_len: small(definition as u64)?,
                    rep_levels_byte_len: small(repetition as u64)?,
                    buf,
                    num_values,
                    encoding,
                    is_compressed,
                    statistics: None,
                };
                (page, bytes, positions, parts)
            }
        };
        let (levels, values) = parts;
        Ok(OpenedPage {
            page,
            bytes: bytes.max(header.uncompressed as u64),
            positions,
            levels,
            values,
        })
    }

    fn dictionary(&mut self, header: &PageHeader, body: &Bytes, num_values: u32) -> Result<Page> {
        if header.kind != PageKind::Dictionary || !matches!(header.encoding, 0 | 2 | 8) {
            return Err(Error::unsupported("a Parquet dictionary that is not plain"));
        }
        let buf = self.decompressed(body, header.uncompressed)?;
        if !self.are_plain(&buf, header.values) {
            return Err(other_count(header.values));
        }
        self.check_instants(&buf)?;
        self.has_dictionary = true;
        Ok(Page::DictionaryPage {
            buf,
            num_values,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        })
    }

    fn decompressed(&mut self, body: &Bytes, size: usize) -> Result<Bytes> {
        self.decompressed_after(body, 0, size)
    }

    /// Decompresses the bytes after the first `start` ones, to `size` bytes together.
    fn decompressed_after(&mut self, body: &Bytes, start: usize, size: usize) -> Result<Bytes> {
        if self.decompressor.codec() == Codec::None {
            return exact(body, size);
        }
        let (before, compressed) = body
            .split_at_checked(start)
            .filter(|_| start <= size)
            .ok_or_else(|| Error::corrupt("levels longer than the Parquet page"))?;
        let mut out = before.to_vec();
        // Some writers store no bytes if all values are null.
        if size > start {
            self.decompressor
                .append(compressed, size - start, &mut out)?;
        }
        Ok(out.into())
    }

    /// Whether the values have definition levels, and repetition levels.
    fn levels(&self) -> (bool, bool) {
        (
            self.column.max_def_level() > 0,
            self.column.max_rep_level() > 0,
        )
    }

    /// Returns the bytes of a page after the repetition levels of `count` values, if the column has them.
    fn skip_repetition<'a>(&self, buf: &'a [u8], encoding: i64, count: u64) -> Result<&'a [u8]> {
        let (_, is_repeated) = self.levels();
        if !is_repeated {
            return Ok(buf);
        }
        let (levels, after) = Self::levels_before(buf, encoding)?;
        self.check_repetition(levels, count)?;
        Ok(after)
    }

    /// Fails unless the bytes are the repetition levels of `count` values.
    fn check_repetition(&self, levels: &[u8], count: u64) -> Result<()> {
        let highest = u32::try_from(self.column.max_rep_level()).unwrap_or(0);
        if highest > 0 && count_highest(levels, highest, count).is_none() {
            return Err(Error::corrupt(format!(
                "expected repetition levels of {count} values"
            )));
        }
        Ok(())
    }

    /// Splits a page into definition levels, if the column has them, and values.
    fn split_levels<'a>(&self, buf: &'a [u8], encoding: i64) -> Result<(&'a [u8], &'a [u8])> {
        if self.column.max_def_level() == 0 {
            return Ok((&[], buf));
        }
        Self::levels_before(buf, encoding)
    }

    /// Splits bytes that begin with the length of levels.
    fn levels_before(buf: &[u8], encoding: i64) -> Result<(&[u8], &[u8])> {
        if encoding != RLE {
            return Err(Error::unsupported(format!(
                "Parquet levels in encoding {encoding}"
            )));
        }
        let levels = buf.split_first_chunk::<4>().and_then(|(len, rest)| {
            let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
            rest.split_at_checked(len)
        });
        levels.ok_or_else(|| Error::corrupt("levels longer than the Parquet page"))
    }

    /// Returns the number of values that are not null, out of `count`.
    fn present(&self, levels: &[u8], count: u64) -> Result<u64> {
        let highest = u32::try_from(self.column.max_def_level()).unwrap_or(0);
        if highest == 0 {
            return Ok(count);
        }
        count_highest(levels, highest, count)
            .ok_or_else(|| Error::corrupt(format!("expected levels of {count} values")))
    }

    /// Returns the number of positions of `count` values, which may include lists without items.
    fn positions(&self, levels: &[u8], count: u64) -> Result<u64> {
        let highest = u32::try_from(self.column.max_def_level()).unwrap_or(0);
        if self.item_level == 0 {
            return Ok(count);
        }
        count_levels(levels, self.item_level..=highest, count)
            .ok_or_else(|| Error::corrupt(format!("expected levels of {count} values")))
    }

    /// Fails unless the bytes are `count` values and nothing else. Returns their encoding, and the bytes of the values
    /// if these repeat parts of each other.
    fn check_values(
        &self,
        header: &PageHeader,
        bytes: &[u8],
        count: u64,
        limits: &Limits,
    ) -> Result<(Encoding, u64)> {
        let physical = self.column.physical_type();
        let is_bytes = physical == PhysicalType::BYTE_ARRAY;
        let (encoding, fits) = match header.encoding {
            0 => (Encoding::PLAIN, self.are_plain(bytes, count)),
            2 | 8 if !self.has_dictionary => {
                return Err(Error::corrupt("a Parquet page without its dictionary page"));
            }
            2 | 8 => (Encoding::RLE_DICTIONARY, are_codes(bytes, count)),
            RLE => {
                let is_bits = physical == PhysicalType::BOOLEAN && are_bits(bytes, count);
                (Encoding::RLE, is_bits)
            }
            5 => {
                let is_whole = matches!(physical, PhysicalType::INT32 | PhysicalType::INT64);
                let fits = is_whole && are_integers(bytes, count);
                (Encoding::DELTA_BINARY_PACKED, fits)
            }
            6 => {
                let size = size_of_values(bytes, count).filter(|_| is_bytes);
                (Encoding::DELTA_LENGTH_BYTE_ARRAY, size.is_some())
            }
            7 => {
                let is_fixed = physical == PhysicalType::FIXED_LEN_BYTE_ARRAY;
                let size = size_of_extended_values(bytes, count)
                    .filter(|_| is_bytes || is_fixed)
                    .ok_or_else(|| other_count(count))?;
                limits.check_block_bytes(size)?;
                return Ok((Encoding::DELTA_BYTE_ARRAY, size));
            }
            // Such a page has the same size as a plain one.
            9 => {
                let is_known = self.encodings >> 9 & 1 == 1;
                (
                    Encoding::BYTE_STREAM_SPLIT,
                    is_known && self.are_fixed(bytes, count),
                )
            }
            other => {
                return Err(Error::unsupported(format!("Parquet's encoding {other}")));
            }
        };
        if !fits {
            return Err(other_count(count));
        }
        if encoding == Encoding::PLAIN {
            self.check_instants(bytes)?;
        }
        Ok((encoding, 0))
    }

    /// Fails if plain values are INT96 that the type of the column does not reach.
    fn check_instants(&self, values: &[u8]) -> Result<()> {
        if !self.are_nanoseconds || self.column.physical_type() != PhysicalType::INT96 {
            return Ok(());
        }
        let (values, _) = values.as_chunks::<12>();
        for [nanos @ .., a, b, c, d] in values {
            let day = u32::from_le_bytes([*a, *b, *c, *d]);
            let days = i64::from(day) - JULIAN_DAY_OF_1970;
            let of_day = i64::from_le_bytes(*nanos);
            let instant = days.checked_mul(NANOS_OF_DAY);
            if instant
                .and_then(|instant| instant.checked_add(of_day))
                .is_none()
            {
                return Err(Error::new(
                    ErrorKind::ValueOutOfRange,
                    format!(
                        "an INT96 is {days} days from 1970-01-01, and nanoseconds reach 106751 days; convert the file \
                         instead (`arrow-shard convert`), which then reads microseconds"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Returns whether the bytes are `count` values in the encoding PLAIN.
    fn are_plain(&self, bytes: &[u8], count: u64) -> bool {
        match self.column.physical_type() {
            PhysicalType::BOOLEAN => bytes.len() as u64 == count.div_ceil(8),
            PhysicalType::BYTE_ARRAY => are_byte_arrays(bytes, count),
            _ => self.are_fixed(bytes, count),
        }
    }

    fn are_fixed(&self, bytes: &[u8], count: u64) -> bool {
        let width = match self.column.physical_type() {
            PhysicalType::INT32 | PhysicalType::FLOAT => 4,
            PhysicalType::INT64 | PhysicalType::DOUBLE => 8,
            PhysicalType::INT96 => 12,
            PhysicalType::FIXED_LEN_BYTE_ARRAY => self.column.type_length(),
            PhysicalType::BOOLEAN | PhysicalType::BYTE_ARRAY => return false,
        };
        let width = u64::try_from(width).unwrap_or(0);
        width > 0 && count.checked_mul(width) == Some(bytes.len() as u64)
    }
}

/// Returns the bytes of a page that is not compressed.
fn exact(body: &Bytes, size: usize) -> Result<Bytes> {
    if body.len() != size {
        return Err(Error::corrupt(format!(
            "{} bytes in a Parquet page that is not compressed, expected {size}",
            body.len()
        )));
    }
    Ok(body.clone())
}

/// Returns whether a column without levels may have these bytes of levels: none, or, as some writers store them,
/// `count` times 0 in 0 bits.
fn are_no_levels(levels: &[u8], count: u64) -> bool {
    levels.is_empty() || are_values(levels, 0, count)
}

/// Returns whether the bytes are `count` byte arrays, each after its length.
fn are_byte_arrays(bytes: &[u8], count: u64) -> bool {
    let mut rest = bytes;
    for _ in 0..count {
        let after = rest.split_first_chunk::<4>().and_then(|(len, after)| {
            let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
            after.get(len..)
        });
        match after {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}

/// Returns whether the bytes are `count` codes of a dictionary, after the number of their bits.
fn are_codes(bytes: &[u8], count: u64) -> bool {
    let codes = bytes.split_first();
    let codes = codes.filter(|(width, _)| **width <= MAX_CODE_BITS);
    codes.is_some_and(|(width, codes)| are_values(codes, u32::from(*width), count))
}

/// Returns whether the bytes are `count` Booleans in the encoding RLE, after the number of their bytes.
fn are_bits(bytes: &[u8], count: u64) -> bool {
    bytes.split_first_chunk::<4>().is_some_and(|(len, bits)| {
        u64::from(u32::from_le_bytes(*len)) == bits.len() as u64 && are_values(bits, 1, count)
    })
}

fn other_count(count: u64) -> Error {
    Error::corrupt(format!(
        "the bytes of a Parquet page are not {count} values of their type and encoding"
    ))
}
