//! `arrow-shard completions`

use crate::failure::Failure;
use crate::output::Destination;
use clap_complete::Shell;
use std::io::Write;

const EXAMPLES: &str = "\
Examples:
  arrow-shard completions bash > ~/.local/share/bash-completion/completions/arrow-shard
  arrow-shard completions zsh > ~/.zfunc/_arrow-shard
  arrow-shard completions fish > ~/.config/fish/completions/arrow-shard.fish";

/// Print the completions of a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command. `program` is the whole command line.
pub(crate) fn run(args: &Args, mut program: clap::Command) -> Result<(), Failure> {
    let (name, mut script) = (program.get_name().to_owned(), Vec::new());
    clap_complete::generate(args.shell, &mut program, name, &mut script);
    let mut out = Destination::standard();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
