//! Numbered outputs, columns of folders, dry runs, and the content of standard input.

use super::Folder;
use super::data::plain;
use std::fs;

fn csv(folder: &Folder, arguments: &[&str]) -> String {
    folder
        .run(&[&["cat", "--format", "csv"], arguments].concat())
        .ok()
}

#[test]
fn outputs_are_numbered_and_hold_the_rows_in_order() {
    let folder = Folder::with(&plain(2_500));
    let all = csv(&folder, &["t.arrow"]);
    fs::create_dir(folder.path("out")).unwrap();
    for suffix in ["amudai.shard", "parquet", "csv.gz", "ndjson", "arrow"] {
        let output = format!("out/t.{suffix}");
        let done = folder.run(&["convert", "--rows-per-file", "1000", "t.arrow", &output]);
        assert!(
            done.err
                .contains(&format!("out/t-00003.{suffix}: 2500 rows")),
            "{}",
            done.err
        );
        let parts = [1, 2, 3].map(|number| format!("out/t-0000{number}.{suffix}"));
        assert_eq!(csv(&folder, &[&parts[1]]).lines().count(), 1001, "{suffix}");
        assert_eq!(csv(&folder, &["out"]), all, "{suffix}");
        let error = folder
            .run(&["convert", "--rows-per-file", "1000", "t.arrow", &output])
            .error(1);
        assert!(
            error.contains(&parts[0]) && error.contains("--force"),
            "{error}"
        );
        let fewer = [
            "convert",
            "--force",
            "--rows-per-file",
            "2000",
            "t.arrow",
            &output,
        ];
        let done = folder.run(&fewer);
        assert!(
            done.code == 0 && done.err.contains(&format!("note: {}", parts[2])),
            "{}",
            done.err
        );
        fs::remove_file(folder.path(&parts[0])).unwrap();
        // A later output of an earlier conversion is found before anything is written.
        let error = folder
            .run(&["convert", "--rows-per-file", "1000", "t.arrow", &output])
            .error(1);
        assert!(error.contains(&parts[1]), "{error}");
        assert!(!folder.path(&parts[0]).exists());
        for part in &parts[1..] {
            fs::remove_file(folder.path(part)).unwrap();
        }
    }
    fs::write(
        folder.path("bad.csv"),
        format!("a\n{}x\n", "1\n".repeat(250)),
    )
    .unwrap();
    let error = folder
        .run(&[
            "convert",
            "--schema-rows",
            "5",
            "--rows-per-file",
            "100",
            "bad.csv",
            "bad.parquet",
        ])
        .error(1);
    assert!(error.contains("bad.csv"), "{error}");
    let error = folder
        .run(&[
            "convert",
            "--rows-per-file",
            "5",
            "t.arrow",
            "-",
            "--to",
            "csv",
        ])
        .error(2);
    assert!(error.contains("--rows-per-file"), "{error}");
    // An input without rows is one output without rows.
    folder
        .run(&[
            "convert",
            "--rows-per-file",
            "5",
            "t.arrow",
            "none.csv",
            "--limit",
            "0",
        ])
        .ok();
    assert_eq!(csv(&folder, &["none-00001.csv"]), "id,name,size,flag\n");
}

#[test]
fn an_error_says_how_many_outputs_are_complete() {
    let folder = Folder::new();
    fs::write(folder.path("a.csv"), format!("a\n{}", "1\n".repeat(250))).unwrap();
    fs::write(folder.path("b.csv"), "a\n9007199254740993\n").unwrap();
    let arguments = [
        "convert",
        "--rows-per-file",
        "100",
        "a.csv",
        "b.csv",
        "out.csv",
        "--cast",
        "a=float64",
    ];
    fs::write(folder.path("b.csv"), "a\nx\n").unwrap();
    let error = folder.run(&arguments).error(1);
    assert!(
        error.contains("b.csv: column `a`, row 0, `x`")
            && error.contains("(2 files before it are complete)"),
        "{error}"
    );
    assert_eq!(
        folder.names(),
        ["a.csv", "b.csv", "out-00001.csv", "out-00002.csv"]
    );
}

