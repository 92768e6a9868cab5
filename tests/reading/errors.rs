//! Mistakes of users are errors that name the cause, the place, and a solution.

use crate::support::{NAME, inner, opened, written, written_bytes};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Decimal128Array, Int32Array, Int64Array, NullArray, RecordBatch, RunArray,
    StringArray, StructArray, UnionArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, UnionFields};
use arrow_shard::format::{AnyValue, NameValuePair};
use arrow_shard::io::{ByteRange, MemoryFolder, NoContainer, ReadAt};
use arrow_shard::ops::ShardSet;
use arrow_shard::read::{Projection, ShardOptions};
use arrow_shard::write::{ColumnOptions, Layout, Profile, ShardWriter, WriterOptions};
use arrow_shard::{Error, ErrorKind, Limits, Shard};
use bytes::Bytes;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

/// Returns the error of a call that must fail.
#[track_caller]
fn failure<T>(result: Result<T, Error>) -> Error {
    match result {
        Ok(_) => panic!("no error"),
        Err(error) => error,
    }
}

/// Asserts the kind of an error and the words in its text.
#[track_caller]
fn assert_says(error: &Error, kind: ErrorKind, words: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "`{word}` is missing in: {text}");
    }
}

fn batch() -> RecordBatch {
    let number: Int64Array = (0..3000).map(|i| Some(i * 37 % 1000)).collect();
    let text: StringArray = (0..3000)
        .map(|i| Some(format!("text {}", i * 37 % 1000)))
        .collect();
    let member = Arc::new(Int32Array::from_iter_values(0..3000)) as ArrayRef;
    let position = StructArray::from(vec![
        (
            Arc::new(Field::new("latitude", DataType::Int32, true)),
            member.clone(),
        ),
        (
            Arc::new(Field::new("longitude", DataType::Int32, true)),
            member,
        ),
    ]);
    let columns: [(&str, ArrayRef); 3] = [
        ("number", Arc::new(number)),
        ("text", Arc::new(text)),
        ("position", Arc::new(position)),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn shard() -> Shard {
    Shard::from_bytes(written_bytes(&[batch()], WriterOptions::default())).unwrap()
}

fn open(bytes: impl Into<Bytes>) -> Error {
    failure(Shard::from_bytes(bytes.into()))
}

#[test]
fn what_is_no_shard_is_told_from_what_was_cut() {
    assert_says(&open(""), ErrorKind::NotAShard, &["0 bytes"]);
    assert_says(
        &open("name,value\n1,2\n"),
        ErrorKind::NotAShard,
        &["arrow-shard convert"],
    );
    let text = "name,value\n1,2\n".repeat(100);
    assert_says(
        &open(text.clone()),
        ErrorKind::NotAShard,
        &["footer", "amud"],
    );
    let bytes = written_bytes(&[batch()], WriterOptions::default());
    let cut = bytes.slice(..bytes.len() - 100);
    assert_says(&open(cut), ErrorKind::Corrupt, &["it was cut"]);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, text).unwrap();
    assert_says(
        &failure(Shard::open(&path)),
        ErrorKind::NotAShard,
        &["notes.txt"],
    );
    let missing = failure(Shard::open(folder.path().join("missing.shard")));
    assert_says(&missing, ErrorKind::NotFound, &["missing.shard"]);
    let not_a_file = failure(Shard::open(folder.path()));
    let shown = format!("file `{}`", folder.path().display());
    assert_says(
        &not_a_file,
        ErrorKind::NotAShard,
        &["expected a regular file, found a folder", &shown],
    );
}

#[test]
fn another_version_is_refused_by_number() {
    let mut bytes = written_bytes(&[batch()], WriterOptions::default()).to_vec();
    let major = bytes.len() - 1;
    bytes[major] = 7;
    assert_says(
        &open(bytes),
        ErrorKind::UnsupportedVersion,
        &["7", "footer"],
    );
}

/// A reader with a name.
#[derive(Debug)]
struct Named(Bytes, String);

impl ReadAt for Named {
    fn size(&self) -> Result<u64, Error> {
        self.0.size()
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes, Error> {
        self.0.read_at(range)
    }

    fn name(&self) -> Option<String> {
        Some(self.1.clone())
    }
}

/// A way to open a shard.
type Opener = fn(&Path) -> Shard;

const OPENERS: &[Opener] = &[
    |path| Shard::open(path).unwrap(),
    |path| Shard::open_pooled(path, ShardOptions::default()).unwrap(),
    |path| {
        let (bytes, name) = (std::fs::read(path).unwrap(), path.display().to_string());
        let (reader, options) = (Named(bytes.into(), name), ShardOptions::default());
        Shard::from_reader(Arc::new(reader), Arc::new(NoContainer), options).unwrap()
    },
    #[cfg(feature = "mmap")]
    |path| {
        #[expect(unsafe_code, reason = "the test does not change files that are open")]
        // SAFETY: the file does not change while it is open.
        let shard = unsafe { Shard::open_mmap(path, ShardOptions::default()) };
        shard.unwrap()
    },
];

#[test]
fn the_damaged_file_of_several_is_named_whatever_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(format!("{name}.amudai.shard"));
    let sound = written_bytes(&[batch()], WriterOptions::default());
    let data = sound.len() / 8;
    let mut damaged = sound.to_vec();
    damaged[data] ^= 1;
    for name in ["a", "b", "c"] {
        let bytes = if name == "b" {
            &damaged[..]
        } else {
            &sound[..]
        };
        std::fs::write(path(name), bytes).unwrap();
    }
    let place = |name: &str| format!("file `{}`", path(name).display());
    for open in OPENERS {
        for name in ["a", "b", "c"] {
            let shard = open(&path(name));
            let error = failure(shard.take(&[0], ["nothing"]));
            assert_eq!(error.element(), place(name), "{error}");
            let error = failure(shard.scan().with_row_range(0..1_000_000).build());
            assert_eq!(error.kind(), ErrorKind::RowOutOfRange);
            let read = shard.scan().build().unwrap().find_map(Result::err);
            assert_eq!(read.is_some(), name == "b");
            if let Some(error) = read.map(Error::from) {
                assert_eq!(error.kind(), ErrorKind::Checksum, "{error}");
                assert!(error.element().starts_with(&place("b")), "{error}");
            }
        }
    }
    let set = ShardSet::open_folder(folder.path()).unwrap();
    let read = set.scan().build().unwrap().find_map(Result::err);
    let error = Error::from(read.unwrap());
    assert!(error.element().contains(&place("b")), "{error}");
}

#[test]
fn the_damaged_stripe_file_of_several_is_named_with_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut stripes = Vec::new();
    for name in ["a", "b"] {
        let inside = folder.path().join(name);
        std::fs::create_dir(&inside).unwrap();
        let (memory, stripe) = two_files(Profile::Balanced);
        for name in memory.names() {
            std::fs::write(inside.join(&name), memory.get(&name).unwrap()).unwrap();
        }
        stripes.push(inside.canonicalize().unwrap().join(stripe));
    }
    let mut bytes = std::fs::read(&stripes[1]).unwrap();
    for byte in &mut bytes[64..] {
        *byte ^= 0x40;
    }
    std::fs::write(&stripes[1], bytes).unwrap();
    let place = format!("file `{}`", stripes[1].display());
    for (name, is_damaged) in [("a", false), ("b", true)] {
        let shard = Shard::open(folder.path().join(name).join(NAME)).unwrap();
        let read = shard.scan().build().unwrap().find_map(Result::err);
        assert_eq!(read.is_some(), is_damaged);
        if let Some(error) = read.map(Error::from) {
            assert!(error.element().contains(&place), "{error}");
        }
        // The error names the missing file, and no other.
        std::fs::remove_file(&stripes[usize::from(is_damaged)]).unwrap();
        let shard = Shard::open(folder.path().join(name).join(NAME)).unwrap();
        let error = Error::from(shard.scan().build().unwrap().find_map(Result::err).unwrap());
        let place = format!("file `{}`", stripes[usize::from(is_damaged)].display());
        assert_eq!(
            (error.kind(), error.element()),
            (ErrorKind::NotFound, place)
        );
    }
}

