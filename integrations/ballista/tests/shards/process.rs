//! Processes that end with the test, even if the test is killed.

#[path = "../../../../tests/support/process.rs"]
mod shared;

pub(crate) use shared::{Server, installed};

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that writes its output to a file. A shell kills it when the shell's input is closed: when this value is
/// dropped, or when the test is killed.
#[derive(Debug)]
pub(crate) struct Guarded {
    shell: Child,
    held: Option<ChildStdin>,
    pub(crate) name: String,
    log: PathBuf,
}

const GUARD: &str = r#"log=$1; shift; "$@" >"$log" 2>&1 </dev/null & child=$!
echo $child >"$log.pid"; cat >/dev/null; kill -9 $child; wait $child"#;

impl Guarded {
    pub(crate) fn start(
        folder: &Path,
        name: &str,
        program: &str,
        arguments: &[String],
        environment: &[(&'static str, String)],
    ) -> Self {
        let log = folder.join(format!("{name}.log"));
        let mut shell = Command::new("sh")
            .args(["-c", GUARD, "guard"])
            .arg(&log)
            .arg(program)
            .args(arguments)
            .envs(environment.iter().map(|(key, value)| (key, value)))
            .env("RUST_LOG", "info")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            held: shell.stdin.take(),
            shell,
            name: name.to_owned(),
            log,
        }
    }

    /// Returns the output so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Kills the process at once, as a power failure would.
    pub(crate) fn kill(&mut self) {
        self.held = None;
        self.shell.wait().unwrap();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.held = None;
        let _ = self.shell.wait();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let last = lines.get(lines.len().saturating_sub(30)..);
            eprintln!("--- {}\n{}", self.name, last.unwrap_or_default().join("\n"));
        }
    }
}

/// Returns a free port.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Calls `ask` until it returns an answer, for at most a minute.
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
