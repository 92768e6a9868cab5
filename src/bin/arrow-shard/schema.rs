//! `arrow-shard schema`

use crate::failure::Failure;
use crate::field_tree::{outline, print_field};
use crate::input::{ColumnArgs, ReadArgs, RowWindow};
use crate::output::Destination;
use crate::text;
use arrow_schema::{Field, Schema};
use arrow_shard::read::inspect::NodeInfo;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard schema flights.amudai.shard
  arrow-shard schema --shard flights.amudai.shard
  arrow-shard schema --json flights.parquet";

/// Print the schema of a file, one line per field, and its metadata
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File, folder (with its subfolders), glob in quotes, or URL to read; `-` is standard input (IPC stream, CSV,
    /// NDJSON)
    input: PathBuf,
    #[command(flatten)]
    reading: ReadArgs,
    /// Print the nodes that a shard stores: schema id, name, type, label
    #[arg(long)]
    shard: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let reading = &args.reading;
    let files = reading.files(std::slice::from_ref(&args.input))?.paths;
    reading.check(&files, None)?;
    let mut out = Destination::standard();
    if args.shard {
        let nodes = reading.open_shard(&args.input)?.schema_nodes()?;
        if args.json {
            let nodes: Vec<Value> = nodes.iter().map(node_json).collect();
            writeln!(out, "{:#}", json!({ "fields": nodes }))?;
        } else {
            for node in &nodes {
                print_node(&mut out, node, 0)?;
            }
        }
    } else {
        let (columns, rows) = (ColumnArgs::default(), RowWindow::default());
        let input = reading.open_all(&files, &columns, rows)?;
        if args.json {
            writeln!(out, "{:#}", schema_json(&input.schema))?;
        } else {
            for field in input.schema.fields() {
                print_field(&mut out, field, 0)?;
            }
            print_metadata(&mut out, &input.schema)?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Prints the metadata of a schema, a line for each key.
fn print_metadata(out: &mut Destination, schema: &Schema) -> io::Result<()> {
    let mut entries: Vec<_> = schema.metadata().iter().collect();
    entries.sort();
    for (i, (key, value)) in entries.into_iter().enumerate() {
        if i == 0 {
            writeln!(out, "metadata:")?;
        }
        let entry = text::entry(key, value.clone());
        writeln!(out, "  {}", text::shown(&entry))?;
    }
    Ok(())
}

fn schema_json(schema: &Schema) -> Value {
    let fields: Vec<Value> = schema
        .fields()
        .iter()
        .map(|field| field_json(field))
        .collect();
    json!({ "fields": fields, "metadata": schema.metadata() })
}

fn field_json(field: &Field) -> Value {
    let (ty, children) = outline(field.data_type());
    let mut json = json!({
        "name": field.name(),
        "type": ty,
        "nullable": field.is_nullable(),
        "metadata": field.metadata(),
    });
    if !children.is_empty() {
        json["children"] = children
            .into_iter()
            .map(|child| field_json(child))
            .collect();
    }
    json
}

fn print_node(out: &mut Destination, node: &NodeInfo, depth: usize) -> io::Result<()> {
    let label = match node.label_text() {
        text if text.is_empty() => text,
        text => format!(" [{text}]"),
    };
    let internal = match &node.internal_kind {
        Some(kind) => format!(" (internal: {kind})"),
        None => String::new(),
    };
    let indent = 2 * depth;
    let (id, ty) = (node.schema_id, &node.stored_type);
    let (name, label, internal) = (
        text::shown(&node.name),
        text::shown(&label),
        text::shown(&internal),
    );
    writeln!(out, "{id:>4} {:indent$}{name}: {ty}{label}{internal}", "")?;
    for child in &node.children {
        print_node(out, child, depth + 1)?;
    }
    Ok(())
}

fn node_json(node: &NodeInfo) -> Value {
    let mut json = json!({
        "schema_id": node.schema_id,
        "name": node.name,
        "type": node.stored_type,
    });
    if let Some(label) = &node.label {
        let properties: Map<_, _> = node
            .properties
            .iter()
            .map(|(name, value)| (name.clone(), Value::String(value.clone())))
            .collect();
        json["label"] = json!(label);
        json["properties"] = Value::Object(properties);
    }
    if let Some(kind) = &node.internal_kind {
        json["internal_kind"] = json!(kind);
    }
    if !node.children.is_empty() {
        json["children"] = node.children.iter().map(node_json).collect();
    }
    json
}
