//! Values without a dictionary get one where it saves space, and lose it where it no longer does.

use crate::support::{collect, remote, written_bytes};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Decimal128Array, DictionaryArray, FixedSizeBinaryArray,
    Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray, RecordBatch, RunArray,
    StringArray, StringViewArray, UInt16Array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema};
use arrow_shard::encoding::EncodingCode;
use arrow_shard::format::{BufferKind, DataEncoding, Wire};
use arrow_shard::io::NoContainer;
use arrow_shard::read::inspect::InspectOptions;
use arrow_shard::read::{Predicate, ShardOptions, col};
use arrow_shard::write::{ColumnOptions, PresenceLayout, Profile, ShardWriter, WriterOptions};
use arrow_shard::{Limits, Projection, Shard};
use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::HashSet;
use std::sync::Arc;

/// Number of values in a window, after which encodings are chosen again.
const WINDOW: usize = 65_536;

/// Returns the number of the entry in each row; `None` is a null.
fn picks(rows: usize, entries: usize, nulls: bool, seed: u64) -> Vec<Option<usize>> {
    let mut rng = StdRng::seed_from_u64(seed);
    (0..rows)
        .map(|_| {
            let pick = rng.random_range(0..entries);
            (!nulls || rng.random_range(0..5) > 0).then_some(pick)
        })
        .collect()
}

fn text(i: usize) -> String {
    format!("https://example.org/{}/{i}", i.wrapping_mul(0x9E37_79B9))
}

fn scattered(i: usize) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Returns a column of every kind that can have a dictionary.
fn columns(picks: &[Option<usize>]) -> Vec<(&'static str, ArrayRef)> {
    let of = |pick: &Option<usize>| *pick;
    let texts: LargeStringArray = picks.iter().map(|p| of(p).map(text)).collect();
    let views: StringViewArray = picks.iter().map(|p| of(p).map(text)).collect();
    let binaries: BinaryArray = picks.iter().map(|p| of(p).map(text)).collect();
    let fixed = picks.iter().map(|p| {
        let id = of(p).map(scattered)?;
        Some([id.to_le_bytes(), (!id).to_le_bytes()].concat())
    });
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 16).unwrap();
    let integers: Int64Array = picks
        .iter()
        .map(|p| of(p).map(|i| scattered(i).cast_signed()))
        .collect();
    let doubles: Float64Array = picks
        .iter()
        .map(|p| of(p).map(|i| f64::from_bits(scattered(i) | 1)))
        .collect();
    let shorts: UInt16Array = picks
        .iter()
        .map(|p| of(p).map(|i| (scattered(i) >> 48) as u16))
        .collect();
    vec![
        ("texts", Arc::new(texts)),
        ("views", Arc::new(views)),
        ("binaries", Arc::new(binaries)),
        ("fixed", Arc::new(fixed)),
        ("integers", Arc::new(integers)),
        ("doubles", Arc::new(doubles)),
        ("shorts", Arc::new(shorts)),
    ]
}

fn written(batch: &RecordBatch, options: WriterOptions) -> Shard {
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options).unwrap();
    // The batches do not end at window borders.
    let mut at = 0;
    while at < batch.num_rows() {
        let len = 10_007.min(batch.num_rows() - at);
        writer.write(&batch.slice(at, len)).unwrap();
        at += len;
    }
    writer.finish().unwrap();
    Shard::from_bytes(Bytes::from(file)).unwrap()
}

fn assert_reads(shard: &Shard, batch: &RecordBatch) {
    let mut at = 0;
    for read in shard.scan().with_batch_size(7001).build().unwrap() {
        let read = read.unwrap();
        let expected = batch.slice(at, read.num_rows());
        assert_eq!(read, expected, "rows from {at} on");
        at += read.num_rows();
    }
    assert_eq!(at, batch.num_rows());
    let rows: Vec<u64> = (0..batch.num_rows() as u64).step_by(9973).collect();
    let taken = shard.take(&rows, Projection::All).unwrap();
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(
            taken.slice(i, 1),
            batch.slice(usize::try_from(*row).unwrap(), 1)
        );
    }
}

