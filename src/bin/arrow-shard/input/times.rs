//! Dates and times in text.

use arrow_array::timezone::Tz;
use arrow_array::types::Date32Type;
use arrow_cast::parse::{Parser, string_to_datetime};
use arrow_schema::TimeUnit;
use std::sync::LazyLock;

/// A date or a time.
pub(super) struct Time {
    pub(super) kind: Kind,
    /// Whether the time is out of the range of nanoseconds.
    pub(super) is_far: bool,
}

pub(super) enum Kind {
    Date,
    Local(TimeUnit),
    Zoned(TimeUnit),
}

static UTC: LazyLock<Option<Tz>> = LazyLock::new(|| "UTC".parse().ok());

/// A time, in UTC unless it has another zone.
pub(super) struct Instant {
    /// Whole seconds since 1970-01-01.
    seconds: i64,
    /// Nanoseconds since then. A leap second has more than a billion.
    nanos: u32,
}

impl Instant {
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(time) = Self::usual(text.as_bytes()) {
            return Some(time);
        }
        let time = string_to_datetime(UTC.as_ref()?, text).ok()?;
        Some(Self {
            seconds: time.timestamp(),
            nanos: time.timestamp_subsec_nanos(),
        })
    }

    /// Parses a text such as `2026-11-30 12:00:00.5` or `2026-11-30T12:00:00Z`. Returns `None` for other texts, which
    /// may be times.
    fn usual(text: &[u8]) -> Option<Self> {
        let (whole, rest) = text.split_first_chunk::<19>()?;
        let digits = |at: &[usize]| {
            at.iter().try_fold(0, |number, at| {
                let digit = whole.get(*at)?.wrapping_sub(b'0');
                (digit <= 9).then_some(number * 10 + i64::from(digit))
            })
        };
        let (year, month, day) = (digits(&[0, 1, 2, 3])?, digits(&[5, 6])?, digits(&[8, 9])?);
        let (hour, minute, second) = (digits(&[11, 12])?, digits(&[14, 15])?, digits(&[17, 18])?);
        let separators = [4, 7, 10, 13, 16].map(|at| whole.get(at).copied().unwrap_or_default());
        let is_usual = matches!(separators, [b'-', b'-', b'T' | b' ', b':', b':'])
            && (1..=12).contains(&month)
            // Other days may not exist.
            && (1..=28).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        let fraction = rest.strip_suffix(b"Z").unwrap_or(rest);
        let nanos = match fraction {
            [] => 0,
            [b'.', digits @ ..] if (1..=9).contains(&digits.len()) => {
                (0..9).try_fold(0, |number, i| {
                    let digit = digits.get(i).map_or(0, |digit| digit.wrapping_sub(b'0'));
                    (digit <= 9).then_some(number * 10 + u32::from(digit))
                })?
            }
            _ => return None,
        };
        // Years begin in March here, so that the leap day is the last day of a year.
        let (year, month) = if month < 3 {
            (year - 1, month + 9)
        } else {
            (year, month - 3)
        };
        let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        let days = year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - DAYS_BEFORE_1970;
        let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
        is_usual.then_some(Self { seconds, nanos })
    }

    /// Returns the number of whole units since 1970-01-01; `None` if it is out of range.
    pub(super) fn units(&self, unit: TimeUnit) -> Option<i64> {
        let (in_second, nanos_of_unit) = match unit {
            TimeUnit::Second => (1, SECOND),
            TimeUnit::Millisecond => (1_000, 1_000_000),
            TimeUnit::Microsecond => (1_000_000, 1_000),
            TimeUnit::Nanosecond => (1_000_000_000, 1),
        };
        let rest = i128::from(self.nanos / nanos_of_unit);
        i64::try_from(i128::from(self.seconds) * in_second + rest).ok()
    }
}

/// Number of days from the first of March of the year 0 to 1970-01-01.
const DAYS_BEFORE_1970: i64 = 719_468;

