//! Damaged shards: every byte changed, every number replaced, every truncation; without and with repaired checksums, as
//! an attacker would do. A quarter of these changes are tried, all of them if the variable `FULL` is set. Reading
//! returns an error or the written data. It never panics, hangs, returns other data, or takes more memory than 64 MiB
//! plus 64 bytes for every byte of the shard.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]
#![expect(clippy::panic, reason = "reports what went wrong with many files")]

#[path = "../support/covered.rs"]
mod covered;
#[path = "../support/descriptors.rs"]
mod descriptors;
mod sample;
#[path = "../support/subjects.rs"]
mod subjects;
#[path = "../support/mod.rs"]
mod support;

use arrow_array::{Array, BooleanArray, RecordBatch, Scalar};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_shard::io::MemoryFolder;
use arrow_shard::metadata::Wire;
use arrow_shard::read::{BlobForm, Literal, Predicate, Projection, ScanBuilder, ShardOptions, col};
use arrow_shard::write::WriterOptions;
use arrow_shard::{Error, Limits, Result, Shard};
use bytes::Bytes;
use covered::{Covered, covered};
use sample::Sample;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::allocations::{self, Counting};
use support::{collect, written};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MEMORY: usize = 64 << 20;
const MEMORY_PER_BYTE: usize = 64;
/// Far more time than any case takes, even without optimization.
const TIME: Duration = Duration::from_secs(5);

/// The files of a shard, and their data.
struct Subject {
    files: Vec<(String, Vec<u8>)>,
    questions: Questions,
    intact: Content,
}

/// Everything that can be read from a shard, part by part.
#[derive(Debug)]
struct Content {
    schema: Result<SchemaRef>,
    rows: Result<Vec<RecordBatch>>,
    /// The rows with internal fields, if they were read.
    internal: Option<Result<Vec<RecordBatch>>>,
    taken: Result<RecordBatch>,
    /// The results of the subject's filters.
    filtered: Vec<Result<Vec<RecordBatch>>>,
    /// The rows, read in parts or by threads.
    parts: Result<Vec<RecordBatch>>,
    statistics: [Result<RecordBatch>; 2],
    /// Whether verification found no problem, if it ran.
    is_sound: Option<bool>,
}

/// Filters to read with, in addition to reading all rows. Each case uses only some of them, because using all would
/// take too long.
struct Questions {
    /// A predicate over all columns.
    any: Predicate,
    /// Further predicates; each case uses one of them.
    others: Vec<Predicate>,
}

impl Questions {
    /// Creates predicates for every column, which values decide, and statistics, filters and indexes may decide.
    fn new(batch: &RecordBatch) -> Self {
        let mut values = Vec::new();
        let mut others = Vec::new();
        for (i, (field, array)) in batch
            .schema()
            .fields()
            .iter()
            .zip(batch.columns())
            .enumerate()
        {
            let column = || col(field.name());
            others.push(column().is_null());
            let value = array.slice(i * 7 % array.len().max(1), array.len().min(1));
            let plain = match field.data_type() {
                DataType::Dictionary(_, values) => values,
                DataType::RunEndEncoded(_, values) => values.data_type(),
                other => other,
            };
            if value.is_empty() || plain.is_nested() {
                continue;
            }
            let literal = arrow_cast::cast(&value, plain).ok();
            let literal = literal.and_then(|value| Literal::try_new(&Scalar::new(value)).ok());
            let Some(literal) = literal else { continue };
            values.push(column().eq(literal.clone()));
            others.push(column().not_eq(literal.clone()));
            others.push(
                column()
                    .lt(literal.clone())
                    .or(column().gt(literal.clone())),
            );
            others.push(column().is_in([literal]));
        }
        let any = values.into_iter().reduce(Predicate::or);
        Self {
            any: any.unwrap_or_else(|| Predicate::from_fn([] as [&str; 0], all)),
            others,
        }
    }

    /// Returns all predicates for intact data; otherwise the first one, and one of the others.
    fn asked(&self, which: Option<usize>) -> Vec<Option<&Predicate>> {
        let other = |i: usize| which.is_none_or(|n| n % self.others.len() == i);
        let others = self.others.iter().enumerate();
        let others = others.map(|(i, predicate)| other(i).then_some(predicate));
        std::iter::once(Some(&self.any)).chain(others).collect()
    }
}

