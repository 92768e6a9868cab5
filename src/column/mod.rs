//! Where Arrow types meet the types of a shard.

mod arrow_schema_hint;
mod assemble;
mod chunk;
mod convert;
mod decimal;
mod integer_set;
mod range;
mod schema;
mod shred;
#[cfg(test)]
mod tests;
mod ticks;

pub(crate) use arrow_schema_hint::{ArrowSchemaHint, encode as encode_arrow_schema};
pub use assemble::{Casts, assemble, assemble_as, check_cast};
pub use chunk::{
    ArraySlot, ByteLayout, ByteValues, Chunk, DecodedBytes, DecodedDictionary, DecodedLists,
    DecodedUnions, DictionaryEntries, EntryArray, ListOffsets, NodeSource, OffsetWidth, Values,
    Window,
};
pub(crate) use integer_set::IntegerSet;
pub(crate) use range::{codes_within, integer_key, integers_within};
pub(crate) use schema::{
    ColumnPlace, UUID_LABEL, column_places, has_packed_columns, packed_columns_label,
    packed_columns_name,
};
pub use schema::{NativeTypes, SchemaOptions, TypeMapping, complete_labels, to_arrow, to_shard};
pub use shred::shred;
pub(crate) use ticks::UNIX_EPOCH as UNIX_EPOCH_TICKS;

// Rows that are left out are bits, whatever the columns are.
pub(crate) use crate::kernels::{bit_runs, deposit};
// The writer takes views apart as they are.
pub(crate) use crate::kernels::append_views;

use crate::buffer::Physical;
use crate::error::{Error, ErrorKind};
use crate::format::{BasicType, DataType};
use arrow_array::Array;
use arrow_schema::DataType as ArrowType;

/// Whether sound values of a node may be outside the range of the Arrow type that it is read as,
/// because the node has a native type of Amudai, or one below it has.
pub(crate) fn may_exceed_arrow(node: &DataType) -> bool {
    schema::NativeType::is_within(node)
}

/// The error for an Arrow type that a schema node cannot become or come from.
fn mismatch(arrow: &ArrowType, node: &DataType) -> Error {
    let label = match node.label() {
        "" => String::new(),
        label => format!(" labelled `{label}`"),
    };
    Error::new(
        ErrorKind::SchemaMismatch,
        format!(
            "Arrow type {arrow} does not fit a {:?} node{label}",
            node.basic_type
        ),
    )
}

/// Nulls of an array that its field must declare. Unions, runs and arrays of nulls have no validity of
/// their own, and any field may have them.
pub(crate) fn declared_nulls(array: &dyn Array) -> usize {
    match array.data_type() {
        ArrowType::Union(..) | ArrowType::RunEndEncoded(..) | ArrowType::Null => 0,
        _ => array.logical_null_count(),
    }
}

/// Whether values of the node can be stored with a value dictionary: not those of a bit or a byte,
/// whose codes would be wider than the values, nor nested ones.
pub(crate) fn has_dictionary(basic_type: BasicType) -> bool {
    use BasicType::*;
    matches!(
        basic_type,
        Int16
            | Int32
            | Int64
            | Float32
            | Float64
            | Binary
            | FixedSizeBinary
            | String
            | Guid
            | DateTime
    )
}

/// The largest number of an Arrow type of integers, such as those of keys and of run ends.
pub(crate) fn largest_integer(arrow: &ArrowType) -> u64 {
    match arrow {
        ArrowType::Int8 => i8::MAX as u64,
        ArrowType::UInt8 => u8::MAX.into(),
        ArrowType::Int16 => i16::MAX as u64,
        ArrowType::UInt16 => u16::MAX.into(),
        ArrowType::Int32 => i32::MAX as u64,
        ArrowType::UInt32 => u32::MAX.into(),
        ArrowType::Int64 => i64::MAX as u64,
        _ => u64::MAX,
    }
}

/// How many dictionary entries the keys of a type tell apart.
pub(crate) fn max_entries(key: &ArrowType) -> usize {
    usize::try_from(largest_integer(key)).map_or(usize::MAX, |key| key.saturating_add(1))
}

/// Bytes per stored value of a node of fixed width.
fn fixed_width(node: &DataType) -> Option<usize> {
    Physical::of(node).ok()?.width()
}
