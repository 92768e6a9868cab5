//! Tests in the text of a predicate that are functions of values: statistics and dictionaries cannot answer them.

use super::literal::quoted;
use super::{CheckColumns, ColumnPath, Comparison, Predicate, col};
use crate::arrow::value_type;
use crate::error::{Error, ErrorKind, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_cast::cast;
use arrow_ord::cmp;
use arrow_schema::{ArrowError, DataType, Schema};
use std::fmt;

/// A pattern of LIKE.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Wildcard>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wildcard {
    Char(char),
    /// `_`
    One,
    /// `%`
    Any,
}

impl Pattern {
    /// Parses a pattern: `%` matches any text, `_` one character, and a character after a backslash itself.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut parts = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            parts.push(match c {
                '%' => Wildcard::Any,
                '_' => Wildcard::One,
                '\\' => Wildcard::Char(chars.next().ok_or_else(|| {
                    Error::invalid(format!(
                        "expected a character behind the last `\\` of '{text}'"
                    ))
                })?),
                c => Wildcard::Char(c),
            });
        }
        Ok(Self(parts))
    }

    /// Returns the test of a column against the pattern. Whole texts and prefixes become tests that statistics and
    /// dictionaries can answer.
    pub(super) fn predicate(self, path: &str) -> Predicate {
        let text = |parts: &[Wildcard]| -> Option<String> {
            let char = |part: &Wildcard| match part {
                Wildcard::Char(c) => Some(*c),
                _ => None,
            };
            parts.iter().map(char).collect()
        };
        if let Some(all) = text(&self.0) {
            return col(path).eq(all);
        }
        if let Some((Wildcard::Any, start)) = self.0.split_last()
            && let Some(prefix) = text(start)
        {
            return col(path).starts_with(prefix);
        }
        let path = ColumnPath::from(path);
        let written = format!("{path} LIKE {}", quoted(&self.to_string()));
        let written = Some((written, check_text as CheckColumns));
        Predicate::function(vec![path], written, move |batch| {
            let texts = plain(batch.column(0), &DataType::Utf8View)?;
            let texts = texts.as_string_view().iter();
            Ok(texts
                .map(|text| text.map(|text| self.matches(text)))
                .collect())
        })
    }

    /// Whether the whole text matches the pattern.
    fn matches(&self, text: &str) -> bool {
        let parts = &self.0;
        let (mut rest, mut at) = (text.chars(), 0);
        // The position after the last `%`, and the text that this `%` has not consumed yet.
        let mut retry = None;
        loop {
            let mut next = rest.clone();
            match (parts.get(at), next.next()) {
                (Some(Wildcard::Any), _) => {
                    at += 1;
                    retry = Some((at, rest.clone()));
                }
                (Some(Wildcard::One), Some(_)) => (rest, at) = (next, at + 1),
                (Some(Wildcard::Char(want)), Some(found)) if *want == found => {
                    (rest, at) = (next, at + 1);
                }
                (None, None) => return true,
                _ => {
                    let Some((behind, taken)) = &mut retry else {
                        return false;
                    };
                    if taken.next().is_none() {
                        return false;
                    }
                    (rest, at) = (taken.clone(), *behind);
                }
            }
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                Wildcard::Any => f.write_str("%")?,
                Wildcard::One => f.write_str("_")?,
                Wildcard::Char(c) => f.write_str(&escaped(&c.to_string()))?,
            }
        }
        Ok(())
    }
}

/// Returns the pattern that matches only this text.
pub(super) fn escaped(text: &str) -> String {
    let is_special = |c: char| matches!(c, '%' | '_' | '\\');
    let chars = text.chars();
    let chars = chars.flat_map(|c| is_special(c).then_some('\\').into_iter().chain([c]));
    chars.collect()
}

/// Refuses columns that LIKE does not apply to.
pub(super) fn check_like(columns: &Schema) -> Result<()> {
    check_types(
        columns,
        |ty| ty.is_string() || is_bytes(ty) || ty.is_null(),
        "LIKE is for text",
    )
}

/// Refuses columns of bytes, too, because the wildcards of a pattern match characters.
fn check_text(columns: &Schema) -> Result<()> {
    let what = "LIKE is for text, if the pattern has a `_`, or a `%` before its end";
    check_types(columns, |ty| ty.is_string() || ty.is_null(), what)
}

fn check_types(columns: &Schema, takes: impl Fn(&DataType) -> bool, what: &str) -> Result<()> {
    let types = columns
        .fields()
        .iter()
        .map(|field| (field, value_type(field.data_type())));
    for (field, ty) in types {
        if !takes(ty) {
            let message = format!("column `{}` is {ty}, and {what}", field.name());
            return Err(Error::new(ErrorKind::SchemaMismatch, message));
        }
    }
    Ok(())
}

