//! Numbers in text, and the narrowest type that holds all of them.

use arrow_array::types::Float64Type;
use arrow_cast::parse::Parser;
use arrow_schema::DataType;

/// All integers up to this are exact in Float64.
const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// The kinds of numbers seen.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// Integers in the range of Int64.
    integer: bool,
    /// Larger integers in the range of UInt64.
    large: bool,
    negative: bool,
    /// Integers that are not exact in Float64.
    precise: bool,
    float: bool,
    /// Numbers out of the range of all types: larger integers, and floats beyond the maximum.
    beyond: bool,
}

impl Numbers {
    /// Whether the text is a number, which is then recorded. Text with leading zeros is a code, not a number.
    pub(super) fn meet(&mut self, text: &str) -> bool {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if is_padded(digits) {
            return false;
        }
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            self.meet_integer(text);
            return true;
        }
        if matches!(text, "NaN" | "inf" | "-inf") {
            self.float = true;
            return true;
        }
        let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && digits.bytes().any(|byte| byte.is_ascii_digit())
            && digits
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
        match Float64Type::parse(text).filter(|_| is_number) {
            Some(number) if number.is_finite() => self.float = true,
            Some(_) => self.beyond = true,
            None => return false,
        }
        true
    }

    fn meet_integer(&mut self, text: &str) {
        match (text.parse::<i64>(), text.parse::<u64>()) {
            (Ok(number), _) => {
                self.integer = true;
                self.negative |= number < 0;
                self.precise |= number.unsigned_abs() > EXACT;
            }
            (_, Ok(_)) => (self.large, self.precise) = (true, true),
            _ => self.beyond = true,
        }
    }

    /// Whether Float64 has all of the integers.
    pub(super) fn is_exact_in_float(&self) -> bool {
        !self.precise
    }

    /// Adds the kinds of numbers that were seen elsewhere.
    pub(super) fn merge(&mut self, other: &Self) {
        self.integer |= other.integer;
        self.large |= other.large;
        self.negative |= other.negative;
        self.precise |= other.precise;
        self.float |= other.float;
        self.beyond |= other.beyond;
    }

    /// Returns the type, or `None` if there are no numbers.
    pub(super) fn data_type(&self) -> Option<DataType> {
        let is_integer = self.integer || self.large;
        Some(match (is_integer, self.float) {
            _ if self.beyond => DataType::Utf8,
            (false, false) => return None,
            (_, true) if self.precise => DataType::Utf8,
            (_, true) => DataType::Float64,
            _ if !self.large => DataType::Int64,
            _ if self.negative => DataType::Utf8,
            _ => DataType::UInt64,
        })
    }
}

/// Whether the text has leading zeros, which a number would lose: codes, telephone numbers.
fn is_padded(digits: &str) -> bool {
    matches!(digits.as_bytes(), [b'0', b'0'..=b'9', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_has_all_numbers() {
        for (texts, want) in [
            (&["1", "-7", "0"][..], Some("Int64")),
            (&["1", "18446744073709551615"], Some("UInt64")),
            (&["-1", "18446744073709551615"], Some("Utf8")),
            (&["1", "18446744073709551616"], Some("Utf8")),
            (&["-9223372036854775809"], Some("Utf8")),
            (
                &["1", "2.5", "1e3", ".5", "5.", "NaN", "-inf"],
                Some("Float64"),
            ),
            (&["9007199254740992", "2.5"], Some("Float64")),
            (&["9007199254740993", "2.5"], Some("Utf8")),
            (&["-9007199254740993", "2.5"], Some("Utf8")),
            (&["1e999"], Some("Utf8")),
            (&[], None),
        ] {
            let mut numbers = Numbers::default();
            assert!(texts.iter().all(|text| numbers.meet(text)), "{texts:?}");
            let found = numbers.data_type().map(|ty| ty.to_string());
            assert_eq!(found.as_deref(), want, "{texts:?}");
        }
        for text in ["007", "00.5", "1.2.3", "e5", "-", ".", "1-", "+1", ""] {
            assert!(!Numbers::default().meet(text), "{text}");
        }
    }
}
