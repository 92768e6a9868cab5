//! Reading of the values of a page.

use super::delta::{self, Differences};
use super::dictionary;
use super::integer::Integer;
use super::plain;
use super::rle;
use super::runs::Runs;
use super::strings::{StringBuilder, Strings};
use crate::error::{Error, Result};
use crate::interop::cole::column_schema::ColumnType;
use crate::interop::cole::encoding_type::Encoding;
use crate::interop::cole::page_header::{PageHeader, Statistics};
use bytes::Bytes;
use std::ops::Range;

/// The values of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::interop::cole) enum Page {
    Int32(Integers<i32>),
    Int64(Integers<i64>),
    Strings(Strings),
}

/// Integers of a page, single or in runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::interop::cole) enum Integers<T> {
    Each(Vec<T>),
    Runs(Runs, Vec<T>),
}

impl Page {
    /// Reads the values of a page of a column.
    ///
    /// # Errors
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the bytes are not exactly the values, or if the header
    /// contradicts them, and [`Unsupported`](crate::ErrorKind::Unsupported) if some of them are null.
    pub(in crate::interop::cole) fn read(
        column_type: ColumnType,
        header: &PageHeader,
        bytes: &Bytes,
    ) -> Result<Self> {
        if let Some(Statistics {
            null_count: nulls @ 1..,
            ..
        }) = header.statistics
        {
            return Err(Error::unsupported(format!(
                "{nulls} values are null, and the format does not say which"
            )));
        }
        match column_type {
            ColumnType::Int32 => Ok(Self::Int32(Integers::read(header, bytes)?)),
            ColumnType::Int64 => Ok(Self::Int64(Integers::read(header, bytes)?)),
            ColumnType::String => Ok(Self::Strings(read_strings(header, bytes)?)),
        }
    }

    /// Counts the values, from the start of a range on, that fit into `budget` bytes. Returns their number and their
    /// bytes.
    pub(in crate::interop::cole) fn fit(&self, range: Range<u32>, budget: u64) -> (u32, u64) {
        let width = match self {
            Self::Int32(_) => 4,
            Self::Int64(_) => 8,
            Self::Strings(strings) => return strings.fit(range, budget),
        };
        let count = u64::from(range.end - range.start);
        let fitting = count.min(budget / width);
        // Lossless: `fitting` is at most the length of the range, which has 32 bits.
        (u32::try_from(fitting).unwrap_or(u32::MAX), fitting * width)
    }

    /// Appends the strings of a range.
    pub(in crate::interop::cole) fn append_strings(
        &self,
        range: Range<u32>,
        out: &mut StringBuilder,
    ) -> Result<()> {
        match self {
            Self::Strings(strings) => strings.append(range, out),
            _ => return Err(other_type()),
        }
        Ok(())
    }
}

#[cold]
fn other_type() -> Error {
    Error::corrupt("the type of a page is not the type of its column")
}

/// An integer type with its own kind of page.
pub(in crate::interop::cole) trait PageInteger: Integer {
    /// Returns the values of a page, or an error if its values have another type.
    fn of(page: &Page) -> Result<&Integers<Self>>;
}

impl PageInteger for i32 {
    fn of(page: &Page) -> Result<&Integers<Self>> {
        match page {
            Page::Int32(values) => Ok(values),
            _ => Err(other_type()),
        }
    }
}

impl PageInteger for i64 {
    fn of(page: &Page) -> Result<&Integers<Self>> {
        match page {
            Page::Int64(values) => Ok(values),
            _ => Err(other_type()),
        }
    }
}

impl<T: Integer> Integers<T> {
    fn read(header: &PageHeader, bytes: &Bytes) -> Result<Self> {
        let num_values = header.num_values;
        let values = match header.encoding {
            _ if num_values == 0 && bytes.is_empty() => Self::Each(Vec::new()),
            Encoding::Plain => Self::Each(plain::read_integers(bytes, num_values)?),
            Encoding::Rle => {
                let (runs, values) = rle::read_integers(bytes, num_values)?;
                Self::Runs(runs, values)
            }
            Encoding::Delta => return Self::read_deltas(header, bytes),
            Encoding::Dictionary => {
                return Err(Error::corrupt("encoding DICTIONARY is for STRING columns"));
            }
        };
        values.check(header)?;
        Ok(values)
    }

    /// Reads differences in the form that gives valid values whose least and greatest are the bounds in the statistics.
    /// Zigzag is tried first; it also wins if neither form reaches the bounds.
    fn read_deltas(header: &PageHeader, bytes: &Bytes) -> Result<Self> {
        let read = |differences| -> Result<Self> {
            let values = Self::Each(delta::read(bytes, header.num_values, differences)?);
            values.check(header)?;
            Ok(values)
        };
        let zigzag = read(Differences::ZigZag);
        if matches!(&zigzag, Ok(values) if values.reach_bounds(header)) {
            return zigzag;
        }
        match read(Differences::TwosComplement) {
            Ok(values) if zigzag.is_err() || values.reach_bounds(header) => Ok(values),
            _ => zigzag,
        }
    }

    /// Returns the least and the greatest value.
    fn range(&self) -> Option<(i64, i64)> {
        let (Self::Each(values) | Self::Runs(_, values)) = self;
        let (least, greatest) = (values.iter().min()?, values.iter().max()?);
        Some(((*least).into(), (*greatest).into()))
    }

    /// Returns whether the bounds in the statistics, where present, equal the least and the greatest value.
    fn reach_bounds(&self, header: &PageHeader) -> bool {
        let (Some(statistics), Some((least, greatest))) = (&header.statistics, self.range()) else {
            return true;
        };
        let min = statistics.min.is_none_or(|min| min == least);
        min && statistics.max.is_none_or(|max| max == greatest)
    }

    /// Checks the values against the header. COLE has no checksums, so nothing else would detect damaged values.
    fn check(&self, header: &PageHeader) -> Result<()> {
        let plain = u64::from(header.num_values) * T::WIDTH as u64;
        if u64::from(header.uncompressed_size) != plain {
            return Err(Error::corrupt(format!(
                "the page has {} bytes uncompressed, expected {plain}",
                header.uncompressed_size
            )));
        }
        let (Some(statistics), Some((least, greatest))) = (&header.statistics, self.range()) else {
            return Ok(());
        };
        let mut ends = [least, greatest].into_iter();
        match ends.find(|&value| !statistics.allow(value)) {
            Some(value) => Err(Error::corrupt(format!(
                "the value {value} lies outside of the bounds in the statistics"
            ))),
            None => Ok(()),
        }
    }

    /// Appends the values of a range.
    pub(in crate::interop::cole) fn append(&self, range: Range<u32>, out: &mut Vec<T>) {
        match self {
            Self::Each(values) => {
                out.extend_from_slice(&values[range.start as usize..range.end as usize]);
            }
            Self::Runs(runs, values) => {
                for (run, len) in runs.within(range) {
                    out.extend(std::iter::repeat_n(values[run], len as usize));
                }
            }
        }
    }
}

fn read_strings(header: &PageHeader, bytes: &Bytes) -> Result<Strings> {
    let num_values = header.num_values;
    match header.encoding {
        _ if num_values == 0 && bytes.is_empty() => Ok(Strings::with_capacity(Bytes::new(), 0)),
        Encoding::Plain => plain::read_strings(bytes, num_values),
        Encoding::Rle => rle::read_strings(bytes, num_values),
        Encoding::Dictionary => dictionary::read(bytes, num_values),
        Encoding::Delta => Err(Error::corrupt(
            "encoding DELTA is for INT32 and INT64 columns",
        )),
    }
}
