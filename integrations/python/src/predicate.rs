//! Converts the filters that calls accept to predicates.

use crate::errors::{exception, invalid_argument};
use crate::filter::operand;
use crate::{polars, pyarrow};
use arrow_schema::SchemaRef;
use arrow_shard::Shard;
use arrow_shard::read::Predicate;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Converts a filter: a [`Column`](crate::filter::Column) or [`Expression`](crate::filter::Expression), the text of a
/// condition, a pyarrow expression over columns of the schema, one of polars, or a list of filters that must all be
/// true. If a shard is passed, a text is checked against its columns now; otherwise when a scan uses it.
pub(crate) fn predicate(
    object: &Bound<'_, PyAny>,
    schema: &SchemaRef,
    at_hand: Option<&Shard>,
) -> PyResult<Predicate> {
    if let Ok(all) = object.cast::<PyList>() {
        let predicates = all
            .iter()
            .map(|one| predicate(&one, schema, at_hand))
            .collect::<PyResult<Vec<_>>>()?;
        let message = "expected a condition, found an empty list";
        return predicates
            .into_iter()
            .reduce(Predicate::and)
            .ok_or_else(|| invalid_argument(object.py(), message));
    }
    if let Ok(text) = object.extract::<String>() {
        let parsed = match at_hand {
            Some(shard) => shard.parse_predicate(&text),
            None => text.parse(),
        };
        return parsed.map_err(|error| exception(object.py(), error));
    }
    if pyarrow::is_expression(object)? {
        return pyarrow::predicate(object, schema);
    }
    if polars::is_expression(object)? {
        return polars::predicate(object, schema);
    }
    operand(object)
}
