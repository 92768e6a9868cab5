//! Blobs: large values with separate blocks. Readers can read parts of a blob, and scans can return descriptions.

use crate::logged::{Logged, bytes_of};
use crate::support::{NAME, collect, inner, opened, written, written_bytes};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, Int32Array, LargeBinaryArray, LargeStringArray,
    RecordBatch, StringViewArray,
};
use arrow_schema::{DataType, Field, Schema};
use arrow_shard::io::{ByteRange, MemoryFolder, NoContainer, ReadAt};
use arrow_shard::metadata::Wire;
use arrow_shard::ops::ShardEditor;
use arrow_shard::read::inspect::{FieldInfo, InspectOptions};
use arrow_shard::read::{BlobForm, ShardOptions, col};
use arrow_shard::write::{ColumnOptions, Layout, PresenceLayout, Profile, WriterOptions};
use arrow_shard::{Error, ErrorKind, Shard, ShardWriter};
use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

const ROWS: usize = 700;
/// Fewest bytes of a blob.
const LEAST: usize = 3000;
const COLUMNS: [&str; 5] = ["binary", "large", "view", "text", "text_view"];

fn noise(i: usize) -> usize {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
}

/// Returns a value of about the least size of a blob, a much larger, small or empty one, or null, alone or in runs.
fn value(i: usize) -> Option<Vec<u8>> {
    let len = match i {
        200..260 => LEAST + i,
        300..360 => noise(i) % 50,
        _ => match noise(i) % 9 {
            0 => return None,
            1 => 0,
            2 => LEAST - 1,
            3 => LEAST,
            4 => LEAST + noise(i) % 60_000,
            _ => noise(i) % 400,
        },
    };
    Some(
        (0..len)
            .map(|k| b'a' + u8::try_from(noise(i * 31 + k) % 26).unwrap())
            .collect(),
    )
}

fn text(i: usize) -> Option<String> {
    value(i).map(|bytes| String::from_utf8(bytes).unwrap())
}

fn table() -> RecordBatch {
    let rows = || 0..ROWS;
    let columns: [ArrayRef; 5] = [
        Arc::new(rows().map(value).collect::<BinaryArray>()),
        Arc::new(rows().map(|i| value(i + 1)).collect::<LargeBinaryArray>()),
        Arc::new(rows().map(|i| value(i + 2)).collect::<BinaryViewArray>()),
        Arc::new(rows().map(text).collect::<LargeStringArray>()),
        Arc::new(rows().map(|i| text(i + 3)).collect::<StringViewArray>()),
    ];
    let named = COLUMNS.iter().zip(columns);
    let ids = Arc::new((0..i32::try_from(ROWS).unwrap()).collect::<Int32Array>()) as ArrayRef;
    let named = named.map(|(name, array)| (*name, array, true));
    RecordBatch::try_from_iter_with_nullable(named.chain([("id", ids, false)])).unwrap()
}

fn with_blobs(options: WriterOptions) -> WriterOptions {
    let column = ColumnOptions::default().with_blobs(LEAST);
    COLUMNS.iter().fold(options, |options, name| {
        options.with_column(*name, column.clone())
    })
}

fn bytes_at(array: &ArrayRef, row: usize) -> Option<Vec<u8>> {
    let bytes = arrow_cast::cast(array, &DataType::LargeBinary).unwrap();
    let bytes = bytes.as_binary::<i64>();
    bytes.is_valid(row).then(|| bytes.value(row).to_vec())
}

const PROFILES: [Profile; 5] = [
    Profile::Plain,
    Profile::Fast,
    Profile::Balanced,
    Profile::HighCompression,
    Profile::MinimalSize,
];

