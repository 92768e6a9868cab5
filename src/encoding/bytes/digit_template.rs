//! Spec: docs/format.md, "Digits": the template that the texts of a block share, and how texts are put together from it.

use crate::encoding::fields::{size32, split_at};
use crate::error::{Error, Result};
use crate::kernels::{
    DECIMAL_LIMIT, DigitWords, MAX_DECIMAL, MAX_HEX, SHORT_DECIMALS, decimal_digits, decimal_len,
    hex_digits, hex_len, short_decimal,
};
use arrow_buffer::ArrowNativeType;

/// Most fields of a template. More would let few bytes request much memory.
pub(super) const MAX_FIELDS: usize = 64;
/// Bytes after the last text that stores of whole words need.
pub(super) const SLACK: usize = 16;
/// Bytes of a word.
const WORD: usize = 8;

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// The same bytes in every text.
    Literal(Chars),
    /// A number of every text.
    Field(Field),
}

/// How the digits of a number are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
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
}

/// Bytes that are copied as words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chars {
    /// The bytes, padded with zeros.
    words: Vec<u64>,
    len: usize,
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
    fn put_all(&self, is_last: bool, places: &mut [usize], dst: &mut [u8]) {
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

impl Field {
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

    /// Adds the lengths of the numbers, which were checked, to the lengths of their texts, unless all are as long as the
    /// [`least`](Self::least) one.
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
            Self::FixedDecimal(_) | Self::FixedHex { .. } | Self::Words(_) => {}
        }
    }

    /// Returns the least number of characters of a number.
    fn least(&self) -> usize {
        match self {
            Self::Decimal | Self::Hex { .. } => 1,
            Self::FixedDecimal(len) | Self::FixedHex { len, .. } => *len,
            Self::Words(words) => words.iter().map(|word| word.len).min().unwrap_or(0),
        }
    }

    /// Returns the greatest number of characters of a number.
    fn most(&self) -> usize {
        match self {
            Self::Decimal | Self::Hex { .. } => 16,
            Self::FixedDecimal(len) | Self::FixedHex { len, .. } => *len,
            Self::Words(words) => words.iter().map(|word| word.len).max().unwrap_or(0),
        }
    }

    /// Appends a number, which was checked.
    fn append(&self, number: u64, out: &mut Vec<u8>) {
        let mut place = [out.len()];
        out.resize(out.len() + self.most() + SLACK, 0);
        self.put::<false>(&[number], &Chars::new(&[]), &mut place, out);
        let [end] = place;
        out.truncate(end);
    }

    /// Writes numbers, which were checked, each to its place, and `after` behind each of them. Moves the places behind
    /// that.
    fn put<const EXACT: bool>(
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
                    store_digits::<false>(words, len, dst, *at);
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

/// Adds the length of each number.
#[inline(always)]
fn add_each(numbers: &[u64], lengths: &mut [u64], length: impl Fn(u64) -> usize) {
    for (to, number) in lengths.iter_mut().zip(numbers) {
        *to += length(*number) as u64;
    }
}

impl Item {
    /// Returns the least bytes that the part takes.
    fn least(&self) -> usize {
        match self {
            Self::Literal(chars) => chars.len,
            Self::Field(field) => field.least(),
        }
    }
}

/// The parts of every text of a block, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Template {
    pub(super) items: Vec<Item>,
}

impl Template {
    /// Returns the fields.
    pub(super) fn fields(&self) -> impl Iterator<Item = &Field> {
        self.items.iter().filter_map(|item| match item {
            Item::Field(field) => Some(field),
            Item::Literal(_) => None,
        })
    }

    /// Returns the least bytes of a text.
    pub(super) fn least(&self) -> usize {
        self.items.iter().map(Item::least).sum()
    }

    /// Returns the most bytes of a text.
    pub(super) fn longest(&self) -> usize {
        let most = |field: &Field| field.most() - field.least();
        self.least() + self.fields().map(most).sum::<usize>()
    }

