//! Options of one column.

use super::choose::profile::Profile;
use crate::format::NameValuePair;

/// Where to store the presence (null or not) of a leaf column's values, if the wire leaves the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum PresenceLayout {
    /// In a separate buffer, one bit per position before encoding.
    #[default]
    Separate,
    /// In the blocks of the values.
    Embedded,
}

/// Options of one column. An option that is not set takes the value of the shard's
/// [`WriterOptions`](super::WriterOptions).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnOptions {
    pub(super) profile: Option<Profile>,
    pub(super) presence: Option<PresenceLayout>,
    pub(super) dictionary_enabled: Option<bool>,
    pub(super) compressor_dictionary_enabled: Option<bool>,
    pub(super) block_values: Option<usize>,
    pub(super) statistics_enabled: Option<bool>,
    pub(super) bloom_filter_enabled: Option<bool>,
    pub(super) bloom_filter_fpp: Option<f64>,
    pub(super) packed_group: bool,
    pub(super) delimited: bool,
    pub(super) blobs: Option<usize>,
    pub(super) properties: Vec<NameValuePair>,
}

impl ColumnOptions {
    /// Sets the trade-off between size and speed for this column. The default is the profile of the shard.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// Returns the profile of this column, if one was set.
    pub fn profile(&self) -> Option<Profile> {
        self.profile
    }

    /// Sets where to store the presence of this column's values. The default is the shard's setting.
    #[must_use]
    pub fn with_presence(mut self, presence: PresenceLayout) -> Self {
        self.presence = Some(presence);
        self
    }

    /// Returns the presence layout of this column, if one was set.
    pub fn presence(&self) -> Option<PresenceLayout> {
        self.presence
    }

    /// Sets whether this column may get a value dictionary where it pays off. The default is the shard's setting.
    #[must_use]
    pub fn with_dictionary_enabled(mut self, enabled: bool) -> Self {
        self.dictionary_enabled = Some(enabled);
        self
    }

    /// Returns whether this column may get a value dictionary, if that was set.
    pub fn dictionary_enabled(&self) -> Option<bool> {
        self.dictionary_enabled
    }

    /// Sets whether the blocks of texts and binary values of this column may share compressor dictionaries. The default
    /// is the shard's setting, see
    /// [`WriterOptions::with_compressor_dictionary_enabled`](super::WriterOptions::with_compressor_dictionary_enabled).
    #[must_use]
    pub fn with_compressor_dictionary_enabled(mut self, enabled: bool) -> Self {
        self.compressor_dictionary_enabled = Some(enabled);
        self
    }

    /// Returns whether the blocks of this column may share compressor dictionaries, if that was set.
    pub fn compressor_dictionary_enabled(&self) -> Option<bool> {
        self.compressor_dictionary_enabled
    }

    /// Sets the number of values per block of this column: a multiple of 1,024 up to 65,536, or 128, 256 or 512. The
    /// default is the shard's setting. Blocks below 1,024 values are for texts and binary values that are read one at a
    /// time; blocks of numbers have at least 1,024 values.
    #[must_use]
    pub fn with_block_values(mut self, values: usize) -> Self {
        self.block_values = Some(values);
        self
    }

    /// Returns the number of values per block of this column, if it was set.
    pub fn block_values(&self) -> Option<usize> {
        self.block_values
    }

    /// Sets whether to collect statistics of this column: ranges, counts, lengths, distinct counts and range indexes.
    /// The default is the shard's setting.
    #[must_use]
    pub fn with_statistics_enabled(mut self, enabled: bool) -> Self {
        self.statistics_enabled = Some(enabled);
        self
    }

    /// Returns whether statistics of this column are collected, if that was set.
    pub fn statistics_enabled(&self) -> Option<bool> {
        self.statistics_enabled
    }

    /// Sets whether every stripe gets a Bloom filter of this column. The default is the shard's setting, see
    /// [`WriterOptions::with_bloom_filter_enabled`](super::WriterOptions::with_bloom_filter_enabled).
    #[must_use]
    pub fn with_bloom_filter_enabled(mut self, enabled: bool) -> Self {
        self.bloom_filter_enabled = Some(enabled);
        self
    }

