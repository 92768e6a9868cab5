//! Spec: docs/format.md, "Digits": finds the template that most texts of a block share, and the numbers of each text.

use super::digit_field::{Chars, DigitField};
use super::digit_pattern::{DIGIT, LETTER, LOWER, MAX_TEXT, Pattern, Times, UPPER, class};
use super::digit_reader::read;
use super::digit_template::{Item, MAX_FIELDS, Template};
use super::digit_time::TimeFormat;
use super::input::Clean;
use crate::kernels::{MAX_DECIMAL, MAX_HEX};
use hashbrown::HashMap;

/// Texts that are compared to find the most frequent kind.
const COMPARED: usize = 32;
/// Texts that are looked at before all are.
const TRIED: usize = 256;
/// Share of the texts, 1 of this many, that may not fit the template.
const MAX_EXCEPTIONS: usize = 8;
/// Share of the texts, 1 of this many, that may differ from what the tried ones share.
const RARELY_OTHER: usize = 1024;
/// Most different words where numbers would do, too: an ordinal has fewer bits than a number.
const FEW_WORDS: usize = 16;
/// Most different words.
const MAX_WORDS: usize = 255;
/// Longest token of digits, of any base.
const LONGEST: usize = 64;

/// The template and the numbers of a block of texts.
#[derive(Debug)]
pub(super) struct DigitLesson {
    pub(super) template: Template,
    /// The numbers of each field, one per text.
    pub(super) numbers: Vec<Vec<u64>>,
    /// Positions of the texts that do not fit the template, ascending.
    pub(super) exceptions: Vec<u32>,
}

/// Finds the template of texts, unless too few fit one.
pub(super) fn learn(input: &Clean<'_>) -> Option<DigitLesson> {
    if input.len <= FEW_WORDS || input.values.len() / input.len > MAX_TEXT {
        return None;
    }
    let text = most_frequent(input)?;
    // Fractions of seconds may differ in length, and numbers that resemble times may be something else.
    let mut patterns: Vec<Pattern> = [Times::WithFractions, Times::OfSeconds, Times::AsNumbers]
        .into_iter()
        .filter_map(|times| Pattern::of(text, times))
        .collect();
    patterns.dedup();
    patterns
        .iter()
        .find_map(|pattern| learn_from(input, pattern))
}

/// Finds the template of texts. Most of them must have this pattern.
fn learn_from(input: &Clean<'_>, pattern: &Pattern) -> Option<DigitLesson> {
    let few = TRIED.min(input.len);
    let scattered = (0..few).map(|i| i * (input.len / few));
    let tried = Tokens::of(input, pattern, scattered, few / MAX_EXCEPTIONS)?;
    let (literals, exceptions) = (tried.literals(), tried.exceptions.len());
    let template = tried.lesson(pattern)?.template;
    let rare = input.len * 2 * exceptions / few + input.len / RARELY_OTHER;
    let rare = rare.min(input.len / MAX_EXCEPTIONS);
    // Most texts have the template of these texts, and reading numbers is faster than collecting tokens.
    if let Some(found) = read(input, &template, rare) {
        return Some(DigitLesson {
            template,
            numbers: found.columns,
            exceptions: found.exceptions,
        });
    }
    // The tokens that these texts share are mostly shared by all texts, and comparing them is faster, too.
    let shorter = pattern.with_literals(&literals);
    let lesson = shorter
        .and_then(|pattern| Tokens::of(input, &pattern, 0..input.len, rare)?.lesson(&pattern));
    lesson.or_else(|| {
        let most = input.len / MAX_EXCEPTIONS;
        Tokens::of(input, pattern, 0..input.len, most)?.lesson(pattern)
    })
}

/// The tokens of texts.
struct Tokens<'a> {
    /// The tokens of each place in texts that have the pattern.
    columns: Vec<Vec<&'a [u8]>>,
    /// Texts that do not have the pattern.
    exceptions: Vec<u32>,
}