#[test]
fn every_profile_and_way_to_read_gives_what_was_written() {
    let all = table();
    let schema = all.schema();
    let parts = [all.slice(0, 123), all.slice(123, ROWS - 123)];
    for profile in PROFILES {
        for layout in [Layout::SingleFile, Layout::TwoLevel] {
            let options = with_blobs(WriterOptions::default())
                .with_profile(profile)
                .with_layout(layout)
                .with_presence(PresenceLayout::Embedded)
                .with_block_values(1024)
                .with_stripe_rows(400);
            let folder = written(&schema, &parts, options).unwrap();
            let shard = opened(&folder).unwrap();
            let read = collect(shard.scan().with_batch_size(97).build().unwrap()).unwrap();
            assert_eq!(read, all, "{profile:?}");
            let rows: Vec<u64> = (0..ROWS as u64).rev().step_by(7).collect();
            let indices = arrow_array::UInt64Array::from(rows.clone());
            let expected = arrow_select::take::take_record_batch(&all, &indices).unwrap();
            assert_eq!(shard.take(&rows, COLUMNS.map(String::from)).unwrap(), {
                expected.project(&[0, 1, 2, 3, 4]).unwrap()
            });
            let report = shard.verify().unwrap();
            assert!(report.is_sound(), "{:?}", report.problems());
            check_descriptions(&shard, &all, &folder);
            for (column, name) in COLUMNS.iter().enumerate() {
                for row in (0..ROWS).step_by(11).chain(200..210) {
                    let expected = bytes_at(all.column(column), row);
                    let blob = shard.open_blob(row as u64, name).unwrap();
                    assert_eq!(blob.is_some(), expected.is_some(), "row {row}");
                    let (Some(mut blob), Some(expected)) = (blob, expected) else {
                        continue;
                    };
                    assert_eq!(blob.len(), expected.len() as u64);
                    let mut read = Vec::new();
                    blob.read_to_end(&mut read).unwrap();
                    assert_eq!(read, expected, "row {row}");
                    // Reads in small pieces, and then from the middle.
                    blob.rewind().unwrap();
                    let mut pieces = Vec::new();
                    let mut piece = [0; 611];
                    while let n @ 1.. = blob.read(&mut piece).unwrap() {
                        pieces.extend_from_slice(&piece[..n]);
                    }
                    assert_eq!(pieces, expected);
                    let half = expected.len() / 2;
                    blob.seek(SeekFrom::End(-i64::try_from(half).unwrap()))
                        .unwrap();
                    let mut read = Vec::new();
                    blob.read_to_end(&mut read).unwrap();
                    assert_eq!(read, expected[expected.len() - half..]);
                    let part = ByteRange::try_new(half as u64 / 2, half as u64).unwrap();
                    assert_eq!(blob.read_at(part).unwrap(), expected[half / 2..half]);
                    let beyond = ByteRange::try_new(0, blob.len() + 1).unwrap();
                    assert!(blob.read_at(beyond).is_err());
                }
            }
        }
    }
}

/// Checks that descriptions have the size of every value, and refer to the bytes of the blobs.
fn check_descriptions(shard: &Shard, all: &RecordBatch, folder: &arrow_shard::io::MemoryFolder) {
    let binary = ["binary", "large", "view"];
    let scan = shard.scan().with_blobs_as(BlobForm::Descriptions);
    let described = collect(scan.clone().with_batch_size(50).build().unwrap()).unwrap();
    assert_eq!(described.column(3), all.column(3), "texts stay as they are");
    let taken = scan.clone().take(&[699, 5, 250, 5]).unwrap();
    let filtered = scan.with_filter(col("id").gt_eq(690));
    let filtered = collect(filtered.build().unwrap()).unwrap();
    assert_eq!(filtered.num_rows(), 10);
    let files: Vec<bytes::Bytes> = folder
        .names()
        .iter()
        .filter_map(|n| folder.get(n))
        .collect();
    for (column, name) in binary.iter().enumerate() {
        let values = described.column_by_name(name).unwrap().as_struct();
        let positions = values.column(0).as_primitive::<UInt64Type>();
        let sizes = values.column(1).as_primitive::<UInt64Type>();
        for row in 0..ROWS {
            let expected = bytes_at(all.column(column), row);
            assert_eq!(
                values.is_valid(row),
                expected.is_some(),
                "{name}, row {row}"
            );
            let Some(expected) = expected else { continue };
            assert_eq!(sizes.value(row), expected.len() as u64, "{name}, row {row}");
            assert_eq!(
                positions.is_valid(row),
                expected.len() >= LEAST,
                "{name}, row {row}"
            );
            if positions.is_valid(row) {
                let start = usize::try_from(positions.value(row)).unwrap();
                let has = |file: &bytes::Bytes| {
                    file.get(start..start + expected.len()) == Some(&expected[..])
                };
                assert!(files.iter().any(has), "{name}, row {row}");
            }
        }
        let rows = arrow_array::UInt64Array::from(vec![699, 5, 250, 5]);
        let expected = arrow_select::take::take(values, &rows, None).unwrap();
        assert_eq!(taken.column_by_name(name).unwrap(), &expected);
        assert_eq!(
            filtered.column_by_name(name).unwrap().to_data(),
            values.slice(690, 10).to_data()
        );
    }
}

