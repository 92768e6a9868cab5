//! The program `arrow-shard-sql`: SQL over shards and files of other formats, by Apache DataFusion. The command line
//! runs it as `arrow-shard sql`.

mod args;
#[path = "../../../src/bin/arrow-shard/cell.rs"]
mod cell;
mod commands;
mod engine;
#[path = "../../../src/bin/arrow-shard/error_line.rs"]
mod error_line;
mod failure;
mod files;
mod interrupt;
#[path = "../../../src/bin/arrow-shard/names.rs"]
mod names;
mod output;
mod pool;
mod prompt;
#[path = "../../../src/bin/arrow-shard/safe_text.rs"]
mod safe_text;
mod script;
mod session;
#[path = "../../../src/bin/arrow-shard/size.rs"]
mod size;
mod statements;
mod stores;
mod target;
mod withheld;
mod work;

use args::Args;
use clap::Parser;
use engine::Engine;
use failure::Failure;
use script::run_script;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    // A panic in a statement becomes its error.
    std::panic::set_hook(Box::new(|_| {}));
    let mut engine = match Engine::new(&args) {
        Ok(engine) => engine,
        Err(failure) => return failure.report(),
    };
    let done = run(&args, &mut engine);
    engine.close(done.is_err());
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(args: &Args, engine: &mut Engine) -> Result<(), Failure> {
    if let Some(sql) = args.sql.as_deref().or(args.command.as_deref()) {
        return run_script(engine, sql, None);
    }
    match &args.file {
        Some(file) if file.as_os_str() != "-" => {
            let name = file.display().to_string();
            let script = std::fs::read_to_string(file);
            let script = script.map_err(|error| Failure::from(error).within(&name))?;
            run_script(engine, &script, Some(&name))
        }
        None if io::stdin().is_terminal() => {
            if args.output.is_some() {
                return Err(Failure::Usage("--output needs a query".to_owned()));
            }
            prompt::run(engine)
        }
        _ => {
            let script = io::read_to_string(io::stdin())?;
            run_script(engine, &script, Some("standard input"))
        }
    }
}
