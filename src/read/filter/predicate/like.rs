//! Patterns of LIKE and ILIKE.

use super::case::{fold, fold_text};
use super::column_comparison::{is_bytes, plain};
use super::literal::quoted;
use super::{CheckColumns, ColumnRef, Predicate};
use crate::arrow::value_type;
use crate::error::{Error, ErrorKind, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Schema};
use memchr::memmem::Finder;
use std::fmt;

/// A pattern of LIKE or ILIKE.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    parts: Vec<Wildcard>,
    case: Case,
}

/// Whether a pattern tells upper case from lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    /// As LIKE does.
    Kept,
    /// As ILIKE does.
    Ignored,
}

impl Case {
    /// Returns the keyword of the test.
    fn word(self) -> &'static str {
        match self {
            Self::Kept => "LIKE",
            Self::Ignored => "ILIKE",
        }
    }
}

/// Most parts of a pattern that are searched. A searcher takes some 240 bytes, whatever the length of its part.
const MAX_SEARCHED_PARTS: usize = 64;

/// The test of texts against a pattern.
enum Matcher {
    /// For patterns of few parts with a `%` and without `_`: texts that begin with `start`, end with `end`, and have
    /// the other parts between, in this order.
    Parts {
        start: String,
        between: Vec<Finder<'static>>,
        end: String,
    },
    /// For other patterns.
    Wildcards(Vec<Wildcard>),
}

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
    pub(super) fn parse(text: &str, case: Case) -> Result<Self> {
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
        Ok(Self { parts, case })
    }

    /// Returns the test of a column against the pattern. Whole texts and prefixes of LIKE become tests that statistics
    /// and dictionaries can answer.
    pub(super) fn predicate(self, path: &ColumnRef) -> Predicate {
        if self.case == Case::Kept {
            if let Some(all) = text(&self.parts) {
                return path.clone().eq(all);
            }
            if let Some((Wildcard::Any, start)) = self.parts.split_last()
                && let Some(prefix) = text(start)
            {
                return path.clone().starts_with(prefix);
            }
        }
        let (path, case) = (path.path.clone(), self.case);
        let written = format!("{path} {} {}", case.word(), quoted(&self.to_string()));
        let check: CheckColumns = match case {
            Case::Kept => check_text,
            Case::Ignored => check_ilike,
        };
        let matcher = self.matcher();
        Predicate::function(vec![path], Some((written, check)), move |batch| {
            let texts = plain(batch.column(0), &DataType::Utf8View)?;
            let texts = texts.as_string_view();
            let mut folded = String::new();
            let matches = |i: usize| match case {
                _ if texts.is_null(i) => false,
                Case::Kept => matcher.matches(texts.value(i)),
                Case::Ignored => matcher.matches(fold_text(texts.value(i), &mut folded)),
            };
            let matches = BooleanBuffer::collect_bool(texts.len(), matches);
            Ok(BooleanArray::new(matches, texts.nulls().cloned()))
        })
    }

    /// Returns the matcher for texts, which must be folded if the case is ignored.
    fn matcher(mut self) -> Matcher {
        if self.case == Case::Ignored {
            for part in &mut self.parts {
                if let Wildcard::Char(c) = part {
                    *c = fold(*c);
                }
            }
        }
        let parts = self.parts;
        let texts = parts.split(|part| *part == Wildcard::Any);
        // As the first and the last part are not searched, one more is allowed for each of them.
        if texts.clone().count() > MAX_SEARCHED_PARTS + 2 {
            return Matcher::Wildcards(parts);
        }
        match texts.map(text).collect::<Option<Vec<_>>>().as_deref() {
            Some([start, between @ .., end]) => Matcher::Parts {
                start: start.clone(),
                between: between
                    .iter()
                    .filter(|part| !part.is_empty())
                    .map(|part| Finder::new(part.as_bytes()).into_owned())
                    .collect(),
                end: end.clone(),
            },
            _ => Matcher::Wildcards(parts),
        }
    }
}

/// Returns the characters of a part of a pattern without wildcards.
fn text(parts: &[Wildcard]) -> Option<String> {
    let char = |part: &Wildcard| match part {
        Wildcard::Char(c) => Some(*c),
        Wildcard::One | Wildcard::Any => None,
    };
    parts.iter().map(char).collect()
}

