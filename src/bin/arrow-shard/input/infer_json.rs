//! Infers the Arrow schema of JSON. Fields are in the order in which they first appear.

use super::numbers::Numbers;
use super::row_sizes::{Inferred, RowSizes, rows_of_values};
use crate::failure::Failure;
use arrow_schema::{DataType, Field, Fields, Schema};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::sync::Arc;

/// Maximum nesting of objects and lists: reading them uses the stack.
const MAX_DEPTH: usize = 128;

/// The kinds of values seen for a field.
#[derive(Debug, Default)]
struct Shape {
    /// The number of the last object that had the field.
    object: usize,
    boolean: bool,
    text: bool,
    numbers: Numbers,
    items: Option<Box<Items>>,
    members: Option<Members>,
}

/// The items of lists.
#[derive(Debug, Default)]
struct Items {
    shape: Shape,
    /// Number of items seen.
    count: usize,
}

/// The members of objects, in order.
#[derive(Debug, Default)]
struct Members {
    shapes: Vec<(String, Shape)>,
    ordinals: HashMap<String, usize>,
    /// Number of objects seen.
    objects: usize,
    /// Number of bytes of their names and values.
    bytes: usize,
}

/// Infers the schema from the first `rows` objects, or from all objects if `None`.
pub(super) fn infer(reader: impl Read, rows: Option<usize>) -> Result<Inferred, Failure> {
    let mut members = Members::default();
    let mut json = serde_json::Deserializer::from_reader(reader);
    let mut sizes = RowSizes::default();
    // `end` fails unless the text has ended.
    let is_whole = loop {
        if json.end().is_ok() {
            break true;
        }
        if rows.is_some_and(|rows| sizes.rows() >= rows) {
            break false;
        }
        let before = members.bytes;
        let seed = ObjectSeed {
            members: &mut members,
            depth: 1,
        };
        seed.deserialize(&mut json).map_err(|e| at_its_line(&e))?;
        sizes.meet(members.bytes - before);
    };
    let objects = sizes.rows().max(1);
    let values = members.positions(objects).div_ceil(objects);
    let most = rows_of_values(values).min(sizes.fitting());
    Ok(Inferred {
        schema: Arc::new(Schema::new(members.fields("")?)),
        untyped: Vec::new(),
        batch_rows: if is_whole { most.min(objects) } else { most },
        is_sample: false,
    })
}

impl Shape {
    /// Records a value at nesting level `depth`.
    fn meet(&mut self, json: &str, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!(
                "objects and lists are nested more than {MAX_DEPTH} levels deep"
            ));
        }
        let depth = depth + 1;
        match json.as_bytes().first() {
            Some(b'{') => {
                let members = self.members.get_or_insert_default();
                let seed = ObjectSeed { members, depth };
                seed.deserialize(&mut serde_json::Deserializer::from_str(json))
                    .map_err(|e| without_place(&e))?;
            }
            Some(b'[') => {
                let items = self.items.get_or_insert_default();
                let seed = ItemsSeed { items, depth };
                seed.deserialize(&mut serde_json::Deserializer::from_str(json))
                    .map_err(|e| without_place(&e))?;
            }
            Some(b'"') => self.text = true,
            Some(b't' | b'f') => self.boolean = true,
            Some(b'n') | None => {}
            // Anything else is a number of some type, or text.
            Some(_) => self.text |= !self.numbers.meet(json),
        }
        Ok(())
    }

    /// Returns the number of values in an array of length `len` and in its child arrays.
    fn positions(&self, len: usize) -> usize {
        let members = self.members.as_ref().map_or(0, |it| it.positions(len));
        let items = match &self.items {
            Some(items) => items.shape.positions(items.count),
            None => 0,
        };
        len.saturating_add(members).saturating_add(items)
    }

    fn data_type(self, path: &str) -> Result<DataType, Failure> {
        let number = self.numbers.data_type();
        let scalar = self.boolean || self.text || number.is_some();
        let kinds = [scalar, self.items.is_some(), self.members.is_some()];
        if kinds.iter().filter(|&&kind| kind).count() > 1 {
            return Err(Failure::new(format!(
                "field `{path}` mixes objects, lists and plain values, which no Arrow type holds"
            )));
        }
        if let Some(items) = self.items {
            let item = items.shape.data_type(&format!("{path}[]"))?;
            return Ok(DataType::new_list(item, true));
        }
        if let Some(members) = self.members {
            return Ok(DataType::Struct(members.fields(path)?));
        }
        Ok(match (self.boolean, self.text, number) {
            (false, false, None) => DataType::Null,
            (true, false, None) => DataType::Boolean,
            (false, false, Some(number)) => number,
            _ => DataType::Utf8,
        })
    }
}

/// Returns the message of an error without the place, which is relative to the value and not to the file.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = message.rfind(" at line ").unwrap_or(message.len());
    message[..place].to_owned()
}

/// For an error at the end of a line, names that line instead of the next one.
pub(super) fn at_its_line(error: &serde_json::Error) -> Failure {
    match (error.line(), error.column()) {
        (line @ 2.., 0) => Failure::new(format!(
            "{} at the end of line {}",
            without_place(error),
            line - 1
        )),
        _ => Failure::new(error.to_string()),
    }
}

