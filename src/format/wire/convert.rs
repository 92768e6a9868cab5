//! Spec: Chapter 6; docs/format.md, "Two wires, one model".
//!
//! Converts the generated messages of each wire to the types of this crate, and back.

use super::super::{
    AnyValue, DataRef, DataRefArray, IndexCollection, IndexDescriptor, NameValuePair,
    ShardDirectory, ShardProperties, StripeDirectory, StripeList, StripeProperties, UrlList,
    ValueKind,
};
use super::conversion::{
    Cx, FromWire, ToWire, from_list, from_option, part_of, to_list, to_option,
};
use super::{Wire, artifact, reference, spec};
use crate::error::{Error, Result, Within};
use crate::io::ByteRange;

/// Annotation of a decimal128 on the wire without a kind of `AnyValue` for it.
const DECIMAL_ANNOTATION: &str = "KustoDecimal";

fn decimal(bytes: &[u8]) -> Result<ValueKind> {
    <[u8; 16]>::try_from(bytes)
        .map(ValueKind::Decimal)
        .map_err(|_| Error::corrupt(format!("a decimal of {} bytes instead of 16", bytes.len())))
}

/// Returns whether bytes are a decimal, on the wire without a kind for it.
fn is_decimal(wire: Wire, bytes: &[u8], annotation: &Option<String>) -> bool {
    wire == Wire::Spec && bytes.len() == 16 && annotation.as_deref() == Some(DECIMAL_ANNOTATION)
}

fn spec_decimal(
    value: &[u8; 16],
    annotation: &mut Option<String>,
) -> Result<spec::any_value::Kind> {
    if let Some(other) = annotation.replace(DECIMAL_ANNOTATION.to_owned()) {
        return Err(Error::unsupported(format!(
            "a decimal value cannot carry the annotation {other:?}, for it needs {DECIMAL_ANNOTATION:?}"
        )));
    }
    Ok(spec::any_value::Kind::BytesValue(value.to_vec().into()))
}

#[expect(clippy::unnecessary_wraps, reason = "the other wire's can fail")]
fn reference_decimal(
    value: &[u8; 16],
    _: &mut Option<String>,
) -> Result<reference::any_value::Kind> {
    Ok(reference::any_value::Kind::DecimalValue(value.to_vec()))
}