    /// Writes texts, each to its place. `numbers` returns the numbers of a field, which were checked.
    ///
    /// One part of all texts is written after the other: the places of many texts are known at once, so that no store
    /// waits for the length of the part before. Only parts at the end of a text must not overwrite the next one.
    pub(super) fn put<'a>(
        &self,
        numbers: impl Fn(usize) -> &'a [u64],
        places: &mut [usize],
        dst: &mut [u8],
    ) {
        let mut left = self.least();
        // A field that differs, and bytes that all of these texts share behind it.
        let mut before: Option<(&Field, &[u64])> = None;
        let (mut shared, mut field_ordinal) = (Vec::new(), 0);
        let mut write = |field: Option<(&Field, &[u64])>, shared: &mut Vec<u8>| {
            let after = Chars::new(shared);
            shared.clear();
            let least = field.map_or(0, |(field, _)| field.least());
            // Numbers among the shared bytes may be longer than their least length.
            left = left.saturating_sub(least + after.len);
            let (field, numbers) = match field {
                Some(field) => field,
                None => return after.put_all(left < WORD, places, dst),
            };
            if left < WORD {
                field.put::<true>(numbers, &after, places, dst);
            } else {
                field.put::<false>(numbers, &after, places, dst);
            }
        };
        for item in &self.items {
            let field = match item {
                Item::Literal(chars) => {
                    shared.extend(chars.bytes());
                    continue;
                }
                Item::Field(field) => field,
            };
            let numbers = numbers(field_ordinal);
            field_ordinal += 1;
            match numbers.split_first() {
                Some((first, others)) if others.iter().all(|number| number == first) => {
                    field.append(*first, &mut shared);
                }
                _ => {
                    write(before.replace((field, numbers)), &mut shared);
                }
            }
        }
        write(before, &mut shared);
    }

    /// Returns the number of parts that [`put`](Self::put) writes to each of these texts: fields that differ, and bytes
    /// before all of them.
    pub(super) fn written_parts<'a>(&self, numbers: impl Fn(usize) -> &'a [u64]) -> usize {
        let (mut parts, mut ordinal) = (0, 0);
        for (i, item) in self.items.iter().enumerate() {
            match item {
                Item::Literal(_) => parts += usize::from(i == 0),
                Item::Field(_) => {
                    let numbers = numbers(ordinal);
                    ordinal += 1;
                    let differ = numbers.iter().any(|number| Some(number) != numbers.first());
                    parts += usize::from(differ);
                }
            }
        }
        parts
    }

    /// Appends the template.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        let short = |len: usize| {
            u16::try_from(len)
                .map_err(|_| Error::invalid(format!("a text has a part of {len} bytes or words")))
        };
        let byte = |len: usize| u8::try_from(len).unwrap_or(u8::MAX);
        for item in &self.items {
            match item {
                Item::Literal(chars) => {
                    out.push(0);
                    out.extend(short(chars.len)?.to_le_bytes());
                    out.extend(chars.bytes());
                }
                Item::Field(Field::Decimal) => out.push(1),
                Item::Field(Field::FixedDecimal(len)) => out.extend([2, byte(*len)]),
                Item::Field(Field::Hex { is_upper }) => out.extend([3, u8::from(*is_upper)]),
                Item::Field(Field::FixedHex { len, is_upper }) => {
                    out.extend([4, u8::from(*is_upper), byte(*len)]);
                }
                Item::Field(Field::Words(words)) => {
                    out.push(5);
                    out.extend(short(words.len())?.to_le_bytes());
                    for word in words {
                        out.push(byte(word.len));
                        out.extend(word.bytes());
                    }
                }
            }
        }
        size32(out.len()).map(|_| ())
    }

    /// Parses a template of `count` items, which takes all the bytes.
    pub(super) fn read(bytes: &[u8], count: usize) -> Result<Self> {
        let mut rest = bytes;
        let mut template = Self::default();
        for _ in 0..count {
            template.items.push(read_item(&mut rest)?);
        }
        let fields = template.fields().count();
        if !rest.is_empty() || fields > MAX_FIELDS {
            return Err(Error::corrupt(format!(
                "expected a template of {count} parts, of which {MAX_FIELDS} fields at most, found {fields} fields and \
                 {} more bytes",
                rest.len()
            )));
        }
        Ok(template)
    }
}

