//! `arrow-shard set`

use super::editing::Editing;
use super::{TargetArgs, pair};
use crate::failure::Failure;
use crate::limits::LimitArgs;
use crate::names::{listed, nearest};
use crate::text;
use arrow_shard::metadata::NameValuePair;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard set flights.amudai.shard owner=operations 'source=sensor 7'
  arrow-shard set flights.amudai.shard --remove source --rename distance=miles
  arrow-shard set flights.amudai.shard --property batch=2026-11 --output tagged.amudai.shard

Key-values are the metadata of the table's schema, as in Parquet and Arrow: `convert` keeps them. Properties \
belong to the shard alone. `arrow-shard info` shows both. No row is written again. A shard that was one file becomes \
several, which have to be kept together; the output says how many.";

/// Set or remove key-values, and rename columns
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory file of the shard
    file: PathBuf,
    /// Key-values to set
    #[arg(value_name = "KEY=VALUE", required_unless_present_any = ["remove", "property", "remove_property", "rename"])]
    entries: Vec<String>,
    /// Keys to remove, each with its value
    #[arg(long, value_name = "KEY")]
    remove: Vec<String>,
    /// Properties of the shard to set, with a text as the value
    #[arg(long, value_name = "NAME=VALUE")]
    property: Vec<String>,
    /// Properties of the shard to remove
    #[arg(long, value_name = "NAME")]
    remove_property: Vec<String>,
    /// Columns to rename, or members of structs: `a=b`, `c.d=e`
    #[arg(long, value_name = "OLD=NEW")]
    rename: Vec<String>,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let options = args.limits.editing_options()?;
    let mut editing = Editing::open(&args.file, options, args.target.quiet)?;
    let editor = editing.editor();
    for key in &args.remove {
        if editor.metadata_mut().remove(key).is_none() {
            let mut known: Vec<&str> = editor.metadata_mut().keys().map(String::as_str).collect();
            known.sort_unstable();
            return Err(unknown("key", key, &known).within(args.file.display()));
        }
    }
    for entry in &args.entries {
        let (key, value) = pair(entry, "KEY=VALUE")?;
        let others = args.entries.iter().filter(|other| {
            other
                .strip_prefix(key)
                .is_some_and(|rest| rest.starts_with('='))
        });
        if others.count() > 1 {
            return Err(Failure::Usage(format!("`{key}` is set twice")));
        }
        editor
            .metadata_mut()
            .insert(key.to_owned(), value.to_owned());
    }
    for name in &args.remove_property {
        if !editor.remove_property(name) {
            let known = editor.properties().iter();
            let known: Vec<&str> = known.map(|it| it.name.as_str()).collect();
            return Err(unknown("property", name, &known).within(args.file.display()));
        }
    }
    for property in &args.property {
        let (name, value) = pair(property, "NAME=VALUE after --property")?;
        editor.set_property(NameValuePair::new(name, value))?;
    }
    super::rename(editor, &args.rename)?;
    args.target.commit(editing, &args.file)
}

fn unknown(what: &str, name: &str, known: &[&str]) -> Failure {
    let advice = match (nearest(name, known.iter().copied()), known) {
        (Some(nearest), _) => format!("did you mean `{nearest}`?"),
        (None, []) => "the shard has none".to_owned(),
        (None, known) => {
            let quoted: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("it has {}", listed(quoted.iter().map(String::as_str)))
        }
    };
    Failure::new(format!(
        "the shard has no {what} `{}`; {advice}",
        text::shown(name)
    ))
}
