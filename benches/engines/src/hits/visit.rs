//! Visits: one user on one site, hit by hit.

use super::origin::{Campaign, Origin};
use super::site::Site;
use super::skew::{flag, pick, rare, tail, zipf};
use super::visitor::Visitor;
use super::web::Web;
use rand::Rng;
use rand::rngs::StdRng;
use std::sync::Arc;

const SOCIAL_ACTIONS: [(&str, &str); 3] = [
    ("vkontakte", "like"),
    ("facebook", "like"),
    ("twitter", "tweet"),
];

/// One row of the table.
pub(super) struct Hit {
    pub(super) visitor: Arc<Visitor>,
    pub(super) site: Arc<Site>,
    pub(super) origin: Arc<Origin>,
    /// Seconds since 1970.
    pub(super) time: i64,
    pub(super) watch_id: i64,
    pub(super) page_view: i32,
    pub(super) title: String,
    pub(super) url: String,
    pub(super) original_url: String,
    pub(super) parameters: String,
    pub(super) refresh: i16,
    pub(super) link: i16,
    pub(super) download: i16,
    pub(super) event: i16,
    pub(super) parameter: i16,
    pub(super) not_bounce: i16,
    pub(super) not_counted: i16,
    pub(super) with_hash: i16,
    pub(super) old_counter: i16,
    pub(super) artificial: i16,
    pub(super) color: &'static str,
    pub(super) history: i16,
    pub(super) error: i16,
    pub(super) address: i32,
    /// Width and height of the browser's window.
    pub(super) window: (i16, i16),
    pub(super) window_name: i32,
    pub(super) opener: i32,
    pub(super) referer_category: i16,
    pub(super) timings: Timings,
    pub(super) social: (&'static str, &'static str),
    pub(super) order: Option<Order>,
    pub(super) tag: &'static str,
    pub(super) client: i32,
}

/// How long a page took to load, in milliseconds.
#[derive(Default)]
pub(super) struct Timings {
    pub(super) send: i32,
    pub(super) dns: i32,
    pub(super) connect: i32,
    pub(super) response_start: i32,
    pub(super) response_end: i32,
    pub(super) fetch: i32,
}

/// Goods that the user bought.
pub(super) struct Order {
    pub(super) price: i64,
    pub(super) id: String,
}

impl Hit {
    /// Returns the campaign if it has Openstat's parameters.
    pub(super) fn openstat(&self) -> Option<&Campaign> {
        let campaign = self.origin.campaign.as_ref();
        campaign.filter(|campaign| campaign.openstat)
    }

    /// Returns the campaign if it has UTM's parameters.
    pub(super) fn utm(&self) -> Option<&Campaign> {
        let campaign = self.origin.campaign.as_ref();
        campaign.filter(|campaign| !campaign.openstat)
    }

    /// Returns the page of a social network that the user comes from, or an empty text.
    pub(super) fn social_page(&self) -> &str {
        if self.origin.social_network > 0 {
            &self.origin.referer
        } else {
            ""
        }
    }
}

/// A visit that is not over.
pub(super) struct Visit {
    visitor: Arc<Visitor>,
    site: Arc<Site>,
    /// The origin of the first page.
    arrival: Arc<Origin>,
    /// The origin of the current page.
    origin: Arc<Origin>,
    page: usize,
    url: String,
    hits: i16,
    address: i32,
    window: (i16, i16),
    window_name: i32,
}

impl Visit {
    pub(super) fn new(web: &Web, rng: &mut StdRng) -> Self {
        let visitor = web.visitor(rng);
        let site = web.site(rng);
        let arrival = Arc::new(Origin::of_visit(&site, &visitor, web, rng));
        let (width, height, _) = visitor.screen;
        Self {
            // Users with several addresses are rare.
            address: if rng.random_bool(0.1) {
                rng.random()
            } else {
                visitor.address
            },
            window: (
                width - zipf(width as usize / 2, rng) as i16,
                height - 60 - zipf(height as usize / 2, rng) as i16,
            ),
            window_name: if rng.random_bool(0.3) {
                rng.random()
            } else {
                -1
            },
            visitor: Arc::new(visitor),
            site: Arc::new(site),
            origin: arrival.clone(),
            arrival,
            page: 0,
            url: String::new(),
            hits: 0,
        }
    }

