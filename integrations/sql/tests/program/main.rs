//! Tests of `arrow-shard-sql`, run as a program.
#![expect(
    clippy::unwrap_used,
    reason = "a program that cannot be run is a failed test"
)]

mod copy;
mod errors;
mod files;
mod memory;
#[path = "../../../../tests/support/moto.rs"]
mod moto;
mod output;
#[path = "../../../../tests/support/process.rs"]
mod process;
#[cfg(unix)]
mod prompt;
mod script;
#[cfg(unix)]
mod signals;
mod store;

use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The output of the program, and its exit code.
struct Done {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Done {
    #[track_caller]
    fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self.out
    }

    /// Returns the message of the program, which must have failed with this code and a message of one line.
    #[track_caller]
    fn error(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{}\n{}", self.err, self.out);
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        self.err.strip_prefix("error: ").unwrap().trim().to_owned()
    }
}

/// The working directory of the program.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and the folders that it is in.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_arrow-shard-sql"));
        command.args(arguments).current_dir(&self.0);
        command
    }

    fn run(&self, arguments: &[&str]) -> Done {
        self.pipe(arguments, "")
    }

    fn pipe(&self, arguments: &[&str], input: &str) -> Done {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // The program may close its input early.
        let _closed = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        Done {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns the rows of a query as CSV without the header.
    #[track_caller]
    fn rows(&self, sql: &str) -> Vec<String> {
        let csv = self.run(&["--format", "csv", sql]).ok();
        csv.lines().skip(1).map(ToOwned::to_owned).collect()
    }

    /// Writes numbers from 1 to `last`, with their texts, to a file.
    #[track_caller]
    fn numbers(&self, file: &str, last: u64) {
        std::fs::create_dir_all(self.path(file).parent().unwrap()).unwrap();
        let sql = format!(
            "COPY (SELECT value AS id, 'n' || value AS name FROM generate_series(1, {last})) TO '{file}'"
        );
        self.run(&[&sql]).ok();
    }

    /// Returns the names of all files in the folder.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// Returns the paths of all files in folders of the folder.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut folders = vec![self.0.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => files.push(path),
                }
            }
        }
        files
    }
}
