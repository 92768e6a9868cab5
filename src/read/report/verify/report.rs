//! The results of a verification.

use crate::error::{Error, ErrorKind};
use crate::format::BufferKind;
use std::collections::BTreeSet;
use std::fmt;

/// Most problems that a report keeps, which bounds the memory that it takes.
const MAX_PROBLEMS: usize = 10_000;

/// The results of [`Shard::verify`](crate::read::Shard::verify).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifyReport {
    pub(super) problems: Vec<Problem>,
    /// Number of problems that were found but not kept.
    omitted: u64,
    pub(super) files: u64,
    pub(super) rows: u64,
    pub(super) stripes: u64,
    pub(super) fields: u64,
    pub(super) blocks: u64,
    pub(super) pages: u64,
    pub(super) data_bytes: u64,
    pub(super) is_complete: bool,
    /// Names of the files of other formats that have a problem as a whole, which is reported once.
    unfit_files: BTreeSet<String>,
}

/// A defect of the shard, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Name of the file.
    pub file: String,
    /// Ordinal of the stripe.
    pub stripe: Option<u64>,
    /// Path of the field.
    pub field: Option<String>,
    /// Role of the buffer.
    pub buffer: Option<BufferKind>,
    /// Ordinal of the block.
    pub block: Option<u64>,
    /// The kind of error.
    pub kind: ErrorKind,
    /// Expected and found values.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(stripe) = self.stripe {
            write!(f, ", stripe {stripe}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ", field `{field}`")?;
        }
        if let Some(buffer) = self.buffer {
            write!(f, ", {buffer:?} buffer")?;
        }
        if let Some(block) = self.block {
            write!(f, ", block {block}")?;
        }
        write!(f, ": {}: {}", self.kind, self.message)
    }
}

/// The place of a problem.
#[derive(Debug, Clone, Default)]
pub(super) struct At {
    pub(super) file: String,
    pub(super) stripe: Option<u64>,
    pub(super) field: Option<String>,
    pub(super) buffer: Option<BufferKind>,
    pub(super) block: Option<u64>,
}

impl At {
    /// Creates the place of a whole file.
    pub(super) fn file(file: String) -> Self {
        Self {
            file,
            ..Self::default()
        }
    }

    /// Returns the place of the buffer of this kind, in the file that contains it.
    pub(super) fn buffer(&self, kind: BufferKind, file: String) -> Self {
        Self {
            file,
            buffer: Some(kind),
            ..self.clone()
        }
    }

    /// Returns the place of the block with this ordinal.
    pub(super) fn block(&self, ordinal: usize) -> Self {
        Self {
            block: Some(ordinal as u64),
            ..self.clone()
        }
    }
}

impl VerifyReport {
    /// Whether everything was checked and no problem was found.
    pub fn is_sound(&self) -> bool {
        self.num_problems() == 0 && self.is_complete
    }

    /// Whether everything was checked: false if the caller ended the verification early.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the problems found, at most 10,000.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the number of problems, including those beyond the first 10,000.
    pub fn num_problems(&self) -> u64 {
        self.problems.len() as u64 + self.omitted
    }

    /// Returns the number of files of the shard.
    pub fn num_files(&self) -> u64 {
        self.files
    }

    /// Returns the number of rows of the shard, without the deleted ones.
    pub fn num_rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of stripes that were checked.
    pub fn num_stripes(&self) -> u64 {
        self.stripes
    }

    /// Returns the number of fields of stripes that were checked, including nested ones.
    pub fn num_fields(&self) -> u64 {
        self.fields
    }

    /// Returns the number of blocks that were decoded.
    pub fn num_blocks(&self) -> u64 {
        self.blocks
    }

    /// Returns the number of pages of attached Parquet files that were decoded.
    pub fn num_pages(&self) -> u64 {
        self.pages
    }

    /// Returns the number of bytes of encoded buffers and pages that were read.
    pub fn data_bytes(&self) -> u64 {
        self.data_bytes
    }

    /// Adds a problem.
    pub(super) fn add(&mut self, at: At, error: &Error) {
        self.push(at.problem(error));
    }

    /// Adds a problem of a whole file, unless it has one.
    pub(super) fn add_file(&mut self, file: String, error: &Error) {
        if self.unfit_files.insert(file.clone()) {
            self.add(At::file(file), error);
        }
    }

    fn push(&mut self, problem: Problem) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.omitted += 1;
        }
    }

    /// Adds the results from columns of stripes.
    pub(super) fn absorb(&mut self, part: Self) {
        let is_known = |problem: &Problem| {
            problem.stripe.is_none()
                && part.unfit_files.contains(&problem.file)
                && self.unfit_files.contains(&problem.file)
        };
        let problems = part.problems.into_iter();
        let new: Vec<Problem> = problems.filter(|problem| !is_known(problem)).collect();
        new.into_iter().for_each(|problem| self.push(problem));
        self.unfit_files.extend(part.unfit_files);
        self.omitted += part.omitted;
        self.fields += part.fields;
        self.blocks += part.blocks;
        self.pages += part.pages;
        self.add_data(part.data_bytes);
    }

    /// Counts bytes of values. A damaged shard may claim any number of them.
    pub(super) fn add_data(&mut self, bytes: u64) {
        self.data_bytes = self.data_bytes.saturating_add(bytes);
    }
}

impl At {
    fn problem(self, error: &Error) -> Problem {
        // The message omits places that the problem names anyway.
        let known = |place: &str| {
            let named = |name: Option<String>| name.is_some_and(|name| name == place);
            is_file(place, &self.file)
                || named(self.stripe.map(|n| format!("stripe {n}")))
                || named(self.buffer.map(|kind| format!("{kind:?} buffer")))
                || named(self.block.map(|n| format!("block {n}")))
        };
        let element = error.element();
        let places: Vec<&str> = element
            .split(", ")
            .filter(|p| !p.is_empty() && !known(p))
            .collect();
        let message = if places.is_empty() {
            error.whole_message()
        } else {
            format!("{}: {}", places.join(", "), error.whole_message())
        };
        Problem {
            file: self.file,
            stripe: self.stripe,
            field: self.field,
            buffer: self.buffer,
            block: self.block,
            kind: error.kind(),
            message,
        }
    }
}

/// Whether a place in an error is this file, which the error may name with its folder.
fn is_file(place: &str, name: &str) -> bool {
    let quoted = place.strip_suffix('`').and_then(|p| p.split_once('`'));
    let found = quoted.map_or(place, |(_, found)| found);
    let folder = found.strip_suffix(name);
    folder.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_names_each_place_once() {
        let at = At {
            stripe: Some(3),
            field: Some("a.b".to_owned()),
            ..At::file("x.shard".to_owned())
        };
        let at = at.buffer(BufferKind::Data, "y.stripe".to_owned()).block(7);
        let error = Error::new(ErrorKind::Checksum, "expected 1, computed 2")
            .within("block 7")
            .within("Data buffer")
            .within("header");
        assert_eq!(
            at.problem(&error).to_string(),
            "y.stripe, stripe 3, field `a.b`, Data buffer, block 7: checksum mismatch: \
             header: expected 1, computed 2"
        );
    }
}
