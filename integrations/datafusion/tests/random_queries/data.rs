//! Creates tables of random rows, in files and in memory.

use crate::common::{FileOptions, Format};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    Float32Array, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    StringViewArray, StructArray, TimestampMicrosecondArray, UInt8Array, UInt64Array, make_array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::{
    SortColumn, SortOptions, concat_batches, lexsort_to_indices, take_record_batch,
};
use arrow::datatypes::{DataType, Field, Fields, Int32Type, Schema, SchemaRef, TimeUnit};
use arrow_shard::metadata::SortingColumn;
use arrow_shard::write::Profile;
use datafusion::datasource::MemTable;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use std::path::Path;
use std::sync::Arc;

/// Words of texts: some share prefixes, some are not ASCII, and one contains wildcards of LIKE.
pub(crate) const WORDS: [&str; 12] = [
    "",
    "a",
    "ab",
    "abc",
    "abd",
    "b",
    "Oslo",
    "Lima",
    "Zürich",
    "東京",
    "50%_off",
    "a much longer text",
];

/// The first date, in days since 1970; the first time is in microseconds.
pub(crate) const FIRST_DAY: i32 = 19_000;
pub(crate) const FIRST_TIME: i64 = 1_700_000_000_000_000;

/// The distribution of the values of a table.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// Whether values grow with the row number, so stripes have different bounds.
    grows: bool,
    nulls: f64,
}

/// Returns rows of a table, with unique, ascending ids from `first`.
fn batch(rng: &mut StdRng, shape: Shape, first: i64, rows: usize) -> RecordBatch {
    let ids: Vec<i64> = (first..).take(rows).collect();
    let near = |rng: &mut StdRng, id: i64, most: i64| {
        if shape.grows {
            id / 8 + rng.random_range(0..4)
        } else {
            rng.random_range(0..most)
        }
    };
    macro_rules! column {
        ($array:ty, |$rng:ident, $id:ident| $value:expr) => {{
            let values = ids.iter().map(|&$id| {
                let $rng = &mut *rng;
                (!$rng.random_bool(shape.nulls)).then(|| $value)
            });
            let array: $array = values.collect();
            array
        }};
    }
    let i = column!(Int32Array, |rng, id| near(rng, id, 100) as i32 - 20);
    let k = column!(Int64Array, |rng, _id| [
        0,
        1,
        7,
        i64::MIN,
        i64::MAX,
        1 << 53
    ][rng.random_range(0..6)]);
    let u = column!(UInt8Array, |rng, _id| rng.random_range(0..=255u8));
    let f = column!(Float64Array, |rng, id| match rng.random_range(0..12) {
        0 => f64::NAN,
        1 => -0.0,
        2 => 0.0,
        3 => f64::INFINITY,
        4 => f64::NEG_INFINITY,
        _ => near(rng, id, 100) as f64 / 4.0,
    });
    let r = column!(Float32Array, |rng, id| match rng.random_range(0..9) {
        0 => f32::NAN,
        _ => near(rng, id, 50) as f32 * 0.5,
    });
    let m = column!(Decimal128Array, |rng, id| i128::from(near(rng, id, 500))
        * 25
        - 1000)
    .with_precision_and_scale(12, 2)
    .unwrap();
    let s = column!(StringViewArray, |rng, _id| *WORDS.choose(rng).unwrap());
    let v = column!(StringArray, |rng, id| format!(
        "{}{}",
        WORDS.choose(rng).unwrap(),
        near(rng, id, 1000)
    ));
    let names = column!(StringArray, |rng, _id| *WORDS[..6].choose(rng).unwrap());
    let d: DictionaryArray<Int32Type> = names.iter().collect();
    let b = column!(BooleanArray, |rng, _id| rng.random_bool(0.3));
    let t = column!(TimestampMicrosecondArray, |rng, id| FIRST_TIME
        + near(rng, id, 1000) * 1_500_000);
    let y = column!(Date32Array, |rng, id| FIRST_DAY + near(rng, id, 60) as i32);
    let x = column!(Float64Array, |rng, id| near(rng, id, 10) as f64);
    let inner = StructArray::new(
        Fields::from(vec![Field::new("x", DataType::Float64, true)]),
        vec![Arc::new(x)],
        nulls(rng, shape, rows),
    );
    let a = column!(Int32Array, |rng, id| near(rng, id, 30) as i32);
    let w = column!(StringArray, |rng, _id| *WORDS.choose(rng).unwrap());
    let fields = Fields::from(vec![
        Field::new("a", DataType::Int32, true),
        Field::new("b", DataType::Utf8, true),
        Field::new("c", inner_type(), true),
    ]);
    let members: Vec<ArrayRef> = vec![Arc::new(a), Arc::new(w), Arc::new(inner)];
    let o = StructArray::new(fields, members, nulls(rng, shape, rows));
    let lists = (0..rows).map(|_| {
        (!rng.random_bool(shape.nulls)).then(|| {
            let len = rng.random_range(0..4);
            (0..len)
                .map(|_| Some(rng.random_range(0..9)))
                .collect::<Vec<_>>()
        })
    });
    let l = ListArray::from_iter_primitive::<Int32Type, _, _>(lists.collect::<Vec<_>>());
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(ids)),
        Arc::new(i),
        Arc::new(k),
        Arc::new(u),
        Arc::new(f),
        Arc::new(r),
        Arc::new(m),
        Arc::new(s),
        Arc::new(v),
        Arc::new(d),
        Arc::new(b),
        Arc::new(t),
        Arc::new(y),
        Arc::new(o),
        Arc::new(l),
    ];
    RecordBatch::try_new(schema(), columns).unwrap()
}

