//! Takes rows by number, from one or many stripes, in any order, with repeated numbers. A result that does not fit one
//! array is an error.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeListArray, Int8Array, Int16Array, Int32Array,
    ListArray, NullArray, RecordBatch, RunArray, StringArray, StringViewArray, StructArray,
    UInt64Array,
};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat;
use arrow_select::take::take_record_batch;
use arrow_shard::io::{ByteRange, NoContainer, ReadAt};
use arrow_shard::read::ShardOptions;
use arrow_shard::write::{Profile, ShardWriter, WriterOptions};
use arrow_shard::{Error, ErrorKind, Result, Shard};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns a shard of one column, with each array as a stripe.
fn stripes(arrays: &[ArrayRef]) -> Shard {
    let batch = |array: &ArrayRef| RecordBatch::try_from_iter([("c", array.clone())]).unwrap();
    let mut file = Vec::new();
    let options = WriterOptions::default();
    let schema = batch(&arrays[0]).schema();
    let mut writer = ShardWriter::try_new(&mut file, schema, options).unwrap();
    for array in arrays {
        writer.write(&batch(array)).unwrap();
        writer.flush_stripe().unwrap();
    }
    writer.finish().unwrap();
    Shard::from_bytes(file.into()).unwrap()
}

fn taken(shard: &Shard, rows: &[u64]) -> Result<ArrayRef> {
    let batch = shard.take(rows, ["c"])?;
    let array = batch.column(0);
    array.to_data().validate_full().unwrap();
    Ok(array.clone())
}

#[track_caller]
fn assert_overflows(shard: &Shard, rows: &[u64], words: &str) {
    let error = taken(shard, rows).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OffsetOverflow, "{error}");
    let text = error.to_string();
    assert!(text.contains("`c`") && text.contains(words), "{text}");
}

/// Returns a dictionary array with the text of each number once.
fn coded(numbers: std::ops::Range<usize>, values: fn(Vec<String>) -> ArrayRef) -> ArrayRef {
    let keys = Int8Array::from_iter_values((0..numbers.len()).map(|i| i8::try_from(i).unwrap()));
    let values = values(numbers.map(|i| format!("a text of number {i}")).collect());
    Arc::new(DictionaryArray::<Int8Type>::new(keys, values))
}

const VALUES: [fn(Vec<String>) -> ArrayRef; 3] = [
    |texts| Arc::new(StringViewArray::from_iter_values(texts)),
    |texts| Arc::new(StringArray::from_iter_values(texts)),
    |texts| {
        let member: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        Arc::new(StructArray::try_from(vec![("member", member)]).unwrap())
    },
];

/// Wraps an array in another type.
type Wrap = fn(ArrayRef) -> ArrayRef;

const WRAPS: [Wrap; 4] = [
    |array| array,
    |array| {
        let item = Arc::new(Field::new("item", array.data_type().clone(), true));
        Arc::new(FixedSizeListArray::new(item, 1, array, None))
    },
    |array| {
        let item = Arc::new(Field::new("item", array.data_type().clone(), true));
        let ends = OffsetBuffer::from_lengths(vec![1; array.len()]);
        Arc::new(ListArray::new(item, ends, array, None))
    },
    |array| Arc::new(StructArray::try_from(vec![("member", array)]).unwrap()),
];

#[test]
fn dictionaries_of_several_stripes_are_joined_as_far_as_keys_reach() {
    for values in VALUES {
        for wrap in WRAPS {
            let parts = [wrap(coded(0..100, values)), wrap(coded(100..200, values))];
            let shard = stripes(&parts);
            let apart: Vec<ArrayRef> = [100, 0, 0, 199, 7]
                .map(|row| parts[row / 100].slice(row % 100, 1))
                .to_vec();
            let found = taken(&shard, &[100, 0, 0, 199, 7]).unwrap();
            for (i, one) in apart.iter().enumerate() {
                let (found, one) = (plain(&found.slice(i, 1)), plain(one));
                assert_eq!(&found, &one, "{}", one.data_type());
            }
            let all: Vec<u64> = (0..200).collect();
            assert_overflows(
                &shard,
                &all,
                "200 distinct values exceed dictionary keys of type Int8",
            );
            // Equal values from different stripes share one entry.
            let shard = stripes(&[parts[0].clone(), parts[0].clone()]);
            let found = plain(&taken(&shard, &all).unwrap());
            let one = plain(&parts[0]);
            let twice = concat(&[one.as_ref(), one.as_ref()]).unwrap();
            assert_eq!(&found, &twice, "{}", one.data_type());
        }
    }
}

/// Returns the array without dictionaries.
fn plain(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Dictionary(..) => {
            let array = array.as_any_dictionary();
            arrow_select::take::take(array.values(), array.keys(), None).unwrap()
        }
        DataType::FixedSizeList(..) => plain(array.as_fixed_size_list().values()),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let ends = list.offsets();
            let (first, last) = (ends[0] as usize, ends[ends.len() - 1] as usize);
            plain(&list.values().slice(first, last - first))
        }
        DataType::Struct(_) => plain(array.as_struct().column(0)),
        _ => array.clone(),
    }
}

