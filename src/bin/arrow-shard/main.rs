//! The arrow-shard command line: converts, inspects, checks and changes shards.

mod allocator;
mod bounds;
mod byte_order_mark;
mod cat;
mod cell;
#[cfg(feature = "cloud")]
mod cloud;
mod completions;
mod compression;
mod content;
mod convert;
mod counts;
mod csv_style;
mod delimiter;
mod edit;
mod error_line;
mod external;
mod external_files;
mod failure;
mod field_tree;
mod file_format;
mod folders;
mod format_choice;
mod head;
mod input;
mod inspect;
mod isolate;
mod lance;
mod lance_names;
mod leaves;
mod limits;
mod location;
mod look;
mod man;
mod names;
mod new_folders;
mod option_names;
mod output;
mod progress;
mod rows;
mod safe_text;
mod schema;
mod schema_text;
#[cfg(unix)]
mod signals;
mod size;
mod table;
mod temporary;
mod text;
mod threads;
mod values;
mod verify;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

const EXAMPLES: &str = "\
Examples:
  arrow-shard convert flights.parquet flights.amudai.shard
  arrow-shard convert --profile high-compression --stripe-rows 500000 log.csv log.amudai.shard
  arrow-shard convert flights.amudai.shard - --to csv | cut -d, -f1
  arrow-shard head -n 5 --columns origin,delay flights.amudai.shard
  arrow-shard count --filter \"delay > 60\" 'days/*.parquet'
  arrow-shard stats flights.parquet
  arrow-shard inspect flights.amudai.shard
  arrow-shard verify *.amudai.shard
  arrow-shard merge days/*.amudai.shard --output november.amudai.shard
  arrow-shard delete --where \"delay IS NULL\" flights.amudai.shard
  arrow-shard sql \"SELECT origin, avg(delay) FROM 'flights.amudai.shard' GROUP BY origin\"

Formats by file name, and by content where the name shows none: .amudai.shard .shard | \
.parquet .parq .pq | .arrow .feather .ipc (IPC file) | .arrows (IPC stream) | .cole | .csv .tsv .tab | \
.ndjson .jsonl .json; `-` is standard input or output. CSV and NDJSON may be compressed: \
.csv.gz .csv.zst .csv.bz2 .csv.xz. .lance (file or dataset) is converted to and from shards by the \
program arrow-shard-lance. \
URLs (s3://, az://, gs://, http://, https://, file://) name files in the place of paths, if \
arrow-shard was installed with the feature `cloud`; stores are configured by the environment \
variables of their own tools, AWS_..., AZURE_... and GOOGLE_....

Exit codes: 0 done, 1 an error, a damaged shard or a difference that diff found, 2 wrong usage, such as \
an unknown column, 129, 130 and 143 ended by SIGHUP, SIGINT (Ctrl-C) and SIGTERM.";

/// Arrow-native columnar files: convert, inspect, check and change Amudai shards.
#[derive(Debug, Parser)]
#[command(name = "arrow-shard", version, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Convert(convert::Args),
    Schema(schema::Args),
    Info(look::info::Args),
    Count(look::count::Args),
    Head(head::Args),
    Tail(look::tail::Args),
    Sample(look::sample::Args),
    Cat(cat::Args),
    Stats(look::stats::Args),
    Diff(look::diff::Args),
    Inspect(inspect::Args),
    Verify(verify::Args),
    Attach(edit::attach::Args),
    Merge(edit::merge::Args),
    Append(edit::append::Args),
    Upsert(edit::upsert::Args),
    Dedupe(edit::dedupe::Args),
    Delete(edit::delete::Args),
    Undelete(edit::undelete::Args),
    Select(edit::select::Args),
    Set(edit::set::Args),
    Add(edit::add::Args),
    Compact(edit::compact::Args),
    Pack(edit::pack::Args),
    Vacuum(edit::vacuum::Args),
    Ls(edit::list::Args),
    Sql(external::SqlArgs),
    Completions(completions::Args),
    Man(man::Args),
}

fn main() -> ExitCode {
    allocator::keep_free_pages();
    if let Err(failure) = external::run_unknown(&Cli::command()) {
        return failure.report();
    }
    let cli = parsed();
    isolate::silence_caught_panics();
    #[cfg(unix)]
    if let Err(error) = signals::clean_up(new_folders::discard_empty) {
        return failure::Failure::from(error).report();
    }
    let done = match cli.command {
        Command::Convert(args) => convert::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Info(args) => look::info::run(&args),
        Command::Count(args) => look::count::run(&args),
        Command::Head(args) => head::run(&args),
        Command::Tail(args) => look::tail::run(&args),
        Command::Sample(args) => look::sample::run(&args),
        Command::Cat(args) => cat::run(&args),
        Command::Stats(args) => look::stats::run(&args),
        Command::Diff(args) => look::diff::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Attach(args) => edit::attach::run(&args),
        Command::Merge(args) => edit::merge::run(&args),
        Command::Append(args) => edit::append::run(&args),
        Command::Upsert(args) => edit::upsert::run(&args),
        Command::Dedupe(args) => edit::dedupe::run(&args),
        Command::Delete(args) => edit::delete::run(&args),
        Command::Undelete(args) => edit::undelete::run(&args),
        Command::Select(args) => edit::select::run(&args),
        Command::Set(args) => edit::set::run(&args),
        Command::Add(args) => edit::add::run(&args),
        Command::Compact(args) => edit::compact::run(&args),
        Command::Pack(args) => edit::pack::run(&args),
        Command::Vacuum(args) => edit::vacuum::run(&args),
        Command::Ls(args) => edit::list::run(&args),
        Command::Sql(args) => external::sql(&args, Cli::command()),
        Command::Completions(args) => completions::run(&args, Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Parses the command line. Ends the process with a message if it is wrong.
fn parsed() -> Cli {
    Cli::try_parse_from(counts::spelt_out(std::env::args_os())).unwrap_or_else(|mut error| {
        if error.kind() == ErrorKind::UnknownArgument {
            // The tip to pass an unknown option as a value: no file has such a name. Similar options are another tip.
            error.remove(ContextKind::Suggested);
        }
        error.exit()
    })
}
