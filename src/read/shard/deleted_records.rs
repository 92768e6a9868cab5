//! Spec: Chapter 6, "Internal Fields": which records of a shard are deleted.

use super::column::Column;
use super::fetch::StepBytes;
use super::metadata::{Metadata, ready};
use crate::column::Casts;
use crate::error::{Error, Result};
use crate::format::{BasicType, DELETED_RECORD, StripeDirectory};
use arrow_schema::{DataType, Field};

impl Metadata {
    /// Whether there are deleted records.
    pub(in crate::read) fn has_deleted(&self) -> bool {
        self.directory.deleted_record_count > 0
    }

    /// Returns the internal field that is true for deleted records, as a column. For other records it is null or
    /// missing.
    pub(in crate::read) fn deleted_column(&self, step: &StepBytes<'_>) -> Result<Option<Column>> {
        let schema = ready!(self.schema(step));
        // The field is the last one, unless there are other internal fields.
        for i in (0..schema.len()).rev() {
            let field = schema.field(i)?;
            if field.internal_kind.as_deref() != Some(DELETED_RECORD) {
                continue;
            }
            let node = field.data_type;
            if node.basic_type != BasicType::Boolean {
                return Err(Error::corrupt(format!(
                    "the internal field {DELETED_RECORD} is {}, expected Boolean",
                    node.stored_type()
                )));
            }
            let field = Field::new(DELETED_RECORD, DataType::Boolean, true);
            return Ok(Some(Column::new(field, node, Casts::default())));
        }
        Err(Error::corrupt(format!(
            "{} records are deleted, and no internal field {DELETED_RECORD} says which",
            self.directory.deleted_record_count
        )))
    }
}

/// Returns the number of records of a stripe that are not deleted.
pub(in crate::read) fn live_rows(stripe: &StripeDirectory) -> u64 {
    stripe.total_record_count - stripe.deleted_record_count
}
