//! Random values of leaf types, with distributions like real columns.

use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, i256};
use half::f16;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use std::cmp::Ordering;

/// A generator of values of one type.
pub(super) trait Source {
    /// The type of the values.
    type Value: Clone;
    /// Returns any value.
    fn any(&self, rng: &mut StdRng) -> Self::Value;
    /// Returns a value that is similar to `base`.
    fn near(&self, rng: &mut StdRng, base: &Self::Value) -> Self::Value;
    /// Compares two values in the order of sorted columns.
    fn order(a: &Self::Value, b: &Self::Value) -> Ordering;
}

/// Returns `len` values: constant, in runs, few distinct ones, near each other, or any; sometimes sorted.
pub(super) fn shaped<S: Source>(rng: &mut StdRng, source: &S, len: usize) -> Vec<S::Value> {
    let base = source.any(rng);
    let mut values: Vec<S::Value> = match rng.random_range(0..6) {
        0 => vec![base; len],
        1 => {
            let mut values = Vec::with_capacity(len);
            while values.len() < len {
                let value = source.any(rng);
                let run = rng.random_range(1..=40).min(len - values.len());
                values.extend(std::iter::repeat_n(value, run));
            }
            values
        }
        2 => {
            let few: Vec<_> = (0..rng.random_range(1..6))
                .map(|_| source.any(rng))
                .collect();
            (0..len).map(|_| few.choose(rng).unwrap().clone()).collect()
        }
        3 => (0..len).map(|_| source.near(rng, &base)).collect(),
        _ => (0..len).map(|_| source.any(rng)).collect(),
    };
    if rng.random_ratio(1, 4) {
        values.sort_by(S::order);
    }
    values
}

/// Values of a native type.
pub(super) struct Native<T>(std::marker::PhantomData<T>);

