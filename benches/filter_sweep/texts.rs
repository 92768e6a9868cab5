//! Texts of the table.

use rand::Rng;
use rand::rngs::SmallRng;

/// Number of different words.
pub(crate) const WORDS: usize = 200;

const SYLLABLES: [&str; 16] = [
    "ba", "den", "fru", "gost", "hi", "jul", "kra", "lon", "me", "nor", "pi", "quin", "rost", "su",
    "tam", "vel",
];

/// Returns one of the words. Some of them are longer than the 12 bytes that a view holds.
pub(crate) fn word(ordinal: usize) -> String {
    let syllable = |place: usize| SYLLABLES[(ordinal >> place) % SYLLABLES.len()];
    let tail = syllable(2).repeat(ordinal % 4);
    format!("{}{}{tail}", syllable(0), syllable(4))
}

pub(crate) fn random_word(random: &mut SmallRng) -> String {
    word(random.random_range(0..WORDS))
}

/// Returns an address that occurs once, as texts that compress well but have no dictionary.
pub(crate) fn address(scheme: &str, random: &mut SmallRng) -> String {
    let (host, page, id) = (
        random_word(random),
        random_word(random),
        random.random::<u32>(),
    );
    format!("{scheme}://{host}.org/{page}?id={id:08x}")
}

/// Returns a phrase of one word or more; long ones are rare.
pub(crate) fn phrase(random: &mut SmallRng) -> String {
    let more = random.random::<u32>().trailing_zeros();
    let mut phrase = random_word(random);
    for _ in 0..more {
        phrase.push(' ');
        phrase.push_str(&random_word(random));
    }
    phrase
}