fn nulls(rng: &mut StdRng, shape: Shape, rows: usize) -> Option<NullBuffer> {
    let valid: Vec<bool> = (0..rows).map(|_| !rng.random_bool(shape.nulls)).collect();
    Some(NullBuffer::from(valid))
}

fn inner_type() -> DataType {
    DataType::Struct(Fields::from(vec![Field::new("x", DataType::Float64, true)]))
}

/// Returns the schema of the files.
fn schema() -> SchemaRef {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let members = DataType::Struct(Fields::from(vec![
        Field::new("a", DataType::Int32, true),
        Field::new("b", DataType::Utf8, true),
        Field::new("c", inner_type(), true),
    ]));
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int32, true)));
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("i", DataType::Int32, true),
        Field::new("k", DataType::Int64, true),
        Field::new("u", DataType::UInt8, true),
        Field::new("f", DataType::Float64, true),
        Field::new("r", DataType::Float32, true),
        Field::new("m", DataType::Decimal128(12, 2), true),
        Field::new("s", DataType::Utf8View, true),
        Field::new("v", DataType::Utf8, true),
        Field::new("d", dictionary, true),
        Field::new("b", DataType::Boolean, true),
        Field::new("t", DataType::Timestamp(TimeUnit::Microsecond, None), true),
        Field::new("y", DataType::Date32, true),
        Field::new("o", members, true),
        Field::new("l", list, true),
    ]))
}

/// Columns that files are sorted by, before `id`.
pub(crate) const SORTED: [&str; 6] = ["i", "k", "m", "s", "t", "y"];

/// Returns an order in which no two rows are equal.
fn order(rng: &mut StdRng) -> Vec<SortingColumn> {
    let first = SORTED.choose(rng).filter(|_| rng.random_bool(0.7));
    let by = |path: &&str| SortingColumn {
        path: (*path).to_owned(),
        descending: rng.random_bool(0.5),
        nulls_first: rng.random_bool(0.5),
    };
    first.into_iter().chain([&"id"]).map(by).collect()
}

fn sorted(batch: &RecordBatch, order: &[SortingColumn]) -> RecordBatch {
    let column = |by: &SortingColumn| SortColumn {
        values: batch[by.path.as_str()].clone(),
        options: Some(SortOptions {
            descending: by.descending,
            nulls_first: by.nulls_first,
        }),
    };
    let columns: Vec<_> = order.iter().map(column).collect();
    let rows = lexsort_to_indices(&columns, None).unwrap();
    take_record_batch(batch, &rows).unwrap()
}

