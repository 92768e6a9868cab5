//! The order of rows.

use super::plain::plain;
use crate::failure::Failure;
use crate::names::no_column;
use arrow_array::RecordBatch;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{Schema, SortOptions};
use arrow_shard::metadata::SortingColumn;
use std::sync::Arc;

/// The columns that rows are sorted by. Nulls come last.
#[derive(Debug, Clone)]
pub(in crate::convert) struct Order {
    columns: Vec<Column>,
    converter: Arc<RowConverter>,
}

#[derive(Debug, Clone)]
struct Column {
    index: usize,
    name: String,
    descends: bool,
    is_nested: bool,
}

impl Order {
    /// Returns the order by the columns with these names. A `-` before a name means that its values descend.
    ///
    /// # Errors
    /// Fails if a column does not exist, or if its values have no order.
    pub(in crate::convert) fn of(schema: &Schema, names: &[String]) -> Result<Self, Failure> {
        let columns: Vec<Column> = names
            .iter()
            .map(|name| column(schema, name))
            .collect::<Result<_, _>>()?;
        Self::by(schema, columns)
    }

    /// Returns the order by the columns with these indices, which ascend.
    ///
    /// # Errors
    /// Fails if the values of a column have no order.
    pub(in crate::convert) fn ascending(
        schema: &Schema,
        indices: &[usize],
    ) -> Result<Self, Failure> {
        let columns = indices.iter().map(|&index| Column {
            index,
            name: schema.field(index).name().clone(),
            descends: false,
            is_nested: schema.field(index).data_type().is_nested(),
        });
        Self::by(schema, columns.collect())
    }

    fn by(schema: &Schema, columns: Vec<Column>) -> Result<Self, Failure> {
        let plain = plain(schema);
        let mut fields = Vec::with_capacity(columns.len());
        for column in &columns {
            let data_type = plain.field(column.index).data_type();
            let options = SortOptions {
                descending: column.descends,
                nulls_first: false,
            };
            let field = SortField::new_with_options(data_type.clone(), options);
            if !RowConverter::supports_fields(std::slice::from_ref(&field)) {
                return Err(Failure::Usage(format!(
                    "--sort: column `{}` is {}, which has no order",
                    column.name,
                    schema.field(column.index).data_type()
                )));
            }
            fields.push(field);
        }
        Ok(Self {
            columns,
            converter: Arc::new(RowConverter::new(fields)?),
        })
    }

    /// Returns rows of bytes that compare as the rows of a batch do, which has the types in which rows are sorted.
    pub(super) fn keys(&self, batch: &RecordBatch) -> Result<Rows, Failure> {
        let columns = self.columns.iter();
        let columns: Vec<_> = columns.map(|it| batch.column(it.index).clone()).collect();
        Ok(self.converter.convert_columns(&columns)?)
    }

    /// Whether rows with equal values in the columns with these names follow each other.
    pub(in crate::convert) fn groups(&self, names: &[String]) -> bool {
        let first = self.columns.iter().take(names.len());
        let first: Vec<&String> = first.map(|it| &it.name).collect();
        first.len() == names.len() && names.iter().all(|name| first.contains(&name))
    }

    /// Returns the order as a shard declares it, up to the first column that cannot be declared.
    pub(in crate::convert) fn declared(&self) -> Vec<SortingColumn> {
        let columns = self.columns.iter();
        let known = columns.take_while(|it| !it.is_nested && !it.name.contains('.'));
        let declared = known.map(|it| SortingColumn {
            path: it.name.clone(),
            descending: it.descends,
            nulls_first: false,
        });
        declared.collect()
    }
}

fn column(schema: &Schema, name: &str) -> Result<Column, Failure> {
    let after_sign = name.strip_prefix('-');
    // A column may have a name that begins with the sign.
    let (name, descends) = match (schema.index_of(name), after_sign) {
        (Err(_), Some(rest)) => (rest, true),
        _ => (name, false),
    };
    let same = schema.fields().iter().filter(|field| field.name() == name);
    if same.count() > 1 {
        let why = format!("--sort: several columns have the name `{name}`");
        return Err(Failure::Usage(why));
    }
    let index = schema.index_of(name).map_err(|_| {
        let known = schema.fields().iter().map(|field| field.name().as_str());
        let why = sql_order(schema, name).unwrap_or_else(|| no_column(name, known));
        Failure::Usage(format!("--sort: {why}"))
    })?;
    Ok(Column {
        index,
        name: name.to_owned(),
        descends,
        is_nested: schema.field(index).data_type().is_nested(),
    })
}

/// Returns advice for a column with an order as in SQL, `delay DESC`.
fn sql_order(schema: &Schema, name: &str) -> Option<String> {
    let (column, order) = name.trim().rsplit_once(char::is_whitespace)?;
    let column = column.trim_end();
    schema.index_of(column).ok()?;
    match order.to_ascii_lowercase().as_str() {
        "desc" => Some(format!("write `-{column}` for values that descend")),
        "asc" => Some(format!("write `{column}` for values that ascend")),
        _ => None,
    }
}