/// Returns the names of the columns with a dictionary in stripe 0.
fn with_dictionary(shard: &Shard) -> Vec<String> {
    let schema = shard.shard_schema().unwrap();
    let has_dictionary = |id: u32| {
        let field = shard.stripe_field_descriptor(0, id).unwrap().unwrap();
        field.encodings.iter().any(|encoding| match encoding {
            DataEncoding::Native(native) => native
                .buffers
                .iter()
                .any(|b| b.kind == BufferKind::ValueDictionary),
            _ => false,
        })
    };
    let fields = schema.fields.iter().map(|field| &field.data_type);
    fields
        .filter(|node| has_dictionary(node.schema_id))
        .map(|node| node.name.clone())
        .collect()
}

fn every_option() -> Vec<WriterOptions> {
    let options = WriterOptions::default();
    let all = [
        options.clone(),
        options.clone().with_presence(PresenceLayout::Embedded),
        #[cfg(feature = "zstd")]
        options.clone().with_profile(Profile::HighCompression),
        options.with_wire(Wire::Reference),
    ];
    all.into()
}

#[test]
fn few_distinct_values_get_a_dictionary() {
    for nulls in [false, true] {
        let picks = picks(2 * WINDOW + 12_345, 500, nulls, 1);
        let batch = RecordBatch::try_from_iter(columns(&picks)).unwrap();
        for options in every_option() {
            let (wire, profile) = (options.wire(), options.profile());
            let shard = written(&batch, options);
            // Pco compresses a few distinct numbers as well as a dictionary.
            let of_numbers = wire == Wire::Spec && profile != Profile::HighCompression;
            let mut expected = vec!["texts", "views", "binaries", "fixed"];
            if of_numbers {
                expected.extend(["integers", "doubles"]);
            }
            let found = with_dictionary(&shard);
            for name in expected {
                assert!(
                    found.iter().any(|f| f == name),
                    "{wire:?}: {name} not in {found:?}"
                );
            }
            assert_reads(&shard, &batch);
        }
    }
}

#[test]
fn a_dictionary_that_stops_paying_is_given_up() {
    for nulls in [false, true] {
        let mut all = picks(WINDOW, 300, nulls, 2);
        all.extend(picks(3 * WINDOW + 99, 1 << 40, nulls, 3));
        let batch = RecordBatch::try_from_iter(columns(&all)).unwrap();
        for options in every_option() {
            let shard = written(&batch, options);
            let found = with_dictionary(&shard);
            for name in ["texts", "views", "binaries", "fixed", "integers", "doubles"] {
                assert!(!found.iter().any(|f| f == name), "{name} in {found:?}");
            }
            assert_reads(&shard, &batch);
        }
    }
}

#[test]
fn dictionaries_can_be_switched_off() {
    let picks = picks(WINDOW, 50, false, 4);
    let batch = RecordBatch::try_from_iter(columns(&picks)).unwrap();
    let off = WriterOptions::default().with_dictionary_enabled(false);
    let shard = written(&batch, off.clone());
    assert!(with_dictionary(&shard).is_empty());
    let one = off.with_column(
        "texts",
        ColumnOptions::default().with_dictionary_enabled(true),
    );
    assert_eq!(with_dictionary(&written(&batch, one)), ["texts"]);
    let plain = WriterOptions::default().with_profile(Profile::Plain);
    assert!(with_dictionary(&written(&batch, plain)).is_empty());
}

