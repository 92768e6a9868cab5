//! Options of writers.

use super::choose::profile::Profile;
use super::choose::settings::{BloomFilterChoice, Settings};
use super::column_options::{ColumnOptions, PresenceLayout};
use super::internal_values::InternalValues;
use super::shard_properties::check_property;
use crate::column::TypeMapping;
use crate::error::{Error, Result};
use crate::format::{Field as StoredField, NameValuePair, Wire};
use crate::settings::{check_threads, settings};
use crate::sorting::SortingColumn;
use std::collections::HashMap;

/// Records of a super-block. A reader of one record fetches the whole super-block.
const PACKED_VALUES: usize = 1024;

/// The files that a shard consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// One file holds the stripes and the directory.
    #[default]
    SingleFile,
    /// A directory file, and one file per stripe in the same folder.
    TwoLevel,
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
    compressor_dictionary_enabled: bool,
    statistics_enabled: bool,
    bloom_filter_enabled: Option<bool>,
    bloom_filter_fpp: f64,
    stripe_rows: u64,
    stripe_bytes: u64,
    memory_limit: u64,
    block_values: Option<usize>,
    creation_time: Option<u64>,
    ingestion_timestamp: Option<InternalValues>,
    record_identity: Option<InternalValues>,
    internal_fields: Vec<StoredField>,
    columns: HashMap<String, ColumnOptions>,
    packed_columns: Vec<Vec<String>>,
    sorting_columns: Vec<SortingColumn>,
    sorting_columns_checked: bool,
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
            compressor_dictionary_enabled: false,
            statistics_enabled: true,
            bloom_filter_enabled: None,
            bloom_filter_fpp: 0.01,
            stripe_rows: 1 << 20,
            stripe_bytes: 256 << 20,
            memory_limit: 512 << 20,
            block_values: None,
            creation_time: None,
            ingestion_timestamp: None,
            record_identity: None,
            internal_fields: Vec::new(),
            columns: HashMap::new(),
            packed_columns: Vec::new(),
            sorting_columns: Vec::new(),
            sorting_columns_checked: false,
            properties: Vec::new(),
            stripe_properties: Vec::new(),
            overwrite: false,
            threads: 1,
        }
    }
}