impl<'a> Tokens<'a> {
    /// Returns the tokens of the texts at these positions. At most `most` texts may lack the pattern.
    fn of(
        input: &'a Clean<'_>,
        pattern: &Pattern,
        positions: impl ExactSizeIterator<Item = usize>,
        most: usize,
    ) -> Option<Self> {
        let mut columns = vec![Vec::with_capacity(positions.len()); pattern.tokens().len()];
        let mut exceptions = Vec::new();
        for (ordinal, i) in (0u32..).zip(positions) {
            let fits = input.is_present(i) && pattern.split(input.value(i), &mut columns);
            if !fits {
                exceptions.push(ordinal);
                if exceptions.len() > most {
                    return None;
                }
            }
        }
        Some(Self {
            columns,
            exceptions,
        })
    }

    /// Returns the token of each place that all texts share.
    fn literals(&self) -> Vec<Option<&'a [u8]>> {
        let shared = |column: &Vec<&'a [u8]>| {
            let (first, others) = column.split_first()?;
            others.iter().all(|other| other == first).then_some(*first)
        };
        self.columns.iter().map(shared).collect()
    }

    /// Returns the template and the numbers, unless a token has no field.
    fn lesson(self, pattern: &Pattern) -> Option<DigitLesson> {
        let mut columns = Columns::default();
        columns.push_literal(pattern.start());
        for (column, token) in self.columns.iter().zip(pattern.tokens()) {
            match token.time {
                Some(format) => columns.push_times(column, format)?,
                None => columns.push_tokens(column)?,
            }
            columns.push_literal(&token.gap);
        }
        let Columns { items, mut numbers } = columns;
        if numbers.is_empty() || numbers.len() > MAX_FIELDS {
            return None;
        }
        for column in &mut numbers {
            fill_exceptions(column, &self.exceptions);
        }
        Some(DigitLesson {
            template: Template { items },
            numbers,
            exceptions: self.exceptions,
        })
    }
}

/// Inserts a number for each exception: the one before it.
fn fill_exceptions(column: &mut Vec<u64>, exceptions: &[u32]) {
    if exceptions.is_empty() {
        return;
    }
    let mut all = Vec::with_capacity(column.len() + exceptions.len());
    let mut exceptions = exceptions.iter().peekable();
    let mut last = column.first().copied().unwrap_or_default();
    let mut numbers = column.iter();
    loop {
        if exceptions
            .next_if(|at| **at as usize == all.len())
            .is_none()
        {
            match numbers.next() {
                Some(number) => last = *number,
                None => break,
            }
        }
        all.push(last);
    }
    *column = all;
}

/// Returns a text with the pattern that most of a few texts have.
fn most_frequent<'a>(input: &'a Clean<'_>) -> Option<&'a [u8]> {
    let step = (input.len / COMPARED).max(1);
    let mut found: HashMap<Pattern, (usize, &[u8])> = HashMap::new();
    let texts = (0..input.len)
        .step_by(step)
        .filter(|i| input.is_present(*i))
        .map(|i| input.value(i));
    for text in texts {
        if let Some(pattern) = Pattern::of(text, Times::AsNumbers) {
            found.entry(pattern).or_insert((0, text)).0 += 1;
        }
    }
    let (times, text) = found
        .into_values()
        .max_by(|(times, text), (others, other)| times.cmp(others).then(other.cmp(text)))?;
    (times >= COMPARED.min(input.len / step) / 2).then_some(text)
}

/// Properties that tokens share.
struct Shape {
    /// Classes of all characters.
    classes: u8,
    /// Length of all tokens, if it is the same.
    len: Option<usize>,
    longest: usize,
    /// Whether a token of several characters begins with 0.
    leading_zero: bool,
    all_equal: bool,
}

