//! Spec: Chapter 6, "(Shard) Field Descriptor" and "Stripe Field Descriptor"; docs/format.md, "Two
//! wires, one model".

use super::super::{
    BufferKind, CardinalityInfo, DataEncoding, EncodedBuffer, FieldDescriptor, IndexCollection,
    LengthStats, NativeDataEncoding, ParquetColumnChunkRef, ParquetFileColumnRef, RangeStats,
    SignStats, StripeFieldDescriptor, TypeStats,
};
use super::conversion::{
    Cx, FromWire, ToWire, from_list, from_option, part_of, to_list, to_option,
};
use super::{Wire, bloom_filter, reference, sketch, spec};
use crate::error::{Error, Result, Within};

macro_rules! field_conversions {
    ($p:ident, $wire:expr, list stats: $ListStats:ident) => {
        impl ToWire<$p::RangeStats> for RangeStats {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::RangeStats> {
                Ok($p::RangeStats {
                    min_value: to_option(&self.min_value, cx, "min_value")?,
                    min_inclusive: self.min_inclusive,
                    max_value: to_option(&self.max_value, cx, "max_value")?,
                    max_inclusive: self.max_inclusive,
                })
            }
        }

        impl FromWire<$p::RangeStats> for RangeStats {
            fn from_wire(m: $p::RangeStats, cx: Cx<'_>) -> Result<Self> {
                Ok(Self {
                    min_value: from_option(m.min_value, cx, "min_value")?,
                    min_inclusive: m.min_inclusive,
                    max_value: from_option(m.max_value, cx, "max_value")?,
                    max_inclusive: m.max_inclusive,
                })
            }
        }

        impl ToWire<$p::CardinalityInfo> for CardinalityInfo {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::CardinalityInfo> {
                let sketch = self.sketch.as_ref();
                Ok($p::CardinalityInfo {
                    count: self.count,
                    is_estimate: self.is_estimate,
                    hll_sketch: sketch.map(|s| sketch::encode(s, $wire, cx)).transpose()?,
                })
            }
        }

        impl FromWire<$p::CardinalityInfo> for CardinalityInfo {
            fn from_wire(m: $p::CardinalityInfo, cx: Cx<'_>) -> Result<Self> {
                let sketch = m.hll_sketch.as_deref();
                Ok(Self {
                    count: m.count,
                    is_estimate: m.is_estimate,
                    sketch: sketch.map(|s| sketch::decode(s, $wire, cx)).transpose()?,
                })
            }
        }

        impl ToWire<$p::field_descriptor::TypeSpecific> for TypeStats {
            fn to_wire(&self, _: Cx<'_>) -> Result<$p::field_descriptor::TypeSpecific> {
                use $p::field_descriptor::TypeSpecific;
                Ok(match self {
                    Self::String {
                        lengths,
                        ascii_count,
                    } => TypeSpecific::StringStats($p::StringStats {
                        min_size: lengths.min,
                        min_non_empty_size: lengths.min_non_empty,
                        max_size: lengths.max,
                        ascii_count: *ascii_count,
                    }),
                    Self::List(lengths) => TypeSpecific::$ListStats($p::ListStats {
                        min_length: lengths.min,
                        min_non_empty_length: lengths.min_non_empty,
                        max_length: lengths.max,
                    }),
                    Self::Boolean {
                        true_count,
                        false_count,
                    } => TypeSpecific::BooleanStats($p::BooleanStats {
                        true_count: *true_count,
                        false_count: *false_count,
                    }),
                    Self::Decimal(signs) => TypeSpecific::DecimalStats($p::DecimalStats {
                        zero_count: signs.zero_count,
                        positive_count: signs.positive_count,
                        negative_count: signs.negative_count,
                        nan_count: signs.nan_count,
                    }),
                    Self::Floating {
                        signs,
                        positive_infinity_count,
                        negative_infinity_count,
                    } => TypeSpecific::FloatingStats($p::FloatingStats {
                        zero_count: signs.zero_count,
                        positive_count: signs.positive_count,
                        negative_count: signs.negative_count,
                        nan_count: signs.nan_count,
                        positive_infinity_count: *positive_infinity_count,
                        negative_infinity_count: *negative_infinity_count,
                    }),
                    Self::Binary(lengths) => TypeSpecific::BinaryStats($p::BinaryStats {
                        min_length: lengths.min,
                        min_non_empty_length: lengths.min_non_empty,
                        max_length: lengths.max,
                    }),
                })
            }
        }

        impl FromWire<$p::field_descriptor::TypeSpecific> for TypeStats {
            fn from_wire(m: $p::field_descriptor::TypeSpecific, _: Cx<'_>) -> Result<Self> {
                use $p::field_descriptor::TypeSpecific;
                Ok(match m {
                    TypeSpecific::StringStats(m) => Self::String {
                        lengths: LengthStats {
                            min: m.min_size,
                            min_non_empty: m.min_non_empty_size,
                            max: m.max_size,
                        },
                        ascii_count: m.ascii_count,
                    },
                    TypeSpecific::$ListStats(m) => Self::List(LengthStats {
                        min: m.min_length,
                        min_non_empty: m.min_non_empty_length,
                        max: m.max_length,
                    }),
                    TypeSpecific::BooleanStats(m) => Self::Boolean {
                        true_count: m.true_count,
                        false_count: m.false_count,
                    },
                    TypeSpecific::DecimalStats(m) => Self::Decimal(SignStats {
                        zero_count: m.zero_count,
                        positive_count: m.positive_count,
                        negative_count: m.negative_count,
                        nan_count: m.nan_count,
                    }),
                    TypeSpecific::FloatingStats(m) => Self::Floating {
                        signs: SignStats {
                            zero_count: m.zero_count,
                            positive_count: m.positive_count,
                            negative_count: m.negative_count,
                            nan_count: m.nan_count,
                        },
                        positive_infinity_count: m.positive_infinity_count,
                        negative_infinity_count: m.negative_infinity_count,
                    },
                    TypeSpecific::BinaryStats(m) => Self::Binary(LengthStats {
                        min: m.min_length,
                        min_non_empty: m.min_non_empty_length,
                        max: m.max_length,
                    }),
                })
            }
        }

        impl ToWire<$p::FieldDescriptor> for FieldDescriptor {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::FieldDescriptor> {
                part_of("null_count", self.null_count, self.position_count)?;
                let filter = self.bloom_filter.as_ref();
                let indexes = $p::IndexCollection {
                    index_descriptors: to_list(&self.indexes, cx, "index")?,
                };
                Ok($p::FieldDescriptor {
                    position_count: self.position_count,
                    null_count: self.null_count,
                    constant_value: to_option(&self.constant_value, cx, "constant_value")?,
                    dictionary_size: self.dictionary_size,
                    range_stats: to_option(&self.range_stats, cx, "range_stats")?,
                    cardinality: to_option(&self.cardinality, cx, "cardinality")?,
                    membership_filters: filter
                        .map(|f| {
                            let sbbf = Some(bloom_filter::encode(f, $wire)?.into());
                            Ok($p::MembershipFilters { sbbf })
                        })
                        .transpose()
                        .within(|| "membership_filters".to_owned())?,
                    indexes: (!self.indexes.is_empty()).then_some(indexes),
                    standard_properties: to_list(
                        &self.standard_properties,
                        cx,
                        "standard property",
                    )?,
                    custom_properties: to_list(&self.custom_properties, cx, "custom property")?,
                    raw_data_size: self.raw_data_size,
                    type_specific: to_option(&self.type_specific, cx, "type_specific")?,
                })
            }
        }

        impl FromWire<$p::FieldDescriptor> for FieldDescriptor {
            fn from_wire(m: $p::FieldDescriptor, cx: Cx<'_>) -> Result<Self> {
                part_of("null_count", m.null_count, m.position_count)?;
                let sbbf = m.membership_filters.and_then(|f| f.sbbf);
                let indexes: Option<IndexCollection> = from_option(m.indexes, cx, "indexes")?;
                Ok(Self {
                    position_count: m.position_count,
                    null_count: m.null_count,
                    constant_value: from_option(m.constant_value, cx, "constant_value")?,
                    dictionary_size: m.dictionary_size,
                    range_stats: from_option(m.range_stats, cx, "range_stats")?,
                    cardinality: from_option(m.cardinality, cx, "cardinality")?,
                    bloom_filter: sbbf
                        .map(|f| bloom_filter::decode(&f, $wire))
                        .transpose()
                        .within(|| "membership_filters".to_owned())?,
                    indexes: indexes.map(|i| i.0).unwrap_or_default(),
                    standard_properties: from_list(m.standard_properties, cx, "standard property")?,
                    custom_properties: from_list(m.custom_properties, cx, "custom property")?,
                    raw_data_size: m.raw_data_size,
                    type_specific: from_option(m.type_specific, cx, "type_specific")?,
                })
            }
        }

        impl ToWire<$p::StripeFieldDescriptor> for StripeFieldDescriptor {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::StripeFieldDescriptor> {
                Ok($p::StripeFieldDescriptor {
                    field: Some(self.field.to_wire(cx)?),
                    encodings: to_list(&self.encodings, cx, "encoding")?,
                })
            }
        }

        impl FromWire<$p::StripeFieldDescriptor> for StripeFieldDescriptor {
            fn from_wire(m: $p::StripeFieldDescriptor, cx: Cx<'_>) -> Result<Self> {
                let field = from_option(m.field, cx, "field")?;
                Ok(Self {
                    field: field.ok_or_else(|| Error::corrupt("there is no field descriptor"))?,
                    encodings: from_list(m.encodings, cx, "encoding")?,
                })
            }
        }

        impl ToWire<$p::DataEncoding> for DataEncoding {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::DataEncoding> {
                use $p::data_encoding::Kind;
                let kind = match self {
                    Self::Native(native) => Some(Kind::Native($p::NativeDataEncoding {
                        buffers: to_list(&native.buffers, cx, "buffer")?,
                        packed_group: native.packed_group,
                    })),
                    Self::Parquet(files) => Some(Kind::Parquet($p::ExternalParquetDataEncoding {
                        file_column_refs: to_list(files, cx, "Parquet file")?,
                    })),
                    Self::Unknown => None,
                };
                Ok($p::DataEncoding { kind })
            }
        }

        impl FromWire<$p::DataEncoding> for DataEncoding {
            fn from_wire(m: $p::DataEncoding, cx: Cx<'_>) -> Result<Self> {
                use $p::data_encoding::Kind;
                Ok(match m.kind {
                    Some(Kind::Native(m)) => Self::Native(NativeDataEncoding {
                        buffers: from_list(m.buffers, cx, "buffer")?,
                        packed_group: m.packed_group,
                    }),
                    Some(Kind::Parquet(m)) => {
                        Self::Parquet(from_list(m.file_column_refs, cx, "Parquet file")?)
                    }
                    None => Self::Unknown,
                })
            }
        }

        impl ToWire<$p::EncodedBuffer> for EncodedBuffer {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::EncodedBuffer> {
                Ok($p::EncodedBuffer {
                    kind: self.kind.to_i32(),
                    buffer: to_option(&self.buffer, cx, "buffer")?,
                    block_map: to_option(&self.block_map, cx, "block_map")?,
                    block_count: self.block_count,
                    block_checksums: self.block_checksums,
                    embedded_presence: self.embedded_presence,
                    embedded_offsets: self.embedded_offsets,
                    buffer_id: self.buffer_id,
                    packed_group_index: self.packed_group_index,
                })
            }
        }

        impl FromWire<$p::EncodedBuffer> for EncodedBuffer {
            fn from_wire(m: $p::EncodedBuffer, cx: Cx<'_>) -> Result<Self> {
                Ok(Self {
                    kind: BufferKind::from_i32(m.kind),
                    buffer: from_option(m.buffer, cx, "buffer")?,
                    block_map: from_option(m.block_map, cx, "block_map")?,
                    block_count: m.block_count,
                    block_checksums: m.block_checksums,
                    embedded_presence: m.embedded_presence,
                    embedded_offsets: m.embedded_offsets,
                    buffer_id: m.buffer_id,
                    packed_group_index: m.packed_group_index,
                })
            }
        }

        impl ToWire<$p::ParquetFileColumnRef> for ParquetFileColumnRef {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::ParquetFileColumnRef> {
                Ok($p::ParquetFileColumnRef {
                    file_ref: to_option(&self.file_ref, cx, "file_ref")?,
                    column_chunks: to_list(&self.column_chunks, cx, "column chunk")?,
                })
            }
        }

        impl FromWire<$p::ParquetFileColumnRef> for ParquetFileColumnRef {
            fn from_wire(m: $p::ParquetFileColumnRef, cx: Cx<'_>) -> Result<Self> {
                Ok(Self {
                    file_ref: from_option(m.file_ref, cx, "file_ref")?,
                    column_chunks: from_list(m.column_chunks, cx, "column chunk")?,
                })
            }
        }

        impl ToWire<$p::ParquetColumnChunkRef> for ParquetColumnChunkRef {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::ParquetColumnChunkRef> {
                Ok($p::ParquetColumnChunkRef {
                    storage_type: self.storage_type,
                    schema_element_id: self.schema_element_id,
                    row_group_id: self.row_group_id,
                    column_chunk_id: self.column_chunk_id,
                    file_url: self.file_url.clone(),
                    data_pages_range: to_option(&self.data_pages_range, cx, "data_pages_range")?,
                    data_page_count: self.data_page_count,
                    dictionary_range: to_option(&self.dictionary_range, cx, "dictionary_range")?,
                    data_page_map: to_option(&self.data_page_map, cx, "data_page_map")?,
                })
            }
        }

        impl FromWire<$p::ParquetColumnChunkRef> for ParquetColumnChunkRef {
            fn from_wire(m: $p::ParquetColumnChunkRef, cx: Cx<'_>) -> Result<Self> {
                Ok(Self {
                    storage_type: m.storage_type,
                    schema_element_id: m.schema_element_id,
                    row_group_id: m.row_group_id,
                    column_chunk_id: m.column_chunk_id,
                    file_url: m.file_url,
                    data_pages_range: from_option(m.data_pages_range, cx, "data_pages_range")?,
                    data_page_count: m.data_page_count,
                    dictionary_range: from_option(m.dictionary_range, cx, "dictionary_range")?,
                    data_page_map: from_option(m.data_page_map, cx, "data_page_map")?,
                })
            }
        }
    };
}

field_conversions!(spec, Wire::Spec, list stats: ContainerStats);
field_conversions!(reference, Wire::Reference, list stats: ListStats);
