//! Commands that are separate programs: `arrow-shard NAME ...` runs `arrow-shard-NAME ...`, like `git` and `cargo` do.

use crate::failure::Failure;
use crate::output::Destination;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

const SQL_HELP: &str = "\
Examples:
  arrow-shard sql \"SELECT origin, avg(delay) FROM 'flights.amudai.shard' GROUP BY origin\"

Files are named in quotes in the place of tables. Install the program from a clone of the repository, next to arrow-shard \
or on PATH: cargo install --path integrations/sql";

/// Arguments of the program `arrow-shard-sql`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    about = "Query files by SQL, with the separate program arrow-shard-sql",
    long_about = "Query shards, Parquet, Arrow, CSV and JSON files by SQL, with the separate program arrow-shard-sql. It \
                  receives all arguments; where it is installed, `arrow-shard sql --help` shows its options",
    after_help = SQL_HELP
)]
pub(crate) struct SqlArgs {
    /// Options and statements, which arrow-shard-sql reads
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

/// Runs the program for SQL. Without it, a request for help is answered from `known`, the whole command line.
pub(crate) fn sql(args: &SqlArgs, mut known: clap::Command) -> Result<(), Failure> {
    let program = "arrow-shard-sql";
    let Err(error) = run(program, &args.arguments) else {
        return Ok(());
    };
    if error.kind() != ErrorKind::NotFound {
        return Err(Failure::from(error).within(program));
    }
    known.build();
    match (args.arguments.as_slice(), known.find_subcommand_mut("sql")) {
        ([asked], Some(command)) if asked == "--help" || asked == "-h" => {
            let mut out = Destination::standard();
            write!(out, "{}", command.render_long_help())?;
            Ok(out.flush()?)
        }
        _ => Err(not_installed(
            program,
            "`arrow-shard sql` needs",
            "integrations/sql",
        )),
    }
}

/// Runs the program of an unknown command, if it is installed. Otherwise, returns, so that the error about the command
/// is shown.
pub(crate) fn run_unknown(known: &clap::Command) -> Result<(), Failure> {
    let mut args = env::args_os().skip(1);
    let Some(name) = args.next() else {
        return Ok(());
    };
    let is_name = |name: &str| {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !name.starts_with('-') && !name.is_empty() && name.chars().all(is_letter)
    };
    let Some(name) = name.to_str().filter(|name| is_name(name)) else {
        return Ok(());
    };
    if name == "help" || known.find_subcommand(name).is_some() {
        return Ok(());
    }
    let program = format!("arrow-shard-{name}");
    match run(&program, args) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done.map_err(|error| Failure::from(error).within(program)),
    }
}

/// Returns the error about a program that is missing.
pub(crate) fn not_installed(program: &str, needed_by: &str, folder: &str) -> Failure {
    Failure::new(format!(
        "{needed_by} the program {program}, which is neither next to arrow-shard nor on PATH; install it from a clone \
         of the repository: cargo install --path {folder}"
    ))
}

/// Runs a program that is next to this one or on PATH, with the streams of this process. On Unix, it replaces this
/// process, so that it receives signals and determines the exit code.
///
/// # Errors
/// Returns an error if the program cannot be started.
pub(crate) fn run(
    program: &str,
    args: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> io::Result<()> {
    replace(command(program).args(args))
}

/// Starts a program that is next to this one or on PATH. Its output can be read; it has no input.
///
/// # Errors
/// Returns an error if the program cannot be started.
pub(crate) fn start(
    program: &str,
    args: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> io::Result<Child> {
    let mut command = command(program);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.args(args).spawn()
}

/// Waits a moment for a program with wrong output, and returns its status if it has ended. Otherwise, ends it.
///
/// # Errors
/// Returns the errors of the system.
pub(crate) fn ended_by_itself(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    // A program that fails closes its output shortly before it has ended.
    for _ in 0..20 {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

fn command(program: &str) -> Command {
    let name = format!("{program}{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().ok().map(|it| it.with_file_name(&name));
    let program = match beside.filter(|it| it.is_file()) {
        Some(beside) => beside.into_os_string(),
        None => OsString::from(name),
    };
    Command::new(program)
}

#[cfg(unix)]
fn replace(command: &mut Command) -> io::Result<()> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn replace(command: &mut Command) -> io::Result<()> {
    std::process::exit(command.status()?.code().unwrap_or(1))
}