/// Returns true for every row.
fn all(batch: &RecordBatch) -> std::result::Result<BooleanArray, ArrowError> {
    Ok(BooleanArray::from(vec![true; batch.num_rows()]))
}

impl Subject {
    fn new(batch: &RecordBatch, options: WriterOptions) -> Self {
        let folder = written(&batch.schema(), std::slice::from_ref(batch), options).unwrap();
        Self::of_files(folder)
    }

    fn of_files(folder: MemoryFolder) -> Self {
        let file = |name: String| {
            let bytes = folder.get(&name).unwrap().to_vec();
            (name, bytes)
        };
        let files: Vec<_> = folder.names().into_iter().map(file).collect();
        let size: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(size < 10_000, "a shard of {size} bytes takes too long");
        let rows = open(&files, Limits::default()).unwrap().num_rows();
        let shard = open(&files, Limits::default()).unwrap();
        let everything = collect(shard.scan().build().unwrap()).unwrap();
        let questions = Questions::new(&everything);
        let intact = read(&files, rows, Limits::default(), &questions, None).unwrap();
        let filtered = intact.filtered.iter().all(|rows| rows.is_ok());
        let parts = intact.parts.is_ok() && intact.statistics.iter().all(Result::is_ok);
        let internal = intact.internal.iter().all(Result::is_ok);
        let all = intact.schema.is_ok() && intact.rows.is_ok() && intact.taken.is_ok();
        let all = all && intact.is_sound == Some(true);
        assert!(all && internal && filtered && parts, "{intact:?}");
        Self {
            files,
            questions,
            intact,
        }
    }

    fn rows(&self) -> u64 {
        let batches = self.intact.rows.as_ref().unwrap();
        batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    /// Returns whether a column has a range index.
    fn has_range_index(&self) -> bool {
        let shard = open(&self.files, Limits::default()).unwrap();
        let fields = shard.shard_schema().unwrap().fields;
        let mut indexes = fields.iter().map(|f| shard.range_index(0, &f.data_type));
        indexes.any(|index| index.unwrap().is_some())
    }

    fn size(&self) -> usize {
        self.files.iter().map(|(_, bytes)| bytes.len()).sum()
    }
}

fn open(files: &[(String, Vec<u8>)], limits: Limits) -> Result<Shard> {
    let folder = MemoryFolder::new();
    let mut directory = Bytes::new();
    for (name, content) in files {
        let content = Bytes::copy_from_slice(content);
        if name.ends_with(".amudai.shard") {
            directory = content.clone();
        }
        folder.insert(name, content);
    }
    let options = ShardOptions::default().with_limits(limits);
    Shard::from_reader(Arc::new(directory), Arc::new(folder), options)
}

/// Reads everything; `rows` is the expected number of rows. `which` selects one of the slow reads; `None` selects all
/// of them.
fn read(
    files: &[(String, Vec<u8>)],
    rows: u64,
    limits: Limits,
    questions: &Questions,
    which: Option<usize>,
) -> Result<Content> {
    let shard = open(files, limits)?;
    // The results of these calls are not data; the calls must only terminate.
    let _ = shard.shard_schema();
    let _ = shard.properties();
    let _ = shard.sorting_columns();
    for stripe in shard.stripes().unwrap_or_default().iter().take(3) {
        let _ = stripe.properties();
    }
    for id in 0..4 {
        let _ = shard.field_descriptor(id);
        let _ = shard.stripe_field_descriptor(0, id);
    }
    if let Ok(schema) = shard.shard_schema() {
        for field in schema.fields.iter().take(4) {
            let _ = shard.range_index(0, &field.data_type);
        }
    }
    if let Ok(Some(mut blob)) = shard.open_blob(0, "image") {
        let _ = blob.read_to_end(&mut Vec::new());
        let _ = scan(shard.scan().with_blobs_as(BlobForm::Descriptions), rows);
    }
    let asked = questions.asked(which);
    let filtered = asked.into_iter().map(|predicate| match predicate {
        // A shard may claim 2^63 rows that do not match.
        Some(predicate) => {
            let last = shard.num_rows().min(rows + 1000);
            scan(
                shard
                    .scan()
                    .with_filter(predicate.clone())
                    .with_row_range(0..last),
                last,
            )
        }
        None => Ok(Vec::new()),
    });
    let parts = match which.unwrap_or(0) % 8 {
        0 => scan(shard.scan().with_threads(2), rows),
        n => shard.scan().split(n).and_then(|parts| {
            let mut all = Vec::new();
            for part in parts {
                all.extend(scan(part, rows)?);
            }
            Ok(all)
        }),
    };
    Ok(Content {
        schema: shard.schema(),
        rows: scan(shard.scan(), rows),
        internal: is_asked_for_internal(which)
            .then(|| scan(shard.scan().with_internal_fields(true), rows)),
        taken: take(&shard, rows),
        filtered: filtered.collect(),
        parts,
        statistics: [
            shard.statistics(Projection::All),
            shard.stripe_statistics(Projection::All),
        ],
        is_sound: which.is_none_or(|n| n.is_multiple_of(8)).then(|| {
            let report = shard.verify();
            report.is_ok_and(|report| report.is_sound())
        }),
    })
}

/// Returns whether internal fields are read as well: for intact data, and in every fourth case.
fn is_asked_for_internal(which: Option<usize>) -> bool {
    which.is_none_or(|n| n.is_multiple_of(4))
}

/// Returns the batches of a scan, until there are more rows than expected.
fn scan(scan: ScanBuilder, rows: u64) -> Result<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    let mut found = 0;
    // Several batches, but few enough for long columns.
    let size = usize::try_from(rows / 4).unwrap_or(usize::MAX).max(29);
    for batch in scan.with_batch_size(size).build()? {
        let batch = batch.map_err(own_error)?;
        for column in batch.columns() {
            if let Err(e) = column.to_data().validate_full() {
                panic!("an array that is not valid: {e}");
            }
        }
        found += batch.num_rows() as u64;
        batches.push(batch);
        // A shard may claim 2^63 rows without values.
        if found > rows + 1000 {
            break;
        }
    }
    Ok(batches)
}

