//! Schemas in text: as fields in one line, and as the command `schema` prints them, in lines or as JSON.

mod types;

pub(crate) use types::parse_type;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Key of a field's metadata with the name of its extension type.
const EXTENSION_NAME: &str = "ARROW:extension:name";

/// Parses a schema in any of the forms.
pub(crate) fn parse_schema(text: &str) -> Result<Schema, String> {
    let text = text.trim_end();
    if text.trim_start().starts_with('{') {
        let json: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        return schema_of_json(&json)
            .ok_or_else(|| "expected JSON as `arrow-shard schema --json` prints it".to_owned())?;
    }
    let is_tree =
        text.lines().count() > 1 && !text.lines().any(|line| line.trim_end().ends_with(','));
    if !is_tree {
        return Ok(Schema::new(types::parse_fields(text)?));
    }
    // The metadata of the table follow.
    let lines = text.lines().take_while(|line| *line != "metadata:");
    let lines: Vec<&str> = lines.filter(|line| !line.trim().is_empty()).collect();
    let mut rest = lines.as_slice();
    let fields = children(&mut rest, 0)?;
    match rest.first() {
        None => Ok(Schema::new(fields)),
        Some(line) => Err(format!(
            "the line `{}` has an unexpected indent",
            line.trim()
        )),
    }
}

/// Returns the schema in the output of `schema --json`, or `None` if this is other JSON.
pub(crate) fn schema_of_json(json: &Value) -> Option<Result<Schema, String>> {
    let fields = json.get("fields")?.as_array()?;
    let is_field = |field: &Value| field.get("name").is_some() && field.get("type").is_some();
    if !fields.iter().all(is_field) {
        return None;
    }
    let fields: Result<Vec<FieldRef>, String> = fields.iter().map(json_field).collect();
    Some(fields.map(Schema::new))
}

fn json_field(json: &Value) -> Result<FieldRef, String> {
    let text = |key: &str| {
        let value = json.get(key).and_then(Value::as_str);
        value.ok_or_else(|| format!("a field of the schema has no `{key}`"))
    };
    let children = json.get("children").and_then(Value::as_array);
    let children = children
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .map(json_field);
    let data_type = nested(text("type")?, children.collect::<Result<_, _>>()?)?;
    let is_nullable = json
        .get("nullable")
        .and_then(Value::as_bool)
        .unwrap_or(true);
    let metadata = json.get("metadata").and_then(Value::as_object);
    let metadata: HashMap<String, String> = metadata
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect();
    let field = Field::new(text("name")?, data_type, is_nullable);
    Ok(Arc::new(field.with_metadata(metadata)))
}

/// Parses the lines with this indent, and the lines below them.
fn children(lines: &mut &[&str], indent: usize) -> Result<Vec<FieldRef>, String> {
    let mut fields = Vec::new();
    while let Some((line, rest)) = lines.split_first() {
        let own = line.len() - line.trim_start().len();
        if own < indent || (own > indent && fields.is_empty()) {
            break;
        }
        if own > indent {
            return Err(format!(
                "the line `{}` has an unexpected indent",
                line.trim()
            ));
        }
        *lines = rest;
        let below = rest
            .first()
            .map_or(0, |next| next.len() - next.trim_start().len());
        let inner = if below > own {
            children(lines, below)?
        } else {
            Vec::new()
        };
        fields.push(line_field(line, inner).map_err(|why| format!("`{}`: {why}", line.trim()))?);
    }
    Ok(fields)
}

/// Parses a line such as `id: Int64 not null [arrow.json]`.
fn line_field(line: &str, children: Vec<FieldRef>) -> Result<FieldRef, String> {
    let plain = line.trim();
    let (plain, extension) = match plain.strip_suffix(']').and_then(|it| it.rsplit_once(" [")) {
        Some((plain, extension)) => (plain, Some(extension)),
        None => (plain, None),
    };
    let (name, data_type, is_nullable) = types::split_field(plain)?;
    let field = Field::new(name, nested(data_type, children)?, is_nullable);
    let metadata = extension.map(|name| (EXTENSION_NAME.to_owned(), name.to_owned()));
    Ok(Arc::new(
        field.with_metadata(metadata.into_iter().collect()),
    ))
}

/// Returns the type with this name and these children; most types have none.
fn nested(name: &str, children: Vec<FieldRef>) -> Result<DataType, String> {
    use DataType as T;
    if name == "Struct" {
        return Ok(T::Struct(Fields::from(children)));
    }
    let [child] = children.as_slice() else {
        return match children.len() {
            0 => parse_type(name),
            _ => Err(format!("{name} has one field inside of it")),
        };
    };
    let child = child.clone();
    let size = |prefix: &str| name.strip_prefix(prefix)?.strip_suffix(')');
    if let Some(size) = size("FixedSizeList(") {
        let size = size
            .parse()
            .map_err(|_| format!("`{size}` is not a size of a list"))?;
        return Ok(T::FixedSizeList(child, size));
    }
    if let Some(ends) = size("RunEndEncoded(") {
        let ends = Field::new("run_ends", parse_type(ends)?, false);
        return Ok(T::RunEndEncoded(Arc::new(ends), child));
    }
    Ok(match name {
        "List" => T::List(child),
        "LargeList" => T::LargeList(child),
        "ListView" => T::ListView(child),
        "LargeListView" => T::LargeListView(child),
        "Map" => T::Map(child, false),
        "Map(sorted)" => T::Map(child, true),
        _ => return Err(format!("{name} cannot be given as text")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field_tree::print_field;

    fn schema() -> Schema {
        let text = "id int64 not null, \"a b\" timestamp(us, UTC), l list(struct(x int8, y list(utf8))), \
                    f FixedSizeList(3 x Float32), \
                    m Map(\"entries\": non-null Struct(\"keys\": non-null Utf8, \"values\": Int32), unsorted), \
                    d decimal(10, 2)";
        parse_schema(text).unwrap()
    }

    #[test]
    fn printed_lines_are_read() {
        let mut fields = schema().fields().to_vec();
        let json = HashMap::from([(EXTENSION_NAME.to_owned(), "arrow.json".to_owned())]);
        fields.push(Arc::new(
            Field::new("j", DataType::Utf8, false).with_metadata(json),
        ));
        for name in [" lead", "a: b", "\"q\"", "tail "] {
            fields.push(Arc::new(Field::new(name, DataType::Int8, true)));
        }
        let mut text = Vec::new();
        for field in &fields {
            print_field(&mut text, field, 0).unwrap();
        }
        let text = String::from_utf8(text).unwrap();
        assert_eq!(
            parse_schema(&text).unwrap().fields().to_vec(),
            fields,
            "{text}"
        );
        let with_metadata = format!("{text}metadata:\n  key: value\n");
        assert_eq!(
            parse_schema(&with_metadata).unwrap().fields().to_vec(),
            fields
        );
    }

    #[test]
    fn fields_may_be_in_lines_with_commas() {
        let lines = parse_schema("a int64,\n  b utf8").unwrap();
        assert_eq!(lines, parse_schema("a int64, b utf8").unwrap());
        for text in [
            "a: List\n    item: Int8\n  x: Int8",
            "a: List",
            "  a: Int8\nb: Int8",
            "a: Union(Sparse)\n  x: Int8",
        ] {
            assert!(parse_schema(text).is_err(), "{text}");
        }
    }
}