impl Shape {
    fn of(tokens: &[&[u8]]) -> Option<Self> {
        let first = *tokens.first()?;
        let mut shape = Self {
            classes: u8::MAX,
            len: Some(first.len()),
            longest: 0,
            leading_zero: false,
            all_equal: true,
        };
        for token in tokens {
            shape.len = shape.len.filter(|len| *len == token.len());
            shape.longest = shape.longest.max(token.len());
            shape.leading_zero |= token.len() > 1 && token.first() == Some(&b'0');
            shape.all_equal = shape.all_equal && *token == first;
            shape.classes &= token.iter().fold(u8::MAX, |all, byte| all & class(*byte));
        }
        Some(shape)
    }
}

/// The parts of a template, and the numbers of its fields.
#[derive(Default)]
struct Columns {
    items: Vec<Item>,
    numbers: Vec<Vec<u64>>,
}

impl Columns {
    /// Appends bytes that all texts share.
    fn push_literal(&mut self, bytes: &[u8]) {
        match self.items.last_mut() {
            _ if bytes.is_empty() => {}
            Some(Item::Literal(chars)) => *chars = Chars::new(&[&chars.bytes(), bytes].concat()),
            _ => self.items.push(Item::Literal(Chars::new(bytes))),
        }
    }

    fn push_field(&mut self, field: DigitField, numbers: Vec<u64>) {
        self.items.push(Item::Field(field));
        self.numbers.push(numbers);
    }

    /// Appends times as a field.
    fn push_times(&mut self, tokens: &[&[u8]], format: TimeFormat) -> Option<()> {
        let numbers = tokens.iter().map(|token| format.number(token));
        let numbers = numbers.collect::<Option<Vec<u64>>>()?;
        if Shape::of(tokens)?.all_equal {
            self.push_literal(tokens.first()?);
        } else {
            self.push_field(DigitField::Time(format), numbers);
        }
        Some(())
    }

    /// Appends tokens as fields. Returns `None` if no field can hold them.
    fn push_tokens(&mut self, tokens: &[&[u8]]) -> Option<()> {
        let shape = Shape::of(tokens)?;
        if shape.all_equal {
            self.push_literal(tokens.first()?);
            return Some(());
        }
        if let Some((words, ordinals)) = words(tokens, FEW_WORDS) {
            self.push_field(DigitField::Words(words), ordinals);
            return Some(());
        }
        if self.push_digits(tokens, &shape) || self.push_pieces(tokens, &shape) {
            return Some(());
        }
        let (words, ordinals) = words(tokens, MAX_WORDS)?;
        self.push_field(DigitField::Words(words), ordinals);
        Some(())
    }

    /// Appends tokens of decimal or hexadecimal digits.
    fn push_digits(&mut self, tokens: &[&[u8]], shape: &Shape) -> bool {
        let is_decimal = shape.classes & DIGIT != 0;
        let is_upper = shape.classes & LOWER == 0;
        if !is_decimal && shape.classes & (LOWER | UPPER) == 0 {
            return false;
        }
        let (base, most) = if is_decimal {
            (10, MAX_DECIMAL)
        } else {
            (16, MAX_HEX)
        };
        let numbers = |range: std::ops::Range<usize>| -> Vec<u64> {
            let digits = |token: &&[u8]| number(token.get(range.clone()).unwrap_or_default(), base);
            tokens.iter().map(digits).collect()
        };
        match shape.len {
            Some(len) if len <= LONGEST => {
                for start in (0..len).step_by(most) {
                    let end = len.min(start + most);
                    let len = end - start;
                    let field = if is_decimal {
                        DigitField::FixedDecimal(len)
                    } else {
                        DigitField::FixedHex { len, is_upper }
                    };
                    self.push_field(field, numbers(start..end));
                }
                true
            }
            None if !shape.leading_zero && shape.longest <= most => {
                let digits = |token: &&[u8]| number(token, base);
                let field = if is_decimal {
                    DigitField::Decimal
                } else {
                    DigitField::Hex { is_upper }
                };
                self.push_field(field, tokens.iter().map(digits).collect());
                true
            }
            _ => false,
        }
    }

