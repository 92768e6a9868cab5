//! Digits of numbers as words of eight characters.

/// A byte in all places of a word.
const ONES: u64 = u64::MAX / 255;
/// The character 0 in all places of a word.
const ZEROS: u64 = ONES * b'0' as u64;

/// Most decimal digits of a number that these functions take.
pub(crate) const MAX_DECIMAL: usize = 16;
/// The first number with more decimal digits.
pub(crate) const DECIMAL_LIMIT: u64 = 10_000_000_000_000_000;
/// Most hexadecimal digits of a number.
pub(crate) const MAX_HEX: usize = 16;

/// The first numbers with 1, 2, ... decimal digits.
const POWERS: [u64; MAX_DECIMAL] = {
    let mut powers = [0; MAX_DECIMAL];
    let (mut i, mut power) = (1, 1);
    while i < MAX_DECIMAL {
        power *= 10;
        powers[i] = power;
        i += 1;
    }
    powers
};

/// Returns the number of decimal digits of a number below [`DECIMAL_LIMIT`].
#[inline(always)]
pub(crate) fn decimal_len(value: u64) -> usize {
    // 1233 / 4096 is a little more than the binary logarithm of 10 in reverse.
    let bits = 64 - (value | 1).leading_zeros() as usize;
    let least = (bits * 1233) >> 12;
    let is_longer = POWERS.get(least).is_some_and(|power| value >= *power);
    (least + usize::from(is_longer)).max(1)
}

/// Numbers that [`short_decimal`] takes.
pub(crate) const SHORT_DECIMALS: u64 = 10_000;

/// The digits of short numbers, left-aligned in characters, and zeros.
static SHORT: [u32; 10_000] = {
    let mut table = [0; 10_000];
    let (mut number, mut place) = (0u32, 0);
    while place < table.len() {
        let (mut rest, mut word) = (number, 0);
        loop {
            word = word << 8 | (b'0' as u32 + rest % 10);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        table[place] = word;
        number += 1;
        place += 1;
    }
    table
};

/// Returns the digits of a number below [`SHORT_DECIMALS`], left-aligned in characters, and their number.
#[inline(always)]
pub(crate) fn short_decimal(value: u64) -> (u64, usize) {
    let place = usize::try_from(value).unwrap_or(usize::MAX);
    let word = SHORT.get(place).copied().unwrap_or(0);
    (u64::from(word), 4 - word.leading_zeros() as usize / 8)
}

/// Returns the number of hexadecimal digits of a number.
#[inline(always)]
pub(crate) fn hex_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(4)
}

/// Returns the eight decimal digits of a number below 100,000,000, the first one lowest.
#[inline(always)]
fn eight_decimals(value: u64) -> u64 {
    // Each step cuts every number into two, side by side: first four digits each, then two, then one.
    let fours = value / 10_000 + ((value % 10_000) << 32);
    let hundreds = ((fours * 5243) >> 19) & 0x7F_0000_007F;
    let twos = hundreds + ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000F_000F_000F_000F;
    (tens + ((twos - 10 * tens) << 8)) + ZEROS
}

/// Returns the eight hexadecimal digits of a number of 32 bits, the first one lowest. `letter` is the distance of the
/// letters from the digits.
#[inline(always)]
fn eight_hex(value: u64, letter: u64) -> u64 {
    // The nibbles are spread, the highest one to the lowest byte.
    let word = value.swap_bytes() >> 32;
    let pairs = (word | word << 16) & 0x0000_FFFF_0000_FFFF;
    let bytes = (pairs | pairs << 8) & 0x00FF_00FF_00FF_00FF;
    let nibbles = ((bytes >> 4) | (bytes << 8)) & (ONES * 0x0F);
    let is_letter = ((nibbles + ONES * 6) >> 4) & ONES;
    nibbles + ZEROS + is_letter * letter
}

/// Digits of a number, left-aligned, in characters; the first one lowest.
pub(crate) type DigitWords = [u64; 2];

/// Returns the last `len` of 16 digits, of which `high` are the first eight, and `low` the others.
#[inline(always)]
fn last_digits(high: u64, low: u64, len: usize) -> DigitWords {
    let all = u128::from(high) | u128::from(low) << 64;
    let cut = all >> (8 * (16 - len.clamp(1, 16)));
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a word")]
    [cut as u64, (cut >> 64) as u64]
}

/// Returns the last `len` decimal digits, up to 16, of a number below [`DECIMAL_LIMIT`].
#[inline(always)]
pub(crate) fn decimal_digits(value: u64, len: usize) -> DigitWords {
    if len <= 8 {
        let low = eight_decimals(value % 100_000_000);
        return [low >> (8 * (8 - len.max(1))), 0];
    }
    let high = eight_decimals((value / 100_000_000) % 100_000_000);
    last_digits(high, eight_decimals(value % 100_000_000), len)
}

/// Returns the last `len` hexadecimal digits, up to 16, of a number.
#[inline(always)]
pub(crate) fn hex_digits(value: u64, len: usize, is_upper: bool) -> DigitWords {
    let letter = u64::from(if is_upper { b'A' } else { b'a' } - b'0' - 10);
    let low = eight_hex(value & 0xFFFF_FFFF, letter);
    if len <= 8 {
        return [low >> (8 * (8 - len.max(1))), 0];
    }
    last_digits(eight_hex(value >> 32, letter), low, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: DigitWords, len: usize) -> String {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        String::from_utf8(bytes[..len].to_vec()).unwrap()
    }

    #[test]
    fn numbers_have_the_digits_that_rust_prints() {
        let mut numbers: Vec<u64> = (0..64).flat_map(|i| [1 << i, (1 << i) - 1]).collect();
        let powers = std::iter::successors(Some(1u64), |power| power.checked_mul(10));
        numbers.extend(powers.flat_map(|power| [power - 1, power, power + 1]));
        // Miri takes 10,000 times as long.
        let (scattered, small) = if cfg!(miri) {
            (100, 50)
        } else {
            (5000, 20_000)
        };
        let noise = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (i % 64);
        numbers.extend((0..scattered).map(noise));
        numbers.extend(0..small);
        for number in numbers {
            let lower = format!("{number:x}");
            assert_eq!(hex_len(number), lower.len(), "{number}");
            let upper = format!("{number:X}");
            assert_eq!(
                text(hex_digits(number, lower.len(), false), lower.len()),
                lower
            );
            assert_eq!(
                text(hex_digits(number, upper.len(), true), upper.len()),
                upper
            );
            let padded = format!("{number:016x}");
            assert_eq!(text(hex_digits(number, 16, false), 16), padded);
            let number = number % DECIMAL_LIMIT;
            let decimal = number.to_string();
            assert_eq!(decimal_len(number), decimal.len(), "{number}");
            let found = text(decimal_digits(number, decimal.len()), decimal.len());
            assert_eq!(found, decimal);
            assert_eq!(
                text(decimal_digits(number, 16), 16),
                format!("{number:016}")
            );
            assert_eq!(
                text(decimal_digits(number % 1000, 3), 3),
                format!("{:03}", number % 1000)
            );
        }
    }
}
