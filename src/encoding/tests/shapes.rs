//! Values of many shapes.

use super::super::Word;
use rand::{Rng, rngs::StdRng};

/// Generates numbers that suit one of the encodings.
pub(super) fn numbers<W: Word>(rng: &mut StdRng, n: usize) -> Vec<W> {
    let any: Vec<u64> = (0..n).map(|_| rng.random()).collect();
    let base: u64 = rng.random();
    let width = rng.random_range(0..W::BITS);
    let shape = rng.random_range(0..12);
    let words = any.iter().enumerate().map(|(i, &r)| match shape {
        0 => base,
        1 => r,
        2 => base.wrapping_add(r >> (63 - width)),
        3 => r >> (63 - width),
        4 => base.wrapping_add(3 * i as u64 + r % 3),
        5 => base.wrapping_add((i as u64 / 20).wrapping_mul(0x9e37_79b9)),
        6 => [0, 7, base, u64::MAX, 1 << 63]
            .get(r as usize % 5)
            .copied()
            .unwrap(),
        7 if r.is_multiple_of(50) => r,
        7 => 0,
        8 => ((r % 200) as i64 - 100).cast_unsigned(),
        9 => float::<W>((r % 100_000) as f64 / 100.0 - 300.0),
        10 => float::<W>((r as f64).sqrt() + 1.0),
        _ => match r % 40 {
            0 => float::<W>(f64::NAN) | (r >> 60),
            1 => float::<W>(-0.0),
            2 => float::<W>(f64::NEG_INFINITY),
            3 => float::<W>(0.0),
            _ => float::<W>((r % 1000) as f64 / 10.0),
        },
    });
    words.map(W::truncate).collect()
}

/// Returns the bits of a float of the word's size.
fn float<W: Word>(value: f64) -> u64 {
    if W::BYTES == 4 {
        u64::from((value as f32).to_bits())
    } else {
        value.to_bits()
    }
}

/// Generates byte strings that suit one of the encodings. `fixed` is their length, if it is fixed.
pub(super) fn strings(rng: &mut StdRng, n: usize, fixed: Option<usize>) -> Vec<Vec<u8>> {
    let shape = rng.random_range(0..10);
    let longest = *[1usize, 12, 13, 40, 300]
        .get(rng.random_range(0..5))
        .unwrap();
    let one = |rng: &mut StdRng, seed: u64| -> Vec<u8> {
        let len = fixed.unwrap_or_else(|| match shape {
            2 => longest,
            _ => seed as usize % (longest + 1),
        });
        let line = |mut text: Vec<u8>| {
            if let Some(width) = fixed {
                text.resize(width, b'-');
            }
            text
        };
        match shape {
            8 if fixed.is_none() && !seed.is_multiple_of(6) => Vec::new(),
            9 => line(
                format!(
                    "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}, took {}",
                    seed % 10_000,
                    1 + (seed >> 16) % 12,
                    1 + (seed >> 20) % 29,
                    (seed >> 26) % 24,
                    (seed >> 32) % 60,
                    (seed >> 38) % 61,
                    (seed >> 44) % 1000,
                    seed >> 54
                )
                .into_bytes(),
            ),
            6 => {
                line(format!("GET /{} {:05} \"{:x}\"", seed % 9, seed % 70_000, seed).into_bytes())
            }
            7 if seed.is_multiple_of(90) => line(b"of another kind".to_vec()),
            7 => line(
                format!(
                    "{:032X}, id-{}, {:?}",
                    u128::from(seed) << 60,
                    seed % 5,
                    seed >> 20
                )
                .into_bytes(),
            ),
            0 | 1 => (0..len)
                .map(|i| (seed as u8).wrapping_mul(31).wrapping_add(i as u8))
                .collect(),
            2 => b"http://example.org/a/path/"
                .iter()
                .cycle()
                .skip(seed as usize % 5)
                .take(len)
                .copied()
                .collect(),
            _ => (0..len).map(|_| rng.random()).collect(),
        }
    };
    let constant = one(rng, 77);
    (0..n)
        .map(|_| {
            let seed: u64 = rng.random();
            match shape {
                0 => constant.clone(),
                1 => one(rng, seed % 10),
                _ => one(rng, seed),
            }
        })
        .collect()
}
