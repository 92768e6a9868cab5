//! Verifies shards.

use crate::progress::Follower;
use crate::runtime::wait;
use crate::signals::detached;
use arrow_shard::Shard;
use arrow_shard::read::{Problem, VerifyOptions, VerifyReport};
use pyo3::prelude::*;

/// The result of a verification.
#[pyclass(module = "arrow_shard", name = "VerifyReport", frozen)]
#[derive(Debug)]
pub(crate) struct Verification(VerifyReport);

#[pymethods]
impl Verification {
    /// Whether no problem was found.
    #[getter]
    fn is_sound(&self) -> bool {
        self.0.is_sound()
    }

    /// The problems and their places, as text: at most 10,000.
    #[getter]
    fn problems(&self) -> Vec<String> {
        self.0.problems().iter().map(Problem::to_string).collect()
    }

    /// Number of problems beyond the listed ones.
    #[getter]
    fn omitted(&self) -> u64 {
        self.0.num_problems() - self.0.problems().len() as u64
    }

    /// Number of files of the shard.
    #[getter]
    fn files(&self) -> u64 {
        self.0.num_files()
    }

    /// Number of rows of the shard.
    #[getter]
    fn rows(&self) -> u64 {
        self.0.num_rows()
    }

    /// Number of checked stripes.
    #[getter]
    fn stripes(&self) -> u64 {
        self.0.num_stripes()
    }

    /// Number of decoded blocks.
    #[getter]
    fn blocks(&self) -> u64 {
        self.0.num_blocks()
    }

    /// Number of decoded pages of Parquet files.
    #[getter]
    fn pages(&self) -> u64 {
        self.0.num_pages()
    }

    /// Number of bytes of encoded data that were read.
    #[getter]
    fn data_bytes(&self) -> u64 {
        self.0.data_bytes()
    }

    fn __repr__(&self) -> String {
        let (rows, problems) = (self.0.num_rows(), self.0.num_problems());
        format!("<VerifyReport of {rows} rows: {problems} problems>")
    }
}

/// Verifies a shard. The follower counts columns.
pub(crate) fn verify(
    py: Python<'_>,
    shard: &Shard,
    is_near: bool,
    threads: usize,
    follower: Follower,
) -> PyResult<Verification> {
    let options = VerifyOptions::default()
        .with_threads(threads)
        .with_progress(follower.listener());
    let report = detached(py, || {
        if is_near {
            shard.verify_with(options)
        } else {
            wait(false, shard.verify_with_async(options))
        }
    });
    follower.end(py, report).map(Verification)
}
