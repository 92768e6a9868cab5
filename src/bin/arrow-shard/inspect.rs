//! `arrow-shard inspect`

mod explain;
mod json;
mod statistics;
mod tree;

pub(crate) use json::properties;

use crate::failure::Failure;
use crate::input::ColumnNames;
use crate::limits::LimitArgs;
use crate::location::open_shard;
use crate::names::no_column;
use crate::option_names::ProfileName;
use crate::output::Destination;
use arrow_shard::read::inspect::{FieldInfo, InspectOptions, ShardInfo, StripeInfo};
use std::io::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard inspect flights.amudai.shard
  arrow-shard inspect --verbose --columns origin flights.amudai.shard
  arrow-shard inspect --quick --json flights.amudai.shard
  arrow-shard inspect --explain --profile high-compression --columns origin flights.amudai.shard

With --verbose, the tree of a block lists every encoding, including nested ones, with its number \
of values and bytes. CONTRADICTION marks statistics that cannot all be true. PROBLEM marks a part \
that could not be read; then the exit code is 1. Sizes include everything below a field; the ratio \
compares the size before encoding with the encoded size.";

/// Show the structure of a shard: sizes, encodings and ratios per stripe and field
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory file of the shard
    file: PathBuf,
    /// Columns to show, separated by commas; all by default
    #[arg(long, value_name = "COLUMNS")]
    columns: Vec<ColumnNames>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show statistics, sketches, and every block with its tree of encodings
    #[arg(long, short)]
    verbose: bool,
    /// Read metadata only: no encodings of blocks
    #[arg(long, conflicts_with = "verbose")]
    quick: bool,
    /// Show which encodings the writer would consider for the first rows, and the expected cost of each
    #[arg(long, conflicts_with = "json")]
    explain: bool,
    /// Profile of that writer
    #[arg(long, value_enum, default_value_t, requires = "explain")]
    profile: ProfileName,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let shard = open_shard(&args.file, args.limits.shard_options()?)?;
    let options = InspectOptions::default()
        .with_encodings(!args.quick)
        .with_blocks(args.verbose);
    let columns = ColumnNames::all(&args.columns);
    if !columns.is_empty() {
        let nodes = shard.schema_nodes()?;
        let known = nodes.iter().map(|node| node.name.as_str());
        for column in &columns {
            if known.clone().all(|name| name != column) {
                let message = no_column(column, known);
                return Err(Failure::Usage(message).within(args.file.display()));
            }
        }
    }
    let mut info = shard.inspect(options)?;
    if !columns.is_empty() {
        for stripe in &mut info.stripes {
            stripe.fields.retain(|field| columns.contains(&field.path));
        }
    }
    let mut out = Destination::standard();
    if args.json {
        writeln!(out, "{:#}", json::shard(&info))?;
    } else {
        tree::print(&mut out, &info, args.verbose)?;
        if args.explain {
            explain::print(&mut out, &shard, &columns, args.profile)?;
        }
    }
    out.flush()?;
    if is_whole(&info) {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

/// Whether all parts of the shard could be shown.
fn is_whole(info: &ShardInfo) -> bool {
    let mut stripes = info.stripes.iter();
    let stripe =
        |stripe: &StripeInfo| stripe.problem.is_none() && stripe.fields.iter().all(is_whole_field);
    info.problem.is_none() && stripes.all(stripe)
}

fn is_whole_field(field: &FieldInfo) -> bool {
    let mut buffers = field.buffers.iter();
    field.problem.is_none()
        && buffers.all(|buffer| buffer.problem.is_none())
        && field.children.iter().all(is_whole_field)
}
