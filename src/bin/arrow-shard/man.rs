//! `arrow-shard man`

use crate::failure::Failure;
use crate::names::nearest;
use crate::output::Destination;
use clap_mangen::Man;
use std::io::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard man > arrow-shard.1
  arrow-shard man convert | man -l -
  arrow-shard man --folder ~/.local/share/man/man1";

/// Print the manual page of the program or of a command
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The command; otherwise the page of the program
    #[arg(conflicts_with = "folder")]
    command: Option<String>,
    /// Write the pages of the program and of all commands into this folder, which must exist
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Runs the command. `program` is the whole command line.
pub(crate) fn run(args: &Args, mut program: clap::Command) -> Result<(), Failure> {
    if let Some(folder) = &args.folder {
        let written = clap_mangen::generate_to(program, folder);
        return written.map_err(|e| Failure::from(e).within(folder.display()));
    }
    program.build();
    let page = match &args.command {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command.clone(),
            None => {
                let known = program.get_subcommands().map(clap::Command::get_name);
                let advice = nearest(name, known)
                    .map(|known| format!("; did you mean `{known}`?"))
                    .unwrap_or_default();
                let why = format!("there is no command `{name}`{advice}");
                return Err(Failure::Usage(why));
            }
        },
    };
    let mut text = Vec::new();
    Man::new(page).render(&mut text)?;
    let mut out = Destination::standard();
    out.write_all(&text)?;
    Ok(out.flush()?)
}
