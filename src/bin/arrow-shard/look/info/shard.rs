//! Facts about shards.

use super::{Facts, add_index, add_order, add_ratio, add_size, distinct, key_values};
use crate::failure::Failure;
use crate::inspect;
use crate::text;
use arrow_shard::Shard;
use arrow_shard::metadata::{NameValuePair, WriterInfo};
use arrow_shard::read::inspect::{FieldInfo, InspectOptions, ShardInfo};
use arrow_shard::write::{ARROW_SCHEMA_PROPERTY, SORTING_COLUMNS_PROPERTY, WRITERS_PROPERTY};
use serde_json::{Value, json};

/// Adds the facts. Returns whether all metadata could be read, and all files can be opened.
pub(super) fn add(facts: &mut Facts, shard: &Shard) -> Result<bool, Failure> {
    let info = shard.inspect(InspectOptions::default().with_encodings(false))?;
    let schema = shard.schema()?;
    let rows = match info.num_deleted_rows {
        0 => info.num_rows.to_string(),
        deleted => format!("{} ({deleted} deleted)", info.num_rows),
    };
    facts.add("rows", rows, info.num_rows);
    facts.add_lines("deleted rows", Vec::new(), info.num_deleted_rows);
    facts.add_number("columns", schema.fields().len() as u64);
    facts.add_number("stripes", info.stripes.len() as u64);
    let sizes = info.files.iter().filter_map(|file| file.bytes);
    add_size(facts, sizes.fold(0, u64::saturating_add));
    add_ratio(facts, info.raw_data_size, info.encoded_bytes);
    let wire = format!("{:?}", info.wire).to_lowercase();
    facts.add("wire", wire.clone(), wire);
    if let Some(mapping) = info.mapping {
        let mapping = format!("{mapping:?}").to_lowercase();
        facts.add("mapping", mapping.clone(), mapping);
    }
    add_creation(facts, &info);
    add_writers(facts, &shard.writers()?);
    let order = shard.sorting_columns()?.into_iter();
    let order = order.map(|column| (column.path, column.descending, column.nulls_first));
    add_order(facts, &order.collect::<Vec<_>>());
    let (mut filters, mut ranges) = (Vec::new(), Vec::new());
    let fields = info.stripes.iter().flat_map(|stripe| &stripe.fields);
    fields.for_each(|field| collect_indexes(field, &mut filters, &mut ranges));
    add_index(facts, "bloom filters", filters);
    add_index(facts, "range indexes", ranges);
    facts.add_entries("key-values", key_values(&schema));
    add_properties(facts, &info.properties);
    add_files(facts, &info);
    let mut problems: Vec<String> = info.problem.iter().cloned().collect();
    problems.extend(info.stripes.iter().filter_map(|it| it.problem.clone()));
    let has_files = info.files.iter().all(|file| file.bytes.is_some());
    let is_whole = problems.is_empty() && has_files;
    if !problems.is_empty() {
        facts.add_lines("PROBLEM", problems.clone(), problems);
    }
    Ok(is_whole)
}

/// Adds the profiles and programs that wrote the rows.
fn add_writers(facts: &mut Facts, writers: &[WriterInfo]) {
    let profiles = distinct(writers.iter().filter_map(|it| it.profile.clone()));
    let programs = distinct(writers.iter().map(|it| it.program.clone()));
    for (name, values) in [("profile", profiles), ("created by", programs)] {
        if !values.is_empty() {
            facts.add(name, values.join(", "), values);
        }
    }
}

fn add_creation(facts: &mut Facts, info: &ShardInfo) {
    let times = [info.creation_min, info.creation_max].map(|time| time.map(text::ticks));
    let line = match &times {
        [Some(min), Some(max)] if min != max => format!("{min} to {max}"),
        [Some(time), _] | [_, Some(time)] => time.clone(),
        [None, None] => return,
    };
    facts.add("created", line, times.to_vec());
}

/// Adds the paths of a field and the fields below it that have indexes.
fn collect_indexes(field: &FieldInfo, filters: &mut Vec<String>, ranges: &mut Vec<String>) {
    let add = |paths: &mut Vec<String>| {
        if !paths.contains(&field.path) {
            paths.push(field.path.clone());
        }
    };
    if field.bloom_filter.is_some() {
        add(filters);
    }
    if field.buffers.iter().any(|it| it.range_index.is_some()) {
        add(ranges);
    }
    for child in &field.children {
        collect_indexes(child, filters, ranges);
    }
}

/// Adds the properties that a user has set.
fn add_properties(facts: &mut Facts, all: &[NameValuePair]) {
    let own = [
        ARROW_SCHEMA_PROPERTY,
        SORTING_COLUMNS_PROPERTY,
        WRITERS_PROPERTY,
    ];
    let set = all.iter().filter(|it| !own.contains(&it.name.as_str()));
    let set: Vec<NameValuePair> = set.cloned().collect();
    let lines = set.iter().map(text::property).collect();
    facts.add_lines("properties", lines, inspect::properties(&set));
}

/// Adds the files that the shard needs in addition to its own.
fn add_files(facts: &mut Facts, info: &ShardInfo) {
    let others = info.files.get(1..).unwrap_or_default();
    let line = |(name, bytes): (&String, Option<u64>)| match bytes {
        Some(bytes) => format!("{name}, {}", text::bytes(bytes)),
        None => format!("{name}, cannot be opened"),
    };
    let lines = others.iter().map(|file| line((&file.name, file.bytes)));
    let json = others
        .iter()
        .map(|file| json!({ "name": file.name, "bytes": file.bytes }));
    facts.add_lines("other files", lines.collect(), json.collect::<Vec<Value>>());
}