impl<T> Native<T> {
    pub(super) fn new() -> Self {
        Self(std::marker::PhantomData)
    }
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Source for Native<$t> {
            type Value = $t;

            fn any(&self, rng: &mut StdRng) -> $t {
                match rng.random_range(0..8) {
                    0 => *[<$t>::MIN, <$t>::MAX, 0, 1].choose(rng).unwrap(),
                    1 => rng.random::<$t>() >> rng.random_range(0..<$t>::BITS),
                    _ => rng.random(),
                }
            }

            fn near(&self, rng: &mut StdRng, base: &$t) -> $t {
                base.wrapping_add(rng.random_range(0..100))
            }

            fn order(a: &$t, b: &$t) -> Ordering {
                a.cmp(b)
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

macro_rules! floats {
    ($($t:ty, $bits:ty, $from:expr);*) => {$(
        impl Source for Native<$t> {
            type Value = $t;

            fn any(&self, rng: &mut StdRng) -> $t {
                let from: fn(f32) -> $t = $from;
                match rng.random_range(0..6) {
                    0 => {
                        let special = [
                            <$t>::NAN, <$t>::INFINITY, <$t>::NEG_INFINITY, <$t>::MAX,
                            <$t>::MIN_POSITIVE, from(0.0), from(-0.0), <$t>::from_bits(1),
                            // A NaN with sign and payload.
                            <$t>::from_bits(<$bits>::MAX - 5),
                        ];
                        *special.choose(rng).unwrap()
                    }
                    // Any bits, so NaNs have payloads.
                    1 => <$t>::from_bits(rng.random()),
                    2 => from(f32::from(rng.random::<i16>())),
                    _ => from(f32::from(rng.random::<i16>()) / 100.0),
                }
            }

            fn near(&self, rng: &mut StdRng, base: &$t) -> $t {
                let from: fn(f32) -> $t = $from;
                *base + from(f32::from(rng.random_range(0_u8..40)) / 4.0)
            }

            fn order(a: &$t, b: &$t) -> Ordering {
                a.total_cmp(b)
            }
        }
    )*};
}

floats!(f16, u16, f16::from_f32; f32, u32, |f| f; f64, u64, f64::from);

impl Source for Native<i256> {
    type Value = i256;

    fn any(&self, rng: &mut StdRng) -> i256 {
        i256::from_parts(rng.random(), rng.random())
    }

    fn near(&self, rng: &mut StdRng, base: &i256) -> i256 {
        base.wrapping_add(i256::from_i128(rng.random_range(0..100)))
    }

    fn order(a: &i256, b: &i256) -> Ordering {
        a.cmp(b)
    }
}

impl Source for Native<IntervalDayTime> {
    type Value = IntervalDayTime;

    fn any(&self, rng: &mut StdRng) -> IntervalDayTime {
        IntervalDayTime::new(rng.random(), rng.random())
    }

    fn near(&self, rng: &mut StdRng, base: &IntervalDayTime) -> IntervalDayTime {
        IntervalDayTime::new(base.days, rng.random_range(0..1000))
    }

    fn order(a: &IntervalDayTime, b: &IntervalDayTime) -> Ordering {
        a.cmp(b)
    }
}

impl Source for Native<IntervalMonthDayNano> {
    type Value = IntervalMonthDayNano;

    fn any(&self, rng: &mut StdRng) -> IntervalMonthDayNano {
        IntervalMonthDayNano::new(rng.random(), rng.random(), rng.random())
    }

    fn near(&self, rng: &mut StdRng, base: &IntervalMonthDayNano) -> IntervalMonthDayNano {
        IntervalMonthDayNano::new(base.months, rng.random_range(0..30), base.nanoseconds)
    }

    fn order(a: &IntervalMonthDayNano, b: &IntervalMonthDayNano) -> Ordering {
        a.cmp(b)
    }
}

impl Source for Native<bool> {
    type Value = bool;

    fn any(&self, rng: &mut StdRng) -> bool {
        rng.random()
    }

    fn near(&self, rng: &mut StdRng, base: &bool) -> bool {
        *base ^ rng.random_ratio(1, 50)
    }

    fn order(a: &bool, b: &bool) -> Ordering {
        a.cmp(b)
    }
}

/// Unscaled decimals with a limited number of digits.
pub(super) struct Decimals {
    pub(super) precision: u8,
}

impl Source for Decimals {
    type Value = i256;

    fn any(&self, rng: &mut StdRng) -> i256 {
        let digits = match rng.random_range(0..4) {
            0 => self.precision,
            _ => rng.random_range(1..=self.precision),
        };
        let nines = rng.random_ratio(1, 10);
        let mut text = String::from(if rng.random() { "-" } else { "" });
        for _ in 0..digits {
            text.push(if nines {
                '9'
            } else {
                char::from(rng.random_range(b'0'..=b'9'))
            });
        }
        i256::from_string(&text).unwrap()
    }

    fn near(&self, rng: &mut StdRng, base: &i256) -> i256 {
        let max = i256::from_string(&"9".repeat(self.precision.into())).unwrap();
        let near = base.wrapping_add(i256::from_i128(rng.random_range(0..100)));
        if near > max { *base } else { near }
    }

    fn order(a: &i256, b: &i256) -> Ordering {
        a.cmp(b)
    }
}

/// Byte strings of any length, or of one length.
pub(super) struct ByteStrings {
    pub(super) len: Option<usize>,
}

impl Source for ByteStrings {
    type Value = Vec<u8>;

    fn any(&self, rng: &mut StdRng) -> Vec<u8> {
        let len = self.len.unwrap_or_else(|| random_len(rng));
        if rng.random_ratio(1, 8) {
            return vec![rng.random(); len];
        }
        (0..len).map(|_| rng.random()).collect()
    }

    fn near(&self, rng: &mut StdRng, base: &Vec<u8>) -> Vec<u8> {
        let mut value = base.clone();
        if let Some(last) = value.last_mut() {
            *last = rng.random();
        }
        value
    }

    fn order(a: &Vec<u8>, b: &Vec<u8>) -> Ordering {
        a.cmp(b)
    }
}

/// Texts, optionally as JSON documents.
pub(super) struct Texts {
    pub(super) json: bool,
}

impl Source for Texts {
    type Value = String;

    fn any(&self, rng: &mut StdRng) -> String {
        if self.json {
            return json(rng, 2);
        }
        const TEXT: [&str; 12] = [
            "a", "b", "Z", "0", " ", "ä", "ß", "\0", "\"", "你", "🦀", "e\u{301}",
        ];
        // A character of several bytes may exceed the length.
        let len = random_len(rng);
        let ascii = rng.random_ratio(2, 3);
        let mut text = String::new();
        while text.len() < len {
            let letters = if ascii { &TEXT[..5] } else { &TEXT[..] };
            text.push_str(letters.choose(rng).unwrap());
        }
        text
    }

    fn near(&self, rng: &mut StdRng, base: &String) -> String {
        if self.json {
            return format!("[{base},{}]", rng.random_range(0..100));
        }
        format!("{base}{}", rng.random_range(0..100))
    }

    fn order(a: &String, b: &String) -> Ordering {
        a.cmp(b)
    }
}

/// Returns a length around the 12 bytes that a view contains, or around 255.
fn random_len(rng: &mut StdRng) -> usize {
    match rng.random_range(0..12) {
        0 | 1 => 0,
        2..=5 => rng.random_range(1..12),
        6 => 12,
        7..=9 => rng.random_range(13..40),
        10 => rng.random_range(40..254),
        _ => rng.random_range(254..400),
    }
}

fn json(rng: &mut StdRng, depth: u32) -> String {
    match rng.random_range(0..if depth == 0 { 4 } else { 6 }) {
        0 => "null".into(),
        1 => rng.random::<bool>().to_string(),
        2 => rng.random::<i32>().to_string(),
        3 => format!("\"t{}\\n\u{e4}\"", rng.random::<u16>()),
        4 => format!("[{}, {}]", json(rng, depth - 1), json(rng, depth - 1)),
        _ => format!("{{\"k\": {}}}", json(rng, depth - 1)),
    }
}
