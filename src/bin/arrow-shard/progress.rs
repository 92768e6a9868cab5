//! Progress bars, shown if standard error is a terminal.

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns a bar for `total` rows, files or other units. It is hidden if `quiet`, or if standard error is not a
/// terminal.
pub(crate) fn bar(total: u64, unit: &str, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    // The bar is also cleared after an error.
    let bar = ProgressBar::new(total).with_finish(ProgressFinish::AndClear);
    set_style(
        &bar,
        &measured(&format!("{{human_pos}} of {{human_len}} {unit}")),
    );
    bar
}

/// Returns the template of a bar with a known end: the time so far, the bar, `amount`, and the time left.
fn measured(amount: &str) -> String {
    format!("[{{elapsed_precise}}] {{bar:40}} {amount} {{eta}}")
}

/// Draws the bar by a template. If the template is invalid, the style remains as it is.
fn set_style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// Returns a bar for an operation, and the callback that moves it.
pub(crate) fn followed(
    unit: &str,
    quiet: bool,
) -> (
    ProgressBar,
    impl FnMut(arrow_shard::Progress<'_>) -> ControlFlow<()> + Send + 'static,
) {
    let bar = bar(0, unit, quiet);
    let shown = bar.clone();
    let follow = move |progress: arrow_shard::Progress<'_>| {
        shown.set_length(progress.total);
        shown.set_position(progress.done);
        ControlFlow::Continue(())
    };
    (bar, follow)
}

/// The amount of data in an input.
#[derive(Debug, Clone)]
pub(crate) enum Total {
    /// Number of rows.
    Rows(u64),
    /// Number of batches.
    Batches(u64),
    /// Number of bytes, and the number that has been read.
    Bytes(u64, Arc<AtomicU64>),
    /// Unknown.
    Unknown,
}

/// Shows the progress of reading an input.
pub(crate) struct InputProgress {
    bar: ProgressBar,
    total: Total,
    rows: u64,
    batches: u64,
}

impl InputProgress {
    /// Returns a bar up to `total`. It is hidden if `quiet`, or if standard error is not a terminal.
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
            Some(_) => measured(unit),
            None => format!("[{{elapsed_precise}}] {{spinner}} {unit}"),
        };
        set_style(&bar, &template);
        Self {
            bar,
            total,
            rows: 0,
            batches: 0,
        }
    }

    /// Adds a finished batch with this number of rows.
    pub(crate) fn add(&mut self, rows: usize) {
        self.rows += rows as u64;
        self.batches += 1;
        self.bar.set_position(match &self.total {
            Total::Rows(_) | Total::Unknown => self.rows,
            Total::Batches(_) => self.batches,
            Total::Bytes(_, read) => read.load(Ordering::Relaxed),
        });
    }

    /// Returns the number of rows so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Removes the bar.
    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{ProgressDrawTarget, TermLike};
    use std::io;
    use std::sync::{Arc, Mutex};

    /// Keeps the text that is drawn.
    #[derive(Debug, Clone, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            100
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_time_left_follows_the_amount() {
        let input = InputProgress::new(Total::Rows(100), false).bar;
        for bar in [bar(100, "rows", false), input] {
            let screen = Screen::default();
            bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(screen.clone())));
            bar.set_position(100);
            bar.tick();
            let shown = screen.0.lock().unwrap().clone();
            assert!(shown.contains("100 of 100 rows 0s"), "{shown}");
        }
    }
}
