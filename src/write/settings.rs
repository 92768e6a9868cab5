//! How the buffers of a column are written.

use super::profile::Profile;
use crate::format::Capabilities;

/// Positions after which blocks end, and encodings are chosen anew. Scans that are split by
/// record range, and parallel tasks, meet at these borders.
pub(super) const WINDOW: usize = 65_536;

/// How the buffers of a column are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) profile: Profile,
    /// Whether presence goes into the blocks of the values.
    pub(super) embedded_presence: bool,
    pub(super) block_values: usize,
    /// Whether blocks of strings and binaries may share what makes them smaller.
    pub(super) compressor_dictionaries: bool,
    /// Whether strings and binaries are written behind their lengths.
    pub(super) delimited: bool,
    /// Bytes from which on a value is a blob, which has a block of its own, if there are blobs.
    pub(super) blobs: Option<usize>,
    /// Whether values that come without a dictionary get one where that pays.
    pub(super) dictionaries: bool,
    /// Whether statistics are collected.
    pub(super) statistics: bool,
    pub(super) filter: FilterChoice,
    /// Probability of a false positive of filters.
    pub(super) filter_fpp: f64,
    /// Whether values of 16 bytes are integers in two's complement.
    pub(super) wide_integers: bool,
    /// Records of a super-block, if the members of a struct become a packed group.
    pub(super) packed_group: Option<usize>,
    /// Whether this is a member of a packed group. Its blocks end where those of the others do.
    pub(super) is_member: bool,
    pub(super) capabilities: Capabilities,
}

/// Whether a column gets membership filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilterChoice {
    Never,
    /// Where it should pay.
    Automatic,
    Always,
}

/// Least numbers of a block: bit-packing works on so many at a time.
pub(super) const LEAST_NUMBERS: usize = 1024;

impl Settings {
    /// Numbers of a block.
    pub(super) fn block_numbers(&self) -> usize {
        self.block_values.max(LEAST_NUMBERS)
    }

    /// Those of a member of the packed group.
    pub(super) fn of_member(self, block_values: usize) -> Self {
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

    /// Whether buffers are raw.
    pub(super) fn is_raw(&self) -> bool {
        self.profile == Profile::Plain
            && self.capabilities.raw_buffers
            && !self.is_member
            && self.blobs.is_none()
    }
}
