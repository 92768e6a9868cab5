//! Parquet, with the defaults of its writer except for the compression.

mod store;

pub(crate) use store::OpenObject;

use super::{Access, Batches, Opened, Peer, Source, Want};
use crate::counted::{CountedFile, Cursor};
use crate::data::{BATCH_ROWS, Filter};
use anyhow::{Context, Result};
use arrow_arith::boolean::and;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, Scalar};
use arrow_ord::cmp::{gt_eq, lt_eq};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderBuilder, ArrowReaderMetadata, ArrowReaderOptions,
    ParquetRecordBatchReaderBuilder, RowFilter, RowSelection, RowSelector,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

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
            Access::Map => Some(Box::new(OpenParquet::new(super::map(source.path)?))),
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

/// Selects columns and rows of a file. The metadata must include the page index if rows are selected.
fn wanted<R>(
    builder: ArrowReaderBuilder<R>,
    metadata: &ArrowReaderMetadata,
    want: Want<'_>,
) -> Result<ArrowReaderBuilder<R>> {
    let schema = metadata.parquet_schema();
    Ok(match want {
        Want::Written | Want::Types(_) => builder,
        Want::Matching(filter) => matching(builder, metadata, filter)?,
        Want::Names(names) => {
            let names = names.iter().map(String::as_str);
            builder.with_projection(ProjectionMask::columns(schema, names))
        }
        Want::Columns(columns) => {
            let roots = columns.iter().copied();
            builder.with_projection(ProjectionMask::roots(schema, roots))
        }
    })
}

/// Skips row groups and pages by their statistics, then rows by the filtered column.
fn matching<R>(
    builder: ArrowReaderBuilder<R>,
    metadata: &ArrowReaderMetadata,
    filter: &Filter,
) -> Result<ArrowReaderBuilder<R>> {
    let (groups, selection) = may_match(metadata, filter)?;
    let mask = ProjectionMask::roots(metadata.parquet_schema(), [filter.column]);
    let filter = filter.clone();
    let predicate = ArrowPredicateFn::new(mask, move |batch| {
        let matches = filter.matches(batch.column(0));
        matches.map_err(|e| ArrowError::ExternalError(e.into()))
    });
    Ok(builder
        .with_row_groups(groups)
        .with_row_selection(selection)
        .with_row_filter(RowFilter::new(vec![Box::new(predicate)])))
}

/// Selects rows by their numbers.
fn selection(metadata: &ArrowReaderMetadata, rows: &[u64]) -> Result<RowSelection> {
    let total = usize::try_from(metadata.metadata().file_metadata().num_rows())?;
    let ranges = rows.iter().map(|&row| row as usize..row as usize + 1);
    Ok(RowSelection::from_consecutive_ranges(ranges, total))
}

/// Returns the row groups, and their rows, that statistics do not exclude.
fn may_match(
    metadata: &ArrowReaderMetadata,
    filter: &Filter,
) -> Result<(Vec<usize>, RowSelection)> {
    let file = metadata.metadata();
    let (schema, parquet) = (metadata.schema(), metadata.parquet_schema());
    let converter = StatisticsConverter::try_new(&filter.name, schema, parquet)?;
    let overlaps = |least: &ArrayRef, most: &ArrayRef| -> Result<BooleanArray> {
        let below = lt_eq(least, &Scalar::new(&filter.high))?;
        let above = gt_eq(most, &Scalar::new(&filter.low))?;
        Ok(and(&below, &above)?)
    };
    // A page without statistics may match.
    let may = |mask: &BooleanArray, i: usize| mask.is_null(i) || mask.value(i);
    let groups = file.row_groups();
    let least = converter.row_group_mins(groups)?;
    let mask = overlaps(&least, &converter.row_group_maxes(groups)?)?;
    let groups: Vec<usize> = (0..groups.len()).filter(|&i| may(&mask, i)).collect();
    let (Some(columns), Some(offsets)) = (file.column_index(), file.offset_index()) else {
        let rows = groups
            .iter()
            .map(|&g| file.row_group(g).num_rows() as usize);
        let all = rows.map(RowSelector::select).collect::<Vec<_>>();
        return Ok((groups, all.into()));
    };
    let least = converter.data_page_mins(columns, offsets, &groups)?;
    let most = converter.data_page_maxes(columns, offsets, &groups)?;
    let counts = converter
        .data_page_row_counts(offsets, file.row_groups(), &groups)?
        .context("pages do not say how many rows they have")?;
    let mask = overlaps(&least, &most)?;
    let pages = counts
        .values()
        .iter()
        .enumerate()
        .map(|(i, &count)| RowSelector {
            row_count: count as usize,
            skip: !may(&mask, i),
        });
    Ok((groups, pages.collect::<Vec<_>>().into()))
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
