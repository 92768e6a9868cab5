//! Shards to damage, with all kinds of parts that can be damaged.

use super::Subject;
use super::descriptors::with_descriptors;
use super::support::{NAME, shared, written_bytes};
use arrow_array::builder::{
    ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder, StringRunBuilder,
};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, DictionaryArray,
    DurationMillisecondArray, FixedSizeBinaryArray, FixedSizeListArray, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, LargeStringArray, RecordBatch, RecordBatchOptions,
    StringArray, StringViewArray, StructArray, TimestampMicrosecondArray, UInt16Array, UnionArray,
};
use arrow_schema::{DataType, Field, Schema, UnionFields};
use arrow_shard::buffer::{BLOCK_MAPS_PROPERTY, CHECKSUMS_PROPERTY, ENCODING_CODES_PROPERTY};
use arrow_shard::format::NameValuePair;
use arrow_shard::io::MemoryFolder;
use arrow_shard::metadata::Wire;
use arrow_shard::ops::ShardEditor;
use arrow_shard::write::{
    ColumnOptions, InternalValues, Layout, PresenceLayout, Profile, ShardWriter, WriterOptions,
};
use std::sync::Arc;

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn options(profile: Profile) -> WriterOptions {
    WriterOptions::default()
        .with_profile(profile)
        .with_creation_time(Some(638_000_000_000_000_000))
}

pub(crate) fn balanced() -> Subject {
    let numbers: Int32Array = (0..40)
        .map(|i| (i % 5 != 0).then_some(1000 + i * 3))
        .collect();
    let names: StringArray = (0..40)
        .map(|i| (i % 7 != 0).then(|| format!("name {i}")))
        .collect();
    let flags: BooleanArray = (0..40)
        .map(|i| (i % 3 != 0).then_some(i % 2 == 0))
        .collect();
    let batch = batch([
        ("number", Arc::new(numbers) as ArrayRef),
        ("name", Arc::new(names)),
        ("flag", Arc::new(flags)),
    ]);
    Subject::new(&batch, options(Profile::Balanced))
}

pub(crate) fn plain() -> Subject {
    let numbers: Int64Array = (0..20).map(|i| (i % 5 != 0).then_some(i * i)).collect();
    let names: LargeStringArray = (0..20).map(|i| Some("x".repeat(i))).collect();
    let mut lists = ListBuilder::new(arrow_array::builder::Int16Builder::new());
    for i in 0..20 {
        lists.append_value((0..i % 4).map(Some));
    }
    let batch = batch([
        ("number", Arc::new(numbers) as ArrayRef),
        ("name", Arc::new(names)),
        ("list", Arc::new(lists.finish())),
    ]);
    Subject::new(&batch, options(Profile::Plain))
}

pub(crate) fn nested() -> Subject {
    let mut maps = MapBuilder::new(
        None,
        StringBuilder::new(),
        arrow_array::builder::Int8Builder::new(),
    );
    for i in 0..9 {
        for key in 0..i % 3 {
            maps.keys().append_value(format!("k{key}"));
            maps.values().append_option((key == 0).then_some(3));
        }
        maps.append(i % 4 != 3).unwrap();
    }
    let variants = UnionFields::try_new(
        [3, 5],
        [
            Field::new("a", DataType::Int8, true),
            Field::new("b", DataType::Utf8, true),
        ],
    )
    .unwrap();
    let union = UnionArray::try_new(
        variants,
        vec![3, 5, 5, 3, 3, 5, 3, 3, 5].into(),
        Some(vec![0, 0, 1, 1, 2, 2, 3, 4, 3].into()),
        vec![
            Arc::new(Int8Array::from_iter((0..5).map(|i| (i > 1).then_some(i)))),
            Arc::new(StringArray::from(vec!["x", "yy", "zzz", ""])),
        ],
    )
    .unwrap();
    let item = Arc::new(Field::new("item", DataType::Int16, true));
    let values: Int16Array = (0..18).map(|i| (i % 4 != 0).then_some(i)).collect();
    let fixed = FixedSizeListArray::try_new(item, 2, Arc::new(values), None).unwrap();
    let inner = StructArray::from(vec![
        (
            Arc::new(Field::new("fixed", fixed.data_type().clone(), true)),
            Arc::new(fixed) as ArrayRef,
        ),
        (
            Arc::new(Field::new("union", union.data_type().clone(), true)),
            Arc::new(union),
        ),
    ]);
    let batch = batch([
        ("map", Arc::new(maps.finish()) as ArrayRef),
        ("struct", Arc::new(inner)),
    ]);
    Subject::new(&batch, options(Profile::Balanced))
}

