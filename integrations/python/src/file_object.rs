//! Binary file objects of Python as destinations of shards.

use crate::attached::attached;
use arrow_shard::io::Sink;
use arrow_shard::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Bytes that a file object gets at a time.
const PIECE_BYTES: usize = 1 << 20;

/// A binary file object, which gets the bytes in large pieces.
#[derive(Debug)]
pub(crate) struct FileObject {
    object: Py<PyAny>,
    held: Vec<u8>,
}

impl FileObject {
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> Self {
        Self {
            object: object.clone().unbind(),
            held: Vec::new(),
        }
    }

    /// Passes the held bytes on.
    fn pass_on(&mut self) -> Result<()> {
        let passed = attached(|py| -> PyResult<()> {
            let mut rest = self.held.as_slice();
            while !rest.is_empty() {
                let taken = self
                    .object
                    .bind(py)
                    .call_method1("write", (PyBytes::new(py, rest),))?;
                // Raw streams may take less than they are given; other streams may not report what they took.
                let taken: Option<usize> = taken.extract()?;
                let taken = taken.unwrap_or(rest.len());
                if taken == 0 {
                    let message = "the file object takes no more bytes";
                    return Err(pyo3::exceptions::PyBlockingIOError::new_err(message));
                }
                rest = rest.get(taken..).unwrap_or_default();
            }
            Ok(())
        });
        self.held.clear();
        // The caller gets the exception itself.
        passed.map_err(|raised| Error::new(ErrorKind::Io, "a file object failed").caused_by(raised))
    }
}

impl Sink for FileObject {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.held.extend_from_slice(bytes);
        if self.held.len() < PIECE_BYTES {
            return Ok(());
        }
        self.pass_on()
    }

    fn commit(&mut self) -> Result<()> {
        self.pass_on()
    }
}
