//! Random arrays of every type, with nulls at every level, garbage below nulls, and slices.

use super::schemas::{any_type, has_short_runs, is_union};
use super::values::{ByteStrings, Decimals, Native, Texts, shaped};
use arrow_array::builder::{BinaryViewBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, BinaryType, ByteArrayType, Decimal32Type,
    Decimal64Type, Decimal128Type, Decimal256Type, Int8Type, Int16Type, Int32Type, Int64Type,
    LargeBinaryType, LargeUtf8Type, RunEndIndexType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    Utf8Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray,
    FixedSizeListArray, GenericByteArray, GenericListArray, GenericListViewArray, MapArray,
    NullArray, OffsetSizeTrait, PrimitiveArray, RecordBatch, RecordBatchOptions, StringViewArray,
    StructArray, UnionArray, downcast_primitive, make_array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields, SchemaRef, UnionFields, UnionMode};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use std::sync::Arc;

/// Most rows, because of 16-bit run ends, which also count the values around a slice.
pub(crate) const MAX_ROWS: usize = 32_000;

/// Returns a batch of `rows` rows, at most [`MAX_ROWS`].
pub(crate) fn random_batch(rng: &mut StdRng, schema: &SchemaRef, rows: usize) -> RecordBatch {
    let columns = schema
        .fields()
        .iter()
        .map(|field| random_array(rng, field, rows))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).unwrap()
}

/// Returns an array of `len` values, at most [`MAX_ROWS`], for `field`; a third of all arrays, and of the arrays inside
/// of them, are slices of longer ones.
pub(crate) fn random_array(rng: &mut StdRng, field: &Field, len: usize) -> ArrayRef {
    build(rng, field, field.is_nullable(), len)
}

/// Returns an array like [`random_array`], without logical nulls unless `nullable`.
fn build(rng: &mut StdRng, field: &Field, nullable: bool, len: usize) -> ArrayRef {
    if !rng.random_ratio(1, 3) {
        return unsliced(rng, field, nullable, len);
    }
    let before = rng.random_range(0..10);
    let longer = before + len + rng.random_range(0..10);
    unsliced(rng, field, nullable, longer).slice(before, len)
}

