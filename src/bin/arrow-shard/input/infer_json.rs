//! The Arrow schema of JSON: fields in the order in which they are first met.

use crate::failure::Failure;
use arrow_schema::{DataType, Field, Fields, Schema};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::sync::Arc;

/// All integers up to this are floats, too.
const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// What the values met so far look like.
#[derive(Debug, Default)]
struct Shape {
    boolean: bool,
    text: bool,
    float: bool,
    negative: bool,
    /// Integers that an i64 holds.
    integer: bool,
    /// Integers above those.
    large: bool,
    /// Integers that a Float64 may not hold.
    precise: bool,
    items: Option<Box<Shape>>,
    members: Option<Members>,
}

/// The members of objects, in order.
#[derive(Debug, Default)]
struct Members {
    shapes: Vec<(String, Shape)>,
    ordinals: HashMap<String, usize>,
}

/// The schema of at most `rows` objects, which follow each other; of all if `None`.
pub(super) fn infer(reader: impl Read, rows: Option<usize>) -> Result<Schema, Failure> {
    let mut members = Members::default();
    let mut json = serde_json::Deserializer::from_reader(reader);
    let mut seen = 0;
    // The end is no error but that of the text.
    while rows.is_none_or(|rows| seen < rows) && json.end().is_err() {
        (&mut members).deserialize(&mut json)?;
        seen += 1;
    }
    Ok(Schema::new(members.fields("")?))
}

impl Shape {
    fn is_scalar(&self) -> bool {
        self.boolean || self.text || self.is_number()
    }

    fn is_number(&self) -> bool {
        self.float || self.integer || self.large
    }

    fn data_type(self, path: &str) -> Result<DataType, Failure> {
        let scalar = self.is_scalar();
        let kinds = [scalar, self.items.is_some(), self.members.is_some()];
        if kinds.iter().filter(|&&kind| kind).count() > 1 {
            return Err(Failure::new(format!(
                "field `{path}` mixes objects, lists and plain values, which no Arrow type holds"
            )));
        }
        if let Some(items) = self.items {
            let item = items.data_type(&format!("{path}[]"))?;
            return Ok(DataType::new_list(item, true));
        }
        if let Some(members) = self.members {
            return Ok(DataType::Struct(members.fields(path)?));
        }
        Ok(match (self.boolean, self.text, self.is_number()) {
            (false, false, false) => DataType::Null,
            (true, false, false) => DataType::Boolean,
            (false, false, true) if self.float && !self.precise => DataType::Float64,
            (false, false, true) if self.float => DataType::Utf8,
            (false, false, true) if !self.large => DataType::Int64,
            (false, false, true) if !self.negative => DataType::UInt64,
            _ => DataType::Utf8,
        })
    }
}

impl Members {
    fn shape(&mut self, name: String) -> Option<&mut Shape> {
        let next = self.shapes.len();
        let ordinal = *self.ordinals.entry(name.clone()).or_insert(next);
        if ordinal == next {
            self.shapes.push((name, Shape::default()));
        }
        self.shapes.get_mut(ordinal).map(|(_, shape)| shape)
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

impl<'de> DeserializeSeed<'de> for &mut Shape {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Shape {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.boolean = true;
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.integer = true;
        self.negative |= value < 0;
        self.precise |= value.unsigned_abs() > EXACT;
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(_) => self.integer = true,
            Err(_) => self.large = true,
        }
        self.precise |= value > EXACT;
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.float = true;
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.text = true;
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let shape = self.items.get_or_insert_default();
        while items.next_element_seed(&mut **shape)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        self.members.get_or_insert_default().visit_map(members)
    }
}

/// An object, and nothing else.
impl<'de> DeserializeSeed<'de> for &mut Members {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Members {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object for each row")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            match self.shape(name) {
                Some(shape) => members.next_value_seed(shape)?,
                None => return Err(Error::custom("too many members")),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(lines: &str) -> Vec<String> {
        let schema = infer(lines.as_bytes(), None).unwrap();
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
    }

    #[test]
    fn what_no_type_holds_is_an_error_with_its_place() {
        let error = infer("{\"a\":{\"b\":[1]}}\n{\"a\":{\"b\":2}}".as_bytes(), None).unwrap_err();
        assert!(matches!(error, Failure::Error(m) if m.contains("`a.b`")));
        let error = infer("{\"a\":1}\n[1]".as_bytes(), None).unwrap_err();
        assert!(matches!(error, Failure::Error(m) if m.contains("line 2")));
        let error = infer("{\"a\":1} }".as_bytes(), None).unwrap_err();
        assert!(matches!(error, Failure::Error(m) if m.contains("line 1")));
    }
}
