//! The keywords of dates and times.

/// The word before the text of a date or time, as in `DATE '2024-02-29'`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeWord {
    Date,
    Time,
    Timestamp,
}

impl TimeWord {
    pub(super) const ALL: [Self; 3] = [Self::Date, Self::Time, Self::Timestamp];

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Date => "DATE",
            Self::Time => "TIME",
            Self::Timestamp => "TIMESTAMP",
        }
    }
}
