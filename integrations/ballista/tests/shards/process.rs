//! Processes that end with the test, however that ends.

#[path = "../../../../tests/support/process.rs"]
mod shared;

pub(crate) use shared::Server;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// A program below `target` of the library, where `tools/setup.sh` installs it. `None`, and a line that says so, where
/// it is not there, unless the environment variable `required` is set.
pub(crate) fn installed(program: &str, required: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let program = root.join(program);
    if !program.exists() {
        let why = format!("there is no {}; run tools/setup.sh", program.display());
        assert!(std::env::var_os(required).is_none(), "{why}");
        eprintln!("SKIPPED: {why}");
        return None;
    }
    Some(program)
}

/// A process whose output goes to a file. A shell ends it when nobody holds the shell's input any more, as when this
/// is dropped, or the test is killed.
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

    /// What it has written so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Ends it at once, as a machine that loses its power.
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

/// A port that nobody listens at.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Asks until there is an answer, for a minute.
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
