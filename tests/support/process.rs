//! Starts servers of other projects on a free port, and ends them.

#![allow(
    dead_code,
    reason = "each test is a crate of its own and uses a part of this"
)]

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running server; dropping it ends the server.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

/// Returns the path of a program that `tools/setup.sh` installs below the library's `target`, also for the crates in
/// `integrations`. If it is missing, prints a line and returns `None`, or panics if the environment variable `required`
/// is set.
pub(crate) fn installed(program: &str, required: &str) -> Option<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let programs = ["target", "../../target"].map(|it| manifest.join(it).join(program));
    let found = programs.iter().find(|program| program.exists());
    if found.is_none() {
        let why = format!("there is no {program} in target; run tools/setup.sh");
        assert!(std::env::var_os(required).is_none(), "{why}");
        eprintln!("SKIPPED: {why}");
    }
    found.cloned()
}

impl Server {
    /// Starts a program with the arguments for a port, and waits until it listens.
    pub(crate) fn start(program: &Path, arguments: impl Fn(&str) -> Vec<String>) -> Self {
        // Another process may take the port first.
        let server = (0..5).find_map(|_| Self::listen(program, &arguments));
        server.unwrap()
    }

    /// Starts a server and waits until it listens; returns `None` if it ends.
    fn listen(program: &Path, arguments: &impl Fn(&str) -> Vec<String>) -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let child = Command::new(program)
            .args(arguments(&port.to_string()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Self { child, port };
        let start = Instant::now();
        loop {
            let answers = TcpStream::connect(("127.0.0.1", port)).is_ok();
            if let Some(status) = server.child.try_wait().unwrap() {
                eprintln!("the server ended: {status}");
                return None;
            }
            if answers {
                return Some(server);
            }
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "it does not listen"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
