//! Spec: docs/format.md, "Digits": the template that the texts of a block share, and how texts are put together from
//! it.

use super::digit_field::{Chars, DigitField, WORD};
use super::digit_time::TimeFormat;
use crate::encoding::fields::{size32, split_at};
use crate::error::{Error, Result};
use crate::kernels::{MAX_DECIMAL, MAX_HEX};

/// Most fields of a template. More would let few bytes request much memory.
pub(super) const MAX_FIELDS: usize = 64;
/// Texts of which one part is read or written after the other: their places fit the first-level cache.
pub(super) const TOGETHER: usize = 256;

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// The same bytes in every text.
    Literal(Chars),
    /// A number of every text.
    Field(DigitField),
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
    pub(super) fn fields(&self) -> impl Iterator<Item = &DigitField> {
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
        let most = |field: &DigitField| field.most() - field.least();
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
        let mut before: Option<(&DigitField, &[u64])> = None;
        let (mut shared, mut field_ordinal) = (Vec::new(), 0);
        let mut write = |field: Option<(&DigitField, &[u64])>, shared: &mut Vec<u8>| {
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
                Item::Field(DigitField::Decimal) => out.push(1),
                Item::Field(DigitField::FixedDecimal(len)) => out.extend([2, byte(*len)]),
                Item::Field(DigitField::Hex { is_upper }) => out.extend([3, u8::from(*is_upper)]),
                Item::Field(DigitField::FixedHex { len, is_upper }) => {
                    out.extend([4, u8::from(*is_upper), byte(*len)]);
                }
                Item::Field(DigitField::Words(words)) => {
                    out.push(5);
                    out.extend(short(words.len())?.to_le_bytes());
                    for word in words {
                        out.push(byte(word.len));
                        out.extend(word.bytes());
                    }
                }
                Item::Field(DigitField::Time(format)) => {
                    let TimeFormat {
                        date,
                        between,
                        clock,
                        mark,
                        fraction,
                    } = *format;
                    out.extend([6, date, between, clock, mark, byte(fraction)]);
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
        1 => DigitField::Decimal,
        2 => DigitField::FixedDecimal(digits(number(take(1)?), MAX_DECIMAL)?),
        3 => DigitField::Hex {
            is_upper: flag(number(take(1)?))?,
        },
        4 => DigitField::FixedHex {
            is_upper: flag(number(take(1)?))?,
            len: digits(number(take(1)?), MAX_HEX)?,
        },
        5 => {
            let count = number(take(2)?);
            let words = (0..count).map(|_| {
                let len = number(take(1)?);
                Ok(Chars::new(take(len)?))
            });
            DigitField::Words(words.collect::<Result<_>>()?)
        }
        6 => {
            let mut separators = [0; 4];
            separators.copy_from_slice(take(4)?);
            let fraction = number(take(1)?);
            let format = TimeFormat::new(separators, fraction).ok_or_else(|| {
                Error::corrupt(format!(
                    "expected up to 6 digits in the fraction of a time, found {fraction}"
                ))
            })?;
            DigitField::Time(format)
        }
        other => {
            return Err(Error::corrupt(format!(
                "expected a part of a template of kind 0 to 6, found {other}"
            )));
        }
    };
    Ok(Item::Field(field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::DECIMAL_LIMIT;

    fn sample() -> Template {
        let literal = |text: &str| Item::Literal(Chars::new(text.as_bytes()));
        Template {
            items: vec![
                literal("a literal of 23 letters"),
                Item::Field(DigitField::Decimal),
                literal(":"),
                Item::Field(DigitField::FixedDecimal(3)),
                Item::Field(DigitField::Hex { is_upper: true }),
                literal("-"),
                Item::Field(DigitField::FixedHex {
                    len: 12,
                    is_upper: false,
                }),
                Item::Field(DigitField::Words(vec![
                    Chars::new(b"x"),
                    Chars::new(b"nine more"),
                ])),
                Item::Field(DigitField::Time(
                    TimeFormat::new([b'-', b'T', b':', b'.'], 3).unwrap(),
                )),
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
            &[7][..],
            &[2, 0],
            &[2, 17],
            &[3, 2],
            &[4, 0, 17],
            &[5, 1, 0],
            &[6, b'-', b'T', b':', b'.'],
            &[6, b'-', b'T', b':', b'.', 7],
            &[0, 1, 0],
        ] {
            assert!(Template::read(bad, 1).is_err(), "{bad:?}");
        }
        assert!(Template::read(&[1; 65], 65).is_err());
    }

    #[test]
    fn texts_are_put_together() {
        let numbers = [
            7,
            12_345_678_901,
            5,
            999,
            0xAB,
            0,
            0xFF,
            0,
            1,
            0,
            719_528 * 86_400_000,
            86_399_999,
        ];
        let mut dst = vec![0; 200];
        let texts = [
            "a literal of 23 letters7:005AB-0000000000ffnine more1970-01-01T00:00:00.000",
            "a literal of 23 letters12345678901:9990-000000000000x0000-01-01T23:59:59.999",
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
            (DigitField::Decimal, DECIMAL_LIMIT),
            (DigitField::FixedDecimal(3), 1000),
            (
                DigitField::FixedHex {
                    len: 2,
                    is_upper: false,
                },
                256,
            ),
            (DigitField::Words(vec![Chars::new(b"x")]), 1),
        ] {
            assert!(field.check(&[number - 1]).is_ok());
            assert!(field.check(&[0, number]).is_err(), "{field:?}");
        }
    }

    #[test]
    fn the_end_of_a_text_leaves_the_next_one_alone() {
        let field = |len| DigitField::FixedHex {
            len,
            is_upper: false,
        };
        for len in 1..=MAX_HEX {
            for behind in ["", "-", "123456", "a longer end"] {
                let mut items = vec![Item::Field(field(len))];
                if !behind.is_empty() {
                    items.push(Item::Literal(Chars::new(behind.as_bytes())));
                }
                let template = Template { items };
                let size = len + behind.len();
                let mut dst = vec![b'x'; 2 * size + 32];
                template.put(|_| &[7, 8], &mut [0, size], &mut dst);
                let want = format!("{:0len$x}{behind}{:0len$x}{behind}", 7, 8);
                assert_eq!(&dst[..2 * size], want.as_bytes());
                assert!(dst[2 * size..].iter().all(|byte| *byte == b'x'), "{want}");
            }
        }
    }
}
