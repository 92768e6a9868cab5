//! Sites: their addresses, titles and counters.

use super::skew::mix;
use super::words::Words;

/// Number of sites; their hits follow Zipf's law.
pub(super) const SITES: usize = 6506;

/// Rank of the site that queries of one counter ask for. It has 0.8 % of the hits.
pub(super) const RANK_OF_QUERIES: usize = 12;
const COUNTER_OF_QUERIES: i32 = 62;

const CHARSETS: [&str; 5] = ["windows-1251", "utf-8", "windows-1251", "utf-8", "koi8-r"];
const SECTIONS: u64 = 12;

/// A site, the same for every seed.
pub(super) struct Site {
    /// The site with rank 0 has the most hits.
    rank: u64,
    pub(super) counter: i32,
    pub(super) counter_class: i16,
    pub(super) host: String,
    name: String,
    pub(super) charset: &'static str,
    pub(super) code_version: i32,
    pub(super) category: i16,
    pub(super) region: i32,
    /// Number of pages besides the home page.
    pub(super) pages: usize,
}

impl Site {
    /// Creates a site; the first one has about `pages` pages, the others have fewer.
    pub(super) fn new(rank: usize, pages: usize, words: &Words) -> Self {
        let bits = mix(!(rank as u64));
        let small = |shift: u32, n: u64| ((bits >> shift) % n) as i32;
        Self {
            rank: rank as u64,
            counter: if rank == RANK_OF_QUERIES {
                COUNTER_OF_QUERIES
            } else {
                small(0, 260_000) + 100
            },
            counter_class: small(20, 3) as i16 - 1,
            host: format!("{}-{}.example", words.latin(bits), words.latin(bits >> 8)),
            name: words.text(bits),
            charset: CHARSETS[small(24, CHARSETS.len() as u64) as usize],
            code_version: [291, 311, 1, 296][small(28, 4) as usize],
            category: if bits & 1 == 0 {
                0
            } else {
                small(32, 9000) as i16
            },
            region: if bits & 2 == 0 { 0 } else { small(36, 300) },
            pages: pages / (rank + 1) + 10,
        }
    }

    /// Returns the address of a page; 0 is the home page.
    pub(super) fn url(&self, page: usize, words: &Words) -> String {
        if page == 0 {
            return format!("http://{}/", self.host);
        }
        let number = self.number(page);
        format!(
            "http://{}/{}/{}/{}-{page}.html",
            self.host,
            words.latin(number % SECTIONS),
            words.latin(number % (SECTIONS * SECTIONS)),
            words.slug(number, "-"),
        )
    }

    /// Returns the title of a page. One title in 400 names Google, which a query looks for.
    pub(super) fn title(&self, page: usize, words: &Words) -> String {
        if page == 0 {
            return self.name.clone();
        }
        let number = self.number(page);
        let text = words.text(number);
        let section = words.cyrillic(number % SECTIONS);
        let google = if number.is_multiple_of(400) {
            " - Google"
        } else {
            ""
        };
        format!("{} - {section}: {text}{google}", self.name)
    }

    /// Returns a number of the page that no page of another site has.
    fn number(&self, page: usize) -> u64 {
        mix((self.rank << 32) + page as u64)
    }
}