pub(crate) fn packed() -> Subject {
    let numbers: Int32Array = (0..40)
        .map(|i| (i % 5 != 0).then_some(1000 + i * i))
        .collect();
    let names: StringArray = (0..40)
        .map(|i| (i % 7 != 0).then(|| format!("name {i}")))
        .collect();
    let flags: BooleanArray = (0..40)
        .map(|i| (i % 3 != 0).then_some(i % 2 == 0))
        .collect();
    let members: [(&str, ArrayRef); 3] = [
        ("number", Arc::new(numbers)),
        ("name", Arc::new(names)),
        ("flag", Arc::new(flags)),
    ];
    let members = members.map(|(name, array)| {
        let field = Field::new(name, array.data_type().clone(), true);
        (Arc::new(field), array)
    });
    let batch = batch([(
        "s",
        Arc::new(StructArray::from(members.to_vec())) as ArrayRef,
    )]);
    let column = ColumnOptions::default().with_packed_group(true);
    let options = options(Profile::Balanced).with_column("s", column);
    Subject::new(&batch, options)
}

pub(crate) fn packed_columns() -> Subject {
    let numbers = |n: i32| -> ArrayRef {
        let there = move |i: i32| i % n != 0;
        Arc::new(
            (0..40)
                .map(|i| there(i).then_some(n * i))
                .collect::<Int32Array>(),
        )
    };
    let names: StringArray = (0..40)
        .map(|i| (i % 7 != 0).then(|| format!("name {i}")))
        .collect();
    let batch = batch([
        ("a", numbers(3)),
        ("name", Arc::new(names) as ArrayRef),
        ("b", numbers(5)),
        ("c", numbers(4)),
    ]);
    let options = options(Profile::Balanced).with_packed_columns(["a", "name", "c"]);
    Subject::new(&batch, options)
}

pub(crate) fn delimited() -> Subject {
    let names: StringArray = (0..60)
        .map(|i| (i % 7 != 0).then(|| format!("name {}", i % 9).repeat(i % 3)))
        .collect();
    let mut lists = ListBuilder::new(StringBuilder::new());
    for i in 0..60 {
        lists.append_option((i % 5 != 0).then(|| (0..i % 3).map(|k| Some(format!("{i} {k}")))));
    }
    let batch = batch([
        ("name", Arc::new(names) as ArrayRef),
        ("list", Arc::new(lists.finish())),
    ]);
    let column = ColumnOptions::default().with_delimited_values(true);
    let plain = column.clone().with_profile(Profile::Plain);
    let options = options(Profile::Balanced)
        .with_column("name", column)
        .with_column("list", plain);
    Subject::new(&batch, options)
}

pub(crate) fn blobs() -> Subject {
    let images: BinaryArray = (0..12usize)
        .map(|i| (i % 5 != 1).then(|| vec![7; 13 * i % 70]))
        .collect();
    let batch = batch([("image", Arc::new(images) as ArrayRef)]);
    let column = ColumnOptions::default().with_blobs(30);
    let options = options(Profile::Balanced).with_column("image", column);
    Subject::new(&batch, options)
}

pub(crate) fn dictionaries() -> Subject {
    let mut words = StringDictionaryBuilder::<Int32Type>::new();
    let mut runs = StringRunBuilder::<Int32Type>::new();
    for i in 0..30 {
        match i % 4 {
            0 => words.append_null(),
            n => words.append_value(["", "one", "two", "three"][n]),
        }
        runs.append_value(["long", "run"][i / 15]);
    }
    let keys: Int8Array = (0..30).map(|i| (i % 9 != 0).then_some(i % 3)).collect();
    let numbers = Arc::new(Int64Array::from(vec![1 << 40, -7, 12]));
    let numbers = DictionaryArray::<Int8Type>::try_new(keys, numbers).unwrap();
    let batch = batch([
        ("words", Arc::new(words.finish()) as ArrayRef),
        ("numbers", Arc::new(numbers)),
        ("runs", Arc::new(runs.finish())),
    ]);
    Subject::new(&batch, options(Profile::Balanced))
}

