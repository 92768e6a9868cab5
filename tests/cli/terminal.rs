//! Terminals: progress, and colors.

use super::Folder;
use nix::pty::openpty;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Runs a command with standard error, and standard output as well, on a terminal. Its input comes in three parts over
/// more than a second. Returns what the terminal has received.
fn on_terminal(folder: &Folder, variables: &[(&str, &str)], arguments: &[&str]) -> String {
    let terminal = openpty(None, None).unwrap();
    let clone = || Stdio::from(terminal.slave.try_clone().unwrap());
    let mut child = Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
        .args(arguments)
        .env_remove("NO_COLOR")
        .env("TERM", "xterm-256color")
        .envs(variables.iter().copied())
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stdout(clone())
        .stderr(clone())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = thread::spawn(move || {
        let rows = |from: usize| (from..from + 100_000).map(|row| format!("{row}\n"));
        let parts = [0, 100_000, 200_000].map(|from| rows(from).collect::<String>());
        for (index, part) in parts.iter().enumerate() {
            let header = if index == 0 { "id\n" } else { "" };
            // A command may not read its input.
            let _ = write!(input, "{header}{part}");
            thread::sleep(Duration::from_millis(700));
        }
    });
    drop(terminal.slave);
    let mut said = Vec::new();
    let mut master = File::from(terminal.master);
    let mut some = [0; 4096];
    // At the end, Linux answers with an error.
    while let Ok(count @ 1..) = master.read(&mut some) {
        said.extend_from_slice(&some[..count]);
    }
    assert!(child.wait().unwrap().success());
    writer.join().unwrap();
    String::from_utf8(said).unwrap()
}

#[test]
fn progress_is_shown_on_a_terminal_unless_a_command_is_quiet() {
    let folder = Folder::new();
    let convert = ["convert", "--from", "csv", "-", "t.shard", "--force"];
    let said = on_terminal(&folder, &[], &convert);
    assert!(said.contains("rows"), "{said}");
    let bars: Vec<&str> = said
        .split('\r')
        .filter(|it| it.contains("[00:00:0"))
        .collect();
    assert!(bars.len() > 1, "{said}");
    assert!(said.contains("t.shard: 300000 rows in"), "{said}");
    let quiet = on_terminal(&folder, &[], &[&convert[..], &["--quiet"]].concat());
    assert_eq!(quiet, "");
    // Commands over files show how far they are.
    let verified = on_terminal(&folder, &[], &["verify", "t.shard"]);
    assert!(verified.contains("columns"), "{verified}");
}

#[test]
fn colors_are_shown_on_a_terminal_without_no_color() {
    let folder = Folder::new();
    let colored = on_terminal(&folder, &[], &["--help"]);
    assert!(colored.contains("\u{1b}["), "{colored}");
    let plain = on_terminal(&folder, &[("NO_COLOR", "1")], &["--help"]);
    assert!(
        plain.contains("Usage:") && !plain.contains("\u{1b}["),
        "{plain}"
    );
    let help = folder.run(&["--help"]).ok();
    assert!(!help.contains('\u{1b}'));
}
