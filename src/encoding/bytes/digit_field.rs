//! Spec: docs/format.md, "Digits": the fields of texts, and how their digits are written.

use super::digit_time::{TimeFormat, TimeWords};
use crate::error::{Error, Result};
use crate::kernels::{
    DECIMAL_LIMIT, DigitWords, MAX_HEX, SHORT_DECIMALS, decimal_digits, decimal_len, hex_digits,
    hex_len, short_decimal,
};
use arrow_buffer::ArrowNativeType;

/// Bytes after the last text that stores of whole words need.
pub(super) const SLACK: usize = 16;
/// Bytes of a word.
pub(super) const WORD: usize = 8;

/// How the digits of a number are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DigitField {
    /// Up to 16 decimal digits without leading zeros.
    Decimal,
    /// This many decimal digits.
    FixedDecimal(usize),
    /// Hexadecimal digits without leading zeros.
    Hex {
        /// Whether the letters are capital ones.
        is_upper: bool,
    },
    /// This many hexadecimal digits.
    FixedHex {
        /// Number of digits.
        len: usize,
        /// Whether the letters are capital ones.
        is_upper: bool,
    },
    /// The ordinal of a word.
    Words(Vec<Chars>),
    /// A date with a time of day.
    Time(TimeFormat),
}

/// Bytes that are copied as words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chars {
    /// The bytes, padded with zeros.
    words: Vec<u64>,
    pub(super) len: usize,
}

impl Chars {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let word = |chunk: &[u8]| {
            let next = |word: u64, byte: &u8| word << 8 | u64::from(*byte);
            chunk.iter().rev().fold(0, next)
        };
        Self {
            words: bytes.chunks(WORD).map(word).collect(),
            len: bytes.len(),
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let bytes = self.words.iter().flat_map(|word| word.to_le_bytes());
        bytes.take(self.len).collect()
    }

    /// Writes the bytes.
    #[inline(always)]
    fn put<const EXACT: bool>(&self, dst: &mut [u8], at: usize) {
        let (mut at, mut left) = (at, self.len);
        for word in &self.words {
            store::<EXACT>(dst, at, *word, left);
            at += WORD;
            left = left.saturating_sub(WORD);
        }
    }
}

impl Chars {
    /// Writes the bytes to all places, and moves the places behind them.
    pub(super) fn put_all(&self, is_last: bool, places: &mut [usize], dst: &mut [u8]) {
        for at in places.iter_mut().filter(|_| self.len > 0) {
            if is_last {
                self.put::<true>(dst, *at);
            } else {
                self.put::<false>(dst, *at);
            }
            *at += self.len;
        }
    }
}

