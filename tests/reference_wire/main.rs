//! Shards for the reference implementation follow its rules in docs/format.md. The checker parses every byte without
//! code of the library; it is validated with shards that the reference wrote.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]
#![expect(clippy::panic, reason = "says which shard failed")]

mod blocks;
mod broken;
mod bytes;
#[path = "../support/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
mod dictionary;
mod encodings;
mod field;
mod refusals;
mod schema;
mod shapes;
mod shard;
#[path = "../support/mod.rs"]
mod support;

use arrow_array::RecordBatch;
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};
use arrow_shard::io::MemoryFolder;
use arrow_shard::metadata::{TypeMapping, Wire};
use arrow_shard::write::{Layout, Profile, WriterOptions};
use arrow_shard::{ErrorKind, Shard};
use cases::{Data, random_options, random_source, text};
use common::equal::assert_equal;
use common::schemas::{Config, any_type, random_schema};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use shard::{Exceptions, Files};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::{NAME, collect, inner, opened, shared, written};

const PROFILES: &[Profile] = &[
    Profile::Plain,
    Profile::Fast,
    Profile::Balanced,
    #[cfg(feature = "zstd")]
    Profile::HighCompression,
    #[cfg(feature = "zstd")]
    Profile::MinimalSize,
];

fn files_of(folder: &MemoryFolder) -> Files {
    let mut names = folder.names();
    names.retain(|name| name != NAME);
    let others = names.into_iter().map(|name| {
        let bytes = folder.get(&name).unwrap().to_vec();
        (name, bytes)
    });
    Files {
        directory: folder.get(NAME).unwrap().to_vec(),
        others: others.collect(),
    }
}

/// Reads the files of a shard on disk.
fn files_at(path: &Path) -> Files {
    let beside = std::fs::read_dir(path.parent().unwrap()).unwrap();
    let stripes = beside.map(|entry| entry.unwrap().path());
    let stripes = stripes.filter(|path| path.to_str().unwrap().ends_with(".amudai.stripe"));
    let others: HashMap<String, Vec<u8>> = stripes
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(&path).unwrap())
        })
        .collect();
    Files {
        directory: std::fs::read(path).unwrap(),
        others,
    }
}

/// Returns all directory files that the reference wrote, and checks their least number.
fn golden() -> Vec<PathBuf> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.to_str().unwrap().ends_with(".amudai.shard") {
                found.push(path);
            }
        }
    }
    let Some(folder) = shared("golden") else {
        return Vec::new();
    };
    let mut found = Vec::new();
    collect(&folder, &mut found);
    found.sort();
    assert!(found.len() >= 106, "only {} shards", found.len());
    found
}

