//! Converts whole files.

use crate::failure::file_name;
use crate::{LanceReadOptions, LanceReader, LanceWriteOptions, LanceWriter};
use arrow_array::RecordBatchReader;
use arrow_shard::io::is_url;
use arrow_shard::{Error, ErrorKind, Result, Shard, ShardWriter, WriterOptions};
use std::path::Path;

/// Options of [`convert`].
#[derive(Debug, Default)]
pub struct ConvertOptions {
    read: LanceReadOptions,
    lance: LanceWriteOptions,
    shard: WriterOptions,
    threads: usize,
}

impl ConvertOptions {
    /// Sets the options for reading Lance.
    pub fn with_read_options(mut self, options: LanceReadOptions) -> Self {
        self.read = options;
        self
    }

    /// Sets the options for writing Lance.
    pub fn with_lance_options(mut self, options: LanceWriteOptions) -> Self {
        self.lance = options;
        self
    }

    /// Sets the options for writing a shard.
    pub fn with_shard_options(mut self, options: WriterOptions) -> Self {
        self.shard = options;
        self
    }

    /// Sets the number of threads that decode the columns of a shard. By default, the caller's thread decodes.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }
}

/// Converts a Lance file or dataset to a shard, or a shard to a Lance file, and returns the number of rows. A name that
/// ends in `.lance` is Lance.
///
/// The output becomes visible once it is complete. Memory is needed for a few batches, for a few pages of each column
/// of Lance, and for one stripe of a written shard.
///
/// # Errors
/// [`InvalidArgument`](ErrorKind::InvalidArgument) if both names or none end in `.lance`.
/// [`Unsupported`](ErrorKind::Unsupported) for URLs. Returns the errors of reading and
/// writing, which name the file.
pub fn convert(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    options: ConvertOptions,
) -> Result<u64> {
    let (input, output) = (input.as_ref(), output.as_ref());
    if let Some(path) = [input, output]
        .into_iter()
        .find(|it| it.to_str().is_some_and(is_url))
    {
        let error = Error::new(
            ErrorKind::Unsupported,
            "Lance is converted from and to local files; copy the file or the dataset first",
        );
        return Err(error.within(file_name(path)));
    }
    match (is_lance(input), is_lance(output)) {
        (true, false) => {
            let reader = LanceReader::open_with(input, &options.read)?;
            let mut writer = ShardWriter::create_with(output, reader.schema(), options.shard)?;
            let mut rows = 0;
            for batch in reader {
                let batch = batch?;
                writer.write(&batch)?;
                rows += batch.num_rows() as u64;
            }
            writer.finish()?;
            Ok(rows)
        }
        (false, true) => {
            let scan = Shard::open(input)?
                .scan()
                .with_threads(options.threads.max(1));
            let reader = scan.build()?;
            let schema = reader.schema();
            let mut writer = LanceWriter::create_with(output, schema, &options.lance)?;
            for batch in reader {
                writer.write(&batch?)?;
            }
            writer.finish()
        }
        _ => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!(
                "one of `{}` and `{}` is Lance, and its name ends in `.lance`; the other one is a shard",
                input.display(),
                output.display()
            ),
        )),
    }
}

/// Returns whether a path names a Lance file or dataset.
fn is_lance(path: &Path) -> bool {
    path.extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("lance"))
}
