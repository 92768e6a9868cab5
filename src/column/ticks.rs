//! Spec: docs/format.md, "Arrow types" (DateTime, `KustoTimeSpan`): ticks of 100 ns.

use arrow_schema::TimeUnit;

/// Ticks at 1970-01-01, 719,162 days after 0001-01-01.
pub(crate) const UNIX_EPOCH: u64 = 719_162 * PER_DAY;
const PER_DAY: u64 = 24 * 60 * 60 * PER_SECOND;
const PER_SECOND: u64 = 10_000_000;
const PER_MILLISECOND: u64 = 10_000;
const PER_MICROSECOND: u64 = 10;
const NANOSECONDS: i64 = 100;

/// Converts a time since 1970-01-01 to ticks since 0001-01-01. Returns `None` before that year, beyond 64 bits, and
/// between two ticks.
pub(super) fn of_time(time: i64, unit: TimeUnit) -> Option<u64> {
    match unit {
        TimeUnit::Second => since_year_1::<PER_SECOND>(time),
        TimeUnit::Millisecond => since_year_1::<PER_MILLISECOND>(time),
        TimeUnit::Microsecond => since_year_1::<PER_MICROSECOND>(time),
        TimeUnit::Nanosecond => UNIX_EPOCH.checked_add_signed(of_duration(time, unit)?),
    }
}

/// Converts a day since 1970-01-01 to ticks since 0001-01-01. Returns `None` before that year.
pub(super) fn of_day(day: i32) -> Option<u64> {
    since_year_1::<PER_DAY>(day.into())
}

/// Converts ticks to the time since 1970-01-01, rounded down. Returns `None` beyond 64 bits.
pub(super) fn to_time(ticks: u64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => since_1970::<PER_SECOND>(ticks),
        TimeUnit::Millisecond => since_1970::<PER_MILLISECOND>(ticks),
        TimeUnit::Microsecond => since_1970::<PER_MICROSECOND>(ticks),
        TimeUnit::Nanosecond => to_duration(ticks.checked_signed_diff(UNIX_EPOCH)?, unit),
    }
}

/// Converts ticks to the day since 1970-01-01, rounded down.
pub(super) fn to_day(ticks: u64) -> Option<i32> {
    i32::try_from(since_1970::<PER_DAY>(ticks)?).ok()
}

/// Converts ticks to ticks since 1970-01-01. Returns `None` beyond 64 bits.
pub(super) fn since_unix_epoch(ticks: u64) -> Option<i64> {
    ticks.checked_signed_diff(UNIX_EPOCH)
}

/// Converts a duration to ticks. Returns `None` beyond 64 bits, and between two ticks.
pub(super) fn of_duration(duration: i64, unit: TimeUnit) -> Option<i64> {
    let times = |per: u64| duration.checked_mul(per.cast_signed());
    match unit {
        TimeUnit::Second => times(PER_SECOND),
        TimeUnit::Millisecond => times(PER_MILLISECOND),
        TimeUnit::Microsecond => times(PER_MICROSECOND),
        TimeUnit::Nanosecond => (duration % NANOSECONDS == 0).then_some(duration / NANOSECONDS),
    }
}

/// Converts ticks to a duration, without its fraction. Returns `None` beyond 64 bits.
pub(super) fn to_duration(ticks: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => Some(ticks / PER_SECOND.cast_signed()),
        TimeUnit::Millisecond => Some(ticks / PER_MILLISECOND.cast_signed()),
        TimeUnit::Microsecond => Some(ticks / PER_MICROSECOND.cast_signed()),
        TimeUnit::Nanosecond => ticks.checked_mul(NANOSECONDS),
    }
}

fn since_year_1<const PER_UNIT: u64>(units: i64) -> Option<u64> {
    let epoch = UNIX_EPOCH / PER_UNIT;
    epoch.checked_add_signed(units)?.checked_mul(PER_UNIT)
}

/// The epoch is a multiple of every unit, so this also rounds times before the epoch down.
fn since_1970<const PER_UNIT: u64>(ticks: u64) -> Option<i64> {
    (ticks / PER_UNIT).checked_signed_diff(UNIX_EPOCH / PER_UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    use proptest::prelude::*;

    #[test]
    fn the_epoch_and_the_ends_of_the_calendar_have_the_ticks_of_the_format() {
        assert_eq!(of_time(0, Nanosecond), Some(621_355_968_000_000_000));
        assert_eq!(
            of_time(1_704_067_200, Second),
            Some(638_396_640_000_000_000)
        );
        assert_eq!(of_day(-719_162), Some(0));
        assert_eq!(of_day(-719_163), None);
        assert_eq!(of_time(-62_135_596_800_000_000, Microsecond), Some(0));
        assert_eq!(of_time(-62_135_596_800_000_001, Microsecond), None);
        let last = of_time(253_402_300_799_999_999, Microsecond);
        assert_eq!(last, Some(3_155_378_975_999_999_990));
        assert_eq!(of_time(i64::MAX, Millisecond), None);
        assert_eq!(of_time(1, Nanosecond), None);
        assert_eq!(to_time(621_355_967_999_999_999, Second), Some(-1));
        assert_eq!(to_time(0, Nanosecond), None);
    }

    proptest! {
        #[test]
        fn times_and_durations_come_back(value in any::<i64>(), shift in 0u32..63) {
            let value = value >> shift;
            for unit in [Second, Millisecond, Microsecond, Nanosecond] {
                if let Some(ticks) = of_time(value, unit) {
                    prop_assert_eq!(to_time(ticks, unit), Some(value));
                }
                if let Some(ticks) = of_duration(value, unit) {
                    prop_assert_eq!(to_duration(ticks, unit), Some(value));
                }
                if let Some(time) = to_time(value.cast_unsigned(), unit) {
                    prop_assert!(of_time(time, unit).is_some_and(|t| t <= value.cast_unsigned()));
                }
            }
            if let Ok(day) = i32::try_from(value) && let Some(ticks) = of_day(day) {
                prop_assert_eq!(to_day(ticks), Some(day));
            }
        }
    }
}