#[test]
fn folders_give_columns_on_request() {
    let folder = Folder::new();
    for (path, text) in [
        ("lake/year=2023/city=Oslo/a.csv", "n\n1\n"),
        ("lake/year=2024/city=S%C3%A3o/b.ndjson", "{\"n\":2}\n"),
        (
            "lake/year=2024/city=__HIVE_DEFAULT_PARTITION__/c.csv",
            "n\n3\n",
        ),
    ] {
        fs::create_dir_all(folder.path(path).parent().unwrap()).unwrap();
        fs::write(folder.path(path), text).unwrap();
    }
    let rows = |options: &[&str]| csv(&folder, &[&["lake"], options].concat());
    assert_eq!(rows(&[]), "n\n1\n2\n3\n");
    assert_eq!(
        rows(&["--hive"]),
        "n,year,city\n1,2023,Oslo\n2,2024,São\n3,2024,\n"
    );
    assert_eq!(
        rows(&["--hive", "--columns", "city,n"]),
        "city,n\nOslo,1\nSão,2\n,3\n"
    );
    assert_eq!(
        rows(&["--hive", "--filter", "year = 2024 AND n < 3"]),
        "n,year,city\n2,2024,São\n"
    );
    folder
        .run(&[
            "convert",
            "--hive",
            "lake",
            "out.arrow",
            "--cast",
            "year=int16",
        ])
        .ok();
    assert_eq!(
        folder.run(&["schema", "out.arrow"]).ok(),
        "n: Int64\nyear: Int16\ncity: Utf8\n"
    );
    let one = csv(&folder, &["--hive", "lake/year=2023/city=Oslo/a.csv"]);
    assert_eq!(one, "n,year,city\n1,2023,Oslo\n");
    fs::write(folder.path("lake/year=2024/d.csv"), "n,year\n1,2\n").unwrap();
    let error = folder.run(&["cat", "--hive", "lake"]).error(1);
    assert!(
        error.contains("d.csv") && error.contains("`year`"),
        "{error}"
    );
}

#[test]
fn a_dry_run_shows_what_is_read_and_written() {
    let folder = Folder::with(&plain(100));
    fs::create_dir(folder.path("in")).unwrap();
    folder.run(&["convert", "t.arrow", "in/a.shard"]).ok();
    fs::write(folder.path("in/b.csv"), "id,extra\n1,x\n").unwrap();
    let before = folder.names();
    let shown = folder
        .run(&["convert", "--dry-run", "in", "out.parquet"])
        .ok();
    assert_eq!(
        shown,
        "reads in/a.shard: shard, 100 rows\nreads in/b.csv: CSV\nwrites out.parquet: Parquet\ncolumns:\n  \
         id: Int64\n  name: Utf8\n  size: Float64\n  flag: Boolean\n  extra: Utf8\n"
    );
    let options = [
        "convert",
        "--dry-run",
        "in",
        "out.parquet",
        "--rows-per-file",
        "10",
        "--columns",
        "id",
    ];
    let shown = folder.run(&options).ok();
    assert!(
        shown.contains("writes out-00001.parquet and so on: Parquet, 10 rows in each\n"),
        "{shown}"
    );
    assert!(shown.ends_with("columns:\n  id: Int64\n"), "{shown}");
    assert_eq!(folder.names(), before);
    let error = folder
        .run(&["convert", "--dry-run", "in", "t.arrow"])
        .error(1);
    assert!(error.contains("--force"), "{error}");
}