fn unsliced(rng: &mut StdRng, field: &Field, nullable: bool, len: usize) -> ArrayRef {
    let data_type = field.data_type();
    match data_type {
        DataType::Null => Arc::new(NullArray::new(len)),
        DataType::Boolean => {
            let values = BooleanBuffer::from(shaped(rng, &Native::<bool>::new(), len));
            Arc::new(BooleanArray::new(values, nulls(rng, nullable, len)))
        }
        DataType::Decimal32(_, _) => decimals::<Decimal32Type>(rng, data_type, nullable, len),
        DataType::Decimal64(_, _) => decimals::<Decimal64Type>(rng, data_type, nullable, len),
        DataType::Decimal128(_, _) => decimals::<Decimal128Type>(rng, data_type, nullable, len),
        DataType::Decimal256(_, _) => decimals::<Decimal256Type>(rng, data_type, nullable, len),
        DataType::Utf8 => texts::<Utf8Type>(rng, field, nullable, len),
        DataType::LargeUtf8 => texts::<LargeUtf8Type>(rng, field, nullable, len),
        DataType::Binary => byte_strings::<BinaryType>(rng, nullable, len),
        DataType::LargeBinary => byte_strings::<LargeBinaryType>(rng, nullable, len),
        DataType::Utf8View => text_views(rng, field, nullable, len),
        DataType::BinaryView => byte_views(rng, nullable, len),
        DataType::FixedSizeBinary(size) => fixed_size_binary(rng, *size, nullable, len),
        DataType::List(item) => list::<i32>(rng, item, nullable, len),
        DataType::LargeList(item) => list::<i64>(rng, item, nullable, len),
        DataType::ListView(item) => list_view::<i32>(rng, item, nullable, len),
        DataType::LargeListView(item) => list_view::<i64>(rng, item, nullable, len),
        DataType::FixedSizeList(item, size) => fixed_size_list(rng, item, *size, nullable, len),
        DataType::Struct(fields) => Arc::new(structs(rng, fields, nullable, len)),
        DataType::Map(entries, sorted) => maps(rng, entries, *sorted, nullable, len),
        DataType::Union(fields, mode) => unions(rng, fields, *mode, nullable, len),
        DataType::Dictionary(key, value) => {
            let value = Field::new("", value.as_ref().clone(), nullable);
            match key.as_ref() {
                DataType::Int8 => dictionary::<Int8Type>(rng, &value, len),
                DataType::Int16 => dictionary::<Int16Type>(rng, &value, len),
                DataType::Int32 => dictionary::<Int32Type>(rng, &value, len),
                DataType::Int64 => dictionary::<Int64Type>(rng, &value, len),
                DataType::UInt8 => dictionary::<UInt8Type>(rng, &value, len),
                DataType::UInt16 => dictionary::<UInt16Type>(rng, &value, len),
                DataType::UInt32 => dictionary::<UInt32Type>(rng, &value, len),
                DataType::UInt64 => dictionary::<UInt64Type>(rng, &value, len),
                other => panic!("{other} is no type of dictionary keys"),
            }
        }
        DataType::RunEndEncoded(ends, values) => match ends.data_type() {
            DataType::Int16 => runs::<Int16Type>(rng, data_type, values, nullable, len),
            DataType::Int32 => runs::<Int32Type>(rng, data_type, values, nullable, len),
            DataType::Int64 => runs::<Int64Type>(rng, data_type, values, nullable, len),
            other => panic!("{other} is no type of run ends"),
        },
        primitive => {
            macro_rules! primitives {
                ($t:ty) => {{
                    let source = Native::<<$t as ArrowPrimitiveType>::Native>::new();
                    let values = shaped(rng, &source, len);
                    let array = PrimitiveArray::<$t>::new(values.into(), nulls(rng, nullable, len));
                    Arc::new(array.with_data_type(primitive.clone())) as ArrayRef
                }};
            }
            downcast_primitive! {
                primitive => (primitives),
                other => panic!("no generator for {other}")
            }
        }
    }
}

/// Returns the validity of `len` values: no buffer, no nulls, few or many nulls, in runs or not, with or without a bit
/// offset.
fn nulls(rng: &mut StdRng, nullable: bool, len: usize) -> Option<NullBuffer> {
    let kind = rng.random_range(0..8);
    if !nullable || kind == 0 {
        return None;
    }
    let offset = if rng.random() {
        0
    } else {
        rng.random_range(1..20)
    };
    let run = if kind == 1 { 30 } else { 1 };
    let percent = match kind {
        2 => 0,
        3 => 100,
        4 => 5,
        5 => 95,
        _ => 40,
    };
    let mut valid = true;
    let bits: BooleanBuffer = (0..offset + len)
        .map(|i| {
            if i % run == 0 {
                valid = !rng.random_ratio(percent, 100);
            }
            valid
        })
        .collect();
    Some(NullBuffer::new(bits.slice(offset, len)))
}

fn decimals<T: ArrowPrimitiveType>(
    rng: &mut StdRng,
    data_type: &DataType,
    nullable: bool,
    len: usize,
) -> ArrayRef
where
    T::Native: Narrow,
{
    let (DataType::Decimal32(precision, _)
    | DataType::Decimal64(precision, _)
    | DataType::Decimal128(precision, _)
    | DataType::Decimal256(precision, _)) = data_type
    else {
        panic!("{data_type} is no decimal")
    };
    let source = Decimals {
        precision: *precision,
    };
    let nulls = nulls(rng, nullable, len);
    let values: Vec<T::Native> = shaped(rng, &source, len)
        .into_iter()
        .enumerate()
        .map(|(i, value)| match &nulls {
            // Below a null, values may even exceed the precision.
            Some(nulls) if nulls.is_null(i) && i % 2 == 0 => T::Native::LEAST,
            _ => T::Native::narrow(value),
        })
        .collect();
    let array = PrimitiveArray::<T>::new(values.into(), nulls);
    Arc::new(array.with_data_type(data_type.clone()))
}

/// Natives of decimals.
trait Narrow: ArrowNativeType {
    const LEAST: Self;
    fn narrow(value: arrow_buffer::i256) -> Self;
}