macro_rules! conversions {
    (
        $p:ident, $wire:expr, record offset: $record_offset:ident, to decimal: $to_decimal:ident
        $(, kind of decimals: $Decimal:ident)?
    ) => {
        impl ToWire<$p::UInt64Range> for ByteRange {
            fn to_wire(&self, _: Cx<'_>) -> Result<$p::UInt64Range> {
                Ok($p::UInt64Range { start: self.start(), end: self.end() })
            }
        }

        impl FromWire<$p::UInt64Range> for ByteRange {
            fn from_wire(m: $p::UInt64Range, _: Cx<'_>) -> Result<Self> {
                Self::try_new(m.start, m.end)
            }
        }

        impl ToWire<$p::DataRef> for DataRef {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::DataRef> {
                Ok($p::DataRef { url: self.url.clone(), range: Some(self.range.to_wire(cx)?) })
            }
        }

        impl FromWire<$p::DataRef> for DataRef {
            fn from_wire(m: $p::DataRef, cx: Cx<'_>) -> Result<Self> {
                let range = from_option(m.range, cx, "range")?;
                Ok(Self { url: m.url, range: range.unwrap_or_default() })
            }
        }

        impl ToWire<$p::DataRefArray> for DataRefArray {
            fn to_wire(&self, _: Cx<'_>) -> Result<$p::DataRefArray> {
                if self.urls.len() != self.ranges.len() {
                    return Err(Error::invalid(format!(
                        "{} URLs and {} ranges", self.urls.len(), self.ranges.len()
                    )));
                }
                Ok($p::DataRefArray {
                    url: self.urls.clone(),
                    start: self.ranges.iter().map(|r| r.start()).collect(),
                    end: self.ranges.iter().map(|r| r.end()).collect(),
                })
            }
        }

        impl FromWire<$p::DataRefArray> for DataRefArray {
            fn from_wire(m: $p::DataRefArray, _: Cx<'_>) -> Result<Self> {
                let (urls, starts, ends) = (m.url.len(), m.start.len(), m.end.len());
                if urls != starts || starts != ends {
                    return Err(Error::corrupt(format!(
                        "{urls} URLs, {starts} starts and {ends} ends of references"
                    )));
                }
                let bounds = m.start.iter().zip(&m.end).enumerate();
                let ranges = bounds.map(|(i, (&start, &end))| {
                    ByteRange::try_new(start, end).within(|| format!("element {i}"))
                });
                Ok(Self { ranges: ranges.collect::<Result<_>>()?, urls: m.url })
            }
        }

        impl ToWire<$p::AnyValue> for AnyValue {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::AnyValue> {
                use $p::any_value::Kind;
                let cx = cx.deeper()?;
                let mut annotation = self.annotation.clone();
                let kind = match &self.kind {
                    None => None,
                    Some(kind) => Some(match kind {
                        ValueKind::Null => Kind::NullValue($p::UnitValue {}),
                        ValueKind::Bool(v) => Kind::BoolValue(*v),
                        ValueKind::U64(v) => Kind::U64Value(*v),
                        ValueKind::I64(v) => Kind::I64Value(*v),
                        ValueKind::Double(v) => Kind::DoubleValue(*v),
                        ValueKind::DateTime(v) => Kind::DatetimeValue($p::DateTimeUtc { ticks: *v }),
                        ValueKind::TimeSpan(v) => Kind::TimespanValue($p::TimeSpan { ticks: *v }),
                        ValueKind::String(v) => Kind::StringValue(v.clone()),
                        ValueKind::Bytes(v) => Kind::BytesValue(v.clone()),
                        ValueKind::Decimal(v) => $to_decimal(v, &mut annotation)?,
                        ValueKind::List(v) => Kind::ListValue($p::ListValue {
                            elements: to_list(v, cx, "element")?,
                        }),
                        ValueKind::Struct(v) => Kind::StructValue($p::StructValue {
                            fields: to_list(v, cx, "member")?,
                        }),
                        ValueKind::DataRef(v) => Kind::DataRef(v.to_wire(cx)?),
                    }),
                };
                Ok($p::AnyValue { annotation, kind })
            }
        }

        impl FromWire<$p::AnyValue> for AnyValue {
            fn from_wire(m: $p::AnyValue, cx: Cx<'_>) -> Result<Self> {
                use $p::any_value::Kind;
                let cx = cx.deeper()?;
                let Some(kind) = m.kind else {
                    return Ok(Self { kind: None, annotation: m.annotation });
                };
                let kind = match kind {
                    Kind::NullValue(_) => ValueKind::Null,
                    Kind::BoolValue(v) => ValueKind::Bool(v),
                    Kind::U64Value(v) => ValueKind::U64(v),
                    Kind::I64Value(v) => ValueKind::I64(v),
                    Kind::DoubleValue(v) => ValueKind::Double(v),
                    Kind::DatetimeValue(v) => ValueKind::DateTime(v.ticks),
                    Kind::TimespanValue(v) => ValueKind::TimeSpan(v.ticks),
                    Kind::StringValue(v) => ValueKind::String(v),
                    Kind::BytesValue(v) if is_decimal($wire, &v, &m.annotation) => {
                        return Ok(Self { kind: Some(decimal(&v)?), annotation: None });
                    }
                    Kind::BytesValue(v) => ValueKind::Bytes(v),
                    $(Kind::$Decimal(v) => decimal(&v)?,)?
                    Kind::ListValue(v) => ValueKind::List(from_list(v.elements, cx, "element")?),
                    Kind::StructValue(v) => ValueKind::Struct(from_list(v.fields, cx, "member")?),
                    Kind::DataRef(v) => ValueKind::DataRef(DataRef::from_wire(v, cx)?),
                };
                Ok(Self { kind: Some(kind), annotation: m.annotation })
            }
        }

        impl ToWire<$p::NameValuePair> for NameValuePair {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::NameValuePair> {
                let value = to_option(&self.value, cx, &self.name)?;
                Ok($p::NameValuePair { name: self.name.clone(), value })
            }
        }

        impl FromWire<$p::NameValuePair> for NameValuePair {
            fn from_wire(m: $p::NameValuePair, cx: Cx<'_>) -> Result<Self> {
                Ok(Self { value: from_option(m.value, cx, &m.name)?, name: m.name })
            }
        }

        impl ToWire<$p::ShardDirectory> for ShardDirectory {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::ShardDirectory> {
                part_of("deleted_record_count", Some(self.deleted_record_count), self.total_record_count)?;
                cx.limits.check_stripes(self.stripe_count)?;
                Ok($p::ShardDirectory {
                    schema_ref: to_option(&self.schema_ref, cx, "schema_ref")?,
                    properties_ref: to_option(&self.properties_ref, cx, "properties_ref")?,
                    field_list_ref: to_option(&self.field_list_ref, cx, "field_list_ref")?,
                    stripe_list_ref: to_option(&self.stripe_list_ref, cx, "stripe_list_ref")?,
                    url_list_ref: to_option(&self.url_list_ref, cx, "url_list_ref")?,
                    indexes_ref: to_option(&self.indexes_ref, cx, "indexes_ref")?,
                    total_record_count: self.total_record_count,
                    deleted_record_count: self.deleted_record_count,
                    stripe_count: self.stripe_count,
                    raw_data_size: self.raw_data_size,
                })
            }
        }

        impl FromWire<$p::ShardDirectory> for ShardDirectory {
            fn from_wire(m: $p::ShardDirectory, cx: Cx<'_>) -> Result<Self> {
                part_of("deleted_record_count", Some(m.deleted_record_count), m.total_record_count)?;
                cx.limits.check_stripes(m.stripe_count)?;
                Ok(Self {
                    schema_ref: from_option(m.schema_ref, cx, "schema_ref")?,
                    properties_ref: from_option(m.properties_ref, cx, "properties_ref")?,
                    field_list_ref: from_option(m.field_list_ref, cx, "field_list_ref")?,
                    stripe_list_ref: from_option(m.stripe_list_ref, cx, "stripe_list_ref")?,
                    url_list_ref: from_option(m.url_list_ref, cx, "url_list_ref")?,
                    indexes_ref: from_option(m.indexes_ref, cx, "indexes_ref")?,
                    total_record_count: m.total_record_count,
                    deleted_record_count: m.deleted_record_count,
                    stripe_count: m.stripe_count,
                    raw_data_size: m.raw_data_size,
                })
            }
        }

        impl ToWire<$p::ShardProperties> for ShardProperties {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::ShardProperties> {
                Ok($p::ShardProperties {
                    creation_min: self.creation_min.map(|ticks| $p::DateTimeUtc { ticks }),
                    creation_max: self.creation_max.map(|ticks| $p::DateTimeUtc { ticks }),
                    standard_properties: to_list(&self.standard_properties, cx, "standard property")?,
                    custom_properties: to_list(&self.custom_properties, cx, "custom property")?,
                })
            }
        }

        impl FromWire<$p::ShardProperties> for ShardProperties {
            fn from_wire(m: $p::ShardProperties, cx: Cx<'_>) -> Result<Self> {
                Ok(Self {
                    creation_min: m.creation_min.map(|t| t.ticks),
                    creation_max: m.creation_max.map(|t| t.ticks),
                    standard_properties: from_list(m.standard_properties, cx, "standard property")?,
                    custom_properties: from_list(m.custom_properties, cx, "custom property")?,
                })
            }
        }

        impl ToWire<$p::UrlList> for UrlList {
            fn to_wire(&self, _: Cx<'_>) -> Result<$p::UrlList> {
                Ok($p::UrlList { urls: self.0.clone() })
            }
        }

        impl FromWire<$p::UrlList> for UrlList {
            fn from_wire(m: $p::UrlList, _: Cx<'_>) -> Result<Self> {
                Ok(Self(m.urls))
            }
        }

        impl ToWire<$p::StripeList> for StripeList {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::StripeList> {
                Ok($p::StripeList { stripes: to_list(&self.0, cx, "stripe")? })
            }
        }

        impl FromWire<$p::StripeList> for StripeList {
            fn from_wire(m: $p::StripeList, cx: Cx<'_>) -> Result<Self> {
                cx.limits.check_stripes(u64::try_from(m.stripes.len()).unwrap_or(u64::MAX))?;
                Ok(Self(from_list(m.stripes, cx, "stripe")?))
            }
        }

        impl ToWire<$p::StripeDirectory> for StripeDirectory {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::StripeDirectory> {
                part_of("deleted_record_count", Some(self.deleted_record_count), self.total_record_count)?;
                Ok($p::StripeDirectory {
                    properties_ref: to_option(&self.properties_ref, cx, "properties_ref")?,
                    field_list_ref: to_option(&self.field_list_ref, cx, "field_list_ref")?,
                    indexes_ref: to_option(&self.indexes_ref, cx, "indexes_ref")?,
                    total_record_count: self.total_record_count,
                    deleted_record_count: self.deleted_record_count,
                    raw_data_size: self.raw_data_size,
                    $record_offset: self.record_offset,
                })
            }
        }

        impl FromWire<$p::StripeDirectory> for StripeDirectory {
            fn from_wire(m: $p::StripeDirectory, cx: Cx<'_>) -> Result<Self> {
                part_of("deleted_record_count", Some(m.deleted_record_count), m.total_record_count)?;
                Ok(Self {
                    properties_ref: from_option(m.properties_ref, cx, "properties_ref")?,
                    field_list_ref: from_option(m.field_list_ref, cx, "field_list_ref")?,
                    indexes_ref: from_option(m.indexes_ref, cx, "indexes_ref")?,
                    total_record_count: m.total_record_count,
                    deleted_record_count: m.deleted_record_count,
                    raw_data_size: m.raw_data_size,
                    record_offset: m.$record_offset,
                })
            }
        }

        impl ToWire<$p::StripeProperties> for StripeProperties {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::StripeProperties> {
                Ok($p::StripeProperties {
                    standard_properties: to_list(&self.standard_properties, cx, "standard property")?,
                    custom_properties: to_list(&self.custom_properties, cx, "custom property")?,
                })
            }
        }

        impl FromWire<$p::StripeProperties> for StripeProperties {
            fn from_wire(m: $p::StripeProperties, cx: Cx<'_>) -> Result<Self> {
                Ok(Self {
                    standard_properties: from_list(m.standard_properties, cx, "standard property")?,
                    custom_properties: from_list(m.custom_properties, cx, "custom property")?,
                })
            }
        }

        impl ToWire<$p::IndexCollection> for IndexCollection {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::IndexCollection> {
                Ok($p::IndexCollection { index_descriptors: to_list(&self.0, cx, "index")? })
            }
        }

        impl FromWire<$p::IndexCollection> for IndexCollection {
            fn from_wire(m: $p::IndexCollection, cx: Cx<'_>) -> Result<Self> {
                Ok(Self(from_list(m.index_descriptors, cx, "index")?))
            }
        }

        impl ToWire<$p::IndexDescriptor> for IndexDescriptor {
            fn to_wire(&self, cx: Cx<'_>) -> Result<$p::IndexDescriptor> {
                let fields = self.indexed_fields.iter();
                let artifacts = self.artifacts.iter().enumerate();
                Ok($p::IndexDescriptor {
                    index_type: self.index_type.clone(),
                    properties: to_list(&self.properties, cx, "property")?,
                    indexed_fields: fields
                        .map(|ids| $p::IndexedField { schema_ids: ids.clone() })
                        .collect(),
                    artifacts: artifacts
                        .map(|(i, a)| artifact::encode(a, $wire, cx).within(|| format!("artifact {i}")))
                        .collect::<Result<_>>()?,
                    index_size: self.index_size,
                })
            }
        }

        impl FromWire<$p::IndexDescriptor> for IndexDescriptor {
            fn from_wire(m: $p::IndexDescriptor, cx: Cx<'_>) -> Result<Self> {
                let artifacts = m.artifacts.iter().enumerate();
                Ok(Self {
                    properties: from_list(m.properties, cx, "property")?,
                    indexed_fields: m.indexed_fields.into_iter().map(|f| f.schema_ids).collect(),
                    artifacts: artifacts
                        .map(|(i, a)| artifact::decode(a, $wire, cx).within(|| format!("artifact {i}")))
                        .collect::<Result<_>>()
                        .within(|| m.index_type.clone())?,
                    index_type: m.index_type,
                    index_size: m.index_size,
                })
            }
        }
    };
}

conversions!(spec, Wire::Spec, record offset: record_offset, to decimal: spec_decimal);
conversions!(
    reference, Wire::Reference, record offset: shard_position, to decimal: reference_decimal,
    kind of decimals: DecimalValue
);
