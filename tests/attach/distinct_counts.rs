//! Numbers of distinct values in the statistics of Parquet files.

use super::files::assert_sound;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_shard::Shard;
use arrow_shard::ops::{AttachOptions, attach_with};
use parquet::data_type::Int64Type;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Writes a file with a row group for each number, which the statistics of both columns state as the number of distinct
/// values.
fn write(path: &Path, counts: &[u64]) {
    let message = "message m { required int64 full; optional int64 part; }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    let properties = Arc::new(WriterProperties::default());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
    for count in counts {
        let mut group = writer.next_row_group().unwrap();
        while let Some(mut column) = group.next_column().unwrap() {
            let typed = column.typed::<Int64Type>();
            let some = Some(*count);
            let is_full = typed.get_descriptor().max_def_level() == 0;
            let (values, levels): (&[i64], _) = if is_full {
                (&[5, 5, 6, 7], None)
            } else {
                (&[5, 5, 6], Some(&[1, 0, 1, 1][..]))
            };
            typed
                .write_batch_with_statistics(values, levels, None, Some(&5), Some(&7), some)
                .unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// Returns the distinct count of each stripe, and whether it is exact.
fn counts(shard: &Shard, column: &str) -> Vec<Option<(u64, bool)>> {
    let statistics = shard.stripe_statistics([column]).unwrap();
    let of_column = statistics.column_by_name(column).unwrap().as_struct();
    let counts = of_column.column_by_name("distinct_count").unwrap();
    let exact = of_column.column_by_name("distinct_is_exact").unwrap();
    let counts = counts.as_primitive::<UInt64Type>().iter();
    let exact = exact.as_boolean().iter();
    counts
        .zip(exact)
        .map(|(count, exact)| Some((count?, exact == Some(true))))
        .collect()
}

#[test]
fn distinct_counts_of_row_groups_are_those_of_stripes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    // No row group has nine distinct values.
    write(&path, &[3, 2, 9]);
    let open = |name: &str, stripe_rows| {
        let target = folder.path().join(name);
        let options = AttachOptions::default().with_stripe_rows(stripe_rows);
        attach_with([&path], &target, options).unwrap();
        Shard::open(&target).unwrap()
    };
    let shard = open("a.amudai.shard", 1);
    assert_eq!(
        counts(&shard, "full"),
        [Some((3, false)), Some((2, false)), None]
    );
    // Null may be one of the values.
    assert_eq!(
        counts(&shard, "part"),
        [Some((3, false)), Some((2, false)), None]
    );
    assert_sound(&shard);
    assert_eq!(counts(&open("b.amudai.shard", 100), "full"), [None]);
}