pub(crate) fn two_stripes() -> Subject {
    let views: StringViewArray = (0..50)
        .map(|i| (i % 8 != 0).then(|| format!("a rather long text number {}", i % 6)))
        .collect();
    let numbers: UInt16Array = (0..50).map(|i| (i % 3 != 0).then_some(i % 4)).collect();
    let batch = batch([
        ("views", Arc::new(views) as ArrayRef),
        ("numbers", Arc::new(numbers)),
    ]);
    let profile = match Profile::HighCompression.is_available() {
        true => Profile::HighCompression,
        false => Profile::Balanced,
    };
    let options = options(profile)
        .with_presence(PresenceLayout::Embedded)
        .with_stripe_rows(30);
    Subject::new(&batch, options)
}

pub(crate) fn two_files() -> Subject {
    let bytes: BinaryArray = (0..25u8)
        .map(|i| (i % 6 != 0).then(|| vec![i; 5]))
        .collect();
    let decimals: Decimal128Array = (0..25)
        .map(|i| (i % 5 != 0).then_some(i * 1_000_000_007))
        .collect();
    let decimals = decimals.with_precision_and_scale(30, 2).unwrap();
    let batch = batch([
        ("bytes", Arc::new(bytes) as ArrayRef),
        ("decimals", Arc::new(decimals)),
    ]);
    Subject::new(
        &batch,
        options(Profile::Balanced).with_layout(Layout::TwoLevel),
    )
}

