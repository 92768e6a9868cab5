//! Spec: Chapter 6, "Dictionary Encoding".

use super::super::{
    ByteValues, Chunk, DecodedDictionary, DictionaryEntries, EntryArray, Values, fixed_width,
    has_dictionary, mismatch,
};
use super::offsets::overflow;
use super::{Assembler, Casts, bytes, check_len, check_nulls, fixed, invalid, subset};
use crate::arrow::{is_wrapped, largest_integer};
use crate::buffer::Selection;
use crate::error::{Error, ErrorKind, Result, to_usize};
use crate::format::DataType;
use crate::kernels::{gather_entries, gather_views, gather_words};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, BinaryType, BinaryViewType, Int8Type, Int16Type, Int32Type, Int64Type,
    LargeBinaryType, LargeUtf8Type, StringViewType, UInt8Type, UInt16Type, UInt64Type, Utf8Type,
};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeBinaryArray, PrimitiveArray, UInt32Array, make_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_row::Rows;
use arrow_schema::DataType as ArrowType;
use arrow_select::take::{TakeOptions, take};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

/// A dictionary array in progress: the code of every row (0 at null rows), and the values that codes refer to.
struct Coded {
    codes: ScalarBuffer<u32>,
    nulls: Option<NullBuffer>,
    values: ArrayRef,
}

impl Assembler<'_> {
    /// Returns a dictionary array. Keeps the stored dictionary; plain values get a new one.
    pub(super) fn dictionary(
        &mut self,
        key: &ArrowType,
        value: &ArrowType,
        node: &DataType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        if !is_wrapped(value)
            && has_dictionary(node.basic_type)
            && self.source.stored_as(node).is_none()
            && let Some(stored) = self.source.dictionary(node, rows)?
        {
            return stored
                .coded(value, node, rows, self.casts)?
                .fit(key)?
                .array(key);
        }
        self.check_positions(rows)?;
        let array = self.node(value, node, rows)?;
        let equality = self.comparable(&array, node, rows)?;
        encode(&array, &equality)?.array(key)
    }
}

impl DictionaryEntries {
    /// Returns the entries as an array of the column's type without a dictionary.
    ///
    /// # Errors
    /// Returns the errors of [`assemble`](super::assemble) for the type of plain values.
    pub fn array(&self, wanted: &ArrowType, node: &DataType) -> Result<ArrayRef> {
        let casts = Casts::default();
        match self.all(wanted, node, &casts)? {
            Some(array) => Ok(array),
            None => leaf_array(&self.chunk, wanted, node, &casts),
        }
    }

    /// Returns the entries as an array of a type, made once, or `None` if an entry cannot be converted to the type.
    fn all(&self, wanted: &ArrowType, node: &DataType, casts: &Casts) -> Result<Option<ArrayRef>> {
        // A poisoned lock is harmless, because arrays are only ever appended whole.
        let mut arrays = self.arrays.lock().unwrap_or_else(PoisonError::into_inner);
        let is_strict = casts.is_strict();
        let known = |known: &&EntryArray| known.wanted == *wanted && known.is_strict == is_strict;
        if let Some(known) = arrays.iter().find(known) {
            return Ok(known.array.clone());
        }
        let array = match leaf_array(&self.chunk, wanted, node, casts) {
            Ok(array) => Some(array),
            Err(e) if e.kind() == ErrorKind::ValueOutOfRange => None,
            Err(e) => return Err(e),
        };
        arrays.push(EntryArray {
            wanted: wanted.clone(),
            is_strict,
            array: array.clone(),
        });
        Ok(array)
    }

