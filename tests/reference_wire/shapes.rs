//! Compares the blocks of every leaf type in every shape with the blocks that the reference decodes.

use crate::common::equal::assert_equal;
use crate::shard::{self, Exceptions};
use crate::support::{collect, opened, written};
use crate::{PROFILES, files_of, golden};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, Int64Array, RecordBatch, UInt32Array};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use arrow_select::take::take;
use arrow_shard::Shard;
use arrow_shard::metadata::{TypeMapping, Wire};
use arrow_shard::read::inspect::{BufferKind, FieldInfo, InspectOptions};
use arrow_shard::write::{Profile, WriterOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Values of a block, unless the values are long.
const BLOCK: u32 = 8192;
/// Distinct values of a column.
const POOL: u32 = 20_000;

/// Returns a pseudo-random number of a value in the pool.
fn noise(i: u32) -> u32 {
    i.wrapping_mul(2_654_435_761) % POOL
}

/// A name, the number of rows, and the value of each row by its number; `None` is null.
type Shape = (&'static str, u32, fn(u32) -> Option<u32>);

const SHAPES: &[Shape] = &[
    ("one row", 1, |_| Some(7)),
    ("one null", 1, |_| None),
    ("seven rows", 7, |i| Some(noise(i))),
    ("a block", BLOCK, |i| Some(noise(i))),
    ("one row left over", BLOCK + 1, |i| Some(noise(i))),
    ("one null left over", BLOCK + 1, |i| {
        (i < BLOCK).then(|| noise(i))
    }),
    ("a block of equal values", 2 * BLOCK, |i| {
        Some(if i < BLOCK { noise(i) } else { 9 })
    }),
    ("a block of equal values first", 2 * BLOCK + 1, |i| {
        Some(if i < BLOCK { 9 } else { noise(i) })
    }),
    ("a block of zeros", 2 * BLOCK, |i| {
        Some(if i < BLOCK { noise(i) } else { 0 })
    }),
    ("a block of nulls", 2 * BLOCK, |i| {
        (i < BLOCK).then(|| noise(i))
    }),
    ("a block of nulls first", 2 * BLOCK, |i| {
        (i >= BLOCK).then(|| noise(i))
    }),
    ("a block of one value and nulls", 2 * BLOCK, |i| {
        if i < BLOCK {
            Some(noise(i))
        } else {
            (i % 3 > 0).then_some(9)
        }
    }),
    ("a single null in a block", 2 * BLOCK, |i| {
        (i != BLOCK + 17).then(|| noise(i))
    }),
    ("a single value in a block", 2 * BLOCK, |i| {
        (i < BLOCK || i == BLOCK + 17).then(|| noise(i))
    }),
    ("a run for each block", 3 * BLOCK, |i| Some(i / BLOCK)),
    ("short runs", BLOCK + 1, |i| Some(i / 20)),
    ("two values", BLOCK + 1, |i| Some(noise(i) % 2)),
    ("ascending", BLOCK + 1, |i| Some(i)),
    ("mostly one value", BLOCK + 1, |i| {
        Some(if i % 400 == 0 { noise(i) } else { 3 })
    }),
    ("nulls here and there", BLOCK + 1, |i| {
        (!noise(i).is_multiple_of(5)).then(|| noise(i))
    }),
];

/// Returns columns of `POOL` values, most of them distinct.
fn pools() -> Vec<(Field, ArrayRef)> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..i64::from(POOL)));
    let plain = |data_type: DataType| {
        let narrow = matches!(
            data_type,
            DataType::Int8 | DataType::UInt8 | DataType::Float16 | DataType::Boolean
        );
        let values: ArrayRef = if narrow {
            Arc::new(Int64Array::from_iter_values(
                (0..i64::from(POOL)).map(|i| i % 101),
            ))
        } else {
            numbers.clone()
        };
        let name = data_type.to_string();
        let values = cast(&values, &data_type).unwrap();
        (Field::new(name, data_type, true), values)
    };
    let fixed = |width: usize, label: Option<&str>| {
        let mut bytes = vec![0; POOL as usize * width];
        for (i, value) in bytes.chunks_exact_mut(width).enumerate() {
            let number = u32::try_from(i).unwrap().to_le_bytes();
            let used = width.min(3);
            value[..used].copy_from_slice(&number[..used]);
        }
        let width = i32::try_from(width).unwrap();
        let values = FixedSizeBinaryArray::try_new(width, bytes.into(), None).unwrap();
        let name = label.map_or_else(|| format!("bytes{width}"), str::to_owned);
        let mut field = Field::new(name, values.data_type().clone(), true);
        if let Some(label) = label {
            let metadata = [("ARROW:extension:name".to_owned(), label.to_owned())];
            field = field.with_metadata(metadata.into());
        }
        (field, Arc::new(values) as ArrayRef)
    };
    let texts = |data_type: DataType| {
        let text = |i: u32| match i {
            0 => String::new(),
            _ => format!("value {} of many, and {}", i, i % 7),
        };
        let values: ArrayRef = Arc::new(arrow_array::StringArray::from_iter_values(
            (0..POOL).map(text),
        ));
        let name = data_type.to_string();
        let values = cast(&values, &data_type).unwrap();
        (Field::new(name, data_type, true), values)
    };
    let decimal = |data_type: DataType| {
        let name = data_type.to_string();
        let values = cast(&numbers, &data_type).unwrap();
        (Field::new(name, data_type, true), values)
    };
    let mut pools: Vec<(Field, ArrayRef)> = [
        DataType::Boolean,
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::UInt8,
        DataType::UInt16,
        DataType::UInt32,
        DataType::UInt64,
        DataType::Float16,
        DataType::Float32,
        DataType::Float64,
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Duration(TimeUnit::Second),
    ]
    .map(plain)
    .into();
    pools.extend([DataType::Utf8, DataType::Binary, DataType::Utf8View].map(texts));
    pools.extend([DataType::Decimal128(20, 2), DataType::Decimal256(30, 1)].map(decimal));
    pools.extend([fixed(1, None), fixed(5, None), fixed(16, None)]);
    pools.push(fixed(16, Some("arrow.uuid")));
    pools
}

