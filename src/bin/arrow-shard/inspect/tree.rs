//! Draws a shard as a tree.

use super::statistics;
use crate::text;
use arrow_array::ArrayRef;
use arrow_shard::metadata::{AnyValue, NameValuePair};
use arrow_shard::read::inspect::{
    BlocksInfo, BufferInfo, FieldInfo, ParquetChunkInfo, RangeIndexInfo, RangeStats, ShardInfo,
};
use std::io::{self, Write};

/// Column chunks that are shown of a field.
const MAX_CHUNKS: usize = 4;

/// Prints the tree, with statistics if `verbose`.
pub(super) fn print(out: &mut impl Write, info: &ShardInfo, verbose: bool) -> io::Result<()> {
    for file in &info.files {
        let size = file
            .bytes
            .map_or("cannot be opened".to_owned(), text::bytes);
        writeln!(out, "{}: {size}", text::shown(&file.name))?;
    }
    let created = match (info.creation_min, info.creation_max) {
        (Some(min), Some(max)) if min != max => {
            format!(", created {} to {}", text::ticks(min), text::ticks(max))
        }
        (Some(time), _) | (_, Some(time)) => format!(", created {}", text::ticks(time)),
        (None, None) => String::new(),
    };
    let mapping = match info.mapping {
        Some(mapping) => format!(", {mapping:?} mapping"),
        None => String::new(),
    };
    writeln!(
        out,
        "{}{} in {}, {:?} wire{mapping}{created}",
        text::count(info.num_rows, "row"),
        deleted(info.num_deleted_rows),
        text::count(info.stripes.len() as u64, "stripe"),
        info.wire
    )?;
    writeln!(
        out,
        "data: {}",
        sizes(info.raw_data_size, info.encoded_bytes)
    )?;
    properties(out, "", &info.properties)?;
    problem(out, "", info.problem.as_ref())?;
    for stripe in &info.stripes {
        let rows = &stripe.row_range;
        let sizes = sizes(stripe.raw_data_size, stripe.encoded_bytes);
        writeln!(
            out,
            "stripe {}: rows {}..{}{}, {sizes}",
            stripe.ordinal,
            rows.start,
            rows.end,
            match stripe.num_deleted_rows {
                0 => String::new(),
                rows => format!(", {rows} of them deleted"),
            }
        )?;
        properties(out, "│  ", &stripe.properties)?;
        problem(out, "│  ", stripe.problem.as_ref())?;
        fields(out, "", &stripe.fields, verbose)?;
    }
    Ok(())
}

/// ` (3 more are deleted)`
fn deleted(rows: u64) -> String {
    match rows {
        0 => String::new(),
        1 => " (1 more is deleted)".to_owned(),
        rows => format!(" ({rows} more are deleted)"),
    }
}

/// Prints a line for each property.
fn properties(out: &mut impl Write, indent: &str, all: &[NameValuePair]) -> io::Result<()> {
    for property in all {
        let property = text::property(property);
        writeln!(out, "{indent}property {}", text::shown(&property))?;
    }
    Ok(())
}

fn problem(out: &mut impl Write, indent: &str, problem: Option<&String>) -> io::Result<()> {
    match problem {
        Some(problem) => writeln!(out, "{indent}PROBLEM: {}", text::shown(problem)),
        None => Ok(()),
    }
}

/// `12.0 KiB of 48.0 KiB (4.00x)`
fn sizes(raw: Option<u64>, encoded: u64) -> String {
    let size = text::bytes(encoded);
    match (raw, text::ratio(raw, encoded)) {
        (Some(raw), Some(ratio)) => format!("{size} of {} ({ratio:.2}x)", text::bytes(raw)),
        (Some(raw), None) => format!("{size} of {}", text::bytes(raw)),
        _ => size,
    }
}

