//! Spec: docs/format.md, "Digits": a date and a time of day, which are one number.

use crate::kernels::decimal_digits;

/// Most digits of a fraction of a second: with more, not every time would be a number of 64 bits.
const MAX_FRACTION: usize = 6;
/// Characters of a date and a time without a fraction: `2024-02-29 23:59:59`.
const SECONDS_LEN: usize = 19;
/// Place of the time of day, which takes 8 characters.
const CLOCK: usize = 11;
const SECONDS_OF_DAY: u64 = 86_400;
/// Days of the years 0 to 9999.
const DAYS: u64 = 3_652_425;
/// Days of 400 years, after which the calendar repeats.
const DAYS_OF_CYCLE: u64 = 146_097;
/// Days of January and February, which end a year that begins in March.
const DAYS_BEFORE_MARCH: u64 = 60;

/// How a date and a time of day are written: with these bytes between digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TimeFormat {
    /// Between year, month and day.
    pub(super) date: u8,
    /// Between date and time.
    pub(super) between: u8,
    /// Between hours, minutes and seconds.
    pub(super) clock: u8,
    /// Before the fraction of a second.
    pub(super) mark: u8,
    /// Digits of the fraction of a second, up to 6. With 0, there is no mark.
    pub(super) fraction: usize,
}

impl TimeFormat {
    /// Returns the format with this many digits of a fraction; `None` for more than six.
    pub(super) fn new([date, between, clock, mark]: [u8; 4], fraction: usize) -> Option<Self> {
        (fraction <= MAX_FRACTION).then_some(Self {
            date,
            between,
            clock,
            mark,
            fraction,
        })
    }

    /// Returns the format of a time at the beginning of a text. Fractions of more digits are not part of it, nor are
    /// any unless `with_fraction`.
    pub(super) fn find(text: &[u8], with_fraction: bool) -> Option<Self> {
        let byte = |at: usize| text.get(at).copied().filter(|byte| !byte.is_ascii_digit());
        let seconds = Self {
            date: byte(4)?,
            between: byte(10)?,
            clock: byte(13)?,
            mark: 0,
            fraction: 0,
        };
        let (time, rest) = text.split_at_checked(SECONDS_LEN)?;
        seconds.number(time)?;
        let digits = |bytes: &[u8]| bytes.iter().take_while(|it| it.is_ascii_digit()).count();
        match rest {
            [mark @ (b'.' | b','), rest @ ..]
                if with_fraction && (1..=MAX_FRACTION).contains(&digits(rest)) =>
            {
                Some(Self {
                    mark: *mark,
                    fraction: digits(rest),
                    ..seconds
                })
            }
            rest => (digits(rest) == 0).then_some(seconds),
        }
    }

    /// Returns the number of characters of every time.
    pub(super) fn len(&self) -> usize {
        SECONDS_LEN + self.fraction_len()
    }

    /// Returns the number of characters of the fraction with its mark.
    fn fraction_len(&self) -> usize {
        self.fraction + usize::from(self.fraction > 0)
    }

    /// Returns the number of units, the last digits of the fraction, in a second.
    fn units(&self) -> u64 {
        (0..self.fraction).fold(1, |units, _| units * 10)
    }

    /// Returns the limit of the numbers: times have smaller ones.
    pub(super) fn limit(&self) -> u64 {
        DAYS * SECONDS_OF_DAY * self.units()
    }

    /// Returns the number of a time: the units since the year 0. `None` unless the number is written as this text.
    pub(super) fn number(&self, text: &[u8]) -> Option<u64> {
        let (seconds, fraction) = text.split_at_checked(SECONDS_LEN)?;
        let &[
            y3,
            y2,
            y1,
            y0,
            a,
            m1,
            m0,
            b,
            d1,
            d0,
            c,
            h1,
            h0,
            d,
            min1,
            min0,
            e,
            s1,
            s0,
        ] = seconds
        else {
            return None;
        };
        let separators = [self.date, self.date, self.between, self.clock, self.clock];
        if [a, b, c, d, e] != separators {
            return None;
        }
        let year = digits(&[y3, y2, y1, y0])?;
        let month = digits(&[m1, m0]).filter(|it| (1..=12).contains(it))?;
        let day = digits(&[d1, d0]).filter(|it| (1..=days_of_month(year, month)).contains(it))?;
        let hour = digits(&[h1, h0]).filter(|it| *it < 24)?;
        let minute = digits(&[min1, min0]).filter(|it| *it < 60)?;
        let second = digits(&[s1, s0]).filter(|it| *it < 60)?;
        let units = match fraction {
            [] if self.fraction == 0 => 0,
            [mark, fraction @ ..] if *mark == self.mark && fraction.len() == self.fraction => {
                digits(fraction)?
            }
            _ => return None,
        };
        let days = days_before(year, month) + day - 1;
        let seconds = (days * 24 + hour) * 3600 + minute * 60 + second;
        Some(seconds * self.units() + units)
    }

