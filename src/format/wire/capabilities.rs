//! Spec: docs/format.md, "Two wires, one model".

use super::Wire;

/// Features that a writer may use in a shard of one [`Wire`].
///
/// The two wires differ in more than the bytes of their metadata: the reference implementation reads only a
/// part of Chapter 6. The writer checks these flags, and never the wire itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// PRESENCE buffers for leaf types other than Boolean, separate from DATA.
    pub separate_presence: bool,
    /// PRESENCE buffers for dictionary codes. Otherwise, null is an entry of the dictionary.
    pub presence_beside_dictionary: bool,
    /// Buffers of plain values, without blocks.
    pub raw_buffers: bool,
    /// Strings and binary values stored after their lengths.
    pub delimited_strings: bool,
    /// Packed groups.
    pub packed_groups: bool,
    /// Blobs: values that are alone in their blocks, which a property of the stripe field lists.
    pub blobs: bool,
    /// Checksums of raw buffers and block maps, in a property of the stripe field.
    pub checksum_properties: bool,
    /// Value dictionaries of numbers, decimals and DateTime, in addition to strings, binaries and Guid.
    pub numeric_dictionaries: bool,
    /// Value dictionary headers of Chapter 6. Otherwise, the 128 bytes of the reference.
    pub spec_dictionary_header: bool,
    /// Any nesting of block encodings. Otherwise, only the nestings and alignments that the reference
    /// writes.
    pub every_nesting: bool,
    /// The block encoding BlockDictionary of byte strings of a fixed size.
    pub fixed_size_block_dictionaries: bool,
    /// The block encoding SingleValue of byte strings of a fixed size.
    pub fixed_size_single_values: bool,
    /// Unit columns.
    pub units: bool,
    /// Union columns.
    pub unions: bool,
    /// Fixed-size list columns.
    pub fixed_size_lists: bool,
    /// Fixed-size binaries of no bytes.
    pub zero_fixed_sizes: bool,
    /// Structs without members.
    pub empty_structs: bool,
    /// Columns, or members of a struct, with the same name.
    pub duplicate_names: bool,
    /// Columns and members of structs without a name.
    pub empty_names: bool,
    /// Properties of extended types.
    pub extended_type_properties: bool,
    /// Constants of structs, lists and maps. Otherwise, PRESENCE marks all positions as null.
    pub nested_constants: bool,
    /// Whether a constant may have buffers, which readers need not read.
    pub stored_constants: bool,
    /// Statistics depend on the label of an extended type. Otherwise, only on its storage.
    pub label_statistics: bool,
    /// `raw_data_size` as in Chapter 6. Otherwise, it includes bitmaps and offsets.
    pub spec_raw_data_size: bool,
    /// Statistics as in Chapter 6: infinities count by sign, strings and binary values have ranges, every
    /// leaf has a number of distinct values that includes null, and filters may have any size that is a
    /// power of two. Otherwise, statistics as in the reference: see docs/format.md.
    pub spec_statistics: bool,
    /// Seed of the hashes in Bloom filters.
    pub filter_seed: u64,
    /// Seed of the hashes in cardinality sketches.
    pub sketch_seed: u64,
    /// Dictionaries that the compressed blocks of a field share.
    pub compressor_dictionaries: bool,
    /// Decimals are a kind of `AnyValue`. Otherwise, they are annotated bytes.
    pub decimal_values: bool,
}

impl Wire {
    /// Returns the features that may be written on this wire.
    pub(crate) fn capabilities(self) -> Capabilities {
        match self {
            Self::Spec => SPEC,
            Self::Reference => REFERENCE,
        }
    }
}

const SPEC: Capabilities = Capabilities {
    separate_presence: true,
    presence_beside_dictionary: true,
    raw_buffers: true,
    delimited_strings: true,
    packed_groups: true,
    blobs: true,
    checksum_properties: true,
    numeric_dictionaries: true,
    spec_dictionary_header: true,
    every_nesting: true,
    fixed_size_block_dictionaries: true,
    fixed_size_single_values: true,
    units: true,
    unions: true,
    fixed_size_lists: true,
    zero_fixed_sizes: true,
    empty_structs: true,
    duplicate_names: true,
    empty_names: true,
    extended_type_properties: true,
    nested_constants: true,
    stored_constants: true,
    label_statistics: true,
    spec_raw_data_size: true,
    spec_statistics: true,
    filter_seed: 0,
    sketch_seed: 0,
    compressor_dictionaries: true,
    decimal_values: false,
};

const REFERENCE: Capabilities = Capabilities {
    separate_presence: false,
    presence_beside_dictionary: false,
    raw_buffers: false,
    delimited_strings: false,
    // The reference's reader finds no buffers.
    packed_groups: false,
    blobs: false,
    checksum_properties: false,
    numeric_dictionaries: false,
    spec_dictionary_header: false,
    every_nesting: false,
    // The reference's reader looks for the entries in the wrong place.
    fixed_size_block_dictionaries: false,
    // The reference's decoder adds offsets to these values, and its reader panics when it concatenates them with
    // values without offsets.
    fixed_size_single_values: false,
    // The reference's reader has no Arrow type for these.
    units: false,
    unions: false,
    fixed_size_lists: false,
    // The reference's reader treats size 0 as any size.
    zero_fixed_sizes: false,
    // The reference's Arrow reader fails on these.
    empty_structs: false,
    duplicate_names: false,
    empty_names: false,
    extended_type_properties: false,
    nested_constants: false,
    stored_constants: false,
    label_statistics: false,
    spec_raw_data_size: false,
    spec_statistics: false,
    filter_seed: 0x4D75_6461_6942_4646,
    sketch_seed: 0x416D_7564_484C_4C31,
    compressor_dictionaries: false,
    decimal_values: true,
};