/// Number of nanoseconds in a second.
const SECOND: u32 = 1_000_000_000;

/// Parses a date, or a date and a time as in ISO 8601, separated by `T` or a blank.
pub(super) fn time(value: &str) -> Option<Time> {
    let bytes = value.as_bytes();
    let is_date = |date: &[u8]| {
        date.iter().enumerate().all(|(i, byte)| match i {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
    };
    let (date, rest) = bytes.split_at_checked(10)?;
    if !is_date(date) {
        return None;
    }
    let [b'T' | b' ', clock @ ..] = rest else {
        let is_date = rest.is_empty() && Date32Type::parse(value).is_some();
        return is_date.then_some(Time {
            kind: Kind::Date,
            is_far: false,
        });
    };
    let zone = clock
        .iter()
        .position(|byte| !byte.is_ascii_digit() && !b":.".contains(byte));
    let (clock, zone) = clock.split_at(zone.unwrap_or(clock.len()));
    // Six digits may also be a number.
    if clock.get(2) != Some(&b':') || clock.get(5) != Some(&b':') {
        return None;
    }
    let is_zone = |zone: &[u8]| zone == b"Z" || matches!(zone.first(), Some(b'+' | b'-'));
    let digits = clock.rsplit(|byte| *byte == b'.').next()?;
    let fraction = if clock.contains(&b'.') {
        digits.len()
    } else {
        0
    };
    let unit = match fraction {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        7..=9 => TimeUnit::Nanosecond,
        _ => return None,
    };
    let instant = Instant::parse(value)?;
    // A leap second would become another time.
    if instant.nanos >= SECOND {
        return None;
    }
    let kind = match zone {
        [] => Kind::Local(unit),
        zone if is_zone(zone) => Kind::Zoned(unit),
        _ => return None,
    };
    Some(Time {
        kind,
        is_far: instant.units(TimeUnit::Nanosecond).is_none(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_times_are_as_arrow_reads_them() {
        let zone = "UTC".parse::<Tz>().unwrap();
        let mut usual = 0;
        for year in (0..10_000).step_by(7).chain([1600, 1900, 1970, 2000, 2024]) {
            for (month, day) in [
                (1, 1),
                (2, 28),
                (2, 29),
                (3, 1),
                (12, 28),
                (12, 31),
                (13, 1),
                (0, 4),
            ] {
                for rest in [
                    "T00:00:00",
                    " 23:59:59.25Z",
                    " 12:30:60",
                    "T24:00:00",
                    " 01:02:03.123456789",
                ] {
                    let text = format!("{year:04}-{month:02}-{day:02}{rest}");
                    if let Some(found) = Instant::usual(text.as_bytes()) {
                        let time = string_to_datetime(&zone, &text).unwrap();
                        assert_eq!(found.seconds, time.timestamp(), "{text}");
                        assert_eq!(found.nanos, time.timestamp_subsec_nanos(), "{text}");
                        usual += 1;
                    }
                }
            }
        }
        assert!(usual > 10_000);
        for text in [
            "2024-01-01 00:00",
            "2024-01-01 00:00:00.",
            "2024-01-01 00:00:00+01:00",
            "2024-01-01x00:00:00",
            "2024-01-01 00:00:0a",
            "2024-01-01 00:00:00.1234567890",
        ] {
            assert!(Instant::usual(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn units_are_whole() {
        let units = |text: &str, unit| Instant::parse(text).unwrap().units(unit);
        assert_eq!(units("1969-12-31T23:59:59.9", TimeUnit::Second), Some(-1));
        assert_eq!(
            units("1969-12-31T23:59:59.9", TimeUnit::Millisecond),
            Some(-100)
        );
        assert_eq!(
            units("1970-01-01T00:00:00.000001", TimeUnit::Nanosecond),
            Some(1_000)
        );
        assert_eq!(units("1500-01-01T00:00:00", TimeUnit::Nanosecond), None);
    }
}