    /// Appends tokens that consist of letters and digits in the same order.
    fn push_pieces(&mut self, tokens: &[&[u8]], shape: &Shape) -> bool {
        if shape.classes & (DIGIT | LETTER) != 0 {
            return false;
        }
        let pieces = |token: &&[u8]| {
            let alike = |a: &u8, b: &u8| class(*a) & DIGIT == class(*b) & DIGIT;
            token.chunk_by(alike).count()
        };
        let Some(count) = tokens
            .first()
            .map(pieces)
            .filter(|count| *count <= LONGEST / 8)
        else {
            return false;
        };
        let mut columns: Vec<Vec<&[u8]>> = vec![Vec::with_capacity(tokens.len()); count];
        for token in tokens {
            let alike = |a: &u8, b: &u8| class(*a) & DIGIT == class(*b) & DIGIT;
            let mut pieces = token.chunk_by(alike);
            for column in &mut columns {
                let Some(piece) = pieces.next() else {
                    return false;
                };
                column.push(piece);
            }
            if pieces.next().is_some() {
                return false;
            }
        }
        let mut parts = Self::default();
        for column in &columns {
            let Some(shape) = Shape::of(column) else {
                return false;
            };
            // Pieces of one class, so that this does not recur. Letters are words.
            if shape.classes & (DIGIT | LETTER) == 0 || parts.push_tokens(column).is_none() {
                return false;
            }
        }
        for item in parts.items {
            match item {
                Item::Literal(chars) => self.push_literal(&chars.bytes()),
                field => self.items.push(field),
            }
        }
        self.numbers.extend(parts.numbers);
        true
    }
}

/// Returns the value of digits.
fn number(digits: &[u8], base: u64) -> u64 {
    let value = |byte: &u8| match byte {
        b'0'..=b'9' => byte - b'0',
        _ => (byte | 0x20).wrapping_sub(b'a' - 10),
    };
    let next = |number: u64, byte: &u8| number.wrapping_mul(base) + u64::from(value(byte));
    digits.iter().fold(0, next)
}

/// Returns different tokens and the ordinal of each token, if there are few. The most frequent one comes first.
fn words(tokens: &[&[u8]], most: usize) -> Option<(Vec<Chars>, Vec<u64>)> {
    let mut ordinals: HashMap<&[u8], u64> = HashMap::new();
    let mut found = Vec::with_capacity(tokens.len());
    for (i, token) in tokens.iter().enumerate() {
        let next = ordinals.len() as u64;
        found.push(*ordinals.entry(token).or_insert(next));
        if ordinals.len() > most
            || token.len() > LONGEST
            || (i == TRIED && ordinals.len() > TRIED / 4 * 3)
        {
            return None;
        }
    }
    let mut uses = vec![0usize; ordinals.len()];
    for ordinal in &found {
        if let Some(uses) = usize::try_from(*ordinal).ok().and_then(|i| uses.get_mut(i)) {
            *uses += 1;
        }
    }
    let mut words: Vec<(&[u8], u64)> = ordinals.into_iter().collect();
    let times = |ordinal: u64| {
        usize::try_from(ordinal)
            .ok()
            .and_then(|i| uses.get(i))
            .copied()
    };
    words.sort_unstable_by_key(|(_, ordinal)| (std::cmp::Reverse(times(*ordinal)), *ordinal));
    let mut ranks = vec![0; words.len()];
    for (rank, (_, ordinal)) in (0..).zip(&words) {
        if let Some(place) = usize::try_from(*ordinal)
            .ok()
            .and_then(|i| ranks.get_mut(i))
        {
            *place = rank;
        }
    }
    for ordinal in &mut found {
        let rank = usize::try_from(*ordinal).ok().and_then(|i| ranks.get(i));
        *ordinal = rank.copied().unwrap_or_default();
    }
    Some((
        words.iter().map(|(word, _)| Chars::new(word)).collect(),
        found,
    ))
}

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "any bits will do for test values"
)]
mod tests {
    use super::super::{Input, Plan, encode, get};
    use super::*;
    use crate::Limits;
    use crate::encoding::{Context, EncodingCode, Scratch};

