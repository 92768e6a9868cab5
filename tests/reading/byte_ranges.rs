//! Reads only the necessary bytes: every request is logged, and compared with the descriptors.

use crate::logged::{Logged, bytes_of};
use crate::support::written_bytes;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Int64Array, ListArray, MapArray, RecordBatch, StringArray,
    StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema};
use arrow_shard::format::{BasicType, DataEncoding};
use arrow_shard::io::{ByteRange, NoContainer};
use arrow_shard::read::inspect::InspectOptions;
use arrow_shard::read::{ScanBuilder, ShardOptions, col, lit};
use arrow_shard::write::{Profile, WriterOptions};
use arrow_shard::{Limits, Shard};
use bytes::Bytes;
use std::sync::Arc;

/// Returns options that read less at a time than the default, so small shards are read in several requests.
fn options() -> ShardOptions {
    let options = ShardOptions::default().with_tail_bytes(65_536);
    options.with_fetch_bytes(8 << 20)
}

impl Logged {
    /// Opens the shard, which reads the tail of the file.
    fn open(self: &Arc<Self>) -> Shard {
        let shard = Shard::from_reader(self.clone(), Arc::new(NoContainer), options()).unwrap();
        let size = self.bytes.len() as u64;
        let tail = ByteRange::try_new(size - 65_536, size).unwrap();
        assert_eq!(self.requests(), [tail], "opening");
        shard
    }
}

/// Returns the buffers of a stripe field.
fn buffers(shard: &Shard, stripe: u64, id: u32) -> Vec<ByteRange> {
    let field = shard.stripe_field_descriptor(stripe, id).unwrap().unwrap();
    let native = field
        .encodings
        .iter()
        .filter_map(|encoding| match encoding {
            DataEncoding::Native(native) => Some(&native.buffers),
            _ => None,
        });
    native
        .flatten()
        .map(|buffer| buffer.buffer.as_ref().unwrap().range)
        .collect()
}

/// Returns whether the ranges overlap.
fn overlap(a: ByteRange, b: ByteRange) -> bool {
    a.start() < b.end() && b.start() < a.end()
}

/// Asserts that the requests contain no byte of other columns' buffers.
fn assert_only(requests: &[ByteRange], shard: &Shard, columns: u32, wanted: &[u32]) {
    for id in (0..columns).filter(|id| !wanted.contains(id)) {
        for stripe in 0..shard.num_stripes() {
            for buffer in buffers(shard, stripe, id) {
                let touched = requests.iter().find(|request| overlap(**request, buffer));
                assert_eq!(touched, None, "column {id} at {buffer}");
            }
        }
    }
}

const COLUMNS: u32 = 10_000;
const ROWS: i64 = 20;

/// Returns a shard of 10,000 columns of incompressible numbers, so no column is constant.
fn wide() -> Bytes {
    let value = |column: i64, row: i64| (column * ROWS + row).wrapping_mul(0x1E37_79B9_7F4A_7C15);
    let fields: Vec<Field> = (0..COLUMNS)
        .map(|i| Field::new(format!("c{i}"), DataType::Int64, false))
        .collect();
    let columns = (0..i64::from(COLUMNS)).map(|column| {
        Arc::new(Int64Array::from_iter_values(
            (0..ROWS).map(|row| value(column, row)),
        )) as ArrayRef
    });
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect()).unwrap();
    written_bytes(&[batch], WriterOptions::default())
}

#[test]
fn one_column_of_ten_thousand_costs_its_own_bytes_and_a_few_requests() {
    let file = Logged::new(wide());
    let shard = file.open();
    let reader = shard.scan().with_projection(["c4711"]).build().unwrap();
    let building = file.requests();
    let batch = crate::support::collect(reader).unwrap();
    let reading = file.requests();
    assert_eq!((batch.num_rows(), batch.num_columns()), (20, 1));
    // Schema and properties; then stripe list, field list, descriptor, block map, data.
    assert!(building.len() <= 2, "{building:?}");
    assert!(reading.len() <= 5, "{reading:?}");
    // Only the data and the descriptor of one of 10,000 columns.
    let all = [building, reading].concat();
    let own: u64 = buffers(&shard, 0, 4711)
        .iter()
        .map(|buffer| buffer.len())
        .sum();
    let root = shard.directory();
    let lists = [
        &root.schema_ref,
        &root.properties_ref,
        &root.stripe_list_ref,
    ];
    let lists: u64 = lists
        .iter()
        .map(|reference| reference.as_ref().unwrap().range.len())
        .sum();
    // 28 bytes of the field list for each column.
    let most = lists + 28 * u64::from(COLUMNS) + own + 4096;
    assert!(
        bytes_of(&all) < most,
        "{} bytes of {most}: {all:?}",
        bytes_of(&all)
    );
    assert_only(&all, &shard, COLUMNS, &[4711]);

    file.requests();
    let again =
        crate::support::collect(shard.scan().with_projection(["c4711"]).build().unwrap()).unwrap();
    assert_eq!(again, batch);
    let second = file.requests();
    assert_eq!(second.len(), 1, "metadata were read again: {second:?}");
    assert!(bytes_of(&second) <= own);
}