impl Members {
    fn shape(&mut self, name: &str) -> Option<&mut Shape> {
        let next = self.shapes.len();
        let ordinal = *self.ordinals.entry(name.to_owned()).or_insert(next);
        if ordinal == next {
            self.shapes.push((name.to_owned(), Shape::default()));
        }
        self.shapes.get_mut(ordinal).map(|(_, shape)| shape)
    }

    /// Returns the number of values in the arrays of `objects` objects, absent values included.
    fn positions(&self, objects: usize) -> usize {
        let shapes = self.shapes.iter();
        let positions = shapes.map(|(_, shape)| shape.positions(objects));
        positions.fold(0, usize::saturating_add)
    }

    fn fields(self, path: &str) -> Result<Fields, Failure> {
        let field = |(name, shape): (String, Shape)| {
            let below = match path {
                "" => name.clone(),
                _ => format!("{path}.{name}"),
            };
            Ok(Arc::new(Field::new(name, shape.data_type(&below)?, true)))
        };
        self.shapes.into_iter().map(field).collect()
    }
}

/// Reads a single object.
struct ObjectSeed<'a> {
    members: &'a mut Members,
    /// The nesting level of its values.
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object for each row")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        self.members.objects += 1;
        let object = self.members.objects;
        while let Some(name) = members.next_key::<String>()? {
            // The text of a number decides its type.
            let value: Box<RawValue> = members.next_value()?;
            self.members.bytes += name.len() + value.get().len();
            match self.members.shape(&name) {
                Some(shape) if shape.object == object => {
                    // The reader would drop one of the values.
                    let twice = format!("the field `{name}` appears twice in an object");
                    return Err(Error::custom(twice));
                }
                Some(shape) => {
                    shape.object = object;
                    shape.meet(value.get(), self.depth).map_err(Error::custom)?;
                }
                None => return Err(Error::custom("too many members")),
            }
        }
        Ok(())
    }
}

/// Reads the items of a list.
struct ItemsSeed<'a> {
    items: &'a mut Items,
    /// The nesting level of its values.
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for ItemsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ItemsSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<&RawValue>()? {
            self.items.count += 1;
            self.items
                .shape
                .meet(item.get(), self.depth)
                .map_err(Error::custom)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(lines: &str) -> Vec<String> {
        let schema = infer(lines.as_bytes(), None).unwrap().schema;
        let text = |field: &Arc<Field>| format!("{}: {}", field.name(), field.data_type());
        schema.fields().iter().map(text).collect()
    }

    #[test]
    fn fields_come_in_the_order_of_their_first_appearance() {
        let lines = "{\"z\":1,\"a\":null}\n\n{\"m\":[{\"y\":true,\"b\":1.5}],\"a\":\"x\"}\n";
        assert_eq!(
            types(lines),
            [
                "z: Int64",
                "a: Utf8",
                "m: List(Struct(\"y\": Boolean, \"b\": Float64))"
            ]
        );
    }

    #[test]
    fn no_integer_is_given_a_type_that_cannot_hold_it() {
        assert_eq!(
            types("{\"a\":1}\n{\"a\":18446744073709551615}"),
            ["a: UInt64"]
        );
        assert_eq!(
            types("{\"a\":-1}\n{\"a\":18446744073709551615}"),
            ["a: Utf8"]
        );
        assert_eq!(types("{\"a\":-1}\n{\"a\":0.5}"), ["a: Float64"]);
        let beside = |n: &str| types(&format!("{{\"a\":{n}}}\n{{\"a\":0.5}}"));
        assert_eq!(beside("9007199254740992"), ["a: Float64"]);
        assert_eq!(beside("-9007199254740993"), ["a: Utf8"]);
        assert_eq!(beside("18446744073709551615"), ["a: Utf8"]);
        assert_eq!(types("{\"a\":true}\n{\"a\":0}"), ["a: Utf8"]);
        for number in ["18446744073709551617", "-9223372036854775809", "1e999"] {
            assert_eq!(types(&format!("{{\"a\":{number}}}")), ["a: Utf8"]);
        }
    }

    #[test]
    fn what_no_type_holds_is_an_error_with_its_place() {
        let error = infer("{\"a\":{\"b\":[1]}}\n{\"a\":{\"b\":2}}".as_bytes(), None).unwrap_err();
        assert!(matches!(error, Failure::Error(m) if m.contains("`a.b`")));
        let error = infer("{\"a\":1}\n[1]".as_bytes(), None).unwrap_err();
        assert!(matches!(error, Failure::Error(m) if m.contains("line 2")));
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let error = infer(format!("{{}}\n{{}}\n{deep}").as_bytes(), None).unwrap_err();
        assert!(matches!(error, Failure::Error(m) if m.contains("128") && m.contains("line 3")));
        let error = infer("{\"a\":1} }".as_bytes(), None).unwrap_err();
        assert!(matches!(error, Failure::Error(m) if m.contains("line 1")));
    }
}
