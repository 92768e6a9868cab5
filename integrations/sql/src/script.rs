//! Runs scripts: statements, and commands of the prompt.

use crate::commands::{Flow, command};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::statements::{Item, split};
use crate::work::check_syntax;

/// Runs a script. Statements with wrong syntax are found before any statement runs. `name` is the name of the file for
/// messages.
pub(crate) fn run_script(
    engine: &mut Engine,
    script: &str,
    name: Option<&str>,
) -> Result<(), Failure> {
    let items = split(script);
    let within = |item: &Item<'_>, failure: Failure| match name {
        Some(name) => failure.within(format!("{name}:{}", item.line)),
        None => failure,
    };
    for item in items.iter().filter(|item| !item.is_command()) {
        check_syntax(&engine.ctx, item.text).map_err(|failure| within(item, failure))?;
    }
    let queries = items.iter().filter(|item| !item.is_command()).count();
    if engine.output.is_some() && queries != 1 {
        let message = format!("--output takes the rows of one query, and there are {queries}");
        return Err(Failure::Usage(message));
    }
    for item in &items {
        let flow = run_item(engine, item).map_err(|failure| within(item, failure))?;
        if flow == Flow::Quit {
            break;
        }
    }
    Ok(())
}

/// Runs a statement or a command of the prompt.
pub(crate) fn run_item(engine: &mut Engine, item: &Item<'_>) -> Result<Flow, Failure> {
    if item.is_command() {
        return command(engine, item.text);
    }
    engine.run(item.text)?;
    Ok(Flow::Continue)
}