#[test]
fn no_more_is_read_than_is_asked_for() {
    let images: BinaryArray = (0..50usize)
        .map(|i| {
            Some(
                (0..100_000)
                    .map(|k| noise(i + k).to_le_bytes()[0])
                    .collect::<Vec<u8>>(),
            )
        })
        .collect();
    let batch = RecordBatch::try_from_iter([("image", Arc::new(images) as ArrayRef)]).unwrap();
    let column = ColumnOptions::default().with_blobs(65_536);
    let options = WriterOptions::default().with_column("image", column);
    let file = Logged::new(written_bytes(std::slice::from_ref(&batch), options));
    let open = || {
        let options = ShardOptions::default().with_tail_bytes(8192);
        Shard::from_reader(file.clone(), Arc::new(NoContainer), options).unwrap()
    };
    let shard = open();
    let descriptions = shard.scan().with_blobs_as(BlobForm::Descriptions);
    assert_eq!(
        collect(descriptions.build().unwrap()).unwrap().num_rows(),
        50
    );
    let described = bytes_of(&file.requests());
    assert!(described < 80_000, "{described} bytes");
    let mut image = shard.open_blob(31, "image").unwrap().unwrap();
    assert_eq!(file.requests(), [], "all metadata are known");
    let mut head = [0; 8];
    image.read_exact(&mut head).unwrap();
    assert_eq!(head, bytes_at(batch.column(0), 31).unwrap()[..8]);
    image.seek(SeekFrom::Start(99_000)).unwrap();
    image.read_exact(&mut head).unwrap();
    assert_eq!(bytes_of(&file.requests()), 16);
    image.rewind().unwrap();
    let mut whole = Vec::new();
    image.read_to_end(&mut whole).unwrap();
    assert_eq!(Some(whole), bytes_at(batch.column(0), 31));
    let read = bytes_of(&file.requests());
    assert!(
        (100_004..100_012).contains(&read),
        "{read} bytes, with a checksum"
    );
    shard.take(&[7], ["image"]).unwrap();
    let taken = bytes_of(&file.requests());
    assert!(
        (100_031..100_039).contains(&taken),
        "{taken} bytes of one block"
    );
}

