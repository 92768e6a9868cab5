//! Reads Arrow IPC files and streams of other writers.

use super::super::data::nested;
use super::super::{Folder, matrix, read_ipc};
use super::made::{file_of, kinds, places, stream};
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, Int32Array, RecordBatch, UnionArray};
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions};
use arrow_ipc::{CompressionType, MessageHeader, MetadataVersion};
use arrow_schema::{DataType, Field, Schema, UnionFields};
use arrow_select::concat::concat_batches;
use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

/// Returns a column of every type. Run-end encoding is left out for metadata version 4: `arrow-ipc` cannot read its own
/// output.
fn every_type(version: MetadataVersion) -> RecordBatch {
    let mut columns = matrix::columns();
    if version < MetadataVersion::V5 {
        columns.retain(|it| !matches!(it.data_type(), DataType::RunEndEncoded(..)));
    }
    let fields = columns.iter().enumerate();
    let fields =
        fields.map(|(i, column)| Field::new(format!("c{i}"), column.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns).unwrap()
}

/// Returns batches with one dictionary each. Every dictionary begins with the entries of the previous one.
fn growing(words: &[&[&str]]) -> Vec<RecordBatch> {
    let mut column = StringDictionaryBuilder::<Int8Type>::new();
    let batches = words.iter().map(|words| {
        for word in *words {
            column.append_value(word);
        }
        column.append_null();
        let column = Arc::new(column.finish_preserve_values()) as ArrayRef;
        RecordBatch::try_from_iter_with_nullable([("word", column, true)]).unwrap()
    });
    batches.collect()
}

/// Converts a file to a shard and back, and returns its rows.
#[track_caller]
fn through_a_shard(name: &str, bytes: &[u8]) -> RecordBatch {
    let folder = Folder::new();
    fs::write(folder.path(name), bytes).unwrap();
    folder.run(&["convert", name, "t.shard"]).ok();
    folder.run(&["convert", "t.shard", "back.arrow"]).ok();
    read_ipc(&folder.path("back.arrow"))
}

#[test]
fn compressed_bodies_every_alignment_and_the_version_before_are_read() {
    let codecs = [
        None,
        Some(CompressionType::LZ4_FRAME),
        Some(CompressionType::ZSTD),
    ];
    let mut options = Vec::new();
    for alignment in [8, 16, 32, 64] {
        for codec in codecs {
            let new = IpcWriteOptions::try_new(alignment, false, MetadataVersion::V5).unwrap();
            let new = new.try_with_compression(codec).unwrap();
            options.push((MetadataVersion::V5, new));
        }
        for legacy in [false, true] {
            let old = IpcWriteOptions::try_new(alignment, legacy, MetadataVersion::V4).unwrap();
            options.push((MetadataVersion::V4, old));
        }
    }
    for (version, options) in options {
        let place = format!("{options:?}");
        let whole = every_type(version);
        let batches = [
            whole.clone(),
            whole.slice(1, 2),
            RecordBatch::new_empty(whole.schema()),
        ];
        let all = concat_batches(&whole.schema(), &batches).unwrap();
        let bytes = stream(&batches, options.clone());
        assert_eq!(through_a_shard("t.arrows", &bytes), all, "{place}");
        // The footer of such a file may have another version than its messages.
        if bytes.starts_with(&[0xFF; 4]) {
            let bytes = stream(&batches[..2], options.clone());
            assert_eq!(
                through_a_shard("t.arrow", &file_of(&bytes, true)),
                all,
                "{place}"
            );
        }
        let mut writer =
            FileWriter::try_new_with_options(Vec::new(), &whole.schema(), options).unwrap();
        // A file has only one version of each dictionary.
        writer.write(&whole).unwrap();
        writer.write(&whole.slice(1, 2)).unwrap();
        let bytes = writer.into_inner().unwrap();
        assert_eq!(through_a_shard("t.arrow", &bytes), all, "{place}");
    }
}

#[test]
fn dictionaries_that_grow_are_read_in_files_and_streams() {
    let batches = growing(&[&["a", "b"], &["c", "a"], &["d"]]);
    let all = concat_batches(&batches[0].schema(), &batches).unwrap();
    let options = IpcWriteOptions::default();
    let options = options.with_dictionary_handling(DictionaryHandling::Delta);
    let stream = stream(&batches, options);
    let found = places(&stream);
    let deltas = found.iter().filter(|place| {
        let dictionary = place.message(&stream).header_as_dictionary_batch();
        dictionary.is_some_and(|dictionary| dictionary.isDelta())
    });
    assert_eq!(deltas.count(), 2);
    assert_eq!(through_a_shard("t.arrows", &stream), all);
    assert_eq!(through_a_shard("t.arrow", &file_of(&stream, true)), all);
}

#[test]
fn dictionaries_are_replaced_in_streams_and_an_error_in_files() {
    let batches = [growing(&[&["a", "b"]]), growing(&[&["x", "a"]])].concat();
    let all = concat_batches(&batches[0].schema(), &batches).unwrap();
    let stream = stream(&batches, IpcWriteOptions::default());
    let dictionaries = kinds(&stream)
        .into_iter()
        .filter(|kind| *kind == MessageHeader::DictionaryBatch);
    assert_eq!(dictionaries.count(), 2);
    assert_eq!(through_a_shard("t.arrows", &stream), all);
    let folder = Folder::new();
    fs::write(folder.path("t.arrow"), file_of(&stream, true)).unwrap();
    let error = folder.run(&["convert", "t.arrow", "t.shard"]).error(1);
    assert!(
        error.contains("t.arrow: ") && error.contains("column `word`") && error.contains("replace"),
        "{error}"
    );
}

#[test]
fn a_footer_without_a_list_of_batches_has_no_rows() {
    let stream = stream(&[nested()], IpcWriteOptions::default());
    let whole = through_a_shard("t.arrow", &file_of(&stream, true));
    assert_eq!(whole, nested());
    let empty = through_a_shard("t.arrow", &file_of(&stream, false));
    assert_eq!(empty, nested().slice(0, 0));
}

#[test]
fn metadata_of_a_footer_are_metadata_of_the_table() {
    let pairs = |pairs: &[(&str, &str)]| -> HashMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    };
    let field = Field::new("a", DataType::Int32, true).with_metadata(pairs(&[("unit", "m")]));
    let schema = Schema::new_with_metadata(vec![field.clone()], pairs(&[("of", "the schema")]));
    let column = Arc::new(Int32Array::from(vec![1])) as ArrayRef;
    let batch = RecordBatch::try_new(Arc::new(schema), vec![column]).unwrap();
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.write_metadata("of", "the footer");
    writer.write_metadata("origin", "sensor 7");
    let back = through_a_shard("t.arrow", &writer.into_inner().unwrap());
    let expected = pairs(&[("of", "the schema"), ("origin", "sensor 7")]);
    assert_eq!(back.schema().metadata(), &expected);
    assert_eq!(back.schema().field(0), &field);
}