/// Returns a shard of two stripes in a separate file, after changes that wrote more files.
fn edited(edit: impl FnOnce(&mut ShardEditor)) -> Subject {
    let numbers: Int32Array = (0..40).map(|i| (i % 5 != 0).then_some(i * 3)).collect();
    let batch = batch([("number", Arc::new(numbers) as ArrayRef)]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    let options = options(Profile::Balanced)
        .with_stripe_rows(20)
        .with_layout(Layout::TwoLevel);
    let mut writer = ShardWriter::create_with(&path, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let mut editor = ShardEditor::open(&path).unwrap();
    edit(&mut editor);
    editor.commit().unwrap();
    let files = MemoryFolder::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let bytes = std::fs::read(entry.path()).unwrap();
        files.insert(entry.file_name().to_str().unwrap(), bytes);
    }
    Subject::of_files(files)
}

/// Returns a directory that refers to another shard's stripes, and to a file of deleted rows.
pub(crate) fn deleted() -> Subject {
    edited(|editor| {
        editor.delete_rows(&[1, 2, 3, 25]).unwrap();
    })
}

/// Returns a shard with two added columns, one of them constant.
pub(crate) fn added_column() -> Subject {
    let names: StringArray = (0..40)
        .map(|i| (i % 7 != 0).then(|| format!("name {}", i % 9)))
        .collect();
    edited(|editor| {
        let field = Field::new("name", DataType::Utf8, true);
        let column = ColumnOptions::default();
        editor
            .add_column_values(field, [Arc::new(names) as ArrayRef], column)
            .unwrap();
        let field = Field::new("one", DataType::Int64, false);
        let one: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        editor.add_column(field, &one).unwrap();
    })
}

/// Returns a shard with ingestion times and record identities.
pub(crate) fn internal_fields() -> Subject {
    let numbers: Int32Array = (0..24).map(|i| (i % 5 != 0).then_some(i * 3)).collect();
    let column = |name: &str| InternalValues::Column(name.to_owned());
    let options = options(Profile::Balanced)
        .with_stripe_rows(16)
        .with_ingestion_timestamp(column("at"))
        .with_record_identity(column("id"));
    let times = TimestampMicrosecondArray::from_iter_values((0..24).map(|i| i * i * 1_000_003));
    let ids = (0..24u8).map(|i| [i; 16]);
    let ids = FixedSizeBinaryArray::try_from_iter(ids).unwrap();
    let batch = batch([
        ("number", Arc::new(numbers) as ArrayRef),
        ("at", Arc::new(times)),
        ("id", Arc::new(ids)),
    ]);
    Subject::new(&batch, options)
}

/// Returns a shard with a field that has an unknown first encoding, so readers use the second one.
pub(crate) fn several_encodings() -> Subject {
    const CODES: [&[u16]; 2] = [&[0, 1, 0x9001], &[1, 3, 1, 4, 16]];
    let numbers: Int32Array = (0..60).map(|i| (i % 5 != 0).then_some(i * i)).collect();
    let batch = batch([("number", Arc::new(numbers) as ArrayRef)]);
    let bytes = written_bytes(&[batch], options(Profile::Balanced));
    let bytes = with_descriptors(&bytes, |_, field, _| {
        let first = field.encodings[0].clone();
        field.encodings.insert(0, first);
        let codes = CODES.concat().into_iter().flat_map(u16::to_le_bytes);
        let codes = NameValuePair::new(ENCODING_CODES_PROPERTY, codes.collect::<Vec<u8>>());
        let properties = &mut field.field.custom_properties;
        // These properties refer to encodings by ordinal.
        properties
            .retain(|p| ![CHECKSUMS_PROPERTY, BLOCK_MAPS_PROPERTY].contains(&p.name.as_str()));
        properties.push(codes);
    });
    let folder = MemoryFolder::new();
    folder.insert(NAME, bytes);
    Subject::of_files(folder)
}

/// Returns a shard of dense unions in several stripes, some of them without values of some variants.
pub(crate) fn unions_in_stripes() -> Subject {
    let variants = UnionFields::try_new(
        [2, 4],
        [
            Field::new("a", DataType::Int16, true),
            Field::new("b", DataType::Utf8, true),
        ],
    )
    .unwrap();
    // The second of three stripes has values of only one variant.
    let kind = |i| match i {
        10..20 => 2,
        i if i % 3 == 0 => 4,
        _ => 2,
    };
    let types: Vec<i8> = (0..30).map(kind).collect();
    let mut counts = [0i16; 2];
    let mut offsets: Vec<i32> = Vec::new();
    for kind in &types {
        let count = &mut counts[usize::from(*kind == 4)];
        offsets.push(i32::from(*count));
        *count += 1;
    }
    let numbers = (0..counts[0]).map(|i| (i % 4 != 0).then_some(7 * i));
    let texts = (0..counts[1]).map(|i| (i % 5 != 0).then(|| format!("text {i}")));
    let union = UnionArray::try_new(
        variants,
        types.into(),
        Some(offsets.into()),
        vec![
            Arc::new(numbers.collect::<Int16Array>()),
            Arc::new(texts.collect::<StringArray>()),
        ],
    )
    .unwrap();
    let batch = batch([("union", Arc::new(union) as ArrayRef)]);
    Subject::new(&batch, options(Profile::Balanced).with_stripe_rows(10))
}

pub(crate) fn without_rows() -> Subject {
    let item = Field::new("item", DataType::Utf8, false);
    let schema = Schema::new(vec![
        Field::new("a", DataType::Int32, false),
        Field::new("l", DataType::List(Arc::new(item)), true),
    ]);
    Subject::new(
        &RecordBatch::new_empty(Arc::new(schema)),
        options(Profile::Balanced),
    )
}

pub(crate) fn without_columns() -> Subject {
    let rows = RecordBatchOptions::new().with_row_count(Some(70));
    let batch =
        RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &rows).unwrap();
    Subject::new(&batch, options(Profile::Balanced).with_stripe_rows(40))
}

pub(crate) fn wide() -> Subject {
    let fields: Vec<Field> = (0..9)
        .map(|i| Field::new(format!("c{i}"), DataType::Int8, i % 2 == 0))
        .collect();
    let columns = (0..9).map(|i| Arc::new(Int8Array::from(vec![i, i, i + i / 4])) as ArrayRef);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect()).unwrap();
    Subject::new(&batch, options(Profile::Balanced))
}

