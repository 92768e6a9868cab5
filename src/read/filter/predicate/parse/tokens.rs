//! The words, names, literals and signs of a predicate.

use super::super::value::hex;
use crate::error::{Error, Result};
use std::fmt;

/// Words that name a column only in quotes.
const KEYWORDS: [&str; 10] = [
    "AND", "OR", "NOT", "IS", "NULL", "IN", "BETWEEN", "LIKE", "TRUE", "FALSE",
];

/// Signs; a sign comes before its own prefixes.
const SIGNS: [&str; 12] = [
    "!=", "<>", "<=", ">=", "==", "=", "<", ">", "(", ")", ",", ".",
];

/// The smallest unit of a predicate's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A keyword, or a name without quotes.
    Word(&'a str),
    /// A name in double quotes.
    Name(String),
    /// Text in single quotes.
    Text(String),
    /// Bytes as hexadecimal digits: `x'00ff'`.
    Bytes(Vec<u8>),
    Number(&'a str),
    Sign(&'static str),
    End,
}

impl Token<'_> {
    /// Whether the token is this sign, or this keyword in upper or lower case.
    pub(super) fn is(&self, what: &str) -> bool {
        match self {
            Self::Word(word) => word.eq_ignore_ascii_case(what),
            Self::Sign(sign) => *sign == what,
            _ => false,
        }
    }

    pub(super) fn is_keyword(&self) -> bool {
        KEYWORDS.iter().any(|keyword| self.is(keyword))
    }

    /// Whether the token may name a column.
    pub(super) fn is_name(&self) -> bool {
        matches!(self, Self::Word(_) | Self::Name(_)) && !self.is_keyword()
    }
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) | Self::Number(text) | Self::Sign(text) => write!(f, "`{text}`"),
            Self::Name(name) => write!(f, "\"{name}\""),
            Self::Text(text) => write!(f, "'{text}'"),
            Self::Bytes(bytes) => write!(f, "x'{}'", hex(bytes)),
            Self::End => f.write_str("the end"),
        }
    }
}

/// Whether a name needs no quotes.
pub(in crate::read::filter::predicate) fn is_word(name: &str) -> bool {
    let starts = name.starts_with(|c: char| is_inside(c) && !c.is_ascii_digit());
    starts && name.chars().all(is_inside) && !Token::Word(name).is_keyword()
}

/// Whether a word may contain the character.
fn is_inside(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the error for text that makes no sense at a place.
pub(super) fn error(place: usize, what: &str) -> Error {
    Error::invalid(what).within(format!("character {place}"))
}

/// Splits a predicate into tokens, each with its place: the number of its first character, counted from 1.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token<'_>)>> {
    let mut tokens: Vec<(usize, Token<'_>)> = Vec::new();
    let (mut rest, mut place) = (text, 1);
    loop {
        let trimmed = rest.trim_start();
        place += rest[..rest.len() - trimmed.len()].chars().count();
        rest = trimmed;
        // A point after a name leads to a member.
        let is_member = tokens.last().is_some_and(|(_, token)| token.is_name());
        let (token, len) = token(rest, place, is_member)?;
        let is_end = token == Token::End;
        tokens.push((place, token));
        if is_end {
            return Ok(tokens);
        }
        place += rest[..len].chars().count();
        rest = &rest[len..];
    }
}

/// Returns the first token and its length in bytes. With `is_member`, a point is not part of a number.
fn token(rest: &str, place: usize, is_member: bool) -> Result<(Token<'_>, usize)> {
    let Some(first) = rest.chars().next() else {
        return Ok((Token::End, 0));
    };
    let unended = |quote: char| {
        error(
            place,
            &format!("expected a {quote} that ends what begins here"),
        )
    };
    if matches!(first, '\'' | '"') {
        let (text, len) = quoted(rest, first).ok_or_else(|| unended(first))?;
        let token = match first {
            '\'' => Token::Text(text),
            _ => Token::Name(text),
        };
        return Ok((token, len));
    }
    if let Some(digits) = rest.strip_prefix(['x', 'X'])
        && digits.starts_with('\'')
    {
        let (digits, len) = quoted(digits, '\'').ok_or_else(|| unended('\''))?;
        let bytes = unhex(&digits).ok_or_else(|| {
            let what = "expected two hexadecimal digits for each byte";
            error(place, &format!("{what}, found x'{digits}'"))
        })?;
        return Ok((Token::Bytes(bytes), 1 + len));
    }
    if let Some(time) = unquoted_time(rest) {
        let what = "expected dates and times in single quotes";
        return Err(error(place, &format!("{what}: write '{time}'")));
    }
    let unsigned = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let digits = match unsigned.strip_prefix('.') {
        Some(fraction) if !is_member => fraction,
        _ => unsigned,
    };
    if digits.starts_with(|c: char| c.is_ascii_digit()) {
        let mut before = '0';
        let ends = |c: char| {
            let is_exponent = matches!(before, 'e' | 'E') && matches!(c, '-' | '+');
            before = c;
            !(is_inside(c) || c == '.' || is_exponent)
        };
        let signs = rest.len() - unsigned.len();
        let len = signs + unsigned.find(ends).unwrap_or(unsigned.len());
        return Ok((Token::Number(&rest[..len]), len));
    }
    if is_inside(first) {
        let len = rest.find(|c| !is_inside(c)).unwrap_or(rest.len());
        return Ok((Token::Word(&rest[..len]), len));
    }
    match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) => Ok((Token::Sign(sign), sign.len())),
        None => {
            let what = "expected a column, a value, a comparison or a parenthesis";
            Err(error(place, &format!("{what}, found `{first}`")))
        }
    }
}

/// Returns the date or time without quotes at the start of a text, such as `2024-02-29T12:30` or `12:30:00`. No number
/// looks like one.
fn unquoted_time(text: &str) -> Option<&str> {
    let ends = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.' | '+'));
    let written = &text[..text.find(ends).unwrap_or(text.len())];
    let begins = |shape: &str| {
        let mut chars = written.chars();
        shape.chars().all(|want| match chars.next() {
            Some(c) => c == want || (want == '0' && c.is_ascii_digit()),
            None => false,
        })
    };
    let is_time = ["0000-00-00", "0:00", "00:00"].into_iter().any(begins);
    is_time.then_some(written)
}

/// Parses hexadecimal digits, two per byte.
fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = digits.chars().map(|c| c.to_digit(16)).collect();
    let pairs = digits.filter(|digits| digits.len() % 2 == 0)?;
    let byte = |pair: &[u32]| u8::try_from(pair[0] * 16 + pair[1]).ok();
    pairs.chunks_exact(2).map(byte).collect()
}

/// Returns the text between quotes, and its length in bytes with them. A doubled quote inside is one quote of the text.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return Some((text, at + 1));
        }
        text.push(c);
    }
    None
}
