//! One table of files in several formats.

use super::kind::Kind;
use super::types;
use datafusion::arrow::datatypes::Schema;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, ScalarValue, internal_datafusion_err, plan_datafusion_err};
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, cast, ident, lit};
use std::sync::Arc;

/// Unites tables by the names of their columns. A column that a table lacks is null there. Its type is the one that
/// holds the values of all tables.
///
/// # Errors
/// Returns an error if the types of a column have nothing in common, as numbers and text.
pub(crate) fn unite(
    name: &str,
    mut tables: Vec<(Kind, Arc<dyn TableProvider>)>,
) -> Result<Arc<dyn TableProvider>> {
    if tables.len() == 1 {
        let only = tables.pop().map(|(_, table)| table);
        return only.ok_or_else(|| internal_datafusion_err!("one table"));
    }
    let mut united: Option<Schema> = None;
    for (kind, table) in &tables {
        let schema = table.schema();
        united = Some(match united {
            None => schema.as_ref().clone(),
            Some(before) => types::unite(&before, &schema, false).map_err(|column| {
                plan_datafusion_err!(
                    "`{name}` has files of several formats; in {} files, column {column} the others. Query them one \
                     by one, and unite the results by UNION ALL",
                    kind.format
                )
            })?,
        });
    }
    let united = united.unwrap_or_else(Schema::empty);
    let mut plan: Option<LogicalPlanBuilder> = None;
    for (_, table) in tables {
        let schema = table.schema();
        let column = |field: &Arc<datafusion::arrow::datatypes::Field>| -> Result<Expr> {
            let ty = field.data_type();
            let value = match schema.field_with_name(field.name()) {
                Ok(own) if own.data_type() == ty => ident(field.name()),
                Ok(_) => cast(ident(field.name()), ty.clone()),
                Err(_) => lit(ScalarValue::try_from(ty)?),
            };
            Ok(value.alias(field.name()))
        };
        let columns: Result<Vec<Expr>> = united.fields().iter().map(column).collect();
        let scan = LogicalPlanBuilder::scan("files", provider_as_source(table), None)?;
        let part = scan.project(columns?)?;
        plan = Some(match plan {
            None => part,
            Some(before) => before.union(part.build()?)?,
        });
    }
    let plan = plan.ok_or_else(|| internal_datafusion_err!("no table"))?;
    Ok(Arc::new(ViewTable::new(plan.build()?, None)))
}
