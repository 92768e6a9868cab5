//! Packed columns: readers see the written columns with any projection, and one request reads a row of all packed
//! columns.

use crate::logged::{Logged, bytes_of};
use crate::support::{collect, remote, written_bytes};
use arrow_array::builder::{ListBuilder, StringDictionaryBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    StringViewArray, StructArray, UInt64Array,
};
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use arrow_shard::io::NoContainer;
use arrow_shard::metadata::{SortingColumn, Wire};
use arrow_shard::ops::{CompactOptions, ShardEditor, compact, merge};
use arrow_shard::read::inspect::InspectOptions;
use arrow_shard::read::{Projection, ShardOptions, col};
use arrow_shard::write::{ColumnOptions, Profile, WriterOptions};
use arrow_shard::{ErrorKind, Shard, ShardWriter};
use std::path::Path;
use std::sync::Arc;

const ROWS: usize = 9_000;
const PACKED: [&str; 7] = ["flag", "text", "word", "list", "a.b", "number", "same"];

fn noise(i: usize) -> usize {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 42
}

fn is_there(i: usize, n: usize) -> bool {
    !noise(i).is_multiple_of(n)
}

fn number(i: usize) -> i64 {
    i64::try_from(noise(i + 1)).unwrap()
}

fn table() -> RecordBatch {
    let rows = 0..ROWS;
    let flags: BooleanArray = rows
        .clone()
        .map(|i| is_there(i, 5).then(|| noise(i) & 4 == 0))
        .collect();
    let texts: StringArray = rows
        .clone()
        .map(|i| is_there(i, 7).then(|| format!("text {} ", noise(i) % 300).repeat(noise(i) % 3)))
        .collect();
    let views: StringViewArray = rows
        .clone()
        .map(|i| Some(format!("a view of {}", number(i))))
        .collect();
    let numbers: Int64Array = rows
        .clone()
        .map(|i| is_there(i, 6).then(|| number(i)))
        .collect();
    let floats: Float64Array = rows
        .clone()
        .map(|i| Some(f64::from(u32::try_from(noise(i)).unwrap()) / 8.0))
        .collect();
    let small: Int32Array = rows
        .clone()
        .map(|i| i32::try_from(noise(i) % 90).ok())
        .collect();
    let mut words = StringDictionaryBuilder::<Int8Type>::new();
    let mut lists = ListBuilder::new(arrow_array::builder::Int16Builder::new());
    for i in rows.clone() {
        words.append_option(is_there(i, 4).then(|| format!("word {}", noise(i) % 9)));
        lists.append_option(is_there(i, 4).then(|| (0..i16::try_from(i % 4).unwrap()).map(Some)));
    }
    let member = Arc::new(Field::new("deep", DataType::Int32, true));
    let structs = StructArray::from(vec![(member, Arc::new(small.clone()) as ArrayRef)]);
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("flag", Arc::new(flags), true),
        (
            "row",
            Arc::new(
                rows.clone()
                    .map(|i| i64::try_from(i).ok())
                    .collect::<Int64Array>(),
            ),
            false,
        ),
        ("text", Arc::new(texts), true),
        ("view", Arc::new(views), false),
        ("word", Arc::new(words.finish()), true),
        ("list", Arc::new(lists.finish()), true),
        ("float", Arc::new(floats), true),
        ("a.b", Arc::new(small), false),
        ("s", Arc::new(structs), true),
        ("number", Arc::new(numbers), true),
        (
            "same",
            Arc::new(rows.map(|_| Some(7)).collect::<Int64Array>()),
            true,
        ),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let metadata = [("of".to_owned(), "the table".to_owned())].into();
    let schema = batch.schema().as_ref().clone().with_metadata(metadata);
    batch.with_schema(Arc::new(schema)).unwrap()
}

fn packed(profile: Profile) -> WriterOptions {
    WriterOptions::default()
        .with_profile(profile)
        .with_packed_columns(PACKED)
}

const PROFILES: [Profile; 5] = [
    Profile::Plain,
    Profile::Fast,
    Profile::Balanced,
    Profile::HighCompression,
    Profile::MinimalSize,
];

fn read(shard: &Shard) -> RecordBatch {
    collect(shard.scan().with_batch_size(900).build().unwrap()).unwrap()
}

