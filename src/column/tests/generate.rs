//! Random types and arrays, with nulls and hidden values at every level.

use arrow_array::cast::AsArray;
use arrow_array::*;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{
    DataType as ArrowType, Field, FieldRef, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode,
};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, RngCore};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn random_type(rng: &mut StdRng, depth: u32) -> ArrowType {
    if depth == 0 || rng.random_bool(0.4) {
        return random_leaf(rng);
    }
    let below = depth - 1;
    match rng.random_range(0..12) {
        0 => ArrowType::List(random_ref(rng, below, "item")),
        1 => ArrowType::LargeList(random_ref(rng, below, "element")),
        2 => ArrowType::ListView(random_ref(rng, below, "item")),
        3 => ArrowType::LargeListView(random_ref(rng, below, "x")),
        4 => ArrowType::FixedSizeList(random_ref(rng, below, "item"), rng.random_range(0..4)),
        5 | 6 => {
            let n = rng.random_range(0..4);
            let members = (0..n).map(|i| random_ref(rng, below, &format!("m{}", i / 2 * 2)));
            ArrowType::Struct(members.collect::<Fields>())
        }
        7 => {
            let mut key = random_leaf(rng);
            while has_hidden_nulls(&key) {
                key = random_leaf(rng);
            }
            let key = Field::new("k", key, false);
            let value = random_field(rng, below, "v");
            let entries = ArrowType::Struct(Fields::from(vec![key, value]));
            let entries = Field::new("kv", entries, false);
            ArrowType::Map(Arc::new(entries), rng.random_bool(0.5))
        }
        8 | 9 => {
            let n = rng.random_range(1..4);
            let fields: Vec<_> = (0..n)
                .map(|i| random_ref(rng, below, &format!("u{i}")))
                .collect();
            let ids = [[0, 1, 2], [7, 3, 127], [5, 100, 1]];
            let ids = ids.choose(rng).unwrap()[..n].to_vec();
            let mode = *[UnionMode::Sparse, UnionMode::Dense].choose(rng).unwrap();
            ArrowType::Union(UnionFields::try_new(ids, fields).unwrap(), mode)
        }
        10 => {
            let value = random_type(rng, below);
            ArrowType::Dictionary(Box::new(random_key(rng)), Box::new(value))
        }
        _ => {
            let ends = [ArrowType::Int16, ArrowType::Int32, ArrowType::Int64];
            let ends = Field::new("ends", ends.choose(rng).unwrap().clone(), false);
            ArrowType::RunEndEncoded(Arc::new(ends), random_ref(rng, below, "run values"))
        }
    }
}

pub(super) fn random_field(rng: &mut StdRng, depth: u32, name: &str) -> Field {
    let data_type = random_type(rng, depth);
    let nullable = has_hidden_nulls(&data_type) || rng.random_bool(0.7);
    let field = Field::new(name, data_type, nullable);
    if rng.random_bool(0.2) {
        return field.with_metadata(HashMap::from([("meta".into(), "data".into())]));
    }
    field
}

/// Returns whether values are unions, possibly in dictionaries and runs.
fn is_union(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Union(..) => true,
        ArrowType::Dictionary(_, value) => is_union(value),
        ArrowType::RunEndEncoded(_, values) => is_union(values.data_type()),
        _ => false,
    }
}

/// Returns whether a column of that type may have nulls although it has no nulls of its own.
fn has_hidden_nulls(data_type: &ArrowType) -> bool {
    let of_field = |f: &Field| f.is_nullable() || has_hidden_nulls(f.data_type());
    match data_type {
        ArrowType::Null => true,
        ArrowType::Dictionary(_, value) => has_hidden_nulls(value),
        ArrowType::RunEndEncoded(_, values) => of_field(values),
        ArrowType::Union(variants, _) => variants.iter().any(|(_, f)| of_field(f)),
        _ => false,
    }
}

fn random_ref(rng: &mut StdRng, depth: u32, name: &str) -> FieldRef {
    Arc::new(random_field(rng, depth, name))
}

fn random_key(rng: &mut StdRng) -> ArrowType {
    use ArrowType::*;
    let keys = [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64];
    keys.choose(rng).unwrap().clone()
}

