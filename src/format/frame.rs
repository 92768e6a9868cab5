//! Spec: Chapter 6, "Message Serialization".
//!
//! ```text
//! ┌────────────┬─────────┬──────────────┐
//! │ length u32 │ payload │ checksum u32 │
//! └────────────┴─────────┴──────────────┘
//! ```
//! Length and checksum cover only the payload.

use super::checksum;
use crate::error::{Error, ErrorKind, Result};

/// Bytes of a frame in addition to its payload.
pub const FRAME_OVERHEAD: usize = 8;

/// Returns the frame of a payload.
///
/// # Errors
/// [`LimitExceeded`](ErrorKind::LimitExceeded) if the payload has 4 GiB or more.
pub fn seal(payload: &[u8]) -> Result<Vec<u8>> {
    let len = u32::try_from(payload.len()).map_err(|_| {
        Error::new(
            ErrorKind::LimitExceeded,
            format!(
                "a metadata message of {} bytes exceeds 32 bits",
                payload.len()
            ),
        )
    })?;
    let mut frame = Vec::with_capacity(payload.len() + FRAME_OVERHEAD);
    frame.extend_from_slice(&len.to_le_bytes());
    frame.extend_from_slice(payload);
    frame.extend_from_slice(&checksum(payload).to_le_bytes());
    Ok(frame)
}

/// Returns the payload of a frame. Bytes after the frame are allowed, because references may have slack.
///
/// # Errors
/// [`Corrupt`](ErrorKind::Corrupt) if there are too few bytes, [`Checksum`](ErrorKind::Checksum) if
/// the payload does not match its checksum.
///
/// ```
/// use arrow_shard::format::{open, seal};
/// assert_eq!(seal(b"")?, [0, 0, 0, 0, 0xC7, 0x14, 0xD5, 0x15]);
/// assert_eq!(open(&seal(b"hello")?)?, b"hello");
/// # Ok::<(), arrow_shard::Error>(())
/// ```
pub fn open(frame: &[u8]) -> Result<&[u8]> {
    let (len, rest) = split_u32(frame).ok_or_else(|| {
        Error::corrupt(format!(
            "a message frame of {} bytes is shorter than the {FRAME_OVERHEAD} bytes of an empty one",
            frame.len()
        ))
    })?;
    let parts = usize::try_from(len)
        .ok()
        .and_then(|len| rest.split_at_checked(len))
        .and_then(|(payload, rest)| Some((payload, split_u32(rest)?.0)));
    let Some((payload, stored)) = parts else {
        return Err(Error::corrupt(format!(
            "a message of {len} bytes does not fit into its frame of {} bytes",
            frame.len()
        )));
    };
    let found = checksum(payload);
    if found != stored {
        return Err(Error::new(
            ErrorKind::Checksum,
            format!(
                "a message of {len} bytes has checksum {found:08x}, and {stored:08x} is stored"
            ),
        ));
    }
    Ok(payload)
}

/// Splits off the first four bytes as a number.
fn split_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*first), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_every_truncation_is_an_error() {
        let frame = seal(b"some payload").unwrap();
        for i in 0..frame.len() * 8 {
            let mut bad = frame.clone();
            bad[i / 8] ^= 1 << (i % 8);
            assert!(open(&bad).is_err(), "bit {i}");
        }
        for len in 0..frame.len() {
            assert!(open(&frame[..len]).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn slack_behind_the_frame_is_tolerated() {
        let mut frame = seal(b"x").unwrap();
        frame.extend_from_slice(&[1, 2, 3]);
        assert_eq!(open(&frame).unwrap(), b"x");
    }
}
