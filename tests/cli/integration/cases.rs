//! The cases of the integration tests of the Arrow project (`archery integration`), with types of the same names.

use super::values::Values;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{
    DataType as T, Field, Fields, IntervalUnit, Schema, TimeUnit, UnionFields, UnionMode,
};
use std::collections::HashMap;
use std::sync::Arc;

/// A table in batches.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) schema: Arc<Schema>,
    /// Rows of each batch.
    rows: Vec<usize>,
}

impl Case {
    fn new(name: &'static str, fields: Vec<Field>, rows: &[usize]) -> Self {
        Self {
            name,
            schema: Arc::new(Schema::new(fields)),
            rows: rows.to_vec(),
        }
    }

    /// Returns the batches, with the same dictionaries in all of them or with different ones in each.
    pub(super) fn batches(&self, replaced: bool) -> Vec<RecordBatch> {
        let rows = self.rows.iter().enumerate();
        let batches = rows.map(|(batch, rows)| {
            let batch = batch as u64;
            let mut values = Values::new(batch, if replaced { batch } else { 0 });
            let fields = self.schema.fields().iter();
            let columns = fields.map(|field| values.column(field, *rows)).collect();
            let rows = RecordBatchOptions::new().with_row_count(Some(*rows));
            RecordBatch::try_new_with_options(self.schema.clone(), columns, &rows).unwrap()
        });
        batches.collect()
    }
}

/// Returns a nullable and a non-nullable field of each type.
fn both(types: impl IntoIterator<Item = T>) -> Vec<Field> {
    let types = types.into_iter();
    let pairs = types.enumerate().flat_map(|(i, ty)| {
        let ty = &ty;
        [("nullable", true), ("nonnullable", false)]
            .map(|(word, nullable)| Field::new(format!("f{i}_{word}"), ty.clone(), nullable))
    });
    pairs.collect()
}

fn nullable(name: &str, ty: T) -> Field {
    Field::new(name, ty, true)
}

fn member(name: &str, ty: T) -> Arc<Field> {
    Arc::new(nullable(name, ty))
}

fn structure(members: &[(&str, T)]) -> T {
    let members = members.iter();
    T::Struct(members.map(|(name, ty)| member(name, ty.clone())).collect())
}

fn dictionary(key: T, entry: T) -> T {
    T::Dictionary(Box::new(key), Box::new(entry))
}

fn metadata(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn map(entries: &str, key: &str, value: &str) -> T {
    let members = Fields::from(vec![
        Field::new(key, T::Utf8, false),
        nullable(value, T::Int32),
    ]);
    T::Map(
        Arc::new(Field::new(entries, T::Struct(members), false)),
        false,
    )
}

fn primitive() -> Vec<Field> {
    both([
        T::Boolean,
        T::Int8,
        T::Int16,
        T::Int32,
        T::Int64,
        T::UInt8,
        T::UInt16,
        T::UInt32,
        T::UInt64,
        T::Float16,
        T::Float32,
        T::Float64,
        T::Binary,
        T::Utf8,
        T::LargeBinary,
        T::LargeUtf8,
        T::FixedSizeBinary(19),
        T::FixedSizeBinary(120),
        T::FixedSizeBinary(0),
    ])
}

fn datetime() -> Vec<Field> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let units = [Second, Millisecond, Microsecond, Nanosecond];
    let zones = [None, Some("America/New_York"), Some("UTC"), Some("+02:30")];
    let times = units
        .into_iter()
        .flat_map(|unit| zones.map(|zone: Option<&str>| T::Timestamp(unit, zone.map(Arc::from))));
    let days = [
        T::Date32,
        T::Date64,
        T::Time32(Second),
        T::Time32(Millisecond),
        T::Time64(Microsecond),
        T::Time64(Nanosecond),
    ];
    both(days.into_iter().chain(times))
}

fn unions() -> Vec<Field> {
    let union = |mode, variants: [(i8, T); 3]| {
        let variants = variants.into_iter();
        let fields = variants.map(|(id, ty)| (id, member(&format!("m{id}"), ty)));
        T::Union(UnionFields::from_iter(fields), mode)
    };
    let variants = || {
        [
            (5, T::Int32),
            (7, T::Utf8),
            (100, structure(&[("x", T::Int16)])),
        ]
    };
    vec![
        nullable("sparse", union(UnionMode::Sparse, variants())),
        nullable("dense", union(UnionMode::Dense, variants())),
        Field::new(
            "sparse_nonnullable",
            union(UnionMode::Sparse, variants()),
            false,
        ),
        Field::new(
            "dense_nonnullable",
            union(UnionMode::Dense, variants()),
            false,
        ),
        nullable(
            "list",
            T::List(member("item", union(UnionMode::Dense, variants()))),
        ),
    ]
}

