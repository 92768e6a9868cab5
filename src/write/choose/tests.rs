//! Tests of the choice of encodings for known kinds of values.

use super::settings::test_settings as settings;
use super::*;

fn chosen<W: Word>(values: &[W], profile: Profile) -> Plan {
    numbers(values, NumberKind::Unsigned, &settings(profile)).plan
}

fn chosen_for_text(lines: impl Iterator<Item = String>, profile: Profile) -> bytes::Plan {
    let (mut offsets, mut values) = (vec![0u64], Vec::new());
    for line in lines {
        values.extend_from_slice(line.as_bytes());
        offsets.push(values.len() as u64);
    }
    let block = bytes::Input::variable(&offsets, &values, None);
    let sample = ByteSample {
        block,
        window: block,
    };
    byte_strings(sample, &mut <_>::default(), &settings(profile))
        .unwrap()
        .plan
}

#[test]
fn text_gets_the_encoding_that_suits_it() {
    let noise = |i: u64| u64::from(crate::format::checksum(&i.to_le_bytes()));
    let words: Vec<&str> = "furiously quickly carefully slyly blithely foxes ideas pinto beans \
        instructions packages requests accounts deposits sleep wake are cajole haggle nag use \
        boost affix detect integrate special pending unusual express regular final ironic even \
        bold silent about above according to across after against along among around"
        .split_whitespace()
        .collect();
    let comment = |i: u64| -> String {
        (0..5)
            .map(|k| {
                words[usize::try_from(noise(5 * i + k)).unwrap() % words.len()].to_owned() + " "
            })
            .collect()
    };
    let hex = move |i: u64| format!("{:08x}-{:08x}", noise(2 * i), noise(2 * i + 1));
    let same = |_| "the same line, again and again".to_owned();
    // Text without long repetitions: LZ4 saves little.
    let fsst = |plan| matches!(plan, bytes::Plan::FsstValues { .. });
    assert!(fsst(chosen_for_text(
        (0..4000).map(comment),
        Profile::Balanced
    )));
    // Two numbers of four bytes take less than codes for each pair of digits.
    let numbers = chosen_for_text((0..4000).map(hex), Profile::Balanced);
    assert!(matches!(numbers, bytes::Plan::Digits { .. }), "{numbers}");
    let some_words = |i: u64| comment(i)[usize::try_from(noise(i) % 15).unwrap()..].to_owned();
    let high = chosen_for_text((0..4000).map(some_words), Profile::HighCompression);
    assert!(matches!(high, bytes::Plan::Zstd { .. }), "{high}");
    let lines = (0..4000).map(|i| format!("connection {i} closed by the remote host (timeout)"));
    let lines = chosen_for_text(lines, Profile::Balanced);
    let is_lz4 = |plan: &bytes::Plan| matches!(plan, bytes::Plan::Lz4 { .. });
    assert!(
        matches!(&lines, bytes::Plan::Digits { pco: None, otherwise } if is_lz4(otherwise)),
        "{lines}"
    );
    for profile in [Profile::HighCompression, Profile::MinimalSize] {
        let level = levels(profile).1;
        let lines = (0..4000).map(|i| format!("connection {} closed ({i})", noise(i) % 90_000));
        let lines = chosen_for_text(lines, profile);
        assert!(
            matches!(&lines, bytes::Plan::Digits { pco, .. } if *pco == Some(level)),
            "{profile:?}: {lines}"
        );
    }
    let same = chosen_for_text((0..4000).map(same), Profile::Balanced);
    assert_eq!(same, bytes::Plan::SingleValue);
}

#[test]
fn runs_and_exceptions_among_equal_numbers_are_stored_as_such() {
    let noise = |i: u64| u64::from(crate::format::checksum(&i.to_le_bytes()));
    let runs: Vec<u64> = (0..65_536).map(|i| noise(i / 20) % 365).collect();
    let plan = chosen(&runs, Profile::Balanced);
    let compact = || Some(Box::new(Plan::CompactFfor));
    let want = Plan::RunLength {
        values: compact(),
        lengths: compact(),
    };
    assert_eq!(plan, want);
    let mostly = |value: u64| -> Vec<u64> {
        let one = |i| {
            if noise(i).is_multiple_of(20) {
                noise(i) % 99_991
            } else {
                value
            }
        };
        (0..65_536).map(one).collect()
    };
    let sparse = |plan: &Plan| matches!(plan, Plan::Sparse { .. });
    let plan = chosen(&mostly(0), Profile::Balanced);
    assert!(sparse(&plan), "{plan}");
    let plan = chosen(&mostly(255), Profile::Balanced);
    assert!(
        matches!(&plan, Plan::For { deltas } if sparse(deltas)),
        "{plan}"
    );
}

