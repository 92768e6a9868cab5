//! Damaged and forged files: bytes of the Parquet file changed, and bytes of the directory file changed, with its
//! checksums repaired or not. Some 2,000 mutants are tried, 20,000 if the variable `FULL` is set. Reading returns an
//! error or the written rows. It never panics, hangs, or takes more memory than 64 MiB plus 64 bytes for every byte.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "any number will do"
)]
#![expect(clippy::panic, reason = "reports what went wrong with many files")]

use super::allocations;
use super::covered::{Covered, covered};
use super::descriptors::with_descriptors;
use super::files::write_parquet;
use super::page_checksums::{chunks_of, metadata_of, with_page_checksums};
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array,
    PrimitiveArray, RecordBatch, StringArray,
};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use arrow_shard::format::{DataEncoding, NameValuePair, ValueKind};
use arrow_shard::io::{ByteRange, MemoryFolder, Store};
use arrow_shard::ops::{AttachOptions, attach_with};
use arrow_shard::read::{Projection, ShardOptions};
use arrow_shard::{Error, Limits, Result, Shard};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::time::{Duration, Instant};

const MEMORY: usize = 64 << 20;
const MEMORY_PER_BYTE: usize = 64;
/// Far more time than any case takes, even without optimization.
const TIME: Duration = Duration::from_secs(5);
const DIRECTORY: &str = "t.amudai.shard";
const PARQUET: &str = "t.parquet";
const ROWS: usize = 600;
const TAKEN: [u64; 4] = [599, 0, 301, 77];

/// Mutants of each kind and subject.
fn cases() -> usize {
    if std::env::var_os("FULL").is_some() {
        600
    } else {
        50
    }
}

