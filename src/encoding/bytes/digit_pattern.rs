//! Spec: docs/format.md, "Digits": the tokens of a text, and the bytes between them.

use super::digit_time::TimeFormat;

/// Most tokens of a text.
const MAX_TOKENS: usize = 48;
/// Longest text.
pub(super) const MAX_TEXT: usize = 4096;

/// Classes of characters.
pub(super) const DIGIT: u8 = 1;
pub(super) const LETTER: u8 = 2;
pub(super) const LOWER: u8 = 4;
pub(super) const UPPER: u8 = 8;

/// The classes of each byte: a digit is a hexadecimal one of both cases, too.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut i = 0;
    while i < 128u8 {
        classes[i as usize] = match i {
            b'0'..=b'9' => DIGIT | LOWER | UPPER,
            b'a'..=b'f' => LETTER | LOWER,
            b'A'..=b'F' => LETTER | UPPER,
            b'g'..=b'z' | b'G'..=b'Z' => LETTER,
            _ => 0,
        };
        i += 1;
    }
    classes
};

/// Returns the classes of a character; 0 for one that is neither a letter nor a digit.
pub(super) fn class(byte: u8) -> u8 {
    CLASSES[usize::from(byte)]
}

/// How dates with times of day are split into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    /// A time with the fraction of a second is one token.
    WithFractions,
    /// A time without the fraction is one token.
    OfSeconds,
    /// Each number is a token.
    AsNumbers,
}

/// The tokens of a text, and the bytes around them. A token is a time, or a longest stretch of letters and digits.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Pattern {
    /// The bytes before the first token.
    start: Vec<u8>,
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Token {
    /// The format, if the token is a time.
    pub(super) time: Option<TimeFormat>,
    /// The bytes between this token and the next one.
    pub(super) gap: Vec<u8>,
}

impl Pattern {
    /// Returns the pattern of a text, unless it has too many tokens, or none.
    pub(super) fn of(text: &[u8], times: Times) -> Option<Self> {
        if text.len() > MAX_TEXT {
            return None;
        }
        let (mut start, mut tokens) = (Vec::new(), Vec::<Token>::new());
        let mut rest = text;
        while let Some((byte, after)) = rest.split_first() {
            if class(*byte) == 0 {
                let gap = tokens.last_mut().map_or(&mut start, |token| &mut token.gap);
                gap.push(*byte);
                rest = after;
                continue;
            }
            let time = match times {
                Times::WithFractions => TimeFormat::find(rest, true),
                Times::OfSeconds => TimeFormat::find(rest, false),
                Times::AsNumbers => None,
            };
            let token = time.map_or_else(|| token_len(rest), |format| format.len());
            rest = rest.get(token..)?;
            // Letters directly behind a time belong to a time zone.
            let gap = rest.get(..token_len(rest))?.to_vec();
            rest = rest.get(gap.len()..)?;
            tokens.push(Token { time, gap });
        }
        (1..=MAX_TOKENS)
            .contains(&tokens.len())
            .then_some(Self { start, tokens })
    }

    /// Returns a pattern in which some tokens are bytes that all texts share; `None` if no token is left.
    pub(super) fn with_literals(&self, literals: &[Option<&[u8]>]) -> Option<Self> {
        let (mut start, mut tokens) = (self.start.clone(), Vec::<Token>::new());
        for (token, literal) in self.tokens.iter().zip(literals) {
            let Some(literal) = literal else {
                tokens.push(token.clone());
                continue;
            };
            let gap = tokens.last_mut().map_or(&mut start, |token| &mut token.gap);
            gap.extend(*literal);
            gap.extend(&token.gap);
        }
        (!tokens.is_empty()).then_some(Self { start, tokens })
    }

    /// Returns the bytes before the first token.
    pub(super) fn start(&self) -> &[u8] {
        &self.start
    }

    /// Returns the tokens, at least one.
    pub(super) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Appends the tokens of a text to their columns, if it has this pattern.
    pub(super) fn split<'a>(&self, text: &'a [u8], columns: &mut [Vec<&'a [u8]>]) -> bool {
        let Some(mut rest) = strip(text, &self.start) else {
            return false;
        };
        for (i, pattern) in self.tokens.iter().enumerate() {
            let len = pattern
                .time
                .map_or_else(|| token_len(rest), |format| format.len());
            let (token, behind) = rest.split_at_checked(len).unwrap_or_default();
            let is_token = match pattern.time {
                Some(format) => format.number(token).is_some(),
                None => !token.is_empty(),
            };
            let after = strip(behind, &pattern.gap).filter(|_| is_token);
            // The last gap takes all that is left.
            let after = after.filter(|after| i + 1 < self.tokens.len() || after.is_empty());
            match (after, columns.get_mut(i)) {
                (Some(after), Some(column)) => {
                    column.push(token);
                    rest = after;
                }
                _ => {
                    for column in columns.iter_mut().take(i) {
                        column.pop();
                    }
                    return false;
                }
            }
        }
        true
    }
}

/// Returns the number of letters and digits at the beginning of a text.
#[inline]
fn token_len(text: &[u8]) -> usize {
    text.iter().take_while(|byte| class(**byte) != 0).count()
}

/// Bytes for which `memcmp` is slow.
const SHORT: usize = 8;

/// Returns the bytes after a gap, if they begin with it.
#[inline]
pub(super) fn strip<'a>(bytes: &'a [u8], gap: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = bytes.split_at_checked(gap.len())?;
    let is_same = if gap.len() < SHORT {
        start.iter().zip(gap).all(|(a, b)| a == b)
    } else {
        start == gap
    };
    is_same.then_some(rest)
}
