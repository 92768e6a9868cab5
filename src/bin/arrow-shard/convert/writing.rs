//! Writes the rows of a conversion to one output, or to numbered ones.

use super::numbered::Numbered;
use crate::compression::Compression;
use crate::csv_style::CsvStyle;
use crate::failure::{Failure, REPLACE};
use crate::file_format::{FileFormat, is_standard};
use crate::input::{Files, folder_name};
use crate::new_folders;
use crate::output::{Codec, Output, OutputPlace, check_columns, lossy_schema};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_shard::io::{WriteSink, is_url};
use arrow_shard::metadata::SortingColumn;
use arrow_shard::read::ShardOptions;
use arrow_shard::write::{Layout, ShardWriter, WriterOptions};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Memory limit of the writer of a shard in a folder of values.
const PARTITION_BYTES: u64 = 28 << 20;

/// Where and how the rows are written.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) format: FileFormat,
    pub(super) options: WriterOptions,
    pub(super) style: CsvStyle,
    /// The compression of values, if it is not the format's usual one.
    codec: Option<Codec>,
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
            codec: None,
            path: path.to_owned(),
            parts,
        };
        if let Some((names, _)) = &target.parts
            && let Some(existing) = names.existing(1).first()
            && !target.options.overwrite()
        {
            return Err(Failure::new(format!(
                "{} exists; {REPLACE}",
                existing.display()
            )));
        }
        target.place(1)?;
        Ok(target)
    }

    /// Returns numbered outputs for a folder of values, to be written with a few others at the same time.
    ///
    /// # Errors
    /// Fails if the name of the output is a URL, or if there are folders of values already.
    pub(super) fn partitioned(
        path: &Path,
        format: FileFormat,
        options: WriterOptions,
        style: CsvStyle,
        rows_per_file: Option<u64>,
        first: &str,
    ) -> Result<Self, Failure> {
        if is_standard(path) || path.to_str().is_some_and(is_url) {
            return Err(Failure::Usage(
                "--partition-by needs a local name for the outputs, such as lake/part.parquet"
                    .to_owned(),
            ));
        }
        let parts = (Numbered::like(path)?, rows_per_file.unwrap_or(u64::MAX));
        let folder = path.parent().unwrap_or(path);
        let any = folder_name(first, None)?;
        let prefix = any.split_inclusive('=').next().unwrap_or_default();
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let entries = fs::read_dir(folder).into_iter().flatten();
        let mut names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        if let Some(name) = names.find(|name| name.starts_with(prefix)) {
            return Err(Failure::new(format!(
                "{} exists, and its files would be mixed with these; delete it, or choose another folder",
                folder.join(name).display()
            )));
        }
        Ok(Self {
            format,
            // Each of the shards takes memory, and so does each thread.
            options: options.with_memory_limit(PARTITION_BYTES).with_threads(1),
            style,
            codec: None,
            path: path.to_owned(),
            parts: Some(parts),
        })
    }

    /// Returns the outputs in a folder next to this one, and creates it.
    pub(super) fn within(&self, folder: &Path) -> Result<Self, Failure> {
        let above = self.path.parent().unwrap_or(Path::new(""));
        let path = above
            .join(folder)
            .join(self.path.file_name().unwrap_or_default());
        if let Some(folder) = path.parent() {
            new_folders::create(folder).map_err(|e| Failure::from(e).within(folder.display()))?;
        }
        let names = Numbered::like(&path)?;
        let parts = self.parts.as_ref().map(|(_, rows)| (names, *rows));
        Ok(Self {
            path,
            parts,
            ..self.clone()
        })
    }

    /// Returns the first output in folders of these columns, for people.
    pub(super) fn shown_folders(&self, columns: &[String]) -> PathBuf {
        let path = self.path(1);
        let mut shown = path.parent().map(Path::to_path_buf).unwrap_or_default();
        shown.extend(columns.iter().map(|column| format!("{column}=...")));
        shown.join(path.file_name().unwrap_or_default())
    }

    /// Sets the compression of values.
    ///
    /// # Errors
    /// Fails if the format does not have it.
    pub(super) fn compress(&mut self, codec: Codec) -> Result<(), Failure> {
        codec.check(self.format)?;
        self.codec = Some(codec);
        Ok(())
    }

    /// Declares the order of the rows.
    pub(super) fn declare(&mut self, order: Vec<SortingColumn>) {
        self.options = self.options.clone().with_sorting_columns(order);
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
        names.existing(last + 1).into_iter().next()
    }

    /// Fails if an output is a file that is read, or one that an input needs: its rows would be lost, or a later run
    /// would read them twice.
    pub(super) fn check_inputs(
        &self,
        files: &Files,
        options: &ShardOptions,
    ) -> Result<(), Failure> {
        let (outputs, is_early) = match &self.parts {
            None => {
                let is_pipe = matches!(self.place(1)?, OutputPlace::Pipe(_));
                (vec![self.path.clone()], is_pipe)
            }
            Some((names, _)) => {
                let mut outputs = names.existing(1);
                outputs.push(names.path(1));
                // Objects of a store are not listed.
                outputs.extend(files.paths.iter().filter(|path| names.has(path)).cloned());
                (outputs, true)
            }
        };
        let sources = files.sources(options);
        for output in outputs {
            let why = if sources.have_found(&output) {
                "the output is one of the files in the folder or glob that is read".to_owned()
            } else if is_early && sources.have(&output) {
                "the output is one of the inputs, and would be replaced before its rows are read"
                    .to_owned()
            } else if let Some(shard) = sources.shard_over(&output) {
                format!("the output has rows of the input {}", shard.display())
            } else {
                continue;
            };
            return Err(Failure::new(format!("{why}; write it elsewhere")).within(output.display()));
        }
        Ok(())
    }

    /// Fails if the format does not support the type of a column.
    pub(super) fn check_schema(&self, schema: &SchemaRef, is_lossy: bool) -> Result<(), Failure> {
        let checked = match self.format {
            FileFormat::Shard => {
                let options = self.options.clone().with_layout(Layout::SingleFile);
                let sink = WriteSink::new(io::sink());
                let writer = ShardWriter::try_new(sink, schema.clone(), options);
                writer.map(drop).map_err(Failure::from)
            }
            FileFormat::Cole if is_lossy => lossy_schema(schema).map(drop),
            format => check_columns(format, schema),
        };
        checked.map_err(|e| e.of_file(&self.path(1)))
    }

    fn place(&self, number: u64) -> Result<OutputPlace, Failure> {
        OutputPlace::find(&self.path(number), self.format, self.options.overwrite())
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
            (&self.style, self.codec),
            compression,
        )
        .map_err(|e| e.of_file(&self.path(number)))
    }

    /// Returns the number of rows in each of several outputs.
    fn rows_per_file(&self) -> u64 {
        self.parts.as_ref().map_or(u64::MAX, |(_, rows)| *rows)
    }
}

/// Outputs that are being written, one after the other.
pub(super) struct Writing {
    target: Target,
    schema: SchemaRef,
    /// The output that is not complete.
    current: Output,
    /// The number of the output, and the number of its rows.
    number: u64,
    rows: u64,
}

impl Writing {
    /// Creates the output with this number.
    pub(super) fn start(target: Target, number: u64, schema: SchemaRef) -> Result<Self, Failure> {
        Ok(Self {
            current: target.create(number, &schema)?,
            target,
            schema,
            number,
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
        let complete = std::mem::replace(&mut self.current, next?);
        complete.finish().map_err(|e| self.failed(e))?;
        self.number += 1;
        self.rows = 0;
        Ok(())
    }

    /// Completes the last output. Returns the number of outputs.
    pub(super) fn finish(self) -> Result<u64, Failure> {
        let place = self.target.path(self.number);
        self.current.finish().map_err(|e| e.of_file(&place))?;
        Ok(self.number)
    }

    /// Returns the number of complete outputs.
    pub(super) fn complete(&self) -> u64 {
        self.number - 1
    }

    /// Names the output in an error.
    fn failed(&self, failure: Failure) -> Failure {
        failure.of_file(&self.target.path(self.number))
    }
}
