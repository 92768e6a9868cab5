//! Spec: docs/format.md, "Two wires, one model".

use super::Wire;

/// What a writer may put into a shard of one [`Wire`].
///
/// The two wires differ in more than the bytes of their metadata: the reference implementation reads
/// a part of what Chapter 6 allows. The writer asks here, and never which wire it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// PRESENCE buffers beside the DATA of leaf types other than Boolean.
    pub separate_presence: bool,
    /// OFFSETS buffers beside the DATA of strings and binaries.
    pub separate_offsets: bool,
    /// PRESENCE buffers beside dictionary codes.
    pub presence_beside_dictionary: bool,
    /// Buffers of plain values, without blocks.
    pub raw_buffers: bool,
    /// DATA of strings that carry their lengths, without offsets.
    pub delimited_strings: bool,
    /// Value dictionaries of numbers and DateTime, not just of strings, binaries and Guid.
    pub numeric_dictionaries: bool,
    /// Value dictionary headers as Chapter 6 has them; otherwise the 128 bytes of the reference.
    pub spec_dictionary_header: bool,
    /// Dictionaries of the general-purpose compressors.
    pub opaque_dictionaries: bool,
    /// Block encodings with codes from 0x8000.
    pub extension_encodings: bool,
    /// More than one `DataEncoding` per field.
    pub several_encodings: bool,
    /// Structs whose members are interleaved in one buffer.
    pub packed_groups: bool,
    /// Column chunks of Parquet files.
    pub external_parquet: bool,
    /// Unit columns.
    pub units: bool,
    /// Union columns.
    pub unions: bool,
    /// Fixed-size list columns.
    pub fixed_size_lists: bool,
    /// Columns, or members of a struct, with the same name.
    pub duplicate_names: bool,
    /// Columns and members of structs without a name.
    pub empty_names: bool,
    /// Properties of extended types.
    pub extended_type_properties: bool,
    /// Fields that are absent from a stripe, meaning that all their values are null.
    pub absent_fields: bool,
    /// Constants of structs, lists and maps; otherwise PRESENCE says that all are null.
    pub nested_constants: bool,
    /// `dictionary_size` without a value dictionary.
    pub dictionary_size_alone: bool,
    /// Range statistics of strings and binaries.
    pub string_range_stats: bool,
    /// Membership filters of numbers, not just of strings, binaries and Guid.
    pub numeric_filters: bool,
    /// Cardinality of numbers, not just of strings, binaries and Guid.
    pub numeric_cardinality: bool,
    /// Membership filters have a power of two blocks, as Chapter 6 sizes them.
    pub power_of_two_filters: bool,
    /// Cardinality counts null as a value, as Chapter 6 has it.
    pub cardinality_counts_null: bool,
    /// `raw_data_size` as Chapter 6 has it; otherwise bitmaps and offsets count.
    pub spec_raw_data_size: bool,
    /// Decimals are a kind of `AnyValue`; otherwise annotated bytes.
    pub decimal_values: bool,
    /// Deleted records.
    pub deleted_records: bool,
    /// Indexes of the shard, of stripes and of fields.
    pub indexes: bool,
    /// Seed of the hash of membership filters.
    pub filter_hash_seed: u64,
    /// Seed of the hash of cardinality sketches.
    pub sketch_hash_seed: u64,
}

impl Wire {
    /// What may be written on this wire.
    pub fn capabilities(self) -> Capabilities {
        match self {
            Self::Spec => SPEC,
            Self::Reference => REFERENCE,
        }
    }
}

const SPEC: Capabilities = Capabilities {
    separate_presence: true,
    separate_offsets: true,
    presence_beside_dictionary: true,
    raw_buffers: true,
    delimited_strings: true,
    numeric_dictionaries: true,
    spec_dictionary_header: true,
    opaque_dictionaries: true,
    extension_encodings: true,
    several_encodings: true,
    packed_groups: true,
    external_parquet: true,
    units: true,
    unions: true,
    fixed_size_lists: true,
    duplicate_names: true,
    empty_names: true,
    extended_type_properties: true,
    absent_fields: true,
    nested_constants: true,
    dictionary_size_alone: true,
    string_range_stats: true,
    numeric_filters: true,
    numeric_cardinality: true,
    power_of_two_filters: true,
    cardinality_counts_null: true,
    spec_raw_data_size: true,
    decimal_values: false,
    deleted_records: true,
    indexes: true,
    filter_hash_seed: 0,
    sketch_hash_seed: 0,
};

const REFERENCE: Capabilities = Capabilities {
    separate_presence: false,
    separate_offsets: false,
    presence_beside_dictionary: false,
    raw_buffers: false,
    delimited_strings: false,
    numeric_dictionaries: false,
    spec_dictionary_header: false,
    opaque_dictionaries: false,
    extension_encodings: false,
    several_encodings: false,
    packed_groups: false,
    external_parquet: false,
    // Its reader has no Arrow type for them.
    units: false,
    unions: false,
    fixed_size_lists: false,
    duplicate_names: false,
    empty_names: false,
    extended_type_properties: false,
    absent_fields: false,
    nested_constants: false,
    dictionary_size_alone: false,
    string_range_stats: false,
    numeric_filters: false,
    numeric_cardinality: false,
    power_of_two_filters: false,
    cardinality_counts_null: false,
    spec_raw_data_size: false,
    decimal_values: true,
    deleted_records: false,
    indexes: false,
    // "MudaiBFF" and "AmudHLL1" in ASCII, which its own filters and sketches carry too.
    filter_hash_seed: 0x4D75_6461_6942_4646,
    sketch_hash_seed: 0x416D_7564_484C_4C31,
};