macro_rules! narrow {
    ($($t:ty),*) => {$(
        impl Narrow for $t {
            const LEAST: Self = <$t>::MIN;

            fn narrow(value: arrow_buffer::i256) -> Self {
                value.to_i128().unwrap().try_into().unwrap()
            }
        }
    )*};
}

narrow!(i32, i64, i128);

impl Narrow for arrow_buffer::i256 {
    const LEAST: Self = Self::MIN;

    fn narrow(value: Self) -> Self {
        value
    }
}

fn random_texts(rng: &mut StdRng, field: &Field, len: usize) -> Vec<String> {
    let extension = field.metadata().get("ARROW:extension:name");
    let json = extension.is_some_and(|name| name == "arrow.json");
    shaped(rng, &Texts { json }, len)
}

fn texts<T: ByteArrayType<Native = str>>(
    rng: &mut StdRng,
    field: &Field,
    nullable: bool,
    len: usize,
) -> ArrayRef {
    let values = random_texts(rng, field, len);
    let offsets = OffsetBuffer::from_lengths(values.iter().map(String::len));
    let bytes = values.concat().into_bytes();
    let nulls = nulls(rng, nullable, len);
    Arc::new(GenericByteArray::<T>::new(offsets, bytes.into(), nulls))
}

fn byte_strings<T: ByteArrayType<Native = [u8]>>(
    rng: &mut StdRng,
    nullable: bool,
    len: usize,
) -> ArrayRef {
    let values = shaped(rng, &ByteStrings { len: None }, len);
    let offsets = OffsetBuffer::from_lengths(values.iter().map(Vec::len));
    let nulls = nulls(rng, nullable, len);
    let array = GenericByteArray::<T>::new(offsets, values.concat().into(), nulls);
    Arc::new(array)
}

fn text_views(rng: &mut StdRng, field: &Field, nullable: bool, len: usize) -> ArrayRef {
    let mut builder = StringViewBuilder::new().with_fixed_block_size(rng.random_range(500..5000));
    if rng.random() {
        builder = builder.with_deduplicate_strings();
    }
    for value in random_texts(rng, field, len) {
        builder.append_value(value);
    }
    let (views, buffers, _) = builder.finish().into_parts();
    Arc::new(StringViewArray::new(
        views,
        buffers,
        nulls(rng, nullable, len),
    ))
}

fn byte_views(rng: &mut StdRng, nullable: bool, len: usize) -> ArrayRef {
    let mut builder = BinaryViewBuilder::new().with_fixed_block_size(rng.random_range(500..5000));
    for value in shaped(rng, &ByteStrings { len: None }, len) {
        builder.append_value(value);
    }
    let (views, buffers, _) = builder.finish().into_parts();
    Arc::new(BinaryViewArray::new(
        views,
        buffers,
        nulls(rng, nullable, len),
    ))
}

fn fixed_size_binary(rng: &mut StdRng, size: i32, nullable: bool, len: usize) -> ArrayRef {
    let source = ByteStrings {
        len: Some(size.as_usize()),
    };
    let values = shaped(rng, &source, len).concat();
    let nulls = nulls(rng, nullable, len);
    Arc::new(FixedSizeBinaryArray::try_new_with_len(size, values.into(), nulls, len).unwrap())
}

/// Returns lengths of lists: all empty, short ones, or a huge one among empty ones. Null lists have a length, too. The
/// sum fits 16-bit run ends.
fn list_lengths(rng: &mut StdRng, item: &Field, len: usize) -> Vec<usize> {
    let kind = rng.random_range(0..6);
    let mut lengths: Vec<usize> = (0..len)
        .map(|_| match kind {
            0 => 0,
            1 => 1,
            2 => rng.random_range(0..2),
            _ => rng.random_range(0..4),
        })
        .collect();
    if kind == 2
        && let Some(i) = len.checked_sub(1)
    {
        lengths[rng.random_range(0..=i)] = rng.random_range(40..300);
    }
    if any_type(item.data_type(), &mut has_short_runs) {
        let mut left = MAX_ROWS;
        for length in &mut lengths {
            *length = left.min(*length);
            left -= *length;
        }
    }
    lengths
}

