//! Spec: docs/format.md, "Arrow types": Arrow schema to shard schema.

use super::native::NativeType;
use super::{deeper, label};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{self, BasicType, DataType, ExtendedType};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{
    DataType as ArrowType, Field, Fields, IntervalUnit, Schema, TimeUnit, UnionFields, UnionMode,
};

/// The mapping of Arrow types to types of a shard. Unless
/// [`WriterOptions::with_mapping`](crate::write::WriterOptions::with_mapping) sets it, writers use
/// [`Lossless`](Self::Lossless) with [`Wire::Spec`](crate::metadata::Wire::Spec), and [`Amudai`](Self::Amudai) with
/// [`Wire::Reference`](crate::metadata::Wire::Reference).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum TypeMapping {
    /// Values are stored as in Arrow; a label on the schema node keeps their meaning.
    #[default]
    Lossless,
    /// Timestamps, dates, durations, decimals, UUIDs and JSON are stored in the native types of Amudai, which every
    /// reader of the format understands. A value that such a type cannot hold exactly fails with
    /// [`ValueOutOfRange`](ErrorKind::ValueOutOfRange): native times have ticks of 100 ns. Other types are stored as
    /// with [`Lossless`](Self::Lossless).
    Amudai,
}

impl TypeMapping {
    /// Infers the mapping that a shard was written with from its schema: native types indicate
    /// [`Amudai`](Self::Amudai), labels of types that have a native type indicate [`Lossless`](Self::Lossless). Returns
    /// `None` if it has neither.
    pub(crate) fn of(schema: &format::Schema) -> Option<Self> {
        let (mut is_amudai, mut is_lossless) = (false, false);
        for field in schema.fields.iter().filter(|f| f.internal_kind.is_none()) {
            field.data_type.walk(&mut |node| {
                let lossless = matches!(
                    node.label(),
                    label::TIMESTAMP
                        | label::DATE
                        | label::DURATION
                        | label::DECIMAL
                        | label::UUID
                        | label::JSON
                );
                is_lossless |= lossless;
                is_amudai |= NativeType::of(node).is_some()
                    || (node.basic_type == BasicType::Guid && !lossless);
            });
        }
        match (is_amudai, is_lossless) {
            (true, _) => Some(Self::Amudai),
            (false, true) => Some(Self::Lossless),
            (false, false) => None,
        }
    }
}

/// Options for converting an Arrow schema to a shard schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SchemaOptions {
    /// How Arrow types become types of a shard.
    pub mapping: TypeMapping,
    /// Whether decimals keep their Arrow width, instead of the narrowest width for their precision.
    pub arrow_width_decimals: bool,
}

/// Returns the shard schema for the columns of an Arrow schema, with ids assigned.
///
/// # Errors
/// Returns [`ErrorKind::InvalidArgument`] for a type that Arrow itself forbids, [`ErrorKind::LimitExceeded`] for a type
/// that is nested too deep, and [`ErrorKind::Unsupported`] for a decimal in its native form without the feature
/// `decimal`. All errors name the field.
pub fn to_shard(schema: &Schema, options: &SchemaOptions) -> Result<format::Schema> {
    let fields = schema.fields().iter().map(|f| {
        Ok(format::Field {
            data_type: field_node(f, f.name(), options, 0)?,
            internal_kind: None,
        })
    });
    let mut schema = format::Schema {
        fields: fields.collect::<Result<_>>()?,
    };
    schema.assign_ids();
    Ok(schema)
}

/// Returns the node of an Arrow field under another name. `depth` is the depth of the parent.
pub(super) fn field_node(
    field: &Field,
    name: &str,
    options: &SchemaOptions,
    depth: u32,
) -> Result<DataType> {
    let extension = field.metadata().get(EXTENSION_TYPE_NAME_KEY);
    let mut node = type_node(
        field.data_type(),
        extension.map(String::as_str),
        options,
        depth,
    )
    .within(|| format!("field `{}`", field.name()))?;
    node.name = name.to_owned();
    Ok(node)
}