/// Returns the first error of a scan.
fn scan_error(shard: &Shard, projection: impl Into<Projection>) -> Error {
    let batches = shard.scan().with_projection(projection).build().unwrap();
    let mut errors = batches.filter_map(Result::err);
    match errors.next().unwrap() {
        ArrowError::ExternalError(error) => *error.downcast().unwrap(),
        other => panic!("{other} is no error of this crate"),
    }
}

/// Returns a two-level shard of two stripes, and the name of the second stripe's file.
fn two_files(profile: Profile) -> (MemoryFolder, String) {
    let options = WriterOptions::default()
        .with_profile(profile)
        .with_layout(Layout::TwoLevel)
        .with_block_values(1024)
        .with_stripe_rows(1500);
    let folder = written(&batch().schema(), &[batch()], options).unwrap();
    let shard = opened(&folder).unwrap();
    let field = shard.stripe_field_descriptor(1, 0).unwrap().unwrap();
    let arrow_shard::format::DataEncoding::Native(native) = &field.encodings[0] else {
        panic!("an encoding of another kind");
    };
    let name = native.buffers[0].buffer.as_ref().unwrap().url.clone();
    (folder, name)
}

#[test]
fn a_wrong_checksum_of_data_names_shard_file_stripe_field_and_block() {
    let (folder, name) = two_files(Profile::Balanced);
    let file = folder.get(&name).unwrap();
    let field = opened(&folder)
        .unwrap()
        .stripe_field_descriptor(1, 0)
        .unwrap()
        .unwrap();
    let arrow_shard::format::DataEncoding::Native(native) = &field.encodings[0] else {
        panic!("an encoding of another kind");
    };
    let range = native.buffers[0].buffer.as_ref().unwrap().range;
    let mut damaged = file.to_vec();
    // Stripe 1 has 1,500 rows in blocks of 1,024; this byte is near the start of the first block.
    damaged[usize::try_from(range.start()).unwrap() + 20] ^= 0x40;
    folder.insert(name.clone(), damaged);
    let error = scan_error(&opened(&folder).unwrap(), ["number"]);
    assert_says(
        &error,
        ErrorKind::Checksum,
        &["stripe 1", "`number`", "block 0", "DATA buffer", &name],
    );
    // The other column and the other stripe can still be read.
    let shard = opened(&folder).unwrap();
    assert_eq!(shard.take(&[1499], ["number"]).unwrap().num_rows(), 1);
    assert_eq!(shard.take(&[1500], ["text"]).unwrap().num_rows(), 1);
}

