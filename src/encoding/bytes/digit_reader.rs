//! Spec: docs/format.md, "Digits": reads the numbers of texts by a template.

use super::digit_field::{Chars, DigitField};
use super::digit_pattern::strip;
use super::digit_template::{Item, TOGETHER, Template};
use super::digit_time::TimeFormat;
use super::input::Clean;
use crate::kernels::{MAX_DECIMAL, MAX_HEX};

/// Most different words of a field: all of them are compared with a text.
const MAX_WORDS: usize = 16;
/// Bytes of a word of memory.
const WORD: usize = 8;
/// The place in a text that does not fit the template.
const FAILED: usize = usize::MAX;

/// The numbers of texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextNumbers {
    /// The numbers of each field, one per text. Those of an exception repeat the text before.
    pub(super) columns: Vec<Vec<u64>>,
    /// Positions of the texts that do not fit the template, ascending.
    pub(super) exceptions: Vec<u32>,
}

/// Reads the numbers of all texts. Returns `None` if more than `most` texts do not fit the template, or if it has a
/// field of many words, for which comparing is slow.
///
/// One part of many texts is read after the other, as they are written.
pub(super) fn read(input: &Clean<'_>, template: &Template, most: usize) -> Option<TextNumbers> {
    let readers = template.items.iter().map(PartReader::of);
    let readers: Vec<PartReader> = readers.collect::<Option<_>>()?;
    let num_fields = template.fields().count();
    let mut columns = vec![Vec::with_capacity(input.len); num_fields];
    let mut exceptions = Vec::new();
    let (mut places, mut ends) = ([0; TOGETHER], [0; TOGETHER]);
    let mut start = 0;
    for first in (0..input.len).step_by(TOGETHER) {
        let count = TOGETHER.min(input.len - first);
        let places = places.get_mut(..count).unwrap_or_default();
        let ends = ends.get_mut(..count).unwrap_or_default();
        for ((i, place), end) in (first..).zip(places.iter_mut()).zip(ends.iter_mut()) {
            *end = input.end_of(i);
            *place = if input.is_present(i) { start } else { FAILED };
            start = *end;
        }
        let mut texts = Texts {
            values: &input.values,
            places,
            ends,
        };
        let mut fields = columns.iter_mut();
        for reader in &readers {
            match reader {
                PartReader::Literal(bytes) => texts.skip(bytes),
                reader => texts.read(reader, fields.next()?),
            }
        }
        for ((i, place), end) in (0u32..).zip(&*places).zip(&*ends) {
            if place != end {
                exceptions.push(u32::try_from(first).ok()? + i);
            }
        }
        if exceptions.len() > most {
            return None;
        }
    }
    for column in &mut columns {
        repeat_before(column, &exceptions);
    }
    Some(TextNumbers {
        columns,
        exceptions,
    })
}

/// Replaces the numbers of exceptions by the number before, or by the first one that is none.
fn repeat_before(column: &mut [u64], exceptions: &[u32]) {
    let leading = (0u32..).zip(exceptions).take_while(|(i, at)| i == *at);
    let mut last = column.get(leading.count()).copied().unwrap_or_default();
    for at in exceptions {
        let at = *at as usize;
        if let Some(before) = at.checked_sub(1).and_then(|i| column.get(i)) {
            last = *before;
        }
        if let Some(number) = column.get_mut(at) {
            *number = last;
        }
    }
}