    /// Returns the next row of the visit.
    pub(super) fn hit(&mut self, time: i64, web: &Web, rng: &mut StdRng) -> Hit {
        let refresh = self.hits > 0 && rng.random_bool(0.12);
        if !refresh {
            self.open_page(web, rng);
        }
        self.hits = self.hits.saturating_add(1);
        let title = rng.random_bool(0.9);
        let original_url = rng.random_bool(0.05);
        let parameters = rng.random_bool(0.03);
        let order = rng.random_bool(0.001);
        let referer_category = if self.origin.referer.is_empty() {
            0
        } else {
            rare(0.3, 9000, rng)
        };
        Hit {
            time,
            watch_id: rng.random_range(1..i64::MAX),
            page_view: rng.random_range(1..i32::MAX),
            title: if title {
                self.site.title(self.page, &web.words)
            } else {
                String::new()
            },
            original_url: if original_url {
                format!("{}#{}", self.url, web.words.latin(self.page as u64 % 20))
            } else {
                String::new()
            },
            parameters: if parameters {
                format!(
                    "{{\"user\": \"{}\", \"step\": {}}}",
                    web.words.latin(self.page as u64 % 50),
                    self.hits
                )
            } else {
                String::new()
            },
            refresh: i16::from(refresh),
            link: flag(0.08, rng),
            download: flag(0.005, rng),
            event: flag(0.03, rng),
            parameter: flag(0.01, rng),
            not_bounce: flag(0.2, rng),
            not_counted: flag(0.02, rng),
            with_hash: i16::from(original_url),
            old_counter: flag(0.003, rng),
            artificial: flag(0.003, rng),
            color: pick(&["T", "5", "F", "g", "t"], rng),
            history: self.hits.saturating_add(zipf(40, rng) as i16),
            error: if rng.random_bool(0.002) { 404 } else { 0 },
            address: self.address,
            window: self.window,
            window_name: self.window_name,
            opener: if rng.random_bool(0.05) {
                rng.random()
            } else {
                -1
            },
            referer_category,
            timings: Timings::new(rng),
            social: if rng.random_bool(0.001) {
                pick(&SOCIAL_ACTIONS, rng)
            } else {
                ("", "")
            },
            order: order.then(|| Order {
                price: tail(100_000, 2, rng) as i64 * 100,
                id: format!("order-{}", rng.random_range(1..1_000_000)),
            }),
            tag: if rng.random_bool(0.004) {
                pick(&["partner", "rss", "mail"], rng)
            } else {
                ""
            },
            client: i32::from(rare(0.01, 3000, rng)),
            visitor: self.visitor.clone(),
            site: self.site.clone(),
            origin: self.origin.clone(),
            url: self.url.clone(),
        }
    }

    /// Opens the first page of the visit, or another one.
    fn open_page(&mut self, web: &Web, rng: &mut StdRng) {
        if self.hits > 0 {
            // Users who came from a search go back to it, and open another result.
            self.origin = if self.arrival.source == 2 && rng.random_bool(0.1) {
                self.arrival.clone()
            } else {
                Arc::new(Origin::of_next_page(&self.url, rng))
            };
        }
        self.page = if rng.random_bool(0.15) {
            0
        } else {
            1 + tail(self.site.pages, 3, rng)
        };
        self.url = self.site.url(self.page, &web.words);
        if let Some(campaign) = &self.origin.campaign {
            campaign.append(&mut self.url, rng);
        } else if self.page > 0 {
            match rng.random_range(0..100) {
                0..5 => self.url += &format!("?sid={:032x}", rng.random::<u128>()),
                5..15 => self.url += &format!("?page={}&sort=date", 1 + zipf(50, rng)),
                _ => {}
            }
        }
    }
}

impl Timings {
    /// Creates timings; most pages report none.
    fn new(rng: &mut StdRng) -> Self {
        if rng.random_bool(0.75) {
            return Self::default();
        }
        let mut time = |most: usize| tail(most, 4, rng) as i32;
        let (dns, connect, response_start) = (time(800), time(1500), time(5000));
        let response_end = response_start + time(3000);
        Self {
            send: time(500),
            dns,
            connect,
            response_start,
            response_end,
            fetch: response_end + time(20_000),
        }
    }
}