#[test]
fn readers_see_the_columns_that_were_written() {
    let all = table();
    let rows: Vec<u64> = (0..ROWS as u64).step_by(61).collect();
    for profile in PROFILES
        .into_iter()
        .filter(|profile| profile.is_available())
    {
        let bytes = |options: WriterOptions| {
            let parts = [all.slice(0, 5_333), all.slice(5_333, ROWS - 5_333)];
            written_bytes(&parts, options.with_stripe_rows(4_000))
        };
        let apart =
            Shard::from_bytes(bytes(WriterOptions::default().with_profile(profile))).unwrap();
        let file = bytes(packed(profile));
        for shard in [
            Shard::from_bytes(file.clone()).unwrap(),
            remote(file, ShardOptions::default()).unwrap(),
        ] {
            assert_eq!(shard.schema().unwrap(), all.schema());
            let report = shard.verify().unwrap();
            assert!(report.is_sound(), "{profile:?}: {report:?}");
            assert_eq!(read(&shard), all, "{profile:?}");
            let names = ["a.b", "s.deep", "row", "list", "flag"];
            let projections = [
                Projection::All,
                Projection::from(names.as_slice()),
                Projection::Indices(vec![10, 0, 3]),
            ];
            for projection in projections {
                let taken = shard.take(&rows, projection.clone()).unwrap();
                assert_eq!(taken, apart.take(&rows, projection).unwrap(), "{profile:?}");
            }
            for predicate in [
                col("flag").eq(true),
                col("text").is_null(),
                col("a.b").lt(3),
                col("word").eq("word 4").and(col("s.deep").gt(5)),
                col("same").eq(7i64),
                col("number").gt(100_000i64).and(col("row").lt(5_000i64)),
            ] {
                let find = |shard: &Shard| {
                    let scan = shard.scan().with_filter(predicate.clone()).with_threads(2);
                    collect(scan.build().unwrap()).unwrap()
                };
                let found = find(&shard);
                assert!(found.num_rows() > 0, "{predicate}");
                assert_eq!(found, find(&apart), "{profile:?} {predicate}");
            }
        }
    }
}

