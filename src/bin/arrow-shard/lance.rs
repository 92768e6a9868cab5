//! Lance files, which the program `arrow-shard-lance` converts. It is separate, because it needs some 250 more crates.

use crate::failure::Failure;
use std::env;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::process::Command;

const PROGRAM: &str = "arrow-shard-lance";

/// Runs the command line of this process with the program for Lance, which is next to this program or on PATH.
pub(crate) fn convert() -> Result<(), Failure> {
    let name = format!("{PROGRAM}{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().ok().map(|it| it.with_file_name(&name));
    let program = match beside.filter(|it| it.is_file()) {
        Some(beside) => beside.into_os_string(),
        None => OsString::from(name),
    };
    let mut command = Command::new(program);
    command.args(env::args_os().skip(1));
    run(&mut command).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::new(format!(
            "Lance files need the program {PROGRAM}, which is neither next to arrow-shard nor on PATH; install it \
             from a clone of the repository: cargo install --path integrations/lance (needs protoc)"
        )),
        _ => Failure::from(error).within(PROGRAM),
    })
}

/// Replaces this process by the program, so that it receives signals and determines the exit code.
#[cfg(unix)]
fn run(command: &mut Command) -> io::Result<()> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn run(command: &mut Command) -> io::Result<()> {
    std::process::exit(command.status()?.code().unwrap_or(1))
}