#[test]
fn a_wrong_checksum_of_a_raw_buffer_names_the_bytes() {
    let (folder, name) = two_files(Profile::Plain);
    let mut damaged = folder.get(&name).unwrap().to_vec();
    damaged[64] ^= 1;
    folder.insert(name.clone(), damaged);
    let error = scan_error(&opened(&folder).unwrap(), ["number"]);
    assert_says(
        &error,
        ErrorKind::Checksum,
        &["stripe 1", "`number`", "bytes 0..12000", &name],
    );
}

#[test]
fn a_wrong_checksum_of_metadata_names_the_element() {
    let bytes = written_bytes(&[batch()], WriterOptions::default());
    let shard = Shard::from_bytes(bytes.clone()).unwrap();
    let range = shard.directory().schema_ref.as_ref().unwrap().range;
    let mut damaged = bytes.to_vec();
    damaged[usize::try_from(range.start()).unwrap() + 10] ^= 1;
    let error = failure(Shard::from_bytes(damaged.into()).unwrap().schema());
    assert_says(&error, ErrorKind::Checksum, &["schema"]);
    let mut damaged = bytes.to_vec();
    let directory = damaged.len() - 30;
    damaged[directory] ^= 1;
    assert_says(&open(damaged), ErrorKind::Checksum, &["shard directory"]);
}

