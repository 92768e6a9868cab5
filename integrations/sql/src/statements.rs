//! Splits text into statements, and finds out whether a statement is complete.

/// A part of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item<'a> {
    /// A statement without its semicolon, or the line of a command of the prompt.
    pub(crate) text: &'a str,
    /// Number of the line where it begins, from 1.
    pub(crate) line: usize,
}

impl Item<'_> {
    /// Whether the item is a command of the prompt, such as `.tables`.
    pub(crate) fn is_command(&self) -> bool {
        self.text.starts_with('.')
    }
}

/// A stretch of SQL that has a meaning of its own for the end of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Blank,
    Comment { closed: bool },
    Quoted { closed: bool },
    Semicolon,
    Other,
}

/// Returns the token at the start of a text that is not empty, and its length in bytes.
fn token(text: &str) -> (Token, usize) {
    let mut chars = text.char_indices();
    let Some((_, first)) = chars.next() else {
        return (Token::Blank, 0);
    };
    match first {
        ';' => (Token::Semicolon, 1),
        '\'' | '"' | '`' => match text[1..].find(first) {
            Some(end) => (Token::Quoted { closed: true }, end + 2),
            None => (Token::Quoted { closed: false }, text.len()),
        },
        '-' if text.starts_with("--") => {
            let end = text.find('\n').unwrap_or(text.len());
            (Token::Comment { closed: true }, end)
        }
        '/' if text.starts_with("/*") => block_comment(text),
        c if c.is_whitespace() => (Token::Blank, c.len_utf8()),
        c => (Token::Other, c.len_utf8()),
    }
}

/// Comments in slashes and asterisks may contain others.
fn block_comment(text: &str) -> (Token, usize) {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return (Token::Comment { closed: true }, at);
        }
    }
    (Token::Comment { closed: false }, text.len())
}

/// Splits a script into its statements and commands. The last statement may lack its semicolon.
pub(crate) fn split(script: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let (mut at, mut start) = (0, None);
    while at < script.len() {
        let rest = &script[at..];
        if start.is_none() && rest.starts_with('.') {
            let len = rest.find('\n').unwrap_or(rest.len());
            items.push(item(script, at, at + len));
            at += len;
            continue;
        }
        let (token, len) = token(rest);
        match token {
            Token::Blank | Token::Comment { closed: true } => {}
            Token::Semicolon => {
                if let Some(start) = start.take() {
                    items.push(item(script, start, at));
                }
            }
            _ => start = start.or(Some(at)),
        }
        at += len;
    }
    if let Some(start) = start {
        items.push(item(script, start, script.len()));
    }
    items
}

fn item(script: &str, start: usize, end: usize) -> Item<'_> {
    Item {
        text: script[start..end].trim_end(),
        line: 1 + script[..start].matches('\n').count(),
    }
}

/// Whether a text at the prompt can run: it is empty, a command, or ends with a semicolon outside of quotes.
pub(crate) fn is_complete(text: &str) -> bool {
    if text.trim_start().starts_with('.') {
        return true;
    }
    let (mut at, mut complete) = (0, true);
    while at < text.len() {
        let (token, len) = token(&text[at..]);
        complete = match token {
            Token::Blank | Token::Comment { closed: true } => complete,
            Token::Semicolon => true,
            _ => false,
        };
        at += len;
    }
    complete
}

/// Returns where the text in open quotes begins, after the quote and with it.
pub(crate) fn open_quote(text: &str) -> Option<(char, usize)> {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let (token, len) = token(rest);
        if token == (Token::Quoted { closed: false }) {
            return rest.chars().next().map(|quote| (quote, at + 1));
        }
        at += len;
    }
    None
}

/// Returns the texts in single quotes.
pub(crate) fn quoted(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let (token, len) = token(rest);
        if token == (Token::Quoted { closed: true }) && rest.starts_with('\'') {
            found.push(&rest[1..len - 1]);
        }
        at += len;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<(&str, usize)> {
        split(script).iter().map(|i| (i.text, i.line)).collect()
    }

    #[test]
    fn semicolons_outside_of_quotes_and_comments_split_a_script() {
        let script = "-- a; b\nSELECT ';', \";\" /* ; /* ; */ */ ;;\n\n.timing on\n  SELECT 'it''s; 1'\n-- end;\n";
        let want = [
            ("SELECT ';', \";\" /* ; /* ; */ */", 2),
            (".timing on", 4),
            ("SELECT 'it''s; 1'\n-- end;", 5),
        ];
        assert_eq!(texts(script), want);
        assert!(split(script)[1].is_command());
        assert_eq!(texts(" ;\n-- nothing\n"), []);
        assert_eq!(texts("SELECT 'ä;"), [("SELECT 'ä;", 1)]);
    }

    #[test]
    fn a_statement_ends_with_a_semicolon() {
        for text in [
            "",
            "  ",
            ".tables",
            "SELECT 1;",
            "SELECT 1; -- done",
            "-- x",
        ] {
            assert!(is_complete(text), "{text}");
        }
        for text in ["SELECT 1", "SELECT ';", "SELECT 1; /* ", "SELECT 1; SELECT"] {
            assert!(!is_complete(text), "{text}");
        }
    }

    #[test]
    fn quotes_are_found() {
        assert_eq!(open_quote("SELECT * FROM 'days/"), Some(('\'', 15)));
        assert_eq!(open_quote("SELECT 'a', \"b"), Some(('"', 13)));
        assert_eq!(open_quote("SELECT 'a' -- it's"), None);
        assert_eq!(quoted("SELECT 'a', \"b\" FROM 'c d'"), ["a", "c d"]);
    }
}
