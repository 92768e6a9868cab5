//! The prompt: reads statements from a terminal, with a history and completions.

mod complete;
mod history;

use crate::commands::{Flow, habit};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::interrupt::ends_statement;
use crate::script::run_item;
use crate::statements::split;
use complete::{Names, SqlHelper};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use std::io;

const PROMPT: &str = "sql> ";

/// Reads and runs statements until the input ends.
pub(crate) fn run(engine: &mut Engine) -> Result<(), Failure> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .history_ignore_space(true)
        .history_ignore_dups(true)
        .map_err(broken)?
        .build();
    let mut editor: Editor<SqlHelper, FileHistory> = Editor::with_config(config).map_err(broken)?;
    let history = history::file();
    if let Some(history) = &history {
        // A file that is missing or damaged is an empty history.
        let _missing = editor.load_history(history);
    }
    println!("Statements end with a semicolon. .help lists the commands, .quit ends.");
    loop {
        editor.set_helper(Some(SqlHelper::new(Names::of(engine), engine)));
        let line = editor.readline(PROMPT);
        editor.set_helper(None);
        let line = match line {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(broken(error)),
        };
        if line.trim().is_empty() {
            continue;
        }
        editor.add_history_entry(&line).map_err(broken)?;
        if let Some(history) = &history {
            // The prompt works without it, for example in a folder that is read-only.
            let _unsaved = history::append(&mut editor, history);
        }
        let line = habit(&line).unwrap_or(&line);
        if run_line(engine, line)? == Flow::Quit {
            break;
        }
    }
    Ok(())
}

/// Runs the statements of a line. Only failures that end the prompt are returned.
fn run_line(engine: &mut Engine, line: &str) -> Result<Flow, Failure> {
    for item in split(line) {
        match run_item(engine, &item) {
            Ok(Flow::Continue) => {}
            Ok(Flow::Quit) => return Ok(Flow::Quit),
            Err(Failure::Interrupted(signal)) if ends_statement(signal) => {
                eprintln!("interrupted");
                return Ok(Flow::Continue);
            }
            Err(failure @ (Failure::Interrupted(_) | Failure::ClosedPipe)) => return Err(failure),
            Err(failure) => {
                let _code = failure.report();
                return Ok(Flow::Continue);
            }
        }
    }
    Ok(Flow::Continue)
}

fn broken(error: ReadlineError) -> Failure {
    match error {
        ReadlineError::Io(error) => error.into(),
        error => io::Error::other(error).into(),
    }
}
