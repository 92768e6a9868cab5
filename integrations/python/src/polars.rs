//! Converts polars expressions to filters. Parts with an equivalent become predicates; polars evaluates the rest on the
//! remaining rows.

use crate::batch::{ArrowSchema, Batch, Rows};
use crate::filter::operand;
use crate::pyarrow::residual::{always, from_calls};
use arrow_array::{Array, ArrayRef};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat;
use arrow_shard::read::Predicate;
use pyo3::prelude::*;

/// Returns whether an object is a polars expression.
pub(crate) fn is_expression(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = object.get_type();
    let module = class.module()?;
    Ok(module.to_string().starts_with("polars.") && class.name()? == "Expr")
}

/// The parts of an expression: conditions with the same meaning, and the columns and the function of the rest.
type Parts<'py> = (
    Vec<Bound<'py, PyAny>>,
    Option<(Vec<String>, Bound<'py, PyAny>)>,
);

/// Returns a predicate for the rows in which a polars expression over columns of the schema is true.
pub(crate) fn predicate(expression: &Bound<'_, PyAny>, schema: &SchemaRef) -> PyResult<Predicate> {
    let module = expression.py().import("arrow_shard._polars_filter")?;
    let parts = module.call_method1("parts", (expression, ArrowSchema(schema.clone())))?;
    let (conditions, rest): Parts<'_> = parts.extract()?;
    let mut all = conditions
        .iter()
        .map(operand)
        .collect::<PyResult<Vec<_>>>()?;
    if let Some((columns, matches)) = rest {
        let matches = matches.unbind();
        all.push(from_calls(columns, schema, move |py, batch| {
            array_of(&matches.bind(py).call1((Batch(batch),))?)
        }));
    }
    Ok(all
        .into_iter()
        .reduce(Predicate::and)
        .unwrap_or_else(|| always(schema)))
}

/// Returns the only column of a data frame.
fn array_of(frame: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let py = frame.py();
    let failed = |error| crate::errors::arrow_exception(py, error);
    let mut arrays = Vec::new();
    for batch in Rows::of(frame)? {
        arrays.extend(batch.map_err(failed)?.columns().first().cloned());
    }
    let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    concat(&arrays).map_err(failed)
}
