//! The columns that added files provide.

use super::plan::Plan;
use arrow_schema::{DataType, Field, FieldRef};
use std::sync::Arc;

/// The columns of a file that are read, before those that it lacks are added as nulls.
#[derive(Debug)]
pub(crate) struct Provided {
    /// The name of the file.
    pub(crate) file: String,
    fields: Vec<FieldRef>,
    /// The columns and members that --columns names; none for all.
    selected: Vec<String>,
}

impl Provided {
    /// Returns the columns of a file, with those that its folders give.
    pub(super) fn of(plan: &Plan, selected: &[String]) -> Self {
        let folders = plan.folders.names();
        let folders = folders.map(|name| Arc::new(Field::new(name, DataType::Utf8, true)));
        Self {
            file: plan.name(),
            fields: plan
                .schema
                .fields()
                .iter()
                .cloned()
                .chain(folders)
                .collect(),
            selected: selected.to_vec(),
        }
    }

    /// Whether the file has a column, or a member of a struct such as `a.b`, whether or not it is selected.
    pub(crate) fn has(&self, path: &str) -> bool {
        has(&self.fields, path)
    }

    /// Whether a column, or a part of it, is read.
    pub(crate) fn is_read(&self, path: &str) -> bool {
        let is_within = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let mut selected = self.selected.iter();
        let is_selected = self.selected.is_empty()
            || selected.any(|name| is_within(path, name) || is_within(name, path));
        is_selected && self.has(path)
    }
}

fn has(fields: &[FieldRef], path: &str) -> bool {
    let is_of = |field: &FieldRef| match path.strip_prefix(field.name().as_str()) {
        Some("") => true,
        Some(rest) => match (rest.strip_prefix('.'), field.data_type()) {
            (Some(member), DataType::Struct(members)) => has(members, member),
            _ => false,
        },
        None => false,
    };
    fields.iter().any(is_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_structs_are_found_and_selected() {
        let member = Field::new("b", DataType::Int64, true);
        let column = Field::new("a", DataType::Struct(vec![member].into()), true);
        let provided = |selected: &[&str]| Provided {
            file: String::new(),
            fields: vec![Arc::new(column.clone())],
            selected: selected.iter().map(|&name| name.to_owned()).collect(),
        };
        for (selected, path, want) in [
            (&[][..], "a", true),
            (&[], "a.b", true),
            (&[], "a.c", false),
            (&[], "ab", false),
            (&["a"], "a.b", true),
            (&["a.b"], "a", true),
            (&["a.c"], "a.b", false),
        ] {
            assert_eq!(
                provided(selected).is_read(path),
                want,
                "{selected:?} {path}"
            );
        }
    }
}