fn fields(out: &mut impl Write, indent: &str, all: &[FieldInfo], verbose: bool) -> io::Result<()> {
    for (i, field) in all.iter().enumerate() {
        let last = i + 1 == all.len();
        let (branch, below) = if last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        writeln!(out, "{indent}{branch}{}", text::shown(&title(field)))?;
        let indent = format!("{indent}{below}");
        problem(out, &indent, field.problem.as_ref())?;
        for contradiction in &field.contradictions {
            writeln!(out, "{indent}CONTRADICTION: {}", text::shown(contradiction))?;
        }
        if verbose {
            for line in statistics::lines(field) {
                writeln!(out, "{indent}{}", text::shown(&line))?;
            }
        }
        for buffer in &field.buffers {
            print_buffer(out, &indent, buffer)?;
        }
        parquet_chunks(out, &indent, &field.parquet_chunks, verbose)?;
        if let Some(filter) = &field.bloom_filter {
            let line = statistics::filter_line(filter);
            writeln!(out, "{indent}· {}", text::shown(&line))?;
        }
        fields(out, &indent, &field.children, verbose)?;
    }
    Ok(())
}

fn title(field: &FieldInfo) -> String {
    let mut parts = vec![format!("{}: {}", field.path, field.stored_type)];
    let label = &field.label;
    if !label.is_empty() {
        parts[0].push_str(&format!(" [{label}]"));
    }
    if let Some(kind) = &field.internal_kind {
        parts.push(format!("internal {kind}"));
    }
    match field.positions {
        Some(positions) => parts.push(text::count(positions, "position")),
        None => parts.push("not in this stripe".to_owned()),
    }
    if let Some(nulls) = field.null_count.filter(|&nulls| nulls > 0) {
        parts.push(text::count(nulls, "null"));
    }
    if let Some(entries) = field.dictionary_size {
        parts.push(format!("dictionary of {entries}"));
    }
    match (&field.constant, &field.range) {
        (Some(value), _) => {
            let value = text::typed(value, field.constant_value.as_ref());
            parts.push(format!("constant {value}"));
        }
        (None, Some(range)) if range.min_value.is_some() || range.max_value.is_some() => {
            parts.push(range_text(range, field));
        }
        (None, _) => {}
    }
    parts.push(sizes(
        field.total_raw_data_size(),
        field.total_encoded_bytes(),
    ));
    parts.join(", ")
}

/// Returns `1 ..= 9`, with `<` for an exclusive bound.
fn range_text(range: &RangeStats, field: &FieldInfo) -> String {
    let bound = |value: &Option<AnyValue>, array: &Option<ArrayRef>| match value {
        Some(value) => text::typed(value, array.as_ref()),
        None => "?".to_owned(),
    };
    let low = if range.min_inclusive { "" } else { "<" };
    let high = if range.max_inclusive { "=" } else { "<" };
    format!(
        "{} {low}..{high} {}",
        bound(&range.min_value, &field.min_value),
        bound(&range.max_value, &field.max_value)
    )
}

fn print_buffer(out: &mut impl Write, indent: &str, buffer: &BufferInfo) -> io::Result<()> {
    let kind = format!("{:?}", buffer.kind);
    let size = match buffer.packed_group_index {
        Some(member) => format!("member {member} of the packed group"),
        None => text::bytes(buffer.range.len()),
    };
    let body = match (&buffer.blocks, &buffer.range_index) {
        (Some(blocks), _) => blocks_text(blocks),
        (None, Some(index)) => index_text(index),
        (None, None) => match &buffer.compressor {
            Some(dictionary) => format!(
                "{} {}, {} to decompress with",
                dictionary.kind,
                dictionary.id,
                text::bytes(dictionary.bytes)
            ),
            None => "not in blocks".to_owned(),
        },
    };
    let mut flags = String::new();
    if buffer.embedded_presence {
        flags.push_str(", with presence");
    }
    if buffer.embedded_offsets {
        flags.push_str(", with offsets");
    }
    if buffer.delimited {
        flags.push_str(", delimited");
    }
    if buffer.blobs > 0 {
        flags.push_str(&format!(", {}", text::count(buffer.blobs, "blob")));
    }
    writeln!(out, "{indent}· {kind}: {size}, {body}{flags}")?;
    problem(out, &format!("{indent}  "), buffer.problem.as_ref())?;
    let blocks = buffer
        .blocks
        .iter()
        .flat_map(|blocks| &blocks.trees)
        .enumerate();
    for (ordinal, block) in blocks {
        let values = &block.values;
        let presence = match block.presence_bytes {
            0 => block.presence.to_string(),
            bytes => format!("presence {} ({})", text::bytes(bytes), block.presence),
        };
        writeln!(
            out,
            "{indent}  {ordinal}: values {}..{}, {}, {presence}: {}",
            values.start,
            values.end,
            text::bytes(block.bytes),
            block.encoding
        )?;
    }
    Ok(())
}