#[test]
fn a_damaged_blob_ends_with_an_error() {
    let all = table();
    let bytes = written_bytes(
        std::slice::from_ref(&all),
        with_blobs(WriterOptions::default()),
    );
    let shard = Shard::from_bytes(bytes.clone()).unwrap();
    let scan = shard.scan().with_projection(["large"]);
    let described = collect(scan.with_blobs_as(BlobForm::Descriptions).build().unwrap()).unwrap();
    let described = described.column(0).as_struct();
    let position = described.column(0).as_primitive::<UInt64Type>().value(220);
    let size = described.column(1).as_primitive::<UInt64Type>().value(220);
    for at in [position, position + size - 1, position + size] {
        let mut damaged = bytes.to_vec();
        damaged[usize::try_from(at).unwrap()] ^= 0x40;
        let shard = Shard::from_bytes(damaged.into()).unwrap();
        let mut blob = shard.open_blob(220, "large").unwrap().unwrap();
        let error = blob.read_to_end(&mut Vec::new()).unwrap_err();
        let error = Error::from(error);
        assert_eq!(error.kind(), ErrorKind::Checksum, "{error}");
        let text = error.to_string();
        assert!(
            text.contains("row 220") && text.contains("`large`"),
            "{text}"
        );
        // The same when reading in pieces: the last piece is not returned.
        blob.rewind().unwrap();
        let mut piece = vec![0; 1000];
        let read: std::io::Result<usize> = (0..10).map(|_| blob.read(&mut piece)).sum();
        assert!(read.is_err());
        // The error comes again, and the last bytes never.
        for _ in 0..3 {
            let error = Error::from(blob.read_to_end(&mut Vec::new()).unwrap_err());
            assert_eq!(error.kind(), ErrorKind::Checksum, "{error}");
        }
    }
}

#[cfg(feature = "experimental")]
#[test]
fn an_error_of_a_description_names_its_field_once() {
    let bytes = written_bytes(&[table()], with_blobs(WriterOptions::default()));
    let bytes = crate::descriptors::with_descriptors(&bytes, |_, field, _| {
        for property in &mut field.field.custom_properties {
            if property.name == "arrow_shard.blobs" {
                property.value = Some(Vec::<u8>::new().into());
            }
        }
    });
    let shard = Shard::from_bytes(bytes.into()).unwrap();
    for name in ["binary", "view"] {
        let scan = shard.scan().with_projection([name]);
        let scan = scan.with_blobs_as(BlobForm::Descriptions).build().unwrap();
        let error = collect(scan).unwrap_err();
        let error = inner(&error);
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        let field = format!("field `{name}`");
        assert_eq!(error.element().matches(&field).count(), 1, "{error}");
    }
}

#[test]
fn a_blob_of_another_shard_is_refused_as_by_a_scan() {
    let [own, other] = [1, 2].map(|seed| {
        let image = |i: usize| vec![u8::try_from(i).unwrap() * seed; 5000 + i];
        let images: BinaryArray = (0..9).map(|i| Some(image(i))).collect();
        let batch = RecordBatch::try_from_iter([("image", Arc::new(images) as ArrayRef)]).unwrap();
        let column = ColumnOptions::default().with_blobs(LEAST);
        let options = WriterOptions::default()
            .with_layout(Layout::TwoLevel)
            .with_column("image", column);
        written(&batch.schema(), &[batch], options).unwrap()
    });
    let stripes = |folder: &MemoryFolder| {
        let mut names = folder.names();
        names.retain(|name| name != NAME);
        names
    };
    let swapped = stripes(&own);
    assert_eq!(swapped.len(), 1, "{swapped:?}");
    let stripe = other.get(&stripes(&other)[0]).unwrap();
    assert_eq!(own.get(&swapped[0]).unwrap().len(), stripe.len());
    own.insert(&swapped[0], stripe);
    let shard = opened(&own).unwrap();
    let scanned = collect(shard.scan().build().unwrap()).unwrap_err();
    assert_eq!(inner(&scanned).kind(), ErrorKind::WrongFile, "{scanned}");
    let mut blob = shard.open_blob(7, "image").unwrap().unwrap();
    let error = Error::from(blob.read_to_end(&mut Vec::new()).unwrap_err());
    assert_eq!(error.kind(), ErrorKind::WrongFile, "{error}");
    let text = error.to_string();
    assert!(
        text.contains("row 7") && text.contains(&swapped[0]),
        "{text}"
    );
}