#[test]
fn a_missing_stripe_file_is_named() {
    let (folder, name) = two_files(Profile::Balanced);
    let rest = MemoryFolder::new();
    for other in folder.names().into_iter().filter(|other| *other != name) {
        rest.insert(other.clone(), folder.get(&other).unwrap());
    }
    let error = scan_error(&opened(&rest).unwrap(), Projection::All);
    assert_says(&error, ErrorKind::NotFound, &[&name]);
    let alone = Shard::from_bytes(folder.get(NAME).unwrap()).unwrap();
    let error = scan_error(&alone, Projection::All);
    assert_says(
        &error,
        ErrorKind::ForbiddenUrl,
        &["directory file", "container"],
    );
}

#[test]
fn an_unknown_column_comes_with_the_nearest_name() {
    let shard = shard();
    let build = |path: &str| failure(shard.scan().with_projection([path]).build());
    assert_says(
        &build("numbr"),
        ErrorKind::UnknownColumn,
        &["`numbr`", "did you mean `number`?"],
    );
    assert_says(
        &build("position.latitud"),
        ErrorKind::UnknownColumn,
        &["`latitude`"],
    );
    assert_says(
        &build("text.size"),
        ErrorKind::UnknownColumn,
        &["size", "Utf8"],
    );
    assert_says(
        &build("entirely different"),
        ErrorKind::UnknownColumn,
        &["entirely different"],
    );
    assert_says(
        &failure(shard.take(&[0], ["txt"])),
        ErrorKind::UnknownColumn,
        &["`text`"],
    );
    let by_index = failure(shard.scan().with_projection([3]).build());
    assert_says(&by_index, ErrorKind::UnknownColumn, &["3"]);
    let schema = Arc::new(Schema::new(vec![Field::new(
        "nummer",
        DataType::Int64,
        true,
    )]));
    let requested = failure(shard.scan().with_schema(schema).build());
    assert_says(&requested, ErrorKind::UnknownColumn, &["`number`"]);
}

#[test]
fn a_name_of_two_columns_is_ambiguous_and_an_index_is_not() {
    let field = |i: i32| Field::new(if i < 2 { "twin" } else { "only" }, DataType::Int32, true);
    let schema: SchemaRef = Arc::new(Schema::new((0..3).map(field).collect::<Vec<_>>()));
    let columns = (0..3).map(|i| Arc::new(Int32Array::from(vec![i])) as ArrayRef);
    let batch = RecordBatch::try_new(schema, columns.collect()).unwrap();
    let shard = Shard::from_bytes(written_bytes(&[batch], WriterOptions::default())).unwrap();
    let error = failure(shard.scan().with_projection(["twin"]).build());
    assert_says(
        &error,
        ErrorKind::AmbiguousColumn,
        &["2 columns", "`twin`", "index"],
    );
    assert_eq!(shard.take(&[0], [1]).unwrap().num_columns(), 1);
    assert_eq!(shard.take(&[0], ["only"]).unwrap().num_columns(), 1);
}

