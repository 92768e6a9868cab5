//! Arrow IPC files.

use super::traits::{Batches, Opened, Peer, Source, Want};
use crate::counted::{CountedFile, Cursor};
use crate::data::BATCH_ROWS;
use crate::mapped::map;
use crate::question::Access;
use crate::strings::cast_batch;
use anyhow::{Context, Result, bail, ensure};
use arrow_array::RecordBatch;
use arrow_array::UInt64Array;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, FileReader, read_footer_length};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_ipc::{Block, CompressionType, MetadataVersion, root_as_footer};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::sync::Arc;

pub(super) struct Ipc {
    compression: Option<CompressionType>,
}

impl Ipc {
    pub(super) fn uncompressed() -> Self {
        Self { compression: None }
    }

    /// Returns the format with Zstandard at the crate's default level.
    pub(super) fn zstd() -> Self {
        Self {
            compression: Some(CompressionType::ZSTD),
        }
    }
}

impl Peer for Ipc {
    fn write(&self, path: &Path, schema: &SchemaRef, batches: &mut Batches<'_>) -> Result<()> {
        let options = IpcWriteOptions::default().try_with_compression(self.compression)?;
        let file = BufWriter::new(File::create(path)?);
        let mut writer = FileWriter::try_new_with_options(file, schema, options)?;
        for batch in batches {
            writer.write(&batch?)?;
        }
        writer.finish()?;
        Ok(())
    }

    fn open(&self, source: &Source<'_>, access: Access) -> Result<Option<Box<dyn Opened>>> {
        Ok(match access {
            Access::File => Some(Box::new(IpcFile {
                file: CountedFile::open(source.path, source.reads)?,
                reader: None,
            })),
            // The crate has no asynchronous reader.
            Access::Store => None,
            // Decompressed buffers are not slices of the map.
            Access::Map | Access::TrustedMap if self.compression.is_some() => None,
            Access::Map => Some(Box::new(IpcMap::open(source.path, false)?)),
            Access::TrustedMap => Some(Box::new(IpcMap::open(source.path, true)?)),
        })
    }
}

/// Groups row numbers by batch: the number of the batch, and positions in it.
fn by_batch(rows: &[u64]) -> impl Iterator<Item = (usize, UInt64Array)> {
    let size = BATCH_ROWS as u64;
    rows.chunk_by(move |a, b| a / size == b / size)
        .map(move |rows| {
            let positions = rows.iter().map(|row| row % size);
            (
                (rows[0] / size) as usize,
                UInt64Array::from_iter_values(positions),
            )
        })
}

/// A file for positioned reads.
struct IpcFile {
    file: CountedFile,
    /// A reader of all columns, opened on first use.
    reader: Option<Reader>,
}

type Reader = FileReader<BufReader<Cursor>>;

impl IpcFile {
    fn reader(&mut self) -> Result<&mut Reader> {
        let reader = match self.reader.take() {
            Some(reader) => reader,
            None => FileReader::try_new_buffered(self.file.cursor(0), None)?,
        };
        Ok(self.reader.insert(reader))
    }
}

impl Opened for IpcFile {
    fn scan(&mut self, want: Want<'_>, visit: &mut dyn FnMut(RecordBatch)) -> Result<()> {
        if let Want::Columns(columns) = want {
            let file = self.file.cursor(0);
            for batch in FileReader::try_new_buffered(file, Some(columns.to_vec()))? {
                visit(batch?);
            }
            return Ok(());
        }
        let reader = self.reader()?;
        reader.set_index(0)?;
        for batch in reader {
            visit(converted(batch?, want)?);
        }
        Ok(())
    }

    fn take(&mut self, rows: &[u64]) -> Result<RecordBatch> {
        let reader = self.reader()?;
        let mut parts = Vec::new();
        for (number, positions) in by_batch(rows) {
            reader.set_index(number)?;
            let batch = reader.next().context("a batch is missing")??;
            parts.push(take_record_batch(&batch, &positions)?);
        }
        Ok(concat_batches(&reader.schema(), &parts)?)
    }
}

fn converted(batch: RecordBatch, want: Want<'_>) -> Result<RecordBatch> {
    Ok(match want {
        Want::Types(schema) => cast_batch(&batch, schema)?,
        Want::Matching(filter) => filter.apply(&batch)?,
        Want::Names(_) => bail!("columns of Arrow IPC files are asked for by position"),
        Want::Written | Want::Columns(_) => batch,
    })
}

/// A file in memory, with batches as slices of it.
struct IpcMap {
    file: Buffer,
    schema: SchemaRef,
    version: MetadataVersion,
    blocks: Vec<Block>,
    trusted: bool,
}

impl IpcMap {
    fn open(path: &Path, trusted: bool) -> Result<Self> {
        let file = Buffer::from(map(path)?);
        let (rest, trailer) = file.split_last_chunk().context("the file has no trailer")?;
        let footer_len = read_footer_length(*trailer)?;
        ensure!(
            footer_len <= rest.len(),
            "the footer is longer than the file"
        );
        let footer = root_as_footer(&rest[rest.len() - footer_len..])?;
        let schema = footer.schema().context("the footer has no schema")?;
        let no_dictionaries = footer.dictionaries().is_none_or(|blocks| blocks.is_empty());
        ensure!(no_dictionaries, "tables have no dictionaries");
        Ok(Self {
            schema: Arc::new(fb_to_schema(schema)),
            version: footer.version(),
            blocks: footer
                .recordBatches()
                .into_iter()
                .flatten()
                .copied()
                .collect(),
            trusted,
            file,
        })
    }

    fn decoder(&self, columns: Option<&[usize]>) -> FileDecoder {
        let checked = FileDecoder::new(self.schema.clone(), self.version);
        // SAFETY: if the file is trusted, this program has written it.
        let decoder = unsafe { checked.with_skip_validation(self.trusted) };
        match columns {
            Some(columns) => decoder.with_projection(columns.to_vec()),
            None => decoder,
        }
    }

    fn batch(&self, decoder: &FileDecoder, number: usize) -> Result<RecordBatch> {
        let block = self.blocks.get(number).context("a batch is missing")?;
        let len = block.metaDataLength() as usize + block.bodyLength() as usize;
        let bytes = self.file.slice_with_length(block.offset() as usize, len);
        let batch = decoder.read_record_batch(block, &bytes)?;
        batch.context("a message holds no batch")
    }
}

impl Opened for IpcMap {
    fn scan(&mut self, want: Want<'_>, visit: &mut dyn FnMut(RecordBatch)) -> Result<()> {
        let decoder = self.decoder(match want {
            Want::Columns(columns) => Some(columns),
            Want::Written | Want::Types(_) | Want::Matching(_) | Want::Names(_) => None,
        });
        for number in 0..self.blocks.len() {
            visit(converted(self.batch(&decoder, number)?, want)?);
        }
        Ok(())
    }

    fn take(&mut self, rows: &[u64]) -> Result<RecordBatch> {
        let decoder = self.decoder(None);
        let mut parts = Vec::new();
        for (number, positions) in by_batch(rows) {
            let batch = self.batch(&decoder, number)?;
            parts.push(take_record_batch(&batch, &positions)?);
        }
        Ok(concat_batches(&self.schema, &parts)?)
    }
}
