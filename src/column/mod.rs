//! Conversion between Arrow types and the types of a shard.

mod arrow_schema_hint;
mod assemble;
mod chunk;
mod convert;
mod decimal;
mod integer_set;
mod range;
mod schema;
mod shred;
mod stored_as;
#[cfg(test)]
mod tests;
mod ticks;

pub(crate) use arrow_schema_hint::{ArrowSchemaHint, encode as encode_arrow_schema};
pub(crate) use assemble::widen;
pub use assemble::{Casts, assemble, assemble_as, byte_array, check_cast};
pub use chunk::{
    ByteLayout, ByteValues, Chunk, DecodedDictionary, DecodedLists, DecodedUnions,
    DictionaryEntries, EntryArray, ListOffsets, NodeSource, OffsetWidth, Values,
};
pub(crate) use integer_set::IntegerSet;
pub(crate) use range::{codes_within, integer_key, integers_within};
pub(crate) use schema::{
    ColumnPlace, UUID_LABEL, column_places, has_packed_columns, packed_columns_label,
    packed_columns_name,
};
pub use schema::{NativeTypes, SchemaOptions, TypeMapping, complete_labels, to_arrow, to_shard};
pub use shred::shred;
pub use stored_as::StoredAs;
pub(crate) use ticks::UNIX_EPOCH as UNIX_EPOCH_TICKS;

// Used for any column: a set of skipped rows is a bitmap.
pub(crate) use crate::kernels::{bit_runs, deposit};
// The writer copies values out of views itself.
pub(crate) use crate::kernels::append_views;

use crate::buffer::Physical;
use crate::error::{Error, ErrorKind};
use crate::format::{BasicType, DataType};
use arrow_array::Array;
use arrow_schema::DataType as ArrowType;

/// Returns whether valid values of a node may be outside the range of the Arrow type that it is read as, because the
/// node, or one below it, has a native type of Amudai.
pub(crate) fn may_exceed_arrow(node: &DataType) -> bool {
    schema::NativeType::is_within(node)
}

/// Returns the error for an Arrow type that does not match a schema node.
fn mismatch(arrow: &ArrowType, node: &DataType) -> Error {
    let label = match node.label() {
        "" => String::new(),
        label => format!(" labeled `{label}`"),
    };
    Error::new(
        ErrorKind::SchemaMismatch,
        format!(
            "Arrow type {arrow} does not fit a {:?} node{label}",
            node.basic_type
        ),
    )
}

/// Returns the number of nulls of an array that its field must declare. Unions, run-end encoded arrays and null arrays
/// have no validity buffer, so any field may contain them.
pub(crate) fn declared_nulls(array: &dyn Array) -> usize {
    match array.data_type() {
        ArrowType::Union(..) | ArrowType::RunEndEncoded(..) | ArrowType::Null => 0,
        _ => array.logical_null_count(),
    }
}

/// Returns whether values of the type can be stored with a value dictionary. Nested values cannot. Values of a bit or a
/// byte get none, because codes would be wider than the values.
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

/// Returns the bytes per stored value of a node of fixed width.
fn fixed_width(node: &DataType) -> Option<usize> {
    Physical::of(node).ok()?.width()
}