#[test]
fn the_most_frequent_entry_has_code_0() {
    let texts: LargeStringArray = (0..WINDOW)
        .map(|i| match i % 10 {
            0 => Some("first but rare".to_owned()),
            1 | 2 => Some(format!("other {}", i % 7)),
            _ => Some("frequent".to_owned()),
        })
        .collect();
    let batch = RecordBatch::try_from_iter([("texts", Arc::new(texts) as ArrayRef)]).unwrap();
    let shard = written(&batch, WriterOptions::default());
    assert_eq!(with_dictionary(&shard), ["texts"]);
    let dictionary = arrow_schema::DataType::Dictionary(
        Box::new(arrow_schema::DataType::UInt32),
        Box::new(arrow_schema::DataType::LargeUtf8),
    );
    let schema =
        arrow_schema::Schema::new(vec![arrow_schema::Field::new("texts", dictionary, true)]);
    let mut scan = shard.scan().with_schema(Arc::new(schema)).build().unwrap();
    let read = scan.next().unwrap().unwrap();
    let read = read.column(0).as_any();
    let read = read
        .downcast_ref::<arrow_array::DictionaryArray<arrow_array::types::UInt32Type>>()
        .unwrap();
    let entries = read
        .values()
        .as_any()
        .downcast_ref::<LargeStringArray>()
        .unwrap();
    assert_eq!(entries.value(0), "frequent");
    assert_eq!(entries.len(), 9);
}

/// Writes a column of integers in the given pieces.
fn integers(pieces: &[Vec<Option<i64>>], options: WriterOptions) -> Shard {
    let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, schema.clone(), options).unwrap();
    for piece in pieces {
        let column: ArrayRef = Arc::new(Int64Array::from(piece.clone()));
        let batch = RecordBatch::try_new(schema.clone(), vec![column]).unwrap();
        writer.write(&batch).unwrap();
    }
    writer.finish().unwrap();
    Shard::from_bytes(Bytes::from(file)).unwrap()
}

fn scattered_integers(rows: usize, entries: usize, seed: u64) -> Vec<Option<i64>> {
    let picks = picks(rows, entries, false, seed);
    let value = |pick: Option<usize>| pick.map(|i| scattered(i).cast_signed());
    picks.into_iter().map(value).collect()
}

#[test]
fn numbers_keep_a_dictionary_to_which_later_windows_add_nothing() {
    let shard = integers(
        &[scattered_integers(5 * WINDOW, 5000, 3)],
        WriterOptions::default(),
    );
    assert_eq!(with_dictionary(&shard), ["a"]);
}

#[test]
fn values_after_leading_nulls_are_in_the_filter_without_a_dictionary() {
    // The second window has too many entries for a dictionary; the searched value is among its first ones.
    let mut first = scattered_integers(WINDOW, 3000, 4);
    first[..5000].fill(None);
    let mut second: Vec<Option<i64>> = (0..WINDOW)
        .map(|i| Some(scattered(1_000_000 + i).cast_signed()))
        .collect();
    second[4500] = Some(12_345);
    let options = WriterOptions::default().with_bloom_filter_enabled(true);
    let shard = integers(&[first, second], options);
    assert!(with_dictionary(&shard).is_empty());
    let found = shard
        .scan()
        .with_filter(col("a").eq(12_345i64))
        .build()
        .unwrap();
    let rows: usize = found.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 1);
}

#[test]
fn nulls_before_the_first_value_are_no_entry_of_a_dictionary() {
    let nulls = vec![None; 5000];
    let values = scattered_integers(60_000, 5000, 5);
    let distinct: HashSet<_> = values.iter().flatten().collect();
    let shard = integers(&[nulls, values.clone()], WriterOptions::default());
    assert_eq!(with_dictionary(&shard), ["a"]);
    let known = shard.statistics(Projection::All).unwrap();
    let of_column = known.column_by_name("a").unwrap().as_struct();
    let count = of_column.column_by_name("distinct_count").unwrap();
    assert_eq!(
        count.as_primitive::<UInt64Type>().value(0),
        distinct.len() as u64
    );
}