/// Whether the type is bytes of any length.
fn is_bytes(data_type: &DataType) -> bool {
    data_type.is_binary() && !matches!(data_type, DataType::FixedSizeBinary(_))
}

/// Returns a predicate for the check whether LIKE applies to a column; it is never evaluated for a match.
pub(super) fn may_be_like(path: &str) -> Predicate {
    let path = ColumnPath::from(path);
    let written = Some((format!("{path} LIKE ''"), check_like as CheckColumns));
    Predicate::function(vec![path], written, |batch| {
        Ok(BooleanArray::new_null(batch.num_rows()))
    })
}

/// Refuses columns that cannot be compared with each other.
fn check_same(columns: &Schema) -> Result<()> {
    let mut types = columns
        .fields()
        .iter()
        .map(|field| (field, value_type(field.data_type())));
    let (Some((left, first)), Some((right, second))) = (types.next(), types.next()) else {
        return Ok(());
    };
    let why = match common_type(first, second) {
        Some(_) if first.is_nested() => "such values are not compared",
        Some(_) => return Ok(()),
        None => "two columns are compared if both are of one type, integers, floats, text or bytes",
    };
    let message = format!(
        "`{}` is {first} and `{}` is {second}: {why}",
        left.name(),
        right.name()
    );
    Err(Error::new(ErrorKind::SchemaMismatch, message))
}

/// Returns a type that holds the values of both types and compares them in the same order.
fn common_type(first: &DataType, second: &DataType) -> Option<DataType> {
    let both = |is: fn(&DataType) -> bool| is(first) && is(second);
    if first == second {
        Some(first.clone())
    } else if both(DataType::is_signed_integer) {
        Some(DataType::Int64)
    } else if both(DataType::is_unsigned_integer) {
        Some(DataType::UInt64)
    } else if both(DataType::is_integer) {
        // The greatest integer has 20 digits.
        Some(DataType::Decimal128(20, 0))
    } else if both(DataType::is_floating) {
        Some(DataType::Float64)
    } else if both(DataType::is_string) {
        Some(DataType::Utf8View)
    } else if both(is_bytes) {
        Some(DataType::BinaryView)
    } else {
        None
    }
}

/// Compares two columns. Their types must be equal, or have a common type that holds the values of both; dictionaries
/// and runs count as the type of their values.
pub(super) fn columns_compared(left: String, comparison: Comparison, right: String) -> Predicate {
    let compare = match comparison {
        Comparison::Eq => cmp::eq,
        Comparison::NotEq => cmp::neq,
        Comparison::Lt => cmp::lt,
        Comparison::LtEq => cmp::lt_eq,
        Comparison::Gt => cmp::gt,
        Comparison::GtEq => cmp::gt_eq,
    };
    let (left, right) = (ColumnPath::Names(left), ColumnPath::Names(right));
    let written = format!("{left} {comparison} {right}");
    let written = Some((written, check_same as CheckColumns));
    Predicate::function(vec![left, right], written, move |batch| {
        let (left, right) = (batch.column(0), batch.column(1));
        let types = [left, right].map(|column| value_type(column.data_type()));
        let common = common_type(types[0], types[1]).unwrap_or_else(|| types[0].clone());
        compare(&plain(left, &common)?, &plain(right, &common)?)
    })
}

fn plain(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == data_type {
        Ok(column.clone())
    } else {
        cast(column, data_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_sql() {
        for (pattern, text, want) in [
            ("%", "", true),
            ("", "", true),
            ("", "a", false),
            ("a_c", "abc", true),
            ("a_c", "aäc", true),
            ("a_c", "ac", false),
            ("%b%", "abc", true),
            ("%b%", "ac", false),
            ("%bc", "abcbc", true),
            ("a%b%c", "axxbyyc", true),
            ("a%b%c", "axxcyyb", false),
            ("%_", "", false),
            ("%__", "ab", true),
            ("50\\%", "50%", true),
            ("50\\%", "500", false),
            ("%a%a%a%b", &"a".repeat(2_000), false),
        ] {
            assert_eq!(
                Pattern::parse(pattern).unwrap().matches(text),
                want,
                "{pattern} {text}"
            );
        }
        assert!(Pattern::parse("a\\").is_err());
    }

    #[test]
    fn texts_and_prefixes_are_no_functions() {
        let shown = |pattern: &str| Pattern::parse(pattern).unwrap().predicate("a").to_string();
        assert_eq!(shown("ab"), "a = 'ab'");
        assert_eq!(shown("a\\_b%"), col("a").starts_with("a_b").to_string());
        assert_eq!(shown("a\\_b%"), "a LIKE 'a\\_b%'");
        assert_eq!(shown("%'_\\%"), "a LIKE '%''_\\%'");
    }
}
