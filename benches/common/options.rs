//! The command line of a bench.

use std::fmt::Display;

pub(crate) struct Options {
    flags: Vec<String>,
    /// The file for the plot.
    pub(crate) svg: Option<String>,
    /// A point is measured if its name contains all of these.
    pub(crate) words: Vec<String>,
}

impl Options {
    /// Reads the command line. Flags that are not among the given ones are words.
    pub(crate) fn of_command_line(known_flags: &[&str]) -> Self {
        let (mut flags, mut svg, mut words) = (Vec::new(), None, Vec::new());
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                // Cargo adds it.
                "--bench" => {}
                "--svg" => svg = Some(args.next().expect("a file after --svg")),
                flag if known_flags.contains(&flag) => flags.push(arg),
                _ => words.push(arg),
            }
        }
        Self { flags, svg, words }
    }

    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }

    /// Returns the variable `ROWS`, or else one of these numbers.
    pub(crate) fn rows(&self, default: usize, quick: usize) -> usize {
        let default = if self.has("--quick") { quick } else { default };
        let rows = std::env::var("ROWS");
        rows.map_or(default, |rows| rows.parse().expect("a number of rows"))
    }

    /// Returns how often each point is measured at least.
    pub(crate) fn least_runs(&self) -> usize {
        if self.has("--quick") { 3 } else { 5 }
    }

    /// Returns whether the command line asks for a point of this name.
    pub(crate) fn ask_for(&self, point: &impl Display) -> bool {
        let name = point.to_string();
        self.words.iter().all(|word| name.contains(word))
    }
}
