//! What a writer may be told.

use super::settings::{FilterChoice, Settings};
use super::shard::ARROW_SCHEMA_PROPERTY;
use crate::column::TypeMapping;
use crate::error::{Error, Result, Within};
use crate::format::{Message, NameValuePair, StripeProperties, Wire};
use crate::settings::settings;
use crate::sorting::SortingColumn;
use std::collections::HashMap;

/// How hard a writer tries to make data small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Profile {
    /// Arrow's own buffers, which a memory map gives back without copying; blocks of plain values on
    /// a wire that has no such buffers.
    Plain,
    /// Lightweight encodings, none of which takes longer to decode than copying the values twice.
    Fast,
    /// Lightweight encodings that are decoded at memory speed.
    #[default]
    Balanced,
    /// Zstandard and Pco where they make data smaller, in larger blocks. Needs the feature `zstd`.
    HighCompression,
    /// The least size, at any price. Needs the feature `zstd`.
    MinimalSize,
}

impl Profile {
    /// Whether this build can write it: `HighCompression` and `MinimalSize` need the feature `zstd`.
    pub fn is_available(self) -> bool {
        cfg!(feature = "zstd") || !matches!(self, Self::HighCompression | Self::MinimalSize)
    }

    /// Values of a block, unless the caller says otherwise.
    fn block_values(self) -> usize {
        match self {
            Self::Plain | Self::Fast | Self::Balanced => 8192,
            Self::HighCompression => 32_768,
            Self::MinimalSize => 65_536,
        }
    }
}

/// Which files a shard is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// One file holds the stripes and the directory.
    #[default]
    SingleFile,
    /// A directory file, and one file per stripe beside it.
    TwoLevel,
}

/// Where the presence of nullable leaf values is stored, on a wire that leaves the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PresenceLayout {
    /// In a buffer of its own, one bit per position before encoding.
    #[default]
    Separate,
    /// In the blocks of the values.
    Embedded,
}

/// Options of one column, where they differ from those of the shard.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnOptions {
    profile: Option<Profile>,
    presence: Option<PresenceLayout>,
    dictionary_enabled: Option<bool>,
    statistics_enabled: Option<bool>,
    bloom_filter_enabled: Option<bool>,
    bloom_filter_fpp: Option<f64>,
    properties: Vec<NameValuePair>,
}

impl ColumnOptions {
    /// Sets the column's own [`Profile`].
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// The column's own profile, if it has one.
    pub fn profile(&self) -> Option<Profile> {
        self.profile
    }

    /// Sets the column's own [`PresenceLayout`].
    #[must_use]
    pub fn with_presence(mut self, presence: PresenceLayout) -> Self {
        self.presence = Some(presence);
        self
    }

    /// The column's own presence layout, if it has one.
    pub fn presence(&self) -> Option<PresenceLayout> {
        self.presence
    }

    /// Sets whether the column's values may get a value dictionary, where that pays.
    #[must_use]
    pub fn with_dictionary_enabled(mut self, enabled: bool) -> Self {
        self.dictionary_enabled = Some(enabled);
        self
    }

    /// Whether the column's values may get a value dictionary, if it has an option of its own.
    pub fn dictionary_enabled(&self) -> Option<bool> {
        self.dictionary_enabled
    }

    /// Sets whether the column's statistics are collected: ranges, counts, lengths, the number of
    /// distinct values, range indexes.
    #[must_use]
    pub fn with_statistics_enabled(mut self, enabled: bool) -> Self {
        self.statistics_enabled = Some(enabled);
        self
    }

    /// Whether the column's statistics are collected, if it has an option of its own.
    pub fn statistics_enabled(&self) -> Option<bool> {
        self.statistics_enabled
    }

    /// Sets whether the column gets a membership filter in every stripe, see
    /// [`WriterOptions::with_bloom_filter_enabled`].
    #[must_use]
    pub fn with_bloom_filter_enabled(mut self, enabled: bool) -> Self {
        self.bloom_filter_enabled = Some(enabled);
        self
    }

