//! Spec: docs/format.md, "Arrow types" (the property `ARROW:schema`).
//!
//! Reads the Arrow schema of a shard, a schema message of Arrow's IPC format, field by field. Slot numbers are from
//! `Schema.fbs` and `Message.fbs` of Apache Arrow.

use crate::arrow::type_fields;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::flat::{Budget, Ledger, OffsetVector, Table};
use crate::limits::Limits;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    validate_decimal_precision_and_scale,
};
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_schema::{
    DataType, Field, FieldRef, IntervalUnit, Schema, TimeUnit, UnionFields, UnionMode,
};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;

/// Marks the start of an encapsulated message; its length follows.
const CONTINUATION: [u8; 4] = [0xFF; 4];

/// `MessageHeader.Schema`.
const SCHEMA_HEADER: u8 = 1;

/// Minimum bytes per field of a message: its table, its type's table, and the reference to it.
const MIN_FIELD_BYTES: usize = 20;

/// The Arrow schema of the writer: a hint, which a shard may lack.
///
/// Opening takes the same time for any number of fields.
#[derive(Debug, Clone)]
pub(crate) struct ArrowSchemaHint {
    message: Bytes,
    max_depth: u32,
    len: usize,
    ledger: Arc<Ledger>,
}

/// The remaining limits for reading one field.
struct HintAllowance<'a> {
    fields: usize,
    depth: u32,
    budget: &'a mut Budget,
}

impl ArrowSchemaHint {
    /// Opens an IPC schema message, with or without its length prefix.
    ///
    /// # Errors
    /// Returns [`Corrupt`](ErrorKind::Corrupt) if it is not one, and [`Unsupported`](ErrorKind::Unsupported) if it
    /// describes big-endian data.
    pub(crate) fn try_new(bytes: Bytes, limits: &Limits) -> Result<Self> {
        Self::open(bytes, limits).within(|| "ARROW:schema".to_owned())
    }

    fn open(bytes: Bytes, limits: &Limits) -> Result<Self> {
        let message = strip_envelope(bytes)?;
        let schema = schema_table(&message)?;
        if schema.i16(0, 0)? != 0 {
            return Err(Error::unsupported("the schema is of big-endian data"));
        }
        let len = fields(&schema)?.map_or(0, |f| f.len());
        Ok(Self {
            ledger: Arc::new(Ledger::new(&message)),
            message,
            // A shard's node may take two Arrow levels: a map and its entries.
            max_depth: limits.max_schema_depth().saturating_mul(2),
            len,
        })
    }

    /// Returns the number of top-level fields.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns top-level field `i`.
    ///
    /// # Errors
    /// Returns [`UnknownColumn`](ErrorKind::UnknownColumn) if the field does not exist, and
    /// [`Corrupt`](ErrorKind::Corrupt), [`Unsupported`](ErrorKind::Unsupported) or
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) if its type is not a valid Arrow type.
    pub(crate) fn field(&self, i: usize) -> Result<Field> {
        self.ledger
            .read(i, &self.message, |budget| self.read_field(i, budget))
            .within(|| format!("ARROW:schema, field {i}"))
    }

    fn read_field(&self, i: usize, budget: &mut Budget) -> Result<Field> {
        let fields = fields(&schema_table(&self.message)?)?;
        let table = match fields {
            Some(fields) if i < fields.len() => fields.table(i)?,
            _ => {
                return Err(Error::new(
                    ErrorKind::UnknownColumn,
                    format!("the schema has {} fields", self.len),
                ));
            }
        };
        let mut allowance = HintAllowance {
            fields: self.message.len() / MIN_FIELD_BYTES,
            depth: self.max_depth,
            budget,
        };
        field(&table, &mut allowance)
    }

    /// Returns the metadata of the schema itself.
    ///
    /// # Errors
    /// Returns [`Corrupt`](ErrorKind::Corrupt) if the metadata are not valid.
    pub(crate) fn metadata(&self) -> Result<HashMap<String, String>> {
        schema_table(&self.message)
            .and_then(|schema| metadata(&schema, 2, &mut Budget::new(&self.message)))
            .within(|| "ARROW:schema, metadata".to_owned())
    }
}