/// The outermost encodings of blocks, by the kind of their values.
type Seen = BTreeMap<&'static str, BTreeSet<String>>;

/// Records the encodings of the blocks of fields.
fn note(fields: &[FieldInfo], seen: &mut Seen) {
    for field in fields {
        for buffer in &field.buffers {
            // Bits, codes and offsets are blocks of unsigned numbers.
            let is_coded = field.dictionary_size.is_some();
            let kind = match (buffer.kind, field.stored_type.as_str()) {
                (BufferKind::Data, stored) if !is_coded => match stored {
                    _ if stored.starts_with("Int") => "signed numbers",
                    _ if stored.starts_with("Float") => "floats",
                    _ if stored.starts_with("Fixed") || stored.starts_with("Guid") => {
                        "values of a fixed size"
                    }
                    _ if stored.starts_with("String") || stored.starts_with("Bin") => {
                        "values of any size"
                    }
                    _ => "unsigned numbers",
                },
                _ => "unsigned numbers",
            };
            let blocks = buffer.blocks.as_ref();
            let codes = blocks.into_iter().flat_map(|blocks| &blocks.encodings);
            let codes = codes.map(|count| count.code.to_string());
            seen.entry(kind).or_default().extend(codes);
        }
        note(&field.children, seen);
    }
}

fn note_all(shard: &Shard, seen: &mut Seen) {
    let info = shard.inspect(InspectOptions::default()).unwrap();
    for stripe in &info.stripes {
        note(&stripe.fields, seen);
    }
}

#[test]
fn every_shape_of_a_block_has_an_encoding_that_its_type_is_read_with() {
    let pools = pools();
    let fields: Vec<Field> = pools.iter().map(|(field, _)| field.clone()).collect();
    let schema = Arc::new(Schema::new(fields));
    let mut seen = Seen::new();
    for (name, rows, value) in SHAPES {
        let places: UInt32Array = (0..*rows).map(value).collect();
        let columns = pools
            .iter()
            .map(|(_, pool)| take(pool, &places, None).unwrap());
        let batch = RecordBatch::try_new(schema.clone(), columns.collect()).unwrap();
        for profile in PROFILES {
            let mappings: &[TypeMapping] = match profile {
                Profile::Balanced => &[TypeMapping::Amudai, TypeMapping::Lossless],
                _ => &[TypeMapping::Amudai],
            };
            for &mapping in mappings {
                let context = format!("{name}, {mapping:?}, {profile:?}");
                let options = WriterOptions::default()
                    .with_wire(Wire::Reference)
                    .with_mapping(mapping)
                    .with_profile(*profile);
                let folder = written(&schema, std::slice::from_ref(&batch), options).unwrap();
                if let Err(e) = shard::check(&files_of(&folder), Exceptions::default()) {
                    panic!("{context}: {e}");
                }
                let shard = opened(&folder).unwrap();
                note_all(&shard, &mut seen);
                if *profile == Profile::Balanced {
                    assert_equal(&batch, &collect(shard.scan().build().unwrap()).unwrap());
                }
            }
        }
    }
    // Equal values were planned as LZ4 and Zstandard.
    let fixed = &seen["values of a fixed size"];
    assert!(fixed.contains("LZ4 (17)"), "{fixed:?}");
    // The reference can read the shards that it wrote.
    let mut known = Seen::new();
    for path in golden() {
        note_all(&Shard::open(&path).unwrap(), &mut known);
    }
    if known.is_empty() {
        return;
    }
    // The reference never writes SingleValue as the outermost encoding, because a column of one value is a constant. It
    // decodes such a block like the nested ones in Delta and RunLength, and texts of one value by their offsets.
    for kind in [
        "floats",
        "signed numbers",
        "unsigned numbers",
        "values of any size",
    ] {
        known
            .entry(kind)
            .or_default()
            .insert("SingleValue (7)".into());
    }
    let mut unknown = Vec::new();
    for (kind, codes) in &seen {
        let known = known.get(kind).cloned().unwrap_or_default();
        let codes = codes.difference(&known);
        unknown.extend(codes.map(|code| format!("{code} of {kind}")));
    }
    assert_eq!(unknown, [""; 0]);
}
