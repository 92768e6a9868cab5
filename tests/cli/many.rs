//! More input files than a process may have open.

use crate::data::plain;
use crate::{Done, Folder};
use std::process::Command;

const SHARDS: usize = 200;

/// Runs a shell command with a limit of 64 open files; `$0` is the program.
fn run(folder: &Folder, script: &str) -> Done {
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -n 64 && {script}")])
        .arg(env!("CARGO_BIN_EXE_arrow-shard"))
        .current_dir(folder.0.path())
        .output()
        .unwrap();
    Done {
        code: output.status.code().unwrap(),
        out: output.stdout,
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn commands_take_more_shards_than_a_process_may_open() {
    let folder = Folder::with(&plain(10));
    folder.run(&["convert", "t.arrow", "a.shard"]).ok();
    std::fs::create_dir(folder.path("days")).unwrap();
    for i in 0..SHARDS {
        std::fs::copy(
            folder.path("a.shard"),
            folder.path(&format!("days/{i:03}.shard")),
        )
        .unwrap();
    }
    let csv = run(&folder, "$0 cat --format csv days/*.shard").ok();
    // One line per row, and one line of names.
    assert_eq!(csv.lines().count(), 10 * SHARDS + 1);
    assert!(run(&folder, "$0 ls days").ok().lines().count() > SHARDS);
    run(&folder, "$0 merge days/*.shard --output m.shard").ok();
    run(&folder, "$0 append a.shard days/*.shard").ok();
    for (name, rows) in [("m.shard", 10 * SHARDS), ("a.shard", 10 * SHARDS + 10)] {
        let shard = arrow_shard::Shard::open(folder.path(name)).unwrap();
        assert_eq!(shard.num_rows(), rows as u64);
    }
    let verified = run(&folder, "$0 verify --quiet days/*.shard m.shard");
    assert_eq!(verified.ok(), "");
}

#[test]
fn more_text_files_than_open_files_become_one() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("days")).unwrap();
    for i in 0..SHARDS {
        let (csv, json) = (format!("days/{i:03}.csv"), format!("days/{i:03}.ndjson"));
        std::fs::write(folder.path(&csv), format!("a,b\n{i},x\n")).unwrap();
        std::fs::write(folder.path(&json), format!("{{\"a\":{i}}}\n")).unwrap();
    }
    run(&folder, "$0 convert days all.shard").ok();
    let shard = arrow_shard::Shard::open(folder.path("all.shard")).unwrap();
    assert_eq!(shard.num_rows(), 2 * SHARDS as u64);
    let last = run(&folder, "$0 cat 'days/*' --offset 399 --format csv").ok();
    assert_eq!(last, "a,b\n199,\n");
}
