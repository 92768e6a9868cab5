//! Whether types may differ between the shards of a table, and errors about types that do not fit.

use crate::arrow::widened_type;
use crate::error::{Error, ErrorKind};
use arrow_schema::DataType;
use std::fmt;

/// How a table unites columns of one name whose types differ between its shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Unify {
    /// Differing types are an error, except for the few that [`ShardEditor::append`](super::ShardEditor::append)
    /// unites.
    #[default]
    Strict,
    /// A column gets the narrowest type to which the values of all shards can be cast: see [`widened_type`].
    ///
    /// Members of structs and items of lists are widened as columns are. Values are cast when they are read. A value
    /// that the wider type does not hold exactly, such as an integer above 2^53 in a column of floats, is an error that
    /// names the shard and the column. If all rows of a stripe have that value, opening the table fails.
    ///
    /// Filters of a widened column compare values of the wider type. In the stripes that store another type, they use
    /// the least and the greatest value (except for native timestamps, and decimals of more than 18 digits), but no
    /// dictionary, no Bloom filter and no range index.
    Widen,
}

impl Unify {
    /// Returns what the user can do if the types of a column do not fit. `Some` for a table, `None` for an edit.
    pub(super) fn advice(unify: Option<Self>, own: &DataType, other: &DataType) -> &'static str {
        match unify {
            Some(Self::Widen) => {
                "no type holds the values of both; rewrite one of them with the type of the other"
            }
            Some(Self::Strict) if widened_type([own, other]).is_some() => {
                "set the option `unify` of the table to widen the types, or rewrite one of them with the type of \
                 the other"
            }
            _ => "rewrite one of them with the type of the other",
        }
    }
}

/// A column with different types in two shards, for errors.
#[derive(Clone, Copy)]
pub(super) struct Compared<'a> {
    /// The path of the column or member.
    pub(super) path: &'a str,
    /// Returns the name of a source by its ordinal.
    pub(super) name_of: &'a (dyn Fn(usize) -> String + Sync),
    /// The first source with the column.
    pub(super) first: usize,
    /// What the user can do if the types do not fit.
    pub(super) advice: &'a str,
}

impl<'a> Compared<'a> {
    /// Returns an internal field, which has one type in all shards.
    pub(super) fn internal(kind: &'a str) -> Self {
        Self {
            path: kind,
            name_of: &|_| "another shard".to_owned(),
            first: 0,
            advice: "rewrite one of them with the type of the other",
        }
    }

    /// Returns a member of the column.
    pub(super) fn at<'b>(self, path: &'b str) -> Compared<'b>
    where
        'a: 'b,
    {
        Compared { path, ..self }
    }

    /// Returns the error for types that do not fit. `own` is the type in `first`, or in the first source with the
    /// column.
    pub(super) fn mismatch(
        &self,
        own: &dyn fmt::Display,
        other: &dyn fmt::Display,
        first: Option<usize>,
    ) -> Error {
        let Self { path, advice, .. } = self;
        let first = (self.name_of)(first.unwrap_or(self.first));
        Error::new(
            ErrorKind::SchemaMismatch,
            format!("column `{path}` is {other}, where {first} has {own}; {advice}"),
        )
    }
}
