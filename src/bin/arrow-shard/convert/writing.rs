//! Writes the rows of a conversion to one output, or to numbered ones.

use super::numbered::Numbered;
use crate::compression::Compression;
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::file_format::{FileFormat, is_standard};
use crate::output::{Output, Place};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_shard::write::WriterOptions;
use std::path::{Path, PathBuf};

/// Where and how the rows are written.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) format: FileFormat,
    pub(super) options: WriterOptions,
    pub(super) style: CsvStyle,
    path: PathBuf,
    /// The names of several outputs, and the number of rows in each.
    parts: Option<(Numbered, u64)>,
}

impl Target {
    /// Fails if the output cannot be created, or exists and must not be replaced.
    pub(super) fn find(
        path: &Path,
        format: FileFormat,
        options: WriterOptions,
        style: CsvStyle,
        rows_per_file: Option<u64>,
    ) -> Result<Self, Failure> {
        let parts = match rows_per_file {
            Some(_) if is_standard(path) => {
                return Err(Failure::Usage(
                    "--rows-per-file needs a name for the outputs, not standard output".to_owned(),
                ));
            }
            Some(rows) => Some((Numbered::like(path)?, rows)),
            None => None,
        };
        let target = Self {
            format,
            options,
            style,
            path: path.to_owned(),
            parts,
        };
        let existing = target
            .parts
            .as_ref()
            .and_then(|(names, _)| names.existing(1));
        if let Some(existing) = existing.filter(|_| !target.options.overwrite()) {
            return Err(Failure::new(format!(
                "{} exists; replace it with --force, or choose another name",
                existing.display()
            )));
        }
        target.place(1)?;
        Ok(target)
    }

    /// Returns the path of the output with a number.
    pub(super) fn path(&self, number: u64) -> PathBuf {
        match &self.parts {
            Some((names, _)) => names.path(number),
            None => self.path.clone(),
        }
    }

    /// Returns the path of an output with a higher number than the last that was written.
    pub(super) fn left_over(&self, last: u64) -> Option<PathBuf> {
        let (names, _) = self.parts.as_ref()?;
        names.existing(last + 1)
    }

    fn place(&self, number: u64) -> Result<Place, Failure> {
        Place::find(&self.path(number), self.format, self.options.overwrite())
    }

    fn create(&self, number: u64, schema: &SchemaRef) -> Result<Output, Failure> {
        let place = self.place(number)?;
        let compression = Compression::by_name(&self.path);
        let options = self.options.clone();
        Output::create(
            &place,
            self.format,
            schema,
            options,
            &self.style,
            compression,
        )
        .map_err(|e| e.within(self.path(number).display()))
    }

    /// Returns the number of rows in each of several outputs.
    fn rows_per_file(&self) -> u64 {
        self.parts.as_ref().map_or(u64::MAX, |(_, rows)| *rows)
    }
}

/// Outputs that are being written, one after the other.
pub(super) struct Writing<'a> {
    target: &'a Target,
    schema: SchemaRef,
    /// The output that is not complete.
    current: Output,
    /// The number of the output, and the number of its rows.
    number: u64,
    rows: u64,
}

impl<'a> Writing<'a> {
    /// Creates the first output.
    pub(super) fn start(target: &'a Target, schema: SchemaRef) -> Result<Self, Failure> {
        Ok(Self {
            current: target.create(1, &schema)?,
            target,
            schema,
            number: 1,
            rows: 0,
        })
    }

    /// Appends the rows of a batch.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let most = self.target.rows_per_file();
        let mut start = 0;
        while start < batch.num_rows() {
            if self.rows == most {
                self.next()?;
            }
            let room = usize::try_from(most - self.rows).unwrap_or(usize::MAX);
            let rows = room.min(batch.num_rows() - start);
            let written = self.current.write(&batch.slice(start, rows));
            written.map_err(|e| self.failed(e))?;
            self.rows += rows as u64;
            start += rows;
        }
        Ok(())
    }

    /// Completes the output and creates the next one.
    fn next(&mut self) -> Result<(), Failure> {
        let next = self.target.create(self.number + 1, &self.schema);
        let next = next.map_err(|e| self.interrupted(e))?;
        let complete = std::mem::replace(&mut self.current, next);
        complete.finish().map_err(|e| self.failed(e))?;
        self.number += 1;
        self.rows = 0;
        Ok(())
    }

    /// Completes the last output. Returns the number of outputs.
    pub(super) fn finish(self) -> Result<u64, Failure> {
        let place = self.target.path(self.number);
        let number = self.number;
        let finished = self.current.finish();
        finished.map_err(|e| complete_before(number, e.within(place.display())))?;
        Ok(number)
    }

    /// Names the output in an error, and the number of complete ones before it.
    fn failed(&self, failure: Failure) -> Failure {
        let place = self.target.path(self.number);
        self.interrupted(failure.within(place.display()))
    }

    /// Adds the number of complete outputs to an error.
    pub(super) fn interrupted(&self, failure: Failure) -> Failure {
        complete_before(self.number, failure)
    }
}

fn complete_before(number: u64, failure: Failure) -> Failure {
    match (number - 1, failure) {
        (0, failure) => failure,
        (files, Failure::Error(why)) => {
            let (files, are) = match files {
                1 => ("1 file".to_owned(), "is"),
                many => (format!("{many} files"), "are"),
            };
            Failure::Error(format!("{why} ({files} before it {are} complete)"))
        }
        (_, failure) => failure,
    }
}
