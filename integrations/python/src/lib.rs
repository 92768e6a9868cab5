//! The extension module of the Python package `arrow_shard`, which exchanges shards with all libraries that support
//! Arrow. Users import the package in `python/arrow_shard`; its stubs describe this module.

mod attached;
mod batch;
#[cfg(feature = "datafusion")]
mod datafusion;
mod errors;
mod file_object;
mod filter;
mod import;
mod interrupt;
mod interruptible_file;
mod literal;
mod location;
mod metrics;
mod opening;
mod ops;
mod options;
mod polars;
mod predicate;
mod progress;
mod pyarrow;
mod python_calls;
mod rows;
mod runtime;
mod scan;
mod shard;
mod sigint;
mod signals;
mod stripes;
mod values;
mod verify;
mod views;
mod write;

use pyo3::prelude::*;

/// The system's allocator is slow for large and short-lived buffers, such as Arrow's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule]
#[pyo3(name = "_lib")]
fn initialize(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    sigint::remember();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<batch::ArrowSchema>()?;
    module.add_class::<filter::Column>()?;
    module.add_class::<filter::Expression>()?;
    module.add_class::<metrics::Metrics>()?;
    module.add_class::<ops::Edited>()?;
    module.add_class::<scan::BatchIterator>()?;
    module.add_class::<scan::Scan>()?;
    module.add_class::<shard::ShardFile>()?;
    module.add_class::<stripes::Sorting>()?;
    module.add_class::<stripes::StripeInfo>()?;
    module.add_class::<verify::Verification>()?;
    module.add_class::<write::WriteSummary>()?;
    module.add_function(wrap_pyfunction!(filter::col, module)?)?;
    module.add_function(wrap_pyfunction!(ops::append, module)?)?;
    module.add_function(wrap_pyfunction!(ops::attach, module)?)?;
    module.add_function(wrap_pyfunction!(ops::compact, module)?)?;
    module.add_function(wrap_pyfunction!(ops::delete, module)?)?;
    module.add_function(wrap_pyfunction!(opening::list_shards, module)?)?;
    module.add_function(wrap_pyfunction!(opening::list_parquet_files, module)?)?;
    module.add_function(wrap_pyfunction!(ops::merge, module)?)?;
    module.add_function(wrap_pyfunction!(ops::pack, module)?)?;
    module.add_function(wrap_pyfunction!(ops::undelete, module)?)?;
    module.add_function(wrap_pyfunction!(ops::vacuum, module)?)?;
    module.add_function(wrap_pyfunction!(pyarrow::expression_columns, module)?)?;
    module.add_function(wrap_pyfunction!(opening::open, module)?)?;
    module.add_function(wrap_pyfunction!(opening::open_many, module)?)?;
    module.add_function(wrap_pyfunction!(write::output_file, module)?)?;
    module.add_function(wrap_pyfunction!(write::write, module)?)?;
    let end = wrap_pyfunction!(python_calls::end, module)?;
    py.import("atexit")?.call_method1("register", (end,))?;
    pyo3_object_store::register_store_module(py, module, "arrow_shard._lib", "_store")?;
    // The Python package defines which names are public.
    module.delattr("__all__")
}
