//! The columns of several files, united by name.

use super::plan::Plan;
use super::wanted::Wanted;
use crate::failure::Failure;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_shard::ops::widened_type;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A column of some of the files.
struct Column {
    field: Field,
    /// The types in the files, each once.
    types: Vec<DataType>,
    /// The index of the first file that has a type for it.
    first: usize,
    /// Number of files that have it.
    files: usize,
}

/// Unites the columns in the order in which they first appear, or in the order of the `selected` names, each a column
/// or a member of one. The columns that `folders` give are the last. A column that some files lack is null in their
/// rows.
///
/// # Errors
/// Fails if types differ, unless one of them is wanted, or `unify` is set and a wider type exists. Fails if a file
/// lacks a column that must not be null.
pub(super) fn united(
    plans: &[Plan],
    folders: Vec<Field>,
    selected: &[String],
    unify: bool,
    wanted: &Wanted,
) -> Result<SchemaRef, Failure> {
    let names = |plan: &Plan| -> Vec<String> {
        let fields = plan.schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    };
    let Some(first) = plans.first() else {
        return Err(Failure::new("there is no input"));
    };
    let first_names = names(first);
    let is_positional = plans.iter().all(|plan| names(plan) == first_names);
    let mut columns: Vec<Column> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (file, plan) in plans.iter().enumerate() {
        if file > 0 && Arc::ptr_eq(&plan.schema, &plans[file - 1].schema) {
            // Files with the same columns are common.
            let own = plan.schema.fields().iter().enumerate();
            for (position, field) in own {
                let index = if is_positional {
                    Some(&position)
                } else {
                    known.get(field.name())
                };
                if let Some(column) = index.and_then(|index| columns.get_mut(*index)) {
                    column.files += 1;
                }
            }
            continue;
        }
        if !is_positional && let Some(name) = repeated(&plan.schema) {
            return Err(Failure::new(format!(
                "{}: column `{name}` appears twice, and columns of several files are united by name; \
                 choose other columns with --columns",
                plan.name()
            )));
        }
        for (position, field) in plan.schema.fields().iter().enumerate() {
            let index = if is_positional {
                position
            } else {
                let next = columns.len();
                *known.entry(field.name().clone()).or_insert(next)
            };
            match columns.get_mut(index) {
                Some(column) if wanted.data_type(field.name()).is_some() => {
                    let is_nullable = column.field.is_nullable() || field.is_nullable();
                    column.field.set_nullable(is_nullable);
                    column.files += 1;
                }
                Some(column) => column.meet(field, file, plans, unify)?,
                None => columns.push(Column {
                    field: Field::clone(field),
                    types: vec![field.data_type().clone()],
                    first: file,
                    files: 1,
                }),
            }
        }
    }
    for column in &mut columns {
        column.complete(plans, unify || wanted.lists_columns())?;
    }
    let mut fields: Vec<Field> = columns.into_iter().map(|column| column.field).collect();
    fields.extend(folders);
    fields.sort_by_key(|field| place(field, selected));
    let fields = wanted.apply(fields, selected)?;
    let metadata = first.schema.metadata().clone();
    Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
}

/// Returns the place of a column among the selected ones.
fn place(field: &Field, selected: &[String]) -> Option<usize> {
    let is_of_column = |name: &String| {
        let rest = name.strip_prefix(field.name().as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    selected.iter().position(is_of_column)
}

impl Column {
    /// Adds the column of another file.
    fn meet(
        &mut self,
        field: &Field,
        file: usize,
        plans: &[Plan],
        unify: bool,
    ) -> Result<(), Failure> {
        self.files += 1;
        let is_nullable = self.field.is_nullable() || field.is_nullable();
        let (own, other) = (self.field.data_type(), field.data_type());
        if !self.types.contains(other) {
            // A column of text without values has no type yet.
            let is_untyped =
                |ty: &DataType, file: usize| *ty == DataType::Null && plans[file].is_text();
            let data_type = if is_untyped(own, self.first) {
                self.first = file;
                self.types.clear();
                Some(other.clone())
            } else if is_untyped(other, file) {
                Some(own.clone())
            } else {
                let types = self.types.iter().chain([other]);
                widened_type(types).filter(|_| unify)
            };
            let data_type = data_type.ok_or_else(|| self.difference(other, file, plans, unify))?;
            if !is_untyped(other, file) {
                self.types.push(other.clone());
            }
            self.field.set_data_type(data_type);
        }
        self.field.set_nullable(is_nullable);
        Ok(())
    }

    fn difference(&self, other: &DataType, file: usize, plans: &[Plan], unify: bool) -> Failure {
        let own = self.field.data_type();
        let advice = match widened_type([own, other]) {
            Some(_) if !unify => "--unify widens the types, or choose",
            _ => "no type holds both exactly; choose",
        };
        Failure::new(format!(
            "{}: column `{}` is {other}, where {} has {own}; {advice} other columns with --columns",
            plans[file].name(),
            self.field.name(),
            plans[self.first].name(),
        ))
    }

    /// Makes a column that some files lack nullable, if that is `allowed`.
    fn complete(&mut self, plans: &[Plan], allowed: bool) -> Result<(), Failure> {
        let is_missing = self.files < plans.len();
        if *self.field.data_type() == DataType::Null && plans.iter().all(Plan::is_csv) {
            // As in a single file.
            self.field.set_data_type(DataType::Utf8);
        }
        if !is_missing || self.field.is_nullable() {
            return Ok(());
        }
        if allowed {
            self.field.set_nullable(true);
            return Ok(());
        }
        let name = self.field.name();
        let lacks = |plan: &&Plan| plan.schema.index_of(name).is_err();
        let other = plans.iter().find(lacks).map(Plan::name);
        Err(Failure::new(format!(
            "{}: there is no column `{name}`, which is not null in {}; --unify makes it nullable",
            other.unwrap_or_default(),
            plans[self.first].name()
        )))
    }
}

/// Returns a name that several columns have.
fn repeated(schema: &Schema) -> Option<&str> {
    let mut names = HashSet::new();
    let mut all = schema.fields().iter().map(|field| field.name().as_str());
    all.find(|name| !names.insert(*name))
}

/// Returns the index in a file of each of the united columns, or `None` where the file has no such column, or one
/// without values.
pub(super) fn indices_in(file: &Schema, united: &Schema) -> Vec<Option<usize>> {
    let (own, all) = (file.fields(), united.fields());
    let has_values = |index: &usize| *own[*index].data_type() != DataType::Null;
    let mut pairs = own.iter().zip(all);
    if own.len() == all.len() && pairs.all(|(a, b)| a.name() == b.name()) {
        // Several columns may have one name.
        return (0..own.len()).map(|i| Some(i).filter(has_values)).collect();
    }
    let known: HashMap<&str, usize> = own
        .iter()
        .enumerate()
        .map(|(i, field)| (field.name().as_str(), i))
        .collect();
    let index = |name: &str| known.get(name).copied().filter(has_values);
    all.iter().map(|field| index(field.name())).collect()
}
