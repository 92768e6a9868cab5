//! The words of texts, in Cyrillic letters, and of addresses, in Latin letters.

use super::skew::mix;

const WORDS: u64 = 4096;

const SYLLABLES: [(&str, &str); 24] = [
    ("ba", "ба"),
    ("ve", "ве"),
    ("go", "го"),
    ("di", "ди"),
    ("zu", "зу"),
    ("ka", "ка"),
    ("le", "ле"),
    ("mo", "мо"),
    ("ni", "ни"),
    ("pu", "пу"),
    ("ra", "ра"),
    ("se", "се"),
    ("to", "то"),
    ("fi", "фи"),
    ("shu", "шу"),
    ("cha", "ча"),
    ("le", "лэ"),
    ("nok", "нок"),
    ("vin", "вин"),
    ("rus", "рус"),
    ("tan", "тан"),
    ("mer", "мер"),
    ("lod", "лод"),
    ("sky", "ский"),
];

/// The words; the same in both alphabets.
pub(super) struct Words {
    cyrillic: Vec<String>,
    latin: Vec<String>,
}

impl Words {
    pub(super) fn new() -> Self {
        let words = (0..WORDS).map(|word| {
            let mut bits = mix(word);
            let syllables = (0..2 + bits % 3).map(|_| {
                bits /= 31;
                SYLLABLES[(bits % SYLLABLES.len() as u64) as usize]
            });
            syllables.unzip::<_, _, String, String>()
        });
        let (latin, cyrillic) = words.unzip();
        Self { cyrillic, latin }
    }

    /// Returns two to five words in Cyrillic letters, with spaces; the same for equal numbers.
    pub(super) fn text(&self, number: u64) -> String {
        join(&self.cyrillic, number, " ")
    }

    /// Returns the same words as [`text`](Self::text) in Latin letters.
    pub(super) fn slug(&self, number: u64, separator: &str) -> String {
        join(&self.latin, number, separator)
    }

    /// Returns one word in Latin letters.
    pub(super) fn latin(&self, number: u64) -> &str {
        &self.latin[(mix(number) % WORDS) as usize]
    }

    /// Returns the same word as [`latin`](Self::latin) in Cyrillic letters.
    pub(super) fn cyrillic(&self, number: u64) -> &str {
        &self.cyrillic[(mix(number) % WORDS) as usize]
    }
}

fn join(words: &[String], number: u64, separator: &str) -> String {
    let mut bits = mix(number);
    let count = 2 + bits % 4;
    let mut text = String::with_capacity(64);
    for place in 0..count {
        if place > 0 {
            text += separator;
        }
        bits = mix(bits);
        // The product of two uniform numbers: the first words are the most frequent ones.
        let word = (bits % WORDS) * ((bits >> 32) % WORDS) / WORDS;
        text += &words[word as usize];
    }
    text
}
