//! The fields of a schema as lines of text. The program `arrow-shard-lance` compiles this file, too.

use crate::safe_text::shown;
use arrow_schema::{DataType, Field, FieldRef};
use std::borrow::Cow;
use std::io::{self, Write};

/// Prints a field and the fields inside of it, a line for each.
pub(crate) fn print_field(out: &mut impl Write, field: &Field, depth: usize) -> io::Result<()> {
    let (ty, children) = outline(field.data_type());
    let nullable = if field.is_nullable() { "" } else { " not null" };
    let extension = match field.extension_type_name() {
        Some(name) => format!(" [{name}]"),
        None => String::new(),
    };
    let indent = 2 * depth;
    writeln!(
        out,
        "{:indent$}{}: {}{nullable}{}",
        "",
        shown(&quoted(field.name())),
        shown(&ty),
        shown(&extension)
    )?;
    for child in children {
        print_field(out, child, depth + 1)?;
    }
    Ok(())
}

/// Returns a name, in double quotes if a reader of the line could not tell where it begins or ends.
fn quoted(name: &str) -> Cow<'_, str> {
    let is_plain = name.trim() == name && !name.starts_with('"') && !name.contains(": ");
    if is_plain {
        name.into()
    } else {
        format!("\"{}\"", name.replace('"', "\"\"")).into()
    }
}

/// Returns the name of a type without its children, and the children.
pub(crate) fn outline(data_type: &DataType) -> (String, Vec<&FieldRef>) {
    use DataType as T;
    let name = |name: &str| name.to_owned();
    match data_type {
        T::List(item) => (name("List"), vec![item]),
        T::LargeList(item) => (name("LargeList"), vec![item]),
        T::ListView(item) => (name("ListView"), vec![item]),
        T::LargeListView(item) => (name("LargeListView"), vec![item]),
        T::FixedSizeList(item, size) => (format!("FixedSizeList({size})"), vec![item]),
        T::Struct(members) => (name("Struct"), members.iter().collect()),
        T::Map(entries, sorted) => {
            let ty = if *sorted { "Map(sorted)" } else { "Map" };
            (name(ty), vec![entries])
        }
        T::Union(variants, mode) => {
            let variants = variants.iter().map(|(_, variant)| variant).collect();
            (format!("Union({mode:?})"), variants)
        }
        T::RunEndEncoded(ends, values) if values.data_type().is_nested() => {
            (format!("RunEndEncoded({})", ends.data_type()), vec![values])
        }
        other => (other.to_string(), Vec::new()),
    }
}
