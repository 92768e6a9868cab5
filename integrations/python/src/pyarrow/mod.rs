//! Expressions of pyarrow as filters: what means the same here becomes a predicate, which statistics and
//! dictionaries answer, and pyarrow evaluates the rest on the rows that are left.

mod decode;
mod residual;
mod translate;

pub(crate) use translate::is_nan;

use arrow_schema::SchemaRef;
use arrow_shard::read::Predicate;
use decode::Node;
use pyo3::prelude::*;

/// Whether an object is an expression of pyarrow.
pub(crate) fn is_expression(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = object.get_type();
    let module = class.module()?;
    Ok(module.to_string().starts_with("pyarrow") && class.name()? == "Expression")
}

/// The rows for which an expression over columns of the schema is true.
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
    // The whole expression is evaluated where a part has no translation: what the other parts leave.
    let residual = match translated.iter().all(Option::is_some) {
        true => None,
        false => Some(residual::predicate(expression, tree.columns(), schema)?),
    };
    let parts = translated.into_iter().flatten().chain(residual);
    Ok(parts
        .reduce(Predicate::and)
        .unwrap_or_else(|| always(schema)))
}

/// The top-level columns that an expression of pyarrow is made of; None if that is not known.
#[pyfunction]
pub(crate) fn expression_columns(expression: &Bound<'_, PyAny>) -> Option<Vec<String>> {
    decode::decode(expression).map(|tree| tree.columns())
}

/// The parts of a conjunction.
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

/// Every row.
fn always(schema: &SchemaRef) -> Predicate {
    let name = schema.fields().first().map_or("", |field| field.name());
    let null = arrow_shard::read::col(name).is_null();
    null.clone().or(null.not())
}
