//! Equality of the rows of an array, for dictionaries and runs.

use super::Assembler;
use crate::buffer::Selection;
use crate::error::{Error, Result};
use crate::format::DataType;
use arrow_array::ArrayRef;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType as ArrowType, Field, Fields, UnionFields};
use std::sync::Arc;

impl Assembler<'_> {
    /// Returns byte strings that are equal where rows of the node's array are equal. Floats are compared by their bits,
    /// and nulls of different variants of a union differ.
    pub(super) fn comparable(
        &mut self,
        array: &ArrayRef,
        node: &DataType,
        rows: &Selection,
    ) -> Result<Rows> {
        if let Some(rows) = convert(array)? {
            return Ok(rows);
        }
        // Arrow cannot convert dictionaries of nested values, but it can convert the plain values.
        let plain = self.node(&plain_type(array.data_type())?, node, rows)?;
        convert(&plain)?.ok_or_else(|| {
            Error::unsupported(format!(
                "values of type {} in a dictionary",
                array.data_type()
            ))
        })
    }
}

fn convert(array: &ArrayRef) -> Result<Option<Rows>> {
    let field = SortField::new(array.data_type().clone());
    if !RowConverter::supports_fields(std::slice::from_ref(&field)) {
        return Ok(None);
    }
    let converter = RowConverter::new(vec![field])?;
    Ok(Some(
        converter.convert_columns(std::slice::from_ref(array))?,
    ))
}

/// Returns the type without dictionaries and runs at any depth.
fn plain_type(arrow: &ArrowType) -> Result<ArrowType> {
    let plain = |field: &Arc<Field>| -> Result<Arc<Field>> {
        let data_type = plain_type(field.data_type())?;
        Ok(Arc::new(field.as_ref().clone().with_data_type(data_type)))
    };
    Ok(match arrow {
        ArrowType::Dictionary(_, value) => plain_type(value)?,
        ArrowType::RunEndEncoded(_, values) => plain_type(values.data_type())?,
        ArrowType::List(f) => ArrowType::List(plain(f)?),
        ArrowType::LargeList(f) => ArrowType::LargeList(plain(f)?),
        ArrowType::ListView(f) => ArrowType::ListView(plain(f)?),
        ArrowType::LargeListView(f) => ArrowType::LargeListView(plain(f)?),
        ArrowType::FixedSizeList(f, size) => ArrowType::FixedSizeList(plain(f)?, *size),
        ArrowType::Map(entries, sorted) => ArrowType::Map(plain(entries)?, *sorted),
        ArrowType::Struct(members) => {
            ArrowType::Struct(members.iter().map(plain).collect::<Result<Fields>>()?)
        }
        ArrowType::Union(variants, mode) => {
            let ids = variants.iter().map(|(id, _)| id);
            let fields = variants.iter().map(|(_, f)| plain(f));
            let fields = fields.collect::<Result<Vec<_>>>()?;
            ArrowType::Union(UnionFields::try_new(ids, fields)?, *mode)
        }
        leaf => leaf.clone(),
    })
}