pub(super) fn leaf_types() -> Vec<ArrowType> {
    use ArrowType::*;
    let mut types = vec![
        Null,
        Boolean,
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Date32,
        Date64,
        Time32(TimeUnit::Second),
        Time32(TimeUnit::Millisecond),
        Time64(TimeUnit::Microsecond),
        Time64(TimeUnit::Nanosecond),
        Interval(IntervalUnit::YearMonth),
        Interval(IntervalUnit::DayTime),
        Interval(IntervalUnit::MonthDayNano),
        Binary,
        LargeBinary,
        BinaryView,
        Utf8,
        LargeUtf8,
        Utf8View,
        FixedSizeBinary(0),
        FixedSizeBinary(5),
        FixedSizeBinary(16),
        Decimal32(4, 2),
        Decimal64(9, -3),
        Decimal64(17, 17),
        Decimal128(8, 0),
        Decimal128(18, 5),
        Decimal128(38, 10),
        Decimal256(3, 1),
        Decimal256(30, 1),
        Decimal256(76, -9),
    ];
    for unit in [
        TimeUnit::Second,
        TimeUnit::Millisecond,
        TimeUnit::Microsecond,
        TimeUnit::Nanosecond,
    ] {
        types.push(Timestamp(unit, None));
        types.push(Timestamp(unit, Some("Europe/Oslo".into())));
        types.push(Duration(unit));
    }
    types
}

fn random_leaf(rng: &mut StdRng) -> ArrowType {
    let leaf = leaf_types().choose(rng).unwrap().clone();
    match rng.random_range(0..8) {
        0 => ArrowType::Dictionary(Box::new(random_key(rng)), Box::new(leaf)),
        _ => leaf,
    }
}

fn random_nulls(rng: &mut StdRng, nullable: bool, len: usize) -> Option<NullBuffer> {
    let share = *[0.0, 0.1, 0.6, 1.0].choose(rng).unwrap();
    if !nullable || share == 0.0 {
        return None;
    }
    let bits = BooleanBuffer::from_iter((0..len).map(|_| !rng.random_bool(share)));
    Some(NullBuffer::new(bits))
}

/// Returns an array of the field, often a slice of a longer one.
pub(super) fn random_array(rng: &mut StdRng, field: &Field, len: usize) -> ArrayRef {
    if rng.random_bool(0.5) {
        return whole_array(rng, field, len);
    }
    let (before, after) = (rng.random_range(0..9), rng.random_range(0..9));
    whole_array(rng, field, before + len + after).slice(before, len)
}

