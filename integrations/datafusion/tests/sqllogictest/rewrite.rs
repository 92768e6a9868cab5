//! Rewrites test records for Parquet to records for shards.

use crate::common::Format;
use sqllogictest::{ColumnType, QueryExpect, Record};

/// The texts to replace in records, ignoring case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rewrite(&'static [(&'static str, &'static str)]);

/// Replaces Parquet by shards. Each of Parquet's options for readers has a counterpart.
const TO_SHARDS: &[(&str, &str)] = &[
    ("stored as parquet", "STORED AS SHARD"),
    (".parquet'", ".shard'"),
    (".parquet]", ".shard]"),
    (".parquet:", ".shard:"),
    (".parquet,", ".shard,"),
    (".parquet\"", ".shard\""),
    ("file_type=parquet", "file_type=shard"),
    // DataFusion can only reset its own options.
    (
        "reset datafusion.execution.parquet.pushdown_filters",
        "SET shard.pushdown_filters = false",
    ),
    (
        "datafusion.execution.parquet.pushdown_filters",
        "shard.pushdown_filters",
    ),
    ("datafusion.execution.parquet.pruning", "shard.pruning"),
];

/// Options of Parquet files that control how they are stored, and have no meaning for shards.
const OF_PARQUET: &[&str] = &[
    "allow_single_file_parallelism",
    "bloom_filter_enabled",
    "bloom_filter_fpp",
    "bloom_filter_ndv",
    "bloom_filter_on_read",
    "bloom_filter_on_write",
    "column_index_truncate_length",
    "compression",
    "created_by",
    "data_page_row_count_limit",
    "data_pagesize_limit",
    "dictionary_enabled",
    "dictionary_page_size_limit",
    "encoding",
    "max_row_group_bytes",
    "maximum_buffered_record_batches_per_stream",
    "maximum_parallel_row_group_writers",
    "metadata_size_hint",
    "skip_metadata",
    "statistics_enabled",
    "statistics_truncate_length",
    "write_batch_size",
    "writer_version",
];

impl Rewrite {
    pub(crate) fn nothing() -> Self {
        Self(&[])
    }

    pub(crate) fn of_format(format: Format) -> Self {
        match format {
            Format::Parquet => Self::nothing(),
            Format::Shard => Self(TO_SHARDS),
        }
    }

    /// Returns statements to run before a file. By default, scans of Parquet do not evaluate filters, so scans of
    /// shards must not either.
    pub(crate) fn first(self) -> &'static [&'static str] {
        match self.0 {
            [] => &[],
            _ => &["SET shard.pushdown_filters = false"],
        }
    }

    pub(crate) fn record<T: ColumnType>(self, mut record: Record<T>) -> Record<T> {
        match &mut record {
            Record::Statement { sql, .. } => *sql = self.statement(sql),
            Record::Query { sql, expected, .. } => {
                *sql = self.statement(sql);
                if let QueryExpect::Results { results, .. } = expected {
                    for line in results {
                        *line = self.text(line);
                    }
                }
            }
            _ => {}
        }
        record
    }

    fn statement(self, sql: &str) -> String {
        match self.0 {
            [] => sql.to_owned(),
            _ => with_options_of_shards(&self.text(sql)),
        }
    }

    fn text(self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in self.0 {
            text = replace(&text, from, to);
        }
        text
    }
}

/// Replaces every occurrence of a lower-case text, ignoring case.
fn replace(text: &str, from: &str, to: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut replaced = String::new();
    let mut end = 0;
    for (start, _) in lower.match_indices(from) {
        replaced.push_str(&text[end..start]);
        replaced.push_str(to);
        end = start + from.len();
    }
    replaced.push_str(&text[end..]);
    replaced
}

/// Returns a statement with only options that shards support. Its tables push filters down, so the session decides.
fn with_options_of_shards(sql: &str) -> String {
    let lower = sql.to_ascii_lowercase();
    let creates = lower.contains("create ") && lower.contains("stored as shard");
    let copies = lower.contains("copy ") && lower.contains("shard");
    let own = "'format.pushdown_filters' 'true'".to_owned();
    let Some(start) = lower.rfind("options").filter(|_| creates || copies) else {
        return if creates {
            format!("{} OPTIONS ({own})", sql.trim_end().trim_end_matches(';'))
        } else {
            sql.to_owned()
        };
    };
    let (before, rest) = sql.split_at(start);
    let inside = rest["options".len()..].trim_start().strip_prefix('(');
    let Some((inside, after)) = inside.and_then(|inside| inside.split_once(')')) else {
        return sql.to_owned();
    };
    // A level of compression is in parentheses inside the list of options.
    let (inside, after) = match after.split_once(')') {
        Some((more, after)) if inside.contains('(') => (format!("{inside}){more}"), after),
        _ => (inside.to_owned(), after),
    };
    let kept = inside.split(',').filter_map(option_of_shards);
    let kept: Vec<String> = creates.then_some(own).into_iter().chain(kept).collect();
    match kept.as_slice() {
        [] => format!("{before}{after}"),
        kept => format!("{before}OPTIONS ({}){after}", kept.join(", ")),
    }
}

/// Returns an option, unless it has no meaning for shards.
fn option_of_shards(option: &str) -> Option<String> {
    let option = option.trim();
    let quoted = option.split_whitespace().next()?;
    let name = quoted.trim_matches('\'').to_ascii_lowercase();
    let unprefixed = name.strip_prefix("format.").unwrap_or(&name);
    let key = unprefixed.split("::").next()?;
    if OF_PARQUET.contains(&key) {
        return None;
    }
    Some(replace(option, "max_row_group_size", "stripe_rows"))
}
