//! Parquet, with the defaults of its writer except for the compression.

mod store;
mod wanted;

pub(crate) use store::OpenObject;

use super::traits::{Batches, Opened, Peer, Source, Want};
use crate::counted::{CountedFile, Cursor};
use crate::data::BATCH_ROWS;
use crate::mapped::map;
use crate::question::Access;
use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use wanted::{selection, wanted};

pub(super) struct Parquet {
    compression: Compression,
}

impl Parquet {
    pub(super) fn new(compression: Compression) -> Self {
        Self { compression }
    }
}

impl Peer for Parquet {
    fn write(&self, path: &Path, schema: &SchemaRef, batches: &mut Batches<'_>) -> Result<()> {
        let properties = WriterProperties::builder()
            .set_compression(self.compression)
            .build();
        let mut writer =
            ArrowWriter::try_new(File::create(path)?, schema.clone(), Some(properties))?;
        for batch in batches {
            writer.write(&batch?)?;
        }
        writer.close()?;
        Ok(())
    }

    fn open(&self, source: &Source<'_>, access: Access) -> Result<Option<Box<dyn Opened>>> {
        Ok(match access {
            Access::File => {
                let file = CountedFile::open(source.path, source.reads)?;
                Some(Box::new(OpenParquet::new(file)))
            }
            Access::Map => Some(Box::new(OpenParquet::new(map(source.path)?))),
            Access::Store => Some(Box::new(store::OpenObject::new(source)?)),
            Access::TrustedMap => None,
        })
    }
}

impl Length for CountedFile {
    fn len(&self) -> u64 {
        self.size()
    }
}

/// Reads like the implementation for [`File`], but without a shared position.
impl ChunkReader for CountedFile {
    type T = BufReader<Cursor>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(BufReader::new(self.cursor(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        Ok(Bytes::from(self.read_exact_at(start, length)?))
    }
}

struct OpenParquet<R> {
    file: R,
    /// Metadata without the page index, read by the first scan.
    for_scans: Option<ArrowReaderMetadata>,
    /// Metadata with the page index, read by the first take.
    for_takes: Option<ArrowReaderMetadata>,
}

impl<R: ChunkReader + Clone + 'static> OpenParquet<R> {
    fn new(file: R) -> Self {
        Self {
            file,
            for_scans: None,
            for_takes: None,
        }
    }

    fn builder(&self, metadata: &ArrowReaderMetadata) -> ParquetRecordBatchReaderBuilder<R> {
        ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), metadata.clone())
            .with_batch_size(BATCH_ROWS)
    }
}

/// Returns the metadata, and reads them first if necessary.
fn loaded<'a>(
    file: &impl ChunkReader,
    place: &'a mut Option<ArrowReaderMetadata>,
    page_index: PageIndexPolicy,
) -> Result<&'a ArrowReaderMetadata> {
    let metadata = match place.take() {
        Some(metadata) => metadata,
        None => {
            let options = ArrowReaderOptions::new().with_page_index_policy(page_index);
            ArrowReaderMetadata::load(file, options)?
        }
    };
    Ok(place.insert(metadata))
}

impl<R: ChunkReader + Clone + 'static> Opened for OpenParquet<R> {
    fn scan(&mut self, want: Want<'_>, visit: &mut dyn FnMut(RecordBatch)) -> Result<()> {
        let metadata = match want {
            Want::Matching(_) => {
                loaded(&self.file, &mut self.for_takes, PageIndexPolicy::Optional)?
            }
            _ => loaded(&self.file, &mut self.for_scans, PageIndexPolicy::Skip)?,
        };
        let metadata = match want {
            Want::Types(schema) => {
                let options = ArrowReaderOptions::new().with_schema(schema.clone());
                ArrowReaderMetadata::try_new(metadata.metadata().clone(), options)?
            }
            _ => metadata.clone(),
        };
        for batch in wanted(self.builder(&metadata), &metadata, want)?.build()? {
            visit(batch?);
        }
        Ok(())
    }

    fn take(&mut self, rows: &[u64]) -> Result<RecordBatch> {
        let metadata = loaded(&self.file, &mut self.for_takes, PageIndexPolicy::Optional)?.clone();
        let rows = selection(&metadata, rows)?;
        let reader = self.builder(&metadata).with_row_selection(rows).build()?;
        let schema = metadata.schema().clone();
        let batches = reader.collect::<Result<Vec<_>, _>>()?;
        Ok(concat_batches(&schema, &batches)?)
    }
}
