//! Paths of columns in a predicate.

use super::parse::tokens::is_word;
use super::text_function::TextFunction;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{BasicType, DataType};
use arrow_schema::{DataType as ArrowType, Field};
use std::fmt;

/// A column, or a member of structs in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::read) enum ColumnPath {
    /// Names, joined by dots.
    Names(String),
    /// The ordinal of the column, and of a member in each struct on the way.
    Ordinals(Vec<usize>),
    /// A function of the column with the path.
    Function(TextFunction, Box<ColumnPath>),
}

impl From<&str> for ColumnPath {
    fn from(names: &str) -> Self {
        Self::Names(names.to_owned())
    }
}

/// Formats the path as the text of a predicate: names that are not words are put in double quotes.
impl fmt::Display for ColumnPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Names(names) => {
                let name = |name: &str| {
                    if is_word(name) {
                        name.to_owned()
                    } else {
                        format!("\"{}\"", name.replace('"', "\"\""))
                    }
                };
                let names: Vec<String> = names.split('.').map(name).collect();
                f.write_str(&names.join("."))
            }
            Self::Ordinals(ordinals) => {
                let ordinals: Vec<String> = ordinals.iter().map(usize::to_string).collect();
                write!(f, "#{}", ordinals.join("."))
            }
            Self::Function(function, path) => write!(f, "{}({path})", function.name()),
        }
    }
}

impl ColumnPath {
    /// Returns the name in errors and in batches of functions: names as they are, without quotes.
    pub(in crate::read) fn name(&self) -> String {
        match self {
            Self::Names(names) => names.clone(),
            Self::Ordinals(_) => self.to_string(),
            Self::Function(function, path) => format!("{}({})", function.name(), path.name()),
        }
    }

    /// Returns the path of the column, and the functions of its values in the order in which they are applied.
    pub(super) fn functions(&self) -> (Vec<TextFunction>, &Self) {
        let (mut functions, mut path) = (Vec::new(), self);
        while let Self::Function(function, inner) = path {
            functions.insert(0, *function);
            path = inner;
        }
        (functions, path)
    }
}

/// Returns a field and its node, reduced to the member with these ordinals.
///
/// # Errors
/// [`UnknownColumn`](ErrorKind::UnknownColumn) if there is no such member.
pub(super) fn member_at(
    field: &Field,
    node: &DataType,
    ordinals: &[usize],
) -> Result<(Field, DataType)> {
    let Some((&ordinal, below)) = ordinals.split_first() else {
        return Ok((field.clone(), node.clone()));
    };
    let member = match (field.data_type(), node.basic_type) {
        (ArrowType::Struct(members), BasicType::Struct) => {
            members.get(ordinal).zip(node.children.get(ordinal))
        }
        _ => None,
    };
    let (member, child) = member.ok_or_else(|| {
        Error::new(
            ErrorKind::UnknownColumn,
            format!(
                "`{}` of type {} has no member {ordinal}",
                field.name(),
                field.data_type()
            ),
        )
    })?;
    let (member, child) = member_at(member, child, below)?;
    let node = DataType {
        children: vec![child],
        ..node.clone()
    };
    let data_type = ArrowType::Struct(vec![member].into());
    Ok((field.clone().with_data_type(data_type), node))
}