fn nested() -> Vec<Field> {
    both([
        T::List(member("item", T::Int32)),
        T::FixedSizeList(member("item", T::Int32), 4),
        T::FixedSizeList(member("item", T::Utf8), 0),
        structure(&[("f1", T::Int32), ("f2", T::Utf8)]),
        T::Struct(Fields::empty()),
    ])
}

fn run_ends() -> Vec<Field> {
    let of = |ends: T, values: Field| {
        let ends = Field::new("run_ends", ends, false);
        T::RunEndEncoded(Arc::new(ends), Arc::new(values))
    };
    vec![
        nullable("ree16", of(T::Int16, nullable("values", T::Utf8))),
        nullable("ree32", of(T::Int32, nullable("values", T::Int32))),
        nullable("ree64", of(T::Int64, nullable("values", T::Float64))),
        nullable(
            "words",
            of(T::Int32, nullable("values", dictionary(T::Int8, T::Utf8))),
        ),
        Field::new(
            "full",
            of(T::Int32, Field::new("values", T::Int8, false)),
            false,
        ),
        nullable(
            "list",
            T::List(member(
                "item",
                of(T::Int32, nullable("values", T::Utf8View)),
            )),
        ),
    ]
}

fn extensions() -> Vec<Field> {
    let extension = |field: Field, name: &str, parameters: &str| {
        field.with_metadata(metadata(&[
            ("ARROW:extension:name", name),
            ("ARROW:extension:metadata", parameters),
        ]))
    };
    vec![
        extension(nullable("uuids", T::FixedSizeBinary(16)), "arrow.uuid", ""),
        extension(
            nullable("dict_exts", dictionary(T::Int8, T::Utf8)),
            "dict-extension",
            "dict-extension-serialized",
        ),
        extension(nullable("ours", T::Int64), "example.id", "{\"of\": 7}"),
    ]
}

