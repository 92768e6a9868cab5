//! Edits that are refused, and merges over existing files.

use super::edit::{A, B, rows, shards};
use std::fs;

const M: &str = "m.amudai.shard";

#[test]
fn rows_are_deleted_by_number_or_by_condition() {
    let folder = shards();
    let done = folder.run(&["delete", A, "--rows", "1,2", "--where", "id = 5"]);
    assert!(
        done.code == 2 && done.err.contains("--where"),
        "{}",
        done.err
    );
    assert_eq!(rows(&folder, A).len(), 10);
    folder.run(&["delete", A, "--rows", "0"]).ok();
    assert_eq!(rows(&folder, A)[0], "1,y");
    for command in ["delete", "undelete"] {
        let help = folder.run(&[command, "--help"]).ok();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("the first row is 0"), "{help}");
    }
}

#[test]
fn a_shard_is_merged_once_and_not_appended_to_itself() {
    let folder = shards();
    let dotted = format!("./{A}");
    for files in [&[A, A][..], &[A, B, &dotted], &[B, B, A]] {
        for dry in [&[][..], &["--dry-run"]] {
            let arguments = [&["merge"], files, &["--output", M], dry].concat();
            let error = folder.run(&arguments).error(1);
            assert!(error.contains("named twice"), "{arguments:?}: {error}");
        }
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.path(A), folder.path("link.shard")).unwrap();
        let error = folder.run(&["merge", A, "link.shard", "-o", M]).error(1);
        assert!(error.starts_with("link.shard: "), "{error}");
    }
    assert!(!folder.path(M).exists());
    let before = (fs::read(folder.path(A)).unwrap(), folder.names());
    for others in [&[A][..], &[B, A], &[&dotted]] {
        let error = folder.run(&[&["append", A], others].concat()).error(1);
        assert!(error.starts_with(A), "{error}");
        assert!(before == (fs::read(folder.path(A)).unwrap(), folder.names()));
    }
    // Rows of another shard may be appended again.
    folder.run(&["append", A, B, B]).ok();
    assert_eq!(rows(&folder, A).len(), 14);
}

#[test]
fn a_shard_is_not_written_under_the_name_of_another_format() {
    let folder = shards();
    fs::write(folder.path("v.csv"), "v\n1\n").unwrap();
    folder.run(&["convert", "-q", "a.csv", "p.parquet"]).ok();
    let before = folder.names();
    for (output, format) in [
        ("x.parquet", "Parquet"),
        ("x.csv", "CSV"),
        ("x.csv.gz", "CSV"),
        ("x.arrow", "Arrow IPC file"),
        ("x.lance", "Lance"),
    ] {
        for command in [
            &["pack", A, output][..],
            &["pack", A, output, "--force"],
            &["merge", A, B, "--output", output],
            &["attach", "p.parquet", "--output", output],
            &["set", A, "a=b", "--output", output],
            &["append", A, B, "--output", output],
            &["upsert", A, "b.csv", "--key", "id", "--output", output],
            &["compact", A, "--output", output],
        ] {
            let done = folder.run(command);
            let is_said = done
                .err
                .contains(&format!("the name shows {format}; choose a name"))
                && done.err.contains("`arrow-shard convert`");
            assert!(done.code == 2 && is_said, "{command:?}: {}", done.err);
        }
    }
    assert_eq!(folder.names(), before);
    // Names without a format, and of shards, are taken.
    for output in ["plain", "y.shard"] {
        folder.run(&["pack", A, output]).ok();
    }
}

#[test]
fn a_merged_shard_replaces_another_file_with_force_only() {
    let folder = shards();
    fs::write(folder.path(M), "mine").unwrap();
    let merge = ["merge", A, B, "--output", M];
    for dry in [&[][..], &["--dry-run"]] {
        let error = folder.run(&[&merge[..], dry].concat()).error(1);
        assert!(error.contains("replace it with --force"), "{error}");
    }
    assert_eq!(fs::read(folder.path(M)).unwrap(), b"mine");
    let forced = [&merge[..], &["--force"]].concat();
    let said = folder.run(&[&forced[..], &["--dry-run"]].concat()).ok();
    assert_eq!(said, "m.amudai.shard would have 12 rows\n");
    assert_eq!(fs::read(folder.path(M)).unwrap(), b"mine");
    folder.run(&forced).ok();
    assert_eq!(rows(&folder, M).len(), 12);
    // A merged shard over another one, which other shards do not refer to.
    folder.run(&["merge", B, "-o", M, "--force"]).ok();
    assert_eq!(rows(&folder, M), rows(&folder, B));
    folder.run(&["verify", M, A, B]).ok();
    for dry in [&[][..], &["--dry-run"]] {
        let onto = ["merge", A, B, "-o", A, "--force"];
        let error = folder.run(&[&onto[..], dry].concat()).error(1);
        assert!(error.contains("append the others"), "{error}");
    }
    assert_eq!(rows(&folder, A).len(), 10);
    let error = folder.run(&["set", A, "a=b", "-o", M]).error(1);
    assert!(
        error.contains("choose another name, or delete it"),
        "{error}"
    );
}