    /// Returns the entries with these codes. The code of the null entry must not be among them.
    fn some(&self, codes: &[u32], node: &DataType) -> Result<Chunk<Values>> {
        let (len, nulls) = (codes.len(), None);
        let codes = codes.iter().map(|code| *code as usize);
        let values = match &self.chunk.values {
            Values::Fixed { width, data } => {
                let entry = |code: usize| {
                    let start = code.checked_mul(*width)?;
                    data.get(start..start.checked_add(*width)?)
                };
                let entries: Option<Vec<&[u8]>> = codes.map(entry).collect();
                let data = Buffer::from_vec(entries.ok_or_else(missing)?.concat());
                let width = *width;
                Values::Fixed { width, data }
            }
            Values::Bytes(values) => {
                let raw = bytes::raw(values.clone())?;
                let raw = raw.as_binary::<i64>();
                let entry = |code: usize| (code < raw.len()).then(|| raw.value(code));
                let entries: Option<Vec<&[u8]>> = codes.map(entry).collect();
                let entries = entries.ok_or_else(missing)?;
                let offsets = OffsetBuffer::from_lengths(entries.iter().map(|entry| entry.len()));
                let data = Buffer::from_vec(entries.concat());
                Values::Bytes(ByteValues::Offsets64(offsets, data))
            }
            _ => return Err(mismatch(&ArrowType::Null, node).within("value dictionary")),
        };
        Ok(Chunk { len, nulls, values })
    }
}

/// Returns the error for a code that has no entry.
fn missing() -> Error {
    Error::corrupt("expected codes of entries, found one beyond them")
}

/// Returns entries as an array of a type.
fn leaf_array(
    entries: &Chunk<Values>,
    wanted: &ArrowType,
    node: &DataType,
    casts: &Casts,
) -> Result<ArrayRef> {
    let Chunk { len, nulls, values } = entries;
    let (len, nulls) = (*len, nulls.clone());
    match values {
        Values::Fixed { width, data } if fixed_width(node) == Some(*width) => {
            let values = data.clone();
            fixed::fixed(Chunk { len, nulls, values }, *width, wanted, node, casts)
        }
        Values::Bytes(values) => {
            let values = values.clone();
            bytes::bytes(Chunk { len, nulls, values }, wanted, node, casts)
        }
        _ => Err(mismatch(wanted, node).within("value dictionary")),
    }
}

impl DecodedDictionary {
    fn coded(
        self,
        wanted: &ArrowType,
        node: &DataType,
        rows: &Selection,
        casts: &Casts,
    ) -> Result<Coded> {
        check_len(to_usize(rows.len())?, self.codes.len())?;
        check_nulls(self.codes.len(), self.nulls.as_ref())?;
        let nulls = self.nulls.filter(|n| n.null_count() > 0);
        if let Some(values) = self.entries.all(wanted, node, casts)? {
            let codes = match &nulls {
                None => self.codes,
                Some(nulls) => {
                    let code = |(code, valid): (&u32, bool)| if valid { *code } else { 0 };
                    self.codes.iter().zip(nulls.iter()).map(code).collect()
                }
            };
            return Ok(Coded {
                codes,
                nulls,
                values,
            });
        }
        // Maybe no row uses the entry that cannot be converted, so convert only the entries in use.
        let (used, codes) = renumbered(&self.codes, nulls.as_ref())?;
        let values = leaf_array(&self.entries.some(&used, node)?, wanted, node, casts)?;
        Ok(Coded {
            codes,
            nulls,
            values,
        })
    }
}