/// Reads a part of texts.
enum PartReader {
    Literal(Vec<u8>),
    Decimal,
    FixedDecimal(usize),
    Hex(&'static HexValues),
    FixedHex(&'static HexValues, usize),
    Words(Vec<KnownWord>),
    Time(TimeFormat),
}

/// The value of each hexadecimal digit of one case; more than 15 for other bytes.
type HexValues = [u8; 256];

const LOWER_HEX: HexValues = hex_values(b'a');
const UPPER_HEX: HexValues = hex_values(b'A');

const fn hex_values(ten: u8) -> HexValues {
    let mut values = [u8::MAX; 256];
    let mut digit = 0;
    while digit < 16u8 {
        let byte = if digit < 10 {
            b'0' + digit
        } else {
            ten + digit - 10
        };
        values[byte as usize] = digit;
        digit += 1;
    }
    values
}

/// A word of a field.
struct KnownWord {
    bytes: Vec<u8>,
    ordinal: u64,
    /// The first bytes, and which of their bits count.
    start: u64,
    mask: u64,
}

impl KnownWord {
    fn new(word: &Chars, ordinal: u64) -> Self {
        let bytes = word.bytes();
        let counted = bytes.len().min(WORD);
        let mask = u64::MAX.checked_shr(64 - 8 * u32::try_from(counted).unwrap_or(8));
        Self {
            start: first_bytes(&bytes),
            mask: mask.unwrap_or(0),
            bytes,
            ordinal,
        }
    }

    /// Whether a text that begins with `start` begins with the word.
    #[inline]
    fn begins(&self, text: &[u8], start: u64) -> bool {
        (start ^ self.start) & self.mask == 0
            && text.len() >= self.bytes.len()
            && (self.bytes.len() <= WORD || text.starts_with(&self.bytes))
    }
}

/// Returns the first bytes of a text, the first one lowest.
#[inline]
fn first_bytes(text: &[u8]) -> u64 {
    match text.first_chunk::<WORD>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => text
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

impl PartReader {
    fn of(item: &Item) -> Option<Self> {
        let hex = |is_upper: bool| if is_upper { &UPPER_HEX } else { &LOWER_HEX };
        Some(match item {
            Item::Literal(chars) => Self::Literal(chars.bytes()),
            Item::Field(DigitField::Decimal) => Self::Decimal,
            Item::Field(DigitField::FixedDecimal(len)) => Self::FixedDecimal(*len),
            Item::Field(DigitField::Hex { is_upper }) => Self::Hex(hex(*is_upper)),
            Item::Field(DigitField::FixedHex { len, is_upper }) => {
                Self::FixedHex(hex(*is_upper), *len)
            }
            Item::Field(DigitField::Time(format)) => Self::Time(*format),
            Item::Field(DigitField::Words(words)) if words.len() <= MAX_WORDS => {
                let words = (0..).zip(words);
                let mut words: Vec<KnownWord> = words
                    .map(|(ordinal, word)| KnownWord::new(word, ordinal))
                    .collect();
                // A word may begin with another one.
                words.sort_by_key(|word| std::cmp::Reverse(word.bytes.len()));
                Self::Words(words)
            }
            Item::Field(DigitField::Words(_)) => return None,
        })
    }
}

/// Texts that are read together.
struct Texts<'a> {
    values: &'a [u8],
    /// The place in each text up to which it has been read.
    places: &'a mut [usize],
    ends: &'a [usize],
}

impl Texts<'_> {
    /// Skips bytes that all texts share.
    fn skip(&mut self, bytes: &[u8]) {
        for (place, end) in self.places.iter_mut().zip(self.ends) {
            let text = self.values.get(*place..*end).unwrap_or_default();
            *place = match strip(text, bytes) {
                Some(_) => *place + bytes.len(),
                None => FAILED,
            };
        }
    }

    /// Reads a field of each text.
    fn read(&mut self, reader: &PartReader, column: &mut Vec<u64>) {
        match reader {
            PartReader::Literal(_) => {}
            PartReader::Decimal => self.each(column, |text| digits(text, MAX_DECIMAL, 10, decimal)),
            PartReader::FixedDecimal(len) => {
                self.each(column, |text| fixed_digits(text.get(..*len)?, 10, decimal))
            }
            PartReader::Hex(values) => self.each(column, |text| {
                digits(text, MAX_HEX, 16, |byte| values[usize::from(byte)])
            }),
            PartReader::FixedHex(values, len) => self.each(column, |text| {
                fixed_digits(text.get(..*len)?, 16, |byte| values[usize::from(byte)])
            }),
            PartReader::Words(words) => self.each(column, |text| {
                let start = first_bytes(text);
                let word = words.iter().find(|word| word.begins(text, start))?;
                Some((word.ordinal, word.bytes.len()))
            }),
            PartReader::Time(format) => self.each(column, |text| {
                let number = format.number(text.get(..format.len())?)?;
                Some((number, format.len()))
            }),
        }
    }

    /// Reads a number of each text: `read` returns it with its length.
    #[inline(always)]
    fn each(&mut self, column: &mut Vec<u64>, read: impl Fn(&[u8]) -> Option<(u64, usize)>) {
        for (place, end) in self.places.iter_mut().zip(self.ends) {
            let text = self.values.get(*place..*end).unwrap_or_default();
            let number = match read(text) {
                Some((number, len)) => {
                    *place += len;
                    number
                }
                None => {
                    *place = FAILED;
                    0
                }
            };
            column.push(number);
        }
    }
}

/// Returns the value of a decimal digit; more than 9 for other bytes.
#[inline(always)]
fn decimal(byte: u8) -> u8 {
    byte.wrapping_sub(b'0')
}

/// Returns the number of up to `most` digits at the beginning of a text, and their number. `None` with a leading zero.
#[inline(always)]
fn digits(text: &[u8], most: usize, base: u8, value: impl Fn(u8) -> u8) -> Option<(u64, usize)> {
    let (mut number, mut len) = (0u64, 0);
    for byte in text {
        let digit = value(*byte);
        if digit >= base {
            break;
        }
        if len == most {
            return None;
        }
        number = number * u64::from(base) + u64::from(digit);
        len += 1;
    }
    let is_written_so = len == 1 || (len > 1 && text.first() != Some(&b'0'));
    is_written_so.then_some((number, len))
}

/// Returns the number of a text of digits only, and its length.
#[inline(always)]
fn fixed_digits(text: &[u8], base: u8, value: impl Fn(u8) -> u8) -> Option<(u64, usize)> {
    let (mut number, mut are_digits) = (0u64, true);
    for byte in text {
        let digit = value(*byte);
        are_digits &= digit < base;
        number = number
            .wrapping_mul(u64::from(base))
            .wrapping_add(u64::from(digit));
    }
    are_digits.then_some((number, text.len()))
}

#[cfg(test)]
mod tests {
    use super::super::Input;
    use super::*;

