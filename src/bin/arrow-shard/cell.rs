//! The width of cells in printed tables. The program `arrow-shard-sql` compiles this file, too.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Cuts a text to a width, and marks the cut with `…`.
pub(crate) fn cut(cell: &mut String, most: usize) {
    if cell.width() <= most {
        return;
    }
    let mut width = 1;
    let end = cell.char_indices().find(|(_, c)| {
        width += c.width().unwrap_or(0);
        width > most
    });
    if let Some((end, _)) = end {
        cell.truncate(end);
        cell.push('…');
    }
}
