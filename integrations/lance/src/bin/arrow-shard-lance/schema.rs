//! `arrow-shard-lance schema`

use crate::field_tree::print_field;
use crate::safe_text::shown;
use crate::usage::check_dataset;
use arrow_array::RecordBatchReader;
use arrow_shard_lance::{LanceReadOptions, LanceReader};
use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// Print version, rows and schema of a Lance file or dataset, one line per field, and its metadata
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Lance file, or folder of a dataset
    input: PathBuf,
    /// Version of the dataset to read [default: the latest]
    #[arg(long, value_name = "NUMBER")]
    dataset_version: Option<u64>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    check_dataset(&args.input, args.dataset_version)?;
    let mut options = LanceReadOptions::default();
    if let Some(version) = args.dataset_version {
        options = options.with_version(version);
    }
    let reader = LanceReader::open_with(&args.input, &options)?;
    let mut out = BufWriter::new(io::stdout().lock());
    match print(&reader, &mut out).and_then(|()| out.flush()) {
        // The reader of a pipe may stop early.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}

fn print(reader: &LanceReader, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "Lance {}, {} rows",
        reader.version(),
        reader.num_rows()
    )?;
    let schema = reader.schema();
    for field in schema.fields() {
        print_field(out, field, 1)?;
    }
    let mut entries: Vec<_> = schema.metadata().iter().collect();
    entries.sort();
    if !entries.is_empty() {
        writeln!(out, "metadata:")?;
    }
    for (key, value) in entries {
        writeln!(out, "  {}={}", shown(key), shown(value))?;
    }
    Ok(())
}