/// Returns the nameless node of an Arrow type with an optional extension type.
pub(super) fn type_node(
    arrow: &ArrowType,
    extension: Option<&str>,
    options: &SchemaOptions,
    depth: u32,
) -> Result<DataType> {
    use BasicType as B;
    let depth = deeper(depth)?;
    let is_native = options.mapping == TypeMapping::Amudai;
    if is_native && let Some(native) = NativeType::for_arrow(arrow, extension)? {
        return Ok(native.node());
    }
    let child = |field: &Field| field_node(field, "", options, depth);
    Ok(match arrow {
        ArrowType::Null => leaf(B::Unit),
        ArrowType::Boolean => leaf(B::Boolean),
        ArrowType::Int8 => signed(B::Int8),
        ArrowType::Int16 => signed(B::Int16),
        ArrowType::Int32 => signed(B::Int32),
        ArrowType::Int64 => signed(B::Int64),
        ArrowType::UInt8 => leaf(B::Int8),
        ArrowType::UInt16 => leaf(B::Int16),
        ArrowType::UInt32 => leaf(B::Int32),
        ArrowType::UInt64 => leaf(B::Int64),
        ArrowType::Float16 => labeled(leaf(B::Int16), label::label(label::FLOAT16, &[])),
        ArrowType::Float32 => leaf(B::Float32),
        ArrowType::Float64 => leaf(B::Float64),
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View => {
            let node = leaf(B::String);
            match extension {
                Some(label::JSON) => labeled(node, label::label(label::JSON, &[])),
                _ => node,
            }
        }
        ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView => leaf(B::Binary),
        ArrowType::FixedSizeBinary(16) if extension == Some(label::UUID) => {
            let guid = sized(B::Guid, 16)?;
            if is_native {
                guid
            } else {
                labeled(guid, label::label(label::UUID, &[]))
            }
        }
        ArrowType::FixedSizeBinary(size) => sized(B::FixedSizeBinary, *size)?,
        ArrowType::Timestamp(..)
        | ArrowType::Date32
        | ArrowType::Date64
        | ArrowType::Time32(_)
        | ArrowType::Time64(_)
        | ArrowType::Duration(_)
        | ArrowType::Interval(_) => time_node(arrow)?,
        ArrowType::Decimal32(p, s) => decimal(arrow, *p, *s, 32, options)?,
        ArrowType::Decimal64(p, s) => decimal(arrow, *p, *s, 64, options)?,
        ArrowType::Decimal128(p, s) => decimal(arrow, *p, *s, 128, options)?,
        ArrowType::Decimal256(p, s) => decimal(arrow, *p, *s, 256, options)?,
        ArrowType::List(f)
        | ArrowType::LargeList(f)
        | ArrowType::ListView(f)
        | ArrowType::LargeListView(f) => parent(B::List, vec![child(f)?]),
        ArrowType::FixedSizeList(f, size) => DataType {
            children: vec![child(f)?],
            ..sized(B::FixedSizeList, *size)?
        },
        ArrowType::Struct(fields) => parent(B::Struct, members(fields, options, depth)?),
        ArrowType::Map(entries, keys_sorted) => {
            map_node(arrow, entries, *keys_sorted, options, depth)?
        }
        ArrowType::Union(fields, mode) => union(fields, *mode, options, depth)?,
        ArrowType::Dictionary(key, value) => {
            if !key.is_dictionary_key_type() {
                return Err(forbidden(arrow));
            }
            type_node(value, extension, options, depth)?
        }
        ArrowType::RunEndEncoded(ends, values) => {
            if !ends.data_type().is_run_ends_type() {
                return Err(forbidden(arrow));
            }
            let inner = values.metadata().get(EXTENSION_TYPE_NAME_KEY);
            let extension = extension.or(inner.map(String::as_str));
            type_node(values.data_type(), extension, options, depth)?
        }
    })
}

/// Returns the nameless node of a type of dates, times or durations.
fn time_node(arrow: &ArrowType) -> Result<DataType> {
    use BasicType as B;
    let time_unit = |unit: &TimeUnit| ("unit", label::unit_name(*unit).to_owned());
    Ok(match arrow {
        ArrowType::Timestamp(unit, timezone) => {
            let mut properties = vec![time_unit(unit)];
            properties.extend(timezone.as_ref().map(|t| ("timezone", t.to_string())));
            labeled(
                signed(B::Int64),
                label::label(label::TIMESTAMP, &properties),
            )
        }
        ArrowType::Date32 => labeled(
            signed(B::Int32),
            label::label(label::DATE, &[("unit", "day".to_owned())]),
        ),
        ArrowType::Date64 => labeled(
            signed(B::Int64),
            label::label(label::DATE, &[time_unit(&TimeUnit::Millisecond)]),
        ),
        ArrowType::Time32(unit @ (TimeUnit::Second | TimeUnit::Millisecond)) => labeled(
            signed(B::Int32),
            label::label(label::TIME, &[time_unit(unit)]),
        ),
        ArrowType::Time64(unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond)) => labeled(
            signed(B::Int64),
            label::label(label::TIME, &[time_unit(unit)]),
        ),
        ArrowType::Duration(unit) => labeled(
            signed(B::Int64),
            label::label(label::DURATION, &[time_unit(unit)]),
        ),
        ArrowType::Interval(unit) => {
            let node = match unit {
                IntervalUnit::YearMonth => signed(B::Int32),
                IntervalUnit::DayTime => sized(B::FixedSizeBinary, 8)?,
                IntervalUnit::MonthDayNano => sized(B::FixedSizeBinary, 16)?,
            };
            let unit = label::interval_name(*unit).to_owned();
            labeled(node, label::label(label::INTERVAL, &[("unit", unit)]))
        }
        // Each type of times has only some of the units.
        _ => return Err(forbidden(arrow)),
    })
}

