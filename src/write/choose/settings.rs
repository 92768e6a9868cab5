//! Settings for writing the buffers of a column, resolved from the options.

use super::profile::Profile;
use crate::format::Capabilities;

/// Settings for writing the buffers of a column.
#[derive(Debug, Clone, Copy)]
pub(in crate::write) struct Settings {
    pub(in crate::write) profile: Profile,
    /// Whether presence goes into the blocks of the values.
    pub(in crate::write) embedded_presence: bool,
    pub(in crate::write) block_values: usize,
    /// Whether blocks of strings and binaries may share compressor dictionaries.
    pub(in crate::write) compressor_dictionaries: bool,
    /// Whether each string or binary is stored after its length, without offsets.
    pub(in crate::write) delimited: bool,
    /// Size in bytes from which a value is a blob with its own block; `None` for no blobs.
    pub(in crate::write) blobs: Option<usize>,
    /// Whether values that arrive without a dictionary may get one.
    pub(in crate::write) dictionaries: bool,
    /// Whether statistics are collected.
    pub(in crate::write) statistics: bool,
    pub(in crate::write) bloom_filter: BloomFilterChoice,
    /// False-positive rate of Bloom filters.
    pub(in crate::write) bloom_filter_fpp: f64,
    /// Whether values of 16 bytes are integers in two's complement.
    pub(in crate::write) wide_integers: bool,
    /// Records of a super-block, if the members of a struct become a packed group.
    pub(in crate::write) packed_group: Option<usize>,
    /// Whether this is a member of a packed group. Its blocks end at the same positions as the other members' blocks.
    pub(in crate::write) is_member: bool,
    pub(in crate::write) capabilities: Capabilities,
}

/// Whether a column gets Bloom filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::write) enum BloomFilterChoice {
    Never,
    /// If the filter is expected to be useful.
    Automatic,
    Always,
}

/// Minimum number of numbers per block: bit-packing works on groups of this size.
pub(in crate::write) const MIN_BLOCK_NUMBERS: usize = 1024;

impl Settings {
    /// Returns the count of numbers per block.
    pub(in crate::write) fn block_numbers(&self) -> usize {
        self.block_values.max(MIN_BLOCK_NUMBERS)
    }

    /// Returns these settings adapted to a member of the packed group.
    pub(in crate::write) fn of_member(self, block_values: usize) -> Self {
        Self {
            packed_group: None,
            is_member: true,
            embedded_presence: true,
            dictionaries: false,
            compressor_dictionaries: false,
            delimited: false,
            blobs: None,
            block_values,
            ..self
        }
    }

    /// Returns whether buffers are raw.
    pub(in crate::write) fn is_raw(&self) -> bool {
        self.profile == Profile::Plain
            && self.capabilities.raw_buffers
            && !self.is_member
            && self.blobs.is_none()
    }
}

/// Returns the settings of a writer for tests.
#[cfg(test)]
pub(in crate::write) fn test_settings(profile: Profile) -> Settings {
    Settings {
        profile,
        embedded_presence: false,
        packed_group: None,
        is_member: false,
        block_values: 8192,
        compressor_dictionaries: false,
        delimited: false,
        blobs: None,
        dictionaries: true,
        statistics: true,
        bloom_filter: BloomFilterChoice::Automatic,
        bloom_filter_fpp: 0.01,
        wide_integers: false,
        capabilities: crate::format::Wire::Spec.capabilities(),
    }
}