/// Before version 1.0, a union could be null itself. `arrow-ipc` reads such a row as a value.
#[test]
fn nulls_of_old_unions_are_refused() {
    let variant = |name| Arc::new(Field::new(name, DataType::Int32, true));
    let variants: UnionFields = [(0, variant("x")), (1, variant("y"))].into_iter().collect();
    let children = vec![
        Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])) as ArrayRef,
        Arc::new(Int32Array::from(vec![None, Some(5), None])),
    ];
    let union = UnionArray::try_new(variants, vec![0, 1, 0].into(), None, children).unwrap();
    let batch = RecordBatch::try_from_iter([("either", Arc::new(union) as ArrayRef)]).unwrap();
    let options = IpcWriteOptions::try_new(64, false, MetadataVersion::V4).unwrap();
    let mut bytes = stream(std::slice::from_ref(&batch), options);
    assert_eq!(through_a_shard("t.arrows", &bytes), batch);
    // Length and nulls of the column are the first node of three rows.
    let node = [3u64.to_le_bytes(), 0u64.to_le_bytes()].concat();
    let mut nodes = bytes.windows(16).enumerate().filter(|(_, it)| *it == node);
    let at = nodes.next().unwrap().0 + 8;
    bytes[at] = 1;
    let folder = Folder::new();
    fs::write(folder.path("t.arrows"), bytes).unwrap();
    let error = folder.run(&["convert", "t.arrows", "t.shard"]).error(1);
    assert!(
        error.contains("`either`") && error.contains("1.0"),
        "{error}"
    );
}