/// Returns every case.
pub(super) fn all() -> Vec<Case> {
    let decimals = |digits: std::ops::RangeInclusive<u8>, ty: fn(u8, i8) -> T| {
        let fields = digits.map(|digits| nullable(&format!("f{digits}"), ty(digits, 2)));
        fields.collect::<Vec<_>>()
    };
    let durations = [
        TimeUnit::Second,
        TimeUnit::Millisecond,
        TimeUnit::Microsecond,
        TimeUnit::Nanosecond,
    ];
    let views = || T::ListView(member("item", T::Float32));
    let large_views = || T::LargeListView(member("item", T::Utf8));
    let ints = || nullable("ints", T::Int8);
    let pair = T::Struct(Fields::from(vec![ints(), nullable("ints", T::Int32)]));
    let word = || dictionary(T::Int8, T::Utf8);
    let mut all = vec![
        Case::new("primitive_no_batches", primitive(), &[]),
        Case::new("primitive", primitive(), &[17, 20]),
        Case::new("primitive_zerolength", primitive(), &[0, 0, 0]),
        Case::new(
            "primitive_with_empty_batches",
            primitive(),
            &[0, 9, 0, 1, 0],
        ),
        Case::new(
            "null",
            vec![
                nullable("f0", T::Null),
                nullable("f1", T::Int32),
                nullable("f2", T::Null),
            ],
            &[10, 0],
        ),
        Case::new("null_trivial", vec![nullable("f0", T::Null)], &[0]),
        Case::new("decimal32", decimals(3..=9, T::Decimal32), &[7, 10]),
        Case::new("decimal64", decimals(3..=18, T::Decimal64), &[7, 10]),
        Case::new("decimal128", decimals(3..=38, T::Decimal128), &[7, 10]),
        Case::new("decimal256", decimals(37..=76, T::Decimal256), &[7, 10]),
        Case::new("datetime", datetime(), &[7, 10]),
        Case::new("duration", both(durations.map(T::Duration)), &[7, 10]),
        Case::new(
            "interval",
            both([IntervalUnit::YearMonth, IntervalUnit::DayTime].map(T::Interval)),
            &[7, 10],
        ),
        Case::new(
            "interval_mdn",
            both([T::Interval(IntervalUnit::MonthDayNano)]),
            &[7, 10],
        ),
        Case::new("map", both([map("entries", "key", "value")]), &[7, 10]),
        Case::new(
            "map_non_canonical",
            vec![nullable(
                "map",
                map("some_entries", "some_key", "some_value"),
            )],
            &[7],
        ),
        Case::new("nested", nested(), &[7, 0, 10]),
        Case::new(
            "recursive_nested",
            vec![
                nullable(
                    "lists",
                    T::List(member("inner", T::List(member("item", T::Int16)))),
                ),
                nullable(
                    "structs",
                    T::List(member(
                        "item",
                        structure(&[("f1", T::Int32), ("f2", T::Utf8)]),
                    )),
                ),
            ],
            &[7, 10],
        ),
        Case::new(
            "nested_large_offsets",
            vec![
                nullable("large", T::LargeList(member("item", T::Int32))),
                Field::new("full", T::LargeList(member("item", T::Int32)), false),
                nullable(
                    "nested",
                    T::LargeList(member("inner", T::LargeList(member("item", T::Int16)))),
                ),
            ],
            &[0, 13],
        ),
        Case::new("union", unions(), &[0, 11]),
        Case::new(
            "duplicate_fieldnames",
            vec![ints(), nullable("ints", T::Int32), nullable("struct", pair)],
            &[7, 10],
        ),
        Case::new(
            "dictionary",
            vec![
                nullable("dict0", word()),
                nullable("dict1", dictionary(T::Int32, T::Utf8)),
                nullable("dict2", dictionary(T::Int16, T::Int64)),
                nullable("ordered", word()).with_dict_is_ordered(true),
            ],
            &[7, 10],
        ),
        Case::new(
            "dictionary_unsigned",
            vec![
                nullable("f0", dictionary(T::UInt8, T::Utf8)),
                nullable("f1", dictionary(T::UInt16, T::Utf8)),
                nullable("f2", dictionary(T::UInt32, T::Utf8)),
                nullable("f3", dictionary(T::UInt64, T::Utf8)),
            ],
            &[7, 10],
        ),
        Case::new(
            "nested_dictionary",
            vec![
                nullable("list_of_str", T::List(member("str_dict", word()))),
                nullable(
                    "dict0",
                    dictionary(T::Int8, T::List(member("str_dict", word()))),
                ),
                nullable(
                    "dict1",
                    dictionary(
                        T::Int16,
                        structure(&[("str_dict_a", word()), ("str_dict_b", word())]),
                    ),
                ),
            ],
            &[10, 13],
        ),
        Case::new("run_end_encoded", run_ends(), &[0, 7, 10]),
        Case::new(
            "binary_view",
            both([
                T::BinaryView,
                T::Utf8View,
                T::List(member("item", T::Utf8View)),
            ]),
            &[0, 7, 256],
        ),
        Case::new(
            "list_view",
            both([views(), large_views(), T::ListView(member("item", views()))]),
            &[0, 7, 256],
        ),
        Case::new("extension", extensions(), &[0, 13]),
        Case::new("no_columns", vec![], &[3, 0, 4]),
    ];
    let mut custom = Case::new(
        "custom_metadata",
        vec![
            nullable("sort_of_pandas", T::Int8).with_metadata(metadata(&[("pandas", "{}")])),
            nullable("lots_of_keys", T::Int8).with_metadata(metadata(&[
                ("a", "1"),
                ("b", "2"),
                ("", "ä"),
                ("c", ""),
            ])),
            nullable(
                "list",
                T::List(Arc::new(
                    nullable("item", T::Int8).with_metadata(metadata(&[("of", "items")])),
                )),
            ),
            nullable("unregistered_extension", T::Int8)
                .with_metadata(metadata(&[("ARROW:extension:name", "!nonexistent")])),
            nullable("no_metadata", T::Int8),
        ],
        &[7],
    );
    let schema = Schema::clone(&custom.schema);
    let pairs = metadata(&[("schema_custom_0", "eh"), ("schema_custom_1", "")]);
    custom.schema = Arc::new(schema.with_metadata(pairs));
    all.push(custom);
    all
}