fn whole_array(rng: &mut StdRng, field: &Field, len: usize) -> ArrayRef {
    let nulls = random_nulls(rng, field.is_nullable(), len);
    match field.data_type() {
        ArrowType::Null => Arc::new(NullArray::new(len)),
        ArrowType::Boolean => {
            let bits = BooleanBuffer::from_iter((0..len).map(|_| rng.random_bool(0.5)));
            Arc::new(BooleanArray::new(bits, nulls))
        }
        text if text.is_string() => random_text(rng, text, len, nulls),
        ArrowType::FixedSizeBinary(0) => {
            let values = Buffer::from_vec(Vec::<u8>::new());
            Arc::new(FixedSizeBinaryArray::try_new_with_len(0, values, nulls, len).unwrap())
        }
        ArrowType::FixedSizeBinary(n) => {
            let width = usize::try_from(*n).unwrap();
            let values = Buffer::from_vec(random_fixed(rng, width, len));
            Arc::new(FixedSizeBinaryArray::new(*n, values, nulls))
        }
        binary if binary.is_binary() => {
            let pool = random_bytes_pool(rng);
            let values: Vec<_> = (0..len).map(|_| pool.choose(rng).unwrap()).collect();
            let array = BinaryArray::from_iter_values(values);
            let (offsets, values, _) = array.into_parts();
            let array = BinaryArray::new(offsets, values, nulls);
            arrow_cast::cast(&array, binary).unwrap()
        }
        ArrowType::List(item) => {
            let (offsets, values) = random_lists(rng, item, len);
            Arc::new(ListArray::new(item.clone(), offsets, values, nulls))
        }
        ArrowType::LargeList(item) => {
            let (offsets, values) = random_lists(rng, item, len);
            let offsets: Vec<i64> = offsets.iter().map(|o| i64::from(*o)).collect();
            let offsets = OffsetBuffer::new(offsets.into());
            Arc::new(LargeListArray::new(item.clone(), offsets, values, nulls))
        }
        ArrowType::ListView(item) => {
            let (offsets, sizes, values) = random_views(rng, item, len);
            Arc::new(ListViewArray::new(
                item.clone(),
                offsets.into(),
                sizes.into(),
                values,
                nulls,
            ))
        }
        ArrowType::LargeListView(item) => {
            let (offsets, sizes, values) = random_views(rng, item, len);
            let wide = |v: Vec<i32>| v.into_iter().map(i64::from).collect::<ScalarBuffer<i64>>();
            Arc::new(LargeListViewArray::new(
                item.clone(),
                wide(offsets),
                wide(sizes),
                values,
                nulls,
            ))
        }
        ArrowType::FixedSizeList(item, size) => {
            let n = usize::try_from(*size).unwrap();
            let values = random_array(rng, item, n * len);
            let array =
                FixedSizeListArray::try_new_with_length(item.clone(), *size, values, nulls, len);
            Arc::new(array.unwrap())
        }
        ArrowType::Struct(members) => {
            let arrays = members.iter().map(|m| random_array(rng, m, len)).collect();
            let array = StructArray::try_new_with_length(members.clone(), arrays, nulls, len);
            Arc::new(array.unwrap())
        }
        ArrowType::Map(entries, sorted) => {
            let (offsets, values) = random_lists(rng, entries, len);
            let entries_array = values.as_struct().clone();
            let (entries, sorted) = (entries.clone(), *sorted);
            Arc::new(MapArray::new(
                entries,
                offsets,
                entries_array,
                nulls,
                sorted,
            ))
        }
        ArrowType::Union(fields, mode) => random_union(rng, fields, *mode, len),
        ArrowType::Dictionary(key, value) => {
            let n = rng.random_range(1..9);
            let value = Field::new("", value.as_ref().clone(), field.is_nullable());
            let values = random_array(rng, &value, n);
            let n = u8::try_from(n).unwrap();
            let keys = (0..len).map(|_| rng.random_range(0..n));
            let keys: UInt8Array = keys.collect::<Vec<_>>().into();
            // A null key has no counterpart among unions, so a dictionary of unions has none.
            let nulls = nulls.filter(|_| !is_union(value.data_type()));
            let keys = UInt8Array::new(keys.values().clone(), nulls);
            let keys = arrow_cast::cast(&keys, key).unwrap();
            let data = keys.to_data().into_builder();
            let data = data
                .data_type(field.data_type().clone())
                .add_child_data(values.to_data());
            make_array(data.build().unwrap())
        }
        ArrowType::RunEndEncoded(ends, values) => {
            let mut run_ends = vec![];
            while run_ends.last().is_none_or(|e| *e < len) && len > 0 {
                let last = run_ends.last().copied().unwrap_or(0);
                run_ends.push(last + rng.random_range(1..6));
            }
            let array = random_array(rng, values, run_ends.len());
            let run_ends: Int64Array = run_ends
                .iter()
                .map(|e| *e as i64)
                .collect::<Vec<_>>()
                .into();
            let run_ends = arrow_cast::cast(&run_ends, ends.data_type()).unwrap();
            let data = ArrayData::builder(field.data_type().clone())
                .len(len)
                .add_child_data(run_ends.to_data())
                .add_child_data(array.to_data());
            make_array(data.build().unwrap())
        }
        decimal if decimal.is_decimal() => random_decimal(rng, decimal, len, nulls),
        primitive => {
            let width = primitive.primitive_width().unwrap();
            let data = ArrayData::builder(primitive.clone())
                .len(len)
                .add_buffer(Buffer::from_vec(random_fixed(rng, width, len)))
                .align_buffers(true)
                .nulls(nulls);
            make_array(data.build().unwrap())
        }
    }
}

/// Returns values with many equal ones.
fn random_fixed(rng: &mut StdRng, width: usize, len: usize) -> Vec<u8> {
    let mut pool = vec![vec![0; width]; rng.random_range(1..12)];
    pool.iter_mut().skip(1).for_each(|v| rng.fill_bytes(v));
    (0..len)
        .flat_map(|_| pool.choose(rng).unwrap().clone())
        .collect()
}