/// Reads shards without caches in all ways: dictionaries must stay available as long as the values.
#[test]
fn nothing_that_is_read_has_to_be_kept() {
    let picks = picks(3000, 20, true, 5);
    let batch = RecordBatch::try_from_iter(columns(&picks)).unwrap();
    let options = WriterOptions::default().with_stripe_rows(1000);
    let file = written_bytes(std::slice::from_ref(&batch), options);
    for max_bytes in [0, 3000, 1 << 28] {
        let limits = Limits::default().with_max_cached_bytes(max_bytes);
        let options = ShardOptions::default().with_limits(limits);
        let here = Shard::from_reader(
            Arc::new(file.clone()),
            Arc::new(NoContainer),
            options.clone(),
        );
        for shard in [here.unwrap(), remote(file.clone(), options).unwrap()] {
            assert!(with_dictionary(&shard).len() > 2);
            assert_reads(&shard, &batch);
            let rows = shard.scan().with_threads(2).build().unwrap();
            assert_eq!(collect(rows).unwrap(), batch);
            let taken = shard.take(&[2999, 7], Projection::All).unwrap();
            assert_eq!(taken.slice(0, 1), batch.slice(2999, 1));
            let matching = shard.scan().with_filter(col("texts").is_not_null());
            let matching = collect(matching.build().unwrap()).unwrap();
            let present = picks.iter().filter(|pick| pick.is_some()).count();
            assert_eq!(matching.num_rows(), present);
            let one = shard.scan().with_filter(col("texts").eq(text(3).as_str()));
            let one = collect(one.build().unwrap()).unwrap();
            let expected = picks.iter().filter(|pick| **pick == Some(3)).count();
            assert_eq!(one.num_rows(), expected);
            assert_eq!(
                shard.stripe_statistics(Projection::All).unwrap().num_rows(),
                3
            );
        }
    }
}

/// Writes batches of a column of dictionary arrays, in one stripe if possible.
fn written_batches(field: Field, arrays: &[ArrayRef], options: WriterOptions) -> Vec<u8> {
    let schema = Arc::new(Schema::new(vec![field]));
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, schema.clone(), options).unwrap();
    for array in arrays {
        let batch = RecordBatch::try_new(schema.clone(), vec![array.clone()]).unwrap();
        writer.write(&batch).unwrap();
    }
    writer.finish().unwrap();
    file
}

#[test]
fn an_entry_that_no_row_uses_may_be_one_that_cannot_be_stored() {
    let decimals = |entries: Vec<i128>| -> ArrayRef {
        let entries = Decimal128Array::from(entries);
        let entries = entries.with_precision_and_scale(5, 2).unwrap();
        let keys = Int32Array::from(vec![Some(0), None, Some(1), Some(0)]);
        Arc::new(DictionaryArray::new(keys, Arc::new(entries)))
    };
    // The last entry has more digits than the type allows.
    let (sound, unused) = (decimals(vec![100, -5]), decimals(vec![7, 8, 12_345_678]));
    let field = Field::new("d", sound.data_type().clone(), true);
    for arrays in [[&sound, &unused], [&unused, &sound]] {
        let arrays = arrays.map(Arc::clone);
        for options in every_option() {
            let file = written_batches(field.clone(), &arrays, options);
            let shard = Shard::from_bytes(file.into()).unwrap();
            assert_eq!(
                shard.stripe_statistics(Projection::All).unwrap().num_rows(),
                1
            );
            let read = collect(shard.scan().build().unwrap()).unwrap();
            let [first, second] = &arrays;
            assert_eq!(&read.column(0).slice(0, 4), first);
            assert_eq!(&read.column(0).slice(4, 4), second);
        }
    }
}

#[test]
fn what_stands_under_a_null_entry_of_an_ordered_dictionary_is_not_stored() {
    let entries = StringArray::new(
        OffsetBuffer::new(vec![0, 6, 11].into()),
        Buffer::from(b"secretshown"),
        Some(NullBuffer::from(vec![false, true])),
    );
    let keys = Int8Array::from(vec![1, 0, 1]);
    let array: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(entries)));
    let field = Field::new("d", array.data_type().clone(), true).with_dict_is_ordered(true);
    for options in every_option() {
        let file = written_batches(field.clone(), &[array.clone(), array.clone()], options);
        let holds = |text: &[u8]| file.windows(text.len()).any(|bytes| bytes == text);
        assert!(holds(b"shown") && !holds(b"secret"));
        let shard = Shard::from_bytes(file.into()).unwrap();
        let read = collect(shard.scan().build().unwrap()).unwrap();
        let texts = |array: &ArrayRef| arrow_cast::cast(array, &DataType::Utf8).unwrap();
        assert_eq!(&texts(&read.column(0).slice(3, 3)), &texts(&array));
    }
}