/// Prints a line for each column chunk, or for the first ones unless `verbose`.
fn parquet_chunks(
    out: &mut impl Write,
    indent: &str,
    all: &[ParquetChunkInfo],
    verbose: bool,
) -> io::Result<()> {
    let lines = if verbose { all.len() } else { MAX_CHUNKS };
    let (shown, rest) = all.split_at_checked(lines).unwrap_or((all, &[]));
    for chunk in shown {
        writeln!(out, "{indent}· {}", text::shown(&chunk_text(chunk)))?;
    }
    if rest.is_empty() {
        return Ok(());
    }
    let sizes = rest.iter().map(ParquetChunkInfo::encoded_bytes);
    let size = sizes.fold(0, u64::saturating_add);
    let more = text::count(rest.len() as u64, "more column chunk");
    writeln!(out, "{indent}· Parquet: {}, {more}", text::bytes(size))
}

/// `Parquet: 7.6 KiB of 9.1 KiB (1.20x), row group 0, column 2 of a.parquet: INT64, SNAPPY, PLAIN, 1000 values`
fn chunk_text(chunk: &ParquetChunkInfo) -> String {
    let mut parts = vec![chunk.physical_type.clone()];
    parts.extend(chunk.codec.clone());
    if !chunk.page_encodings.is_empty() {
        parts.push(chunk.page_encodings.join(" + "));
    }
    parts.extend(chunk.num_values.map(|values| text::count(values, "value")));
    let nulls = chunk.null_count.filter(|&nulls| nulls > 0);
    parts.extend(nulls.map(|nulls| text::count(nulls, "null")));
    let map = if chunk.has_page_map {
        " with a page map"
    } else {
        ""
    };
    let pages = chunk.num_pages.map(|pages| text::count(pages, "page"));
    parts.push(pages.unwrap_or_else(|| "pages".to_owned()) + map);
    if let Some(dictionary) = chunk.dictionary_page {
        parts.push(format!("dictionary of {}", text::bytes(dictionary.len())));
    }
    format!(
        "Parquet: {}, row group {}, column {} of {}: {}",
        sizes(chunk.uncompressed_bytes, chunk.encoded_bytes()),
        chunk.row_group,
        chunk.column,
        chunk.file,
        parts.join(", ")
    )
}

fn index_text(index: &RangeIndexInfo) -> String {
    let entries = match index.entries {
        1 => "1 entry".to_owned(),
        entries => format!("{entries} entries"),
    };
    let positions = text::count(index.block_positions, "position");
    format!("{entries}, one for {positions}")
}

fn blocks_text(blocks: &BlocksInfo) -> String {
    let values = match (blocks.min_values, blocks.max_values) {
        (min, max) if min == max => text::count(min, "value"),
        (min, max) => format!("{min}..{max} values"),
    };
    let mut line = format!("{} of {values}", text::count(blocks.count, "block"));
    let encodings: Vec<String> = blocks
        .encodings
        .iter()
        .map(|count| format!("{} × {}", count.blocks, count.code))
        .collect();
    if !encodings.is_empty() {
        line.push_str(": ");
        line.push_str(&encodings.join(", "));
    }
    line
}
