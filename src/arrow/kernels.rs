//! Types that the kernels of `arrow-select` 59 cannot handle.

use super::types::contains;
use arrow_schema::DataType;

/// Returns whether the kernels `concat`, `take` and `filter` cannot be used for a type. They derive the number of
/// values from the number of bytes or items, so they lose values of 0 bytes and lists of 0 items
/// ([arrow-rs#10270](https://github.com/apache/arrow-rs/issues/10270) is the same fault in `arrow-row`). They also
/// refuse lists of non-nullable unions if variants that are not selected have nulls.
pub(super) fn defeats_kernels(data_type: &DataType) -> bool {
    contains(data_type, &is_lossy)
}

fn is_lossy(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::FixedSizeBinary(0) | DataType::FixedSizeList(_, 0) | DataType::Union(..)
    )
}

/// Returns whether the `filter` kernel cannot be used for a type. It renames the fields of run arrays, and has the
/// faults of the other kernels.
pub(crate) fn defeats_filter(data_type: &DataType) -> bool {
    contains(data_type, &|inner| {
        is_lossy(inner) || matches!(inner, DataType::RunEndEncoded(..))
    })
}

/// Returns whether the `take` kernel cannot be used for a type. It has the faults of the other kernels. It also
/// allocates an index for each item of fixed-size lists, which may have any number of items without bytes.
pub(super) fn defeats_take(data_type: &DataType) -> bool {
    has_row_of(data_type, |row| matches!(row, DataType::FixedSizeList(..)))
        || defeats_kernels(data_type)
}

/// Returns whether repeated rows of a type may exceed the offsets of lists, an overflow that the `take` kernel
/// does not report.
pub(super) fn defeats_repeated_take(data_type: &DataType) -> bool {
    has_row_of(data_type, |row| {
        matches!(
            row,
            DataType::List(_) | DataType::LargeList(_) | DataType::Map(..)
        )
    })
}

/// Returns whether a type passes a test, or a type inside of it that has at most one value per row: a member or the
/// values of runs.
fn has_row_of(data_type: &DataType, test: fn(&DataType) -> bool) -> bool {
    test(data_type)
        || match data_type {
            DataType::Struct(members) => members.iter().any(|m| has_row_of(m.data_type(), test)),
            DataType::RunEndEncoded(_, values) => has_row_of(values.data_type(), test),
            _ => false,
        }
}
