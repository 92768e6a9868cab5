//! Shows a shard as JSON.

use super::statistics;
use crate::text;
use arrow_array::ArrayRef;
use arrow_shard::io::ByteRange;
use arrow_shard::metadata::{AnyValue, NameValuePair, ValueKind};
use arrow_shard::read::inspect::{
    BlocksInfo, BufferInfo, EncodingTree, FieldInfo, ParquetChunkInfo, RangeStats, ShardInfo,
    StripeInfo,
};
use serde_json::{Value, json};

/// Returns the shard as one object.
pub(super) fn shard(info: &ShardInfo) -> Value {
    let files = info
        .files
        .iter()
        .map(|file| json!({ "name": file.name, "bytes": file.bytes }));
    json!({
        "files": files.collect::<Vec<_>>(),
        "rows": info.num_rows,
        "deleted_rows": info.num_deleted_rows,
        "wire": format!("{:?}", info.wire),
        "mapping": info.mapping.map(|mapping| format!("{mapping:?}")),
        "created_min": info.creation_min.map(text::ticks),
        "created_max": info.creation_max.map(text::ticks),
        "raw_bytes": info.raw_data_size,
        "encoded_bytes": info.encoded_bytes,
        "ratio": text::ratio(info.raw_data_size, info.encoded_bytes),
        "properties": properties(&info.properties),
        "problem": info.problem,
        "stripes": info.stripes.iter().map(stripe).collect::<Vec<_>>(),
    })
}

fn stripe(info: &StripeInfo) -> Value {
    json!({
        "ordinal": info.ordinal,
        "first_row": info.row_range.start,
        "rows": info.row_range.end - info.row_range.start,
        "deleted_rows": info.num_deleted_rows,
        "raw_bytes": info.raw_data_size,
        "encoded_bytes": info.encoded_bytes,
        "ratio": text::ratio(info.raw_data_size, info.encoded_bytes),
        "properties": properties(&info.properties),
        "problem": info.problem,
        "fields": info.fields.iter().map(field).collect::<Vec<_>>(),
    })
}

fn field(info: &FieldInfo) -> Value {
    let (raw, encoded) = (info.total_raw_data_size(), info.total_encoded_bytes());
    json!({
        "path": info.path,
        "schema_id": info.schema_id,
        "type": info.stored_type,
        "label": info.label,
        "internal_kind": info.internal_kind,
        "positions": info.positions,
        "nulls": info.null_count,
        "constant": info.constant.as_ref().map(|v| value(v, &info.constant_value)),
        "dictionary_size": info.dictionary_size,
        "range": info.range.as_ref().map(|found| range(found, info)),
        "statistics": info.type_specific.as_ref().map(statistics::type_json),
        "cardinality": info.cardinality.as_ref().map(statistics::cardinality_json),
        "bloom_filter": info.bloom_filter.as_ref().map(statistics::filter_json),
        "contradictions": info.contradictions,
        "raw_bytes": raw,
        "encoded_bytes": encoded,
        "ratio": text::ratio(raw, encoded),
        "problem": info.problem,
        "buffers": info.buffers.iter().map(buffer).collect::<Vec<_>>(),
        "parquet_chunks": info.parquet_chunks.iter().map(parquet_chunk).collect::<Vec<_>>(),
        "children": info.children.iter().map(field).collect::<Vec<_>>(),
    })
}

fn range(range: &RangeStats, field: &FieldInfo) -> Value {
    json!({
        "min": range.min_value.as_ref().map(|v| value(v, &field.min_value)),
        "min_inclusive": range.min_inclusive,
        "max": range.max_value.as_ref().map(|v| value(v, &field.max_value)),
        "max_inclusive": range.max_inclusive,
    })
}