/// Returns a shard of runs, steps, few distinct values, decimals in doubles, and repeated texts.
pub(crate) fn encodings() -> Subject {
    let runs: Int64Array = (0..400i64).map(|i| i / 80 * 0x1234_5678_9ABC).collect();
    let steps: Int64Array = (0..400i64)
        .map(|i| 1_700_000_000_000 + i * 1000 + i % 3)
        .collect();
    let few: Int64Array = (0..400i64)
        .map(|i| [7, 1 << 50, -(1 << 60)][(i * i % 3) as usize])
        .collect();
    let doubles: Float64Array = (0..400).map(|i| f64::from(i * 7 % 100) / 100.0).collect();
    let texts: StringArray = (0..400)
        .map(|i| Some(["GET /", "POST /x"][i / 3 % 2]))
        .collect();
    let batch = batch([
        ("runs", Arc::new(runs) as ArrayRef),
        ("steps", Arc::new(steps)),
        ("few", Arc::new(few)),
        ("doubles", Arc::new(doubles)),
        ("texts", Arc::new(texts)),
    ]);
    Subject::new(&batch, options(Profile::Balanced))
}

/// Returns a shard with a Bloom filter.
pub(crate) fn filtered(wire: Wire) -> Subject {
    let texts: StringArray = (0..300)
        .map(|i| (i % 7 != 0).then(|| format!("{}", i * 7919 % 40)))
        .collect();
    let batch = batch([("texts", Arc::new(texts) as ArrayRef)]);
    let options = options(Profile::Balanced)
        .with_wire(wire)
        .with_bloom_filter_enabled(true)
        .with_dictionary_enabled(false);
    Subject::new(&batch, options)
}

/// Returns a shard with a range index, which needs at least 4,096 positions; long runs keep the shard small and fast to
/// read.
pub(crate) fn indexed(wire: Wire) -> Subject {
    let sorted: Int32Array = (0..4352)
        .map(|i| (i % 2176 != 0).then_some(i / 256 * 9))
        .collect();
    let batch = batch([("sorted", Arc::new(sorted) as ArrayRef)]);
    let options = options(Profile::Balanced)
        .with_wire(wire)
        .with_dictionary_enabled(false);
    let subject = Subject::new(&batch, options);
    assert!(subject.has_range_index());
    subject
}

/// Returns a shard for the reference implementation, in its native types.
pub(crate) fn native_types() -> Subject {
    let valid = |i: i64| i % 5 != 0;
    let times: TimestampMicrosecondArray =
        (0..30).map(|i| valid(i).then_some(i * 1_000_003)).collect();
    let spans: DurationMillisecondArray = (0..30).map(|i| Some(i * i)).collect();
    let decimals: Decimal128Array = (0..30i64)
        .map(|i| valid(i + 1).then_some(i128::from(i - 9)))
        .collect();
    let decimals = decimals.with_precision_and_scale(12, 3).unwrap();
    let texts: StringArray = (0..30)
        .map(|i| valid(i).then(|| format!("{}", i % 3)))
        .collect();
    let batch = batch([
        ("t", Arc::new(times) as ArrayRef),
        ("s", Arc::new(spans)),
        ("d", Arc::new(decimals)),
        ("x", Arc::new(texts)),
    ]);
    Subject::new(
        &batch,
        options(Profile::Balanced).with_wire(Wire::Reference),
    )
}

/// Returns a shard that the reference implementation wrote.
pub(crate) fn reference(name: &str) -> Option<Subject> {
    let path = shared("golden/shards")?.join(format!("{name}.amudai.shard"));
    let folder = MemoryFolder::new();
    folder.insert(NAME, std::fs::read(path).unwrap());
    Some(Subject::of_files(folder))
}

/// Returns a shard that the reference implementation wrote, with a range index.
pub(crate) fn reference_indexed() -> Option<Subject> {
    let subject = reference("struct_empty")?;
    assert!(subject.has_range_index());
    Some(subject)
}