    /// Returns the offsets and the bytes of texts.
    fn flat(texts: &[String]) -> (Vec<u64>, Vec<u8>) {
        let mut offsets = vec![0];
        offsets.extend(texts.iter().scan(0, |end, text| {
            *end += text.len() as u64;
            Some(*end)
        }));
        (offsets, texts.concat().into_bytes())
    }

    /// Encodes texts, reads each of them alone, and returns the fields, the number of exceptions and the size.
    fn learned(texts: &[String]) -> Option<(Vec<DigitField>, usize, usize)> {
        let (offsets, bytes) = flat(texts);
        let input = Input::variable(&offsets, &bytes, None);
        let lesson = learn(&input.clean().unwrap())?;
        let mut region = Vec::new();
        encode(&input, &Plan::digits(Plan::Plain), &mut region).unwrap();
        assert_eq!(EncodingCode::read(&region).unwrap(), EncodingCode::Digits);
        let (limits, mut scratch) = (Limits::default(), Scratch::default());
        let cx = &mut Context::new(&limits, &mut scratch);
        for (i, text) in texts.iter().enumerate() {
            let found = get(&region, texts.len(), None, i, cx).unwrap().unwrap();
            assert_eq!(found, text.as_bytes(), "text {i}");
        }
        let fields = lesson.template.fields().cloned().collect();
        Some((fields, lesson.exceptions.len(), region.len()))
    }

