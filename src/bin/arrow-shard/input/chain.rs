//! Several inputs, one after the other.

use super::source::Input;
use crate::failure::Failure;
use crate::leaves::cast_batch;
use crate::progress::Total;
use crate::text;
use arrow_schema::{Field, Schema};
use std::sync::Arc;

/// Chains named inputs. Their columns must have the same names and types.
pub(crate) fn chained(inputs: Vec<(String, Input)>) -> Result<Input, Failure> {
    let Some((first_name, first)) = inputs.first() else {
        return Err(Failure::new("there is no input"));
    };
    let mut fields: Vec<Field> = first
        .schema
        .fields()
        .iter()
        .map(|it| it.as_ref().clone())
        .collect();
    for (name, input) in &inputs[1..] {
        let others = input.schema.fields();
        let differs = |(field, other): &(&Field, &Field)| {
            field.name() != other.name() || field.data_type() != other.data_type()
        };
        let pairs = fields.iter().zip(others.iter().map(AsRef::as_ref));
        if let Some((field, other)) = pairs.clone().find(differs) {
            return Err(Failure::new(format!(
                "{name}: it has column `{}` of {}, where {first_name} has `{}` of {}; choose common \
                 columns with --columns, or print the files one by one",
                other.name(),
                other.data_type(),
                field.name(),
                field.data_type()
            )));
        }
        if fields.len() != others.len() {
            return Err(Failure::new(format!(
                "{name}: it has {}, where {first_name} has {}; choose common columns with --columns, or \
                 print the files one by one",
                text::count(others.len() as u64, "column"),
                text::count(fields.len() as u64, "column")
            )));
        }
        for (field, other) in fields.iter_mut().zip(others) {
            field.set_nullable(field.is_nullable() || other.is_nullable());
        }
    }
    let metadata = first.schema.metadata().clone();
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    let common = schema.clone();
    let batches = inputs
        .into_iter()
        .flat_map(|(_, input)| input.batches)
        .map(move |batch| cast_batch(&batch?, &common));
    Ok(Input {
        schema,
        total: Total::Unknown,
        batches: Box::new(batches),
    })
}