/// Encodes an Arrow schema as an IPC schema message with length prefix, for the property `ARROW:schema`.
///
/// # Errors
/// Returns [`Unsupported`](ErrorKind::Unsupported), which names the field, if the message cannot express its type (a
/// dictionary of dictionaries, an empty time zone), or if it is too deeply nested.
pub(crate) fn encode(schema: &Schema) -> Result<Vec<u8>> {
    let limits = Limits::default();
    for field in schema.fields() {
        check_depth(
            field.data_type(),
            limits.max_schema_depth().saturating_mul(2),
        )
        .within(|| format!("field {:?}", field.name()))?;
    }
    let mut tracker = DictionaryTracker::new(false);
    let message = IpcDataGenerator::default()
        .schema_to_bytes_with_dictionary_tracker(schema, &mut tracker, &IpcWriteOptions::default())
        .ipc_message;
    let padded = message.len().next_multiple_of(8);
    let len = i32::try_from(padded).map_err(|_| {
        Error::new(
            ErrorKind::LimitExceeded,
            format!("an Arrow schema message of {padded} bytes"),
        )
    })?;
    let mut bytes = Vec::with_capacity(8 + padded);
    bytes.extend_from_slice(&CONTINUATION);
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(&message);
    bytes.resize(8 + padded, 0);

    // `arrow-ipc` silently writes some types as others, so read the message back.
    let hint = ArrowSchemaHint::try_new(Bytes::from(bytes.clone()), &limits)?;
    for (i, field) in schema.fields().iter().enumerate() {
        let read = hint.field(i).map_err(|e| {
            Error::unsupported(format!(
                "{} is not valid: {}",
                field.data_type(),
                e.message()
            ))
            .within(format!("field {:?}", field.name()))
        })?;
        if read != **field {
            return Err(Error::unsupported(format!(
                "Arrow's schema message would make {} of {}",
                read.data_type(),
                field.data_type()
            ))
            .within(format!("field {:?}", field.name())));
        }
    }
    Ok(bytes)
}

/// Refuses types that are nested deeper than `depth` levels, without recursing any deeper.
fn check_depth(data_type: &DataType, depth: u32) -> Result<()> {
    let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
    match data_type {
        DataType::Dictionary(_, value) => check_depth(value, depth),
        _ => type_fields(data_type).try_for_each(|field| check_depth(field.data_type(), depth)),
    }
}

fn too_deep() -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        "Arrow types are nested more than twice as deep as Limits::max_schema_depth allows",
    )
}

/// Removes the prefix of `0xFFFFFFFF` and the length, if there is one.
fn strip_envelope(bytes: Bytes) -> Result<Bytes> {
    let Some(rest) = bytes.strip_prefix(&CONTINUATION) else {
        return Ok(bytes);
    };
    let len = rest
        .first_chunk::<4>()
        .and_then(|len| usize::try_from(u32::from_le_bytes(*len)).ok());
    match len {
        Some(len) if len <= bytes.len() - 8 => Ok(bytes.slice(8..8 + len)),
        _ => Err(Error::corrupt(format!(
            "{} bytes cannot hold an encapsulated message of the length that they say",
            bytes.len()
        ))),
    }
}

fn schema_table(message: &[u8]) -> Result<Table<'_>> {
    let root = Table::root(message)?;
    match root.u8(1, 0)? {
        SCHEMA_HEADER => required(root.table(2)?, "Message.header"),
        other => Err(Error::corrupt(format!(
            "an Arrow message of type {other} instead of a schema ({SCHEMA_HEADER})"
        ))),
    }
}

fn fields<'a>(schema: &Table<'a>) -> Result<Option<OffsetVector<'a>>> {
    schema.vector(1)
}

fn required<T>(value: Option<T>, name: &str) -> Result<T> {
    value.ok_or_else(|| Error::corrupt(format!("{name} is required, and absent")))
}

fn metadata(
    table: &Table<'_>,
    slot: usize,
    budget: &mut Budget,
) -> Result<HashMap<String, String>> {
    let mut metadata = HashMap::new();
    let Some(pairs) = table.vector(slot)? else {
        return Ok(metadata);
    };
    for pair in pairs.tables() {
        let pair = pair?;
        let mut text = |slot| pair.text(slot)?.map(|t| budget.copy(t)).transpose();
        if let (Some(key), Some(value)) = (text(0)?, text(1)?) {
            metadata.insert(key, value);
        }
    }
    Ok(metadata)
}

