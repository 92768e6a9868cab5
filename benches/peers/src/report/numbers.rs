//! Formats numbers for reading.

/// Formats a number with three significant digits.
pub(super) fn short(value: f64) -> String {
    let digits = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// Converts nanoseconds to milliseconds.
pub(super) fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// Converts bytes to megabytes.
pub(super) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Formats a UTC date and time, from seconds since 1970.
pub(super) fn date(seconds: u64) -> String {
    let days = seconds / 86_400;
    // Years begin in March here, so the leap day is the last day.
    let shifted = days + 719_468;
    let era_day = shifted % 146_097;
    let era_year = (era_day - era_day / 1460 + era_day / 36_524 - era_day / 146_096) / 365;
    let year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
    let shifted_month = (5 * year_day + 2) / 153;
    let day = year_day - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = shifted / 146_097 * 400 + era_year + u64::from(month <= 2);
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::{date, short};

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_767_225_599), "2025-12-31 23:59 UTC");
    }

    #[test]
    fn three_digits_count() {
        assert_eq!(short(1234.5), "1234");
        assert_eq!(short(45.67), "45.7");
        assert_eq!(short(1.0), "1.00");
        assert_eq!(short(0.01234), "0.012");
    }
}
