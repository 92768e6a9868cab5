//! The users and sites of a table.

use super::site::{SITES, Site};
use super::skew::{tail, zipf};
use super::visitor::Visitor;
use super::words::Words;
use rand::rngs::StdRng;

/// The users and sites.
pub(super) struct Web {
    pub(super) words: Words,
    seed: u64,
    users: usize,
    /// Pages of the largest site.
    pages: usize,
}

impl Web {
    /// Creates the users and sites of a table of `rows` rows.
    pub(super) fn new(rows: usize, seed: u64) -> Self {
        Self {
            words: Words::new(),
            seed,
            // More than half of them have no hit. About one hit in seven is the first of its user.
            users: rows / 3 + 1,
            // Large enough that about a fifth of the rows have an address that no earlier row has.
            pages: rows / 100,
        }
    }

    pub(super) fn visitor(&self, rng: &mut StdRng) -> Visitor {
        Visitor::new(tail(self.users, 2, rng), self.seed)
    }

    pub(super) fn site(&self, rng: &mut StdRng) -> Site {
        Site::new(zipf(SITES, rng), self.pages, &self.words)
    }

    /// Returns the address of a page of any site.
    pub(super) fn page_of_any_site(&self, rng: &mut StdRng) -> String {
        let site = self.site(rng);
        site.url(tail(site.pages, 3, rng), &self.words)
    }
}
