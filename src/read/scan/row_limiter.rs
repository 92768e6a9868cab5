//! Limits the rows of a read if arrays have narrow offsets, keys or run ends, or a type that cannot hold every value.

use crate::error::{Error, ErrorKind, Result};

/// Reads fewer rows at once if the requested type cannot address all of them.
#[derive(Debug)]
pub(in crate::read) struct RowLimiter {
    /// Most rows to read at once: unlimited until rows do not fit, then once or twice the number that fitted last.
    most: usize,
}

impl Default for RowLimiter {
    fn default() -> Self {
        Self { most: usize::MAX }
    }
}

impl RowLimiter {
    /// Returns the number of rows that are worth a try.
    pub(in crate::read) fn most(&self) -> usize {
        self.most
    }

    /// Reads the first of `len` rows, and halves their number while they do not fit. Returns the number of rows and the
    /// result. A single row that does not fit is an error, which comes after all rows before it.
    pub(in crate::read) fn read<T>(
        &mut self,
        len: usize,
        mut read: impl FnMut(usize) -> Result<T>,
    ) -> Result<(usize, T)> {
        let mut now = len.min(self.most);
        // The rows after these may be smaller: let the next read try twice the number.
        let mut most = if now < len {
            now.saturating_mul(2)
        } else {
            self.most
        };
        loop {
            match read(now) {
                Err(e) if fewer_may_fit(&e) && now > 1 => {
                    now /= 2;
                    most = now;
                }
                read => {
                    self.most = most;
                    return Ok((now, read?));
                }
            }
        }
    }
}

/// Whether fewer rows may be readable after this error.
pub(in crate::read) fn fewer_may_fit(e: &Error) -> bool {
    matches!(
        e.kind(),
        ErrorKind::OffsetOverflow | ErrorKind::ValueOutOfRange
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads rows of the given sizes in bytes; an array holds 100 bytes. Returns the rows of each piece, and the number
    /// of tries.
    fn pieces(bytes: &[u64]) -> Result<(Vec<usize>, usize)> {
        let (mut fit, mut pieces, mut tries) = (RowLimiter::default(), Vec::new(), 0);
        let mut from = 0;
        while from < bytes.len() {
            let (len, sum) = fit.read(bytes.len() - from, |len| {
                tries += 1;
                match bytes[from..from + len].iter().sum::<u64>() {
                    sum @ 0..=100 => Ok(sum),
                    sum => Err(Error::new(
                        ErrorKind::OffsetOverflow,
                        format!("{sum} bytes"),
                    )),
                }
            })?;
            assert_eq!(sum, bytes[from..from + len].iter().sum::<u64>());
            pieces.push(len);
            from += len;
        }
        Ok((pieces, tries))
    }

    #[test]
    fn rows_that_fit_are_read_at_once() {
        assert_eq!(pieces(&[10; 10]).unwrap(), (vec![10], 1));
    }

    #[test]
    fn rows_that_overflow_are_halved_until_they_fit() {
        assert_eq!(pieces(&[25; 8]).unwrap(), (vec![4, 4], 3));
        // The second half overflows, and so does its own second half.
        let bytes = [1, 1, 1, 1, 1, 1, 90, 90];
        assert_eq!(pieces(&bytes).unwrap().0, [4, 2, 1, 1]);
    }

    #[test]
    fn what_did_not_fit_is_not_tried_with_every_piece() {
        let (pieces, tries) = pieces(&[100; 1024]).unwrap();
        assert_eq!(pieces.len(), 1024);
        assert!(tries <= 10 + 2 * 1024, "{tries} tries");
    }

    #[test]
    fn a_row_that_overflows_alone_is_an_error() {
        let error = pieces(&[1, 1, 1, 101, 1]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OffsetOverflow);
        assert!(error.to_string().contains("101 bytes"), "{error}");
    }

    #[test]
    fn other_errors_are_not_tried_again() {
        let mut tries = 0;
        let read = RowLimiter::default().read(8, |_| {
            tries += 1;
            Err::<(), _>(Error::corrupt("damaged"))
        });
        assert_eq!((read.unwrap_err().kind(), tries), (ErrorKind::Corrupt, 1));
    }
}