/// Returns offsets of lists, which may begin and end inside of the values, and the number of values.
fn list_offsets<O: OffsetSizeTrait>(
    rng: &mut StdRng,
    item: &Field,
    len: usize,
) -> (OffsetBuffer<O>, usize) {
    let mut end = rng.random_range(0..3);
    let mut offsets = vec![O::usize_as(end)];
    for length in list_lengths(rng, item, len) {
        end += length;
        offsets.push(O::usize_as(end));
    }
    (
        OffsetBuffer::new(offsets.into()),
        end + rng.random_range(0..3),
    )
}

fn list<O: OffsetSizeTrait>(
    rng: &mut StdRng,
    item: &FieldRef,
    nullable: bool,
    len: usize,
) -> ArrayRef {
    let (offsets, values) = list_offsets::<O>(rng, item, len);
    let values = random_array(rng, item, values);
    let nulls = nulls(rng, nullable, len);
    Arc::new(GenericListArray::try_new(item.clone(), offsets, values, nulls).unwrap())
}

/// Returns list views in any order, which overlap and skip values.
fn list_view<O: OffsetSizeTrait>(
    rng: &mut StdRng,
    item: &FieldRef,
    nullable: bool,
    len: usize,
) -> ArrayRef {
    let sizes = list_lengths(rng, item, len);
    let count = sizes.iter().sum::<usize>();
    let in_order = rng.random();
    let mut end = 0;
    let offsets: ScalarBuffer<O> = sizes
        .iter()
        .map(|size| {
            end += size;
            O::usize_as(if in_order {
                end - size
            } else {
                rng.random_range(0..=count - size)
            })
        })
        .collect();
    let sizes = sizes.into_iter().map(O::usize_as).collect();
    let values = random_array(rng, item, count);
    let nulls = nulls(rng, nullable, len);
    Arc::new(GenericListViewArray::try_new(item.clone(), offsets, sizes, values, nulls).unwrap())
}

fn fixed_size_list(
    rng: &mut StdRng,
    item: &FieldRef,
    size: i32,
    nullable: bool,
    len: usize,
) -> ArrayRef {
    let nulls = nulls(rng, nullable, len);
    let values = random_array(rng, item, len * size.as_usize());
    let expanded = nulls.as_ref().map(|nulls| nulls.expand(size.as_usize()));
    let values = hide_some(rng, item, values, expanded.as_ref());
    Arc::new(
        FixedSizeListArray::try_new_with_length(item.clone(), size, values, nulls, len).unwrap(),
    )
}

fn structs(rng: &mut StdRng, fields: &Fields, nullable: bool, len: usize) -> StructArray {
    let nulls = nulls(rng, nullable, len);
    let children = fields
        .iter()
        .map(|field| {
            let child = random_array(rng, field, len);
            hide_some(rng, field, child, nulls.as_ref())
        })
        .collect();
    StructArray::try_new_with_length(fields.clone(), children, nulls, len).unwrap()
}

/// Sometimes makes a non-nullable child null where its parent is null, as Arrow allows.
fn hide_some(
    rng: &mut StdRng,
    field: &Field,
    child: ArrayRef,
    parent: Option<&NullBuffer>,
) -> ArrayRef {
    let has_validity = !matches!(
        field.data_type(),
        DataType::Null | DataType::Union(_, _) | DataType::RunEndEncoded(_, _)
    );
    match parent {
        Some(nulls) if has_validity && !field.is_nullable() && rng.random() => {
            with_nulls(&child, nulls)
        }
        _ => child,
    }
}

/// Returns the same values with other validity, for types that have validity.
pub(crate) fn with_nulls(array: &ArrayRef, nulls: &NullBuffer) -> ArrayRef {
    let data = array.to_data();
    // Validation also needs bits for the values before the offset.
    let before = std::iter::repeat_n(true, data.offset());
    let bits: BooleanBuffer = before.chain(nulls.iter()).collect();
    let nulls = NullBuffer::new(bits.slice(data.offset(), nulls.len()));
    make_array(data.into_builder().nulls(Some(nulls)).build().unwrap())
}

