//! Types and fields in text: `int64`, `timestamp(us, UTC)`, `a int64 not null, b list(utf8)`. Every name of a type that
//! this program prints is read, in any case and with or without underscores, and so are a few names of SQL.

use arrow_schema::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Field, FieldRef, Fields, TimeUnit,
};
use std::sync::Arc;

/// Maximum nesting of types in text.
const MAX_DEPTH: usize = 64;

/// Parses a type.
pub(crate) fn parse_type(text: &str) -> Result<DataType, String> {
    let mut scanner = Scanner::new(text);
    let data_type = scanner.data_type()?;
    scanner.end()?;
    Ok(data_type)
}

/// Parses fields that are separated by commas.
pub(super) fn parse_fields(text: &str) -> Result<Vec<Field>, String> {
    let mut scanner = Scanner::new(text);
    let fields = scanner.fields()?;
    scanner.end()?;
    Ok(fields)
}

/// Splits a line of the command `schema` into the name of a field, the text of its type, and whether it is nullable.
pub(super) fn split_field(text: &str) -> Result<(String, &str, bool), String> {
    // Printed names have no quotes.
    let (name, rest) = match text.split_once(": ") {
        Some((name, rest)) if !name.starts_with('"') => (name.to_owned(), rest.trim()),
        _ => {
            let mut scanner = Scanner::new(text);
            let name = scanner.name()?;
            scanner.skip(':');
            (name, scanner.rest.trim())
        }
    };
    let data_type = rest.strip_suffix("not null").map(str::trim_end);
    Ok((name, data_type.unwrap_or(rest), data_type.is_none()))
}

