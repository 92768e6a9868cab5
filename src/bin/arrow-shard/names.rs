//! Advice for misspelt names. The program `arrow-shard-sql` compiles this file, too.

use strsim::osa_distance;

/// Maximum number of known names in an error.
const LISTED: usize = 20;

/// Returns the known name that is likely meant: at most one in three characters differs.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let distance = |known: &str| osa_distance(&lower, &known.to_lowercase());
    let (edits, nearest) = known.map(|it| (distance(it), it)).min_by_key(|it| it.0)?;
    let len = name.chars().count();
    (edits <= len.div_ceil(3) && edits < len).then_some(nearest)
}

/// Returns the error message for a column that is not among the known ones.
pub(crate) fn no_column<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let advice = match nearest(name, known.clone()) {
        Some(nearest) => format!("did you mean `{nearest}`? "),
        None => String::new(),
    };
    format!(
        "there is no column `{name}`; {advice}there are {}",
        listed(known)
    )
}

/// Returns the first names, and the number of others.
pub(crate) fn listed<'a>(known: impl Iterator<Item = &'a str> + Clone) -> String {
    let count = known.clone().count();
    let listed = known.take(LISTED).collect::<Vec<_>>().join(", ");
    match count.saturating_sub(LISTED) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_few_wrong_letters_is_recognized() {
        let known = ["origin", "delay", "day"];
        for (name, want) in [
            ("orgin", Some("origin")),
            ("Origin", Some("origin")),
            ("dealy", Some("delay")),
            ("carrier", None),
            ("x", None),
        ] {
            assert_eq!(nearest(name, known.into_iter()), want, "{name}");
        }
        let message = no_column("dly", known.into_iter());
        assert!(
            message.contains("did you mean `day`? there are origin, delay, day"),
            "{message}"
        );
    }

    #[test]
    fn not_all_names_of_a_wide_table_are_listed() {
        let known: Vec<String> = (0..100).map(|i| format!("column_{i}")).collect();
        let message = no_column("x", known.iter().map(String::as_str));
        assert!(message.ends_with("column_19 and 80 more"), "{message}");
    }
}
