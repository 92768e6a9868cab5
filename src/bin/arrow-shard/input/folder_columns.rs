//! Columns that the names of folders give, as in `year=2024/month=5/a.parquet`.

use super::infer_csv::type_of;
use super::plan::Plan;
use super::wanted::Wanted;
use crate::failure::Failure;
use arrow_schema::Field;

/// Returns the columns that the folders of the files give, in the order in which they first appear. They have the wanted
/// types, or the types that CSV with these values would have.
///
/// # Errors
/// Fails if a file has a column of the same name.
pub(super) fn folder_columns(plans: &[Plan], wanted: &Wanted) -> Result<Vec<Field>, Failure> {
    let mut names: Vec<&str> = Vec::new();
    for plan in plans {
        for name in plan.folders.names() {
            if plan.schema.index_of(name).is_ok() {
                return Err(Failure::new(format!(
                    "{}: column `{name}` is in the file and in the name of its folder",
                    plan.name()
                )));
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let field = |name: &str| {
        let values = plans
            .iter()
            .filter_map(|plan| plan.folders.value(name)?.as_deref());
        let data_type = wanted.data_type(name).cloned();
        Field::new(name, data_type.unwrap_or_else(|| type_of(values)), true)
    };
    Ok(names.into_iter().map(field).collect())
}