    fn literal(text: &str) -> Item {
        Item::Literal(Chars::new(text.as_bytes()))
    }

    /// Returns the numbers of texts, if at most 3 of them do not fit.
    fn numbers(items: Vec<Item>, texts: &[&str]) -> Option<(Vec<Vec<u64>>, Vec<u32>)> {
        let mut offsets = vec![0];
        offsets.extend(texts.iter().scan(0, |end, text| {
            *end += text.len() as u64;
            Some(*end)
        }));
        let bytes = texts.concat().into_bytes();
        let input = Input::variable(&offsets, &bytes, None);
        let found = read(&input.clean().unwrap(), &Template { items }, 3)?;
        Some((found.columns, found.exceptions))
    }

    #[test]
    fn numbers_are_those_that_are_written_as_the_text() {
        let decimal = || vec![literal("x"), Item::Field(DigitField::Decimal)];
        let texts = ["x7", "x0", "x9999999999999999", "x12"];
        let want = vec![vec![7, 0, 9_999_999_999_999_999, 12]];
        assert_eq!(numbers(decimal(), &texts), Some((want, vec![])));
        for other in [
            "x07",
            "x10000000000000000",
            "x",
            "7",
            "x7 ",
            "x-1",
            "",
            "xa",
        ] {
            let texts = ["x1", other, "x2"];
            let want = vec![vec![1, 1, 2]];
            assert_eq!(numbers(decimal(), &texts), Some((want, vec![1])), "{other}");
        }
        let hex = |is_upper| vec![Item::Field(DigitField::Hex { is_upper }), literal(".")];
        let texts = ["ff.", "FF.", "0.", "ffffffffffffffff."];
        let want = vec![vec![255, 255, 0, u64::MAX]];
        assert_eq!(numbers(hex(false), &texts), Some((want, vec![1])));
        let want = vec![vec![255, 255, 0, 0]];
        assert_eq!(numbers(hex(true), &texts), Some((want, vec![0, 3])));
        let fixed = vec![
            Item::Field(DigitField::FixedDecimal(2)),
            Item::Field(DigitField::FixedHex {
                len: 3,
                is_upper: false,
            }),
        ];
        let texts = ["070ff", "7000ff", "99fff", "9afff"];
        let want = vec![vec![7, 7, 99, 99], vec![255, 255, 4095, 4095]];
        assert_eq!(numbers(fixed, &texts), Some((want, vec![1, 3])));
    }

    #[test]
    fn the_longest_word_is_taken() {
        let words = ["a", "ab", "a longer word", "a longer one"];
        let words = words.map(|word| Chars::new(word.as_bytes())).to_vec();
        let items = vec![Item::Field(DigitField::Words(words)), literal(";")];
        let texts = ["a;", "ab;", "a longer word;", "a longer one;", "abc;", ";"];
        let want = vec![vec![0, 1, 2, 3, 3, 3]];
        assert_eq!(numbers(items, &texts), Some((want, vec![4, 5])));
        let many = (0..17).map(|i: u8| Chars::new(&[b'a' + i])).collect();
        assert_eq!(
            numbers(vec![Item::Field(DigitField::Words(many))], &["a"]),
            None
        );
    }

    #[test]
    fn times_are_read_whole() {
        let format = TimeFormat::new(*b"-T:\0", 0).unwrap();
        let items = vec![Item::Field(DigitField::Time(format)), literal("Z")];
        let texts = [
            "2024-02-30T00:00:00Z",
            "0000-01-01T00:00:01Z",
            "0000-01-01T00:00:01",
        ];
        assert_eq!(numbers(items, &texts), Some((vec![vec![1; 3]], vec![0, 2])));
    }

    #[test]
    fn too_many_exceptions_end_the_reading() {
        let items = || vec![Item::Field(DigitField::Decimal)];
        let texts: Vec<String> = (0..600).map(|i| (i % 7).to_string()).collect();
        let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for at in [0, 255, 599] {
            texts[at] = "x";
        }
        let (columns, exceptions) = numbers(items(), &texts).unwrap();
        assert_eq!(exceptions, [0, 255, 599]);
        assert_eq!((columns[0][0], columns[0][255], columns[0][599]), (1, 2, 3));
        texts[300] = "y";
        assert_eq!(numbers(items(), &texts), None);
        let one = ["x"; 3];
        assert_eq!(
            numbers(items(), &one),
            Some((vec![vec![0; 3]], vec![0, 1, 2]))
        );
    }
}