/// Stores a word, of which `len` bytes count, up to all. Without `EXACT`, the bytes after them are overwritten.
#[inline(always)]
fn store<const EXACT: bool>(dst: &mut [u8], at: usize, word: u64, len: usize) {
    if let Some(place) = dst.get_mut(at..at + WORD) {
        let word = if EXACT && len < WORD {
            let mut old = [0; WORD];
            old.copy_from_slice(place);
            let keep = u64::MAX << (8 * len);
            (word & !keep) | (u64::from_le_bytes(old) & keep)
        } else {
            word
        };
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// Stores `len` digits.
#[inline(always)]
fn store_digits<const EXACT: bool>(digits: DigitWords, len: usize, dst: &mut [u8], at: usize) {
    let [first, second] = digits;
    store::<EXACT>(dst, at, first, len);
    if len > WORD {
        store::<EXACT>(dst, at + WORD, second, len - WORD);
    }
}

impl DigitField {
    /// Returns the first number that is too large for the field, if there is one.
    fn limit(&self) -> Option<u64> {
        match self {
            Self::Decimal => Some(DECIMAL_LIMIT),
            Self::FixedDecimal(len) => u32::try_from(*len)
                .ok()
                .and_then(|len| 10u64.checked_pow(len)),
            Self::FixedHex { len, .. } if *len < MAX_HEX => Some(1 << (4 * len)),
            Self::Hex { .. } | Self::FixedHex { .. } => None,
            Self::Words(words) => Some(words.len() as u64),
            Self::Time(format) => Some(format.limit()),
        }
    }

    /// Checks the numbers of a field.
    pub(super) fn check(&self, numbers: &[u64]) -> Result<()> {
        let greatest = numbers.iter().fold(0, |most, number| most.max(*number));
        match self.limit() {
            Some(limit) if greatest >= limit => Err(Error::corrupt(format!(
                "expected numbers below {limit} in a field of a text, found {greatest}"
            ))),
            _ => Ok(()),
        }
    }

    /// Adds the lengths of the numbers, which were checked, to the lengths of their texts, unless all are as long as
    /// the [`least`](Self::least) one.
    pub(super) fn add_lengths(&self, numbers: &[u64], lengths: &mut [u64]) {
        let least = self.least();
        match self {
            Self::Decimal if numbers.iter().all(|number| *number < SHORT_DECIMALS) => {
                add_each(numbers, lengths, |number| short_decimal(number).1 - least);
            }
            Self::Decimal => add_each(numbers, lengths, |number| decimal_len(number) - least),
            Self::Hex { .. } => add_each(numbers, lengths, |number| hex_len(number) - least),
            Self::Words(words) if least < self.most() => {
                let more: Vec<usize> = words.iter().map(|word| word.len - least).collect();
                add_each(numbers, lengths, |number| {
                    more.get(number.as_usize()).copied().unwrap_or(0)
                });
            }
            Self::FixedDecimal(_) | Self::FixedHex { .. } | Self::Words(_) | Self::Time(_) => {}
        }
    }

    /// Returns the least number of characters of a number.
    pub(super) fn least(&self) -> usize {
        match self {
            Self::Decimal | Self::Hex { .. } => 1,
            Self::FixedDecimal(len) | Self::FixedHex { len, .. } => *len,
            Self::Words(words) => words.iter().map(|word| word.len).min().unwrap_or(0),
            Self::Time(format) => format.len(),
        }
    }

    /// Returns the greatest number of characters of a number.
    pub(super) fn most(&self) -> usize {
        match self {
            Self::Decimal | Self::Hex { .. } => 16,
            Self::FixedDecimal(len) | Self::FixedHex { len, .. } => *len,
            Self::Words(words) => words.iter().map(|word| word.len).max().unwrap_or(0),
            Self::Time(format) => format.len(),
        }
    }

    /// Appends a number, which was checked.
    pub(super) fn append(&self, number: u64, out: &mut Vec<u8>) {
        let mut place = [out.len()];
        out.resize(out.len() + self.most() + SLACK, 0);
        self.put::<false>(&[number], &Chars::new(&[]), &mut place, out);
        let [end] = place;
        out.truncate(end);
    }

    /// Writes numbers, which were checked, each to its place, and `after` behind each of them. Moves the places behind
    /// that.
    pub(super) fn put<const EXACT: bool>(
        &self,
        numbers: &[u64],
        after: &Chars,
        places: &mut [usize],
        dst: &mut [u8],
    ) {
        let each = Each {
            numbers,
            after,
            places,
            dst,
        };
        match self {
            Self::Decimal if numbers.iter().all(|number| *number < SHORT_DECIMALS) => {
                each.put::<EXACT>(|number| {
                    let (word, len) = short_decimal(number);
                    ([word, 0], len)
                });
            }
            Self::Decimal => each.put::<EXACT>(|number| {
                let len = decimal_len(number);
                (decimal_digits(number, len), len)
            }),
            // With a 1 before it, a number has all of its digits.
            Self::FixedDecimal(len) if *len < 4 => {
                let first = 10u64.pow(short(*len));
                each.put::<EXACT>(|number| {
                    let (word, _) = short_decimal(number + first);
                    ([word >> 8, 0], *len)
                });
            }
            Self::FixedDecimal(len) if *len <= WORD => {
                each.put::<EXACT>(|number| {
                    (decimal_digits(number, (*len).min(WORD)), (*len).min(WORD))
                });
            }
            Self::FixedDecimal(len) => {
                each.put::<EXACT>(|number| (decimal_digits(number, *len), *len));
            }
            Self::Hex { is_upper } => each.put::<EXACT>(|number| {
                let len = hex_len(number);
                (hex_digits(number, len, *is_upper), len)
            }),
            Self::FixedHex { len, is_upper } if *len <= WORD => each.put::<EXACT>(|number| {
                (
                    hex_digits(number, (*len).min(WORD), *is_upper),
                    (*len).min(WORD),
                )
            }),
            Self::FixedHex { len, is_upper } => {
                each.put::<EXACT>(|number| (hex_digits(number, *len, *is_upper), *len));
            }
            Self::Words(words) if words.iter().all(|word| word.len <= WORD) => {
                let short = |word: &Chars| (word.words.first().copied().unwrap_or(0), word.len);
                let words: Vec<(u64, usize)> = words.iter().map(short).collect();
                each.put::<EXACT>(|number| {
                    let (word, len) = words.get(number.as_usize()).copied().unwrap_or((0, 0));
                    ([word, 0], len)
                });
            }
            Self::Time(format) => each.put_times::<EXACT>(*format),
            Self::Words(words) => {
                for (at, number) in each.places.iter_mut().zip(numbers) {
                    if let Some(word) = words.get(number.as_usize()) {
                        word.put::<EXACT>(each.dst, *at);
                        *at += word.len;
                        after.put::<EXACT>(each.dst, *at);
                        *at += after.len;
                    }
                }
            }
        }
    }
}

/// Converts a length of up to 16.
#[inline(always)]
fn short(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// Numbers to write, each to its place.
struct Each<'a> {
    numbers: &'a [u64],
    /// Bytes behind each number.
    after: &'a Chars,
    places: &'a mut [usize],
    dst: &'a mut [u8],
}

impl Each<'_> {
    /// Writes the digits of each number, and the bytes behind them.
    #[inline(always)]
    fn put<const EXACT: bool>(self, digits: impl Fn(u64) -> (DigitWords, usize)) {
        let Self {
            numbers,
            after,
            places,
            dst,
        } = self;
        let all = places.iter_mut().zip(numbers);
        match after.words.as_slice() {
            [] => all.for_each(|(at, number)| {
                let (words, len) = digits(*number);
                store_digits::<EXACT>(words, len, dst, *at);
                *at += len;
            }),
            [word] => all.for_each(|(at, number)| {
                let (words, len) = digits(*number);
                let [first, _] = words;
                let total = len + after.len;
                if total <= WORD {
                    // Two exact stores that overlap would wait for each other.
                    let both = first | word.checked_shl(8 * short(len)).unwrap_or(0);
                    store::<EXACT>(dst, *at, both, total);
                } else {
                    // The second word of long digits may reach beyond the bytes behind them.
                    if EXACT && len > WORD {
                        store_digits::<true>(words, len, dst, *at);
                    } else {
                        store_digits::<false>(words, len, dst, *at);
                    }
                    store::<EXACT>(dst, *at + len, *word, after.len);
                }
                *at += total;
            }),
            _ => all.for_each(|(at, number)| {
                let (words, len) = digits(*number);
                store_digits::<false>(words, len, dst, *at);
                after.put::<EXACT>(dst, *at + len);
                *at += len + after.len;
            }),
        }
    }
}

impl Each<'_> {
    /// Writes the time of each number, and the bytes behind it.
    fn put_times<const EXACT: bool>(self, format: TimeFormat) {
        let mut writer = format.writer();
        let len = format.len();
        for (at, number) in self.places.iter_mut().zip(self.numbers) {
            let words = writer.words(*number);
            let [date, day] = words.date;
            // Only the bytes after the time of day may belong to another text.
            store::<false>(self.dst, *at, date, WORD);
            store::<false>(self.dst, *at + WORD, day, WORD);
            store::<false>(self.dst, *at + TimeWords::CLOCK, words.clock, WORD);
            if len > TimeWords::FRACTION {
                let fraction = *at + TimeWords::FRACTION;
                store::<EXACT>(
                    self.dst,
                    fraction,
                    words.fraction,
                    len - TimeWords::FRACTION,
                );
            }
            self.after.put::<EXACT>(self.dst, *at + len);
            *at += len + self.after.len;
        }
    }
}

/// Adds the length of each number.
#[inline(always)]
fn add_each(numbers: &[u64], lengths: &mut [u64], length: impl Fn(u64) -> usize) {
    for (to, number) in lengths.iter_mut().zip(numbers) {
        *to += length(*number) as u64;
    }
}
