//! Spec: COLE 1.0, "Varint Encoding".
//!
//! Seven bits per byte, lowest first; the highest bit of a byte says whether another byte follows. Signed numbers are
//! mapped to unsigned ones by zigzag: 0, -1, 1, -2 become 0, 1, 2, 3.

use super::cursor::Cursor;
use crate::error::{Error, Result};

/// Reads a varint of up to 64 bits.
///
/// # Errors
/// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if it has more bits or does not end.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<u64> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = cursor.u8()?;
        let bits = u64::from(byte & 0x7F);
        if bits << shift >> shift != bits {
            break;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Error::corrupt(format!(
        "the varint that ends before byte {} has more than 64 bits",
        cursor.position()
    )))
}

/// Appends a varint.
pub(super) fn write(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Returns the size of a varint in bytes.
pub(super) fn size(value: u64) -> u64 {
    u64::from((u64::BITS - (value | 1).leading_zeros()).div_ceil(7))
}

/// Maps a signed number to an unsigned one. For a number of 32 bits the result equals the formula for 32 bits.
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Maps an unsigned number back to a signed one.
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_the_specification() {
        let mut bytes = Vec::new();
        write(300, &mut bytes);
        assert_eq!(bytes, [0xAC, 0x02]);
        assert_eq!(read(&mut Cursor::new(&bytes)).unwrap(), 300);
    }

    #[test]
    fn zigzag_is_that_of_the_specification() {
        for n in [0_i32, 1, -1, 2, i32::MAX, i32::MIN] {
            let specified = ((n << 1) ^ (n >> 31)).cast_unsigned();
            assert_eq!(zigzag(i64::from(n)), u64::from(specified));
        }
        assert_eq!([0, -1, 1, -2, i64::MIN].map(zigzag), [0, 1, 2, 3, u64::MAX]);
    }

    #[test]
    fn more_than_64_bits_are_refused() {
        let mut most = [0xFF; 10];
        most[9] = 1;
        assert_eq!(read(&mut Cursor::new(&most)).unwrap(), u64::MAX);
        most[9] = 2;
        assert!(read(&mut Cursor::new(&most)).is_err());
        assert!(read(&mut Cursor::new(&[0xFF; 11])).is_err());
        assert!(read(&mut Cursor::new(&[0x80])).is_err());
        // Zeros above the number change nothing.
        assert_eq!(read(&mut Cursor::new(&[0x81, 0x80, 0])).unwrap(), 1);
    }

    proptest! {
        #[test]
        fn every_number_comes_back(value: u64, signed: i64) {
            for value in [value, value >> 40, zigzag(signed)] {
                let mut bytes = Vec::new();
                write(value, &mut bytes);
                prop_assert_eq!(bytes.len() as u64, size(value));
                prop_assert_eq!(read(&mut Cursor::new(&bytes)).unwrap(), value);
            }
            prop_assert_eq!(unzigzag(zigzag(signed)), signed);
        }
    }
}
