//! Signals while statements run.

use super::Folder;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Read;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A query that runs for hours.
const LONG: &str = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b \
                    WHERE a.value + b.value < 0";

/// Time in which a statement must stop.
const SOON: Duration = Duration::from_secs(20);

/// Starts a script that first prints a line, and waits for the line.
fn started(folder: &Folder, script: &str) -> Child {
    let script = format!("SELECT 'started' AS a; {script}");
    let mut child = folder
        .command(&["--format", "csv", "-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 10];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut line)
        .unwrap();
    assert_eq!(&line, b"a\nstarted\n");
    // The next statement starts within this time, nearly always; a signal before it would be ignored.
    std::thread::sleep(Duration::from_secs(1));
    child
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
}

#[test]
fn an_interrupted_query_ends_the_program_with_its_exit_code() {
    let folder = Folder::new();
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let child = started(&folder, LONG);
        let start = Instant::now();
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert!(start.elapsed() < SOON);
        assert!(
            output.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn an_interrupted_copy_leaves_no_file() {
    let folder = Folder::new();
    for name in ["t.amudai.shard", "t.csv"] {
        let rows =
            "SELECT value, md5(CAST(value AS VARCHAR)) AS text FROM generate_series(1, 1000000000)";
        let child = started(&folder, &format!("COPY ({rows}) TO '{name}'"));
        send(&child, Signal::SIGINT);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        assert!(folder.names().is_empty(), "{:?}", folder.names());
    }
}