impl Matcher {
    /// Returns whether the whole text matches.
    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Wildcards(parts) => matches_wildcards(parts, text),
            Self::Parts {
                start,
                between,
                end,
            } => {
                let text = text.as_bytes();
                // On some CPUs, `memcmp` of zero bytes takes longer than a search: it loads from the address of the
                // empty string, where nothing is.
                let is_framed = text.len() >= start.len() + end.len()
                    && (start.is_empty() || text.starts_with(start.as_bytes()))
                    && (end.is_empty() || text.ends_with(end.as_bytes()));
                if !is_framed {
                    return false;
                }
                let mut rest = &text[start.len()..text.len() - end.len()];
                between.iter().all(|part| {
                    let Some(at) = part.find(rest) else {
                        return false;
                    };
                    rest = &rest[at + part.needle().len()..];
                    true
                })
            }
        }
    }
}

/// Returns whether the whole text matches the pattern. After a mismatch, the last `%` consumes one character more.
fn matches_wildcards(parts: &[Wildcard], text: &str) -> bool {
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

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
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
fn check_like(columns: &Schema) -> Result<()> {
    check_types(
        columns,
        |ty| ty.is_string() || is_bytes(ty) || ty.is_null(),
        "LIKE is for text",
    )
}

/// Refuses columns that ILIKE does not apply to.
fn check_ilike(columns: &Schema) -> Result<()> {
    check_types(
        columns,
        |ty| ty.is_string() || ty.is_null(),
        "ILIKE is for text",
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

/// Returns a predicate for the check whether a pattern applies to a column; it is never evaluated for a match.
pub(super) fn may_be_like(path: &ColumnRef, case: Case) -> Predicate {
    let path = path.path.clone();
    let check: CheckColumns = match case {
        Case::Kept => check_like,
        Case::Ignored => check_ilike,
    };
    let written = format!("{path} {} ''", case.word());
    Predicate::function(vec![path], Some((written, check)), |batch| {
        Ok(BooleanArray::new_null(batch.num_rows()))
    })
}

#[cfg(test)]
mod tests {
    use super::super::col;
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
            ("ab%ba", "aba", false),
            ("ab%b%ba", "abxbba", true),
            ("ä%ö", "äxö", true),
            ("%ö%", "\u{c3}", false),
            ("%%b%%", "abc", true),
            (&"%a".repeat(100), &"a".repeat(100), true),
            (&"%a".repeat(100), &"a".repeat(99), false),
            ("%_", "", false),
            ("%__", "ab", true),
            ("50\\%", "50%", true),
            ("50\\%", "500", false),
            ("%a%a%a%b", &"a".repeat(2_000), false),
        ] {
            let pattern = Pattern::parse(pattern, Case::Kept).unwrap();
            let shown = format!("{pattern} {text}");
            assert_eq!(matches_wildcards(&pattern.parts, text), want, "{shown}");
            assert_eq!(pattern.matcher().matches(text), want, "{shown}");
        }
        assert!(Pattern::parse("a\\", Case::Kept).is_err());
    }

    #[test]
    fn without_case_each_character_stands_for_its_other_case() {
        for (pattern, text, want) in [
            ("abc", "aBC", true),
            ("ABC%", "abcd", true),
            ("%Ä_", "xäY", true),
            ("%straße", "Hauptstraẞe", true),
            ("strasse", "straße", false),
            ("ΣΑΣ", "σας", true),
            ("k", "\u{212a}", true),
            ("i", "\u{131}", false),
            ("i", "\u{130}", false),
            ("%b%C", "aBxc", true),
            ("50\\%", "50%", true),
            ("a_", "A", false),
        ] {
            let pattern = Pattern::parse(pattern, Case::Ignored).unwrap();
            let shown = format!("{pattern} {text}");
            let mut folded = String::new();
            let matcher = pattern.matcher();
            assert_eq!(
                matcher.matches(fold_text(text, &mut folded)),
                want,
                "{shown}"
            );
        }
    }

    #[test]
    fn texts_and_prefixes_are_no_functions() {
        let parsed = |pattern: &str, case| Pattern::parse(pattern, case).unwrap();
        let shown = |pattern: &str| parsed(pattern, Case::Kept).predicate(&col("a")).to_string();
        assert_eq!(shown("ab"), "a = 'ab'");
        assert_eq!(shown("a\\_b%"), col("a").starts_with("a_b").to_string());
        assert_eq!(shown("a\\_b%"), "a LIKE 'a\\_b%'");
        assert_eq!(shown("%'_\\%"), "a LIKE '%''_\\%'");
        let shown = parsed("Ab%", Case::Ignored)
            .predicate(&col("a"))
            .to_string();
        assert_eq!(shown, "a ILIKE 'Ab%'");
    }
}
