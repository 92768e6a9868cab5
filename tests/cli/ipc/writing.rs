//! Writes Arrow IPC files and streams that other readers can read.

use super::super::data::{nested, plain};
use super::super::{Folder, read_ipc};
use super::made::{kinds, places, stream};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, Int8Array, ListArray, RecordBatch, StringArray,
    StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::cast;
use arrow_ipc::MessageHeader;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat;
use arrow_select::take::take;
use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

#[test]
fn stripes_with_different_dictionaries_become_an_ipc_file() {
    let words: Vec<String> = (0..1_000).map(|i| format!("w{}", i / 10)).collect();
    let keys: DictionaryArray<Int32Type> = words.iter().map(|word| Some(word.as_str())).collect();
    let item = Arc::new(Field::new("item", keys.data_type().clone(), true));
    let pairs = OffsetBuffer::from_lengths([2; 500]);
    let lists = ListArray::new(item.clone(), pairs, Arc::new(keys.clone()), None);
    let nested = StructArray::from(vec![(
        Arc::new(Field::new("list", DataType::List(item), true)),
        Arc::new(lists) as ArrayRef,
    )]);
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("key", Arc::new(keys.slice(0, 500)) as ArrayRef, true),
        ("nested", Arc::new(nested), true),
    ])
    .unwrap();
    let folder = Folder::with(&batch);
    folder
        .run(&["convert", "--stripe-rows", "150", "t.arrow", "t.shard"])
        .ok();
    folder.run(&["convert", "t.shard", "back.arrow"]).ok();
    assert_eq!(read_ipc(&folder.path("back.arrow")), batch);
    // Many readers support neither delta dictionaries nor replaced ones.
    assert_eq!(dictionaries_in(&folder.path("back.arrow")), 2);
}

#[test]
fn dictionaries_within_dictionaries_become_one_in_an_ipc_file() {
    let batch = |words: [&str; 3]| {
        let inner: DictionaryArray<Int8Type> = words.into_iter().collect();
        let item = Arc::new(Field::new("item", inner.data_type().clone(), true));
        let lists = ListArray::new(
            item,
            OffsetBuffer::from_lengths([2, 1]),
            Arc::new(inner),
            None,
        );
        let keys = Int8Array::from(vec![Some(0), None, Some(1), Some(0)]);
        let column = DictionaryArray::new(keys, Arc::new(lists));
        RecordBatch::try_from_iter([("d", Arc::new(column) as ArrayRef)]).unwrap()
    };
    let (first, second) = (batch(["a", "b", "a"]), batch(["x", "a", "y"]));
    let folder = Folder::new();
    let bytes = stream(&[first.clone(), second.clone()], IpcWriteOptions::default());
    std::fs::write(folder.path("t.arrows"), bytes).unwrap();
    folder.run(&["convert", "t.arrows", "t.arrow"]).ok();
    folder
        .run(&["convert", "t.arrows", "t.shard", "--stripe-rows", "3"])
        .ok();
    folder.run(&["convert", "t.shard", "u.arrow"]).ok();
    let plain = |batch: &RecordBatch| {
        let dictionary = batch.column(0).as_dictionary::<Int8Type>();
        let lists = take(dictionary.values(), dictionary.keys(), None).unwrap();
        let text = Field::new("item", DataType::Utf8, true);
        cast(&lists, &DataType::List(Arc::new(text))).unwrap()
    };
    let expected = concat(&[&plain(&first), &plain(&second)]).unwrap();
    for name in ["t.arrow", "u.arrow"] {
        assert_eq!(&plain(&read_ipc(&folder.path(name))), &expected, "{name}");
        assert_eq!(dictionaries_in(&folder.path(name)), 2, "{name}");
    }
}

#[test]
fn more_entries_than_the_keys_of_a_file_can_number_fit_into_a_stream() {
    let words: Vec<String> = (0..200).map(|i| format!("w{i}")).collect();
    let batches: Vec<RecordBatch> = words
        .chunks(100)
        .map(|words| {
            let column: DictionaryArray<Int8Type> = words.iter().map(String::as_str).collect();
            RecordBatch::try_from_iter([("word", Arc::new(column) as ArrayRef)]).unwrap()
        })
        .collect();
    let folder = Folder::new();
    let bytes = stream(&batches, IpcWriteOptions::default());
    std::fs::write(folder.path("t.arrows"), bytes).unwrap();
    let arguments = ["convert", "--stripe-rows", "100", "t.arrows", "t.shard"];
    folder.run(&arguments).ok();
    for input in ["t.arrows", "t.shard"] {
        let error = folder.run(&["convert", input, "u.arrow"]).error(1);
        assert!(
            error.contains("`word`") && error.contains(".arrows"),
            "{error}"
        );
        folder.run(&["convert", "--force", input, "u.arrows"]).ok();
        let written = std::fs::read(folder.path("u.arrows")).unwrap();
        let found = StreamReader::try_new(written.as_slice(), None).unwrap();
        assert_eq!(found.map(Result::unwrap).collect::<Vec<_>>(), batches);
    }
}