/// Reads text from front to back.
struct Scanner<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text.trim(),
            depth: 0,
        }
    }

    /// Skips a character and the blanks around it. Returns whether it was there.
    fn skip(&mut self, character: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(character) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, character: char) -> Result<(), String> {
        if self.skip(character) {
            return Ok(());
        }
        Err(format!("expected `{character}`, found {}", self.found()))
    }

    fn end(&self) -> Result<(), String> {
        if self.rest.trim().is_empty() {
            return Ok(());
        }
        Err(format!("expected nothing more, found {}", self.found()))
    }

    /// Returns the beginning of the remaining text, for errors.
    fn found(&self) -> String {
        match self.rest.chars().take(20).collect::<String>() {
            text if text.is_empty() => "the end".to_owned(),
            text => format!("`{text}`"),
        }
    }

    /// Returns the characters up to one with a meaning.
    fn word(&mut self) -> Result<&'a str, String> {
        let text = self.rest.trim_start();
        let end = text.find(|c: char| c.is_whitespace() || ",:()\"".contains(c));
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        if word.is_empty() {
            self.rest = text;
            return Err(format!("expected a name, found {}", self.found()));
        }
        self.rest = rest.trim_start();
        Ok(word)
    }

    /// Returns a name, which may be in double quotes; a quote in it is doubled.
    fn name(&mut self) -> Result<String, String> {
        if !self.skip_quote() {
            return self.word().map(str::to_owned);
        }
        let mut name = String::new();
        loop {
            let Some((part, rest)) = self.rest.split_once('"') else {
                return Err("a name in quotes does not end".to_owned());
            };
            name.push_str(part);
            self.rest = rest;
            match rest.strip_prefix('"') {
                Some(rest) => {
                    name.push('"');
                    self.rest = rest;
                }
                None => {
                    self.rest = rest.trim_start();
                    return Ok(name);
                }
            }
        }
    }

    /// Skips a quote, but no blanks after it.
    fn skip_quote(&mut self) -> bool {
        let inside = self.rest.trim_start().strip_prefix('"');
        self.rest = inside.unwrap_or(self.rest);
        inside.is_some()
    }

    fn fields(&mut self) -> Result<Vec<Field>, String> {
        let mut fields = vec![self.field()?];
        while self.skip(',') {
            fields.push(self.field()?);
        }
        Ok(fields)
    }

    fn field(&mut self) -> Result<Field, String> {
        let name = self.name()?;
        self.skip(':');
        let item = self.item(&name)?;
        let mut field = Field::clone(&item);
        let mut words = self.clone_of_rest();
        let is_not_null = words
            .word()
            .is_ok_and(|word| word.eq_ignore_ascii_case("not"))
            && words
                .word()
                .is_ok_and(|word| word.eq_ignore_ascii_case("null"));
        if is_not_null {
            self.rest = words.rest;
            field.set_nullable(false);
        }
        Ok(field)
    }

    fn clone_of_rest(&self) -> Self {
        Self {
            rest: self.rest,
            depth: self.depth,
        }
    }

    /// Parses a type with an optional `non-null` before it.
    fn item(&mut self, name: &str) -> Result<FieldRef, String> {
        let mut words = self.clone_of_rest();
        let is_required = words.word().is_ok_and(|word| word == "non-null");
        if is_required {
            self.rest = words.rest;
        }
        Ok(Arc::new(Field::new(name, self.data_type()?, !is_required)))
    }

    fn data_type(&mut self) -> Result<DataType, String> {
        use DataType as T;
        let before = self.rest;
        let word = self.word()?;
        let plain = match normalized(word).as_str() {
            "null" => T::Null,
            "bool" | "boolean" => T::Boolean,
            "int8" | "tinyint" => T::Int8,
            "int16" | "smallint" => T::Int16,
            "int32" | "int" | "integer" => T::Int32,
            "int64" | "bigint" => T::Int64,
            "uint8" => T::UInt8,
            "uint16" => T::UInt16,
            "uint32" => T::UInt32,
            "uint64" => T::UInt64,
            "float16" => T::Float16,
            "float32" | "float" | "real" => T::Float32,
            "float64" | "double" => T::Float64,
            "utf8" | "string" | "text" | "varchar" => T::Utf8,
            "largeutf8" | "largestring" => T::LargeUtf8,
            "utf8view" | "stringview" => T::Utf8View,
            "binary" => T::Binary,
            "largebinary" => T::LargeBinary,
            "binaryview" => T::BinaryView,
            "date32" | "date" => T::Date32,
            "date64" => T::Date64,
            _ => return self.with_arguments(word, before),
        };
        Ok(plain)
    }

    /// Parses a type with arguments in parentheses.
    fn with_arguments(&mut self, word: &str, before: &'a str) -> Result<DataType, String> {
        use DataType as T;
        let name = normalized(word);
        if !self.skip('(') {
            return match name.as_str() {
                "timestamp" => Ok(T::Timestamp(TimeUnit::Microsecond, None)),
                _ => Err(unknown(word)),
            };
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let data_type = match name.as_str() {
            "timestamp" => {
                let unit = self.unit()?;
                let zone = if self.skip(',') {
                    Some(self.zone()?)
                } else {
                    None
                };
                T::Timestamp(unit, zone.map(Into::into))
            }
            "time32" => T::Time32(self.unit_of(&[TimeUnit::Second, TimeUnit::Millisecond])?),
            "time64" => T::Time64(self.unit_of(&[TimeUnit::Microsecond, TimeUnit::Nanosecond])?),
            "duration" => T::Duration(self.unit()?),
            "decimal" | "numeric" | "decimal32" | "decimal64" | "decimal128" | "decimal256" => {
                self.decimal(&name)?
            }
            "list" => T::List(self.item(Field::LIST_FIELD_DEFAULT_NAME)?),
            "largelist" => T::LargeList(self.item(Field::LIST_FIELD_DEFAULT_NAME)?),
            "struct" => T::Struct(Fields::from(self.fields()?)),
            "fixedsizebinary" => {
                let size = self.word()?;
                let bytes = size.parse().ok().filter(|bytes| *bytes >= 0);
                T::FixedSizeBinary(bytes.ok_or_else(|| format!("`{size}` is not a size"))?)
            }
            "dictionary" => {
                let keys = self.data_type()?;
                self.expect(',')?;
                if !keys.is_dictionary_key_type() {
                    return Err(format!(
                        "{keys} cannot be the type of the keys of a dictionary"
                    ));
                }
                T::Dictionary(Box::new(keys), Box::new(self.data_type()?))
            }
            _ => return self.other(word, before),
        };
        self.expect(')')?;
        self.depth -= 1;
        Ok(data_type)
    }

    /// Parses a type that only Arrow's own parser knows, up to its closing parenthesis.
    fn other(&mut self, word: &str, before: &'a str) -> Result<DataType, String> {
        let (mut open, mut deepest, mut is_quoted) = (0_usize, 0, false);
        let end = before.char_indices().find_map(|(at, c)| {
            match c {
                '"' => is_quoted = !is_quoted,
                '(' if !is_quoted => {
                    open += 1;
                    deepest = deepest.max(open);
                }
                ')' if !is_quoted => {
                    open = open.saturating_sub(1);
                    return (open == 0).then_some(at + 1);
                }
                _ => {}
            }
            None
        });
        let Some((text, rest)) = end.map(|end| before.split_at(end)) else {
            return Err(format!("`)` is missing after `{word}(`"));
        };
        if deepest > MAX_DEPTH {
            return Err(too_deep());
        }
        self.rest = rest.trim_start();
        self.depth -= 1;
        // Its message lists tokens.
        text.trim().parse().map_err(|_| unknown(text.trim()))
    }

    fn unit(&mut self) -> Result<TimeUnit, String> {
        self.unit_of(&[
            TimeUnit::Second,
            TimeUnit::Millisecond,
            TimeUnit::Microsecond,
            TimeUnit::Nanosecond,
        ])
    }

    fn unit_of(&mut self, allowed: &[TimeUnit]) -> Result<TimeUnit, String> {
        let word = self.word()?;
        let unit = match word.to_ascii_lowercase().as_str() {
            "s" | "second" => Some(TimeUnit::Second),
            "ms" | "millisecond" => Some(TimeUnit::Millisecond),
            "us" | "µs" | "microsecond" => Some(TimeUnit::Microsecond),
            "ns" | "nanosecond" => Some(TimeUnit::Nanosecond),
            _ => None,
        };
        let names: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        unit.filter(|unit| allowed.contains(unit)).ok_or_else(|| {
            format!(
                "expected one of the units {}, found `{word}`",
                names.join(", ")
            )
        })
    }

    /// Returns the name of a time zone. Its `:` needs no quotes.
    fn zone(&mut self) -> Result<String, String> {
        if self.rest.starts_with('"') {
            return self.name();
        }
        let end = self.rest.find(')').unwrap_or(self.rest.len());
        let (zone, rest) = self.rest.split_at(end);
        self.rest = rest;
        match zone.trim() {
            "" => Err("expected a time zone such as UTC".to_owned()),
            zone => Ok(zone.to_owned()),
        }
    }

    fn decimal(&mut self, name: &str) -> Result<DataType, String> {
        let numbers = "expected a precision and a scale, such as (10, 2)";
        let precision: u8 = self.word()?.parse().map_err(|_| numbers.to_owned())?;
        let scale: i8 = if self.skip(',') {
            self.word()?.parse().map_err(|_| numbers.to_owned())?
        } else {
            0
        };
        let (data_type, most) = match name {
            "decimal32" => (DataType::Decimal32(precision, scale), 9),
            "decimal64" => (DataType::Decimal64(precision, scale), 18),
            "decimal256" => (
                DataType::Decimal256(precision, scale),
                DECIMAL256_MAX_PRECISION,
            ),
            "decimal" | "numeric" if precision > DECIMAL128_MAX_PRECISION => (
                DataType::Decimal256(precision, scale),
                DECIMAL256_MAX_PRECISION,
            ),
            _ => (
                DataType::Decimal128(precision, scale),
                DECIMAL128_MAX_PRECISION,
            ),
        };
        let is_sound = (1..=most).contains(&precision) && i16::from(scale) <= i16::from(precision);
        if !is_sound {
            return Err(format!(
                "{name} has a precision of 1 to {most} and a scale of at most the precision"
            ));
        }
        Ok(data_type)
    }
}

