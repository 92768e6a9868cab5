//! Written data are read back unchanged: random schemas, data, options, layouts, sources, and ways to read.
//! `ARROW_SHARD_CASES=20` runs 20 times the default number of cases; a failure prints the command that repeats it.

use crate::cases::{Data, Pick, random_options, random_projection, random_source, text};
use crate::common::schemas::{Config, any_type, random_schema};
use crate::support::replay::run_cases;
use crate::support::{collect, request, written, written_bytes};
use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, RecordBatch, RecordBatchReader, StringArray,
    StringViewArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_shard::Shard;
use arrow_shard::metadata::{TypeMapping, Wire};
use arrow_shard::write::{Profile, WriterOptions};
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use std::sync::Arc;

/// The settings that all cases of one test share.
struct Kind {
    name: &'static str,
    cases: u64,
    config: Config,
    max_rows: usize,
    batches: usize,
    profiles: &'static [Profile],
}

const ALL: &[Profile] = &[
    Profile::Plain,
    Profile::Fast,
    Profile::Balanced,
    #[cfg(feature = "zstd")]
    Profile::HighCompression,
    #[cfg(feature = "zstd")]
    Profile::MinimalSize,
];

fn small() -> Config {
    Config {
        max_columns: 4,
        ..Config::default()
    }
}

#[test]
fn leaves() {
    let config = Config {
        max_depth: 0,
        ..Config::default()
    };
    run(&Kind {
        name: "leaves",
        cases: 600,
        config,
        max_rows: 3000,
        batches: 3,
        profiles: ALL,
    });
}

#[test]
fn nested_once_or_twice() {
    let config = Config {
        max_depth: 2,
        ..small()
    };
    run(&Kind {
        name: "nested_once_or_twice",
        cases: 1000,
        config,
        max_rows: 1500,
        batches: 3,
        profiles: ALL,
    });
}

#[test]
fn nested_four_times() {
    run(&Kind {
        name: "nested_four_times",
        cases: 2000,
        config: small(),
        max_rows: 300,
        batches: 3,
        profiles: ALL,
    });
}

#[test]
fn many_tiny_shards() {
    run(&Kind {
        name: "many_tiny_shards",
        cases: 6000,
        config: small(),
        max_rows: 12,
        batches: 2,
        profiles: ALL,
    });
}

#[test]
fn plain_profile() {
    run(&Kind {
        name: "plain_profile",
        cases: 1000,
        config: small(),
        max_rows: 1000,
        batches: 2,
        profiles: &[Profile::Plain],
    });
}

#[test]
fn dictionaries_and_runs() {
    let config = Config {
        max_depth: 2,
        allow: |data_type| {
            // Nested types must contain a nested type; leaves may have any type.
            !data_type.is_nested()
                || any_type(data_type, &mut |t| {
                    matches!(
                        t,
                        DataType::Dictionary(_, _) | DataType::RunEndEncoded(_, _)
                    )
                })
        },
        ..small()
    };
    run(&Kind {
        name: "dictionaries_and_runs",
        cases: 1000,
        config,
        max_rows: 1500,
        batches: 4,
        profiles: ALL,
    });
}

/// Tests more rows than the 65,536 positions of a window, in many blocks.
#[test]
fn large_leaves() {
    let config = Config {
        max_depth: 0,
        max_columns: 3,
        ..Config::default()
    };
    run(&Kind {
        name: "large_leaves",
        cases: 30,
        config,
        max_rows: 30_000,
        batches: 4,
        profiles: ALL,
    });
}

#[test]
fn large_nested() {
    let config = Config {
        max_depth: 2,
        max_columns: 2,
        ..Config::default()
    };
    run(&Kind {
        name: "large_nested",
        cases: 24,
        config,
        max_rows: 30_000,
        batches: 4,
        profiles: ALL,
    });
}

fn run(kind: &Kind) {
    run_cases(module_path!(), kind.name, kind.cases, |seed| {
        case(kind, seed)
    });
}

