//! Options of one column.

use super::profile::Profile;
use crate::format::NameValuePair;

/// Where to store which values of a leaf column are null, if the wire leaves the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum PresenceLayout {
    /// In a buffer of their own, one bit per position before encoding.
    #[default]
    Separate,
    /// In the blocks of the values.
    Embedded,
}

/// Options of one column, where they differ from those of the shard.
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
    /// How hard to compress this column. The default is the profile of the shard.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// The profile of this column, if it has its own.
    pub fn profile(&self) -> Option<Profile> {
        self.profile
    }

    /// Where to store which values of this column are null. The default is the shard's.
    #[must_use]
    pub fn with_presence(mut self, presence: PresenceLayout) -> Self {
        self.presence = Some(presence);
        self
    }

    /// The presence layout of this column, if it has its own.
    pub fn presence(&self) -> Option<PresenceLayout> {
        self.presence
    }

    /// Whether this column may get a value dictionary where that pays. The default is the shard's.
    #[must_use]
    pub fn with_dictionary_enabled(mut self, enabled: bool) -> Self {
        self.dictionary_enabled = Some(enabled);
        self
    }

    /// Whether this column may get a value dictionary, if it has its own setting.
    pub fn dictionary_enabled(&self) -> Option<bool> {
        self.dictionary_enabled
    }

    /// Whether the blocks of texts and binary values of this column may share compressor dictionaries.
    /// The default is the shard's, see [`WriterOptions::with_compressor_dictionary_enabled`](super::WriterOptions::with_compressor_dictionary_enabled).
    #[must_use]
    pub fn with_compressor_dictionary_enabled(mut self, enabled: bool) -> Self {
        self.compressor_dictionary_enabled = Some(enabled);
        self
    }

    /// Whether the blocks of this column may share compressor dictionaries, if it has its own setting.
    pub fn compressor_dictionary_enabled(&self) -> Option<bool> {
        self.compressor_dictionary_enabled
    }

    /// Values of a block of this column: a multiple of 1,024 up to 65,536, or 128, 256 or 512. The default
    /// is the shard's. Blocks so small are for texts and binary values, of which single ones are read;
    /// those of numbers have 1,024 values at least.
    #[must_use]
    pub fn with_block_values(mut self, values: usize) -> Self {
        self.block_values = Some(values);
        self
    }

    /// Values of a block of this column, if it has its own setting.
    pub fn block_values(&self) -> Option<usize> {
        self.block_values
    }

    /// Whether to collect statistics of this column: ranges, counts, lengths, distinct counts and range
    /// indexes. The default is the shard's.
    #[must_use]
    pub fn with_statistics_enabled(mut self, enabled: bool) -> Self {
        self.statistics_enabled = Some(enabled);
        self
    }

    /// Whether statistics of this column are collected, if it has its own setting.
    pub fn statistics_enabled(&self) -> Option<bool> {
        self.statistics_enabled
    }

    /// Whether every stripe gets a Bloom filter of this column. The default is the shard's, see
    /// [`WriterOptions::with_bloom_filter_enabled`](super::WriterOptions::with_bloom_filter_enabled).
    #[must_use]
    pub fn with_bloom_filter_enabled(mut self, enabled: bool) -> Self {
        self.bloom_filter_enabled = Some(enabled);
        self
    }

    /// Whether every stripe gets a Bloom filter of this column, if it has its own setting.
    pub fn bloom_filter_enabled(&self) -> Option<bool> {
        self.bloom_filter_enabled
    }

    /// The rate of false positives of this column's Bloom filters, between 0 and 1. The default is the
    /// shard's.
    #[must_use]
    pub fn with_bloom_filter_fpp(mut self, fpp: f64) -> Self {
        self.bloom_filter_fpp = Some(fpp);
        self
    }

    /// The rate of false positives of this column's Bloom filters, if it has its own setting.
    pub fn bloom_filter_fpp(&self) -> Option<f64> {
        self.bloom_filter_fpp
    }

    /// Whether the members of this column, a struct, are stored as a packed group: the blocks of all its
    /// members that are not nested lie side by side, so that one request reads a row of all of them.
    /// Reading few of the members fetches the bytes of the others too. Off by default.
    ///
    /// Members have neither value dictionaries nor buffers of plain values, and blocks of 1,024 values
    /// unless [`WriterOptions::with_block_values`](super::WriterOptions::with_block_values) says otherwise. [`Wire::Reference`](super::Wire::Reference) has no packed groups.
    ///
    /// Spec: Chapter 6, "Packed Group Encoding".
    #[must_use]
    pub fn with_packed_group(mut self, enabled: bool) -> Self {
        self.packed_group = enabled;
        self
    }

    /// Whether the members of this column are stored as a packed group.
    pub fn packed_group(&self) -> bool {
        self.packed_group
    }

    /// Whether texts and binary values of this column are delimited: each behind its length, without offsets,
    /// as streams of records often have them. Off by default: single values are found by walking over those
    /// before them in their block, and dictionaries do not apply, but for ordered ones of the Arrow type,
    /// which stay as they are. Presence has a buffer of its own. [`Wire::Reference`](super::Wire::Reference)
    /// has no delimited values.
    ///
    /// Spec: Chapter 6, "Primitive Variable-Sized Encoding", "Delimited Data Buffer".
    #[must_use]
    pub fn with_delimited_values(mut self, enabled: bool) -> Self {
        self.delimited = enabled;
        self
    }

    /// Whether texts and binary values of this column are delimited.
    pub fn delimited_values(&self) -> bool {
        self.delimited
    }

    /// Makes blobs of the binary values or texts of this column that have at least `least_bytes` bytes: images
    /// and documents, say. A blob has a block of its own, neither compressed nor in a dictionary, so that
    /// [`Shard::open_blob`](crate::Shard::open_blob) reads any part of it, and
    /// [`ScanBuilder::with_blobs_as`](crate::read::ScanBuilder::with_blobs_as) tells where it is without
    /// reading it. Smaller values share blocks as always. By default there are no blobs. A size of 64 KiB or
    /// more is right for most columns: below it, a request costs more than the bytes that it saves.
    ///
    /// Writers refuse blobs of other types, of packed columns and beside
    /// [`with_delimited_values`](Self::with_delimited_values). Presence has a buffer of its own.
    /// [`Wire::Reference`](super::Wire::Reference) has no blobs.
    #[must_use]
    pub fn with_blobs(mut self, least_bytes: usize) -> Self {
        self.blobs = Some(least_bytes);
        self
    }

    /// Bytes from which on a value of this column is a blob, if there are blobs.
    pub fn blobs(&self) -> Option<usize> {
        self.blobs
    }

    /// Adds a property of this column, which every stripe repeats. Names that start with `arrow_shard.`
    /// are reserved.
    #[must_use]
    pub fn with_property(mut self, property: NameValuePair) -> Self {
        self.properties.push(property);
        self
    }

    /// The properties of this column.
    pub fn properties(&self) -> &[NameValuePair] {
        &self.properties
    }
}