fn maps(
    rng: &mut StdRng,
    entries: &FieldRef,
    sorted: bool,
    nullable: bool,
    len: usize,
) -> ArrayRef {
    let (offsets, count) = list_offsets::<i32>(rng, entries, len);
    let mut values = random_array(rng, entries, count).as_struct().clone();
    if sorted {
        // Sorting all keys sorts the keys of each map.
        let (fields, mut columns, nulls) = values.into_parts();
        columns[0] = arrow_ord::sort::sort(&columns[0], None).unwrap();
        values = StructArray::try_new_with_length(fields, columns, nulls, count).unwrap();
    }
    let nulls = nulls(rng, nullable, len);
    Arc::new(MapArray::try_new(entries.clone(), offsets, values, nulls, sorted).unwrap())
}

fn unions(
    rng: &mut StdRng,
    fields: &UnionFields,
    mode: UnionMode,
    nullable: bool,
    len: usize,
) -> ArrayRef {
    let ids: Vec<i8> = fields.iter().map(|(id, _)| id).collect();
    let type_ids: Vec<i8> = (0..len).map(|_| *ids.choose(rng).unwrap()).collect();
    let mut lengths = vec![len; ids.len()];
    let mut offsets = None;
    if mode == UnionMode::Dense {
        // In ascending order; some values are skipped, and some are shared by two slots.
        lengths.fill(0);
        let place = |id: &i8| {
            let child = ids.iter().position(|other| other == id).unwrap();
            let step = match rng.random_range(0..12) {
                0 if lengths[child] > 0 => 0,
                1 => 2,
                _ => 1,
            };
            lengths[child] += step;
            i32::try_from(lengths[child] - 1).unwrap()
        };
        offsets = Some(type_ids.iter().map(place).collect());
    }
    let children = fields
        .iter()
        .zip(lengths)
        .map(|((_, field), len)| build(rng, field, nullable && field.is_nullable(), len))
        .collect();
    Arc::new(UnionArray::try_new(fields.clone(), type_ids.into(), offsets, children).unwrap())
}

/// Returns a dictionary with unused, repeated and null entries, null keys, and garbage keys below them. It has so few
/// entries that three such arrays can be concatenated with any key type.
fn dictionary<K: ArrowDictionaryKeyType>(rng: &mut StdRng, value: &Field, len: usize) -> ArrayRef {
    let nullable = value.is_nullable();
    let entries: usize = rng.random_range(1..30);
    let values = random_array(rng, value, entries);
    // A null key has no equivalent among unions, so a dictionary of unions has no null keys.
    let nulls = nulls(rng, nullable && !is_union(value.data_type()), len);
    let few = rng.random_range(1..=entries);
    let keys: Vec<K::Native> = (0..len)
        .map(|i| match &nulls {
            Some(nulls) if nulls.is_null(i) && i % 2 == 0 => K::Native::usize_as(40),
            _ => K::Native::usize_as(rng.random_range(0..few)),
        })
        .collect();
    let values = match &nulls {
        Some(nulls) if nulls.null_count() == len => values.slice(0, 0),
        _ => values,
    };
    let keys = PrimitiveArray::<K>::new(keys.into(), nulls);
    Arc::new(DictionaryArray::try_new(keys, values).unwrap())
}

fn runs<R: RunEndIndexType>(
    rng: &mut StdRng,
    data_type: &DataType,
    values: &Field,
    nullable: bool,
    len: usize,
) -> ArrayRef {
    let longest = *[1, 3, 100].choose(rng).unwrap();
    let mut ends = Vec::new();
    let mut end = 0;
    while end < len {
        end = len.min(end + rng.random_range(1..=longest));
        let native = R::Native::from_usize(end);
        ends.push(native.unwrap_or_else(|| panic!("{len} values in {data_type}")));
    }
    let values = build(rng, values, nullable && values.is_nullable(), ends.len());
    let ends = PrimitiveArray::<R>::new(ends.into(), None);
    let data = ArrayData::builder(data_type.clone())
        .len(len)
        .add_child_data(ends.into_data())
        .add_child_data(values.to_data());
    make_array(data.build().unwrap())
}