    /// Returns whether every stripe gets a Bloom filter of this column, if that was set.
    pub fn bloom_filter_enabled(&self) -> Option<bool> {
        self.bloom_filter_enabled
    }

    /// Sets the false-positive rate of this column's Bloom filters, between 0 and 1. The default is the shard's
    /// setting.
    #[must_use]
    pub fn with_bloom_filter_fpp(mut self, fpp: f64) -> Self {
        self.bloom_filter_fpp = Some(fpp);
        self
    }

    /// Returns the false-positive rate of this column's Bloom filters, if it was set.
    pub fn bloom_filter_fpp(&self) -> Option<f64> {
        self.bloom_filter_fpp
    }

    /// Sets whether the members of this column, a struct, are stored as a packed group: the blocks of all members that
    /// are not nested are adjacent, so that one request reads a row of all of them. A read of only a few members
    /// fetches the bytes of the others too. Off by default.
    ///
    /// Members have neither value dictionaries nor buffers of plain values. Their blocks have 1,024 values, or the
    /// number set by [`WriterOptions::with_block_values`](super::WriterOptions::with_block_values).
    /// [`Wire::Reference`](crate::metadata::Wire::Reference) has no packed groups.
    ///
    /// Spec: Chapter 6, "Packed Group Encoding".
    #[must_use]
    pub fn with_packed_group(mut self, enabled: bool) -> Self {
        self.packed_group = enabled;
        self
    }

    /// Returns whether the members of this column are stored as a packed group.
    pub fn packed_group(&self) -> bool {
        self.packed_group
    }

    /// Sets whether texts and binary values of this column are delimited: each value follows its length, without
    /// offsets, as in many streams of records. Off by default, because a reader finds a single value only by walking
    /// over the earlier values of its block. Delimited columns get no dictionaries, except that ordered Arrow
    /// dictionaries stay as they are. Presence has a separate buffer.
    /// [`Wire::Reference`](crate::metadata::Wire::Reference) has no delimited values.
    ///
    /// Spec: Chapter 6, "Primitive Variable-Sized Encoding", "Delimited Data Buffer".
    #[must_use]
    pub fn with_delimited_values(mut self, enabled: bool) -> Self {
        self.delimited = enabled;
        self
    }

    /// Returns whether texts and binary values of this column are delimited.
    pub fn delimited_values(&self) -> bool {
        self.delimited
    }

    /// Stores binary values or texts of this column that have at least `least_bytes` bytes as blobs; images and
    /// documents, for example. A blob has its own block, neither compressed nor in a dictionary, so that
    /// [`Shard::open_blob`](crate::Shard::open_blob) reads any part of it, and
    /// [`ScanBuilder::with_blobs_as`](crate::read::ScanBuilder::with_blobs_as) returns its location without reading it.
    /// Smaller values share blocks as usual. By default there are no blobs. A size of 64 KiB or more is right for most
    /// columns: below it, an extra request costs more than the bytes that it saves.
    ///
    /// Writers refuse blobs in columns of other types, in packed columns, and together with
    /// [`with_delimited_values`](Self::with_delimited_values). Presence has a separate buffer.
    /// [`Wire::Reference`](crate::metadata::Wire::Reference) has no blobs.
    #[must_use]
    pub fn with_blobs(mut self, least_bytes: usize) -> Self {
        self.blobs = Some(least_bytes);
        self
    }

    /// Returns the size in bytes from which values of this column are blobs, if that was set.
    pub fn blobs(&self) -> Option<usize> {
        self.blobs
    }

    /// Adds a property of this column, which every stripe repeats. Names that start with `arrow_shard.` and the name
    /// `ARROW:schema` are reserved.
    #[must_use]
    pub fn with_property(mut self, property: NameValuePair) -> Self {
        self.properties.push(property);
        self
    }

    /// Returns the properties of this column.
    pub fn properties(&self) -> &[NameValuePair] {
        &self.properties
    }
}
