//! The measured cases: data that suits each encoding.

use arrow_shard::encoding::bytes;
use arrow_shard::encoding::number::Plan;
use arrow_shard::encoding::{NumberKind, Word};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Values of a block, the default of a writer.
pub(crate) const VALUES: usize = 8192;
/// Values of a block of text: blocks of text are limited by bytes.
const LINES: usize = 2048;

/// A block of numbers to encode.
pub(crate) struct Numbers<W> {
    /// A description of the values.
    pub(crate) about: String,
    pub(crate) kind: NumberKind,
    pub(crate) plan: Plan,
    pub(crate) values: Vec<W>,
}

/// A block of byte strings to encode.
pub(crate) struct Strings {
    pub(crate) about: &'static str,
    pub(crate) plan: bytes::Plan,
    /// Offsets of the values, beginning with 0; empty if all values have 16 bytes.
    pub(crate) offsets: Vec<u64>,
    pub(crate) values: Vec<u8>,
}

fn boxed(plan: Plan) -> Box<Plan> {
    Box::new(plan)
}

fn delta(differences: Plan) -> Plan {
    Plan::Delta {
        differences: boxed(differences),
    }
}

/// Returns a random integer of `width` bits.
fn noise(rng: &mut StdRng, width: u32) -> u64 {
    rng.random::<u64>() >> (64 - width)
}

fn values<W: Word>(mut next: impl FnMut() -> u64) -> Vec<W> {
    (0..VALUES).map(|_| W::truncate(next())).collect()
}

/// Returns integers of one size, with every encoding for integers.
pub(crate) fn integers<W: Word>() -> Vec<Numbers<W>> {
    let mut cases = packed();
    cases.extend(nested());
    cases
}

/// Returns the cases of packed integers.
fn packed<W: Word>() -> Vec<Numbers<W>> {
    let rng = &mut StdRng::seed_from_u64(1);
    let widths = if W::BITS == 32 {
        [5, 13, 24]
    } else {
        [8, 21, 40]
    };
    let mut cases = Vec::new();
    for width in widths {
        cases.push(Numbers {
            about: format!("{width} bits"),
            kind: NumberKind::Unsigned,
            plan: Plan::FlBitPack,
            values: values(|| noise(rng, width)),
        });
    }
    for width in widths {
        cases.push(Numbers {
            about: format!("{width} bits from -1,000 on"),
            kind: NumberKind::Signed,
            plan: Plan::Ffor,
            values: values(|| noise(rng, width).wrapping_sub(1000)),
        });
    }
    for width in [2, 8, 13] {
        let mut sum = 0;
        cases.push(Numbers {
            about: format!("ascending by {width} bits"),
            kind: NumberKind::Signed,
            plan: delta(Plan::Ffor),
            values: values(|| {
                sum += noise(rng, width);
                sum
            }),
        });
    }
    cases
}

