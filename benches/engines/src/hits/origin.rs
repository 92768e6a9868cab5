//! Origins of page views: searches, links, advertisements, or another page of the site.

use super::site::Site;
use super::skew::{pick, tail, zipf};
use super::visitor::Visitor;
use super::web::Web;
use rand::Rng;
use rand::rngs::StdRng;

/// Number of phrases that users may search for; most phrases of a small table occur once.
const PHRASES: usize = 10_000_000;

/// Values of `SearchEngineID`, and hosts.
const SEARCH_ENGINES: [(i16, &str); 6] = [
    (2, "www.yandex.example"),
    (3, "www.google.example"),
    (4, "go.mail.example"),
    (13, "nova.rambler.example"),
    (19, "search.bing.example"),
    (35, "search.qip.example"),
];
/// Values of `AdvEngineID`, and sources of campaigns.
const ADVERTISERS: [(i16, &str); 14] = [
    (2, "direct"),
    (27, "begun"),
    (13, "target"),
    (45, "market"),
    (44, "banner"),
    (3, "google"),
    (62, "aport"),
    (52, "price"),
    (50, "torg"),
    (28, "link"),
    (53, "wow"),
    (25, "mail"),
    (61, "shop"),
    (21, "nadavi"),
];
/// Values of `SocialSourceNetworkID`, and hosts.
const SOCIAL_NETWORKS: [(i16, &str); 3] = [
    (2, "vk.example"),
    (4, "ok.example"),
    (1, "facebook.example"),
];

/// Where the user comes from, for one hit or several.
#[derive(Default)]
pub(super) struct Origin {
    /// The value of `TraficSourceID`: -1 for another page of the site, 0 without a referrer, 1 for a link, 2 for a
    /// search, 3 for an advertisement, 6 for a page of the site that an earlier visit opened, 8 for a social network.
    pub(super) source: i16,
    pub(super) search_engine: i16,
    pub(super) adv_engine: i16,
    pub(super) social_network: i16,
    pub(super) phrase: String,
    pub(super) referer: String,
    pub(super) campaign: Option<Campaign>,
}

/// The parameters of an advertisement's link.
pub(super) struct Campaign {
    /// Whether the parameters are Openstat's, instead of UTM's.
    pub(super) openstat: bool,
    pub(super) source: &'static str,
    pub(super) name: String,
    pub(super) content: String,
    pub(super) term: String,
}

impl Origin {
    /// Chooses where a visit of a site begins.
    pub(super) fn of_visit(site: &Site, visitor: &Visitor, web: &Web, rng: &mut StdRng) -> Self {
        match rng.random_range(0..100) {
            0..46 => Self::search(visitor, web, rng),
            46..70 => Self::default(),
            70..87 => Self {
                source: 1,
                referer: web.page_of_any_site(rng),
                ..Self::default()
            },
            87..95 => Self {
                source: 6,
                referer: site.url(tail(site.pages, 3, rng), &web.words),
                ..Self::default()
            },
            95..98 => Self::advertisement(visitor, web, rng),
            _ => {
                let (social_network, host) = pick(&SOCIAL_NETWORKS, rng);
                Self {
                    source: 8,
                    social_network,
                    referer: format!("http://{host}/away?club{}", tail(1_000_000, 3, rng)),
                    ..Self::default()
                }
            }
        }
    }

    /// Returns the origin of a page view that follows another one of the same visit.
    pub(super) fn of_next_page(previous: &str, rng: &mut StdRng) -> Self {
        let sent = rng.random_bool(0.88);
        Self {
            source: -1,
            referer: if sent {
                previous.to_owned()
            } else {
                String::new()
            },
            ..Self::default()
        }
    }

    fn search(visitor: &Visitor, web: &Web, rng: &mut StdRng) -> Self {
        let (search_engine, host) = pick(&SEARCH_ENGINES, rng);
        let number = tail(PHRASES, 3, rng) as u64;
        Self {
            source: 2,
            search_engine,
            phrase: web.words.text(number),
            referer: format!(
                "http://{host}/search?text={}&lr={}&p={}&clid={}",
                web.words.slug(number, "+"),
                visitor.region,
                zipf(10, rng),
                zipf(1000, rng)
            ),
            ..Self::default()
        }
    }

    fn advertisement(visitor: &Visitor, web: &Web, rng: &mut StdRng) -> Self {
        let (adv_engine, source) = pick(&ADVERTISERS, rng);
        let from = if rng.random_bool(0.5) {
            Self::search(visitor, web, rng)
        } else {
            Self {
                referer: web.page_of_any_site(rng),
                ..Self::default()
            }
        };
        let campaign = rng.random_bool(0.6).then(|| Campaign {
            openstat: rng.random_bool(0.2),
            source,
            name: web.words.slug(zipf(5000, rng) as u64, "_"),
            content: format!("v1|{}", rng.random_range(100_000..10_000_000)),
            term: web.words.slug(zipf(50_000, rng) as u64, "+"),
        });
        Self {
            source: 3,
            adv_engine,
            campaign,
            ..from
        }
    }
}

impl Campaign {
    /// Appends the parameters to the address of a page.
    pub(super) fn append(&self, url: &mut String, rng: &mut StdRng) {
        let Self {
            source,
            name,
            content,
            term,
            ..
        } = self;
        let query = if self.openstat {
            format!("?_openstat={source};{name};{content};{term}")
        } else {
            format!(
                "?utm_source={source}&utm_medium=cpc&utm_campaign={name}&utm_content={content}&utm_term={term}"
            )
        };
        *url += &query;
        if *source == "google" && rng.random_bool(0.5) {
            *url += "&ref=www.google.example";
        }
    }
}
