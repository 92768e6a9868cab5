//! Parquet files that other readers understand as well.

use crate::failure::Failure;
use crate::leaves::{cast_batch, change_leaves};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::io::Write;

/// Most columns of a file with dictionaries. The writer keeps a hash table of some 80 KB for each of them, whatever the
/// number of rows: 20,000 columns would take 1.6 GB.
const DICTIONARY_COLUMNS: usize = 1_000;

/// Returns the type that replaces a leaf in the file: Parquet has no seconds, so readers that ignore the Arrow schema
/// would see bare integers.
pub(crate) fn parquet_leaf(leaf: &DataType) -> Option<DataType> {
    match leaf {
        DataType::Timestamp(TimeUnit::Second, zone) => {
            Some(DataType::Timestamp(TimeUnit::Millisecond, zone.clone()))
        }
        DataType::Time32(TimeUnit::Second) => Some(DataType::Time32(TimeUnit::Millisecond)),
        DataType::Date64 => Some(DataType::Timestamp(TimeUnit::Millisecond, None)),
        _ => None,
    }
}

/// Writes batches of one schema.
pub(crate) struct ParquetEncoder<W: Write + Send> {
    writer: ArrowWriter<W>,
    /// The schema with the stored types.
    stored: SchemaRef,
}

impl<W: Write + Send> ParquetEncoder<W> {
    /// Starts a file. The metadata of the table are stored as key-value pairs, where other programs look for them. The
    /// Arrow schema is stored unchanged.
    pub(super) fn start(
        out: W,
        schema: &SchemaRef,
        compression: Compression,
    ) -> Result<Self, Failure> {
        let stored = change_leaves(schema, &mut parquet_leaf);
        let mut pairs: Vec<KeyValue> = schema
            .metadata()
            .iter()
            .map(|(key, value)| KeyValue::new(key.clone(), value.clone()))
            .collect();
        pairs.sort_by(|a, b| a.key.cmp(&b.key));
        let leaves = ArrowSchemaConverter::new().convert(&stored)?.num_columns();
        let mut properties = WriterProperties::builder()
            .set_compression(compression)
            .set_dictionary_enabled(leaves <= DICTIONARY_COLUMNS)
            .set_key_value_metadata(Some(pairs))
            .build();
        add_encoded_arrow_schema_to_metadata(schema, &mut properties);
        let options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(out, stored.clone(), options)?;
        Ok(Self { writer, stored })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let batch = cast_batch(batch, &self.stored)?;
        Ok(self.writer.write(&batch)?)
    }

    pub(super) fn finish(self) -> Result<W, Failure> {
        Ok(self.writer.into_inner()?)
    }
}