/// Returns the cases of compression, and of encodings on top of packed integers.
fn nested<W: Word>() -> Vec<Numbers<W>> {
    use NumberKind::{Signed, Unsigned};
    let mut rng = StdRng::seed_from_u64(2);
    let ffor = || Some(boxed(Plan::Ffor));
    let mut cases = Vec::new();
    let mut add = |about: &str, kind, plan, values| {
        cases.push(Numbers {
            about: about.to_owned(),
            kind,
            plan,
            values,
        });
    };
    let all_bits = values(|| noise(&mut rng, W::BITS));
    add("all bits", Unsigned, Plan::Plain, all_bits);
    add("one value", Unsigned, Plan::SingleValue, values(|| 77));
    let plan = Plan::For {
        deltas: boxed(Plan::FlBitPack),
    };
    let base = values(|| 1_000_000 + noise(&mut rng, 13));
    add("13 bits from 1,000,000 on", Unsigned, plan, base);
    let (mut value, mut left) = (0, 0);
    let runs = values(|| {
        if left == 0 {
            (value, left) = (noise(&mut rng, 9), rng.random_range(1..=39));
        }
        left -= 1;
        value
    });
    let plan = Plan::RunLength {
        values: ffor(),
        lengths: Some(boxed(Plan::FlBitPack)),
    };
    add("runs of 20", Unsigned, plan, runs);
    let entries: Vec<u64> = (0..200).map(|_| noise(&mut rng, W::BITS)).collect();
    let plan = Plan::BlockDictionary {
        codes: boxed(Plan::FlBitPack),
        values: None,
    };
    let few = values(|| entries[rng.random_range(0..entries.len())]);
    add("200 distinct values", Unsigned, plan, few);
    let plan = Plan::Sparse {
        positions: Some(boxed(delta(Plan::Ffor))),
        values: ffor(),
    };
    let sparse = values(|| match rng.random_range(0..32) {
        0 => 1 + noise(&mut rng, 13),
        _ => 0,
    });
    add("0, but one of 32", Unsigned, plan, sparse);
    let plan = Plan::ZigZag {
        values: boxed(Plan::FlBitPack),
    };
    let small = values(|| noise(&mut rng, 13).wrapping_sub(4096));
    add("13 bits, half of them negative", Signed, plan, small);
    let plan = Plan::Truncate { values: None };
    let short = values(|| noise(&mut rng, 16).wrapping_sub(32_768));
    add("16 bits, half of them negative", Signed, plan, short);
    let outliers = values(|| match rng.random_range(0..100) {
        0 => noise(&mut rng, W::BITS),
        _ => noise(&mut rng, 9),
    });
    let plan = Plan::PatchedFfor;
    add("9 bits, but one of 100", Unsigned, plan, outliers);
    let few = values(|| 1_000_000 + noise(&mut rng, 9));
    add("9 bits from 1,000,000 on", Unsigned, Plan::CompactFfor, few);
    let plan = Plan::Multiples {
        quotients: boxed(Plan::Ffor),
    };
    let multiples = values(|| 7 + 1000 * noise(&mut rng, 5));
    add("multiples of 1000", Unsigned, plan, multiples);
    let plan = Plan::Pco { level: 8 };
    let skewed = values(|| noise(&mut rng, 20) >> rng.random_range(0..20));
    add("up to 20 bits, skewed", Unsigned, plan, skewed);
    let phrases: Vec<[u64; 8]> = (0..64)
        .map(|_| std::array::from_fn(|_| noise(&mut rng, 20)))
        .collect();
    let (mut phrase, mut at) = ([0; 8], 8);
    let phrased: Vec<W> = values(|| {
        if at == phrase.len() {
            (phrase, at) = (phrases[rng.random_range(0..phrases.len())], 0);
        }
        at += 1;
        phrase[at - 1]
    });
    let plan = Plan::Zstd { level: 3 };
    add("64 phrases of 8 values", Unsigned, plan, phrased.clone());
    add("64 phrases of 8 values", Unsigned, Plan::Lz4, phrased);
    cases
}

/// Returns floats of one size; `bits` converts a number to the bits of that size.
pub(crate) fn floats<W: Word>(bits: impl Fn(f64) -> u64) -> Vec<Numbers<W>> {
    let mut rng = StdRng::seed_from_u64(3);
    let kind = NumberKind::Float;
    let add = |about: &str, plan, values| Numbers {
        about: about.to_owned(),
        kind,
        plan,
        values,
    };
    let decimals: Vec<W> = values(|| bits(noise(&mut rng, 10) as f64 / 10.0));
    let uniform = values(|| bits(rng.random::<f64>()));
    let alp = Plan::Alp {
        integers: boxed(Plan::Ffor),
    };
    let alp_rd = Plan::AlpRd {
        left: boxed(Plan::FlBitPack),
        right: boxed(Plan::FlBitPack),
    };
    vec![
        add("10 bits of tenths", alp, decimals.clone()),
        add("between 0 and 1", alp_rd, uniform),
        add("10 bits of tenths", Plan::Pco { level: 8 }, decimals),
    ]
}

