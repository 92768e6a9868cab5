//! Shards that earlier versions of this crate wrote, in layouts that only this crate writes: every version must read
//! them. For a new layout, create the folder with
//!
//! ```sh
//! WRITE_LAYOUTS=1 cargo test --features experimental --test storage golden_layouts
//! ```
//!
//! which does not change existing folders.
#![cfg(feature = "zstd")]
#![expect(
    clippy::cast_possible_wrap,
    clippy::cast_possible_truncation,
    reason = "the numbers are small, or noise"
)]

use crate::descriptors::with_descriptors;
use crate::support::{collect, written_bytes};
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeBinaryArray, Int64Array, RecordBatch, StringArray,
    StructArray, TimestampMicrosecondArray, UInt64Array, UnionArray,
};
use arrow_schema::{DataType, Field, UnionFields};
use arrow_select::take::take_record_batch;
use arrow_shard::Shard;
use arrow_shard::buffer::{BLOCK_MAPS_PROPERTY, CHECKSUMS_PROPERTY, ENCODING_CODES_PROPERTY};
use arrow_shard::format::{BufferKind, NameValuePair};
use arrow_shard::metadata::{INGESTION_TIMESTAMP, RECORD_IDENTITY};
use arrow_shard::ops::{ShardEditor, merge};
use arrow_shard::read::Projection;
use arrow_shard::read::inspect::{DictionaryKind, FieldInfo, InspectOptions};
use arrow_shard::write::{
    ColumnOptions, InternalValues, PresenceLayout, Profile, ShardWriter, WriterOptions,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns a pseudo-random number that never changes between versions.
fn noise(i: usize) -> u64 {
    let mut x = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^ x >> 32
}

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let columns = columns.into_iter();
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn ids(rows: usize) -> ArrayRef {
    Arc::new((0..rows as i64).map(Some).collect::<Int64Array>())
}

/// Returns structs for three super-blocks; every tenth is null.
fn structs() -> RecordBatch {
    const ROWS: usize = 2500;
    let there = |i: usize, n: usize| !i.is_multiple_of(n);
    let numbers: Int64Array = (0..ROWS)
        .map(|i| there(i, 7).then(|| noise(i) as i64 >> 40))
        .collect();
    let names: StringArray = (0..ROWS)
        .map(|i| there(i, 5).then(|| format!("name {}", noise(i) % 1000)))
        .collect();
    let flags: BooleanArray = (0..ROWS)
        .map(|i| there(i, 3).then(|| noise(i).is_multiple_of(2)))
        .collect();
    let members: [(&str, ArrayRef); 3] = [
        ("number", Arc::new(numbers)),
        ("name", Arc::new(names)),
        ("flag", Arc::new(flags)),
    ];
    let fields = members
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
    let (fields, arrays) = (
        fields.collect(),
        members.into_iter().map(|(_, array)| array).collect(),
    );
    let nulls = (0..ROWS).map(|i| there(i, 10)).collect();
    let structs = StructArray::new(fields, arrays, Some(nulls));
    table(vec![("id", ids(ROWS)), ("s", Arc::new(structs))])
}

fn lines() -> RecordBatch {
    const ROWS: usize = 9000;
    let line = |i: usize| {
        let n = noise(i);
        (i % 50 != 9).then(|| match n % 4 {
            0 => format!(
                "081109 20{:04} {} INFO dfs.DataNode$PacketResponder: PacketResponder {} for block blk_{} \
                 terminating",
                noise(n as usize) % 10_000,
                n >> 50,
                n % 3,
                n as i64
            ),
            1 => format!(
                "081109 20{:04} {} INFO dfs.FSNamesystem: BLOCK* NameSystem.addStoredBlock: blockMap \
                 updated: 10.250.{}.{}:50010 is added to blk_{} size 67108864",
                noise(n as usize) % 10_000,
                n >> 50,
                n % 256,
                n % 251,
                n as i64
            ),
            2 => format!(
                "[Sun Dec 04 04:{:02}:{:02} 2005] [notice] jk2_init() Found child {} in scoreboard slot {}",
                n % 60,
                n % 59,
                n >> 52,
                n % 12
            ),
            _ => format!(
                "nova.osapi_compute.wsgi.server [req-{:08x}-{:04x}] \"GET /v2/54fadb412c4e40cdbaed9335e4c35a9e\
                 /servers/detail HTTP/1.1\" status: 200 len: 1893 time: 0.{}",
                n >> 32,
                n % 65_536,
                n % 3_000_000
            ),
        })
    };
    let text: StringArray = (0..ROWS).map(line).collect();
    table(vec![("id", ids(ROWS)), ("text", Arc::new(text))])
}

/// Returns words in random order, without long repeated sequences.
fn words() -> RecordBatch {
    const ROWS: usize = 9000;
    let syllables = ["ta", "re", "mon", "li", "ser", "quo", "ven", "ash"];
    let word = |n: u64| -> String {
        let n = noise((n % 3000) as usize);
        (0..2 + n % 3)
            .map(|k| syllables[(n >> (3 * k + 4)) as usize % 8])
            .collect()
    };
    let line = |i: usize| {
        let words: Vec<String> = (0..6).map(|k| word(noise(6 * i + k))).collect();
        (i % 13 != 5).then(|| words.join(" "))
    };
    let text: StringArray = (0..ROWS).map(line).collect();
    table(vec![("id", ids(ROWS)), ("text", Arc::new(text))])
}

/// Returns rows for a shard with deleted rows: every row before a multiple of 7 is deleted.
fn numbers() -> RecordBatch {
    let numbers: Int64Array = (0..1500)
        .map(|i| (i % 11 != 0).then(|| noise(i) as i64 >> 30))
        .collect();
    table(vec![("id", ids(1500)), ("number", Arc::new(numbers))])
}

fn is_deleted(row: u64) -> bool {
    row % 7 == 6
}

fn with_internal_values() -> RecordBatch {
    let numbers = numbers();
    let times = (0..1500).map(|i| Some(1_790_000_000_000_000 + (noise(i) >> 30) as i64));
    let times = times
        .collect::<TimestampMicrosecondArray>()
        .with_timezone("UTC");
    let ids = (0..1500).map(|i| u128::from(noise(i)).to_be_bytes());
    let ids = FixedSizeBinaryArray::try_from_iter(ids).unwrap();
    table(vec![
        ("id", numbers["id"].clone()),
        ("number", numbers["number"].clone()),
        ("at", Arc::new(times)),
        ("uuid", Arc::new(ids)),
    ])
}

fn shares(profile: Profile) -> WriterOptions {
    let column = ColumnOptions::default()
        .with_block_values(256)
        .with_compressor_dictionary_enabled(true);
    WriterOptions::default()
        .with_profile(profile)
        .with_column("text", column)
}

/// Returns the shard of a layout.
fn shard_of(layout: &str, write: impl FnOnce(&Path)) -> Shard {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/layouts")
        .join(layout);
    let path = folder.join("table.amudai.shard");
    if std::env::var_os("WRITE_LAYOUTS").is_some() && !folder.exists() {
        std::fs::create_dir_all(&folder).unwrap();
        write(&path);
    }
    Shard::open(path).unwrap()
}

fn write(path: &Path, batch: &RecordBatch, options: WriterOptions) {
    let options = options.with_creation_time(Some(638_000_000_000_000_000));
    let mut writer = ShardWriter::create_with(path, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// Checks that the shard is sound, and that scans and single rows return the rows of the batch.
fn check(shard: &Shard, expected: &RecordBatch) {
    let report = shard.verify().unwrap();
    assert!(report.is_sound(), "{report:?}");
    let scanned = collect(shard.scan().with_batch_size(700).build().unwrap()).unwrap();
    assert_eq!(&scanned, expected);
    let rows: Vec<u64> = (0..40)
        .map(|i| noise(i) % expected.num_rows() as u64)
        .collect();
    let taken = shard.take(&rows, Projection::All).unwrap();
    assert_eq!(
        taken,
        take_record_batch(expected, &UInt64Array::from(rows)).unwrap()
    );
}

fn fields(shard: &Shard) -> Vec<FieldInfo> {
    let info = shard.inspect(InspectOptions::default()).unwrap();
    info.stripes
        .into_iter()
        .flat_map(|stripe| stripe.fields)
        .collect()
}

#[test]
fn packed_groups() {
    let batch = structs();
    let column = ColumnOptions::default().with_packed_group(true);
    let options = WriterOptions::default().with_column("s", column);
    let shard = shard_of("packed_group", |path| write(path, &batch, options));
    check(&shard, &batch);
    let members = &fields(&shard)[1].children;
    let indexes = members.iter().flat_map(|member| &member.buffers);
    let indexes: Vec<_> = indexes
        .filter_map(|buffer| buffer.packed_group_index)
        .collect();
    assert_eq!(indexes, [0, 1, 2]);
}

#[test]
fn packed_columns() {
    let batch = structs();
    let members = batch["s"].as_any().downcast_ref::<StructArray>().unwrap();
    let columns = vec![
        ("name", members.column(1).clone()),
        ("id", batch["id"].clone()),
        ("number", members.column(0).clone()),
        ("flag", members.column(2).clone()),
    ];
    let batch = table(columns);
    let options = WriterOptions::default().with_packed_columns(["name", "number", "flag"]);
    let shard = shard_of("packed_columns", |path| write(path, &batch, options));
    assert_eq!(shard.schema().unwrap(), batch.schema());
    check(&shard, &batch);
    let fields = fields(&shard);
    let stored: Vec<_> = fields.iter().map(|field| field.path.as_str()).collect();
    assert_eq!(stored, ["id", "packed_columns_0"]);
}

#[test]
fn compressor_dictionaries() {
    let of_lines = (lines(), Profile::MinimalSize, DictionaryKind::Zstd);
    let of_words = (words(), Profile::Balanced, DictionaryKind::Symbols);
    let layouts = [
        ("trained_dictionary", of_lines),
        ("shared_symbols", of_words),
    ];
    for (layout, (batch, profile, kind)) in layouts {
        let shard = shard_of(layout, |path| write(path, &batch, shares(profile)));
        check(&shard, &batch);
        let text = &fields(&shard)[1];
        let shared: Vec<_> = text
            .buffers
            .iter()
            .filter(|buffer| buffer.kind == BufferKind::OpaqueDictionary)
            .filter_map(|buffer| Some(buffer.compressor?.kind))
            .collect();
        assert_eq!(shared, [kind]);
    }
}

#[test]
fn delimited_values() {
    let profiles = [
        ("delimited", Profile::Balanced),
        ("delimited_zstd", Profile::MinimalSize),
    ];
    for (layout, profile) in profiles {
        let batch = lines();
        let column = ColumnOptions::default().with_delimited_values(true);
        let options = WriterOptions::default()
            .with_profile(profile)
            .with_column("text", column);
        let shard = shard_of(layout, |path| write(path, &batch, options));
        check(&shard, &batch);
        let text = &fields(&shard)[1].buffers;
        let data = text.iter().find(|buffer| buffer.kind == BufferKind::Data);
        assert!(data.unwrap().delimited, "{text:?}");
    }
}

/// Returns dense unions, with children that have one position for each row of their type.
fn unions() -> RecordBatch {
    const ROWS: usize = 2500;
    let fields = [
        Field::new("number", DataType::Int64, true),
        Field::new("name", DataType::Utf8, true),
    ];
    let fields = UnionFields::try_new([4, 1], fields).unwrap();
    let (mut ids, mut offsets, mut counts) = (Vec::new(), Vec::new(), [0; 2]);
    for i in 0..ROWS {
        let child = (noise(i) % 3 / 2) as usize;
        ids.push([4, 1][child]);
        offsets.push(counts[child]);
        counts[child] += 1;
    }
    let there = |i: usize, n: usize| !i.is_multiple_of(n);
    let numbers: Int64Array = (0..counts[0] as usize)
        .map(|i| there(i, 7).then(|| noise(i) as i64 >> 40))
        .collect();
    let names: StringArray = (0..counts[1] as usize)
        .map(|i| there(i, 5).then(|| format!("name {}", noise(i) % 100)))
        .collect();
    let children: Vec<ArrayRef> = vec![Arc::new(numbers), Arc::new(names)];
    let unions = UnionArray::try_new(fields, ids.into(), Some(offsets.into()), children).unwrap();
    let columns = [self::ids(ROWS), Arc::new(unions) as ArrayRef];
    RecordBatch::try_from_iter(["id", "union"].into_iter().zip(columns)).unwrap()
}

#[test]
fn dense_unions() {
    let batch = unions();
    for (layout, profile) in [
        ("dense_union", Profile::Balanced),
        ("dense_union_raw", Profile::Plain),
    ] {
        let options = WriterOptions::default()
            .with_profile(profile)
            .with_stripe_rows(1000);
        let shard = shard_of(layout, |path| write(path, &batch, options));
        assert_eq!(shard.num_stripes(), 3);
        check(&shard, &batch);
        let union = &fields(&shard)[1];
        let kinds: Vec<_> = union.buffers.iter().map(|buffer| buffer.kind).collect();
        assert!(kinds.contains(&BufferKind::Offsets), "{kinds:?}");
    }
}

#[test]
fn a_merged_directory() {
    let batch = structs();
    let parts = [batch.slice(0, 1200), batch.slice(1200, 1300)];
    let shard = shard_of("merged", |path| {
        let names = ["first.amudai.shard", "second.amudai.shard"];
        let inputs = names.map(|name| path.with_file_name(name));
        for (input, part) in inputs.iter().zip(&parts) {
            write(input, part, WriterOptions::default());
        }
        merge(inputs, path).unwrap();
    });
    assert_eq!(shard.num_stripes(), 2);
    check(&shard, &batch);
}

#[test]
fn several_encodings() {
    let batch = numbers();
    let shard = shard_of("several_encodings", |path| {
        let file = written_bytes(std::slice::from_ref(&batch), WriterOptions::default());
        let file = with_descriptors(&file, |_, field, _| {
            // These properties refer to encodings by ordinal.
            let properties = &mut field.field.custom_properties;
            properties
                .retain(|p| ![CHECKSUMS_PROPERTY, BLOCK_MAPS_PROPERTY].contains(&p.name.as_str()));
            // The first encoding has blocks with an unknown code.
            let codes = [0u16, 1, 0x9001].into_iter().flat_map(u16::to_le_bytes);
            let codes = NameValuePair::new(ENCODING_CODES_PROPERTY, codes.collect::<Vec<u8>>());
            properties.push(codes);
            let written = field.encodings[0].clone();
            field.encodings.push(written);
        });
        std::fs::write(path, file).unwrap();
    });
    check(&shard, &batch);
    let encodings: Vec<usize> = fields(&shard)
        .iter()
        .flat_map(|field| field.buffers.iter().map(|buffer| buffer.encoding))
        .collect();
    assert!(encodings.contains(&1), "{encodings:?}");
}

#[test]
fn deleted_rows() {
    let batch = numbers();
    let shard = shard_of("deleted_rows", |path| {
        write(
            path,
            &batch,
            WriterOptions::default().with_stripe_rows(1000),
        );
        let mut editor = ShardEditor::open(path).unwrap();
        let deleted: Vec<u64> = (0..1500).filter(|row| is_deleted(*row)).collect();
        editor.delete_rows(&deleted).unwrap();
        editor.commit().unwrap();
    });
    let kept = UInt64Array::from_iter_values((0..1500).filter(|row| !is_deleted(*row)));
    let report = shard.verify().unwrap();
    assert!(report.is_sound(), "{report:?}");
    let read = collect(shard.scan().build().unwrap()).unwrap();
    assert_eq!(read, take_record_batch(&batch, &kept).unwrap());
    let all = shard.scan().with_deleted_rows(true).build().unwrap();
    assert_eq!(collect(all).unwrap(), batch);
}

#[test]
fn internal_fields() {
    let batch = with_internal_values();
    let column = |name: &str| InternalValues::Column(name.to_owned());
    let options = WriterOptions::default()
        .with_ingestion_timestamp(column("at"))
        .with_record_identity(column("uuid"));
    let shard = shard_of("internal_fields", |path| write(path, &batch, options));
    check(&shard, &batch.project(&[0, 1]).unwrap());
    let shown = shard.scan().with_internal_fields(true).build().unwrap();
    let shown = collect(shown).unwrap();
    assert_eq!(&shown[RECORD_IDENTITY], &batch["uuid"]);
    let micros = DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, Some("UTC".into()));
    let times = arrow_cast::cast(&shown[INGESTION_TIMESTAMP], &micros).unwrap();
    assert_eq!(&times, &batch["at"]);
}

/// A column that an editor added, with values in a separate file.
#[test]
fn an_added_column() {
    let batch = structs();
    let shard = shard_of("added_column", |path| {
        let options = WriterOptions::default().with_stripe_rows(1000);
        write(path, &batch.project(&[0]).unwrap(), options);
        let mut editor = ShardEditor::open(path).unwrap();
        let field = batch.schema().field(1).clone();
        editor
            .add_column_values(field, [batch["s"].clone()], ColumnOptions::default())
            .unwrap();
        editor.commit().unwrap();
    });
    assert_eq!(shard.num_stripes(), 3);
    check(&shard, &batch);
}

/// Separate buffers of presence and offsets: blocks of bits with blocks of values, and raw bits with raw values.
#[test]
fn separate_buffers() {
    let batch = words().slice(0, 1500);
    for (layout, profile) in [
        ("separate_presence", Profile::Balanced),
        ("raw_buffers", Profile::Plain),
    ] {
        let column = ColumnOptions::default().with_presence(PresenceLayout::Separate);
        let options = WriterOptions::default()
            .with_profile(profile)
            .with_column("text", column);
        let shard = shard_of(layout, |path| write(path, &batch, options));
        check(&shard, &batch);
        let text = fields(&shard).swap_remove(1);
        let kinds: Vec<_> = text.buffers.iter().map(|buffer| buffer.kind).collect();
        assert!(kinds.contains(&BufferKind::Presence), "{kinds:?}");
        assert_eq!(
            kinds.contains(&BufferKind::Offsets),
            profile == Profile::Plain,
            "{kinds:?}"
        );
    }
}