#[test]
fn an_edited_shard_keeps_them_and_deleted_rows_are_not_opened() {
    let all = table();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.amudai.shard");
    let options = with_blobs(WriterOptions::default());
    let mut writer = ShardWriter::create_with(&path, all.schema(), options).unwrap();
    writer.write(&all).unwrap();
    writer.finish().unwrap();
    let mut editor = ShardEditor::open(&path).unwrap();
    editor.delete_rows(&[210]).unwrap();
    editor.commit().unwrap();
    let shard = Shard::open(&path).unwrap();
    let error = shard.open_blob(210, "binary").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RowOutOfRange, "{error}");
    let mut blob = shard.open_blob(211, "binary").unwrap().unwrap();
    let mut read = Vec::new();
    blob.read_to_end(&mut read).unwrap();
    assert_eq!(Some(read), value(211));
    let described = shard.scan().with_blobs_as(BlobForm::Descriptions);
    let described = collect(described.build().unwrap()).unwrap();
    assert_eq!(described.num_rows(), ROWS - 1);
}

fn data_blobs(field: &FieldInfo) -> u64 {
    field.buffers.iter().map(|buffer| buffer.blobs).sum()
}

#[test]
fn inspection_counts_them() {
    let all = table();
    let bytes = written_bytes(
        std::slice::from_ref(&all),
        with_blobs(WriterOptions::default()),
    );
    let shard = Shard::from_bytes(bytes).unwrap();
    let info = shard.inspect(InspectOptions::default()).unwrap();
    let counted: HashMap<String, u64> = info.stripes[0]
        .fields
        .iter()
        .map(|field| (field.path.clone(), data_blobs(field)))
        .collect();
    let large = |i: &usize| value(*i).is_some_and(|value| value.len() >= LEAST);
    assert_eq!(counted["binary"], (0..ROWS).filter(large).count() as u64);
    assert_eq!(counted["large"], (1..=ROWS).filter(large).count() as u64);
    assert_eq!(counted["id"], 0);
}

#[test]
fn what_cannot_be_is_refused() {
    let list = DataType::List(Arc::new(Field::new("item", DataType::Binary, true)));
    let dictionary = DataType::Dictionary(DataType::Int8.into(), DataType::Binary.into());
    let refused = |data_type: DataType, options: WriterOptions| -> Error {
        let schema = Arc::new(Schema::new(vec![Field::new("x", data_type, true)]));
        ShardWriter::try_new(Vec::new(), schema, options).unwrap_err()
    };
    let with = |column| WriterOptions::default().with_column("x", column);
    let blobs = || ColumnOptions::default().with_blobs(100);
    for data_type in [
        list,
        dictionary,
        DataType::Int32,
        DataType::FixedSizeBinary(9),
    ] {
        let error = refused(data_type, with(blobs()));
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains("column `x`"), "{error}");
    }
    let cases = [
        with(ColumnOptions::default().with_blobs(0)),
        with(blobs().with_delimited_values(true)),
        with(blobs()).with_packed_columns(["x"]),
        with(blobs()).with_wire(Wire::Reference),
        // Whichever column is looked at first.
        with(ColumnOptions::default().with_blobs(0))
            .with_column("a", blobs())
            .with_column("b", blobs())
            .with_column("c", blobs()),
    ];
    for options in cases {
        let error = refused(DataType::Binary, options);
        assert!(error.to_string().contains("column `x`"), "{error}");
    }
    let batch = table();
    let bytes = written_bytes(std::slice::from_ref(&batch), WriterOptions::default());
    let shard = Shard::from_bytes(bytes).unwrap();
    let kind = |row, column| shard.open_blob(row, column).map(drop).unwrap_err().kind();
    assert_eq!(kind(0, "id"), ErrorKind::SchemaMismatch);
    assert_eq!(kind(0, "nothing"), ErrorKind::UnknownColumn);
    assert_eq!(kind(ROWS as u64, "binary"), ErrorKind::RowOutOfRange);
}