fn field(table: &Table<'_>, allowance: &mut HintAllowance<'_>) -> Result<Field> {
    allowance.fields = allowance.fields.checked_sub(1).ok_or_else(|| {
        Error::new(
            ErrorKind::LimitExceeded,
            "more Arrow fields than fit into the bytes of the message",
        )
    })?;
    allowance.depth = allowance.depth.checked_sub(1).ok_or_else(too_deep)?;
    allowance.budget.spend(size_of::<Field>())?;
    let name = table.text(0)?.unwrap_or_default();
    let field = named_field(table, name, allowance).within(|| format!("{name:?}"))?;
    allowance.depth += 1;
    Ok(field)
}

fn named_field(table: &Table<'_>, name: &str, allowance: &mut HintAllowance<'_>) -> Result<Field> {
    let mut children = Vec::new();
    if let Some(stored) = table.vector(5)? {
        for child in stored.tables() {
            children.push(Arc::new(field(&child?, allowance)?));
        }
    }
    let number = table.u8(2, 0)?;
    let type_table = required(table.table(3)?, "Field.type")?;
    let mut data_type = data_type(number, &type_table, children, allowance.budget)
        .within(|| format!("type {number}"))?;
    let mut is_ordered = false;
    if let Some(dictionary) = table.table(4)? {
        // Without an index type, keys are signed 32-bit integers.
        let key = match dictionary.table(1)? {
            Some(int) => integer(&int)?,
            None => DataType::Int32,
        };
        is_ordered = dictionary.bool(2)?;
        data_type = DataType::Dictionary(Box::new(key), Box::new(data_type));
    }
    let metadata = metadata(table, 6, allowance.budget)?;
    Ok(
        Field::new(allowance.budget.copy(name)?, data_type, table.bool(1)?)
            .with_dict_is_ordered(is_ordered)
            .with_metadata(metadata),
    )
}

fn data_type(
    number: u8,
    table: &Table<'_>,
    children: Vec<FieldRef>,
    budget: &mut Budget,
) -> Result<DataType> {
    let child_count = children.len();
    let unexpected = |what: &str| Error::corrupt(format!("{child_count} child fields of {what}"));
    let one = |children: Vec<FieldRef>, what: &str| {
        <[FieldRef; 1]>::try_from(children)
            .map(|[child]| child)
            .map_err(|_| unexpected(what))
    };
    let data_type = match number {
        12 => return Ok(DataType::List(one(children, "List")?)),
        13 => return Ok(DataType::Struct(children.into())),
        14 => return union(table, children),
        16 => {
            let size = length(table.i32(0, 0)?)?;
            return Ok(DataType::FixedSizeList(
                one(children, "FixedSizeList")?,
                size,
            ));
        }
        17 => {
            let entries = one(children, "Map")?;
            return match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 => {
                    Ok(DataType::Map(entries, table.bool(0)?))
                }
                other => Err(Error::corrupt(format!(
                    "the entries of a map are {other} instead of a struct of two"
                ))),
            };
        }
        21 => return Ok(DataType::LargeList(one(children, "LargeList")?)),
        22 => {
            let [ends, values] =
                <[FieldRef; 2]>::try_from(children).map_err(|_| unexpected("RunEndEncoded"))?;
            return match ends.data_type() {
                DataType::Int16 | DataType::Int32 | DataType::Int64 => {
                    Ok(DataType::RunEndEncoded(ends, values))
                }
                other => Err(Error::corrupt(format!("run ends of type {other}"))),
            };
        }
        25 => return Ok(DataType::ListView(one(children, "ListView")?)),
        26 => return Ok(DataType::LargeListView(one(children, "LargeListView")?)),
        1 => DataType::Null,
        2 => integer(table)?,
        3 => match table.i16(0, 0)? {
            0 => DataType::Float16,
            1 => DataType::Float32,
            2 => DataType::Float64,
            other => return Err(unknown("floating-point precision", other)),
        },
        4 => DataType::Binary,
        5 => DataType::Utf8,
        6 => DataType::Boolean,
        7 => decimal(table)?,
        8 => match table.i16(0, 1)? {
            0 => DataType::Date32,
            1 => DataType::Date64,
            other => return Err(unknown("date unit", other)),
        },
        9 => match (time_unit(table.i16(0, 1)?)?, table.i32(1, 32)?) {
            (unit @ (TimeUnit::Second | TimeUnit::Millisecond), 32) => DataType::Time32(unit),
            (unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond), 64) => DataType::Time64(unit),
            (unit, bits) => {
                return Err(Error::corrupt(format!(
                    "a time of {bits} bits in units of {unit}"
                )));
            }
        },
        10 => {
            let timezone = table.text(1)?.map(|tz| budget.copy(tz)).transpose()?;
            DataType::Timestamp(time_unit(table.i16(0, 0)?)?, timezone.map(Into::into))
        }
        11 => DataType::Interval(match table.i16(0, 0)? {
            0 => IntervalUnit::YearMonth,
            1 => IntervalUnit::DayTime,
            2 => IntervalUnit::MonthDayNano,
            other => return Err(unknown("interval unit", other)),
        }),
        15 => DataType::FixedSizeBinary(length(table.i32(0, 0)?)?),
        18 => DataType::Duration(time_unit(table.i16(0, 1)?)?),
        19 => DataType::LargeBinary,
        20 => DataType::LargeUtf8,
        23 => DataType::BinaryView,
        24 => DataType::Utf8View,
        other => return Err(Error::unsupported(format!("Arrow's type number {other}"))),
    };
    if child_count > 0 {
        return Err(unexpected(&data_type.to_string()));
    }
    Ok(data_type)
}