fn case(kind: &Kind, seed: u64) {
    // Each kind has different data.
    let salt = kind
        .name
        .bytes()
        .fold(0u64, |salt, byte| salt.wrapping_mul(31) ^ u64::from(byte));
    let mut rng = StdRng::seed_from_u64(salt ^ seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let schema: SchemaRef = Arc::new(random_schema(&mut rng, &kind.config));
    let mappings = [
        TypeMapping::Lossless,
        TypeMapping::Lossless,
        TypeMapping::Amudai,
    ];
    // Native decimals need the C library.
    let mappings = match cfg!(feature = "decimal") {
        true => &mappings[..],
        false => &mappings[..1],
    };
    let mapping = *mappings.choose(&mut rng).unwrap();
    let data = Data::random(&mut rng, &schema, kind.batches, kind.max_rows, mapping);
    let options = random_options(&mut rng, &schema, data.rows, kind.profiles, Wire::Spec);
    let options = options.with_mapping(mapping);
    let shown = format!("{options:?}");
    let folder = written(&schema, &data.batches, options)
        .unwrap_or_else(|e| panic!("writing failed: {e}\n{shown}\n{}", text(&schema)));
    let shard = random_source(&mut rng, &folder);
    let context = || format!("{} rows, {shown}\n{}", data.rows, text(&schema));
    assert_eq!(shard.num_rows(), data.rows as u64, "{}", context());
    let read = shard
        .schema()
        .unwrap_or_else(|e| panic!("{e}: {}", context()));
    assert_eq!(read, schema, "{}", context());
    for check in [scan, stripes, part, take, requested] {
        if let Err(error) = check(&mut rng, &data, &shard) {
            panic!("{error}\n{}", context());
        }
    }
}

fn random_batch_size(rng: &mut StdRng, rows: usize) -> usize {
    let least = rows / 40 + 1;
    *[
        least,
        1000.max(least),
        1024.max(least),
        8192,
        usize::MAX,
        rng.random_range(least..=least * 50),
    ]
    .choose(rng)
    .unwrap()
}

fn scan(rng: &mut StdRng, data: &Data, shard: &Shard) -> Result<(), String> {
    let size = random_batch_size(rng, data.rows);
    let reader = shard.scan().with_batch_size(size).build();
    let reader = reader.map_err(|e| format!("scan: {e}"))?;
    if reader.schema() != data.schema {
        return Err(format!("scan of schema {:?}", reader.schema()));
    }
    data.check_scan(reader, 0..data.rows, &data.all_columns(), size)
        .map_err(|e| format!("scan in batches of {size}: {e}"))
}

fn stripes(rng: &mut StdRng, data: &Data, shard: &Shard) -> Result<(), String> {
    let stripes = shard.stripes().map_err(|e| format!("stripes: {e}"))?;
    let mut at = 0;
    for stripe in &stripes {
        if stripe.row_range() != (at..at + stripe.num_rows()) {
            return Err(format!(
                "stripe {} of {:?} at {at}",
                stripe.ordinal(),
                stripe.row_range()
            ));
        }
        at += stripe.num_rows();
    }
    if at != data.rows as u64 {
        return Err(format!("stripes end at {at}"));
    }
    let Some(stripe) = stripes.choose(rng) else {
        return Ok(());
    };
    let range = stripe.row_range();
    let rows = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
    let reader = stripe
        .scan()
        .build()
        .map_err(|e| format!("stripe scan: {e}"))?;
    data.check_scan(reader, rows, &data.all_columns(), 8192)
        .map_err(|e| format!("stripe {}: {e}", stripe.ordinal()))
}

/// Checks a projection of a row range, with or without row numbers.
fn part(rng: &mut StdRng, data: &Data, shard: &Shard) -> Result<(), String> {
    let (projection, picks) = random_projection(rng, &data.schema);
    let start = rng.random_range(0..=data.rows);
    let end = rng.random_range(start..=data.rows);
    let (offset, limit) = match rng.random() {
        true => (
            rng.random_range(0..=end - start),
            rng.random_range(0..=end - start),
        ),
        false => (0, usize::MAX),
    };
    let size = random_batch_size(rng, data.rows);
    let what = format!(
        "rows {start}..{end} from {offset}, at most {limit}, in batches of {size}, of {projection:?}"
    );
    let mut builder = shard
        .scan()
        .with_projection(projection)
        .with_row_range(start as u64..end as u64)
        .with_batch_size(size);
    if limit != usize::MAX {
        builder = builder.with_offset(offset as u64).with_limit(limit as u64);
    }
    let numbered: bool = rng.random();
    if numbered {
        builder = builder.with_row_number("row number");
    }
    let reader = builder.build().map_err(|e| format!("{what}: {e}"))?;
    let mut fields: Vec<Field> = picks.iter().map(|pick| pick.field(&data.schema)).collect();
    if numbered {
        fields.push(Field::new("row number", DataType::UInt64, false));
    }
    let schema = Schema::new_with_metadata(fields, data.schema.metadata().clone());
    if *reader.schema() != schema {
        return Err(format!(
            "{what}: expected {schema:#?}\nfound {:#?}",
            reader.schema()
        ));
    }
    let rows = start + offset..end.min((start + offset).saturating_add(limit));
    if !numbered {
        return data
            .check_scan(reader, rows, &picks, size)
            .map_err(|e| format!("{what}: {e}"));
    }
    let mut at = rows.start;
    for batch in reader {
        let batch = batch.map_err(|e| format!("{what}: {e}"))?;
        let numbers = batch.columns().last().unwrap().as_primitive::<UInt64Type>();
        let wanted: Vec<usize> = (at..at + batch.num_rows()).collect();
        if !numbers
            .values()
            .iter()
            .map(|&n| usize::try_from(n).unwrap())
            .eq(wanted.iter().copied())
        {
            return Err(format!("{what}: wrong row numbers {numbers:?} at {at}"));
        }
        data.check(&batch, &wanted, &picks)
            .map_err(|e| format!("{what}: {e}"))?;
        at += batch.num_rows();
    }
    if at == rows.end.max(rows.start) {
        Ok(())
    } else {
        Err(format!("{what}: ended at {at}"))
    }
}

/// Returns some rows, in any order; they may be repeated.
fn few_rows(rng: &mut StdRng, total: usize) -> Vec<usize> {
    let count = *[0, 1, 5, 40].choose(rng).unwrap();
    let count = if total == 0 { 0 } else { count };
    let mut rows: Vec<usize> = (0..count).map(|_| rng.random_range(0..total)).collect();
    if rng.random() {
        rows.sort_unstable();
    }
    rows
}

/// Returns many rows that lie close together, with a gap. They ascend, or are shuffled, or some are repeated.
fn dense_rows(rng: &mut StdRng, total: usize) -> Vec<usize> {
    let share = *[0.01, 0.03, 0.2, 0.5, 0.97].choose(rng).unwrap();
    let gap = rng.random_range(0..=total / 2);
    let gap = gap..rng.random_range(gap..=total);
    let mut rows: Vec<usize> = (0..total)
        .filter(|row| !gap.contains(row) && rng.random_bool(share))
        .collect();
    match rng.random_range(0..3) {
        0 => rows.shuffle(rng),
        1 => rows.extend_from_within(..rows.len() / 20),
        _ => {}
    }
    rows
}

fn take(rng: &mut StdRng, data: &Data, shard: &Shard) -> Result<(), String> {
    let rows = if rng.random_bool(0.3) {
        dense_rows(rng, data.rows)
    } else {
        few_rows(rng, data.rows)
    };
    let (projection, picks) = random_projection(rng, &data.schema);
    let numbers: Vec<u64> = rows.iter().map(|&row| row as u64).collect();
    let what = format!("take {numbers:?} of {projection:?}");
    let batch = shard
        .take(&numbers, projection)
        .map_err(|e| format!("{what}: {e}"))?;
    data.check(&batch, &rows, &picks)
        .map_err(|e| format!("{what}: {e}"))
}

/// Checks columns that are requested in other types.
fn requested(rng: &mut StdRng, data: &Data, shard: &Shard) -> Result<(), String> {
    let fields = data.schema.fields();
    let unique = |i: &usize| {
        fields
            .iter()
            .filter(|f| f.name() == fields[*i].name())
            .count()
            == 1
    };
    let columns: Vec<usize> = (0..fields.len())
        .filter(unique)
        .filter(|_| rng.random())
        .collect();
    let wanted: Vec<FieldRef> = columns
        .iter()
        .map(|&i| request::other_field(rng, &fields[i]))
        .collect();
    let schema: SchemaRef = Arc::new(Schema::new(wanted));
    let size = random_batch_size(rng, data.rows);
    let what = format!("requested {}", text(&schema));
    let reader = shard
        .scan()
        .with_schema(schema.clone())
        .with_batch_size(size)
        .build();
    let reader = reader.map_err(|e| format!("{what}: {e}"))?;
    if reader.schema() != schema {
        return Err(format!("{what}: found {:#?}", reader.schema()));
    }
    let picks: Vec<Pick> = columns.into_iter().map(Pick::whole).collect();
    data.check_scan(reader, 0..data.rows, &picks, size)
        .map_err(|e| format!("{what}: {e}"))
}

#[test]
fn a_path_leads_through_lists_and_maps_to_the_member_it_names() {
    let mut points = ListBuilder::new(StructBuilder::from_fields(
        vec![
            Field::new("x", DataType::Int32, true),
            Field::new("y", DataType::Int32, true),
        ],
        0,
    ));
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for i in 0..50 {
        for n in 0..i % 4 {
            for (field, value) in [(0, n), (1, -n)] {
                let values = points
                    .values()
                    .field_builder::<Int32Builder>(field)
                    .unwrap();
                values.append_option((n != 2).then_some(value));
            }
            points.values().append(n != 1);
            map.keys().append_value(format!("key {n}"));
            map.values().append_value(n);
        }
        points.append(i % 5 != 0);
        map.append(true).unwrap();
    }
    let columns: [(&str, ArrayRef); 2] = [
        ("points", Arc::new(points.finish())),
        ("map", Arc::new(map.finish())),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let shard = Shard::from_bytes(written_bytes(
        std::slice::from_ref(&batch),
        WriterOptions::default(),
    ))
    .unwrap();
    let read = |path: &str| {
        let found = collect(shard.scan().with_projection([path]).build().unwrap()).unwrap();
        assert_eq!(found.num_columns(), 1);
        let taken = shard.take(&[49, 3], [path]).unwrap();
        assert_eq!(
            taken.column(0).slice(0, 1).as_ref(),
            found.column(0).slice(49, 1).as_ref()
        );
        assert_eq!(
            taken.column(0).slice(1, 1).as_ref(),
            found.column(0).slice(3, 1).as_ref()
        );
        found.column(0).clone()
    };
    assert_eq!(&read("points"), batch.column(0));
    let (all, part) = (batch.column(0).as_list::<i32>(), read("points.item.y"));
    let part = part.as_list::<i32>();
    assert_eq!(part.nulls(), all.nulls());
    let (items, members) = (all.value(7), part.value(7));
    assert_eq!(members.as_struct().column_names(), ["y"]);
    assert_eq!(members.nulls(), items.nulls());
    for i in (0..items.len()).filter(|&i| items.is_valid(i)) {
        let expected = items.as_struct().column(1).slice(i, 1);
        assert_eq!(
            members.as_struct().column(0).slice(i, 1).as_ref(),
            expected.as_ref()
        );
    }
    // A map without keys is not a map, so it is read as a whole or not at all.
    let error = shard
        .scan()
        .with_projection(["map.entries.keys"])
        .build()
        .unwrap_err();
    assert_eq!(error.kind(), arrow_shard::ErrorKind::UnknownColumn);
    assert_eq!(&read("map"), batch.column(1));
}

/// Values below nulls are not data, and must not be stored in a file.
#[test]
fn what_stands_at_nulls_is_not_written() {
    let secret = "what a null position holds";
    let values: Vec<&str> = (0..3_000)
        .map(|i| if i % 3 == 1 { secret } else { "shown" })
        .collect();
    let nulls = NullBuffer::from_iter((0..3_000).map(|i| i % 3 != 1));
    let text = StringArray::from(values.clone());
    let (offsets, bytes, _) = text.into_parts();
    let views = StringViewArray::from(values.clone());
    let (view_words, buffers, _) = views.into_parts();
    let fixed = values.iter().map(|value| format!("{value:26.26}"));
    let fixed = FixedSizeBinaryArray::try_from_iter(fixed).unwrap();
    let (width, fixed, _) = fixed.into_parts();
    let columns: [(&str, ArrayRef); 3] = [
        (
            "text",
            Arc::new(StringArray::new(offsets, bytes, Some(nulls.clone()))),
        ),
        (
            "views",
            Arc::new(StringViewArray::new(
                view_words,
                buffers,
                Some(nulls.clone()),
            )),
        ),
        (
            "fixed",
            Arc::new(FixedSizeBinaryArray::new(width, fixed, Some(nulls))),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    for profile in [Profile::Plain, Profile::Fast, Profile::Balanced] {
        let options = WriterOptions::default().with_profile(profile);
        let bytes = written_bytes(std::slice::from_ref(&batch), options);
        let found = |text: &str| {
            bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        };
        assert!(found("shown") && !found("null position"), "{profile:?}");
        let shard = Shard::from_bytes(bytes).unwrap();
        assert_eq!(collect(shard.scan().build().unwrap()).unwrap(), batch);
    }
}