fn own_error(error: ArrowError) -> Error {
    match error {
        ArrowError::ExternalError(e) => *e.downcast().unwrap(),
        other => panic!("{other} is not an error of this crate"),
    }
}

fn take(shard: &Shard, rows: u64) -> Result<RecordBatch> {
    let wanted: Vec<u64> = match rows {
        0 => vec![],
        n => vec![n - 1, 0, n / 2, n / 3],
    };
    shard.take(&wanted, Projection::All)
}

/// The allowed results of reading a damaged shard.
#[derive(Clone, Copy, PartialEq)]
enum Allowed {
    /// The written data, or an error.
    SameData,
    /// Any valid array, or an error, because repaired checksums confirm the damage.
    AnyData,
}

/// Returns whether rows are the expected ones, in any batches, or an error.
fn equal_rows(found: &Result<Vec<RecordBatch>>, expected: &Result<Vec<RecordBatch>>) -> bool {
    let (Ok(found), Ok(expected)) = (found, expected) else {
        return found.is_err();
    };
    if found == expected {
        return true;
    }
    let count = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    let Some(schema) = found.first().or(expected.first()).map(RecordBatch::schema) else {
        return true;
    };
    if schema.fields().is_empty() {
        return count(found) == count(expected);
    }
    let joined = |batches| concat_batches(&schema, batches).ok();
    count(found) == count(expected) && joined(found) == joined(expected)
}

struct Trial<'a> {
    subject: &'a Subject,
    allowed: Allowed,
    limits: Limits,
    failures: Vec<String>,
    trials: usize,
    accepted: usize,
}