fn unknown(what: &str, value: i16) -> Error {
    Error::unsupported(format!("{what} {value}"))
}

fn integer(table: &Table<'_>) -> Result<DataType> {
    Ok(match (table.i32(0, 0)?, table.bool(1)?) {
        (8, true) => DataType::Int8,
        (8, false) => DataType::UInt8,
        (16, true) => DataType::Int16,
        (16, false) => DataType::UInt16,
        (32, true) => DataType::Int32,
        (32, false) => DataType::UInt32,
        (64, true) => DataType::Int64,
        (64, false) => DataType::UInt64,
        (bits, _) => return Err(Error::corrupt(format!("an integer of {bits} bits"))),
    })
}

fn decimal(table: &Table<'_>) -> Result<DataType> {
    fn checked<T: DecimalType>(precision: u8, scale: i8) -> Result<DataType> {
        validate_decimal_precision_and_scale::<T>(precision, scale)
            .map_err(|e| Error::corrupt(e.to_string()))?;
        Ok(T::TYPE_CONSTRUCTOR(precision, scale))
    }
    let (precision, scale) = (table.i32(0, 0)?, table.i32(1, 0)?);
    let (Ok(p), Ok(s)) = (u8::try_from(precision), i8::try_from(scale)) else {
        return Err(Error::corrupt(format!(
            "a decimal of precision {precision} and scale {scale}"
        )));
    };
    match table.i32(2, 128)? {
        32 => checked::<Decimal32Type>(p, s),
        64 => checked::<Decimal64Type>(p, s),
        128 => checked::<Decimal128Type>(p, s),
        256 => checked::<Decimal256Type>(p, s),
        bits => Err(Error::corrupt(format!("a decimal of {bits} bits"))),
    }
}

fn time_unit(number: i16) -> Result<TimeUnit> {
    match number {
        0 => Ok(TimeUnit::Second),
        1 => Ok(TimeUnit::Millisecond),
        2 => Ok(TimeUnit::Microsecond),
        3 => Ok(TimeUnit::Nanosecond),
        other => Err(unknown("time unit", other)),
    }
}

/// Checks a size in elements or bytes.
fn length(size: i32) -> Result<i32> {
    match size {
        0.. => Ok(size),
        _ => Err(Error::corrupt(format!("a fixed size of {size}"))),
    }
}

fn union(table: &Table<'_>, children: Vec<FieldRef>) -> Result<DataType> {
    let mode = match table.i16(0, 0)? {
        0 => UnionMode::Sparse,
        1 => UnionMode::Dense,
        other => return Err(unknown("union mode", other)),
    };
    let ids: Vec<i8> = match table.i32_vector(1)? {
        Some(ids) => ids
            .map(|id| {
                i8::try_from(id).map_err(|_| Error::corrupt(format!("type id {id} of a union")))
            })
            .collect::<Result<_>>()?,
        None if children.len() <= 128 => (0..=i8::MAX).take(children.len()).collect(),
        None => {
            return Err(Error::corrupt(format!(
                "a union of {} child fields",
                children.len()
            )));
        }
    };
    let fields = UnionFields::try_new(ids, children).map_err(|e| Error::corrupt(e.to_string()))?;
    Ok(DataType::Union(fields, mode))
}

#[cfg(test)]
mod tests;
