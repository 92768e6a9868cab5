//! Converts pyarrow expressions to filters. Parts with an equivalent become predicates, which use statistics and
//! dictionaries; pyarrow evaluates the rest on the remaining rows.

mod decode;
pub(crate) mod residual;
mod translate;

pub(crate) use translate::is_nan;

use arrow_schema::SchemaRef;
use arrow_shard::read::Predicate;
use decode::Node;
use pyo3::prelude::*;

/// Returns whether an object is a pyarrow expression.
pub(crate) fn is_expression(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = object.get_type();
    let module = class.module()?;
    Ok(module.to_string().starts_with("pyarrow") && class.name()? == "Expression")
}

/// Returns a predicate for the rows in which a pyarrow expression over columns of the schema is true.
pub(crate) fn predicate(expression: &Bound<'_, PyAny>, schema: &SchemaRef) -> PyResult<Predicate> {
    let Some(tree) = decode::decode(expression) else {
        let all = schema.fields().iter().map(|field| field.name().clone());
        return residual::predicate(expression, all.collect(), schema);
    };
    let mut parts = Vec::new();
    conjuncts(&tree, &mut parts);
    let translated: Vec<Option<Predicate>> = parts
        .iter()
        .map(|part| translate::predicate(part, schema))
        .collect();
    // If a part has no translation, pyarrow evaluates the whole expression on the rows that the other parts leave.
    let residual = if translated.iter().all(Option::is_some) {
        None
    } else {
        Some(residual::predicate(expression, tree.columns(), schema)?)
    };
    let parts = translated.into_iter().flatten().chain(residual);
    Ok(parts
        .reduce(Predicate::and)
        .unwrap_or_else(|| residual::always(schema)))
}

/// Returns the top-level columns that a pyarrow expression refers to; None if they are unknown.
#[pyfunction]
pub(crate) fn expression_columns(expression: &Bound<'_, PyAny>) -> Option<Vec<String>> {
    decode::decode(expression).map(|tree| tree.columns())
}

/// Collects the parts of a conjunction.
fn conjuncts<'a>(node: &'a Node, parts: &mut Vec<&'a Node>) {
    match node {
        Node::Call(call) if call.name == "and_kleene" => {
            call.arguments
                .iter()
                .for_each(|part| conjuncts(part, parts));
        }
        other => parts.push(other),
    }
}
