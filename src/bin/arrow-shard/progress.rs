//! Progress bars, where standard error is a terminal.

use crate::input::Total;
use arrow_shard::ops::EditProgress;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// A bar of so many rows, files or the like of which some are done.
pub(crate) fn bar(total: u64, unit: &str) -> ProgressBar {
    // An error clears it, too.
    let bar = ProgressBar::new(total).with_finish(ProgressFinish::AndClear);
    // The default style is fine, too.
    let template =
        format!("[{{elapsed_precise}}] {{bar:40}} {{human_pos}} of {{human_len}} {unit}");
    match ProgressStyle::with_template(&template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A bar of what a change has to do, and who moves it.
pub(crate) fn followed(unit: &str) -> (ProgressBar, impl Fn(EditProgress) + Send + Sync + 'static) {
    let bar = bar(0, unit);
    let shown = bar.clone();
    let follow = move |progress: EditProgress| {
        shown.set_length(progress.total);
        shown.set_position(progress.done);
    };
    (bar, follow)
}

/// Shows how much of an input has been read.
pub(crate) struct Progress {
    bar: ProgressBar,
    total: Total,
    rows: u64,
    batches: u64,
}

impl Progress {
    /// A bar up to `total`; none if `quiet`, or if standard error is no terminal.
    pub(crate) fn new(total: Total, quiet: bool) -> Self {
        let (len, unit) = match &total {
            Total::Rows(rows) => (Some(*rows), "{human_pos} of {human_len} rows"),
            Total::Batches(batches) => (Some(*batches), "{human_pos} of {human_len} batches"),
            Total::Bytes(bytes, _) => (Some(*bytes), "{bytes} of {total_bytes}"),
            Total::Unknown => (None, "{human_pos} rows"),
        };
        let bar = match (quiet, len) {
            (true, _) => ProgressBar::hidden(),
            (false, Some(len)) => ProgressBar::new(len),
            (false, None) => ProgressBar::new_spinner(),
        };
        let template = match len {
            Some(_) => format!("[{{elapsed_precise}}] {{bar:40}} {unit} {{eta}}"),
            None => format!("[{{elapsed_precise}}] {{spinner}} {unit}"),
        };
        // The default style is fine, too.
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        Self {
            bar,
            total,
            rows: 0,
            batches: 0,
        }
    }

    /// Notes that a batch of that many rows is done.
    pub(crate) fn add(&mut self, rows: usize) {
        self.rows += rows as u64;
        self.batches += 1;
        self.bar.set_position(match &self.total {
            Total::Rows(_) | Total::Unknown => self.rows,
            Total::Batches(_) => self.batches,
            Total::Bytes(_, read) => read.get(),
        });
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Removes the bar.
    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}
