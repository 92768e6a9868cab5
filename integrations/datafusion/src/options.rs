//! Options for reading and writing tables of shards, set in SQL or in code.

use arrow_shard::WriterOptions;
use arrow_shard::metadata::{SortingColumn, TypeMapping, Wire};
use arrow_shard::ops::Unify;
use arrow_shard::write::Profile;
use datafusion_common::config::{
    ConfigEntry, ConfigExtension, ConfigField, ConfigOptions, ExtensionOptions, Visit,
};
use datafusion_common::{Result, config_err, config_namespace};
use datafusion_session::Session;
use std::any::Any;
use std::collections::HashMap;
use std::fmt::Display;

config_namespace! {
    /// Options for reading and writing a table of shards.
    ///
    /// In a session they have the prefix `shard` and apply to all tables that are created later: `SET
    /// shard.profile = 'fast'`. A table or a `COPY` sets its own with the prefix `format`: `CREATE
    /// EXTERNAL TABLE ... OPTIONS ('format.pushdown_filters' 'false')`.
    pub struct TableShardOptions {
        /// Whether scans evaluate filters. They do if the table and the session both set this. Otherwise, a
        /// filter above the scan evaluates them, and the scan still skips stripes by their statistics.
        pub pushdown_filters: bool, default = true
        /// Whether statistics of stripes are checked before a stripe is read.
        pub pruning: bool, default = true
        /// Whether text and binary columns of inferred schemas are views, which DataFusion processes
        /// faster.
        pub schema_force_view_types: bool, default = true
        /// How inferred schemas unite columns whose types differ between the files: strict makes that an error, and
        /// widen gives them the narrowest type that holds the values of all files.
        pub unify: String, default = "strict".to_owned()
        /// The trade-off between speed and size of written files: plain, fast, balanced, high_compression or
        /// minimal_size.
        pub profile: String, default = "balanced".to_owned()
        /// Most rows of a stripe; without a value, the writer chooses.
        pub stripe_rows: Option<usize>, default = None
        /// Columns that the rows of written files are sorted by, in the syntax of ORDER BY: `day DESC NULLS FIRST, id`.
        /// Without a value, the columns of the query's or the table's ORDER BY.
        pub sorting_columns: Option<String>, default = None
        /// Whether all columns get Bloom filters, or none; without a value, the writer chooses.
        pub bloom_filters: Option<bool>, default = None
        /// Whether all columns get value dictionaries, or none; without a value, the writer chooses.
        pub dictionaries: Option<bool>, default = None
        /// How Arrow types are stored: lossless or amudai.
        pub mapping: String, default = "lossless".to_owned()
        /// How metadata are written: spec or reference.
        pub wire: String, default = "spec".to_owned()
        /// Threads that encode a file; 0 for one thread per partition of the query.
        pub writer_threads: usize, default = 0
    }
}

impl ConfigExtension for TableShardOptions {
    const PREFIX: &'static str = "shard";
}

/// Like the implementation that `extensions_options!` generates, except that names of entries include the prefix:
/// `SHOW shard.profile` finds entries by the full name, and a session that receives the entries of another can set
/// them.
impl ExtensionOptions for TableShardOptions {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        ConfigField::set(self, key, value)
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let mut entries = Entries(Vec::new());
        self.visit(&mut entries, Self::PREFIX, "");
        entries.0
    }
}

struct Entries(Vec<ConfigEntry>);

impl Visit for Entries {
    fn some<V: Display>(&mut self, key: &str, value: V, description: &'static str) {
        self.0.push(ConfigEntry {
            key: key.to_owned(),
            value: Some(value.to_string()),
            description,
        });
    }

    fn none(&mut self, key: &str, description: &'static str) {
        self.0.push(ConfigEntry {
            key: key.to_owned(),
            value: None,
            description,
        });
    }
}

impl TableShardOptions {
    /// Returns the options of a session, or the defaults if [`register`](crate::register) was not called.
    pub fn of_config(config: &ConfigOptions) -> Self {
        let options = config.extensions.get::<Self>();
        options.cloned().unwrap_or_default()
    }

