//! Stripes and sorting columns of a shard, for planners.

use arrow_shard::metadata::SortingColumn;
use arrow_shard::read::Stripe;
use pyo3::prelude::*;

/// A stripe of a shard.
#[pyclass(module = "arrow_shard", frozen)]
#[derive(Debug)]
pub(crate) struct StripeInfo(pub(crate) Stripe);

#[pymethods]
impl StripeInfo {
    /// Ordinal of the stripe in its shard.
    #[getter]
    fn ordinal(&self) -> u64 {
        self.0.ordinal()
    }

    /// Number of rows, without deleted ones.
    #[getter]
    fn num_rows(&self) -> u64 {
        self.0.num_rows()
    }

    /// Number of deleted rows.
    #[getter]
    fn num_deleted_rows(&self) -> u64 {
        self.0.num_deleted_rows()
    }

    /// Numbers of the rows in the shard, including deleted ones: start and end.
    #[getter]
    fn row_range(&self) -> (u64, u64) {
        let rows = self.0.row_range();
        (rows.start, rows.end)
    }

    /// Bytes of the data before encoding, if they are known.
    #[getter]
    fn raw_data_size(&self) -> Option<u64> {
        self.0.raw_data_size()
    }

    fn __repr__(&self) -> String {
        let rows = self.0.row_range();
        format!(
            "<StripeInfo {}: rows {}..{}>",
            self.0.ordinal(),
            rows.start,
            rows.end
        )
    }
}

/// A column that rows are sorted by.
///
/// >>> sh.SortingColumn("delay", descending=True)
/// SortingColumn('delay', descending=True, nulls_first=False)
#[pyclass(
    module = "arrow_shard",
    name = "SortingColumn",
    frozen,
    eq,
    from_py_object
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sorting(pub(crate) SortingColumn);

#[pymethods]
impl Sorting {
    #[new]
    #[pyo3(signature = (path, *, descending=false, nulls_first=false))]
    fn new(path: String, descending: bool, nulls_first: bool) -> Self {
        Self(SortingColumn {
            path,
            descending,
            nulls_first,
        })
    }

    /// Path of the column.
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// Whether the values descend.
    #[getter]
    fn descending(&self) -> bool {
        self.0.descending
    }

    /// Whether nulls come first.
    #[getter]
    fn nulls_first(&self) -> bool {
        self.0.nulls_first
    }

    fn __repr__(&self) -> String {
        let flag = |flag| if flag { "True" } else { "False" };
        format!(
            "SortingColumn('{}', descending={}, nulls_first={})",
            self.0.path,
            flag(self.0.descending),
            flag(self.0.nulls_first)
        )
    }
}