settings! {
    WriterOptions {
        /// Trade-off between size and speed; [`Profile::Balanced`] by default.
        profile, with_profile: Profile;
        /// The files to write; [`Layout::SingleFile`] by default.
        layout, with_layout: Layout;
        /// The dialect of the metadata; [`Wire::Spec`] by default. With [`Wire::Reference`] the reference
        /// implementation can read the shard, and the writer refuses schemas that it could not read.
        wire, with_wire: Wire;
        /// Where to store presence (one bit per value: null or not), if the wire leaves the choice;
        /// [`PresenceLayout::Separate`] by default.
        presence, with_presence: PresenceLayout;
        /// Whether a column may get a value dictionary where it pays off; on by default. The profile `Plain` adds
        /// none. Arrow dictionary arrays keep theirs regardless of this option.
        dictionary_enabled, with_dictionary_enabled: bool;
        /// Whether the blocks of texts and binary values may share compressor dictionaries: a dictionary of Zstandard
        /// trained on values of the stripe, or a symbol table of FSST. The writer adds one only where it pays off.
        /// Off by default. Compressor dictionaries are meant for small blocks, see
        /// [`ColumnOptions::with_block_values`]. Training takes up to a second per column and stripe, and readers fetch
        /// one more buffer. Needs the feature `zstd` and [`Wire::Spec`].
        compressor_dictionary_enabled, with_compressor_dictionary_enabled: bool;
        /// Whether to collect statistics: ranges, counts, lengths, distinct counts and range indexes; on by default.
        /// Without them a shard still has null counts and marks constant columns.
        statistics_enabled, with_statistics_enabled: bool;
        /// The false-positive rate of Bloom filters, between 0 and 1; 0.01 by default.
        bloom_filter_fpp, with_bloom_filter_fpp: f64;
        /// Maximum rows of a stripe; 1,048,576 by default.
        stripe_rows, with_stripe_rows: u64;
        /// Bytes of Arrow data after which a stripe ends; 256 MiB by default.
        stripe_bytes, with_stripe_bytes: u64;
        /// Approximate limit on the bytes that the writer holds of the previous stripe and of the rows after it; 512
        /// MiB by default. When it is reached, the writer ends a stripe early. In addition, the writer holds the
        /// current batch, a few hundred bytes per stripe and field, and at most an eighth of the limit each for the
        /// metadata of written stripes (with Bloom filters) and for rows that it is shredding.
        memory_limit, with_memory_limit: u64;
        /// Whether the writer checks that the rows follow
        /// [`with_sorting_columns`](WriterOptions::with_sorting_columns), across all batches and stripes; off by
        /// default. A batch that breaks the order is refused with
        /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), which names the column and the row, and the writer
        /// stays usable. Floating-point numbers are in total order, as `arrow_ord` sorts them.
        sorting_columns_checked, with_sorting_columns_checked: bool;
        /// The time of creation in 100 ns ticks since 0001-01-01, the current time by default. With a fixed time, the
        /// same batches make the same bytes, except for generated identities of rows and the names of stripe files.
        creation_time, with_creation_time: Option<u64>;
        /// Whether [`ShardWriter::create_with`](super::ShardWriter::create_with) and
        /// [`AsyncShardWriter::create_with`](super::AsyncShardWriter::create_with) may replace a file; off by default.
        /// With constructors for sinks and their factories, these decide. If it replaces a two-level shard, the old
        /// stripe files stay, because directories in other folders may refer to them;
        /// [`ops::vacuum`](crate::ops::vacuum) removes the files that no directory refers to.
        overwrite, with_overwrite: bool;
        /// The number of threads that encode columns, including the caller's; 1 by default. With more than one,
        /// encoding continues while the caller prepares the next rows. The bytes of the file do not depend on the
        /// number. Without the feature `threads`, the caller's thread does all the work.
        threads, with_threads: usize;
    }
}

/// Returns the mapping of Arrow types if the caller chose none.
fn default_mapping(wire: Wire) -> TypeMapping {
    match wire {
        Wire::Spec => TypeMapping::Lossless,
        Wire::Reference => TypeMapping::Amudai,
    }
}

impl WriterOptions {
    /// Sets the number of values per block: a multiple of 1,024 up to 65,536. The default is 8,192, or 32,768 under the
    /// profile `HighCompression` and 65,536 under `MinimalSize`. Larger blocks compress better, but a reader decodes
    /// more for a single value.
    #[must_use]
    pub fn with_block_values(mut self, values: usize) -> Self {
        self.block_values = Some(values);
        self
    }

    /// Returns the number of values per block, if the caller set it. Otherwise the profile decides.
    pub fn block_values(&self) -> Option<usize> {
        self.block_values
    }

    /// Sets how Arrow types become types of the shard. The default is [`TypeMapping::Lossless`] under [`Wire::Spec`]
    /// and [`TypeMapping::Amudai`] under [`Wire::Reference`].
    #[must_use]
    pub fn with_mapping(mut self, mapping: TypeMapping) -> Self {
        self.mapping = Some(mapping);
        self
    }

    /// Returns how Arrow types become types of the shard: the caller's choice, or else the default.
    pub fn mapping(&self) -> TypeMapping {
        self.mapping.unwrap_or_else(|| default_mapping(self.wire))
    }

    /// Sets whether every stripe gets a Bloom filter for every column that can be compared for equality (except Boolean
    /// columns and constants), or none at all. By default, columns of strings, binary values and UUIDs (with
    /// [`Profile::Plain`], only of UUIDs) get one if it is useful: they have at least 256 distinct values, and the
    /// filter takes at most an eighth of the column's encoded bytes. No filter is larger than 256 MiB.
    #[must_use]
    pub fn with_bloom_filter_enabled(mut self, enabled: bool) -> Self {
        self.bloom_filter_enabled = Some(enabled);
        self
    }