    /// Whether the column gets a membership filter in every stripe, if it has an option of its own.
    pub fn bloom_filter_enabled(&self) -> Option<bool> {
        self.bloom_filter_enabled
    }

    /// Sets the probability of a false positive that the column's filters are made for, between 0
    /// and 1.
    #[must_use]
    pub fn with_bloom_filter_fpp(mut self, fpp: f64) -> Self {
        self.bloom_filter_fpp = Some(fpp);
        self
    }

    /// The probability of a false positive of the column's filters, if it has an option of its own.
    pub fn bloom_filter_fpp(&self) -> Option<f64> {
        self.bloom_filter_fpp
    }

    /// Adds a property to the column's field descriptor of every stripe. Names that start with
    /// `arrow_shard.` are reserved.
    #[must_use]
    pub fn with_property(mut self, property: NameValuePair) -> Self {
        self.properties.push(property);
        self
    }

    /// The column's properties.
    pub fn properties(&self) -> &[NameValuePair] {
        &self.properties
    }
}

/// Options of a [`ShardWriter`](super::ShardWriter).
///
/// ```
/// use arrow_shard::write::{ColumnOptions, Profile, WriterOptions};
/// let options = WriterOptions::default()
///     .with_profile(Profile::HighCompression)
///     .with_stripe_rows(500_000)
///     .with_column("id", ColumnOptions::default().with_profile(Profile::Plain));
/// assert_eq!(options.stripe_rows(), 500_000);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct WriterOptions {
    profile: Profile,
    layout: Layout,
    wire: Wire,
    mapping: Option<TypeMapping>,
    presence: PresenceLayout,
    dictionary_enabled: bool,
    statistics_enabled: bool,
    bloom_filter_enabled: Option<bool>,
    bloom_filter_fpp: f64,
    stripe_rows: u64,
    stripe_bytes: u64,
    memory_limit: u64,
    block_values: Option<usize>,
    creation_time: Option<u64>,
    columns: HashMap<String, ColumnOptions>,
    sorting_columns: Vec<SortingColumn>,
    properties: Vec<NameValuePair>,
    stripe_properties: Vec<NameValuePair>,
    overwrite: bool,
    threads: usize,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            layout: Layout::default(),
            wire: Wire::Spec,
            mapping: None,
            presence: PresenceLayout::default(),
            dictionary_enabled: true,
            statistics_enabled: true,
            bloom_filter_enabled: None,
            bloom_filter_fpp: 0.01,
            stripe_rows: 1 << 20,
            stripe_bytes: 256 << 20,
            memory_limit: 512 << 20,
            block_values: None,
            creation_time: None,
            columns: HashMap::new(),
            sorting_columns: Vec::new(),
            properties: Vec::new(),
            stripe_properties: Vec::new(),
            overwrite: false,
            threads: 1,
        }
    }
}

settings! {
    WriterOptions {
        /// How hard to compress; [`Profile::Balanced`] by default.
        profile, with_profile: Profile;
        /// Which files to write; [`Layout::SingleFile`] by default.
        layout, with_layout: Layout;
        /// How metadata are written, and for whom; [`Wire::Spec`] by default. [`Wire::Reference`] makes
        /// shards that the reference implementation reads, and refuses schemas that it could not.
        wire, with_wire: Wire;
        /// Where presence of leaf values goes, if the wire leaves the choice;
        /// [`PresenceLayout::Separate`] by default.
        presence, with_presence: PresenceLayout;
        /// Whether values may get a value dictionary, where that pays; they may by default. The
        /// profile `Plain` gives them none, and Arrow dictionary arrays keep theirs in any case.
        dictionary_enabled, with_dictionary_enabled: bool;
        /// Whether statistics are collected: ranges, counts, lengths, the number of distinct values,
        /// range indexes; they are by default. Without them a shard still says how many nulls its
        /// columns have, and which columns are constant.
        statistics_enabled, with_statistics_enabled: bool;
        /// Probability of a false positive that membership filters are made for, between 0 and 1;
        /// 0.01 by default.
        bloom_filter_fpp, with_bloom_filter_fpp: f64;
        /// Most rows of a stripe; 1,048,576 by default.
        stripe_rows, with_stripe_rows: u64;
        /// Bytes of Arrow data after which a stripe ends; 256 MiB by default.
        stripe_bytes, with_stripe_bytes: u64;
        /// Bytes of the stripe before and the rows after it that the writer may hold, about, before it
        /// ends a stripe early; 512 MiB by default. Beside them it holds an eighth of that, at most, of
        /// metadata of stripes that are written and have Bloom filters, as much of rows that it takes
        /// apart, a few hundred bytes for each stripe and each field, and the batch that it is given.
        memory_limit, with_memory_limit: u64;
        /// Time of creation in 100 ns ticks since 0001-01-01, for reproducible files; now by default.
        creation_time, with_creation_time: Option<u64>;
        /// Whether [`ShardWriter::create`](super::ShardWriter::create) may replace a file; not by default.
        overwrite, with_overwrite: bool;
        /// Threads that encode columns side by side, the one that calls included; 1 by default. With
        /// more, the rows of a window, or a stripe, are encoded while the caller goes on with the
        /// next. The bytes are the same either way. More than 1 need the feature `threads`.
        threads, with_threads: usize;
    }
}