#[test]
fn a_batch_of_another_schema_is_told_apart_by_column() {
    let schema = Schema::new(vec![
        Field::new("a", DataType::Int32, false),
        Field::new("b", DataType::Utf8, true),
    ]);
    let (a, b) = (
        Arc::new(Int32Array::from(vec![1])),
        Arc::new(StringArray::from(vec!["x"])),
    );
    let mut file = Vec::new();
    let mut writer =
        ShardWriter::try_new(&mut file, Arc::new(schema), WriterOptions::default()).unwrap();
    let mut write = |columns: Vec<(&str, ArrayRef)>| {
        failure(writer.write(&RecordBatch::try_from_iter(columns).unwrap()))
    };
    let fewer = write(vec![("a", a.clone())]);
    assert_says(&fewer, ErrorKind::SchemaMismatch, &["1 columns", "2"]);
    let swapped = write(vec![("b", b.clone()), ("a", a.clone())]);
    assert_says(&swapped, ErrorKind::SchemaMismatch, &["`b`", "`a`"]);
    let wider = write(vec![
        ("a", Arc::new(Int64Array::from(vec![1]))),
        ("b", b.clone()),
    ]);
    assert_says(
        &wider,
        ErrorKind::SchemaMismatch,
        &["`a`", "Int64", "Int32", "cast"],
    );
    let null = write(vec![
        ("a", Arc::new(Int32Array::from(vec![None]))),
        ("b", b.clone()),
    ]);
    assert_says(&null, ErrorKind::SchemaMismatch, &["`a`", "without nulls"]);
    writer
        .write(&RecordBatch::try_from_iter([("a", a as ArrayRef), ("b", b)]).unwrap())
        .unwrap();
    assert_eq!(writer.finish().unwrap().num_rows(), 1);
}

#[test]
fn a_decimal_beyond_its_precision_names_column_and_row() {
    let values = Decimal128Array::from(vec![Some(1), None, Some(12_345)]);
    // Arrow does not check this.
    let values = values.with_data_type(DataType::Decimal128(3, 1));
    let batch = RecordBatch::try_from_iter([("price", Arc::new(values) as ArrayRef)]).unwrap();
    for profile in [Profile::Plain, Profile::Balanced] {
        let options = WriterOptions::default().with_profile(profile);
        let error = failure(written(
            &batch.schema(),
            std::slice::from_ref(&batch),
            options,
        ));
        assert_says(
            &error,
            ErrorKind::ValueOutOfRange,
            &["`price`", "value 2 of these", "12345", "Decimal128(3, 1)"],
        );
    }
}

#[test]
fn rows_that_are_not_there_are_out_of_range() {
    let shard = shard();
    let take = failure(shard.take(&[5, 3000], ["number"]));
    assert_says(&take, ErrorKind::RowOutOfRange, &["row 3000", "3000 rows"]);
    let scan = failure(shard.scan().with_row_range(10..3001).build());
    assert_says(&scan, ErrorKind::RowOutOfRange, &["10..3001", "3000 rows"]);
    let (start, end) = (20, 10);
    let backwards = failure(shard.scan().with_row_range(start..end).build());
    assert_says(&backwards, ErrorKind::RowOutOfRange, &["20..10"]);
    let nothing = failure(shard.scan().with_batch_size(0).build());
    assert_says(&nothing, ErrorKind::InvalidArgument, &["at least one row"]);
    assert_eq!(shard.scan().with_offset(5000).build().unwrap().count(), 0);
}

#[test]
fn options_that_make_no_sense_are_refused_before_anything_is_written() {
    let refused = |options: WriterOptions| {
        let mut file = Vec::new();
        let writer = ShardWriter::try_new(&mut file, batch().schema(), options);
        failure(writer.map(drop))
    };
    let default = WriterOptions::default;
    for values in [0, 1000, 1 << 17] {
        let error = refused(default().with_block_values(values));
        assert_says(
            &error,
            ErrorKind::InvalidArgument,
            &["block_values", "1,024"],
        );
    }
    let error = refused(default().with_stripe_rows(0));
    assert_says(&error, ErrorKind::InvalidArgument, &["stripe_rows"]);
    let error = refused(default().with_layout(Layout::TwoLevel));
    assert_says(&error, ErrorKind::InvalidArgument, &["create_with"]);
    let error = refused(default().with_column("numbr", ColumnOptions::default()));
    assert_says(&error, ErrorKind::UnknownColumn, &["`numbr`"]);
    let property = NameValuePair::new("arrow_shard.mine", AnyValue::from("x"));
    let error = refused(default().with_property(property.clone()));
    assert_says(
        &error,
        ErrorKind::InvalidArgument,
        &["arrow_shard.mine", "reserved"],
    );
    let error = refused(default().with_stripe_property(property));
    assert_says(&error, ErrorKind::InvalidArgument, &["reserved"]);
}

