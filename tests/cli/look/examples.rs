//! Runs the examples in the help texts.

use super::{flights, write};
use crate::Folder;
use std::path::Path;
use std::process::Command;

/// Returns the examples in the help of a command.
fn examples(folder: &Folder, command: &str) -> Vec<String> {
    let help = folder.run(&[command, "--help"]).ok();
    let (_, examples) = help.split_once("Examples:\n").unwrap();
    let lines = examples.lines().take_while(|line| !line.is_empty());
    lines.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn three_examples_of_every_command_run() {
    let folder = Folder::new();
    for (name, first) in [
        ("flights.amudai.shard", 0),
        ("flights.parquet", 0),
        ("old.amudai.shard", 0),
        ("new.amudai.shard", 1),
        ("old.parquet", 0),
        ("new.csv", 1),
        ("days/1.parquet", 0),
        ("days/2.parquet", 100),
        ("old/1.parquet", 0),
        ("tables/x/1.amudai.shard", 0),
    ] {
        write(&folder, name, &flights(first, 100));
    }
    let home = folder.path("home");
    for name in [
        ".local/share/bash-completion/completions",
        ".zfunc",
        ".config/fish/completions",
    ] {
        std::fs::create_dir_all(home.join(name)).unwrap();
    }
    std::fs::create_dir_all(home.join(".local/share/man/man1")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_arrow-shard"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    for command in [
        "count",
        "tail",
        "sample",
        "info",
        "stats",
        "diff",
        "ls",
        "completions",
        "man",
    ] {
        let examples = examples(&folder, command);
        assert_eq!(examples.len(), 3, "{examples:?}");
        for example in examples {
            // The store does not exist, and perhaps neither does a pager.
            if example.contains("s3://") || example.contains("| man") {
                continue;
            }
            let done = Command::new("sh")
                .args(["-c", &example])
                .current_dir(folder.0.path())
                .env("PATH", &path)
                .env("HOME", &home)
                .output()
                .unwrap();
            let code = done.status.code().unwrap();
            let differs = example.contains(" diff ") && code == 1;
            let said = String::from_utf8_lossy(&done.stderr);
            // A command with an output says how many rows it has.
            let is_expected = said.is_empty() || example.contains("--output");
            assert!((code == 0 || differs) && is_expected, "{example}: {said}");
        }
    }
}

#[test]
fn examples_with_flights_name_their_columns() {
    const COLUMNS: [&str; 5] = ["time", "delay", "distance", "origin", "destination"];
    let folder = Folder::new();
    let text = folder.run(&["--help"]).ok();
    let (_, commands) = text.split_once("Commands:\n").unwrap();
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let commands = commands.filter(|line| !line.starts_with("   "));
    let mut found = 0;
    for command in commands.map(|line| line.split_whitespace().next().unwrap()) {
        let text = folder.run(&["help", command]).ok();
        let examples = text
            .lines()
            .filter(|line| line.starts_with("  arrow-shard "));
        // The columns of other files may have any names.
        let examples =
            examples.filter(|line| line.contains("flights.") && !line.contains("--values"));
        for example in examples {
            let words: Vec<&str> = example.split_whitespace().collect();
            for pair in words.windows(2) {
                let options = [
                    "--columns",
                    "--key",
                    "--sort",
                    "--drop",
                    "--partition-by",
                    "--rename",
                ];
                if !options.contains(&pair[0]) {
                    continue;
                }
                for column in pair[1].split(',') {
                    let column = column.trim_start_matches('-').split('=').next().unwrap();
                    assert!(COLUMNS.contains(&column), "{example}");
                    found += 1;
                }
            }
            for (at, _) in example.match_indices("--where \"") {
                let condition = &example[at + "--where \"".len()..];
                let column = condition.split(' ').next().unwrap();
                assert!(COLUMNS.contains(&column), "{example}");
                found += 1;
            }
        }
    }
    assert!(found > 10, "{found}");
}

#[test]
fn help_names_only_options_of_its_command() {
    let folder = Folder::new();
    let text = folder.run(&["count", "--help"]).ok();
    assert!(!text.contains("is an error without --lossy"), "{text}");
    let text = folder.run(&["--help"]).ok();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("129, 130 and 143 ended by SIGHUP, SIGINT (Ctrl-C) and SIGTERM"),
        "{text}"
    );
}
