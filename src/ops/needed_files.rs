//! The files that a new directory refers to, and that must exist already.

use crate::error::{Error, Result};
use crate::format::{DataEncoding, DataRef, HEADER, StripeFieldDescriptor};
use crate::io::{RelativeUrl, is_absolute};
use std::collections::{HashMap, HashSet};

/// A file that the directory refers to, but that a commit does not write.
#[derive(Debug, Clone)]
pub(super) struct NeededFile {
    pub(super) url: RelativeUrl,
    /// The minimum size in bytes.
    pub(super) least_size: u64,
    /// Whether a source other than the first refers to it.
    pub(super) is_new: bool,
    /// Whether it is a file of another format.
    pub(super) is_external: bool,
}

impl NeededFile {
    /// Fails if the file is smaller than the directory needs.
    pub(super) fn check_size(&self, size: u64) -> Result<()> {
        let least = self.least_size;
        if size < least {
            Err(Error::corrupt(format!(
                "expected {least} bytes or more, found {size}"
            )))
        } else {
            Ok(())
        }
    }

    /// Returns the error for a file that is missing, or does not fit the references of the directory.
    pub(super) fn unfit(&self, error: &Error) -> Error {
        let place = match error.element() {
            place if place.is_empty() => format!("file `{}`", self.url.path()),
            place => place,
        };
        let error = Error::new(
            error.kind(),
            format!(
                "{}; the shard refers to this file, and is changed or merged only while it is there and whole",
                error.whole_message()
            ),
        );
        error.within(place)
    }
}

/// The files that a directory refers to, by their URLs.
#[derive(Debug, Default)]
pub(super) struct ReferredFiles(HashMap<String, ReferredFile>);

#[derive(Debug, Clone, Copy, Default)]
struct ReferredFile {
    /// The end of the last range that the directory refers to.
    end: u64,
    /// Whether a source other than the first refers to the file.
    is_new: bool,
    /// Whether it is a file of another format.
    is_external: bool,
}

impl ReferredFiles {
    /// Adds the files that the fields of a stripe refer to.
    pub(super) fn note(&mut self, fields: &[Option<StripeFieldDescriptor>], is_new: bool) {
        let encodings = fields.iter().flatten().flat_map(|field| &field.encodings);
        for encoding in encodings {
            match encoding {
                DataEncoding::Native(native) => {
                    let buffers = native.buffers.iter();
                    for reference in buffers.filter_map(|buffer| buffer.buffer.as_ref()) {
                        self.add(reference, is_new, false);
                    }
                }
                DataEncoding::Parquet(files) => {
                    for reference in files.iter().filter_map(|file| file.file_ref.as_ref()) {
                        self.add(reference, is_new, true);
                    }
                }
                DataEncoding::Unknown => {}
            }
        }
    }

    fn add(&mut self, reference: &DataRef, is_new: bool, is_external: bool) {
        // Files outside of the folder may be in another store. Only readers look for them.
        if is_external && is_absolute(&reference.url) {
            return;
        }
        let file = match self.0.get_mut(&reference.url) {
            Some(file) => file,
            None => self.0.entry(reference.url.clone()).or_default(),
        };
        file.end = file.end.max(reference.range.end());
        file.is_new |= is_new;
        file.is_external |= is_external;
    }

    /// Returns the files that must exist, ordered by URL. Files named in `made` are left out, because the commit writes
    /// them.
    pub(super) fn into_needed(self, made: &HashSet<&str>) -> Result<Vec<NeededFile>> {
        let mut needed = Vec::new();
        for (url, file) in self.0 {
            let url: RelativeUrl = url.parse()?;
            let is_made = url
                .segments()
                .last()
                .is_some_and(|name| made.contains(name));
            if is_made {
                continue;
            }
            // The footer of this format follows the last buffer.
            let after = if file.is_external {
                0
            } else {
                HEADER.len() as u64
            };
            needed.push(NeededFile {
                url,
                least_size: file.end.saturating_add(after),
                is_new: file.is_new,
                is_external: file.is_external,
            });
        }
        needed.sort_by(|a, b| a.url.path().cmp(b.url.path()));
        Ok(needed)
    }
}