#[test]
fn run_ends_that_are_too_narrow_for_the_rows_are_an_error() {
    let values = Int32Array::from(vec![7]);
    let runs = RunArray::<Int16Type>::try_new(&Int16Array::from(vec![30_000]), &values).unwrap();
    let runs: ArrayRef = Arc::new(runs);
    for wrap in WRAPS {
        let shard = stripes(&[wrap(runs.slice(0, 1))]);
        assert_overflows(&shard, &[0; 40_000], "run");
        assert_eq!(taken(&shard, &[0; 30_000]).unwrap().len(), 30_000);
        let shard = stripes(&[wrap(runs.clone()), wrap(runs.clone())]);
        let all: Vec<u64> = (0..60_000).collect();
        assert_overflows(&shard, &all, "run ends of type Int16");
        assert_eq!(taken(&shard, &all[29_990..30_010]).unwrap().len(), 20);
    }
}

#[test]
fn items_that_exceed_the_offsets_of_lists_are_an_error() {
    // Nulls take no bytes.
    const ITEMS: usize = 1_200_000_000;
    let items: ArrayRef = Arc::new(NullArray::new(ITEMS));
    let item = Arc::new(Field::new("item", items.data_type().clone(), true));
    let list: ArrayRef = Arc::new(ListArray::new(
        item,
        OffsetBuffer::from_lengths([ITEMS]),
        items,
        None,
    ));
    let shard = stripes(&[list]);
    assert_eq!(taken(&shard, &[0]).unwrap().len(), 1);
    assert_overflows(&shard, &[0, 0], "offset");
}

#[test]
fn taken_views_do_not_keep_the_values_of_other_rows() {
    let rows = 40_000u64;
    let texts = (0..rows).map(|row| format!("a text that no view holds itself, of row {row}"));
    let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.amudai.shard");
    let options = WriterOptions::default().with_profile(Profile::Plain);
    let mut writer = ShardWriter::create_with(&path, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let wanted: Vec<u64> = (0..rows).step_by(20).collect();
    let taken = Shard::open(&path).unwrap().take(&wanted, ["text"]).unwrap();
    let indices = UInt64Array::from(wanted);
    assert_eq!(taken, take_record_batch(&batch, &indices).unwrap());
    let kept: usize = taken
        .column(0)
        .as_string_view()
        .data_buffers()
        .iter()
        .map(Buffer::len)
        .sum();
    assert!(
        kept < indices.len() * 60,
        "{kept} bytes of {} values",
        indices.len()
    );
}

/// A near file with one read that fails.
#[derive(Debug)]
struct FailingFile {
    bytes: Bytes,
    reads: AtomicUsize,
    /// The number of the read that fails.
    fails_at: AtomicUsize,
}

impl ReadAt for FailingFile {
    fn size(&self) -> Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        let read = self.reads.fetch_add(1, Ordering::Relaxed);
        if read == self.fails_at.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Io, "the disk is gone"));
        }
        self.bytes.read_at(range)
    }

    fn is_near(&self) -> bool {
        true
    }
}

#[test]
fn a_failed_read_is_returned_and_the_rows_are_not_read_in_another_way() {
    // The rows take more bytes than the first read, which is kept: the texts have no template, so that their digits are
    // not stored as ascending numbers.
    let noise = |i: u64| i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let text = |i: u64| {
        let words = (0..=i % 4).map(|word| format!("{:x}", noise(4 * i + word)));
        Some(words.collect::<Vec<_>>().join("-"))
    };
    let texts: StringArray = (0..40_000).map(text).collect();
    let numbers: Int32Array = (0..40_000).map(|i| (i % 20_000) * 77_777).collect();
    let columns: [(&str, ArrayRef); 2] = [("text", Arc::new(texts)), ("c", Arc::new(numbers))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = Arc::new(FailingFile {
        bytes: crate::support::written_bytes(&[batch], WriterOptions::default()),
        reads: AtomicUsize::new(0),
        fails_at: AtomicUsize::new(usize::MAX),
    });
    let options = ShardOptions::default();
    let shard = Shard::from_reader(file.clone(), Arc::new(NoContainer), options).unwrap();
    // If every second row is wanted, all rows are read.
    for step in [2, 1000] {
        let rows: Vec<u64> = (0..40_000).step_by(step).collect();
        let take = |fails_at: usize| {
            file.fails_at.store(fails_at, Ordering::Relaxed);
            file.reads.store(0, Ordering::Relaxed);
            let taken = shard.take(&rows, ["text", "c"]);
            (taken, file.reads.load(Ordering::Relaxed))
        };
        // The first take reads the metadata, which are kept.
        take(usize::MAX).0.unwrap();
        let (_, reads) = take(usize::MAX);
        assert!(reads > 0);
        for fails_at in 0..reads {
            let (taken, reads) = take(fails_at);
            let error = taken.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
            assert_eq!(error.message(), "the disk is gone");
            assert_eq!(reads, fails_at + 1);
        }
    }
}
