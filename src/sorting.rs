//! The columns that the rows of a shard are sorted by, for query planners.

mod order;

pub(crate) use order::{OrderCheck, place_of};

/// Name of the shard property that lists the sorting columns.
pub const SORTING_COLUMNS_PROPERTY: &str = "arrow_shard.sorting_columns";

/// A column that the rows of a shard are sorted by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SortingColumn {
    /// Path of the column, its parts joined by `.`.
    pub path: String,
    /// Whether the values descend.
    pub descending: bool,
    /// Whether nulls come first.
    pub nulls_first: bool,
}