/// Returns the nameless node of a map with these entries.
fn map_node(
    arrow: &ArrowType,
    entries: &Field,
    keys_sorted: bool,
    options: &SchemaOptions,
    depth: u32,
) -> Result<DataType> {
    let ArrowType::Struct(members) = entries.data_type() else {
        return Err(forbidden(arrow));
    };
    let [key, value] = members.as_ref() else {
        return Err(forbidden(arrow));
    };
    let child = |field: &Field| field_node(field, "", options, depth);
    let sorted = ("keys_sorted", keys_sorted.to_string());
    Ok(labeled(
        parent(BasicType::Map, vec![child(key)?, child(value)?]),
        label::label(label::MAP, &[sorted]),
    ))
}

fn leaf(basic_type: BasicType) -> DataType {
    DataType::new(basic_type, "")
}

fn signed(basic_type: BasicType) -> DataType {
    DataType {
        signed: true,
        ..leaf(basic_type)
    }
}

fn sized(basic_type: BasicType, size: i32) -> Result<DataType> {
    let fixed_size = u64::try_from(size)
        .map_err(|_| Error::invalid(format!("{basic_type:?} has the negative size {size}")))?;
    Ok(DataType {
        fixed_size,
        ..leaf(basic_type)
    })
}

fn parent(basic_type: BasicType, children: Vec<DataType>) -> DataType {
    DataType {
        children,
        ..leaf(basic_type)
    }
}

fn labeled(node: DataType, label: ExtendedType) -> DataType {
    DataType {
        extended_type: Some(label),
        ..node
    }
}

fn forbidden(arrow: &ArrowType) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        format!("{arrow} is not a valid Arrow type"),
    )
}

fn members(fields: &Fields, options: &SchemaOptions, depth: u32) -> Result<Vec<DataType>> {
    fields
        .iter()
        .map(|f| field_node(f, f.name(), options, depth))
        .collect()
}

fn decimal(
    arrow: &ArrowType,
    precision: u8,
    scale: i8,
    bits: u16,
    options: &SchemaOptions,
) -> Result<DataType> {
    label::check_decimal(arrow).map_err(|e| Error::invalid(e.to_string()))?;
    // Each width has the same largest precision as Arrow's type of that width.
    let stored_bits = match precision {
        _ if options.arrow_width_decimals => bits,
        0..=9 => 32,
        10..=18 => 64,
        19..=38 => 128,
        _ => 256,
    };
    let node = match stored_bits {
        32 => signed(BasicType::Int32),
        64 => signed(BasicType::Int64),
        _ => sized(BasicType::FixedSizeBinary, i32::from(stored_bits / 8))?,
    };
    let properties = [
        ("precision", precision.to_string()),
        ("scale", scale.to_string()),
        ("bits", bits.to_string()),
    ];
    Ok(labeled(node, label::label(label::DECIMAL, &properties)))
}

fn union(
    fields: &UnionFields,
    mode: UnionMode,
    options: &SchemaOptions,
    depth: u32,
) -> Result<DataType> {
    let children = fields
        .iter()
        .map(|(_, f)| field_node(f, f.name(), options, depth))
        .collect::<Result<_>>()?;
    let type_ids: Vec<String> = fields.iter().map(|(id, _)| id.to_string()).collect();
    let mode = match mode {
        UnionMode::Sparse => "sparse",
        UnionMode::Dense => "dense",
    };
    let properties = [("mode", mode.to_owned()), ("type_ids", type_ids.join(","))];
    Ok(labeled(
        parent(BasicType::Union, children),
        label::label(label::UNION, &properties),
    ))
}
