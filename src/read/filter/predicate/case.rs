//! Case folding for ILIKE: one character for each character, so that `_` still matches one.

/// Returns the character that stands for all cases of a character: Unicode's simple case folding.
pub(super) fn fold(c: char) -> char {
    // The letters I of Turkic languages have no other case elsewhere.
    if matches!(c, '\u{130}' | '\u{131}') {
        return c;
    }
    // By way of upper case, because some letters have two lower cases, such as the sigma at the end of a Greek word.
    let upper = single(c.to_uppercase()).unwrap_or(c);
    single(upper.to_lowercase()).unwrap_or(upper)
}

/// Returns the only character of a mapping.
fn single(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    let first = mapped.next();
    first.filter(|_| mapped.next().is_none())
}

/// Returns a text with each character folded, in `space`.
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