impl<'a> Trial<'a> {
    fn new(subject: &'a Subject, allowed: Allowed) -> Self {
        let limits = match allowed {
            Allowed::SameData => Limits::default(),
            // The limits of a reader bound the claims of an attacker.
            Allowed::AnyData => Limits::default()
                .with_max_message_bytes(1 << 20)
                .with_max_block_values(1 << 16)
                .with_max_block_bytes(4 << 20)
                .with_max_dictionary_bytes(4 << 20)
                .with_max_batch_bytes(16 << 20),
        };
        Self {
            subject,
            allowed,
            limits,
            failures: Vec::new(),
            trials: 0,
            accepted: 0,
        }
    }

    fn read(&mut self, files: &[(String, Vec<u8>)], what: impl Fn() -> String) {
        self.trials += 1;
        let rows = self.subject.rows();
        let start = Instant::now();
        allocations::start();
        let outcome = allocations::caught(|| {
            let questions = &self.subject.questions;
            read(
                files,
                rows,
                self.limits.clone(),
                questions,
                Some(self.trials),
            )
        });
        let peak = allocations::peak();
        let time = start.elapsed();
        let budget = MEMORY + MEMORY_PER_BYTE * self.subject.size();
        let wrong = match outcome {
            Err(panic) => Some(format!("panic: {panic}")),
            Ok(_) if peak > budget => Some(format!("{peak} bytes of memory")),
            Ok(_) if time > TIME => Some(format!("{time:?}")),
            Ok(Ok(content)) => self.judge(&content),
            Ok(Err(_)) => None,
        };
        if let Some(wrong) = wrong {
            // One example of each kind is enough for the report.
            let kind = wrong
                .split(|c: char| c.is_ascii_digit())
                .next()
                .unwrap_or_default();
            let known = self.failures.iter().filter(|f| f.contains(kind)).count();
            if known < 3 {
                self.failures.push(format!("{}: {wrong}", what()));
            }
        }
    }

    fn judge(&mut self, content: &Content) -> Option<String> {
        let intact = &self.subject.intact;
        self.accepted += usize::from(content.rows.is_ok());
        if content.is_sound == Some(true) {
            let refused = content
                .schema
                .as_ref()
                .err()
                .or(content.rows.as_ref().err());
            if let Some(error) = refused {
                return Some(format!("verified as sound, and refused: {error}"));
            }
        }
        if self.allowed == Allowed::AnyData {
            return None;
        }
        let same = |ok: bool, what: &str| (!ok).then(|| format!("other {what}: {content:?}"));
        let schema = content
            .schema
            .as_ref()
            .ok()
            .map(|s| intact.schema.as_ref().unwrap() == s);
        let rows = content
            .rows
            .as_ref()
            .ok()
            .map(|r| intact.rows.as_ref().unwrap() == r);
        let taken = content
            .taken
            .as_ref()
            .ok()
            .map(|t| intact.taken.as_ref().unwrap() == t);
        let internal = match (&content.internal, &intact.internal) {
            (Some(found), Some(expected)) => equal_rows(found, expected),
            _ => true,
        };
        let asked = self.subject.questions.asked(Some(self.trials));
        let filtered = content.filtered.iter().zip(&intact.filtered).zip(asked);
        let filtered = filtered
            .filter(|(_, asked)| asked.is_some())
            .all(|((found, expected), _)| equal_rows(found, expected));
        let statistics = content.statistics.iter().zip(&intact.statistics);
        let statistics = statistics
            .filter_map(|(found, expected)| Some((found.as_ref().ok()?, expected.as_ref().ok()?)))
            .all(|(found, expected)| found == expected);
        same(schema.unwrap_or(true), "schema")
            .or(same(rows.unwrap_or(true), "rows"))
            .or(same(internal, "rows with internal fields"))
            .or(same(taken.unwrap_or(true), "rows by number"))
            .or(same(filtered, "rows that match"))
            .or(same(
                equal_rows(&content.parts, &intact.rows),
                "rows in parts",
            ))
            .or(same(statistics, "statistics"))
    }

    /// Panics if any case failed, or if few cases of the sample ran.
    fn finish(self, sample: &Sample) {
        let least = sample.share_of(1000);
        assert!(self.trials > least, "only {} trials", self.trials);
        assert!(
            self.accepted < self.trials,
            "no damage was noticed: {} of {}",
            self.accepted,
            self.trials
        );
        // Changes of some bytes have no effect, or lead to another valid shard.
        assert!(self.accepted > 0, "nothing could be read any more");
        assert!(self.failures.is_empty(), "{:#?}", self.failures);
    }
}

