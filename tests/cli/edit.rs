//! Commands that change shards by writing new directories.

use super::Folder;
#[cfg(unix)]
use arrow_shard::Shard;
use std::process::Command;
#[cfg(unix)]
use std::process::Stdio;

/// Creates a folder with `a.amudai.shard`, of ten rows in stripes of four, and `b.amudai.shard`, of two rows with
/// another column.
pub(super) fn shards() -> Folder {
    let folder = Folder::new();
    let rows = (0..10).map(|i| format!("{i},{}\n", ["x", "y", "z"][i % 3]));
    let text = format!("id,name\n{}", rows.collect::<String>());
    std::fs::write(folder.path("a.csv"), text).unwrap();
    std::fs::write(folder.path("b.csv"), "id,size\n10,1.5\n11,2.5\n").unwrap();
    let convert = ["convert", "--quiet", "--stripe-rows", "4"];
    for name in ["a", "b"] {
        let (from, to) = (format!("{name}.csv"), format!("{name}.amudai.shard"));
        folder.run(&[&convert[..], &[&from, &to]].concat()).ok();
    }
    folder
}

pub(super) const A: &str = "a.amudai.shard";
pub(super) const B: &str = "b.amudai.shard";

/// Returns the rows of a shard as lines of CSV, without the header.
pub(super) fn rows(folder: &Folder, shard: &str) -> Vec<String> {
    let text = folder.run(&["cat", shard, "--format", "csv"]).ok();
    text.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn shards_are_merged_and_appended_by_reference() {
    let folder = shards();
    let merge = ["merge", A, B, "--output", "m.amudai.shard"];
    let before = folder.names();
    let said = folder.run(&[&merge[..], &["--dry-run"]].concat()).ok();
    assert_eq!(said, "m.amudai.shard would have 12 rows\n");
    assert_eq!(folder.names(), before);
    let said = folder.run(&merge).ok();
    assert!(
        said.starts_with("m.amudai.shard has 12 rows in 4 stripes; "),
        "{said}"
    );
    // The output reports how files got their second names, and the number of files of the shard.
    let lines: Vec<&str> = said.lines().collect();
    let named = lines[1].starts_with("2 files with rows have a ")
        && lines[1].contains(" as a second name (")
        && lines[1].ends_with("), which the shard refers to");
    assert!(named, "{said}");
    assert_eq!(
        lines[2..],
        ["data are in 2 other files; keep them together"]
    );
    assert_eq!(
        rows(&folder, "m.amudai.shard")[9..],
        ["9,x,", "10,,1.5", "11,,2.5"]
    );
    let error = folder.run(&merge).error(1);
    let want = "m.amudai.shard exists; replace it with --force, or choose another name\n";
    assert_eq!(error, want);
    folder.run(&["append", A, B]).ok();
    assert_eq!(rows(&folder, A), rows(&folder, "m.amudai.shard"));
    folder.run(&["verify", A, "m.amudai.shard"]).ok();
    let error = folder.run(&["append", A, "none"]).error(1);
    assert!(
        error.contains("not found") && error.contains("none"),
        "{error}"
    );
}

#[test]
fn rows_are_deleted_and_brought_back() {
    let folder = shards();
    let delete = ["delete", A, "--where", "name = 'x'"];
    // `cat` supports the same condition, under both names of the option.
    let shown = |name| {
        folder
            .run(&["cat", A, "--format", "csv", name, "name = 'x'"])
            .ok()
    };
    assert_eq!(shown("--where"), shown("--filter"));
    for name in ["--where", "--filter"] {
        let said = folder
            .run(&["delete", A, name, "name = 'x'", "--dry-run"])
            .ok();
        assert_eq!(
            said,
            "a.amudai.shard would have 6 rows, and 4 rows deleted\n"
        );
    }
    assert_eq!(rows(&folder, A).len(), 10);
    folder.run(&delete).ok();
    folder.run(&["delete", A, "--rows", "1,2"]).ok();
    assert_eq!(rows(&folder, A), ["4,y", "5,z", "7,y", "8,z"]);
    let shown = folder.run(&["inspect", A]).ok();
    assert!(
        shown.contains("4 rows (6 more are deleted) in 3 stripes"),
        "{shown}"
    );
    assert!(
        shown.contains("stripe 0: rows 0..4, 4 of them deleted"),
        "{shown}"
    );
    folder.run(&["verify", A]).ok();
    folder.run(&["undelete", A, "--rows", "2"]).ok();
    folder
        .run(&["undelete", A, "--output", "all.amudai.shard"])
        .ok();
    assert_eq!(rows(&folder, A).len(), 5);
    assert_eq!(rows(&folder, "all.amudai.shard").len(), 10);
    let error = folder.run(&["delete", A, "--where", "nme = 'x'"]).error(2);
    assert!(
        error.starts_with("--where, ") && error.contains("`name`"),
        "{error}"
    );
    let error = folder.run(&["delete", A, "--rows", "10"]).error(1);
    assert!(error.contains("row 10 of a shard of 10 rows"), "{error}");
    assert_eq!(folder.run(&["delete", A]).code, 2);
}

#[test]
fn rows_of_several_shards_are_deleted() {
    let folder = shards();
    let before = folder.names();
    // A shard that is named twice is changed once.
    let delete = ["delete", A, B, A, "--where", "id >= 9"];
    let would = folder.run(&[&delete[..], &["--dry-run"]].concat()).ok();
    assert!(would.contains("would be deleted"), "{would}");
    assert_eq!(folder.names(), before);
    let matching = |shard| {
        let count = folder.run(&["count", shard, "--filter", "id >= 9"]).ok();
        count.trim().parse::<u64>().unwrap()
    };
    let (a, b) = (matching(A), matching(B));
    assert!(a > 0 && b > 0);
    let said = folder.run(&delete).ok();
    let last = format!("{} rows in 2 of 2 shards are deleted\n", a + b);
    assert!(said.ends_with(&last), "{said}");
    assert_eq!((matching(A), matching(B)), (0, 0));
    let said = folder.run(&delete).ok();
    assert_eq!(said, "0 rows in 0 of 2 shards are deleted\n");
    // The second shard has no column `name`: the first one stays as it is.
    let before = rows(&folder, A);
    let error = folder
        .run(&["delete", A, B, "--where", "name = 'x'"])
        .error(2);
    assert!(error.starts_with(B) && error.contains("`name`"), "{error}");
    assert_eq!(rows(&folder, A), before);
    for options in [
        &["--rows", "1"][..],
        &["--where", "id = 1", "--output", "d.amudai.shard"],
    ] {
        let error = folder.run(&[&["delete", A, B], options].concat()).error(2);
        assert!(error.contains("for one shard"), "{error}");
    }
}

#[test]
fn columns_are_selected_dropped_and_renamed() {
    let folder = shards();
    let select = ["select", A, "--columns", "name,id", "--rename", "name=kind"];
    folder
        .run(&[&select[..], &["--output", "s.amudai.shard"]].concat())
        .ok();
    let text = folder
        .run(&["head", "-n", "1", "s.amudai.shard", "--format", "csv"])
        .ok();
    assert_eq!(text, "kind,id\nx,0\n");
    folder
        .run(&["select", "s.amudai.shard", "--drop", "id"])
        .ok();
    assert_eq!(rows(&folder, "s.amudai.shard")[..3], ["x", "y", "z"]);
    let error = folder.run(&["select", A, "--rename", "name"]).error(2);
    assert!(error.contains("expected OLD=NEW"), "{error}");
}

#[test]
fn what_is_not_needed_any_more_is_listed_and_removed() {
    let folder = shards();
    folder.run(&["delete", A, "--where", "id < 3"]).ok();
    let planned = folder.run(&["compact", A, "--dry-run"]).ok();
    assert_eq!(
        planned,
        "a.amudai.shard: stripes 0 to 2 would become one or more\n"
    );
    let said = folder.run(&["compact", A]).ok();
    assert!(
        said.starts_with("a.amudai.shard has 7 rows in 1 stripe; "),
        "{said}"
    );
    let said = folder.run(&["compact", A]).ok();
    assert_eq!(said, "a.amudai.shard: no stripe needs to be rewritten\n");
    let planned = folder.run(&["compact", A, "--dry-run"]).ok();
    assert_eq!(planned, said);
    // With an explicit output, a file is written even without changes.
    let copy = "copy.amudai.shard";
    let csv = |file: &str| folder.run(&["cat", file, "--format", "csv"]).ok();
    let said = folder.run(&["compact", A, "--output", copy]).ok();
    assert!(
        said.starts_with("copy.amudai.shard has 7 rows in 1 stripe; "),
        "{said}"
    );
    assert_eq!(csv(copy), csv(A));
    std::fs::remove_file(folder.path(copy)).unwrap();
    let listed = folder.run(&["ls", "."]).ok();
    let lines: Vec<&str> = listed.lines().collect();
    assert!(
        lines[1].starts_with("a.amudai.shard            7          0        1"),
        "{listed}"
    );
    assert_eq!(lines[3], "2 shards: 9 rows and 0 deleted in 2 stripes");

    let young = folder.run(&["vacuum", "."]).ok();
    let lines: Vec<&str> = young.lines().collect();
    let [none, young] = lines.as_slice() else {
        unreachable!("{young}");
    };
    assert_eq!(*none, "0 files of 0 B could be removed");
    let is_said =
        young.starts_with("2 files (") && young.ends_with(") are younger than 24 h (--min-age)");
    assert!(is_said, "{young}");
    let removed = folder.run(&["vacuum", ".", "--remove"]).ok();
    assert_eq!(removed, format!("0 files of 0 B removed\n{young}\n"));
    let listed = ["vacuum", ".", "--min-age", "0", "--dry-run"];
    let listed = folder.run(&listed).ok();
    assert!(
        listed.ends_with(" could be removed\n") && listed.lines().count() == 3,
        "{listed}"
    );
    let removed = folder
        .run(&["vacuum", ".", "--min-age", "0", "--remove"])
        .ok();
    assert_eq!(removed.replace("removed", "could be removed"), listed);
    assert_eq!(rows(&folder, A).len(), 7);
    folder.run(&["verify", A, B]).ok();
}

/// Several processes change the same shard at the same time: the change of each successful process is visible, and the
/// others report a conflict.
#[test]
fn of_processes_that_change_a_shard_at_once_none_loses_anything() {
    let folder = shards();
    let workers = (0..3).map(|worker| {
        let path = folder.0.path().to_path_buf();
        std::thread::spawn(move || {
            let mut deleted = 0;
            for row in (worker..10).step_by(3) {
                let delete = ["delete", A, "--rows", &row.to_string()];
                deleted += usize::from(changed(&path, &delete));
            }
            deleted
        })
    });
    let workers: Vec<_> = workers.collect();
    let deleted: usize = workers
        .into_iter()
        .map(|worker| worker.join().unwrap())
        .sum();
    assert!(deleted > 0);
    assert_eq!(rows(&folder, A).len(), 10 - deleted);
    folder.run(&["verify", A]).ok();
}

/// Runs a command that changes a shard. Returns whether it did; `false` if another process was first.
fn changed(folder: &std::path::Path, arguments: &[&str]) -> bool {
    let output = Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let is_conflict = error.starts_with("error: conflict: ");
    assert!(
        output.status.success() || is_conflict,
        "{arguments:?}: {error}"
    );
    output.status.success()
}

/// One process appends, one compacts and one deletes, all of the same shard and at the same time.
#[test]
fn of_processes_that_do_different_things_at_once_none_loses_anything() {
    let folder = shards();
    let path = || folder.0.path().to_path_buf();
    let (appender, deleter, compactor) = (path(), path(), path());
    let appender = std::thread::spawn(move || {
        let appends = (0..8).filter(|_| changed(&appender, &["append", A, B]));
        appends.count()
    });
    let deleter = std::thread::spawn(move || {
        let delete = |id: &i32| changed(&deleter, &["delete", A, "--where", &format!("id = {id}")]);
        (0..10).filter(delete).collect::<Vec<i32>>()
    });
    let compactor = std::thread::spawn(move || {
        let compacted = (0..8).filter(|_| changed(&compactor, &["compact", A]));
        compacted.count()
    });
    let (appends, deleted) = (appender.join().unwrap(), deleter.join().unwrap());
    let compactions = compactor.join().unwrap();
    println!("{appends} appends, {compactions} compactions, without {deleted:?}");
    // One of several concurrent changes succeeds.
    assert!(appends + compactions + deleted.len() > 0);
    let mut expected: Vec<i32> = (0..10).filter(|id| !deleted.contains(id)).collect();
    expected.extend([10; 8].iter().take(appends));
    expected.extend([11; 8].iter().take(appends));
    let id = |row: &String| row.split(',').next().unwrap().parse::<i32>().unwrap();
    let mut found: Vec<i32> = rows(&folder, A).iter().map(id).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
    folder.run(&["verify", A, B]).ok();
}

/// Kills a command at some moment. Returns whether it had already ended.
#[cfg(unix)]
fn killed(folder: &Folder, arguments: &[&str], after: std::time::Duration) -> bool {
    let mut child = Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
        .args(arguments)
        .current_dir(&folder.0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap().success()
}

/// After a process is killed at any moment, the shard has its old or its new rows completely, and other shards in the
/// folder are unchanged.
#[cfg(unix)]
#[test]
fn a_killed_command_leaves_the_shard_before_or_after() {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};
    use std::time::{Duration, Instant};
    let mut random = StdRng::seed_from_u64(7);
    let kills: u32 = std::env::var("KILLS").map_or(10, |kills| kills.parse().unwrap());
    // Reordering columns leaves a file to remove, and a directory that refers to another file.
    const WHOLE: &[&str] = &["select", A, "--columns", "name,id"];
    const DELETE: &[&str] = &["delete", A, "--where", "id < 3"];
    const MERGED: &str = "m.amudai.shard";
    // The preparing command, the command, and the rows before and after it.
    let commands: [(&[&str], &[&str], usize, usize); 7] = [
        (WHOLE, &["append", A, B], 10, 12),
        (WHOLE, DELETE, 10, 7),
        (DELETE, &["undelete", A], 7, 10),
        (DELETE, &["compact", A], 7, 7),
        (WHOLE, &["select", A, "--drop", "name"], 10, 10),
        (WHOLE, &["merge", A, B, "--output", MERGED], 10, 10),
        (
            WHOLE,
            &["vacuum", ".", "--min-age", "0", "--remove"],
            10,
            10,
        ),
    ];
    let (mut before, mut after) = (0, 0);
    for (first, arguments, rows_before, rows_after) in commands {
        let folder = shards();
        folder.run(first).ok();
        let started = Instant::now();
        folder.run(arguments).ok();
        let duration = started.elapsed().as_secs_f64();
        for _ in 0..kills {
            let folder = shards();
            folder.run(first).ok();
            let moment = Duration::from_secs_f64(duration * random.random_range(0.2..1.3));
            let is_done = killed(&folder, arguments, moment);
            let check = |name: &str, before: usize, after: usize| {
                let shard = Shard::open(folder.path(name)).unwrap();
                let found = usize::try_from(shard.num_rows()).unwrap();
                let is_fine = found == after || !is_done && found == before;
                assert!(is_fine, "{arguments:?}: {found} rows of {name}");
                assert!(shard.verify().unwrap().is_sound(), "{arguments:?}");
            };
            check(A, rows_before, rows_after);
            check(B, 2, 2);
            let (is_merge, is_merged) = (arguments.contains(&MERGED), folder.path(MERGED).exists());
            assert!(
                is_merged || !(is_merge && is_done),
                "the merged shard is lost"
            );
            if is_merged {
                check(MERGED, 12, 12);
            }
            match is_done {
                true => after += 1,
                false => before += 1,
            }
            // The remains of the killed process do not prevent another run.
            let _ = folder.run(arguments);
            folder
                .run(&["vacuum", ".", "--min-age", "0", "--remove"])
                .ok();
            assert!(rows(&folder, A).len() <= 14);
        }
    }
    println!("{before} killed, {after} done");
    assert!(before > 0 && after > 0, "{before} {after}");
}

#[test]
fn edits_without_effect_say_so_and_leave_the_file() {
    let folder = shards();
    let before = (folder.names(), std::fs::read(folder.path(A)).unwrap());
    let commands: [&[&str]; 5] = [
        &["undelete", A],
        &["delete", A, "--where", "id < 0"],
        &["select", A],
        &["select", A, "--columns", "id,name"],
        &["undelete", A, "--dry-run"],
    ];
    for command in commands {
        let said = folder.run(command).ok();
        assert_eq!(
            said,
            "a.amudai.shard stays as it is: nothing to do. It has 10 rows\n"
        );
        let after = (folder.names(), std::fs::read(folder.path(A)).unwrap());
        assert!(after == before, "{command:?}");
    }
    let said = folder.run(&["select", A, "--output", "new"]).ok();
    assert!(said.starts_with("new has 10 rows in 3 stripes; "), "{said}");
}

#[test]
fn a_packed_shard_needs_no_other_file() {
    let folder = shards();
    folder.run(&["delete", A, "--rows", "3"]).ok();
    folder.run(&["append", A, B]).ok();
    let expected = rows(&folder, A);
    let packed = "alone/packed.amudai.shard";
    std::fs::create_dir(folder.path("alone")).unwrap();
    let said = folder.run(&["pack", A, packed]).ok();
    let start =
        "alone/packed.amudai.shard has 11 rows, and 1 row deleted in 4 stripes, in one file of ";
    assert!(said.starts_with(start), "{said}");
    assert_eq!(rows(&folder, packed), expected);
    let error = folder.run(&["pack", A, packed]).error(1);
    assert!(error.contains("replace it with --force"), "{error}");
    folder.run(&["pack", A, A, "--force"]).ok();
    assert_eq!(rows(&folder, A), expected);
    assert!(folder.run(&["pack", "--help"]).ok().contains("--force"));

    // A copy of only the directory file is distinguished from a complete shard.
    folder.run(&["delete", packed, "--rows", "5"]).ok();
    std::fs::create_dir(folder.path("copy")).unwrap();
    let copy = "copy/packed.amudai.shard";
    std::fs::copy(folder.path(packed), folder.path(copy)).unwrap();
    let output = folder.run(&["ls", "copy"]);
    let error = output.error(1);
    assert!(
        error.contains("2 of the 2 files that it needs are missing")
            && error.contains("arrow-shard pack"),
        "{error}"
    );
    assert!(
        folder
            .run(&["ls", "alone"])
            .ok()
            .contains("1 shard: 10 rows")
    );
    let error = folder.run(&["cat", copy]).error(1);
    assert!(error.contains("arrow-shard pack"), "{error}");
    let output = folder.run(&["verify", copy]);
    let said = format!("{}{}", output.text(), output.err);
    assert!(
        output.code == 1 && said.contains("arrow-shard pack"),
        "{said}"
    );
}

#[test]
fn reserved_names_are_no_outputs() {
    let folder = shards();
    for name in ["z.amudai.stripe", ".arrow-shard.x.tmp"] {
        for command in [
            &["merge", A, B, "--output", name][..],
            &["select", A, "--drop", "id", "--output", name],
            &["pack", A, name],
            &["convert", "a.csv", name, "--to", "shard"],
            &["convert", "a.csv", name, "--to", "shard", "--force"],
            &["convert", A, name, "--to", "csv"],
        ] {
            let error = folder.run(command).error(1);
            assert!(error.contains("reserved"), "{command:?}: {error}");
        }
    }
}

#[test]
fn temporary_files_of_killed_processes_are_listed_and_removed() {
    let folder = shards();
    let name = ".arrow-shard.killed.tmp";
    std::fs::write(folder.path(name), "amud").unwrap();
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    let file = std::fs::File::options()
        .append(true)
        .open(folder.path(name));
    file.unwrap().set_modified(then).unwrap();
    let listed = folder.run(&["vacuum", ".", "--min-age", "0"]).ok();
    assert!(
        listed.contains(name) && listed.contains("1 file of 4 B"),
        "{listed}"
    );
    folder
        .run(&["vacuum", ".", "--min-age", "0", "--remove"])
        .ok();
    assert!(!folder.path(name).exists());
}
