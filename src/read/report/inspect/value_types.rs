//! Constants and bounds of fields as values of their Arrow types.

use crate::arrow::{child_fields, value_type};
use crate::error::Result;
use crate::format::{AnyValue, DataType, FieldDescriptor};
use crate::read::open_shard::Shard;
use crate::read::report::statistics::{has_bounds, value_array};
use crate::read::scan::constant::bound_value;
use crate::read::shard::columns::InternalFields;
use crate::read::shard::metadata::ready;
use crate::read::shard::projection::Projection;
use arrow_array::ArrayRef;
use arrow_schema::DataType as ArrowType;
use std::collections::HashMap;

/// The Arrow types of the fields without children, and their nodes, by schema id.
#[derive(Debug, Default)]
pub(super) struct ValueTypes(HashMap<u32, (ArrowType, DataType)>);

/// The constant, the least and the greatest value of a field.
type TypedRange = (Option<ArrayRef>, Option<ArrayRef>, Option<ArrayRef>);

impl ValueTypes {
    /// Loads the types of all columns of a shard. Returns none if the columns cannot be read as Arrow types, because
    /// the rest of the report does not need them.
    ///
    /// # Errors
    /// Returns the error of a reader.
    pub(super) async fn of(shard: &Shard) -> Result<Self> {
        let metadata = &shard.metadata;
        let columns = metadata.run(|step| {
            let columns =
                ready!(metadata.columns_with(step, &Projection::All, InternalFields::Shown));
            Ok(Some(columns))
        });
        let columns = match columns.await {
            Err(error) if error.is_of_reader() => return Err(error),
            columns => columns.unwrap_or_default(),
        };
        let mut types = Self::default();
        for column in columns {
            types.add(column.field.data_type(), &column.node);
        }
        Ok(types)
    }

    fn add(&mut self, data_type: &ArrowType, node: &DataType) {
        let data_type = value_type(data_type);
        for (child, node) in child_fields(data_type).zip(&node.children) {
            self.add(child.data_type(), node);
        }
        if has_bounds(node) {
            let known = (data_type.clone(), node.clone());
            self.0.insert(node.schema_id, known);
        }
    }

    /// Returns the constant, least and greatest value of a field; `None` for values that its type does not have.
    pub(super) async fn of_field(
        &self,
        shard: &Shard,
        schema_id: u32,
        field: &FieldDescriptor,
    ) -> Result<TypedRange> {
        let Some((value_type, node)) = self.0.get(&schema_id) else {
            return Ok((None, None, None));
        };
        let metadata = &shard.metadata;
        let value = async |value: Option<AnyValue>| {
            let array = metadata
                .run(|step| value_array(metadata, step, value_type, node, value.clone()).map(Some));
            array.await
        };
        let constant = field
            .constant_value
            .clone()
            .filter(|value| !value.is_null());
        let constant = value(constant).await?;
        let Some(range) = &field.range_stats else {
            return Ok((constant, None, None));
        };
        let bound = |bound: &Option<AnyValue>, is_exact| {
            let bound = bound.as_ref()?;
            bound_value(bound, is_exact, node)
        };
        let min = value(bound(&range.min_value, range.min_inclusive)).await?;
        let max = value(bound(&range.max_value, range.max_inclusive)).await?;
        Ok((constant, min, max))
    }
}
