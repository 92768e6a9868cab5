//! Advice for errors about a literal that a column cannot be compared with.

use arrow_schema::DataType;

/// Returns advice for the end of an error, or nothing.
pub(super) fn advice(literal: &DataType, column: &DataType) -> &'static str {
    use DataType::{Date32, Date64, Duration, FixedSizeBinary, Time32, Time64, Timestamp};
    let is_number = |data_type: &DataType| data_type.is_numeric();
    match (column, literal) {
        (FixedSizeBinary(_), _) => "; compare it with bytes",
        (Date32 | Date64, number) if is_number(number) => {
            "; write dates as text, such as '2024-02-29'"
        }
        (Time32(_) | Time64(_), number) if is_number(number) => {
            "; write times as text, such as '12:30:00'"
        }
        (Timestamp(..), number) if is_number(number) => {
            "; write times as text, such as '2024-02-29 12:30:00'"
        }
        (Timestamp(_, Some(_)), Timestamp(_, None) | Date32 | Date64) => {
            "; give the literal a time zone, or write it as text, which is read in the zone of the column"
        }
        (Timestamp(_, None) | Date32 | Date64, Timestamp(_, Some(_))) => {
            "; compare it with a time without a time zone, or with text"
        }
        (Duration(_), _) => {
            "; compare durations with whole numbers of their unit, or with durations"
        }
        (decimal, float) if decimal.is_decimal() && float.is_floating() => {
            "; compare decimals with integers, decimals or text, such as '1.50'"
        }
        (text, number) if text.is_string() && is_number(number) => {
            "; write the value as text, in quotes"
        }
        (number, text) if is_number(number) && text.is_string() => "; write numbers without quotes",
        _ => "",
    }
}