    fn noise(i: u64) -> u64 {
        i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    fn texts(text: impl Fn(u64) -> String) -> Vec<String> {
        (0..1000).map(text).collect()
    }

    #[test]
    fn numbers_of_each_kind_become_fields() {
        let fields = |text: &dyn Fn(u64) -> String| learned(&texts(text)).unwrap().0;
        let decimal = fields(&|i| format!("x{}-b", noise(i) % 100_000));
        assert_eq!(decimal, [DigitField::Decimal]);
        let times = fields(&|i| format!("{:02}:{:04}", i % 60, i * 7));
        assert_eq!(times, [2, 4].map(DigitField::FixedDecimal));
        let hex = |is_upper| {
            move |i: u64| {
                let number = noise(i);
                if is_upper {
                    format!("{number:016X}-{number:X}")
                } else {
                    format!("{number:016x}-{number:x}")
                }
            }
        };
        for is_upper in [false, true] {
            let want = [
                DigitField::FixedHex { len: 16, is_upper },
                DigitField::Hex { is_upper },
            ];
            assert_eq!(fields(&hex(is_upper)), want);
        }
        let long = fields(&|i| format!("{:040x}", u128::from(noise(i)) << 64));
        assert_eq!(long.len(), 3);
        let colors = ["red", "green", "yellow"];
        let words = fields(&|i| format!("{} {i}", colors[(noise(i) >> 40) as usize % 3]));
        assert!(
            matches!(&words[..], [DigitField::Words(words), DigitField::Decimal] if words.len() == 3)
        );
    }

    #[test]
    fn texts_of_another_kind_are_exceptions_if_they_are_few() {
        let mixed = |share: u64| {
            texts(|i| match noise(i) >> 32 {
                hash if hash.is_multiple_of(share) => format!("something else, {hash}"),
                hash => format!("id={hash};"),
            })
        };
        let (fields, exceptions, _) = learned(&mixed(20)).unwrap();
        assert_eq!(fields, [DigitField::Decimal]);
        assert!((20..100).contains(&exceptions), "{exceptions}");
        assert!(learned(&mixed(3)).is_none());
    }

    #[test]
    fn a_date_with_a_time_of_day_is_one_number() {
        let fields = |text: &dyn Fn(u64) -> String| learned(&texts(text)).unwrap();
        let minute = |i: u64| format!("2024-02-29T23:{:02}:{:02}", i / 60 % 60, i % 60);
        let time = |fraction| {
            let separators = match fraction {
                0 => *b"-T:\0",
                _ => *b"-T:,",
            };
            DigitField::Time(TimeFormat::new(separators, fraction).unwrap())
        };
        let (zoned, exceptions, size) = fields(&|i| minute(i) + "Z");
        assert_eq!((&zoned[..], exceptions), (&[time(0)][..], 0));
        assert!(size < 200, "{size}");
        let lines = |i| format!("[{},{:03}] took {}", minute(i), noise(i) % 1000, i * i);
        assert_eq!(fields(&lines).0, [time(3), DigitField::Decimal]);
        // Fractions of different lengths are numbers of their own.
        let fraction = |i: u64| if i.is_multiple_of(3) { 5 } else { 25 };
        let (cut, ..) = fields(&|i| format!("{},{}Z", minute(i), fraction(i)));
        assert_eq!(cut.len(), 2);
        assert_eq!(cut[0], time(0));
        let leap = |i| if i % 20 == 7 { 60 } else { i % 60 };
        let (most, exceptions, _) = fields(&|i| format!("2016-12-31T23:59:{:02}", leap(i)));
        assert_eq!((&most[..], exceptions), (&[time(0)][..], 50));
        // Without a calendar, these are numbers.
        let others = fields(&|i| format!("2024-13-10T10:{:02}:{:02}", i / 60 % 60, i % 60));
        assert_eq!(others.0, [2, 2].map(DigitField::FixedDecimal));
    }

    #[test]
    fn words_that_the_tried_texts_share_may_differ_in_others() {
        let line = |i: u64, word: &str| format!("{word} {} of job {}", noise(i) % 1000, i);
        let lines = |rare: &dyn Fn(u64) -> bool| {
            let all = 0..10_000;
            let text = |i| line(i, if rare(i) { "WARN" } else { "INFO" });
            learned(&all.map(text).collect::<Vec<_>>()).unwrap()
        };
        let number = [DigitField::Decimal, DigitField::Decimal];
        let (few, exceptions, _) = lines(&|i| i % 2000 == 1999);
        assert_eq!((&few[..], exceptions), (&number[..], 5));
        let (many, exceptions, _) = lines(&|i| i % 39 == 38);
        assert_eq!(exceptions, 0);
        assert!(matches!(&many[..], [DigitField::Words(words), _, _] if words.len() == 2));
    }

    #[test]
    fn texts_without_a_template_are_left_to_other_encodings() {
        let words = ["pinto", "beans", "haggle", "quickly", "foxes", "nag"];
        let word = |i: u64| words[(noise(i) >> 33) as usize % 6].to_owned() + &noise(i).to_string();
        assert!(
            learned(&texts(|i| (0..i % 5)
                .map(word)
                .collect::<Vec<_>>()
                .join(" ")))
            .is_none()
        );
        // Leading zeros in numbers of several lengths would be lost, and so would signs and mixed cases.
        assert!(
            learned(&texts(|i| format!(
                "{}{}",
                "0".repeat(1 + i as usize % 3),
                noise(i)
            )))
            .is_none()
        );
        assert!(learned(&texts(|i| format!("x{:x}{:X}", noise(i), noise(i)))).is_none());
        assert!(learned(&texts(|i| format!("{}", noise(i) as u128 * 12345678901))).is_none());
        assert!(learned(&texts(|_| "the same".to_owned())).is_none());
        assert!(learned(&texts(|_| String::new())).is_none());
        assert!(learned(&texts(|i| format!("{i}"))[..10]).is_none());
    }
}
