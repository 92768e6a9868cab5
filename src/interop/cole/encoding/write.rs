//! Writing of pages in the smallest encoding.

use super::delta;
use super::dictionary::Dictionary;
use super::integer::Integer;
use super::plain;
use super::rle::FoundRuns;
use crate::error::{Error, ErrorKind, Result};
use crate::interop::cole::column_schema::ColumnType;
use crate::interop::cole::encoding_type::Encoding;
use crate::interop::cole::page_header::{PageHeader, Statistics};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};

/// Values collected for the next page.
#[derive(Debug)]
pub(in crate::interop::cole) enum PageValues {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Strings { offsets: Vec<u32>, data: Vec<u8> },
}

/// A page: its header and its bytes.
#[derive(Debug)]
pub(in crate::interop::cole) struct EncodedPage {
    pub(in crate::interop::cole) header: PageHeader,
    pub(in crate::interop::cole) data: Vec<u8>,
}

impl PageValues {
    pub(in crate::interop::cole) fn new(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::Int32 => Self::Int32(Vec::new()),
            ColumnType::Int64 => Self::Int64(Vec::new()),
            ColumnType::String => Self::Strings {
                offsets: vec![0],
                data: Vec::new(),
            },
        }
    }

    /// Returns the number of values.
    pub(in crate::interop::cole) fn len(&self) -> usize {
        match self {
            Self::Int32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::Strings { offsets, .. } => offsets.len() - 1,
        }
    }

    /// Takes values of an array from `start` on, until the page has `most` values, or its strings have at least
    /// `most_bytes` bytes. Returns the number of values taken.
    ///
    /// # Errors
    /// Returns [`ValueOutOfRange`](ErrorKind::ValueOutOfRange) for a string that does not fit a page.
    pub(in crate::interop::cole) fn take(
        &mut self,
        array: &ArrayRef,
        start: usize,
        most: usize,
        most_bytes: usize,
    ) -> Result<usize> {
        let count = (array.len() - start).min(most.saturating_sub(self.len()));
        match self {
            Self::Int32(values) => {
                let array = array.as_primitive::<Int32Type>();
                values.extend_from_slice(&array.values()[start..start + count]);
            }
            Self::Int64(values) => {
                let array = array.as_primitive::<Int64Type>();
                values.extend_from_slice(&array.values()[start..start + count]);
            }
            Self::Strings { offsets, data } => {
                let array = array.as_string::<i32>();
                for i in start..start + count {
                    if data.len() >= most_bytes {
                        return Ok(i - start);
                    }
                    data.extend_from_slice(array.value(i).as_bytes());
                    let end =
                        u32::try_from(data.len()).map_err(|_| too_large(data.len() as u64))?;
                    offsets.push(end);
                }
            }
        }
        Ok(count)
    }

    /// Returns whether the page is full.
    pub(in crate::interop::cole) fn is_full(&self, most: usize, most_bytes: usize) -> bool {
        let bytes = match self {
            Self::Strings { data, .. } => data.len(),
            _ => 0,
        };
        self.len() >= most || bytes >= most_bytes
    }

    /// Encodes the values as a page, in the encoding that takes the fewest bytes, and starts the next page.
    ///
    /// # Errors
    /// Returns [`ValueOutOfRange`](ErrorKind::ValueOutOfRange) for 4 GiB or more of values.
    pub(in crate::interop::cole) fn encode(&mut self) -> Result<EncodedPage> {
        let page = match self {
            Self::Int32(values) => encode_integers(values),
            Self::Int64(values) => encode_integers(values),
            Self::Strings { offsets, data } => encode_strings(offsets, data),
        }?;
        match self {
            Self::Int32(values) => values.clear(),
            Self::Int64(values) => values.clear(),
            Self::Strings { offsets, data } => {
                offsets.truncate(1);
                data.clear();
            }
        }
        Ok(page)
    }
}

fn encode_integers<T: Integer>(values: &[T]) -> Result<EncodedPage> {
    let plain = (values.len() * T::WIDTH) as u64;
    let runs = FoundRuns::of(values.len(), |a, b| values[a] == values[b]);
    let rle = runs.size((runs.runs.len() * T::WIDTH) as u64);
    let delta = delta::size(values).unwrap_or(u64::MAX);
    let mut data = Vec::new();
    // If sizes are equal, the encoding that is read fastest wins.
    let encoding = if plain <= rle.min(delta) {
        plain::write_integers(values, &mut data);
        Encoding::Plain
    } else if rle <= delta {
        runs.write(&mut data, |value, data| values[value].write(data));
        Encoding::Rle
    } else {
        delta::write(values, &mut data);
        Encoding::Delta
    };
    let statistics = Statistics {
        min: values.iter().min().map(|&value| value.into()),
        max: values.iter().max().map(|&value| value.into()),
        null_count: 0,
    };
    page(plain, values.len(), encoding, Some(statistics), data)
}

fn encode_strings(offsets: &[u32], strings: &[u8]) -> Result<EncodedPage> {
    let count = offsets.len() - 1;
    let value = |i: usize| &strings[offsets[i] as usize..offsets[i + 1] as usize];
    let plain = plain::strings_size(count, strings.len());
    let runs = FoundRuns::of(count, |a, b| value(a) == value(b));
    let run_bytes = runs
        .runs
        .iter()
        .map(|(start, _)| 4 + value(*start).len() as u64);
    let rle = runs.size(run_bytes.sum());
    let dictionary = Dictionary::of(&runs, value, plain.min(rle));
    let dictionary_size = dictionary.as_ref().map_or(u64::MAX, |it| it.size(&runs));
    let mut data = Vec::new();
    let encoding = match dictionary {
        Some(dictionary) if dictionary_size < plain.min(rle) => {
            dictionary.write(&runs, &mut data);
            Encoding::Dictionary
        }
        _ if rle < plain => {
            runs.write(&mut data, |i, data| {
                let value = value(i);
                data.extend_from_slice(&(offsets[i + 1] - offsets[i]).to_le_bytes());
                data.extend_from_slice(value);
            });
            Encoding::Rle
        }
        _ => {
            plain::write_strings(offsets, strings, &mut data);
            Encoding::Plain
        }
    };
    page(plain, count, encoding, None, data)
}

fn page(
    plain: u64,
    num_values: usize,
    encoding: Encoding,
    statistics: Option<Statistics>,
    data: Vec<u8>,
) -> Result<EncodedPage> {
    let stored = |number: u64| u32::try_from(number).map_err(|_| too_large(number));
    let header = PageHeader {
        uncompressed_size: stored(plain)?,
        compressed_size: stored(data.len() as u64)?,
        num_values: stored(num_values as u64)?,
        encoding,
        statistics,
    };
    Ok(EncodedPage { header, data })
}

#[cold]
fn too_large(bytes: u64) -> Error {
    let message = format!("a page has {bytes} bytes, and COLE allows less than 4 GiB");
    Error::new(ErrorKind::ValueOutOfRange, message)
}
