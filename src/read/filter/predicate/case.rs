//! Case folding for ILIKE: one character for each character, so that `_` still matches one.

/// Folds the case of a character, by Unicode's simple case folding.
pub(super) fn fold(c: char) -> char {
    // Only Turkic languages have a case without a dot for `i`.
    if matches!(c, '\u{130}' | '\u{131}') {
        return c;
    }
    // Through upper case: some letters have two lower cases, such as the Greek sigma, which differs at the end of a
    // word.
    let upper = single(c.to_uppercase()).unwrap_or(c);
    single(upper.to_lowercase()).unwrap_or(upper)
}

/// Returns the only character of a mapping.
fn single(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    let first = mapped.next();
    first.filter(|_| mapped.next().is_none())
}

/// Folds the case of each character of a text. `space` holds the result.
pub(super) fn fold_text<'a>(text: &str, space: &'a mut String) -> &'a str {
    space.clear();
    if text.is_ascii() {
        space.push_str(text);
        space.make_ascii_lowercase();
    } else {
        space.extend(text.chars().map(fold));
    }
    space
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_is_stable_and_the_same_for_both_cases() {
        for c in '\0'..=char::MAX {
            let folded = fold(c);
            assert_eq!(fold(folded), folded, "{c:?}");
            if c.is_ascii() {
                assert_eq!(folded, c.to_ascii_lowercase());
            }
            let turkic = ['\u{130}', '\u{131}'];
            for other in [single(c.to_lowercase()), single(c.to_uppercase())] {
                if let Some(other) = other
                    && !turkic.contains(&c)
                {
                    assert_eq!(fold(other), folded, "{c:?} {other:?}");
                }
            }
        }
    }
}