/// Columns of several types and encodings, each without nulls and with some.
fn table() -> RecordBatch {
    let mut columns: Vec<(String, ArrayRef, bool)> = Vec::new();
    for nullable in [false, true] {
        let some = |i: i64| !nullable || i % 5 != 2;
        let rows = || (0..ROWS as i64).map(move |i| some(i).then_some(i * i % 1_000));
        let word = |i: i64| format!("word {}", i % 9);
        let text = |i: i64| format!("{i} is not often repeated");
        let decimals: Decimal128Array = rows().map(|v| v.map(i128::from)).collect();
        let decimals = decimals.with_precision_and_scale(20, 3).unwrap();
        let arrays: [(&str, ArrayRef); 10] = [
            (
                "i32",
                Arc::new(rows().map(|v| v.map(|v| v as i32)).collect::<Int32Array>()),
            ),
            ("i64", Arc::new(rows().collect::<Int64Array>())),
            ("delta", Arc::new(rows().collect::<Int64Array>())),
            (
                "f32",
                Arc::new(
                    rows()
                        .map(|v| v.map(|v| v as f32))
                        .collect::<Float32Array>(),
                ),
            ),
            (
                "f64",
                Arc::new(
                    rows()
                        .map(|v| v.map(|v| v as f64))
                        .collect::<Float64Array>(),
                ),
            ),
            (
                "word",
                Arc::new(rows().map(|v| v.map(word)).collect::<StringArray>()),
            ),
            (
                "text",
                Arc::new(rows().map(|v| v.map(text)).collect::<StringArray>()),
            ),
            (
                "bool",
                Arc::new(rows().map(|v| v.map(|v| v > 500)).collect::<BooleanArray>()),
            ),
            ("decimal", Arc::new(decimals)),
            (
                "time",
                Arc::new(rows().collect::<PrimitiveArray<TimestampMicrosecondType>>()),
            ),
        ];
        let suffix = if nullable { "_null" } else { "" };
        let named = arrays.map(|(name, array)| (format!("{name}{suffix}"), array, nullable));
        columns.extend(named);
    }
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// How a subject's Parquet file is written, and whether the directory lists its pages.
type Form = (WriterVersion, Compression, bool, bool);

fn forms() -> [Form; 6] {
    use WriterVersion::{PARQUET_1_0 as V1, PARQUET_2_0 as V2};
    let zstd = Compression::ZSTD(Default::default());
    [
        (V1, Compression::UNCOMPRESSED, true, false),
        (V2, Compression::UNCOMPRESSED, false, true),
        (V1, Compression::SNAPPY, false, false),
        (V2, zstd, true, false),
        (V1, Compression::LZ4_RAW, false, true),
        (V2, Compression::SNAPPY, true, false),
    ]
}

fn parquet_file(batch: &RecordBatch, (version, codec, index, _): Form) -> Vec<u8> {
    let mut builder = WriterProperties::builder()
        .set_writer_version(version)
        .set_compression(codec)
        .set_offset_index_disabled(!index)
        .set_max_row_group_row_count(Some(ROWS / 2))
        .set_data_page_row_count_limit(ROWS / 6)
        .set_write_batch_size(ROWS / 12);
    for suffix in ["", "_null"] {
        for name in ["i64", "text", "f32"] {
            let column = format!("{name}{suffix}");
            builder = builder.set_column_dictionary_enabled(column.as_str().into(), false);
        }
        let column = format!("delta{suffix}");
        builder = builder
            .set_column_dictionary_enabled(column.as_str().into(), false)
            .set_column_encoding(column.as_str().into(), Encoding::DELTA_BINARY_PACKED);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(PARQUET);
    write_parquet(&path, batch, builder.build());
    with_page_checksums(&std::fs::read(path).unwrap())
}

/// A shard over a Parquet file, and its rows.
struct Subject {
    directory: Vec<u8>,
    parquet: Vec<u8>,
    rows: RecordBatch,
    taken: RecordBatch,
}

impl Subject {
    fn new(form: Form) -> Self {
        let rows = table();
        let parquet = parquet_file(&rows, form);
        let directory = attached_directory(&parquet, form.3).unwrap();
        let numbers = arrow_array::UInt64Array::from_iter_values(TAKEN);
        let subject = Self {
            directory,
            parquet,
            taken: take_record_batch(&rows, &numbers).unwrap(),
            rows,
        };
        let read = read(&subject.directory, &subject.parquet).unwrap();
        assert_eq!(read.rows.unwrap(), subject.rows);
        assert_eq!(read.taken.unwrap(), subject.taken);
        assert!(read.is_sound);
        subject
    }

    fn all() -> Vec<Self> {
        forms().map(Self::new).into()
    }

    /// Reads a mutant within the bounds. Returns its rows, or `None` after an error.
    #[track_caller]
    fn read(&self, directory: &[u8], parquet: &[u8], what: &str) -> Option<Content> {
        let start = Instant::now();
        allocations::start();
        let outcome = allocations::caught(|| read(directory, parquet));
        let (peak, time) = (allocations::peak(), start.elapsed());
        let most = MEMORY + MEMORY_PER_BYTE * (directory.len() + parquet.len());
        assert!(peak <= most, "{what}: {peak} bytes of memory");
        assert!(time <= TIME, "{what}: {time:?}");
        let content = outcome
            .unwrap_or_else(|panic| panic!("{what}: {panic}"))
            .ok()?;
        if let Some(error) = content.rows.as_ref().err() {
            assert!(
                !content.is_sound,
                "{what}: verified as sound, and refused: {error}"
            );
        }
        Some(content)
    }

    /// Reads a mutant, which must have the written rows or none. Returns true if it has rows.
    #[track_caller]
    fn expect_same(&self, directory: &[u8], parquet: &[u8], what: &str) -> bool {
        let Some(content) = self.read(directory, parquet, what) else {
            return false;
        };
        if let Ok(taken) = content.taken {
            assert!(taken == self.taken, "{what}: other rows by number");
        }
        let is_read = content.rows.is_ok();
        if let Ok(rows) = content.rows {
            assert!(rows == self.rows, "{what}: other rows");
        }
        is_read
    }
}

struct Content {
    rows: Result<RecordBatch>,
    taken: Result<RecordBatch>,
    is_sound: bool,
}

fn open(directory: &[u8], parquet: &[u8]) -> Result<Shard> {
    let folder = MemoryFolder::new();
    folder.insert(PARQUET, Bytes::copy_from_slice(parquet));
    let limits = Limits::strict()
        .with_max_block_bytes(4 << 20)
        .with_max_batch_bytes(16 << 20);
    let options = ShardOptions::default().with_limits(limits);
    let directory = Bytes::copy_from_slice(directory);
    Shard::from_reader(Arc::new(directory), Arc::new(folder), options)
}

fn read(directory: &[u8], parquet: &[u8]) -> Result<Content> {
    let shard = open(directory, parquet)?;
    let rows = scan(&shard);
    let taken = shard.take(&TAKEN, Projection::All);
    let is_sound = shard.verify().is_ok_and(|report| report.is_sound());
    Ok(Content {
        rows,
        taken,
        is_sound,
    })
}

fn scan(shard: &Shard) -> Result<RecordBatch> {
    let schema = shard.schema()?;
    let (mut batches, mut found) = (Vec::new(), 0);
    for batch in shard.scan().with_batch_size(250).build()? {
        let batch = batch.map_err(Error::from)?;
        for column in batch.columns() {
            column.to_data().validate_full().unwrap();
        }
        found += batch.num_rows();
        batches.push(batch);
        // A shard may claim 2^63 rows without values.
        if found > 2 * ROWS {
            break;
        }
    }
    Ok(concat_batches(&schema, &batches)?)
}

/// Changes some bytes of a file. Returns what has been changed.
fn mutate(file: &mut Vec<u8>, rng: &mut StdRng) -> String {
    let at = rng.random_range(0..file.len());
    let end = (at + rng.random_range(1..200)).min(file.len());
    match rng.random_range(0..5) {
        0 => {
            let mask = 1 << rng.random_range(0..8);
            file[at] ^= mask;
            format!("byte {at} ^ {mask:#04x}")
        }
        1 => {
            file.truncate(at);
            format!("cut to {at} bytes")
        }
        2 => {
            let to = rng.random_range(0..file.len() - (end - at));
            let moved = file[at..end].to_vec();
            file.copy_within(to..to + moved.len(), at);
            file[to..to + moved.len()].copy_from_slice(&moved);
            format!("bytes {at}..{end} swapped with those at {to}")
        }
        3 => {
            file[at..end].fill_with(|| rng.random());
            format!("bytes {at}..{end} overwritten")
        }
        _ => {
            file[at] = rng.random();
            format!("byte {at} = {}", file[at])
        }
    }
}

#[test]
fn changes_of_the_parquet_file_are_errors_or_do_no_harm() {
    let (mut tried, mut accepted) = (0, 0);
    for (number, subject) in Subject::all().iter().enumerate() {
        let mut rng = StdRng::seed_from_u64(number as u64);
        for _ in 0..cases() {
            let mut parquet = subject.parquet.clone();
            let what = mutate(&mut parquet, &mut rng);
            let what = format!("subject {number}: {what}");
            tried += 1;
            accepted += usize::from(subject.expect_same(&subject.directory, &parquet, &what));
        }
    }
    // Indexes, and the first bytes of the file, are not read.
    assert!(
        accepted > 0 && accepted < tried / 2,
        "{accepted} of {tried}"
    );
}

/// The checksum of a page does not cover its header.
#[test]
fn changes_of_page_headers_are_errors_or_do_no_harm() {
    let bytes_of_header = 40;
    for (number, subject) in Subject::all().iter().enumerate() {
        let mut rng = StdRng::seed_from_u64(number as u64);
        let metadata = metadata_of(&subject.parquet);
        let starts: Vec<usize> = chunks_of(&metadata)
            .flat_map(|chunk| {
                [
                    Some(chunk.data_page_offset()),
                    chunk.dictionary_page_offset(),
                ]
            })
            .flatten()
            .map(|at| usize::try_from(at).unwrap())
            .collect();
        for _ in 0..cases() {
            let mut parquet = subject.parquet.clone();
            let start = starts[rng.random_range(0..starts.len())];
            let at = start + rng.random_range(0..bytes_of_header);
            parquet[at] = match rng.random_range(0..3) {
                0 => parquet[at] ^ (1 << rng.random_range(0..8)),
                1 => parquet[at].wrapping_add([2, 0xfe][rng.random_range(0..2)]),
                _ => rng.random(),
            };
            let what = format!("subject {number}: byte {} of a header", at - start);
            subject.expect_same(&subject.directory, &parquet, &what);
        }
    }
}

#[test]
fn another_file_of_the_same_schema_and_size_is_an_error() {
    for form in forms() {
        let subject = Subject::new(form);
        let rows = table();
        // The rows of the two row groups, exchanged.
        let [first, second] = [0, ROWS / 2].map(|start| rows.slice(start, ROWS / 2));
        let other = concat_batches(&rows.schema(), [&second, &first]).unwrap();
        let mut other = parquet_file(&other, form);
        other.resize(subject.parquet.len(), 0);
        assert!(!subject.expect_same(&subject.directory, &other, "another file"));
    }
}

#[test]
fn changes_of_the_directory_are_errors_or_do_no_harm() {
    for (number, subject) in Subject::all().iter().enumerate() {
        let mut rng = StdRng::seed_from_u64(number as u64);
        for _ in 0..cases() {
            let mut directory = subject.directory.clone();
            let what = mutate(&mut directory, &mut rng);
            let what = format!("subject {number}: {what}");
            subject.expect_same(&directory, &subject.parquet, &what);
        }
    }
}

/// A footer may say anything of sound pages, so that other rows are tolerated here.
#[test]
fn files_with_changed_footers_are_refused_or_attached() {
    let mut attached = 0;
    for (number, subject) in Subject::all().iter().enumerate() {
        let mut rng = StdRng::seed_from_u64(number as u64);
        let metadata = metadata_of(&subject.parquet);
        let ends = chunks_of(&metadata)
            .map(|chunk| chunk.byte_range())
            .map(|(at, len)| at + len);
        let start = usize::try_from(ends.max().unwrap()).unwrap();
        for _ in 0..cases() {
            let mut parquet = subject.parquet.clone();
            let mut footer = parquet.split_off(start);
            let what = format!(
                "subject {number}: footer, {}",
                mutate(&mut footer, &mut rng)
            );
            parquet.extend(footer);
            allocations::start();
            let directory = allocations::caught(|| attached_directory(&parquet, number % 2 == 0));
            let peak = allocations::peak();
            assert!(peak <= MEMORY, "{what}: {peak} bytes of memory");
            let directory = directory.unwrap_or_else(|panic| panic!("{what}: {panic}"));
            if let Ok(directory) = directory {
                attached += 1;
                subject.read(&directory, &parquet, &what);
            }
        }
    }
    assert!(attached > 0, "no change was tolerated");
}

/// Returns the directory file over a Parquet file.
fn attached_directory(parquet: &[u8], page_map: bool) -> Result<Vec<u8>> {
    let folder = MemoryFolder::new();
    folder.insert(PARQUET, Bytes::copy_from_slice(parquet));
    let store = Store::memory(folder.clone());
    let [source, target] = [PARQUET, DIRECTORY].map(|name| store.at(name));
    let options = AttachOptions::default().with_page_map(page_map);
    attach_with([source], target, options)?;
    Ok(folder.get(DIRECTORY).unwrap().to_vec())
}

/// With checksums that fit, a directory may name other types, columns, or pages, so that other rows are tolerated here;
/// the tests below say where they are not.
#[test]
fn forged_directories_are_errors_or_other_data() {
    for (number, subject) in Subject::all().iter().enumerate() {
        let mut rng = StdRng::seed_from_u64(number as u64);
        let intact = vec![(DIRECTORY.to_owned(), subject.directory.clone())];
        let regions = covered(&intact);
        for _ in 0..2 * cases() {
            let region = &regions[rng.random_range(0..regions.len())];
            let at = rng.random_range(region.bytes.clone());
            let mut files = intact.clone();
            let file = &mut files[0].1;
            let end = (at + [1, 2, 4, 8][rng.random_range(0..4)]).min(region.bytes.end);
            match rng.random_range(0..4) {
                0 => file[at] ^= 1 << rng.random_range(0..8),
                1 => file[at..end].fill(0xff),
                2 => file[at..end].fill(0),
                _ => file[at..end].fill_with(|| rng.random()),
            }
            Covered::mend(&regions, region, &mut files);
            let what = format!("subject {number}: {} changed at {at}", region.name);
            subject.read(&files[0].1, &subject.parquet, &what);
        }
    }
}

/// Changes the property of all columns with chunks, and their physical types.
fn forged(directory: &[u8], mut edit: impl FnMut(usize, &mut Vec<u8>, &mut i32)) -> Vec<u8> {
    with_descriptors(directory, |id, field, _| {
        let Some(DataEncoding::Parquet(files)) = field.encodings.first_mut() else {
            return;
        };
        let properties = &mut field.field.custom_properties;
        let at = properties
            .iter()
            .position(|p| p.name == "arrow_shard.parquet");
        let property = properties.remove(at.unwrap());
        let Some(ValueKind::Bytes(bytes)) = property.value.unwrap().kind else {
            panic!("a property without bytes");
        };
        let mut bytes = bytes.to_vec();
        let mut chunks = files.iter_mut().flat_map(|file| &mut file.column_chunks);
        let mut storage = chunks.next().unwrap().storage_type;
        edit(id, &mut bytes, &mut storage);
        chunks.for_each(|chunk| chunk.storage_type = storage);
        files[0].column_chunks[0].storage_type = storage;
        properties.push(NameValuePair::new("arrow_shard.parquet", bytes));
    })
}

/// Replaces text in the type of a property, and its length. Returns whether it was there.
fn replace(property: &mut Vec<u8>, from: &str, to: &str) -> bool {
    let len = u32::from_le_bytes(property[1..5].try_into().unwrap()) as usize;
    let message = std::str::from_utf8(&property[5..5 + len]).unwrap();
    let changed = message.replacen(from, to, 1);
    let is_changed = changed != message;
    property.splice(5..5 + len, changed.bytes());
    property[1..5].copy_from_slice(&(changed.len() as u32).to_le_bytes());
    is_changed
}

#[test]
fn a_forged_directory_without_forgeries_has_the_same_rows() {
    for subject in Subject::all() {
        let directory = forged(&subject.directory, |_, _, _| {});
        assert!(subject.expect_same(&directory, &subject.parquet, "nothing changed"));
    }
}

#[test]
fn values_declared_as_required_or_nullable_that_are_not_are_errors() {
    for (number, subject) in Subject::all().iter().enumerate() {
        for column in 0..subject.rows.num_columns() {
            let [(from, to), _] = [("OPTIONAL", "REQUIRED"), ("REQUIRED", "OPTIONAL")];
            let mut is_changed = false;
            let directory = forged(&subject.directory, |id, property, _| {
                if id == column {
                    is_changed = replace(property, from, to) || replace(property, to, from);
                }
            });
            assert!(is_changed);
            let what = format!("subject {number}, column {column}");
            assert!(
                !subject.expect_same(&directory, &subject.parquet, &what),
                "{what}"
            );
        }
    }
}

/// Types of the same width are not told apart by pages: only a reader of the footer would notice.
#[test]
fn values_of_another_width_than_declared_are_errors() {
    let types = [
        ("INT32", 1),
        ("INT64", 2),
        ("FLOAT", 4),
        ("DOUBLE", 5),
        ("BYTE_ARRAY", 6),
    ];
    let width = |name: &str| match name {
        "INT32" | "FLOAT" => 4,
        "INT64" | "DOUBLE" => 8,
        _ => 0,
    };
    for (number, subject) in Subject::all().iter().enumerate() {
        for (from, _) in types {
            for (to, storage) in types.into_iter().filter(|(to, _)| width(to) != width(from)) {
                let mut is_changed = false;
                let directory = forged(&subject.directory, |_, property, stored| {
                    if *stored != 7 && replace(property, from, to) {
                        is_changed = true;
                        *stored = storage;
                    }
                });
                let what = format!("subject {number}, {from} read as {to}");
                assert!(is_changed, "{what}");
                assert!(
                    !subject.expect_same(&directory, &subject.parquet, &what),
                    "{what}"
                );
            }
        }
    }
}

#[test]
fn places_that_claim_many_bytes_are_problems() {
    let subject = Subject::new(forms()[0]);
    let directory = with_descriptors(&subject.directory, |_, field, _| {
        if let Some(DataEncoding::Parquet(files)) = field.encodings.first_mut() {
            let range = ByteRange::try_new(0, u64::MAX - 1).unwrap();
            files[0].column_chunks[0].data_pages_range = Some(range);
        }
    });
    let is_read = subject.expect_same(&directory, &subject.parquet, "places of 2^64 bytes");
    assert!(!is_read);
}

#[test]
fn groups_without_end_are_refused() {
    let subject = Subject::new(forms()[0]);
    let nested = "optional group g { ".repeat(200_000);
    let directory = forged(&subject.directory, |_, property, _| {
        replace(property, "message m {", &format!("message m {{ {nested}"));
    });
    assert!(!subject.expect_same(&directory, &subject.parquet, "groups in groups"));
}

#[test]
fn numbers_of_the_property_that_matter_are_checked() {
    for (number, subject) in Subject::all().iter().enumerate() {
        let mut rng = StdRng::seed_from_u64(number as u64);
        for _ in 0..cases() {
            let column = rng.random_range(0..subject.rows.num_columns());
            let mut place = String::new();
            let directory = forged(&subject.directory, |id, property, _| {
                if id != column {
                    return;
                }
                let len = u32::from_le_bytes(property[1..5].try_into().unwrap()) as usize;
                // The type may become another one that pages fit as well.
                let numbers = property.len() - 5 - len;
                let at = match rng.random_range(0..numbers + 1) {
                    0 => 0,
                    n => 4 + len + n,
                };
                property[at] ^= [0x01, 0x80, 0xff][rng.random_range(0..3)];
                place = format!("byte {at} of {}", property.len());
            });
            let what = format!("subject {number}, column {column}: {place}");
            subject.expect_same(&directory, &subject.parquet, &what);
        }
    }
}