/// The mapping of a shard for which none was chosen.
fn default_mapping(wire: Wire) -> TypeMapping {
    match wire {
        Wire::Spec => TypeMapping::Lossless,
        Wire::Reference => TypeMapping::Amudai,
    }
}

impl WriterOptions {
    /// Sets [`block_values`](Self::block_values).
    #[must_use]
    pub fn with_block_values(mut self, values: usize) -> Self {
        self.block_values = Some(values);
        self
    }

    /// Values of a block, a multiple of 1,024 up to 65,536. By default 8,192, and more under the
    /// profiles `HighCompression` (32,768) and `MinimalSize` (65,536): larger blocks are smaller
    /// altogether, and more has to be decoded for a single value.
    pub fn block_values(&self) -> Option<usize> {
        self.block_values
    }

    /// Sets [`mapping`](Self::mapping).
    #[must_use]
    pub fn with_mapping(mut self, mapping: TypeMapping) -> Self {
        self.mapping = Some(mapping);
        self
    }

    /// How Arrow types become types of the shard: as was chosen, else [`TypeMapping::Lossless`] under
    /// [`Wire::Spec`] and [`TypeMapping::Amudai`] under [`Wire::Reference`].
    pub fn mapping(&self) -> TypeMapping {
        self.mapping.unwrap_or_else(|| default_mapping(self.wire))
    }

    /// Sets whether every column that can be compared for equality, Boolean ones left out, gets a
    /// membership filter in every stripe, or none does. By default those of strings, binary values
    /// and Guid do where it should pay: they have at least 256 distinct values, and the filter takes
    /// at most an eighth of the bytes of the column.
    #[must_use]
    pub fn with_bloom_filter_enabled(mut self, enabled: bool) -> Self {
        self.bloom_filter_enabled = Some(enabled);
        self
    }

    /// Whether every column gets a membership filter in every stripe; `None` where it should pay.
    pub fn bloom_filter_enabled(&self) -> Option<bool> {
        self.bloom_filter_enabled
    }

    /// Sets the options of a top-level column and everything below it.
    #[must_use]
    pub fn with_column(mut self, name: impl Into<String>, options: ColumnOptions) -> Self {
        self.columns.insert(name.into(), options);
        self
    }

    /// The options of the columns that have their own.
    pub fn columns(&self) -> &HashMap<String, ColumnOptions> {
        &self.columns
    }

    /// Declares the columns that the rows are sorted by, or members of structs, which follow a dot.
    /// The writer refuses paths that its schema does not have; it does not sort, or check the rows.
    #[must_use]
    pub fn with_sorting_columns(mut self, columns: Vec<SortingColumn>) -> Self {
        self.sorting_columns = columns;
        self
    }

    /// The columns that the rows are sorted by.
    pub fn sorting_columns(&self) -> &[SortingColumn] {
        &self.sorting_columns
    }

