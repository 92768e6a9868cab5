//! Numbers of bytes as values of options. The program `arrow-shard-sql` compiles this file, too.

/// Parses a number of bytes: `1000`, `64K`, `512M`, `4G`, `1T`. The unit may be followed by `B` or `iB`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = text[digits.len()..].trim().to_ascii_uppercase();
    let prefix = unit.strip_suffix('B').unwrap_or(&unit);
    let shift = match prefix.strip_suffix('I').unwrap_or(prefix) {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err("expected a size such as 512M or 4G".to_owned()),
    };
    let units: u64 = digits
        .parse()
        .map_err(|_| "expected a whole number before the unit, such as 512M".to_owned())?;
    let bytes = units.checked_mul(1 << shift);
    bytes.ok_or_else(|| "expected a size below 16 EiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units_or_none() {
        for (text, bytes) in [
            ("1000", 1000),
            ("64k", 64 << 10),
            ("512M", 512 << 20),
            ("4 GiB", 4 << 30),
            ("1TB", 1 << 40),
            ("10B", 10),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "M",
            "1.5G",
            "-1",
            "1X",
            "99999999999999999999",
            "99999999T",
        ] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
