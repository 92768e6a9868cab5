//! Users: their browsers, screens and places.

use super::skew::{flag, mix, pick, rare, zipf};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const REGIONS: usize = 9040;
const MODELS: usize = 166;
/// Width, height and depth in bits.
const SCREENS: [(i16, i16, i16); 10] = [
    (1366, 768, 32),
    (1920, 1080, 24),
    (1280, 1024, 32),
    (1600, 900, 24),
    (1680, 1050, 32),
    (1280, 800, 24),
    (1024, 768, 32),
    (1440, 900, 24),
    (2560, 1440, 24),
    (800, 600, 16),
];
const PHONE_SCREENS: [(i16, i16, i16); 4] = [
    (768, 1024, 32),
    (320, 480, 32),
    (480, 800, 16),
    (1280, 720, 32),
];
const SYSTEMS: [i16; 8] = [44, 15, 3, 43, 73, 107, 35, 6];
const BROWSERS: [i16; 9] = [7, 2, 3, 5, 42, 6, 82, 1, 50];
const BROWSER_VERSIONS: [&str; 7] = ["0", "12", "2", "15.1", "D", "4.5", ""];
const FLASH_VERSIONS: [&str; 6] = ["700", "202", "", "224", "270", "94"];
const MODEL_SERIES: [&str; 5] = ["GT-", "LT", "A", "Lumia ", "Desire "];
/// Minutes before UTC.
const TIME_ZONES: [i16; 10] = [-240, -180, -360, -300, -420, -480, -120, -60, 0, 300];
const LANGUAGES: [(&str, &str); 7] = [
    ("ru", "RU"),
    ("ru", "UA"),
    ("uk", "UA"),
    ("en", "US"),
    ("ru", "KZ"),
    ("ru", "BY"),
    ("tr", "TR"),
];

/// Values that all hits of a user share.
pub(super) struct Visitor {
    pub(super) user_id: i64,
    /// 0 for most users.
    pub(super) unique_id: i64,
    pub(super) address: i32,
    pub(super) network: i32,
    pub(super) region: i32,
    pub(super) system: i16,
    pub(super) browser: i16,
    pub(super) browser_major: i16,
    pub(super) browser_minor: &'static str,
    pub(super) java: i16,
    pub(super) cookies: i16,
    pub(super) screen: (i16, i16, i16),
    pub(super) flash: (i16, i16, &'static str),
    pub(super) net: (i16, i16),
    pub(super) silverlight: (i16, i16, i32, i16),
    pub(super) mobile: i16,
    pub(super) phone: i16,
    pub(super) phone_model: String,
    pub(super) time_zone: i16,
    /// Seconds that the user's clock is fast.
    pub(super) clock_error: i64,
    pub(super) age: i16,
    pub(super) sex: i16,
    pub(super) income: i16,
    pub(super) interests: i16,
    pub(super) robotness: i16,
    pub(super) language: (&'static str, &'static str),
}

/// Returns the value of `UserID`, the same for every seed, so that a query can ask for a user.
pub(super) fn user_id(user: usize) -> i64 {
    (mix(user as u64) >> 1) as i64
}

impl Visitor {
    pub(super) fn new(user: usize, seed: u64) -> Self {
        let rng = &mut StdRng::seed_from_u64(mix(seed) ^ mix(user as u64));
        let mobile = rng.random_bool(0.07);
        let (phone, phone_model) = if mobile {
            phone(rng)
        } else {
            (0, String::new())
        };
        let address: i32 = rng.random();
        let flash = rng.random_bool(0.85) && !mobile;
        let silverlight = rng.random_bool(0.2) && !mobile;
        let known = rng.random_bool(0.4);
        Self {
            user_id: user_id(user),
            unique_id: if rng.random_bool(0.3) {
                rng.random_range(1..i64::MAX)
            } else {
                0
            },
            address,
            network: address.unsigned_abs() as i32 >> 11,
            // 9043 is prime, so every rank has its region.
            region: (zipf(REGIONS, rng) as i32 + 1) * 229 % 9043,
            system: pick(&SYSTEMS, rng),
            browser: pick(&BROWSERS, rng),
            browser_major: zipf(30, rng) as i16 + 1,
            browser_minor: pick(&BROWSER_VERSIONS, rng),
            java: flag(0.7, rng),
            cookies: flag(0.995, rng),
            screen: if mobile {
                pick(&PHONE_SCREENS, rng)
            } else {
                pick(&SCREENS, rng)
            },
            flash: if flash {
                (
                    11 - zipf(6, rng) as i16,
                    zipf(8, rng) as i16,
                    pick(&FLASH_VERSIONS, rng),
                )
            } else {
                (0, 0, "")
            },
            net: if rng.random_bool(0.2) {
                (pick(&[3, 2, 4], rng), pick(&[5, 0], rng))
            } else {
                (0, 0)
            },
            silverlight: if silverlight {
                let builds = [20125, 10411, 60531, 50918];
                (5, pick(&[1, 0], rng), pick(&builds, rng), 0)
            } else {
                (0, 0, 0, 0)
            },
            mobile: i16::from(mobile),
            phone,
            phone_model,
            time_zone: pick(&TIME_ZONES, rng),
            clock_error: if rng.random_bool(0.1) {
                rng.random_range(-7200..7200)
            } else {
                rng.random_range(-3..3)
            },
            age: if known { rng.random_range(1..7) * 9 } else { 0 },
            sex: if known { rng.random_range(1..3) } else { 0 },
            income: if known { rng.random_range(1..4) } else { 0 },
            interests: if known {
                rng.random_range(1..16_000)
            } else {
                0
            },
            robotness: rare(0.01, 5, rng),
            language: pick(&LANGUAGES, rng),
        }
    }
}

/// Returns the maker and the model of a phone. Some phones do not tell their model.
fn phone(rng: &mut StdRng) -> (i16, String) {
    let model = match zipf(MODELS, rng) {
        0 => "iPad".to_owned(),
        1 => "iPhone".to_owned(),
        rank => format!(
            "{}{}",
            MODEL_SERIES[rank % MODEL_SERIES.len()],
            100 + rank * 10
        ),
    };
    let maker = zipf(44, rng) as i16 + 1;
    if rng.random_bool(0.15) {
        (maker, String::new())
    } else {
        (maker, model)
    }
}
