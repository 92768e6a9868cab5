//! Scans of an open file.

use crate::data::Filter;
use crate::peer::traits::Want;
use anyhow::{Context, Result};
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use std::sync::Arc;
use vortex::array::scalar::Scalar;
use vortex::array::{ArrayRef, VortexSessionExecute};
use vortex::arrow::ArrowSessionExt;
use vortex::buffer::Buffer;
use vortex::expr::{and, col, gt_eq, lit, lt_eq, root, select};
use vortex::file::VortexFile;
use vortex::layout::scan::scan_builder::ScanBuilder;
use vortex::scan::strict_sorted_buffer::StrictSortedBuffer;
use vortex::session::VortexSession;

/// An open file, with any access.
pub(super) struct OpenFile {
    pub(super) session: VortexSession,
    pub(super) file: VortexFile,
    /// The written schema, because the file does not store the exact Arrow types.
    pub(super) schema: SchemaRef,
}

impl OpenFile {
    /// Converts a value of the filtered column.
    fn scalar(&self, filter: &Filter, value: &arrow_array::ArrayRef) -> Result<Scalar> {
        let schema = Arc::new(self.schema.project(&[filter.column])?);
        let batch = RecordBatch::try_new(schema.clone(), vec![value.clone()])?;
        let row = self
            .session
            .arrow()
            .from_arrow_record_batch(batch, &schema)?
            .execute_scalar(0, &mut self.session.create_execution_ctx())?;
        row.as_struct()
            .field(&filter.name)
            .context("the column of the filter")
    }

    /// Selects the columns of a schema, by their names.
    fn selected(
        &self,
        scan: ScanBuilder<ArrayRef>,
        schema: &Schema,
    ) -> Result<ScanBuilder<ArrayRef>> {
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let projection = select(names.collect::<Vec<_>>(), root())
            .bind(self.file.dtype())?
            .optimize_recursive()?;
        Ok(scan.with_projection(projection))
    }

    /// Returns a scan of the wanted columns and rows, and the schema of its batches.
    pub(super) fn wanted(&self, want: Want<'_>) -> Result<(ScanBuilder<ArrayRef>, SchemaRef)> {
        let scan = self.file.scan()?;
        let schema = &self.schema;
        Ok(match want {
            Want::Written => (scan, schema.clone()),
            Want::Types(types) => (scan, types.clone()),
            Want::Matching(filter) => {
                let column = || col(filter.name.as_str());
                let low = gt_eq(column(), lit(self.scalar(filter, &filter.low)?));
                let high = lt_eq(column(), lit(self.scalar(filter, &filter.high)?));
                let matching = and(low, high)
                    .bind(self.file.dtype())?
                    .optimize_recursive()?;
                (scan.with_filter(matching), schema.clone())
            }
            Want::Columns(columns) => {
                let schema = Arc::new(schema.project(columns)?);
                (self.selected(scan, &schema)?, schema)
            }
            Want::Names(names) => {
                let field = |name: &String| schema.field_with_name(name).cloned();
                let fields = names.iter().map(field).collect::<Result<Vec<_>, _>>()?;
                let schema = Arc::new(Schema::new(fields));
                (self.selected(scan, &schema)?, schema)
            }
        })
    }
}

/// Returns a scan of rows by their numbers.
pub(super) fn rows_of(scan: ScanBuilder<ArrayRef>, rows: &[u64]) -> Result<ScanBuilder<ArrayRef>> {
    let rows = StrictSortedBuffer::try_new(Buffer::copy_from(rows))?;
    Ok(scan.with_row_indices(rows))
}