#[test]
fn types_that_a_column_cannot_become_are_named() {
    let shard = shard();
    let request = |data_type: DataType| {
        let schema = Arc::new(Schema::new(vec![Field::new("text", data_type, true)]));
        let reader = shard.scan().with_schema(schema).build();
        let read = reader
            .map_err(ArrowError::from)
            .and_then(|r| r.collect::<Result<Vec<_>, _>>());
        match read {
            Ok(_) => panic!("text became something else"),
            Err(error) => error,
        }
    };
    let error = request(DataType::new_list(DataType::Int8, true));
    assert_says(
        inner(&error),
        ErrorKind::SchemaMismatch,
        &["`text`", "List", "String"],
    );
    let strict = Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, false)]));
    let nulls =
        RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(vec![None])) as ArrayRef)]);
    let bytes = written_bytes(&[nulls.unwrap()], WriterOptions::default());
    let reader = Shard::from_bytes(bytes)
        .unwrap()
        .scan()
        .with_schema(strict)
        .build()
        .unwrap();
    let error = reader.collect::<Result<Vec<_>, _>>().unwrap_err();
    assert_says(
        inner(&error),
        ErrorKind::SchemaMismatch,
        &["`n`", "without nulls", "nullable"],
    );
}

#[test]
fn limits_are_named_with_the_number_that_exceeds_them() {
    let bytes = written_bytes(&[batch()], WriterOptions::default());
    let options = |limits| ShardOptions::default().with_limits(limits);
    let opened = crate::support::remote(
        bytes.clone(),
        options(Limits::default().with_max_message_bytes(20)),
    );
    let says = &["Limits::max_message_bytes allows 20"];
    assert_says(&failure(opened), ErrorKind::LimitExceeded, says);
    let limits = Limits::default().with_max_batch_bytes(1000);
    let shard = crate::support::remote(bytes, options(limits)).unwrap();
    let error = scan_error(&shard, ["number"]);
    assert_says(
        &error,
        ErrorKind::LimitExceeded,
        &["max_batch_bytes", "1000", "`number`"],
    );
}

#[test]
fn errors_are_small_and_cross_threads() {
    fn good<T: std::error::Error + Send + Sync + Debug + 'static>(_: &T) {}
    let error = open("");
    good(&error);
    assert!(size_of::<Error>() <= 8);
    let arrow = ArrowError::from(error);
    assert_eq!(inner(&arrow).kind(), ErrorKind::NotAShard);
}

#[test]
fn nulls_that_a_field_need_not_declare_are_stored() {
    let variant = |nullable| Field::new("number", DataType::Int32, nullable);
    let fields = UnionFields::from_fields(vec![variant(true)]);
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    let union = UnionArray::try_new(fields, vec![0i8, 0, 0].into(), None, vec![numbers.clone()]);
    let ends = Int32Array::from(vec![1, 2, 3]);
    let runs = RunArray::<Int32Type>::try_new(&ends, &numbers).unwrap();
    let columns: [ArrayRef; 3] = [
        Arc::new(union.unwrap()),
        Arc::new(runs),
        Arc::new(NullArray::new(3)),
    ];
    for column in columns {
        let field = Field::new("c", column.data_type().clone(), false);
        let schema = Arc::new(Schema::new(vec![field]));
        let batch = RecordBatch::try_new(schema, vec![column]).unwrap();
        let bytes = written_bytes(std::slice::from_ref(&batch), WriterOptions::default());
        let shard = Shard::from_bytes(bytes).unwrap();
        assert_eq!(
            shard.scan().build().unwrap().next().unwrap().unwrap(),
            batch
        );
    }
}
