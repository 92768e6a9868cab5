//! Leaves that some stripes of a table store with another type than the table has.

use crate::format::DataType;
use arrow_schema::DataType as ArrowType;

/// How a stripe stores a leaf, if its shard has another type or form for it than the table.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredAs {
    /// The node of the leaf in the shard, with the number that the leaf has in the table.
    pub node: DataType,
    /// The Arrow type of the values in the shard.
    pub own: ArrowType,
    /// The Arrow type of the values in the table.
    pub wide: ArrowType,
    /// The place of the stripe, for errors.
    pub place: String,
}