fn name_of(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[test]
fn shards_of_the_reference_obey_its_rules() {
    let mut wrong = Vec::new();
    for path in golden() {
        let name = name_of(&path);
        let exceptions = Exceptions {
            absolute_field_list: true,
            unreadable_types: ["fixed_list", "struct_empty"]
                .iter()
                .any(|n| name.starts_with(n)),
            absent_fields: name.starts_with("rows0"),
        };
        if let Err(e) = shard::check(&files_at(&path), exceptions) {
            wrong.push(format!("{name}: {e}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns the rows of a shard of the reference, in types that can represent its instants and decimals.
fn rows(shard: &Shard) -> RecordBatch {
    let read = collect(shard.scan().build().unwrap());
    if let Err(error) = &read
        && inner(error).kind() == ErrorKind::ValueOutOfRange
    {
        let exact = |field: &FieldRef| match field.data_type() {
            DataType::Timestamp(_, zone) => {
                let coarse = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
                Arc::new(field.as_ref().clone().with_data_type(coarse))
            }
            DataType::Decimal128(..) => {
                let stored = field.as_ref().clone();
                let name = [(EXTENSION_TYPE_NAME_KEY, "KustoDecimal")];
                let metadata = name.map(|(k, v)| (k.to_owned(), v.to_owned()));
                let stored = stored.with_data_type(DataType::FixedSizeBinary(16));
                Arc::new(stored.with_metadata(metadata.into()))
            }
            _ => field.clone(),
        };
        let schema = shard.schema().unwrap();
        let fields: Vec<FieldRef> = schema.fields().iter().map(exact).collect();
        let wanted = Arc::new(Schema::new(fields));
        return collect(shard.scan().with_schema(wanted).build().unwrap()).unwrap();
    }
    read.unwrap()
}

/// Writes rows for the reference, checks the files, and reads them back.
fn rewritten(batch: &RecordBatch, options: WriterOptions, context: &str) {
    let options = options.with_wire(Wire::Reference);
    let folder = written(&batch.schema(), std::slice::from_ref(batch), options)
        .unwrap_or_else(|e| panic!("{context}: {e}"));
    if let Err(e) = shard::check(&files_of(&folder), Exceptions::default()) {
        panic!("{context}: {e}");
    }
    let shard = opened(&folder).unwrap();
    assert_eq!(shard.wire(), Wire::Reference);
    assert!(shard.verify().unwrap().is_sound());
    assert_equal(batch, &collect(shard.scan().build().unwrap()).unwrap());
}

fn is_unreadable(data_type: &DataType) -> bool {
    any_type(data_type, &mut |t| match t {
        DataType::Null
        | DataType::Union(_, _)
        | DataType::FixedSizeList(_, _)
        | DataType::FixedSizeBinary(0) => true,
        DataType::Struct(members) => members.is_empty(),
        _ => false,
    })
}

#[test]
fn shards_of_the_reference_are_written_again_as_one_file() {
    write_again(Layout::SingleFile);
}

#[test]
fn shards_of_the_reference_are_written_again_as_several_files() {
    write_again(Layout::TwoLevel);
}

fn write_again(layout: Layout) {
    for path in golden() {
        let batch = rows(&Shard::open(&path).unwrap());
        let fields = batch.schema();
        let mut fields = fields.fields().iter();
        if fields.any(|field| is_unreadable(field.data_type())) {
            let options = WriterOptions::default().with_wire(Wire::Reference);
            let error = written(&batch.schema(), &[], options).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            continue;
        }
        for profile in PROFILES {
            let options = WriterOptions::default()
                .with_profile(*profile)
                .with_layout(layout);
            let context = format!("{}, {profile:?}", name_of(&path));
            rewritten(&batch, options, &context);
        }
    }
}

/// A kind of random shards.
struct Kind {
    name: &'static str,
    cases: u64,
    max_depth: u32,
    max_rows: usize,
}

#[test]
fn random_leaves() {
    run(&Kind {
        name: "random_leaves",
        cases: 300,
        max_depth: 0,
        max_rows: 3000,
    });
}

#[test]
fn random_nested_types() {
    run(&Kind {
        name: "random_nested_types",
        cases: 600,
        max_depth: 3,
        max_rows: 400,
    });
}

#[test]
fn random_long_columns() {
    run(&Kind {
        name: "random_long_columns",
        cases: 6,
        max_depth: 1,
        max_rows: 150_000,
    });
}

fn run(kind: &Kind) {
    let number = |name| {
        let value = std::env::var(name).ok()?;
        Some(value.parse::<u64>().unwrap())
    };
    let seeds = match number("ARROW_SHARD_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..kind.cases * number("ARROW_SHARD_CASES").unwrap_or(1),
    };
    // The first case of each broken rule.
    let mut broken: BTreeMap<String, String> = BTreeMap::new();
    for seed in seeds {
        if let Err(error) = case(kind, seed) {
            let rule = error.split(['[', ']']).nth(1).unwrap_or_default();
            let name = kind.name;
            broken.entry(rule.to_owned()).or_insert(format!(
                "{error}\nARROW_SHARD_SEED={seed} cargo test --features cli --test reference_wire -- --exact {name}"
            ));
        }
    }
    let text: Vec<String> = broken.into_values().collect();
    assert!(text.is_empty(), "{}", text.join("\n\n"));
}

fn case(kind: &Kind, seed: u64) -> Result<(), String> {
    let mut rng = StdRng::seed_from_u64(seed ^ u64::from(kind.max_depth) << 32);
    let config = Config {
        max_depth: kind.max_depth,
        max_columns: 5,
        odd_names: false,
        metadata: true,
        allow: |data_type| !is_unreadable(data_type),
    };
    let schema: SchemaRef = Arc::new(random_schema(&mut rng, &config));
    let mapping = match rng.random() {
        true => TypeMapping::Amudai,
        false => TypeMapping::Lossless,
    };
    let data = Data::random(&mut rng, &schema, 3, kind.max_rows, mapping);
    let options = random_options(&mut rng, &schema, data.rows, PROFILES, Wire::Reference);
    let options = options.with_mapping(mapping);
    let context = format!("{} rows, {options:?}\n{}", data.rows, text(&schema));
    let tell = |e: String| format!("{e}\n{context}");
    let folder = written(&schema, &data.batches, options).map_err(|e| tell(e.to_string()))?;
    shard::check(&files_of(&folder), Exceptions::default()).map_err(tell)?;
    let shard = random_source(&mut rng, &folder);
    if shard.schema().map_err(|e| tell(e.to_string()))? != schema {
        return Err(tell("another schema".to_owned()));
    }
    let scan = shard.scan().build().map_err(|e| tell(e.to_string()))?;
    data.check_scan(scan, 0..data.rows, &data.all_columns(), usize::MAX)
        .map_err(tell)
}