/// Returns a plain value as the JSON value, and others as the text of their Arrow type.
fn value(value: &AnyValue, array: &Option<ArrayRef>) -> Value {
    match (&value.kind, array.as_ref().and_then(text::typed_text)) {
        (None | Some(ValueKind::Null), _) => Value::Null,
        (Some(ValueKind::Bool(v)), _) => json!(v),
        (Some(ValueKind::Double(v)), _) if v.is_finite() => json!(v),
        (_, Some(text)) => json!(text),
        (Some(ValueKind::U64(v)), _) => json!(v),
        (Some(ValueKind::I64(v)), _) => json!(v),
        (Some(ValueKind::String(v)), _) => json!(v),
        (Some(_), _) => json!(text::value(value)),
    }
}

/// Returns the properties by name. Values that have no JSON form are shown as short text.
pub(crate) fn properties(all: &[NameValuePair]) -> Value {
    let properties = all.iter().map(|property| {
        let shown = property.value.as_ref().map(|v| value(v, &None));
        (property.name.clone(), shown.unwrap_or_default())
    });
    Value::Object(properties.collect())
}

fn buffer(info: &BufferInfo) -> Value {
    json!({
        "encoding": info.encoding,
        "kind": format!("{:?}", info.kind),
        "file": info.file,
        "start": info.range.start(),
        "bytes": info.range.len(),
        "embedded_presence": info.embedded_presence,
        "embedded_offsets": info.embedded_offsets,
        "delimited": info.delimited,
        "blobs": info.blobs,
        "packed_group_index": info.packed_group_index,
        "problem": info.problem,
        "blocks": info.blocks.as_ref().map(blocks),
        "compressor": info.compressor.as_ref().map(|dictionary| json!({
            "id": dictionary.id,
            "kind": dictionary.kind.to_string(),
            "bytes": dictionary.bytes,
        })),
        "range_index": info.range_index.as_ref().map(|index| json!({
            "entries": index.entries,
            "block_positions": index.block_positions,
        })),
    })
}

fn parquet_chunk(info: &ParquetChunkInfo) -> Value {
    let range = |range: ByteRange| json!({ "start": range.start(), "bytes": range.len() });
    json!({
        "encoding": info.encoding,
        "file": info.file,
        "row_group": info.row_group,
        "column": info.column,
        "physical_type": info.physical_type,
        "codec": info.codec,
        "page_encodings": info.page_encodings,
        "values": info.num_values,
        "nulls": info.null_count,
        "bytes": info.encoded_bytes(),
        "uncompressed_bytes": info.uncompressed_bytes,
        "data_pages": info.data_pages.map(range),
        "dictionary_page": info.dictionary_page.map(range),
        "pages": info.num_pages,
        "page_map": info.has_page_map,
    })
}

fn blocks(info: &BlocksInfo) -> Value {
    let encodings = info.encodings.iter().map(|count| {
        json!({
            "encoding": count.code.to_string(),
            "blocks": count.blocks,
            "bytes": count.bytes,
        })
    });
    let trees = info.trees.iter().map(|block| {
        json!({
            "first_value": block.values.start,
            "values": block.values.end - block.values.start,
            "bytes": block.bytes,
            "presence_bytes": block.presence_bytes,
            "presence": block.presence.to_string(),
            "encoding": encoding(&block.encoding),
        })
    });
    json!({
        "count": info.count,
        "values": info.values,
        "min_values": info.min_values,
        "max_values": info.max_values,
        "checksums": info.checksums,
        "map_bytes": info.map_bytes,
        "encodings": encodings.collect::<Vec<_>>(),
        "trees": trees.collect::<Vec<_>>(),
    })
}

fn encoding(tree: &EncodingTree) -> Value {
    let children = tree.children.iter().map(|(part, child)| {
        let mut child = encoding(child);
        child["part"] = json!(part);
        child
    });
    json!({
        "encoding": tree.code.to_string(),
        "values": tree.values,
        "bytes": tree.bytes,
        "children": children.collect::<Vec<_>>(),
    })
}
