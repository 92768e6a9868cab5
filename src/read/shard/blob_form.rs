//! Values of binary columns, or descriptions of them.

use super::column::Column;
use arrow_schema::{DataType, Field, Fields};

/// Form in which a scan returns the values of binary columns, see
/// [`ScanBuilder::with_blobs_as`](crate::read::ScanBuilder::with_blobs_as).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum BlobForm {
    /// The values.
    #[default]
    Values,
    /// A struct of `position` and `size` for each value; null for null. Both members are UInt64. The position is the
    /// first byte of the blob in the file of its stripe, and null for values that share blocks with others. The size is
    /// the value's length in bytes.
    Descriptions,
}

/// Returns the members of a description.
pub(in crate::read) fn description_fields() -> Fields {
    Fields::from(vec![
        Field::new("position", DataType::UInt64, true),
        Field::new("size", DataType::UInt64, false),
    ])
}

impl BlobForm {
    /// Changes the binary columns to descriptions if this is [`Descriptions`](Self::Descriptions).
    pub(in crate::read) fn apply(self, columns: &mut [Column]) {
        for column in columns {
            let is_binary = matches!(
                column.field.data_type(),
                DataType::Binary | DataType::LargeBinary | DataType::BinaryView
            );
            if self == Self::Descriptions && is_binary {
                let field = &column.field;
                let described = DataType::Struct(description_fields());
                column.field = Field::new(field.name(), described, field.is_nullable());
                column.described = true;
            }
        }
    }
}