/// Writes a table to several files in each of the folders `p=...`, and returns the same rows in memory.
pub(crate) fn table(format: Format, folder: &Path, seed: u64, rows: usize) -> MemTable {
    let rng = &mut StdRng::seed_from_u64(seed);
    let shape = Shape {
        grows: rng.random_bool(0.6),
        nulls: *[0.0, 0.1, 0.6].choose(rng).unwrap(),
    };
    let profiles = [
        Profile::Plain,
        Profile::Fast,
        Profile::Balanced,
        Profile::Balanced,
        Profile::HighCompression,
        Profile::MinimalSize,
    ];
    let mut with_partitions = schema().fields().to_vec();
    with_partitions.push(Arc::new(Field::new("p", DataType::Utf8, true)));
    let table_schema = Arc::new(Schema::new(with_partitions));
    let order = order(rng);
    let mut in_memory = Vec::new();
    let mut first = 0;
    for partition in ["north", "south", "x y"] {
        let folder = folder.join(format!("p={partition}"));
        std::fs::create_dir_all(&folder).unwrap();
        for file in 0..rng.random_range(1..4) {
            let rows = rng.random_range(0..=rows);
            let is_sorted = rng.random_bool(0.8);
            let mut batch = batch(rng, shape, first, rows);
            if is_sorted {
                batch = sorted(&batch, &order);
            }
            first += rows as i64;
            let options = FileOptions {
                profile: *profiles.choose(rng).unwrap(),
                stripe_rows: rng.random_range(20..=rows.max(20) as u64),
                sorting_columns: if is_sorted { order.clone() } else { Vec::new() },
            };
            let path = folder.join(format!("{file}.{}", format.extension()));
            let written = match rows {
                0 => vec![],
                _ => vec![
                    batch.slice(0, rows / 3),
                    batch.slice(rows / 3, rows - rows / 3),
                ],
            };
            format.write(&path, &schema(), &written, &options);
            let left = match format {
                Format::Shard if rng.random_bool(0.4) => delete(rng, &path, &batch),
                _ => batch,
            };
            let mut columns: Vec<ArrayRef> = left.columns().iter().map(visible).collect();
            columns.push(Arc::new(StringArray::from(vec![
                partition;
                left.num_rows()
            ])));
            in_memory.push(RecordBatch::try_new(table_schema.clone(), columns).unwrap());
        }
    }
    let all = concat_batches(&table_schema, &in_memory).unwrap();
    MemTable::try_new(table_schema, vec![vec![all]]).unwrap()
}

/// Returns a column with null members wherever a struct is null. DataFusion returns members without the nulls of the
/// struct, and the values below a null are not part of a table.
fn visible(column: &ArrayRef) -> ArrayRef {
    let Some(structs) = column.as_struct_opt() else {
        return column.clone();
    };
    let hidden = structs.nulls().cloned();
    let members = structs.columns().iter().map(|member| {
        let nulls = NullBuffer::union(member.nulls(), hidden.as_ref());
        let data = member.to_data().into_builder().nulls(nulls);
        visible(&make_array(data.build().unwrap()))
    });
    let (fields, members) = (structs.fields().clone(), members.collect());
    Arc::new(StructArray::new(fields, members, hidden))
}

/// Deletes some rows of a shard, or a range of rows, and returns the remaining ones.
fn delete(rng: &mut StdRng, path: &Path, batch: &RecordBatch) -> RecordBatch {
    let mut rows: Vec<u64> = (0..batch.num_rows() as u64).collect();
    let deleted = rows.len() / rng.random_range(1..8);
    if rng.random_bool(0.5) {
        rows.shuffle(rng);
    }
    let mut left = rows.split_off(deleted);
    Format::Shard.delete_rows(path, &rows);
    left.sort_unstable();
    take_record_batch(batch, &UInt64Array::from(left)).unwrap()
}