    /// Returns what writes times.
    pub(super) fn writer(&self) -> TimeWriter {
        let clock = u64::from(self.clock);
        TimeWriter {
            format: *self,
            units: self.units(),
            separators: clock << 16 | clock << 40,
            // No number is within a day of it.
            start: 1 << 63,
            date: [0; 2],
        }
    }
}

/// The characters of a time, in words, the first one lowest.
pub(super) struct TimeWords {
    /// The first eight and the next three characters of the date, with the separator behind it.
    pub(super) date: [u64; 2],
    /// Eight characters at [`CLOCK`](TimeWords::CLOCK).
    pub(super) clock: u64,
    /// The fraction with its mark.
    pub(super) fraction: u64,
}

impl TimeWords {
    /// Place of the time of day.
    pub(super) const CLOCK: usize = CLOCK;
    /// Place of the fraction.
    pub(super) const FRACTION: usize = SECONDS_LEN;
}

/// Writes times, faster if neighbors are on the same day.
pub(super) struct TimeWriter {
    format: TimeFormat,
    units: u64,
    /// The separators of the time of day.
    separators: u64,
    /// The first number of the last day.
    start: u64,
    /// The characters of the last day.
    date: [u64; 2],
}

impl TimeWriter {
    /// Returns the characters of a number below the limit.
    #[inline(always)]
    pub(super) fn words(&mut self, number: u64) -> TimeWords {
        let day = SECONDS_OF_DAY * self.units;
        let mut within = number.wrapping_sub(self.start);
        if within >= day {
            let days = number / day;
            self.start = days * day;
            self.date = self.date_words(days);
            within = number - self.start;
        }
        let (seconds, fraction) = match self.format.fraction {
            0 => (within, 0),
            3 => (within / 1000, within % 1000),
            6 => (within / 1_000_000, within % 1_000_000),
            _ => (within / self.units, within % self.units),
        };
        let [digits, _] = decimal_digits(fraction, self.format.fraction.clamp(1, MAX_FRACTION));
        TimeWords {
            date: self.date,
            clock: clock_digits(seconds) | self.separators,
            fraction: digits << 8 | u64::from(self.format.mark),
        }
    }

    fn date_words(&self, days: u64) -> [u64; 2] {
        let (year, month, day) = date_of(days);
        let two = |number: u64| decimal_digits(number, 2)[0];
        let separator = u64::from(self.format.date);
        let [year, _] = decimal_digits(year, 4);
        [
            year | separator << 32 | two(month) << 40 | separator << 56,
            two(day) | u64::from(self.format.between) << 16,
        ]
    }
}

/// Returns the digits of hours, minutes and seconds, with zeros at their separators.
#[inline(always)]
fn clock_digits(seconds: u64) -> u64 {
    const LANES: u64 = 1 | 1 << 24 | 1 << 48;
    let twos = (seconds / 3600) | ((seconds / 60 % 60) << 24) | ((seconds % 60) << 48);
    // 103 / 1024 is a little more than a tenth.
    let tens = ((twos * 103) >> 10) & (LANES * 0x0F);
    (tens + ((twos - 10 * tens) << 8)) + LANES * 0x3030
}

/// Returns the value of decimal digits.
fn digits(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + u64::from(byte - b'0'))
    })
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the number of days between the beginning of the year 0 and the beginning of a month.
fn days_before(year: u64, month: u64) -> u64 {
    let years = year * 365 + year.div_ceil(4) - year.div_ceil(100) + year.div_ceil(400);
    let months = (1..month).map(|month| days_of_month(year, month));
    years + months.sum::<u64>()
}