/// Returns byte strings, with every encoding for byte strings.
pub(crate) fn strings() -> Vec<Strings> {
    let mut rng = StdRng::seed_from_u64(4);
    let lines: Vec<String> = (0..LINES).map(|_| line(&mut rng)).collect();
    let words = [
        "GET",
        "POST",
        "DELETE",
        "a value of some length",
        "http://example.org/index.html",
    ];
    let words: Vec<&str> = (0..VALUES)
        .map(|_| words[rng.random_range(0..words.len())])
        .collect();
    let one = vec!["http://example.org/index.html"; VALUES];
    let offsets = || Some(delta(Plan::FlBitPack));
    let zstd = bytes::Plan::Zstd {
        level: 3,
        offsets: offsets(),
    };
    let dictionary = bytes::Plan::BlockDictionary {
        codes: Plan::FlBitPack,
        lengths: None,
    };
    let digits = bytes::Plan::digits(bytes::Plan::Plain);
    let non_empty = bytes::Plan::NonEmpty {
        texts: Box::new(bytes::Plan::fsst_values(Plan::Ffor)),
    };
    let clock = |i| {
        let second = i / 20;
        let [hour, minute] = [second / 3600, second / 60 % 60];
        format!(
            "2024-02-29T{hour:02}:{minute:02}:{:02}.{:03}Z",
            second % 60,
            i % 20 * 50
        )
    };
    let times: Vec<String> = (0..VALUES).map(clock).collect();
    let one_in_eight = |(i, line)| if i % 8 == 0 { line } else { "" };
    let few: Vec<&str> = (0..)
        .zip(lines.iter().map(String::as_str))
        .map(one_in_eight)
        .collect();
    let log = "lines of a log";
    let mut cases = vec![
        variable(log, bytes::Plan::Plain, &lines),
        variable("one value", bytes::Plan::SingleValue, &one),
        variable("5 distinct values", dictionary, &words),
        variable(log, bytes::Plan::fsst(offsets()), &lines),
        variable(log, bytes::Plan::fsst_values(Plan::Ffor), &lines),
        variable(log, digits.clone(), &lines),
        variable("times of a log", digits, &times),
        variable("one line of a log in eight values", non_empty, &few),
        variable(log, zstd, &lines),
        variable(log, bytes::Plan::Lz4 { offsets: offsets() }, &lines),
    ];
    let decimal = |i: usize| {
        let number = i128::from(noise(&mut rng, 40));
        if i.is_multiple_of(10) {
            -number
        } else {
            number
        }
    };
    cases.push(Strings {
        about: "decimals of 40 bits",
        plan: bytes::Plan::Split128 {
            high: Plan::SingleValue,
            low: Plan::Ffor,
        },
        offsets: Vec::new(),
        values: (0..VALUES)
            .map(decimal)
            .flat_map(i128::to_le_bytes)
            .collect(),
    });
    cases
}

fn variable<S: AsRef<str>>(about: &'static str, plan: bytes::Plan, strings: &[S]) -> Strings {
    let (mut offsets, mut values) = (vec![0], Vec::new());
    for string in strings {
        values.extend_from_slice(string.as_ref().as_bytes());
        offsets.push(values.len() as u64);
    }
    Strings {
        about,
        plan,
        offsets,
        values,
    }
}

/// Returns a line as in the log of a cluster.
fn line(rng: &mut StdRng) -> String {
    let block = noise(rng, 63);
    let (subnet, host) = (rng.random_range(0..256), rng.random_range(0..256));
    match rng.random_range(0..3) {
        0 => format!(
            "PacketResponder {} for block blk_{block} terminating",
            host % 3
        ),
        1 => format!(
            "BLOCK* NameSystem.addStoredBlock: blockMap updated: 10.250.{subnet}.{host}:50010 is \
             added to blk_{block} size 67108864"
        ),
        _ => format!("Receiving block blk_-{block} src: /10.251.{subnet}.{host}:50010"),
    }
}