#[test]
fn two_groups_and_columns_of_the_same_name_come_back_in_order() {
    let all = table();
    let field = |name: &str, i: usize| Field::new(name, all.column(i).data_type().clone(), true);
    let schema = arrow_schema::Schema::new(vec![
        field("n", 9),
        field("t", 2),
        field("n", 0),
        field("u", 3),
        field("v", 6),
    ]);
    let columns = [9, 2, 0, 3, 6].map(|i| all.column(i).clone());
    let batch = RecordBatch::try_new(Arc::new(schema), columns.to_vec()).unwrap();
    let options = WriterOptions::default()
        .with_packed_columns(["v", "n"])
        .with_packed_columns(["u"]);
    let shard = Shard::from_bytes(written_bytes(std::slice::from_ref(&batch), options)).unwrap();
    assert_eq!(shard.schema().unwrap(), batch.schema());
    assert_eq!(read(&shard), batch);
    let error = shard.take(&[1], ["n"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AmbiguousColumn);
    let error = shard.take(&[1], ["packed_columns_0"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownColumn);
    let taken = shard.take(&[5, 1], [4, 0]).unwrap();
    let rows = UInt64Array::from(vec![5, 1]);
    assert_eq!(
        taken,
        take_record_batch(&batch.project(&[4, 0]).unwrap(), &rows).unwrap()
    );
}

#[test]
fn columns_keep_options_and_statistics_of_their_own() {
    let all = table();
    let column = ColumnOptions::default().with_statistics_enabled(false);
    let sorted = SortingColumn {
        path: "a.b".to_owned(),
        descending: false,
        nulls_first: false,
    };
    let options = packed(Profile::Balanced)
        .with_column("number", column)
        .with_sorting_columns(vec![sorted]);
    let shard = Shard::from_bytes(written_bytes(std::slice::from_ref(&all), options)).unwrap();
    assert_eq!(shard.sorting_columns().unwrap()[0].path, "a.b");
    let statistics = |name: &str| shard.statistics([name]).unwrap();
    let is_known = |name: &str, what: &str| {
        let found = statistics(name);
        let found = found[name].as_any().downcast_ref::<StructArray>().unwrap();
        found.column_by_name(what).unwrap().is_valid(0)
    };
    assert!(is_known("text", "min") && is_known("text", "null_count"));
    assert!(!is_known("number", "min") && is_known("number", "null_count"));
    let info = shard.inspect(InspectOptions::default()).unwrap();
    let fields = &info.stripes[0].fields;
    let group = fields
        .iter()
        .find(|field| field.path == "packed_columns_0")
        .unwrap();
    let members = group.children.iter().flat_map(|field| &field.buffers);
    let indexes: Vec<_> = members.filter_map(|b| b.packed_group_index).collect();
    // The list has its own buffers, and the constant has none.
    assert_eq!(indexes, [0, 1, 2, 3, 4]);
}

#[test]
fn one_request_reads_a_row_of_all() {
    let columns = (0..20).map(|c| {
        let values = (0..60_000)
            .map(|i| Some(number(i * 20 + c)))
            .collect::<Int64Array>();
        (format!("c{c}"), Arc::new(values) as ArrayRef, false)
    });
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let names: Vec<String> = (0..20).map(|c| format!("c{c}")).collect();
    let options = WriterOptions::default().with_packed_columns(names);
    let file = Logged::new(written_bytes(std::slice::from_ref(&batch), options));
    let options = ShardOptions::default();
    let shard = Shard::from_reader(file.clone(), Arc::new(NoContainer), options).unwrap();
    // The metadata are read once for all rows.
    shard.take(&[5], Projection::All).unwrap();
    file.requests();
    let taken = shard.take(&[45_000], Projection::All).unwrap();
    assert_eq!(taken, batch.slice(45_000, 1));
    let requests = file.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(bytes_of(&requests) < 200_000, "{requests:?}");
}

#[test]
fn what_cannot_be_packed_is_an_error_that_says_so() {
    let all = table();
    let refused = |options: WriterOptions| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.amudai.shard");
        ShardWriter::create_with(path, all.schema(), options).unwrap_err()
    };
    let options = WriterOptions::default;
    for (options, kind, text) in [
        (
            options().with_packed_columns(["nowhere"]),
            ErrorKind::UnknownColumn,
            "nowhere",
        ),
        (
            options().with_packed_columns(["list", "s"]),
            ErrorKind::InvalidArgument,
            "not nested",
        ),
        (
            options().with_packed_columns([""; 0]),
            ErrorKind::InvalidArgument,
            "not nested",
        ),
        (
            options()
                .with_packed_columns(["row"])
                .with_packed_columns(["row"]),
            ErrorKind::InvalidArgument,
            "row",
        ),
        (
            options()
                .with_packed_columns(["row"])
                .with_wire(Wire::Reference),
            ErrorKind::Unsupported,
            "packed",
        ),
    ] {
        let error = refused(options);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
}

fn write(path: &Path, batch: &RecordBatch, options: WriterOptions) {
    let mut writer = ShardWriter::create_with(path, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

fn editor(path: &Path) -> ShardEditor {
    ShardEditor::open(path).unwrap()
}

#[test]
fn shards_of_packed_columns_are_changed_by_reference() {
    let all = table();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(format!("{name}.amudai.shard"));
    let (first, second) = (all.slice(0, 5_000), all.slice(5_000, 4_000));
    let options = || packed(Profile::Balanced).with_stripe_rows(1_500);
    write(&path("a"), &first, options());
    write(&path("b"), &second, options());

    merge([path("a"), path("b")], path("merged")).unwrap();
    let shard = Shard::open(path("merged")).unwrap();
    assert_eq!(shard.schema().unwrap(), all.schema());
    assert_eq!(read(&shard), all);

    let mut changed = editor(&path("merged"));
    let deleted: Vec<u64> = (0..ROWS as u64).filter(|row| row % 4 == 1).collect();
    changed.delete_rows(&deleted).unwrap();
    changed.commit().unwrap();
    let kept = UInt64Array::from_iter_values((0..ROWS as u64).filter(|row| row % 4 != 1));
    let kept = take_record_batch(&all, &kept).unwrap();
    assert_eq!(read(&Shard::open(path("merged")).unwrap()), kept);

    let options = CompactOptions::default().with_min_rows(2_000);
    let report = compact(path("merged"), options).unwrap();
    assert!(report.is_some());
    let shard = Shard::open(path("merged")).unwrap();
    assert_eq!(read(&shard), kept);
    assert_eq!(shard.schema().unwrap(), all.schema());
    assert!(shard.verify().unwrap().is_sound());

    let none: ArrayRef = Arc::new(Int64Array::from(vec![None::<i64>]));
    let mut changed = editor(&path("merged"));
    changed.append(path("b")).unwrap();
    changed.drop_columns(["view"]).unwrap();
    changed.rename_column("row", "line").unwrap();
    changed
        .add_column(Field::new("more", DataType::Int64, true), &none)
        .unwrap();
    changed.commit().unwrap();
    let shard = Shard::open(path("merged")).unwrap();
    let names: Vec<String> = shard
        .schema()
        .unwrap()
        .fields()
        .iter()
        .map(|f| f.name().clone())
        .collect();
    assert_eq!(
        names,
        [
            "flag", "line", "text", "float", "word", "list", "s", "a.b", "more", "number", "same"
        ]
    );
    let expected = concat_batches(&all.schema(), [&kept, &second]).unwrap();
    let found = read(&shard);
    for name in PACKED.iter().chain(&["float", "s"]) {
        assert_eq!(&found[*name], &expected[*name], "{name}");
    }
    assert_eq!(&found["line"], &expected["row"]);
    assert!(shard.verify().unwrap().is_sound());

    let mut changed = editor(&path("merged"));
    changed.select_columns(["line", "float"]).unwrap();
    changed.commit_to(path("few")).unwrap();
    let few = read(&Shard::open(path("few")).unwrap());
    assert_eq!(few.num_columns(), 2);
    assert_eq!(&few["line"], &expected["row"]);
}

#[test]
fn packed_columns_are_not_taken_apart() {
    let all = table();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(format!("{name}.amudai.shard"));
    write(&path("packed"), &all, packed(Profile::Balanced));
    write(&path("apart"), &all, WriterOptions::default());
    let mut changed = editor(&path("packed"));
    let errors = [
        changed.drop_columns(["text"]).unwrap_err(),
        changed.rename_column("number", "n").unwrap_err(),
        changed.select_columns(["row", "text"]).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("side by side"), "{error}");
    }
    let error = changed.rename_column("row", "text").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let field = Field::new("text", DataType::Int64, true);
    let none: ArrayRef = Arc::new(Int64Array::from(vec![None::<i64>]));
    let error = changed.add_column(field, &none).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    for inputs in [["packed", "apart"], ["apart", "packed"]] {
        let error = merge(inputs.map(path), path("both")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
        assert!(error.to_string().contains("side by side"), "{error}");
    }
}