/// Returns the name in lower case and without underscores.
fn normalized(word: &str) -> String {
    word.to_ascii_lowercase().replace('_', "")
}

fn too_deep() -> String {
    format!("types are nested more than {MAX_DEPTH} levels deep")
}

fn unknown(name: &str) -> String {
    format!(
        "there is no type `{name}`; there are int64, uint8, float64, decimal(10, 2), utf8, binary, boolean, date32, \
         time64(us), timestamp(us, UTC), duration(ms), list(utf8), struct(a int64, b utf8) and others"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_names_of_types_are_read() {
        for name in [
            "Null",
            "Boolean",
            "Int8",
            "UInt64",
            "Float16",
            "Float64",
            "Utf8",
            "LargeUtf8",
            "Utf8View",
            "Binary",
            "BinaryView",
            "FixedSizeBinary(16)",
            "Date32",
            "Date64",
            "Time32(ms)",
            "Time64(µs)",
            "Timestamp(s)",
            "Timestamp(ns, \"Europe/Oslo\")",
            "Timestamp(µs, \"+02:00\")",
            "Duration(s)",
            "Interval(MonthDayNano)",
            "Decimal32(9, 2)",
            "Decimal256(76, -3)",
            "List(Int32)",
            "List(non-null Int32)",
            "LargeList(Utf8)",
            "ListView(Int32)",
            "FixedSizeList(3 x Float32)",
            "Struct(\"a b\": Int32, \"c\": non-null List(Utf8))",
            "Dictionary(Int32, Utf8)",
            "Map(\"entries\": non-null Struct(\"keys\": non-null Utf8, \"values\": Int32), unsorted)",
            "RunEndEncoded(\"run_ends\": non-null Int32, \"values\": Utf8)",
        ] {
            let data_type = parse_type(name).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert_eq!(data_type.to_string(), name);
        }
    }

    #[test]
    fn names_may_be_short_and_in_any_case() {
        for (text, want) in [
            ("INT64", "Int64"),
            ("text", "Utf8"),
            ("varchar", "Utf8"),
            ("double", "Float64"),
            ("real", "Float32"),
            ("INTEGER", "Int32"),
            ("int", "Int32"),
            ("bigint", "Int64"),
            ("smallint", "Int16"),
            ("tinyint", "Int8"),
            ("large_utf8", "LargeUtf8"),
            ("timestamp", "Timestamp(µs)"),
            ("timestamp( us , UTC )", "Timestamp(µs, \"UTC\")"),
            ("timestamp(ms, +02:00)", "Timestamp(ms, \"+02:00\")"),
            ("decimal(10,2)", "Decimal128(10, 2)"),
            ("decimal(40)", "Decimal256(40, 0)"),
            (
                "list(struct(a int64, b utf8 not null))",
                "List(Struct(\"a\": Int64, \"b\": non-null Utf8))",
            ),
        ] {
            assert_eq!(parse_type(text).unwrap().to_string(), want, "{text}");
        }
    }

    #[test]
    fn fields_have_names_types_and_may_be_not_null() {
        let fields =
            parse_fields("a int64, \"b, \"\"c\" : timestamp(us, UTC) NOT NULL,d list(int8)")
                .unwrap();
        let shown: Vec<String> = fields
            .iter()
            .map(|field| {
                format!(
                    "{} {} {}",
                    field.name(),
                    field.data_type(),
                    field.is_nullable()
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "a Int64 true",
                "b, \"c Timestamp(µs, \"UTC\") false",
                "d List(Int8) true"
            ]
        );
    }

    #[test]
    fn what_is_no_type_is_an_error() {
        for text in [
            "",
            "integers",
            "int65",
            "timestamp(",
            "timestamp(us",
            "timestamp(h)",
            "time32(us)",
            "decimal(0, 0)",
            "decimal128(39, 0)",
            "decimal(3, 4)",
            "list",
            "list(",
            "list()",
            "struct()",
            "int64 x",
            "utf8)",
            "dictionary(int32)",
            "dictionary(utf8, utf8)",
            "fixed_size_binary(-1)",
            "Dictionary(Int32",
            "\"int64\"",
        ] {
            assert!(parse_type(text).is_err(), "{text}");
        }
        for open in ["list(", "Dictionary(Int8, "] {
            let deep = format!("{}utf8{}", open.repeat(100_000), ")".repeat(100_000));
            assert!(parse_type(&deep).is_err(), "{open}");
        }
        for text in [
            "",
            "a",
            "a int64,",
            "a int64 b utf8",
            "\"a int64",
            "a: int64: b",
        ] {
            assert!(parse_fields(text).is_err(), "{text}");
        }
    }
}
