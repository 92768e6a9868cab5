//! Recognizes CSV, and the separator of its values, by the first lines.

use crate::byte_order_mark::after_marks;
use csv::{ByteRecord, ReaderBuilder};

/// The usual separators. The first one wins if several separate the same number of values: text contains commas more
/// often than tabs.
const DELIMITERS: [u8; 4] = [b'\t', b',', b';', b'|'];

/// Returns the separator of the values, if the beginning of a file looks like CSV: UTF-8 with at least two lines, which
/// have the same number of values. If several separators fit, the one that separates the most values is returned.
/// `is_whole` says whether the file ends there.
pub(crate) fn delimiter(head: &[u8], is_whole: bool) -> Option<u8> {
    let text = after_marks(head);
    let is_text = match std::str::from_utf8(text) {
        Ok(_) => true,
        // The last character may be cut off.
        Err(error) => !is_whole && error.error_len().is_none(),
    };
    if !is_text || text.contains(&0) {
        return None;
    }
    let mut found = None;
    for delimiter in DELIMITERS {
        let values = values(text, delimiter, is_whole).unwrap_or_default();
        let (most, _) = found.unwrap_or((1, delimiter));
        if values > most {
            found = Some((values, delimiter));
        }
    }
    found.map(|(_, delimiter)| delimiter)
}

/// Returns the number of values in a line, if it is the same for all lines and there are at least two.
fn values(text: &[u8], delimiter: u8, is_whole: bool) -> Option<usize> {
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(text);
    let quotes = text.iter().filter(|byte| **byte == b'"').count();
    // A line end may be part of a value in quotes.
    let is_complete = is_whole || (text.ends_with(b"\n") && quotes % 2 == 0);
    let (mut lines, mut values) = (0, 0);
    let mut line = ByteRecord::new();
    while reader.read_byte_record(&mut line).ok()? {
        if !is_complete && reader.position().byte() >= text.len() as u64 {
            break;
        }
        if lines > 0 && line.len() != values {
            return None;
        }
        values = line.len();
        lines += 1;
    }
    (lines > 1).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_the_same_number_of_values_show_their_separator() {
        for (text, want) in [
            ("a,b\n1,2\n", Some(b',')),
            ("\u{FEFF}a;b\r\n1,5;2,5\r\n", Some(b';')),
            ("\u{FEFF}\u{FEFF}\"a,b\",c\n1,2\n", Some(b',')),
            ("a|b|c\n1|2|\n\n", Some(b'|')),
            ("last, first\tage\nDoe, Jane\t5", Some(b'\t')),
            ("a,b\n\"x\n,y\",2\n", Some(b',')),
            ("a\tb,c,d\n1\t2,3,4\n", Some(b',')),
            ("a,b\n", None),
            ("a\n1\n", None),
            ("a,b\n1\n", None),
            ("a,b\n1,2\n3,4,5\n", None),
            ("a,b\n1,\0\n", None),
            ("", None),
        ] {
            assert_eq!(delimiter(text.as_bytes(), true), want, "{text:?}");
        }
        assert_eq!(delimiter(b"a,b\n1,\xE4\n", true), None);
    }

    #[test]
    fn a_line_or_a_character_that_is_cut_off_does_not_count() {
        for text in [
            "a,b,c\n1,2,3\n4,5",
            "a,b,c\n1,2,3\n4,5,6\n",
            "a,b,c\n1,2,3\n\"x\ny",
        ] {
            assert_eq!(delimiter(text.as_bytes(), false), Some(b','), "{text:?}");
        }
        assert_eq!(delimiter(b"a,b\n1,2\n1,\xC3", false), Some(b','));
        assert_eq!(delimiter(b"a,b\n1,2\n1,\xC3", true), None);
        assert_eq!(delimiter(b"a,b\n1,", false), None);
        assert_eq!(delimiter(b"a,b\n1,2\n3\n", false), None);
    }
}
