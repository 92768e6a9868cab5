//! How many rows fit arrays whose offsets, keys or run ends are narrow, or whose type does not have
//! every value.

use crate::error::{Error, ErrorKind, Result};

/// Reads fewer rows at once where the type that is asked for cannot address all of them.
#[derive(Debug)]
pub(in crate::read) struct Fit {
    /// Rows that are read at once, at most: after some did not fit, about as many as did.
    most: usize,
}

impl Default for Fit {
    fn default() -> Self {
        Self { most: usize::MAX }
    }
}

impl Fit {
    /// Rows that are worth a try.
    pub(in crate::read) fn most(&self) -> usize {
        self.most
    }

    /// Reads the first of `len` rows, as many as fit, and gives their number with what was read. A
    /// single row that does not fit is an error, which comes after all rows before it.
    pub(in crate::read) fn read<T>(
        &mut self,
        len: usize,
        mut read: impl FnMut(usize) -> Result<T>,
    ) -> Result<(usize, T)> {
        let mut now = len.min(self.most);
        // Of the next rows twice as many may fit.
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

/// Whether fewer rows may be read where so many are not.
pub(in crate::read) fn fewer_may_fit(e: &Error) -> bool {
    matches!(
        e.kind(),
        ErrorKind::OffsetOverflow | ErrorKind::ValueOutOfRange
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads rows of so many bytes each, of which an array takes 100; gives the rows of each
    /// piece that was read, and how often it was tried.
    fn pieces(bytes: &[u64]) -> Result<(Vec<usize>, usize)> {
        let (mut fit, mut pieces, mut tries) = (Fit::default(), Vec::new(), 0);
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
        // The second half overflows by itself, and so does its own.
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
        let read = Fit::default().read(8, |_| {
            tries += 1;
            Err::<(), _>(Error::corrupt("damaged"))
        });
        assert_eq!((read.unwrap_err().kind(), tries), (ErrorKind::Corrupt, 1));
    }
}