fn random_decimal(
    rng: &mut StdRng,
    decimal: &ArrowType,
    len: usize,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let (precision, width) = match decimal {
        ArrowType::Decimal32(p, _) => (*p, 4),
        ArrowType::Decimal64(p, _) => (*p, 8),
        ArrowType::Decimal128(p, _) => (*p, 16),
        ArrowType::Decimal256(p, _) => (*p, 32),
        other => panic!("{other}"),
    };
    let limit = 10i128.pow(u32::from(precision.min(38))) - 1;
    let mut bytes = Vec::new();
    for i in 0..len {
        let value = match rng.random_range(0..4) {
            0 => limit,
            1 => -limit,
            _ => rng.random_range(-limit..=limit),
        };
        // A value hidden under a null may exceed its precision.
        let hidden = nulls.as_ref().is_some_and(|n| n.is_null(i));
        let fill = if value < 0 { 0xFF } else { 0 };
        let mut wide = [fill; 32];
        wide[..16].copy_from_slice(&value.to_le_bytes());
        if hidden {
            wide = [0x7A; 32];
        }
        bytes.extend_from_slice(&wide[..width]);
    }
    let data = ArrayData::builder(decimal.clone())
        .len(len)
        .add_buffer(Buffer::from_vec(bytes))
        .align_buffers(true)
        .nulls(nulls);
    make_array(data.build().unwrap())
}

fn random_bytes_pool(rng: &mut StdRng) -> Vec<Vec<u8>> {
    let n = rng.random_range(1..9);
    (0..n)
        .map(|_| {
            let len = *[0, 1, 5, 12, 13, 40].choose(rng).unwrap();
            let mut bytes = vec![0; len];
            rng.fill_bytes(&mut bytes);
            bytes
        })
        .collect()
}

fn random_text(
    rng: &mut StdRng,
    text: &ArrowType,
    len: usize,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let words = [
        "",
        "a",
        "é",
        "twelve bytes",
        "thirteen bytes",
        "日本語の長い文字列です",
    ];
    let values = (0..len).map(|_| *words.choose(rng).unwrap());
    let (offsets, values, _) = StringArray::from_iter_values(values).into_parts();
    let array = StringArray::new(offsets, values, nulls);
    arrow_cast::cast(&array, text).unwrap()
}

fn random_lists(rng: &mut StdRng, item: &Field, len: usize) -> (OffsetBuffer<i32>, ArrayRef) {
    let mut offsets = vec![rng.random_range(0..3)];
    for _ in 0..len {
        let last = *offsets.last().unwrap();
        offsets.push(last + rng.random_range(0..4));
    }
    let end = usize::try_from(*offsets.last().unwrap()).unwrap() + rng.random_range(0..3);
    let values = random_array(rng, item, end);
    (OffsetBuffer::new(offsets.into()), values)
}

fn random_views(rng: &mut StdRng, item: &Field, len: usize) -> (Vec<i32>, Vec<i32>, ArrayRef) {
    let n = rng.random_range(0..20);
    let (mut offsets, mut sizes) = (Vec::new(), Vec::new());
    for _ in 0..len {
        let offset = rng.random_range(0..=n);
        offsets.push(offset);
        sizes.push(rng.random_range(0..=(n - offset).min(4)));
    }
    let values = random_array(rng, item, usize::try_from(n).unwrap());
    (offsets, sizes, values)
}

fn random_union(rng: &mut StdRng, fields: &UnionFields, mode: UnionMode, len: usize) -> ArrayRef {
    let ids: Vec<i8> = fields.iter().map(|(id, _)| id).collect();
    let type_ids: Vec<i8> = (0..len).map(|_| *ids.choose(rng).unwrap()).collect();
    let mut lens: HashMap<i8, usize> = ids.iter().map(|id| (*id, len)).collect();
    let mut offsets = None;
    if mode == UnionMode::Dense {
        lens.values_mut().for_each(|l| *l = rng.random_range(1..12));
        let in_order = rng.random_bool(0.5);
        let mut next: HashMap<i8, usize> = HashMap::new();
        let of = |id: &i8| {
            let next = next.entry(*id).or_insert(0);
            *next += 1;
            match in_order {
                true => *next - 1,
                false => rng.random_range(0..lens[id]),
            }
        };
        let positions: Vec<usize> = type_ids.iter().map(of).collect();
        if in_order {
            lens.iter_mut()
                .for_each(|(id, l)| *l += next.get(id).copied().unwrap_or(0));
        }
        let positions = positions.iter().map(|p| i32::try_from(*p).unwrap());
        offsets = Some(positions.collect::<ScalarBuffer<i32>>());
    }
    let children = fields.iter().map(|(id, f)| random_array(rng, f, lens[&id]));
    let children = children.collect();
    let array = UnionArray::try_new(fields.clone(), type_ids.into(), offsets, children);
    Arc::new(array.unwrap())
}