impl Assembler<'_> {
    /// Returns the plain values of a dictionary, if the source allows their size.
    pub(super) fn gather(
        &self,
        stored: DecodedDictionary,
        wanted: &ArrowType,
        node: &DataType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        let source = &*self.source;
        let coded = stored.coded(wanted, node, rows, self.casts)?;
        if let ArrowType::FixedSizeBinary(0) = wanted {
            let (len, nulls) = (coded.codes.len(), coded.nulls);
            let values = Buffer::from_vec(Vec::<u8>::new());
            let array = FixedSizeBinaryArray::try_new_with_len(0, values, nulls, len);
            return Ok(Arc::new(array.map_err(invalid)?));
        }
        macro_rules! entries {
            ($ty:ty) => {{
                let entries = coded.values.as_bytes::<$ty>();
                let check = |bytes| source.check_bytes(bytes);
                match gather_entries(entries, &coded.codes, coded.nulls, check)? {
                    Some(array) => return Ok(Arc::new(array)),
                    None => {
                        return Err(overflow(format_args!("the values of {} rows", rows.len())));
                    }
                }
            }};
        }
        match wanted {
            ArrowType::Utf8 => entries!(Utf8Type),
            ArrowType::LargeUtf8 => entries!(LargeUtf8Type),
            ArrowType::Binary => entries!(BinaryType),
            ArrowType::LargeBinary => entries!(LargeBinaryType),
            _ => {}
        }
        let width = match wanted {
            ArrowType::FixedSizeBinary(size) => u64::try_from(*size).unwrap_or_default(),
            // Views have no primitive width.
            other => other.primitive_width().unwrap_or(size_of::<u128>()) as u64,
        };
        source.check_bytes(width.saturating_mul(coded.codes.len() as u64))?;
        macro_rules! views {
            ($ty:ty) => {{
                let entries = coded.values.as_byte_view::<$ty>();
                if let Some(array) = gather_views(entries, &coded.codes, coded.nulls.clone()) {
                    return Ok(Arc::new(array));
                }
            }};
        }
        match wanted {
            ArrowType::Utf8View => views!(StringViewType),
            ArrowType::BinaryView => views!(BinaryViewType),
            _ => {}
        }
        if let Some(array) = gather_numbers(&coded)? {
            return Ok(array);
        }
        let codes = UInt32Array::try_new(coded.codes, coded.nulls)?;
        let options = TakeOptions { check_bounds: true };
        take(&coded.values, &codes, Some(options)).map_err(invalid)
    }
}

/// Returns the plain values of a dictionary of numbers of up to 8 bytes. Returns `None` for other types, for null
/// entries, and if a code has no entry, which may be at a null.
fn gather_numbers(coded: &Coded) -> Result<Option<ArrayRef>> {
    let entries = coded.values.to_data();
    // The alignment of intervals is less than their width.
    let is_interval = matches!(entries.data_type(), ArrowType::Interval(_));
    if is_interval || entries.null_count() > 0 {
        return Ok(None);
    }
    macro_rules! gather {
        ($word:ty) => {
            entries
                .buffer::<$word>(0)
                .get(..entries.len())
                .and_then(|entries| gather_words(entries, &coded.codes))
        };
    }
    let values = match entries.data_type().primitive_width() {
        Some(1) => gather!(u8),
        Some(2) => gather!(u16),
        Some(4) => gather!(u32),
        Some(8) => gather!(u64),
        _ => None,
    };
    let Some(values) = values else {
        return Ok(None);
    };
    let array = ArrayData::builder(entries.data_type().clone())
        .len(coded.codes.len())
        .add_buffer(values)
        .nulls(coded.nulls.clone());
    Ok(Some(make_array(array.build().map_err(invalid)?)))
}

impl Coded {
    /// Drops unused values and renumbers the codes, if a code exceeds the keys of the type.
    fn fit(self, key: &ArrowType) -> Result<Self> {
        let most = max_key(key);
        if most == u32::MAX || self.codes.iter().max().copied().unwrap_or(0) <= most {
            return Ok(self);
        }
        let (used, codes) = renumbered(&self.codes, self.nulls.as_ref())?;
        let options = TakeOptions { check_bounds: true };
        let values =
            take(&self.values, &UInt32Array::from(used), Some(options)).map_err(invalid)?;
        Ok(Self {
            codes,
            nulls: self.nulls,
            values,
        })
    }

    fn array(self, key: &ArrowType) -> Result<ArrayRef> {
        match key {
            ArrowType::Int8 => self.with_keys::<Int8Type>(),
            ArrowType::Int16 => self.with_keys::<Int16Type>(),
            ArrowType::Int32 => self.with_keys::<Int32Type>(),
            ArrowType::Int64 => self.with_keys::<Int64Type>(),
            ArrowType::UInt8 => self.with_keys::<UInt8Type>(),
            ArrowType::UInt16 => self.with_keys::<UInt16Type>(),
            ArrowType::UInt32 => {
                let keys = UInt32Array::try_new(self.codes, self.nulls)?;
                let array = DictionaryArray::try_new(keys, self.values).map_err(invalid)?;
                Ok(Arc::new(array))
            }
            ArrowType::UInt64 => self.with_keys::<UInt64Type>(),
            other => Err(Error::new(
                ErrorKind::SchemaMismatch,
                format!("{other} cannot be the key of a dictionary"),
            )),
        }
    }