fn read_item(rest: &mut &[u8]) -> Result<Item> {
    let mut take = |size: usize| -> Result<&[u8]> {
        let (taken, after) = split_at(rest, size, "a template")?;
        *rest = after;
        Ok(taken)
    };
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0, |n, byte| n << 8 | usize::from(*byte))
    };
    let flag = |byte: usize| match byte {
        0 | 1 => Ok(byte == 1),
        other => Err(Error::corrupt(format!(
            "expected a flag of 0 or 1, found {other}"
        ))),
    };
    let digits = |len: usize, most: usize| {
        if (1..=most).contains(&len) {
            return Ok(len);
        }
        Err(Error::corrupt(format!(
            "expected 1 to {most} digits, found {len}"
        )))
    };
    let field = match number(take(1)?) {
        0 => {
            let len = number(take(2)?);
            return Ok(Item::Literal(Chars::new(take(len)?)));
        }
        1 => Field::Decimal,
        2 => Field::FixedDecimal(digits(number(take(1)?), MAX_DECIMAL)?),
        3 => Field::Hex {
            is_upper: flag(number(take(1)?))?,
        },
        4 => Field::FixedHex {
            is_upper: flag(number(take(1)?))?,
            len: digits(number(take(1)?), MAX_HEX)?,
        },
        5 => {
            let count = number(take(2)?);
            let words = (0..count).map(|_| {
                let len = number(take(1)?);
                Ok(Chars::new(take(len)?))
            });
            Field::Words(words.collect::<Result<_>>()?)
        }
        other => {
            return Err(Error::corrupt(format!(
                "expected a part of a template of kind 0 to 5, found {other}"
            )));
        }
    };
    Ok(Item::Field(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Template {
        let literal = |text: &str| Item::Literal(Chars::new(text.as_bytes()));
        Template {
            items: vec![
                literal("a literal of 23 letters"),
                Item::Field(Field::Decimal),
                literal(":"),
                Item::Field(Field::FixedDecimal(3)),
                Item::Field(Field::Hex { is_upper: true }),
                literal("-"),
                Item::Field(Field::FixedHex {
                    len: 12,
                    is_upper: false,
                }),
                Item::Field(Field::Words(vec![
                    Chars::new(b"x"),
                    Chars::new(b"nine more"),
                ])),
            ],
        }
    }

    #[test]
    fn templates_come_back_and_damage_is_an_error() {
        let mut bytes = Vec::new();
        sample().write(&mut bytes).unwrap();
        let count = sample().items.len();
        assert_eq!(Template::read(&bytes, count).unwrap(), sample());
        assert!(Template::read(&bytes, count - 1).is_err());
        assert!(Template::read(&bytes, count + 1).is_err());
        for len in 0..bytes.len() {
            assert!(Template::read(&bytes[..len], count).is_err(), "{len}");
        }
        for bad in [
            &[6][..],
            &[2, 0],
            &[2, 17],
            &[3, 2],
            &[4, 0, 17],
            &[5, 1, 0],
            &[0, 1, 0],
        ] {
            assert!(Template::read(bad, 1).is_err(), "{bad:?}");
        }
        assert!(Template::read(&[1; 65], 65).is_err());
    }

    #[test]
    fn texts_are_put_together() {
        let numbers = [7, 12_345_678_901, 5, 999, 0xAB, 0, 0xFF, 0, 1, 0];
        let mut dst = vec![0; 200];
        let texts = [
            "a literal of 23 letters7:005AB-0000000000ffnine more",
            "a literal of 23 letters12345678901:9990-000000000000x",
        ];
        let template = sample();
        let mut lengths = [template.least() as u64; 2];
        for (field, numbers) in template.fields().zip(numbers.chunks(2)) {
            field.check(numbers).unwrap();
            field.add_lengths(numbers, &mut lengths);
        }
        let mut places = [3, 3 + texts[0].len()];
        assert_eq!(lengths, texts.map(|text| text.len() as u64));
        template.put(
            |field| &numbers[2 * field..2 * field + 2],
            &mut places,
            &mut dst,
        );
        let text = texts.concat();
        assert_eq!(places, [3 + texts[0].len(), 3 + text.len()]);
        assert_eq!(&dst[3..places[1]], text.as_bytes());
        assert_eq!(dst[places[1]..], vec![0; 200 - places[1]]);
        assert!(template.longest() >= texts[1].len());
        for (field, number) in [
            (Field::Decimal, DECIMAL_LIMIT),
            (Field::FixedDecimal(3), 1000),
            (
                Field::FixedHex {
                    len: 2,
                    is_upper: false,
                },
                256,
            ),
            (Field::Words(vec![Chars::new(b"x")]), 1),
        ] {
            assert!(field.check(&[number - 1]).is_ok());
            assert!(field.check(&[0, number]).is_err(), "{field:?}");
        }
    }
}