    /// Adds a property of the shard. Names that start with `arrow_shard.` and the name
    /// `ARROW:schema` are reserved.
    #[must_use]
    pub fn with_property(mut self, property: NameValuePair) -> Self {
        self.properties.push(property);
        self
    }

    /// The properties of the shard.
    pub fn properties(&self) -> &[NameValuePair] {
        &self.properties
    }

    /// Adds a property of every stripe. Names that start with `arrow_shard.` are reserved.
    #[must_use]
    pub fn with_stripe_property(mut self, property: NameValuePair) -> Self {
        self.stripe_properties.push(property);
        self
    }

    /// The properties of every stripe.
    pub fn stripe_properties(&self) -> &[NameValuePair] {
        &self.stripe_properties
    }

    /// How the buffers of a top-level column are written.
    pub(super) fn of_column(&self, name: &str) -> Settings {
        let default = ColumnOptions::default();
        let own = self.columns.get(name).unwrap_or(&default);
        let capabilities = self.wire.capabilities();
        let presence = own.presence.unwrap_or(self.presence);
        let profile = own.profile.unwrap_or(self.profile);
        Settings {
            profile,
            embedded_presence: presence == PresenceLayout::Embedded
                || !capabilities.separate_presence,
            block_values: self.block_values.unwrap_or(profile.block_values()),
            dictionaries: own.dictionary_enabled.unwrap_or(self.dictionary_enabled),
            statistics: own.statistics_enabled.unwrap_or(self.statistics_enabled),
            filter: match own.bloom_filter_enabled.or(self.bloom_filter_enabled) {
                None => FilterChoice::Automatic,
                Some(true) => FilterChoice::Always,
                Some(false) => FilterChoice::Never,
            },
            filter_fpp: own.bloom_filter_fpp.unwrap_or(self.bloom_filter_fpp),
            wide_integers: false,
            capabilities,
        }
    }

    /// Refuses values that make no sense.
    pub(super) fn validate(&self) -> Result<()> {
        if self.stripe_rows == 0 || self.stripe_bytes == 0 || self.memory_limit == 0 {
            return Err(Error::invalid(
                "stripe_rows, stripe_bytes and memory_limit must be positive",
            ));
        }
        if let Some(values) = self.block_values
            && (values == 0 || !values.is_multiple_of(1024) || values > 65_536)
        {
            return Err(Error::invalid(format!(
                "block_values is {values}, expected a multiple of 1,024 up to 65,536"
            )));
        }
        if self.threads == 0 || (self.threads > 1 && cfg!(not(feature = "threads"))) {
            return Err(Error::invalid(format!(
                "threads is {}, expected 1, or more in a build with the feature `threads`",
                self.threads
            )));
        }
        let own = self.columns.values().filter_map(|c| c.bloom_filter_fpp);
        for fpp in own.chain([self.bloom_filter_fpp]) {
            if !(fpp > 0.0 && fpp < 1.0) {
                return Err(Error::invalid(format!(
                    "bloom_filter_fpp is {fpp}, expected a number between 0 and 1"
                )));
            }
        }
        let own = self.columns.values().filter_map(|c| c.profile);
        if let Some(profile) = own.chain([self.profile]).find(|p| !p.is_available()) {
            return Err(Error::unsupported(format!(
                "the profile {profile:?} needs a build with the feature `zstd`"
            )));
        }
        self.validate_properties()
    }

    /// Refuses properties that are reserved, or that metadata have no place for.
    fn validate_properties(&self) -> Result<()> {
        let fields = self.columns.values().flat_map(|c| &c.properties);
        let all = self
            .properties
            .iter()
            .chain(&self.stripe_properties)
            .chain(fields);
        for property in all {
            let name = &property.name;
            if name.starts_with("arrow_shard.") || name == ARROW_SCHEMA_PROPERTY {
                return Err(Error::invalid(format!(
                    "the property name `{name}` is reserved"
                )));
            }
            let alone = StripeProperties {
                standard_properties: Vec::new(),
                custom_properties: vec![property.clone()],
            };
            alone
                .encode(self.wire)
                .within(|| format!("property `{name}`"))?;
        }
        Ok(())
    }
}