#[test]
fn memory_and_panics_are_noticed() {
    allocations::start();
    drop(std::hint::black_box(vec![1u8; 1 << 20]));
    let peak = allocations::peak();
    assert!((1 << 20..2 << 20).contains(&peak), "{peak}");
    let panic = allocations::caught(|| panic!("on purpose")).unwrap_err();
    assert!(
        panic.contains("on purpose") && panic.contains("corruption/main.rs"),
        "{panic}"
    );
}

/// Damages every file in every way, without repairing checksums.
fn damage(subject: &Subject) {
    let mut trial = Trial::new(subject, Allowed::SameData);
    let mut sample = Sample::default();
    for (i, (name, bytes)) in subject.files.iter().enumerate() {
        let mut files = subject.files.clone();
        sample.changes(bytes, 0..bytes.len(), |changed, what| {
            std::mem::swap(&mut files[i].1, changed);
            trial.read(&files, || format!("{name}, {what}"));
            std::mem::swap(&mut files[i].1, changed);
        });
        for len in (0..bytes.len()).filter(|_| sample.takes_next()) {
            files[i].1.truncate(0);
            files[i].1.extend_from_slice(&bytes[..len]);
            trial.read(&files, || format!("{name}, cut to {len} bytes"));
        }
    }
    trial.finish(&sample);
}

/// Damages everything that a checksum covers, and repairs the checksum, and the checksums that cover it.
fn mended(subject: &Subject) {
    let mut trial = Trial::new(subject, Allowed::AnyData);
    let mut sample = Sample::default();
    let regions = covered(&subject.files);
    let mut files = subject.files.clone();
    for region in &regions {
        let name = &subject.files[region.file].0;
        let bytes = &subject.files[region.file].1;
        sample.changes(bytes, region.bytes.clone(), |changed, what| {
            std::mem::swap(&mut files[region.file].1, changed);
            Covered::mend(&regions, region, &mut files);
            trial.read(&files, || {
                format!("{name}, {}, {what}, mended", region.name)
            });
            files.clone_from(&subject.files);
        });
    }
    trial.finish(&sample);
}

macro_rules! subjects {
    ($($name:ident => $subject:expr;)*) => {$(
        mod $name {
            #[test]
            fn damage_is_an_error_or_does_no_harm() {
                if let Some(subject) = $subject {
                    super::damage(&subject);
                }
            }

            #[test]
            fn mended_damage_is_no_more_than_other_data() {
                if let Some(subject) = $subject {
                    super::mended(&subject);
                }
            }
        }
    )*};
}

subjects! {
    balanced => Some(super::subjects::balanced());
    plain => Some(super::subjects::plain());
    nested => Some(super::subjects::nested());
    packed => Some(super::subjects::packed());
    packed_columns => Some(super::subjects::packed_columns());
    blobs => Some(super::subjects::blobs());
    delimited => Some(super::subjects::delimited());
    dictionaries => Some(super::subjects::dictionaries());
    two_stripes => Some(super::subjects::two_stripes());
    two_files => Some(super::subjects::two_files());
    deleted => Some(super::subjects::deleted());
    added_column => Some(super::subjects::added_column());
    internal_fields => Some(super::subjects::internal_fields());
    several_encodings => Some(super::subjects::several_encodings());
    unions_in_stripes => Some(super::subjects::unions_in_stripes());
    without_rows => Some(super::subjects::without_rows());
    without_columns => Some(super::subjects::without_columns());
    wide => Some(super::subjects::wide());
    encodings => Some(super::subjects::encodings());
    reference => super::subjects::reference("row1_null");
    reference_indexed => super::subjects::reference_indexed();
    native_types => Some(super::subjects::native_types());
    filtered => Some(super::subjects::filtered(super::Wire::Spec));
    filtered_reference => Some(super::subjects::filtered(super::Wire::Reference));
    indexed => Some(super::subjects::indexed(super::Wire::Spec));
    indexed_reference => Some(super::subjects::indexed(super::Wire::Reference));
}