#[test]
fn filters_find_texts_whose_blocks_have_dictionaries_of_their_own() {
    // Each window has few words, and shares hardly any with the next one; the word `all` is in each.
    let word = |row: usize| match row % 1000 {
        0 => "all".to_owned(),
        _ => format!("word {} in window {}", row * 7919 % 13, row / WINDOW),
    };
    let rows = 3 * WINDOW + 5000;
    let words: Vec<Option<String>> = (0..rows)
        .map(|row| (row % 11 > 0).then(|| word(row)))
        .collect();
    let texts: LargeStringArray = words.iter().map(Option::as_deref).collect();
    let views: StringViewArray = words.iter().map(Option::as_deref).collect();
    let columns: [(&str, ArrayRef); 2] = [("texts", Arc::new(texts)), ("views", Arc::new(views))];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(n, c)| (n, c, true)));
    let options = WriterOptions::default().with_dictionary_enabled(false);
    let file = written_bytes(&[batch.unwrap()], options);
    let resident = Shard::from_bytes(file.clone()).unwrap();
    assert_eq!(with_dictionary(&resident), [] as [String; 0]);
    for field in &resident.inspect(InspectOptions::default()).unwrap().stripes[0].fields {
        let data = field.buffers.iter().find(|b| b.kind == BufferKind::Data);
        let blocks = data.unwrap().blocks.as_ref().unwrap();
        assert!(blocks.count >= 4, "{blocks:?}");
        let codes: Vec<_> = blocks.encodings.iter().map(|e| e.code).collect();
        assert_eq!(codes, [EncodingCode::BlockDictionary], "{}", field.path);
    }
    let fetched = remote(file, ShardOptions::default()).unwrap();
    type Test = (Predicate, fn(&str) -> bool);
    for name in ["texts", "views"] {
        let tests: [Test; 6] = [
            (col(name).eq("all"), |w| w == "all"),
            (col(name).eq("word 5 in window 2"), |w| {
                w == "word 5 in window 2"
            }),
            (col(name).not_eq("word 5 in window 2"), |w| {
                w != "word 5 in window 2"
            }),
            (
                col(name).is_in(["all", "word 1 in window 0", "none"]),
                |w| ["all", "word 1 in window 0"].contains(&w),
            ),
            (col(name).gt("word 3"), |w| w > "word 3"),
            (col(name).starts_with("word 12 "), |w| {
                w.starts_with("word 12 ")
            }),
        ];
        for (predicate, is_match) in tests {
            let words = words.iter().map(Option::as_deref);
            let expected: Vec<(u64, Option<&str>)> = (0..)
                .zip(words)
                .filter(|(_, word)| word.is_some_and(is_match))
                .collect();
            assert!(!expected.is_empty());
            for shard in [&resident, &fetched] {
                let scan = shard.scan().with_filter(predicate.clone());
                let found = collect(scan.with_row_number("row").build().unwrap()).unwrap();
                let rows = found["row"].as_primitive::<UInt64Type>().values();
                let texts = found["texts"].as_string::<i64>();
                let views = found["views"].as_string_view();
                let found: Vec<_> = rows.iter().copied().zip(texts).collect();
                assert!(found == expected, "{predicate}");
                assert!(texts.iter().eq(views), "{predicate}");
            }
        }
    }
}