#[test]
fn ten_rows_of_two_columns_of_ten_thousand_touch_no_other_column() {
    let file = Logged::new(wide());
    let shard = file.open();
    let rows = [3, 17, 0, 4, 9, 19, 1, 2, 11, 12];
    let batch = shard.take(&rows, ["c1", "c9000"]).unwrap();
    assert_eq!((batch.num_rows(), batch.num_columns()), (10, 2));
    let requests = file.requests();
    // Two descriptors, block maps and blocks, far apart, after three earlier requests.
    assert!(requests.len() <= 9, "{requests:?}");
    assert_only(&requests, &shard, COLUMNS, &[1, 9000]);
}

/// Returns a number that looks random, another one for each `i`.
fn mixed(i: i64) -> i64 {
    let word = i.wrapping_mul(0x1E37_79B9_7F4A_7C15);
    (word ^ word >> 29).wrapping_mul(0x3F58_476D_1CE4_E5B9)
}

/// Returns a shard of two columns of 300,000 rows, in blocks.
fn long(profile: Profile) -> Bytes {
    let numbers: Int64Array = (0..300_000i64)
        .map(|i| Some(i.wrapping_mul(0x1E37_79B9_7F4A_7C15)))
        .collect();
    let texts: StringArray = (0..300_000i64)
        .map(|i| Some(format!("text {:x}", mixed(i))))
        .collect();
    let columns = [
        ("number", Arc::new(numbers) as ArrayRef),
        ("text", Arc::new(texts)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    written_bytes(&[batch], WriterOptions::default().with_profile(profile))
}

#[cfg(feature = "threads")]
#[test]
fn threads_fetch_much_at_a_time() {
    let requests = |threads: usize| {
        let file = Logged::new(long(Profile::Balanced));
        let shard = file.open();
        let scan = shard.scan().with_projection(["number"]);
        let reader = scan.with_threads(threads).build().unwrap();
        assert_eq!(crate::support::collect(reader).unwrap().num_rows(), 300_000);
        file.requests().len()
    };
    // One thread fetches the block map together with the values. Two threads fetch it first, and then half of the rows
    // each: two of five windows, and a part of the third.
    assert_eq!((requests(1), requests(2)), (1, 3));
}

#[test]
fn ten_rows_cost_ten_blocks_at_most() {
    for profile in [Profile::Plain, Profile::Balanced] {
        let file = Logged::new(long(profile));
        let shard = file.open();
        let rows: Vec<u64> = (0..10).map(|i| i * 29_999).collect();
        let batch = shard.take(&rows, ["number"]).unwrap();
        assert_eq!(batch.num_rows(), 10);
        let requests = file.requests();
        assert_only(&requests, &shard, 2, &[0]);
        let [data] = buffers(&shard, 0, 0)[..] else {
            panic!("one buffer was expected");
        };
        let of_data: Vec<&ByteRange> = requests.iter().filter(|r| overlap(**r, data)).collect();
        // The block map, and for each row a block, or a chunk with a checksum.
        assert!(of_data.len() <= 11, "{profile:?}: {requests:?}");
        let most = 10 * 66_000 + 10_000;
        assert!(
            bytes_of(&requests) < most,
            "{profile:?}: {}",
            bytes_of(&requests)
        );
        // With blocks, much less than the whole is read, unless reading the whole is as fast. Opening also reads the
        // tail.
        assert!(
            data.len() <= 65_536 || bytes_of(&requests) < data.len() / 2,
            "{profile:?}: {requests:?}"
        );
    }
}

#[test]
fn a_range_of_rows_reads_the_blocks_around_it() {
    for profile in [Profile::Plain, Profile::Balanced] {
        let file = Logged::new(long(profile));
        let shard = file.open();
        let scan = shard
            .scan()
            .with_projection(["text"])
            .with_row_range(150_000..150_100);
        let batch = crate::support::collect(scan.build().unwrap()).unwrap();
        assert_eq!(batch.num_rows(), 100);
        let requests = file.requests();
        assert_only(&requests, &shard, 2, &[1]);
        assert!(bytes_of(&requests) < 500_000, "{profile:?}: {requests:?}");
        assert!(requests.len() <= 6, "{profile:?}: {requests:?}");
    }
}

#[test]
fn a_scan_of_everything_reads_nothing_twice_in_a_few_requests() {
    for profile in [Profile::Plain, Profile::Balanced] {
        let file = Logged::new(long(profile));
        let shard = file.open();
        let rows: usize = shard
            .scan()
            .build()
            .unwrap()
            .map(|b| b.unwrap().num_rows())
            .sum();
        assert_eq!(rows, 300_000);
        let requests = file.requests();
        assert!(requests.len() <= 12, "{profile:?}: {requests:?}");
        let mut sorted = requests.clone();
        sorted.sort_unstable();
        for pair in sorted.windows(2) {
            assert!(
                !overlap(pair[0], pair[1]),
                "{profile:?}: {pair:?} of {requests:?}"
            );
        }
    }
}

#[test]
fn selected_rows_and_those_that_all_match_are_fetched_as_those_of_a_scan() {
    type Narrow = fn(ScanBuilder) -> ScanBuilder;
    let narrowed: [(&str, Narrow); 3] = [
        ("selection", |scan| scan.with_row_selection(0..300_000)),
        ("filter", |scan| {
            scan.with_filter(col("number").is_not_null())
        }),
        ("both", |scan| {
            let scan = scan.with_filter(col("number").is_not_null());
            scan.with_row_selection(0..300_000)
        }),
    ];
    for profile in [Profile::Plain, Profile::Balanced] {
        let bytes = long(profile);
        let requests = |narrow: Narrow| {
            let file = Logged::new(bytes.clone());
            let shard = file.open();
            let batches = narrow(shard.scan()).build().unwrap();
            let rows: usize = batches.map(|batch| batch.unwrap().num_rows()).sum();
            assert_eq!(rows, 300_000);
            file.requests()
        };
        let plain = requests(|scan| scan);
        for (name, narrow) in narrowed {
            let found = requests(narrow);
            let (most, bytes) = (plain.len() + 2, bytes_of(&plain) * 11 / 10);
            assert!(found.len() <= most, "{profile:?}, {name}: {found:?}");
            assert!(bytes_of(&found) <= bytes, "{profile:?}, {name}: {found:?}");
        }
    }
}

#[test]
fn statistics_read_no_data() {
    let file = Logged::new(wide());
    let shard = file.open();
    let all = shard
        .stripe_statistics(arrow_shard::Projection::All)
        .unwrap();
    assert_eq!(all.num_columns(), COLUMNS as usize + 1);
    let requests = file.requests();
    assert!(requests.len() <= 5, "{}", requests.len());
    assert_only(&requests, &shard, COLUMNS, &[]);
    file.requests();
    let shard = file.open();
    let all = shard.statistics(arrow_shard::Projection::All).unwrap();
    assert_eq!(all.num_columns(), COLUMNS as usize + 1);
    let requests = file.requests();
    assert!(requests.len() <= 5, "{}", requests.len());
    let shard = file.open();
    let one = shard.statistics(["c4711"]).unwrap();
    assert_eq!((one.num_rows(), one.num_columns()), (1, 2));
    let requests = file.requests();
    let root = shard.directory();
    let lists: u64 = [&root.schema_ref, &root.properties_ref, &root.field_list_ref]
        .iter()
        .map(|reference| reference.as_ref().unwrap().range.len())
        .sum();
    assert!(bytes_of(&requests) < lists + 65_536, "{requests:?}");
    assert_only(&requests, &shard, COLUMNS, &[]);
}

/// Returns a shard of ascending times, distinct texts, and incompressible numbers, in three stripes.
fn readings() -> Bytes {
    let options = WriterOptions::default().with_stripe_rows(100_000);
    let batches: Vec<RecordBatch> = (0..3i64)
        .map(|stripe| {
            let rows = stripe * 100_000..(stripe + 1) * 100_000;
            let times: Int64Array = rows.clone().map(|i| Some(i * 10)).collect();
            let texts = rows.clone().map(|i| Some(format!("text {:x}", mixed(i))));
            let texts: StringArray = texts.collect();
            let numbers: Int64Array = rows.map(|i| Some(mixed(i))).collect();
            let columns = [
                ("time", Arc::new(times) as ArrayRef),
                ("text", Arc::new(texts)),
                ("number", Arc::new(numbers)),
            ];
            RecordBatch::try_from_iter(columns).unwrap()
        })
        .collect();
    written_bytes(&batches, options)
}

/// Returns the requests that overlap the values of a column in a stripe.
fn touching(requests: &[ByteRange], shard: &Shard, stripe: u64, id: u32) -> Vec<ByteRange> {
    let data = buffers(shard, stripe, id)[0];
    let touching = requests.iter().filter(|r| overlap(**r, data));
    touching.copied().collect()
}

#[test]
fn a_filter_that_nothing_matches_reads_no_values() {
    let file = Logged::new(readings());
    for filter in [
        col("time").gt(lit(3_000_000)),
        col("time").eq(15),
        col("text").eq("zebra"),
        col("text").starts_with("zebra"),
        col("number").is_null(),
        col("time").lt(1000).and(col("time").gt(2_999_000)),
    ] {
        let shard = file.open();
        let shown = filter.to_string();
        let scan = shard.scan().with_filter(filter).build().unwrap();
        assert_eq!(scan.count(), 0, "{shown}");
        let requests = file.requests();
        for (stripe, id) in (0..3).flat_map(|stripe| (0..3).map(move |id| (stripe, id))) {
            let touching = touching(&requests, &shard, stripe, id);
            let is_tested = id == 0 && shown.ends_with("= 15");
            // The blocks and positions in the first stripe that may contain 15.
            let most = if is_tested && stripe == 0 { 100_000 } else { 0 };
            assert!(
                bytes_of(&touching) <= most,
                "{shown}: {touching:?} of column {id}"
            );
        }
        file.requests();
    }
}

#[test]
fn a_range_of_a_sorted_column_reads_the_blocks_that_can_match() {
    let file = Logged::new(readings());
    let shard = file.open();
    let filter = col("time").between(1_500_000, 1_500_990);
    let scan = shard.scan().with_projection(["number"]).with_filter(filter);
    let batch = crate::support::collect(scan.build().unwrap()).unwrap();
    assert_eq!(batch.num_rows(), 100);
    let requests = file.requests();
    for id in 0..3 {
        for stripe in [0, 2] {
            let touching = touching(&requests, &shard, stripe, id);
            assert_eq!(touching, [], "stripe {stripe} holds no such time");
        }
    }
    assert_eq!(
        touching(&requests, &shard, 1, 1),
        [],
        "the text is not asked for"
    );
    let numbers = buffers(&shard, 1, 2)[0];
    let read = bytes_of(&touching(&requests, &shard, 1, 2));
    assert!(
        read > 0 && read < numbers.len() / 4,
        "{read} of {}",
        numbers.len()
    );
    assert!(requests.len() <= 8, "{requests:?}");
}

#[test]
fn what_is_not_kept_is_read_again() {
    let file = Logged::new(readings());
    let requests = |max_bytes| {
        let limits = Limits::default().with_max_cached_bytes(max_bytes);
        let options = options().with_tail_bytes(12).with_limits(limits);
        let shard = Shard::from_reader(file.clone(), Arc::new(NoContainer), options).unwrap();
        let mut counts = Vec::new();
        for row in [7, 7, 250_000, 7] {
            file.requests();
            assert_eq!(shard.take(&[row], ["text"]).unwrap().num_rows(), 1);
            counts.push(file.requests().len());
        }
        counts
    };
    let kept = requests(1 << 28);
    assert_eq!((kept[1], kept[3]), (1, 1), "{kept:?}");
    // Cache sizes for one field of a stripe, and for none.
    let one = |max_bytes| {
        let counts = requests(max_bytes);
        counts[1] == 1 && counts[3] > 1
    };
    assert!((1..40).any(|n| one(n * 250)));
    let none = requests(0);
    assert!(none[1] > 1 && none[3] > 1, "{none:?}");
}

#[test]
fn inspection_reads_no_more_of_a_range_index_than_its_header() {
    let file = Logged::new(readings());
    let shard = file.open();
    let info = shard
        .inspect(InspectOptions::default().with_encodings(false))
        .unwrap();
    let requests = file.requests();
    let buffers = info
        .stripes
        .iter()
        .flat_map(|stripe| &stripe.fields[0].buffers);
    let indexes: Vec<_> = buffers
        .filter(|buffer| buffer.range_index.is_some())
        .collect();
    assert_eq!(indexes.len(), 3);
    for index in indexes {
        let described = index.range_index.as_ref().unwrap();
        assert_eq!((described.entries, described.block_positions), (391, 256));
        assert!(index.range.len() > 256);
        let touching: Vec<_> = requests
            .iter()
            .filter(|r| overlap(**r, index.range))
            .collect();
        assert!(
            touching.iter().all(|r| r.end() <= index.range.start() + 40),
            "{touching:?}"
        );
    }
}

/// Returns a shard of lists, structs, maps and fixed-size lists of texts, with some nulls.
fn nested() -> Bytes {
    let rows = 120_000usize;
    let valid = |row: usize| !row.is_multiple_of(9);
    let texts = |count: usize| -> ArrayRef {
        let text = |i: usize| {
            Some(format!(
                "text {}",
                (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ))
        };
        Arc::new((0..count).map(text).collect::<StringArray>())
    };
    let nulls = || Some(NullBuffer::from_iter((0..rows).map(valid)));
    let lengths =
        || OffsetBuffer::<i32>::from_lengths((0..rows).map(|row| usize::from(valid(row))));
    let items = (0..rows).filter(|row| valid(*row)).count();
    let item = Arc::new(Field::new("item", DataType::Utf8, true));
    let members = Fields::from(vec![Field::new("text", DataType::Utf8, true)]);
    let entries = Fields::from(vec![
        Field::new("keys", DataType::Utf8, false),
        Field::new("values", DataType::Utf8, true),
    ]);
    let lists = ListArray::new(item.clone(), lengths(), texts(items), nulls());
    let structs = StructArray::new(members, vec![texts(rows)], nulls());
    let pairs = StructArray::new(entries.clone(), vec![texts(items), texts(items)], None);
    let entries = Arc::new(Field::new("entries", DataType::Struct(entries), false));
    let maps = MapArray::new(entries, lengths(), pairs, nulls(), false);
    let fixed = FixedSizeListArray::new(item, 1, texts(rows), nulls());
    let inner = vec![Arc::new(lists.clone()) as ArrayRef];
    let outer = Fields::from(vec![Field::new("list", lists.data_type().clone(), true)]);
    let outer = StructArray::new(outer, inner, None);
    let columns: [(&str, ArrayRef); 5] = [
        ("list", Arc::new(lists)),
        ("struct", Arc::new(structs)),
        ("map", Arc::new(maps)),
        ("fixed", Arc::new(fixed)),
        ("outer", Arc::new(outer)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    written_bytes(&[batch], WriterOptions::default())
}

#[test]
fn whether_nested_values_are_null_is_read_without_what_they_hold() {
    let file = Logged::new(nested());
    let shard = file.open();
    let fields = shard.shard_schema().unwrap().fields;
    for path in ["list", "struct", "map", "fixed", "outer.list"] {
        for (filter, rows) in [
            (col(path).is_null(), 13_334),
            (col(path).is_not_null(), 106_666),
        ] {
            let shard = file.open();
            let shown = filter.to_string();
            let scan = shard.scan().with_filter(filter);
            let scan = scan.with_projection(arrow_shard::Projection::Indices(Vec::new()));
            let found = scan.build().unwrap().map(|batch| batch.unwrap().num_rows());
            assert_eq!(found.sum::<usize>(), rows, "{shown}");
            let requests = file.requests();
            let mut texts = 0;
            for field in &fields {
                field.data_type.walk(&mut |node| {
                    if node.basic_type != BasicType::String {
                        return;
                    }
                    texts += 1;
                    for buffer in buffers(&shard, 0, node.schema_id) {
                        let touched = requests.iter().find(|request| overlap(**request, buffer));
                        assert_eq!(touched, None, "{shown} reads `{}`", node.name);
                    }
                });
            }
            assert_eq!(texts, 6);
            assert!(bytes_of(&requests) < 100_000, "{shown}: {requests:?}");
            file.requests();
        }
    }
}