    /// Applies the options of a table on top of the session's options. Keys have the prefix `format.` or `shard.`, or
    /// none.
    ///
    /// # Errors
    /// Returns a configuration error for an unknown option or an invalid value.
    pub(crate) fn of_table(
        mut self,
        session: &dyn Session,
        format_options: &HashMap<String, String>,
    ) -> Result<Self> {
        // Some options affect others, so their order must not depend on the map.
        let mut keys: Vec<_> = format_options.iter().collect();
        keys.sort();
        for (key, value) in keys {
            let own = ["format.", "shard."];
            match own.iter().find_map(|prefix| key.strip_prefix(prefix)) {
                Some(key) => self.set_option(key, value)?,
                // Options with another prefix are for other parts of DataFusion, such as credentials of a store.
                None if key.contains('.') => {}
                None => self.set_option(key, value)?,
            }
        }
        let threads = session.config().target_partitions();
        self.writer_options(threads)?;
        self.unify()?;
        Ok(self)
    }

    /// Sets the option `key`, as SQL does.
    ///
    /// # Errors
    /// Returns a configuration error for an unknown option or an invalid value.
    pub fn set_option(&mut self, key: &str, value: &str) -> Result<()> {
        ConfigField::set(self, key, value)
    }

    /// Returns the options that have a value, as keys and values for [`set_option`](Self::set_option).
    pub fn to_options(&self) -> Vec<(String, String)> {
        let set = self.entries().into_iter().filter_map(|entry| {
            let (_, key) = entry.key.split_once('.')?;
            Some((key.to_owned(), entry.value?))
        });
        set.collect()
    }

    /// Returns how a table unites columns of different types.
    ///
    /// # Errors
    /// Returns a configuration error for an invalid value.
    pub(crate) fn unify(&self) -> Result<Unify> {
        match self.unify.to_lowercase().as_str() {
            "strict" => Ok(Unify::Strict),
            "widen" => Ok(Unify::Widen),
            other => config_err!("shard unify '{other}': expected strict or widen"),
        }
    }

    /// Returns the options of a file's writer, in a query with this number of partitions.
    ///
    /// # Errors
    /// Returns a configuration error for an invalid value.
    pub(crate) fn writer_options(&self, partitions: usize) -> Result<WriterOptions> {
        let profile = match self.profile.replace('-', "_").to_lowercase().as_str() {
            "plain" => Profile::Plain,
            "fast" => Profile::Fast,
            "balanced" => Profile::Balanced,
            "high_compression" => Profile::HighCompression,
            "minimal_size" => Profile::MinimalSize,
            other => {
                return config_err!(
                    "shard profile '{other}': expected plain, fast, balanced, high_compression or minimal_size"
                );
            }
        };
        let mapping = match self.mapping.to_lowercase().as_str() {
            "lossless" => TypeMapping::Lossless,
            "amudai" => TypeMapping::Amudai,
            other => return config_err!("shard mapping '{other}': expected lossless or amudai"),
        };
        let wire = match self.wire.to_lowercase().as_str() {
            "spec" => Wire::Spec,
            "reference" => Wire::Reference,
            other => return config_err!("shard wire '{other}': expected spec or reference"),
        };
        let threads = match self.writer_threads {
            0 => partitions,
            threads => threads,
        };
        let mut options = WriterOptions::default()
            .with_profile(profile)
            .with_mapping(mapping)
            .with_wire(wire)
            .with_threads(threads.max(1));
        if let Some(rows) = self.stripe_rows {
            if rows == 0 {
                return config_err!("shard stripe_rows 0: a stripe has at least one row");
            }
            options = options.with_stripe_rows(u64::try_from(rows).unwrap_or(u64::MAX));
        }
        if let Some(enabled) = self.bloom_filters {
            options = options.with_bloom_filter_enabled(enabled);
        }
        if let Some(enabled) = self.dictionaries {
            options = options.with_dictionary_enabled(enabled);
        }
        if let Some(columns) = &self.sorting_columns {
            options = options.with_sorting_columns(parse_sorting_columns(columns)?);
        }
        Ok(options)
    }
}

