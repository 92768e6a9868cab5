//! A scan with a filter returns the same rows as a full scan with arrow's kernels: random data of random types, random
//! predicates, and all ways to scan. `ARROW_SHARD_CASES=20` runs 20 times the default number of cases; a failure prints
//! the command that repeats it.

use crate::cases::{Data, Pick, random_options, random_projection, random_source, text};
use crate::common::schemas::{Config, random_schema};
use crate::random_predicates::{Oracle, paths};
use crate::support::replay::{run_cases, single_seed};
use crate::support::{shared, written};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, Float64Array, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Schema, SchemaRef};
use arrow_shard::Shard;
use arrow_shard::metadata::{TypeMapping, Wire};
use arrow_shard::read::{RowSelection, ScanBuilder, ScanMetrics, ShardReader, Skipped};
use arrow_shard::write::{Profile, WriterOptions};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::path::Path;
use std::sync::Arc;

const ALL: &[Profile] = &[
    Profile::Plain,
    Profile::Balanced,
    #[cfg(feature = "zstd")]
    Profile::HighCompression,
];

/// The settings that all cases of one test share.
struct Kind {
    name: &'static str,
    cases: u64,
    config: Config,
    max_rows: usize,
    batches: usize,
    /// Number of predicates per shard.
    predicates: u32,
    /// Whether every third case has one stripe with many rows, so columns have range indexes. Columns of fewer than
    /// 4,096 positions have none.
    has_long_cases: bool,
    /// Fewest shards that must have a range index.
    least_indexed: usize,
}

/// Counters over the cases of a test.
#[derive(Debug, Default)]
struct Outcome {
    metrics: Vec<ScanMetrics>,
    /// Predicates to compare, and compared predicates.
    asked: usize,
    compared: usize,
    /// Predicates that arrow's kernels, or a full scan, could not answer.
    unanswered: usize,
    /// Shards with a range index.
    indexed: usize,
}

/// Runs the cases, and returns the metrics of all scans.
fn run(kind: &Kind) -> Vec<ScanMetrics> {
    let mut outcome = Outcome::default();
    run_cases(module_path!(), kind.name, kind.cases, |seed| {
        case(kind, seed, &mut outcome);
    });
    if single_seed().is_none() {
        let Outcome {
            asked,
            compared,
            unanswered,
            indexed,
            ..
        } = outcome;
        let shown = format!(
            "{compared} of {asked} compared, {unanswered} unanswered, {indexed} range indexes"
        );
        eprintln!("{}: {shown}", kind.name);
        assert!(asked > 0 && compared * 2 >= asked, "{shown}");
        assert!(unanswered * 20 <= asked, "{shown}");
        assert!(indexed >= kind.least_indexed, "{shown}");
    }
    outcome.metrics
}