    fn with_keys<K: ArrowDictionaryKeyType<Native: TryFrom<u32>>>(self) -> Result<ArrayRef> {
        let converted = self.codes.iter().map(|code| {
            K::Native::try_from(*code).map_err(|_| {
                Error::new(
                    ErrorKind::OffsetOverflow,
                    format!(
                        "{} distinct values exceed dictionary keys of type {}",
                        self.values.len(),
                        K::DATA_TYPE
                    ),
                )
            })
        });
        let numbers: Vec<K::Native> = converted.collect::<Result<_>>()?;
        let keys = PrimitiveArray::<K>::try_new(numbers.into(), self.nulls)?;
        let array = DictionaryArray::try_new(keys, self.values).map_err(invalid)?;
        Ok(Arc::new(array))
    }
}

/// Returns the codes that rows use, in the order of the rows, and the ordinal of every row's code among them.
fn renumbered(codes: &[u32], nulls: Option<&NullBuffer>) -> Result<(Vec<u32>, ScalarBuffer<u32>)> {
    let mut used = Vec::new();
    let mut ordinals = HashMap::new();
    let mut renumbered = Vec::with_capacity(codes.len());
    for (i, code) in codes.iter().enumerate() {
        if nulls.is_some_and(|nulls| nulls.is_null(i)) {
            renumbered.push(0);
            continue;
        }
        let next = to_code(used.len())?;
        let ordinal = *ordinals.entry(*code).or_insert_with(|| {
            used.push(*code);
            next
        });
        renumbered.push(ordinal);
    }
    Ok((used, renumbered.into()))
}

/// Returns the largest code that a key type can hold.
fn max_key(key: &ArrowType) -> u32 {
    u32::try_from(largest_integer(key)).unwrap_or(u32::MAX)
}

fn to_code(index: usize) -> Result<u32> {
    u32::try_from(index).map_err(|_| {
        Error::new(
            ErrorKind::OffsetOverflow,
            format!("{index} distinct values exceed a dictionary"),
        )
    })
}

/// Dictionary-encodes an array of any type. Two values share a code if their rows in `equality` are equal.
fn encode(array: &ArrayRef, equality: &Rows) -> Result<Coded> {
    let nulls = own_nulls(array).filter(|n| n.null_count() > 0);
    let mut codes = Vec::with_capacity(array.len());
    let mut firsts = Vec::new();
    let mut seen = HashMap::new();
    for (i, row) in equality.iter().enumerate() {
        if nulls.as_ref().is_some_and(|n| n.is_null(i)) {
            codes.push(0);
            continue;
        }
        let next = to_code(firsts.len())?;
        codes.push(*seen.entry(row).or_insert_with(|| {
            firsts.push(i);
            next
        }));
    }
    Ok(Coded {
        codes: codes.into(),
        values: subset(array, &firsts)?,
        nulls,
    })
}

/// Returns the nulls of an array. A null variant of a union is a value, because it has an ordinal.
pub(super) fn own_nulls(array: &ArrayRef) -> Option<NullBuffer> {
    match array.data_type() {
        ArrowType::Union(..) => None,
        ArrowType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let nulls = dictionary.nulls().cloned();
            let Some(entries) = own_nulls(dictionary.values()) else {
                return nulls;
            };
            if entries.is_empty() {
                return nulls;
            }
            // Keys at null rows are arbitrary; normalized keys are below the number of entries.
            let keys = dictionary.normalized_keys();
            let open = |i: usize| nulls.as_ref().is_none_or(|n| n.is_valid(i));
            let valid = |i: usize| open(i) && entries.is_valid(keys[i]);
            let valid = BooleanBuffer::collect_bool(keys.len(), valid);
            Some(NullBuffer::new(valid))
        }
        ArrowType::RunEndEncoded(..) => {
            let values = array.to_data().child_data().get(1).cloned()?;
            own_nulls(&make_array(values)).and_then(|_| array.logical_nulls())
        }
        _ => array.logical_nulls(),
    }
}