#[test]
fn the_content_of_standard_input_shows_its_format() {
    let folder = Folder::with(&plain(100));
    let want = csv(&folder, &["t.arrow"]);
    folder.run(&["convert", "t.arrow", "t.ndjson.gz"]).ok();
    let stream = folder
        .run(&["convert", "t.arrow", "-", "--to", "ipc-stream"])
        .out;
    let json = folder
        .run(&["convert", "t.arrow", "-", "--to", "ndjson"])
        .out;
    let compressed = fs::read(folder.path("t.ndjson.gz")).unwrap();
    for bytes in [stream, json, compressed] {
        assert_eq!(
            folder.pipe(&["cat", "-", "--format", "csv"], &bytes).ok(),
            want
        );
    }
    for bytes in [&b"a\n1\n"[..], b""] {
        let error = folder.pipe(&["cat", "-"], bytes).error(2);
        assert!(error.contains("--from"), "{error}");
    }
}

#[test]
fn a_failed_conversion_leaves_no_folder() {
    let folder = Folder::new();
    fs::write(
        folder.path("bad.csv"),
        format!("a,b\n{}x,y\n", "1,2\n".repeat(20)),
    )
    .unwrap();
    fs::write(folder.path("list.ndjson"), "{\"a\":1,\"l\":[1]}\n").unwrap();
    let names = folder.names();
    for arguments in [
        // The columns do not fit the format.
        &["list.ndjson", "new/lake/part.csv", "--partition-by", "a"][..],
        &[
            "list.ndjson",
            "new/lake",
            "--to",
            "csv",
            "--rows-per-file",
            "5",
        ],
        // A late row does not fit its type.
        &[
            "bad.csv",
            "new/lake",
            "--partition-by",
            "b",
            "--schema-rows",
            "5",
        ],
        &[
            "bad.csv",
            "new/lake",
            "--rows-per-file",
            "50",
            "--schema-rows",
            "5",
        ],
    ] {
        folder.run(&[&["convert"], arguments].concat()).error(1);
        assert_eq!(folder.names(), names, "{arguments:?}");
    }
    // Files that are complete stay, and so do folders that existed.
    fs::write(folder.path("late.csv"), "a,b\n9007199254740993,2\n").unwrap();
    fs::write(
        folder.path("good.csv"),
        format!("a,b\n{}", "1,2\n".repeat(20)),
    )
    .unwrap();
    let arguments = [
        "convert",
        "good.csv",
        "late.csv",
        "new/lake",
        "--cast",
        "a=float64",
    ];
    let error = folder
        .run(&[&arguments[..], &["--rows-per-file", "5"]].concat())
        .error(1);
    assert!(error.contains("before it are complete"), "{error}");
    assert!(folder.path("new/lake/part-00001.amudai.shard").exists());
    fs::create_dir(folder.path("old")).unwrap();
    let arguments = [
        "convert",
        "list.ndjson",
        "old/lake/part.csv",
        "--partition-by",
        "a",
    ];
    folder.run(&arguments).error(1);
    assert_eq!(fs::read_dir(folder.path("old")).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn an_interrupted_conversion_leaves_no_folder() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    use std::time::Duration;
    let folder = Folder::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
        .args(["convert", "--from", "ipc-stream", "-", "new/lake"])
        .args(["--rows-per-file", "100"])
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let batch = plain(10);
    let stdin = child.stdin.take().unwrap();
    let mut rows = arrow_ipc::writer::StreamWriter::try_new(stdin, &batch.schema()).unwrap();
    rows.write(&batch).unwrap();
    rows.flush().unwrap();
    let is_started =
        || fs::read_dir(folder.path("new/lake")).is_ok_and(|mut it| it.next().is_some());
    for _ in 0..600 {
        if is_started() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(is_started());
    let kill = Command::new("kill").arg(child.id().to_string()).status();
    assert!(kill.unwrap().success());
    // The end of the input would end the process, too.
    let ended = child.wait().unwrap();
    drop(rows);
    assert_eq!(ended.signal(), Some(15));
    assert_eq!(folder.names(), [""; 0]);
}