/// Returns year, month and day. `days` is the number of days since the beginning of the year 0.
fn date_of(days: u64) -> (u64, u64, u64) {
    // Years begin in March, so that the leap day is the last one, and one cycle earlier.
    let since = days + DAYS_OF_CYCLE - DAYS_BEFORE_MARCH;
    let (cycle, day) = (since / DAYS_OF_CYCLE, since % DAYS_OF_CYCLE);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    // Five months in a row have 153 days.
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (400 * cycle + year + next - 400, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISO: TimeFormat = TimeFormat {
        date: b'-',
        between: b'T',
        clock: b':',
        mark: b'.',
        fraction: 0,
    };

    #[test]
    fn days_are_counted_as_in_the_calendar() {
        let mut days = 0;
        for year in 0..10_000 {
            for month in 1..=12 {
                assert_eq!(days_before(year, month), days);
                for day in 1..=days_of_month(year, month) {
                    if day == 1 || day == days_of_month(year, month) {
                        assert_eq!(date_of(days), (year, month, day));
                    }
                    days += 1;
                }
            }
        }
        assert_eq!(days, DAYS);
        assert_eq!(days_before(1970, 1), 719_528);
        assert_eq!(days_of_month(1900, 2), 28);
    }

    /// Writes a number.
    fn text(format: TimeFormat, number: u64) -> String {
        let TimeWords {
            date: [date, day],
            clock,
            fraction,
        } = format.writer().words(number);
        let words = [date, day, clock, fraction].map(u64::to_le_bytes);
        let [date, day, clock, fraction] = &words;
        let fraction = &fraction[..format.fraction_len()];
        let bytes = [&date[..], &day[..3], &clock[..], fraction].concat();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn numbers_are_written_as_they_were_found() {
        for time in [
            "0000-01-01T00:00:00",
            "1999-12-31T23:59:59",
            "2000-02-29 12:34:56",
            "2005-06-03-15.42.50.363779",
            "2015/10/18 18:01:47,978",
            "2024-02-29T09:08:07.5Z",
            "9999-12-31T23:59:59.999999",
        ] {
            let format = TimeFormat::find(time.as_bytes(), true).unwrap();
            let whole = time.trim_end_matches('Z');
            assert_eq!(format.len(), whole.len(), "{time}");
            let number = format.number(whole.as_bytes()).unwrap();
            assert_eq!(text(format, number), whole);
            assert!(number < format.limit());
            let next = format.number(whole.as_bytes()).unwrap() + 1;
            if next < format.limit() {
                let next_text = text(format, next);
                assert_eq!(format.number(next_text.as_bytes()), Some(next));
            }
        }
        assert_eq!(ISO.number(b"9999-12-31T23:59:59"), Some(ISO.limit() - 1));
        let mut writer = ISO.writer();
        for number in [0, SECONDS_OF_DAY - 1, SECONDS_OF_DAY, 5] {
            assert_eq!(writer.words(number).date, ISO.writer().words(number).date);
        }
    }

    #[test]
    fn what_would_be_written_otherwise_is_no_time() {
        for other in [
            "2023-02-29T00:00:00",
            "2024-00-10T00:00:00",
            "2024-13-10T00:00:00",
            "2024-01-00T00:00:00",
            "2024-01-32T00:00:00",
            "2024-01-10T24:00:00",
            "2024-01-10T00:60:00",
            "2016-12-31T23:59:60",
            "2024-01/10T00:00:00",
            "2024-01-10T00:00.00",
            "2024-01-1OT00:00:00",
            "2024-01-10T00:00:000",
            "2024-01-10T00:00:0",
            "20240110T000000",
        ] {
            assert_eq!(TimeFormat::find(other.as_bytes(), true), None, "{other}");
        }
        let long = TimeFormat::find(b"2024-01-10T00:00:00.123456789Z", true).unwrap();
        assert_eq!((long.fraction, long.len()), (0, SECONDS_LEN));
        let cut = TimeFormat::find(b"2024-01-10T00:00:00.123Z", false).unwrap();
        assert_eq!(cut.fraction, 0);
        assert_eq!(ISO.number(b"2024-01-10T00:00:00.1"), None);
        assert_eq!(ISO.number(b"2024-01-10 00:00:00"), None);
    }
}