#[test]
fn rows_that_lie_apart_are_joined_as_far_as_keys_reach() {
    const ROWS: usize = 100_000;
    let text = |i: usize| format!("the text of number {}", i / 100);
    let entries = StringViewArray::from_iter_values((0..ROWS / 100).map(|i| text(i * 100)));
    let keys = Int32Array::from_iter_values((0..ROWS).map(|i| i32::try_from(i / 100).unwrap()));
    let texts = DictionaryArray::<Int32Type>::new(keys, Arc::new(entries));
    let number = |i: usize| u16::try_from(i * 7919 % 30).unwrap();
    let numbers = UInt16Array::from_iter_values((0..ROWS).map(number));
    let columns: [(&str, ArrayRef); 2] = [("text", Arc::new(texts)), ("n", Arc::new(numbers))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let bytes = written_bytes(&[batch], WriterOptions::default());
    let narrow = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8View.into());
    let schema = Schema::new(vec![Field::new("text", narrow, true)]);
    // 128 texts fill 12,800 rows, and 427 of these match.
    let scan = Shard::from_bytes(bytes).unwrap().scan();
    let scan = scan
        .with_schema(Arc::new(schema))
        .with_filter(col("n").eq(7));
    let mut matches = (0..ROWS).filter(|&i| number(i) == 7);
    for batch in scan.build().unwrap() {
        let batch = batch.unwrap();
        let texts = batch.column(0).as_dictionary::<Int8Type>();
        for found in texts.downcast_dict::<StringViewArray>().unwrap() {
            assert_eq!(found, Some(text(matches.next().unwrap()).as_str()));
        }
    }
    assert_eq!(matches.next(), None);
}

/// Keys of a dictionary of three ordered entries.
const GRADES: [[Option<i8>; 3]; 3] = [
    [Some(1), Some(1), Some(1)],
    [None, None, None],
    [Some(2), None, Some(2)],
];

/// Checks the keys and entries of batches that are read back. With `runs`, the keys are run-end encoded.
fn grades_read(keys: [Option<i8>; 3], entries: &ArrayRef, runs: bool, options: WriterOptions) {
    let array = DictionaryArray::new(Int8Array::from(keys.to_vec()), entries.clone());
    let mut array: ArrayRef = Arc::new(array);
    let mut field = Field::new("d", array.data_type().clone(), true).with_dict_is_ordered(true);
    if runs {
        let ends = Int32Array::from(vec![1, 2, 3]);
        array = Arc::new(RunArray::<Int32Type>::try_new(&ends, &array).unwrap());
        let ends = Field::new("run_ends", DataType::Int32, false);
        let values = field.with_name("values");
        let data_type = DataType::RunEndEncoded(Arc::new(ends), Arc::new(values));
        field = Field::new("d", data_type, true);
    }
    let what = format!(
        "{keys:?} of {entries:?}, runs: {runs}, {:?}",
        options.wire()
    );
    let file = Bytes::from(written_batches(field, &[array.clone(), array], options));
    let fetched = remote(file.clone(), ShardOptions::default()).unwrap();
    for shard in [Shard::from_bytes(file).unwrap(), fetched] {
        let stripes = shard.stripe_statistics(Projection::All).unwrap();
        assert_eq!(stripes.num_rows(), 1, "{what}");
        let mut read = collect(shard.scan().build().unwrap()).unwrap()["d"].clone();
        if let Some(runs) = read.as_run_opt::<Int32Type>() {
            read = runs.values().clone();
        }
        let read = read.as_dictionary::<Int8Type>();
        let mut expected = [keys, keys].concat();
        if runs {
            expected.dedup();
        }
        assert_eq!(read.keys(), &Int8Array::from(expected), "{what}");
        // In some wires, null is an entry after the others.
        assert_eq!(&read.values().slice(0, entries.len()), entries, "{what}");
        let report = shard.verify().unwrap();
        assert!(report.is_sound(), "{what}: {report:?}");
        let scan = shard.scan().with_filter(col("d").is_null());
        let nulls = collect(scan.build().unwrap()).unwrap().num_rows();
        let expected = keys.iter().filter(|key| key.is_none()).count();
        assert_eq!(nulls, 2 * expected, "{what}");
    }
}

#[test]
fn ordered_dictionaries_keep_entries_and_ids_of_stripes_of_one_value() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["low", "mid", "high"]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7, 8, 6]));
    for keys in GRADES {
        for options in every_option() {
            for runs in [false, true] {
                grades_read(keys, &texts, runs, options.clone());
                // The reference wire has no dictionaries of numbers.
                if options.wire() == Wire::Spec {
                    grades_read(keys, &numbers, runs, options.clone());
                }
            }
        }
    }
}