/// Parses sorting columns in the syntax of ORDER BY. Names may be in double quotes. As in DataFusion, nulls come first
/// in descending order and last in ascending order, unless the text says otherwise.
fn parse_sorting_columns(text: &str) -> Result<Vec<SortingColumn>> {
    let mut columns = Vec::new();
    for part in split_outside_quotes(text) {
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        let (path, order) = match part.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            Some((name, order)) => (name.to_owned(), order),
            None => {
                let (name, order) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
                (name.to_owned(), order)
            }
        };
        let order = order.to_uppercase();
        let mut words = order.split_whitespace().peekable();
        let descending = words.next_if(|word| matches!(*word, "ASC" | "DESC")) == Some("DESC");
        let nulls_first = match (words.next(), words.next(), words.next()) {
            (None, ..) => descending,
            (Some("NULLS"), Some("FIRST"), None) => true,
            (Some("NULLS"), Some("LAST"), None) => false,
            _ => {
                return config_err!(
                    "shard sorting_columns: expected `name [ASC | DESC] [NULLS FIRST | NULLS LAST]`, found `{part}`"
                );
            }
        };
        columns.push(SortingColumn {
            path,
            descending,
            nulls_first,
        });
    }
    Ok(columns)
}

/// Splits a text at the commas outside of double quotes.
fn split_outside_quotes(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut quoted) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Context;

    #[test]
    fn sorting_columns_are_read_as_order_by_has_them() {
        let column = |path: &str, descending, nulls_first| SortingColumn {
            path: path.to_owned(),
            descending,
            nulls_first,
        };
        let parsed =
            parse_sorting_columns(r#"a, b.c desc, "x, y" ASC NULLS FIRST,d DESC nulls last"#);
        assert_eq!(
            parsed.unwrap(),
            [
                column("a", false, false),
                column("b.c", true, true),
                column("x, y", false, true),
                column("d", true, false),
            ]
        );
        for wrong in ["a up", "a NULLS", "a ASC NULLS FIRST b"] {
            assert!(parse_sorting_columns(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_option_survives_its_text() {
        let mut options = TableShardOptions::default();
        for (key, value) in [
            ("pushdown_filters", "false"),
            ("profile", "plain"),
            ("stripe_rows", "1000"),
            ("sorting_columns", "a DESC"),
            ("bloom_filters", "true"),
            ("unify", "widen"),
        ] {
            options.set_option(key, value).unwrap();
        }
        let mut copy = TableShardOptions::default();
        for (key, value) in options.to_options() {
            copy.set_option(&key, &value).unwrap();
        }
        assert_eq!(copy.to_options(), options.to_options());
        // A session accepts the options by their full names.
        let mut config = ConfigOptions::new();
        config.extensions.insert(TableShardOptions::default());
        for entry in options.entries() {
            if let Some(value) = &entry.value {
                config.set(&entry.key, value).unwrap();
            }
        }
        let session = TableShardOptions::of_config(&config);
        assert_eq!(session.to_options(), options.to_options());
        let writer = options.writer_options(2).unwrap();
        assert_eq!(writer.profile(), Profile::Plain);
        assert_eq!(writer.stripe_rows(), 1000);
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for (key, value, message) in [
            ("profile", "tiny", "expected plain, fast"),
            ("mapping", "x", "expected lossless or amudai"),
            ("wire", "x", "expected spec or reference"),
            ("stripe_rows", "0", "at least one row"),
            ("sorting_columns", "a up", "expected `name"),
        ] {
            let mut options = TableShardOptions::default();
            options.set_option(key, value).unwrap();
            let error = options.writer_options(1).context("options").unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
        let mut options = TableShardOptions::default();
        options.set_option("unify", "x").unwrap();
        let error = options.unify().unwrap_err().to_string();
        assert!(error.contains("expected strict or widen"), "{error}");
        assert!(options.set_option("nothing", "1").is_err());
    }
}