    /// Returns whether every stripe gets Bloom filters for all columns or for none; `None` means only where useful.
    pub fn bloom_filter_enabled(&self) -> Option<bool> {
        self.bloom_filter_enabled
    }

    /// Sets options for a top-level column and everything below it.
    #[must_use]
    pub fn with_column(mut self, name: impl Into<String>, options: ColumnOptions) -> Self {
        self.columns.insert(name.into(), options);
        self
    }

    /// Returns the columns that have options of their own, by name.
    pub fn columns(&self) -> &HashMap<String, ColumnOptions> {
        &self.columns
    }

    /// Stores these columns as a packed group, as [`ColumnOptions::with_packed_group`] stores the members of a struct:
    /// one request reads a row of all of them. Nested columns among them are stored separately. Each call adds another
    /// group.
    ///
    /// In the shard, and for other readers, the columns are members of a struct. [`Shard`](crate::Shard) shows them as
    /// ordinary columns.
    ///
    /// ```
    /// # use arrow_shard::{Shard, write::{ShardWriter, WriterOptions}};
    /// # use arrow_array::record_batch;
    /// let batch = record_batch!(("x", Float64, [0.5, 1.5]), ("id", Int32, [1, 2]), ("y", Float64, [3.0, 4.0]))?;
    /// let options = WriterOptions::default().with_packed_columns(["x", "y"]);
    /// # let mut file = Vec::new();
    /// let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options)?;
    /// writer.write(&batch)?;
    /// writer.finish()?;
    /// let shard = Shard::from_bytes(file.into())?;
    /// assert_eq!(shard.schema()?, batch.schema());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_packed_columns(
        mut self,
        columns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let columns = columns.into_iter().map(Into::into);
        self.packed_columns.push(columns.collect());
        self
    }

    /// Returns the columns of each packed group.
    pub fn packed_columns(&self) -> &[Vec<String>] {
        &self.packed_columns
    }

    /// Declares the columns that the rows are sorted by. A member of a struct is written as a path with dots. The
    /// writer refuses paths that its schema does not have. It does not sort the rows. It checks their order if
    /// [`with_sorting_columns_checked`](Self::with_sorting_columns_checked) is on. Query engines trust a declared
    /// order, so a false one makes their results wrong; [`Shard::verify`](crate::Shard::verify) detects it.
    #[must_use]
    pub fn with_sorting_columns(mut self, columns: Vec<SortingColumn>) -> Self {
        self.sorting_columns = columns;
        self
    }

    /// Returns the columns that the rows are sorted by.
    pub fn sorting_columns(&self) -> &[SortingColumn] {
        &self.sorting_columns
    }

    /// Writes [`INGESTION_TIMESTAMP`](crate::metadata::INGESTION_TIMESTAMP), an internal field: the time when each
    /// record was ingested. If the writer generates it, all records of the shard have the same time:
    /// [`with_creation_time`](Self::with_creation_time), or else the time when the writer was created. The caller may
    /// supply a column of timestamps or dates instead, which may differ by record and contain nulls.
    ///
    /// Readers leave internal fields out of schemas and scans, unless the caller names them or sets
    /// [`ScanBuilder::with_internal_fields`](crate::read::ScanBuilder::with_internal_fields). Merges and other changes
    /// of a shard keep them.
    ///
    /// ```
    /// # use arrow_shard::{Shard, write::{ShardWriter, WriterOptions}};
    /// # use arrow_array::record_batch;
    /// use arrow_shard::read::col;
    /// use arrow_shard::write::InternalValues;
    /// use arrow_shard::metadata::RECORD_IDENTITY;
    /// # let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
    /// let options = WriterOptions::default()
    ///     .with_ingestion_timestamp(InternalValues::Generated)
    ///     .with_record_identity(InternalValues::Generated);
    /// # let mut file = Vec::new();
    /// let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options)?;
    /// writer.write(&batch)?;
    /// writer.finish()?;
    /// let shard = Shard::from_bytes(file.into())?;
    /// assert_eq!(shard.schema()?, batch.schema());
    /// let row = shard.take(&[2], ["id", RECORD_IDENTITY])?;
    /// # assert_eq!(row.num_columns(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_ingestion_timestamp(mut self, values: InternalValues) -> Self {
        self.ingestion_timestamp = Some(values);
        self
    }

    /// Returns where ingestion times come from, if they are written.
    pub fn ingestion_timestamp(&self) -> Option<&InternalValues> {
        self.ingestion_timestamp.as_ref()
    }

    /// Writes [`RECORD_IDENTITY`](crate::metadata::RECORD_IDENTITY), an internal field: a unique UUID per record.
    /// Readers leave it out as they leave out [`INGESTION_TIMESTAMP`](Self::with_ingestion_timestamp). UUIDs that the
    /// writer generates ascend within the shard and differ from the UUIDs of every other shard. The caller may supply a
    /// column of `FixedSizeBinary(16)` instead, which is stored as it is.
    #[must_use]
    pub fn with_record_identity(mut self, values: InternalValues) -> Self {
        self.record_identity = Some(values);
        self
    }

    /// Returns where record identities come from, if they are written.
    pub fn record_identity(&self) -> Option<&InternalValues> {
        self.record_identity.as_ref()
    }

    /// Stores the last columns of each batch as internal fields, copied from another shard.
    pub(crate) fn with_internal_fields(mut self, fields: Vec<StoredField>) -> Self {
        self.internal_fields = fields;
        self
    }

    /// Returns the internal fields that the last columns of each batch hold.
    pub(super) fn internal_fields(&self) -> &[StoredField] {
        &self.internal_fields
    }

    /// Adds a property of the shard. Names that start with `arrow_shard.` and the name `ARROW:schema` are reserved.
    #[must_use]
    pub fn with_property(mut self, property: NameValuePair) -> Self {
        self.properties.push(property);
        self
    }

    /// Returns the properties of the shard.
    pub fn properties(&self) -> &[NameValuePair] {
        &self.properties
    }

    /// Adds a property of every stripe. Names that start with `arrow_shard.` and the name `ARROW:schema` are reserved.
    #[must_use]
    pub fn with_stripe_property(mut self, property: NameValuePair) -> Self {
        self.stripe_properties.push(property);
        self
    }

    /// Returns the properties added to every stripe.
    pub fn stripe_properties(&self) -> &[NameValuePair] {
        &self.stripe_properties
    }

    /// Returns the settings for a top-level column.
    pub(super) fn of_column(&self, name: &str) -> Settings {
        match self.columns.get(name) {
            Some(own) => self.with_own(own),
            None => self.of_all(),
        }
    }

    /// Returns the settings for columns without options of their own.
    pub(super) fn of_all(&self) -> Settings {
        self.with_own(&ColumnOptions::default())
    }

    /// Returns the number of records of a super-block.
    pub(super) fn packed_values(&self) -> usize {
        self.block_values.unwrap_or(PACKED_VALUES)
    }

    fn with_own(&self, own: &ColumnOptions) -> Settings {
        let capabilities = self.wire.capabilities();
        let presence = own.presence.unwrap_or(self.presence);
        let profile = own.profile.unwrap_or(self.profile);
        Settings {
            profile,
            embedded_presence: (presence == PresenceLayout::Embedded && own.blobs.is_none())
                || !capabilities.separate_presence,
            block_values: (own.block_values)
                .or(self.block_values)
                .unwrap_or(profile.block_values()),
            compressor_dictionaries: own.blobs.is_none()
                && own
                    .compressor_dictionary_enabled
                    .unwrap_or(self.compressor_dictionary_enabled),
            delimited: own.delimited,
            blobs: own.blobs,
            dictionaries: own.blobs.is_none()
                && own.dictionary_enabled.unwrap_or(self.dictionary_enabled),
            statistics: own.statistics_enabled.unwrap_or(self.statistics_enabled),
            bloom_filter: match own.bloom_filter_enabled.or(self.bloom_filter_enabled) {
                None => BloomFilterChoice::Automatic,
                Some(true) => BloomFilterChoice::Always,
                Some(false) => BloomFilterChoice::Never,
            },
            bloom_filter_fpp: own.bloom_filter_fpp.unwrap_or(self.bloom_filter_fpp),
            wide_integers: false,
            packed_group: own.packed_group.then(|| self.packed_values()),
            is_member: false,
            capabilities,
        }
    }

    /// Refuses invalid values and combinations that the wire or this build does not support.
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
        for (name, column) in &self.columns {
            if let Some(values) = column.block_values
                && ![128, 256, 512].contains(&values)
                && (values == 0 || !values.is_multiple_of(1024) || values > 65_536)
            {
                return Err(Error::invalid(format!(
                    "block_values of column `{name}` is {values}, expected a multiple of 1,024 up to \
                     65,536, or 128, 256 or 512"
                )));
            }
        }
        self.validate_compressors()?;
        check_threads(self.threads)?;
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
        let packed = self.columns.iter().find(|(_, own)| own.packed_group);
        if let Some((name, _)) = packed.filter(|_| !self.wire.capabilities().packed_groups) {
            return Err(Error::unsupported(format!(
                "column `{name}`: the {:?} wire has no packed groups; write the wire Spec",
                self.wire
            )));
        }
        if !self.packed_columns.is_empty() && !self.wire.capabilities().packed_groups {
            return Err(Error::unsupported(format!(
                "packed columns: the {:?} wire has no packed groups; write the wire Spec",
                self.wire
            )));
        }
        let delimited = self.columns.iter().find(|(_, own)| own.delimited);
        if let Some((name, _)) = delimited.filter(|_| !self.wire.capabilities().delimited_strings) {
            return Err(Error::unsupported(format!(
                "column `{name}`: the {:?} wire has no delimited values; write the wire Spec",
                self.wire
            )));
        }
        self.validate_blobs()?;
        self.validate_properties()
    }

    /// Refuses blobs that the wire does not support, of size 0, or combined with delimited or packed columns.
    fn validate_blobs(&self) -> Result<()> {
        for (name, own) in self.columns.iter().filter(|(_, own)| own.blobs.is_some()) {
            if !self.wire.capabilities().blobs {
                return Err(Error::unsupported(format!(
                    "column `{name}`: the {:?} wire has no blobs; write the wire Spec",
                    self.wire
                )));
            }
            let is_packed = self
                .packed_columns
                .iter()
                .flatten()
                .any(|packed| packed == name);
            let why = if own.blobs == Some(0) {
                "expected a size of at least 1 byte"
            } else if own.delimited {
                "delimited values have no blocks of their own"
            } else if is_packed {
                "it is packed with other columns"
            } else {
                continue;
            };
            return Err(Error::invalid(format!("blobs of column `{name}`: {why}")));
        }
        Ok(())
    }

    /// Refuses compressor dictionaries that the wire does not support or that this build cannot write.
    fn validate_compressors(&self) -> Result<()> {
        let mut own = self.columns.iter();
        let column = own.find(|(_, column)| column.compressor_dictionary_enabled == Some(true));
        let what = match column {
            _ if self.compressor_dictionary_enabled => "compressor dictionaries".to_owned(),
            Some((name, _)) => format!("compressor dictionaries of column `{name}`"),
            None => return Ok(()),
        };
        if !self.wire.capabilities().compressor_dictionaries {
            return Err(Error::unsupported(format!(
                "{what}: readers of {:?} shards know none",
                self.wire
            )));
        }
        if cfg!(feature = "zstd") {
            Ok(())
        } else {
            Err(Error::unsupported(format!(
                "{what} need a build with the feature `zstd`"
            )))
        }
    }

    /// Refuses properties with a reserved name, or that the metadata cannot encode.
    fn validate_properties(&self) -> Result<()> {
        let fields = self.columns.values().flat_map(|c| &c.properties);
        let all = self
            .properties
            .iter()
            .chain(&self.stripe_properties)
            .chain(fields);
        for property in all {
            check_property(property, self.wire)?;
        }
        Ok(())
    }
}
