//! Writes streams of batches as files.

mod check;
mod codec;
mod cole;
mod destination;
mod dictionaries;
mod ipc_file;
mod ipc_stream;
mod json_times;
mod lines;
mod parquet;

pub(crate) use check::check_columns;
pub(crate) use codec::Codec;
pub(crate) use cole::{lossy_batch, lossy_schema};
pub(crate) use destination::{Destination, OutputPlace};
pub(crate) use parquet::parquet_leaf;

#[cfg(feature = "cloud")]
use crate::cloud::ShardOutput;
use crate::compression::{Compression, Compressor};
use crate::csv_style::CsvStyle;
use crate::failure::{Failure, REPLACE};
use crate::file_format::FileFormat;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_shard::io::{LocalSink, WriteSink};
use arrow_shard::write::{Layout, ShardWriter, WriterOptions};
use arrow_shard::{Error, ErrorKind};
use cole::ColeEncoder;
use ipc_file::IpcFileEncoder;
use ipc_stream::IpcStreamEncoder;
use lines::LineEncoder;
use parquet::ParquetEncoder;
use std::io::{self, Write};

/// A file that is being written.
pub(crate) enum Output {
    /// A shard.
    Shard(Box<ShardWriter<LocalSink>>),
    /// A shard that is written to the null device.
    ShardToNull(Box<ShardWriter<WriteSink<io::Sink>>>),
    /// A shard in an object store.
    #[cfg(feature = "cloud")]
    ShardObject(Box<ShardOutput>),
    /// Any other format.
    Other(Box<Encoder<Compressor<Destination>>>),
}

impl Output {
    /// Creates the output. If the format does not support a type, returns an error that names the column. `compression`
    /// applies to text as a whole, `codec` to the values of other formats.
    pub(crate) fn create(
        place: &OutputPlace,
        format: FileFormat,
        schema: &SchemaRef,
        options: WriterOptions,
        (csv, codec): (&CsvStyle, Option<Codec>),
        compression: Option<Compression>,
    ) -> Result<Self, Failure> {
        let force = options.overwrite();
        if format == FileFormat::Shard
            && let OutputPlace::File(path) = place
        {
            let writer = ShardWriter::create_with(path, schema.clone(), options);
            return Ok(Self::Shard(Box::new(writer.map_err(failed)?)));
        }
        if format == FileFormat::Shard && matches!(place, OutputPlace::Null) {
            if options.layout() == Layout::TwoLevel {
                return Err(Failure::Usage(
                    "--layout two-level needs a folder for the stripe files".to_owned(),
                ));
            }
            let sink = WriteSink::new(io::sink());
            let writer = ShardWriter::try_new(sink, schema.clone(), options)?;
            return Ok(Self::ShardToNull(Box::new(writer)));
        }
        #[cfg(feature = "cloud")]
        if format == FileFormat::Shard
            && let OutputPlace::Object(object) = place
        {
            let writer = object.shard_writer(schema, options).map_err(failed)?;
            return Ok(Self::ShardObject(Box::new(writer)));
        }
        check_columns(format, schema)?;
        let destination = Destination::open(place, force)?;
        let compressor = Compressor::start(compression, destination)?;
        // Streams show rows as they come, also those before an error.
        let threads = match place {
            OutputPlace::Standard | OutputPlace::Pipe(_) => 1,
            _ => options.threads(),
        };
        let encoder = Encoder::start(format, compressor, schema, (csv, codec), threads)?;
        Ok(Self::Other(Box::new(encoder)))
    }

    /// Appends the rows of a batch.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        match self {
            Self::Shard(writer) => writer.write(batch).map_err(failed),
            Self::ShardToNull(writer) => Ok(writer.write(batch)?),
            #[cfg(feature = "cloud")]
            Self::ShardObject(writer) => writer.write(batch).map_err(failed),
            Self::Other(encoder) => encoder.write(batch),
        }
    }

    /// Completes the file.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Shard(writer) => writer.finish().map(drop).map_err(failed),
            Self::ShardToNull(writer) => {
                writer.finish()?;
                Ok(())
            }
            #[cfg(feature = "cloud")]
            Self::ShardObject(writer) => writer.finish().map_err(failed),
            Self::Other(encoder) => encoder.finish()?.finish()?.commit(),
        }
    }
}

/// Converts an error of an output. If the output exists, which another process may have created meanwhile, the message
/// names the option that replaces it.
fn failed(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::AlreadyExists => Failure::new(format!("the output exists; {REPLACE}")),
        _ => error.into(),
    }
}

/// Encodes batches in one of the formats that are written from front to back.
pub(crate) enum Encoder<W: Write + Send> {
    Parquet(Box<ParquetEncoder<W>>),
    IpcFile(IpcFileEncoder<W>),
    IpcStream(Box<IpcStreamEncoder<W>>),
    Cole(Box<ColeEncoder<W>>),
    /// CSV and NDJSON.
    Lines(LineEncoder<W>),
}

impl<W: Write + Send> Encoder<W> {
    /// Starts writing to `out`. Without a codec, the format's usual one is used. `threads` prepare text.
    pub(crate) fn start(
        format: FileFormat,
        out: W,
        schema: &SchemaRef,
        (csv, codec): (&CsvStyle, Option<Codec>),
        threads: usize,
    ) -> Result<Self, Failure> {
        Ok(match format {
            FileFormat::Shard => return Err(Failure::new("shards have a writer of their own")),
            FileFormat::Parquet => {
                let codec = codec.unwrap_or(Codec::Zstd).parquet();
                Self::Parquet(Box::new(ParquetEncoder::start(out, schema, codec)?))
            }
            FileFormat::IpcFile => {
                let options = codec::ipc_options(codec)?;
                Self::IpcFile(IpcFileEncoder::start(out, schema, options)?)
            }
            FileFormat::IpcStream => {
                let options = codec::ipc_options(codec)?;
                Self::IpcStream(Box::new(IpcStreamEncoder::start(out, schema, options)?))
            }
            FileFormat::Cole => Self::Cole(Box::new(ColeEncoder::start(out, schema)?)),
            FileFormat::Csv => Self::Lines(LineEncoder::csv(out, schema, csv, threads)?),
            FileFormat::Ndjson => Self::Lines(LineEncoder::ndjson(out, schema, threads)),
        })
    }

    /// Appends the rows of a batch.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        match self {
            Self::Parquet(writer) => writer.write(batch)?,
            Self::IpcFile(writer) => writer.write(batch)?,
            Self::IpcStream(writer) => writer.write(batch)?,
            Self::Cole(writer) => writer.write(batch)?,
            Self::Lines(writer) => writer.write(batch)?,
        }
        Ok(())
    }

    /// Writes the remaining bytes and returns the destination.
    pub(crate) fn finish(self) -> Result<W, Failure> {
        Ok(match self {
            Self::Parquet(writer) => writer.finish()?,
            Self::IpcFile(writer) => writer.finish()?,
            Self::IpcStream(writer) => writer.finish()?,
            Self::Cole(writer) => writer.finish()?,
            Self::Lines(writer) => writer.finish()?,
        })
    }
}