fn case(kind: &Kind, seed: u64, outcome: &mut Outcome) {
    let salt = kind
        .name
        .bytes()
        .fold(7u64, |salt, byte| salt.wrapping_mul(31) ^ u64::from(byte));
    let mut rng = StdRng::seed_from_u64(salt ^ seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let schema: SchemaRef = Arc::new(random_schema(&mut rng, &kind.config));
    let mapping = *[TypeMapping::Lossless, TypeMapping::Amudai]
        .choose(&mut rng)
        .unwrap();
    let is_long = kind.has_long_cases && rng.random_ratio(1, 3);
    let (batches, max_rows) = match is_long {
        true => (2, 9000),
        false => (kind.batches, kind.max_rows),
    };
    let data = Data::random(&mut rng, &schema, batches, max_rows, mapping);
    let mut options = match is_long {
        true => WriterOptions::default(),
        false => random_options(&mut rng, &schema, data.rows, ALL, Wire::Spec),
    };
    options = options.with_mapping(mapping);
    if !is_long && rng.random() {
        options = options.with_stripe_rows(rng.random_range(1..=data.rows.max(4) as u64 / 3 + 1));
    }
    if rng.random() {
        options = options.with_bloom_filter_enabled(true);
    }
    if rng.random_ratio(1, 10) {
        options = options.with_statistics_enabled(false);
    }
    let mut shown = format!("{options:?}");
    let mut folder = written(&schema, &data.batches, options.clone())
        .unwrap_or_else(|e| panic!("writing failed: {e}\n{shown}\n{}", text(&schema)));
    // The reference wire does not support all types.
    let options = options.with_wire(Wire::Reference);
    if rng.random_ratio(1, 4)
        && let Ok(other) = written(&schema, &data.batches, options.clone())
    {
        (folder, shown) = (other, format!("{options:?}"));
    }
    let shard = random_source(&mut rng, &folder);
    outcome.indexed += usize::from(has_range_index(&shard));
    let paths = paths(&schema);
    for _ in 0..kind.predicates {
        outcome.asked += 1;
        let Some(oracle) = Oracle::random(&mut rng, &paths, &data.batches, 2) else {
            continue;
        };
        let Ok(matches) = expected(&shard, &oracle) else {
            outcome.unanswered += 1;
            continue;
        };
        outcome.compared += 1;
        let picked = random_projection(&mut rng, &schema);
        let checked = check(&mut rng, &shard, &oracle, &matches, Some((&data, picked)));
        match checked {
            Ok(found) => outcome.metrics.extend(found),
            Err(error) => panic!(
                "{error}\nfilter {}\n{} rows, {shown}\n{}",
                oracle.predicate(),
                data.rows,
                text(&schema)
            ),
        }
    }
}

/// Returns whether a column, or a member of one, has a range index in some stripe.
fn has_range_index(shard: &Shard) -> bool {
    let mut found = false;
    for field in shard.shard_schema().unwrap().fields {
        field.data_type.walk(&mut |node| {
            let mut stripes = 0..shard.stripes().unwrap().len() as u64;
            found |= stripes.any(|stripe| shard.range_index(stripe, node).unwrap().is_some());
        });
    }
    found
}

/// Returns the rows that a full scan and arrow's kernels find.
fn expected(shard: &Shard, oracle: &Oracle) -> Result<Vec<u64>, String> {
    let reader = shard.scan().with_batch_size(3000).build().unwrap();
    let mut matches = Vec::new();
    let mut first = 0;
    for batch in reader {
        let batch = batch.map_err(|e| e.to_string())?;
        let truths = oracle.evaluate(&batch).map_err(|e| e.to_string())?;
        let is_match = |i: &usize| truths.is_valid(*i) && truths.value(*i);
        let rows = (0..batch.num_rows()).filter(is_match);
        matches.extend(rows.map(|i| first + i as u64));
        first += batch.num_rows() as u64;
    }
    Ok(matches)
}

/// Reads the rows that match in a random way, and compares them with the expected ones.
fn check(
    rng: &mut StdRng,
    shard: &Shard,
    oracle: &Oracle,
    matches: &[u64],
    data: Option<(&Data, (arrow_shard::Projection, Vec<Pick>))>,
) -> Result<Option<ScanMetrics>, String> {
    let total = shard.num_rows();
    let count = usize::try_from(total).unwrap();
    let sizes = [1 + count / 30, 100, 1024, 8192, usize::MAX];
    let size = (*sizes.choose(rng).unwrap()).max(1 + count / 60);
    let mut scan = shard
        .scan()
        .with_filter(oracle.predicate())
        .with_batch_size(size)
        .with_row_number("row number");
    let mut shown = format!("batches of {size}");
    let mut picks = Vec::new();
    if let Some((_, (projection, some))) = &data {
        scan = scan.with_projection(projection.clone());
        picks.clone_from(some);
    }
    let mut wanted: Vec<u64> = matches.to_vec();
    if rng.random_ratio(1, 3) {
        let start = rng.random_range(0..=total);
        let rows = start..rng.random_range(start..=total);
        wanted.retain(|row| rows.contains(row));
        shown += &format!(", rows {rows:?}");
        scan = scan.with_row_range(rows);
    }
    if rng.random_ratio(1, 3) {
        let selection = random_selection(rng, total);
        shown += &format!(", {selection:?}");
        let bits = selection.to_bitmap(total).unwrap();
        wanted.retain(|&row| bits.value(usize::try_from(row).unwrap()));
        scan = match rng.random() {
            true => scan.with_row_selection(bits),
            false => scan.with_row_selection(selection),
        };
    }
    if rng.random_ratio(1, 4) {
        shown += ", threads";
        scan = scan.with_threads(3);
    }
    let scans = if rng.random_ratio(1, 5) {
        scan.split(rng.random_range(1..5))
            .map_err(|e| e.to_string())?
    } else {
        if rng.random_ratio(1, 4) {
            let (skip, limit) = (
                rng.random_range(0..=wanted.len() + 1),
                rng.random_range(0..2000),
            );
            wanted = wanted.into_iter().skip(skip).take(limit).collect();
            shown += &format!(", offset {skip}, limit {limit}");
            scan = scan.with_offset(skip as u64).with_limit(limit as u64);
        }
        vec![scan]
    };
    let mut at = 0;
    let mut metrics = None;
    for scan in scans {
        let mut reader = scan.build().map_err(|e| format!("{e}\n{shown}"))?;
        let read = read_all(
            &mut reader,
            size,
            &wanted[at..],
            &picks,
            data.as_ref().map(|d| d.0),
        );
        at += read.map_err(|e| format!("{e}\n{shown}"))?;
        metrics = reader.metrics();
    }
    if at != wanted.len() {
        return Err(format!("{} rows match, {at} came\n{shown}", wanted.len()));
    }
    Ok(metrics)
}

fn random_selection(rng: &mut StdRng, total: u64) -> RowSelection {
    let some = rng.random_range(0..20);
    let ranges = (0..some).map(|_| {
        let start = rng.random_range(0..=total);
        start..rng.random_range(start..=total.min(start + 50))
    });
    ranges.collect::<Vec<_>>().into()
}

/// Compares batches with the next expected rows, and returns the number of rows.
fn read_all(
    reader: &mut ShardReader,
    size: usize,
    wanted: &[u64],
    picks: &[Pick],
    data: Option<&Data>,
) -> Result<usize, String> {
    let schema = reader.schema();
    let mut at = 0;
    let mut remaining = reader.remaining_rows();
    for batch in reader.by_ref() {
        let batch = batch.map_err(|e| e.to_string())?;
        let numbers = batch.columns().last().unwrap().as_primitive::<UInt64Type>();
        let rows = batch.num_rows();
        if batch.schema() != schema || rows == 0 || rows > size || rows as u64 > remaining {
            return Err(format!("{rows} rows of {remaining}, {:?}", batch.schema()));
        }
        let expected = wanted.get(at..at + rows).ok_or("more rows than match")?;
        if numbers.values() != expected {
            return Err(format!(
                "rows {:?} instead of {expected:?}",
                numbers.values()
            ));
        }
        if let Some(data) = data {
            let rows: Vec<usize> = expected
                .iter()
                .map(|&row| usize::try_from(row).unwrap())
                .collect();
            data.check(&batch, &rows, picks)?;
        }
        at += rows;
        remaining -= rows as u64;
    }
    Ok(at)
}

#[test]
fn leaves() {
    let metrics = run(&Kind {
        name: "leaves",
        cases: 500,
        config: Config {
            max_depth: 0,
            odd_names: false,
            ..Config::default()
        },
        max_rows: 3000,
        batches: 4,
        predicates: 8,
        has_long_cases: false,
        least_indexed: 3,
    });
    if single_seed().is_some() {
        return;
    }
    let total = |of: fn(&ScanMetrics) -> Skipped| {
        let all = metrics.iter().map(of);
        all.fold((0, 0), |(rows, stripes), s| {
            (rows + s.rows, stripes + s.stripes)
        })
    };
    eprintln!(
        "statistics {:?}, filters {:?}, indexes {:?}, dictionaries {:?}",
        total(|m| m.skipped_by_statistics),
        total(|m| m.skipped_by_bloom_filters),
        total(|m| m.skipped_by_range_indexes),
        total(|m| m.skipped_by_dictionaries)
    );
    // The cases must have something to skip at every level.
    let sum = |of: fn(&ScanMetrics) -> u64| metrics.iter().map(of).sum::<u64>();
    assert!(sum(|m| m.skipped_by_statistics.stripes) > 200);
    assert!(sum(|m| m.skipped_by_bloom_filters.stripes) > 20);
    assert!(sum(|m| m.skipped_by_range_indexes.rows) > 2000);
    assert!(sum(|m| m.skipped_by_dictionaries.stripes) > 5);
    assert!(sum(|m| m.rows_known_to_match) > 10_000);
    assert!(sum(|m| m.values_tested) > 100_000);
}

#[test]
fn members_of_structs() {
    let config = Config {
        max_depth: 3,
        max_columns: 3,
        odd_names: false,
        allow: |data_type| !data_type.is_nested() || matches!(data_type, DataType::Struct(_)),
        ..Config::default()
    };
    run(&Kind {
        name: "members_of_structs",
        cases: 150,
        config,
        max_rows: 1000,
        batches: 3,
        predicates: 6,
        has_long_cases: true,
        least_indexed: 3,
    });
}

#[test]
fn beside_any_columns() {
    let config = Config {
        max_depth: 3,
        max_columns: 5,
        ..Config::default()
    };
    run(&Kind {
        name: "beside_any_columns",
        cases: 150,
        config,
        max_rows: 1000,
        batches: 3,
        predicates: 5,
        has_long_cases: true,
        least_indexed: 2,
    });
}

/// Tests -0.0, 0.0, NaNs and infinities, few at a time, so they are bounds of stripes and of the blocks of range
/// indexes.
#[test]
fn floats_of_few_values() {
    let few = [
        0.0,
        -0.0,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1.0,
        -1.0,
    ];
    let types = [DataType::Float64, DataType::Float32, DataType::Float16];
    let mut indexed = 0;
    for seed in 0..60 {
        let mut rng = StdRng::seed_from_u64(seed);
        let data_type = types.choose(&mut rng).unwrap();
        let cast = |array: Float64Array| arrow_cast::cast(&array, data_type).unwrap();
        let null = if rng.random() { 0.1 } else { 0.0 };
        let mut values = Vec::new();
        let seen = rng.random_range(3..=few.len());
        let pool: Vec<f64> = few.choose_multiple(&mut rng, seen).copied().collect();
        // Fields of fewer than 4,096 positions have no range index.
        let blocks = match rng.random_ratio(1, 3) {
            true => rng.random_range(2..6),
            false => rng.random_range(17..=24),
        };
        for _ in 0..blocks {
            let some: Vec<f64> = pool.choose_multiple(&mut rng, 2).copied().collect();
            let value =
                |rng: &mut StdRng| (!rng.random_bool(null)).then(|| *some.choose(rng).unwrap());
            values.extend((0..256).map(|_| value(&mut rng)));
        }
        let batch = RecordBatch::try_from_iter([("c0", cast(values.into()))]).unwrap();
        let options = WriterOptions::default()
            .with_wire(*[Wire::Spec, Wire::Reference].choose(&mut rng).unwrap())
            .with_stripe_rows(*[256, 4400, 10_000].choose(&mut rng).unwrap())
            .with_dictionary_enabled(rng.random());
        let folder = written(&batch.schema(), std::slice::from_ref(&batch), options).unwrap();
        let shard = random_source(&mut rng, &folder);
        indexed += usize::from(has_range_index(&shard));
        let path = &paths(&batch.schema())[0];
        for value in few {
            let value = cast(Float64Array::from(vec![value]));
            for oracle in Oracle::comparisons(path, &value) {
                let matches = expected(&shard, &oracle).unwrap();
                check(&mut rng, &shard, &oracle, &matches, None)
                    .unwrap_or_else(|e| panic!("seed {seed}, {}: {e}", oracle.predicate()));
            }
        }
    }
    assert!(indexed > 5, "{indexed} range indexes");
}

#[test]
fn large_shards() {
    let config = Config {
        max_depth: 0,
        max_columns: 3,
        odd_names: false,
        ..Config::default()
    };
    run(&Kind {
        name: "large_shards",
        cases: 6,
        config,
        max_rows: 100_000,
        batches: 2,
        predicates: 6,
        has_long_cases: false,
        least_indexed: 2,
    });
}

/// Returns the shards below a folder.
fn shards(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(shards(&path));
        } else if path.to_str().unwrap().ends_with(".amudai.shard") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn shards_of_the_reference() {
    let Some(folder) = shared("golden") else {
        return;
    };
    let mut rng = StdRng::seed_from_u64(5);
    let mut checked = 0;
    for path in shards(&folder) {
        let shard = Shard::open(&path).unwrap();
        let schema: Arc<Schema> = shard.schema().unwrap();
        let paths = paths(&schema);
        let batches: Result<Vec<RecordBatch>, _> = shard.scan().build().unwrap().collect();
        // Some shards have values that Arrow cannot represent.
        let Ok(batches) = batches else { continue };
        for _ in 0..12 {
            let Some(oracle) = Oracle::random(&mut rng, &paths, &batches, 1) else {
                continue;
            };
            let Ok(matches) = expected(&shard, &oracle) else {
                continue;
            };
            check(&mut rng, &shard, &oracle, &matches, None)
                .unwrap_or_else(|e| panic!("{}: {}: {e}", path.display(), oracle.predicate()));
            checked += 1;
        }
    }
    assert!(checked > 300, "only {checked} predicates");
}

#[test]
fn selections_without_a_filter() {
    let mut rng = StdRng::seed_from_u64(3);
    for seed in 0..60 {
        let mut random = StdRng::seed_from_u64(seed);
        let schema: SchemaRef = Arc::new(random_schema(&mut random, &Config::default()));
        let lossless = TypeMapping::Lossless;
        let data = Data::random(&mut random, &schema, 3, 2000, lossless);
        let options = random_options(&mut random, &schema, data.rows, ALL, Wire::Spec);
        let folder = written(&schema, &data.batches, options).unwrap();
        let shard = random_source(&mut random, &folder);
        let total = shard.num_rows();
        let selection = random_selection(&mut rng, total);
        let bits = selection.to_bitmap(total).unwrap();
        let mut wanted: Vec<u64> = bits.set_indices().map(|row| row as u64).collect();
        let mut scan: ScanBuilder = shard
            .scan()
            .with_row_selection(selection)
            .with_row_number("row number")
            .with_batch_size(777);
        if rng.random() {
            scan = scan.with_offset(7).with_limit(300);
            wanted = wanted.into_iter().skip(7).take(300).collect();
        }
        let mut at = 0;
        for part in scan.split(rng.random_range(1..4)).unwrap() {
            let mut reader = part.build().unwrap();
            let picks = data.all_columns();
            let read = read_all(&mut reader, 777, &wanted[at..], &picks, Some(&data));
            at += read.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", text(&schema)));
        }
        assert_eq!(at, wanted.len(), "seed {seed}");
    }
}