#[test]
fn multiples_of_a_number_are_stored_as_quotients() {
    let noise = |i: u64| u64::from(crate::format::checksum(&i.to_le_bytes()));
    // Seconds with a jitter, in microseconds.
    let times = (0..65_536u64).map(|i| 1_700_000_000_000_000 + (2 * i + noise(i) % 3) * 1_000_000);
    let plan = chosen(&times.collect::<Vec<_>>(), Profile::Balanced);
    let steps = |plan: &Plan| matches!(plan, Plan::Delta { .. } | Plan::Ffor | Plan::PatchedFfor);
    assert!(
        matches!(&plan, Plan::Multiples { quotients } if steps(quotients)),
        "{plan}"
    );
    let rounded: Vec<u64> = (0..65_536).map(|i| noise(i) % 50_000 * 100).collect();
    let plan = chosen(&rounded, Profile::Balanced);
    let quotients = Box::new(Plan::Ffor);
    assert_eq!(plan, Plan::Multiples { quotients });
    let others: Vec<u64> = (0..65_536)
        .map(|i| noise(i) % 50_000 * 100 + i % 2)
        .collect();
    let plan = chosen(&others, Profile::Balanced);
    assert!(!matches!(plan, Plan::Multiples { .. }), "{plan}");
}

#[test]
fn integers_of_16_bytes_are_cut_in_two_and_other_values_are_not() {
    let values: Vec<u8> = (0..8192i128)
        .flat_map(|i| ((i * 7_368_787 % (1 << 40)) - (1 << 38)).to_le_bytes())
        .collect();
    let block = bytes::Input::fixed(16, 8192, &values, None);
    let sample = ByteSample {
        block,
        window: block,
    };
    let choose = |profile, wide_integers, wire: crate::format::Wire| {
        let settings = Settings {
            wide_integers,
            capabilities: wire.capabilities(),
            ..settings(profile)
        };
        byte_strings(sample, &mut <_>::default(), &settings)
            .unwrap()
            .plan
    };
    use crate::format::Wire::{Reference, Spec};
    let split = |plan| matches!(plan, bytes::Plan::Split128 { .. });
    for profile in [
        Profile::Fast,
        Profile::Balanced,
        Profile::HighCompression,
        Profile::MinimalSize,
    ] {
        assert!(split(choose(profile, true, Spec)), "{profile:?}");
        assert!(!split(choose(profile, false, Spec)), "{profile:?}");
        assert!(!split(choose(profile, true, Reference)), "{profile:?}");
    }
    assert_eq!(choose(Profile::Plain, true, Spec), bytes::Plan::Plain);
}

#[test]
fn data_get_the_encoding_that_suits_them() {
    let narrow: Vec<u64> = (0..65_536).map(|i| 1_000_000 + i * 7919 % 1000).collect();
    assert_eq!(chosen(&narrow, Profile::Balanced), Plan::Ffor);
    let same = vec![7u64; 65_536];
    assert_eq!(chosen(&same, Profile::Balanced), Plan::SingleValue);
    let runs: Vec<u64> = (0..65_536u64)
        .map(|i| (i / 500).wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .collect();
    assert!(matches!(
        chosen(&runs, Profile::Balanced),
        Plan::RunLength { .. }
    ));
    let noise: Vec<u64> = (0..65_536u64)
        .map(|i| crate::format::checksum(&i.to_le_bytes()).into())
        .map(|h: u64| h.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .collect();
    assert_eq!(chosen(&noise, Profile::Balanced), Plan::Plain);
    assert_eq!(chosen(&narrow, Profile::Plain), Plan::Plain);
}

#[test]
fn high_compression_spends_time_where_it_saves_much() {
    let below = |most: u32| -> Vec<u32> {
        let noise = (0..65_536u64).map(|i| crate::format::checksum(&i.to_le_bytes()));
        noise.map(|h| h % most).collect()
    };
    // Small numbers are likely, so that 12 bits are many.
    let uneven: Vec<u32> = (0..12)
        .cycle()
        .zip(below(4096))
        .map(|(shift, v)| v >> shift)
        .collect();
    let plan = chosen(&uneven, Profile::HighCompression);
    assert!(matches!(plan, Plan::Pco { .. }), "{plan}");
    assert_eq!(chosen(&below(2048), Profile::HighCompression), Plan::Ffor);
    assert_eq!(chosen(&uneven, Profile::Balanced), Plan::Ffor);
}
