//! Columns that the names of folders give, as in `year=2024/month=5/a.parquet`.

use super::exact_text;
use super::folder_values::FolderValues;
use super::infer_csv::type_of;
use super::plan::Plan;
use super::wanted::Wanted;
use crate::failure::Failure;
use arrow_array::{ArrayRef, StringArray};
use arrow_schema::{DataType, Field};
use std::path::PathBuf;
use std::sync::Arc;

/// Returns the columns that the folders of files give, in the order in which they first appear, each with a value for
/// every file. A file in no folder of a column has null.
pub(crate) fn values_by_file(files: &[PathBuf]) -> Result<Vec<(Field, ArrayRef)>, Failure> {
    let folders: Vec<FolderValues> = files.iter().map(|file| FolderValues::of(file)).collect();
    let mut names: Vec<&str> = Vec::new();
    for name in folders.iter().flat_map(FolderValues::names) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let column = |name: &str| {
        let values = folders.iter().map(|folder| folder.value(name)?.as_deref());
        let texts = StringArray::from_iter(values);
        let data_type = type_of(texts.iter().flatten());
        let texts: ArrayRef = Arc::new(texts);
        let values = match &data_type {
            DataType::Utf8 => texts,
            other => exact_text::parsed(&texts, other)
                .map_err(|e| e.within(format!("folder of column `{name}`")))?,
        };
        Ok((Field::new(name, data_type, true), values))
    };
    names.into_iter().map(column).collect()
}

/// Returns the columns that the folders of the files give, in the order in which they first appear. They have the
/// wanted types, or the types that CSV with these values would have.
///
/// # Errors
/// Fails if a file has a column with the name of a folder.
pub(super) fn folder_columns(plans: &[Plan], wanted: &Wanted) -> Result<Vec<Field>, Failure> {
    let mut named: Vec<(&str, &Plan)> = Vec::new();
    for plan in plans {
        for name in plan.folders.names() {
            if !named.iter().any(|(known, _)| *known == name) {
                named.push((name, plan));
            }
        }
    }
    for (name, plan) in &named {
        let stored = |plan: &&Plan| plan.schema.index_of(name).is_ok();
        // A file is in such a folder itself, or the other files are.
        let both = |plan: &&Plan| stored(plan) && plan.folders.value(name).is_some();
        if let Some(other) = plans
            .iter()
            .find(both)
            .or_else(|| plans.iter().find(stored))
        {
            let folder = match other.folders.value(name) {
                Some(_) => "its folder".to_owned(),
                None => format!("the folder of {}", plan.name()),
            };
            return Err(Failure::new(format!(
                "{}: column `{name}` is in the file and in the name of {folder}",
                other.name()
            )));
        }
    }
    let field = |name: &str| {
        let values = plans
            .iter()
            .filter_map(|plan| plan.folders.value(name)?.as_deref());
        let data_type = wanted.data_type(name).cloned();
        Field::new(name, data_type.unwrap_or_else(|| type_of(values)), true)
    };
    Ok(named.into_iter().map(|(name, _)| field(name)).collect())
}