#[test]
fn an_error_of_waiting_batches_names_the_folder_for_temporary_files() {
    // Batches with dictionaries wait for the end of the input: up to 64 MiB in memory, more in a file.
    let keys: DictionaryArray<Int8Type> = std::iter::repeat_n("a", 70).collect();
    let values = BinaryArray::from_iter_values(vec![vec![0u8; 1 << 20]; 70]);
    let columns = [
        ("key", Arc::new(keys) as ArrayRef),
        ("value", Arc::new(values)),
    ];
    let folder = Folder::with(&RecordBatch::try_from_iter(columns).unwrap());
    let missing = folder.path("missing").display().to_string();
    let convert = ["convert", "t.arrow", "u.arrow"];
    // Unix, Windows.
    let variables = ["TMPDIR", "TMP"].map(|name| (name, missing.clone()));
    let error = folder.run_with(&variables, &convert, &[]).error(1);
    let place = format!("u.arrow: a temporary file in `{missing}`: ");
    assert!(error.contains(&place), "{error}");
    assert_eq!(folder.names(), ["t.arrow"]);
}

/// Number of dictionaries in an IPC file.
fn dictionaries_in(path: &Path) -> usize {
    let bytes = std::fs::read(path).unwrap();
    let (head, end) = bytes.split_last_chunk::<10>().unwrap();
    let length = i32::from_le_bytes(*end.first_chunk().unwrap()) as usize;
    let footer = arrow_ipc::root_as_footer(&head[head.len() - length..]).unwrap();
    footer
        .dictionaries()
        .map_or(0, |dictionaries| dictionaries.len())
}

/// A reader may resolve the outer dictionary's entries only when it reads a batch: if only the inner dictionary were
/// replaced, the same keys would lead to other words.
#[test]
fn a_dictionary_in_a_stream_comes_with_the_one_within_it() {
    let batch = |words: [&str; 2], keys: [i8; 2]| {
        let inner = DictionaryArray::new(
            Int8Array::from(keys.to_vec()),
            Arc::new(StringArray::from(words.to_vec())),
        );
        let item = Arc::new(Field::new("item", inner.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths([1, 1]);
        let lists = ListArray::new(item, offsets, Arc::new(inner), None);
        let column = DictionaryArray::new(Int8Array::from(vec![0, 1]), Arc::new(lists));
        RecordBatch::try_from_iter([("d", Arc::new(column) as ArrayRef)]).unwrap()
    };
    // The entries of the outer dictionary are equal.
    let same = batch(["a", "b"], [0, 1]);
    let batches = [same.clone(), same.clone(), batch(["b", "a"], [1, 0]), same];
    // All dictionaries are written before each batch; the writer would omit equal ones.
    let mut bytes = Vec::new();
    for (i, batch) in batches.iter().enumerate() {
        let one = stream(std::slice::from_ref(batch), IpcWriteOptions::default());
        for place in &places(&one)[usize::from(i > 0)..] {
            bytes.extend_from_slice(&one[place.at..place.at + place.head + place.body]);
        }
    }
    let folder = Folder::new();
    std::fs::write(folder.path("t.arrows"), bytes).unwrap();
    folder.run(&["convert", "t.arrows", "u.arrows"]).ok();
    let written = std::fs::read(folder.path("u.arrows")).unwrap();
    let kinds: Vec<MessageHeader> = kinds(&written);
    let [schema, dictionary, rows] = [
        MessageHeader::Schema,
        MessageHeader::DictionaryBatch,
        MessageHeader::RecordBatch,
    ];
    let expected = [
        &[schema][..],
        &[dictionary, dictionary, rows],
        &[rows],
        &[dictionary, dictionary, rows],
        &[dictionary, dictionary, rows],
    ];
    assert_eq!(kinds, expected.concat());
    let reader = StreamReader::try_new(written.as_slice(), None).unwrap();
    assert_eq!(reader.map(Result::unwrap).collect::<Vec<_>>(), batches);
}

#[test]
fn bodies_and_buffers_begin_at_multiples_of_64_bytes() {
    let folder = Folder::with(&nested());
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    for name in ["u.arrow", "u.arrows"] {
        folder.run(&["convert", "t.shard", name]).ok();
        let bytes = std::fs::read(folder.path(name)).unwrap();
        // A file is a stream after its magic number, which is padded, too.
        let start = if name == "u.arrow" { 64 } else { 0 };
        let stream = &bytes[start..];
        let places = places(stream);
        assert!(places.len() > 2, "{name}");
        for place in places {
            assert_eq!((place.at + place.head) % 64, 0, "{name}, {}", place.at);
            let message = place.message(stream);
            let dictionary = message.header_as_dictionary_batch();
            let rows = message
                .header_as_record_batch()
                .or_else(|| dictionary.and_then(|dictionary| dictionary.data()));
            for buffer in rows.and_then(|rows| rows.buffers()).into_iter().flatten() {
                assert_eq!(buffer.offset() % 64, 0, "{name}, {}", place.at);
            }
        }
    }
}

#[test]
fn the_first_batch_arrives_before_the_second_is_written() {
    let batches = [plain(10), plain(20)];
    let folder = Folder::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
        .args([
            "convert",
            "--from",
            "ipc-stream",
            "-",
            "--to",
            "ipc-stream",
            "-",
        ])
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take().unwrap();
    let stdout = BufReader::with_capacity(1, child.stdout.take().unwrap());
    let (sender, arrived) = mpsc::channel();
    std::thread::spawn(move || {
        for batch in StreamReader::try_new(stdout, None).unwrap() {
            sender.send(batch.unwrap()).unwrap();
        }
    });
    let mut writer = StreamWriter::try_new(stdin, &batches[0].schema()).unwrap();
    for batch in &batches {
        writer.write(batch).unwrap();
        writer.flush().unwrap();
        let found = arrived.recv_timeout(Duration::from_secs(60));
        if found.is_err() {
            child.kill().unwrap();
        }
        assert_eq!(found.as_ref(), Ok(batch));
    }
    drop(writer.into_inner().unwrap());
    assert!(child.wait().unwrap().success());
}
