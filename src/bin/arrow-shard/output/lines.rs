//! CSV and NDJSON.

use super::json_times::JsonTimes;
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::leaves::{as_text, cast_batch};
use crate::threads::Ahead;
use arrow_array::RecordBatch;
use arrow_json::writer::{LineDelimited, WriterBuilder as JsonWriterBuilder};
use arrow_schema::SchemaRef;
use std::io::Write;
use std::sync::Arc;

/// Writes rows as lines of text, which threads prepare.
pub(crate) struct LineEncoder<W> {
    out: W,
    texts: Ahead<RecordBatch, Vec<u8>>,
}

impl<W: Write> LineEncoder<W> {
    /// Starts writing CSV.
    pub(super) fn csv(
        mut out: W,
        schema: &SchemaRef,
        style: &CsvStyle,
        threads: usize,
    ) -> Result<Self, Failure> {
        // Values that the writer does not know become text.
        let plain = as_text(schema);
        if style.has_header {
            out.write_all(&csv(&RecordBatch::new_empty(schema.clone()), style, true)?)?;
        }
        let style = style.clone();
        let texts = Ahead::start(threads, move |batch: RecordBatch| {
            csv(&cast_batch(&batch, &plain)?, &style, false)
        });
        Ok(Self { out, texts })
    }

    /// Starts writing NDJSON.
    pub(super) fn ndjson(out: W, schema: &SchemaRef, threads: usize) -> Self {
        let plain = as_text(schema);
        let texts = Ahead::start(threads, move |batch: RecordBatch| {
            // The writer would write null entries of a dictionary as values.
            ndjson(&cast_batch(&batch, &plain)?)
        });
        Self { out, texts }
    }

    /// Appends the rows of a batch.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        match self.texts.push(batch.clone()) {
            Some(text) => Ok(self.out.write_all(&text?)?),
            None => Ok(()),
        }
    }

    /// Writes the remaining rows and returns the destination.
    pub(super) fn finish(mut self) -> Result<W, Failure> {
        while let Some(text) = self.texts.pop() {
            self.out.write_all(&text?)?;
        }
        Ok(self.out)
    }
}

fn csv(batch: &RecordBatch, style: &CsvStyle, has_header: bool) -> Result<Vec<u8>, Failure> {
    let mut writer = arrow_csv::WriterBuilder::new()
        .with_header(has_header)
        .with_delimiter(style.delimiter)
        .with_null(style.null.clone())
        .build(Vec::new());
    writer.write(batch)?;
    Ok(writer.into_inner())
}

fn ndjson(batch: &RecordBatch) -> Result<Vec<u8>, Failure> {
    let times = JsonTimes::default();
    let mut writer = JsonWriterBuilder::new()
        .with_explicit_nulls(true)
        .with_encoder_factory(Arc::new(times.clone()))
        .build::<_, LineDelimited>(Vec::new());
    writer.write(batch)?;
    times.check()?;
    writer.finish()?;
    Ok(writer.into_inner())
}
