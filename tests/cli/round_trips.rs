//! What one command writes, another reads back as it was.

use super::Folder;
use std::fs;

fn folder(files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new();
    for (name, text) in files {
        fs::write(folder.path(name), text).unwrap();
    }
    folder
}

#[test]
fn values_that_text_holds_in_forms_of_their_own_come_back() {
    let types = "k int64, b binary, f fixed_size_binary(2), d duration(ms), e date64, n int32";
    let line =
        "{\"k\":1,\"b\":\"00ff\",\"f\":\"0a0B\",\"d\":\"PT1.5S\",\"e\":\"2024-02-29\",\"n\":7}\n";
    let folder = folder(&[("t.ndjson", line)]);
    let convert = ["convert", "-q", "t.ndjson", "t.shard", "--schema", types];
    folder.run(&convert).ok();
    let stored = folder.run(&["cat", "t.shard", "--json"]).ok();
    for name in ["a.csv", "a.ndjson"] {
        folder.run(&["convert", "-q", "t.shard", name]).ok();
        let read = folder.run(&["cat", name, "--json", "--schema", types]).ok();
        assert_eq!(read, stored, "{name}");
        let diff = folder.run(&["diff", "t.shard", name, "--schema", types]);
        assert_eq!(diff.code, 0, "{name}: {}{}", diff.text(), diff.err);
        folder
            .run(&["upsert", "-q", "t.shard", "--key", "k", name])
            .ok();
        folder.run(&["append", "-q", "t.shard", name]).ok();
        let all = folder.run(&["cat", "t.shard", "--json"]).ok();
        assert!(all.lines().all(|line| line == stored.trim_end()), "{all}");
        folder.run(&["dedupe", "-q", "t.shard", "--key", "k"]).ok();
    }
    for (cast, why) in [
        ("b=binary", "hexadecimal"),
        ("b=duration(s)", "such as PT1.5S"),
        ("b=date64", "not a value"),
    ] {
        fs::write(folder.path("x.csv"), "b\nhi\n").unwrap();
        let refused = folder.run(&["cat", "x.csv", "--cast", cast]).error(1);
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn integers_with_a_point_are_integers() {
    let folder = folder(&[("a.csv", "n,m\n1.0,1\n,2\n-3.,3\n"), ("b.csv", "n\n1.5\n")]);
    let cast = ["--cast", "n=int32", "--json"];
    let read = folder.run(&[&["cat", "a.csv"][..], &cast].concat()).ok();
    let lines: Vec<&str> = read.lines().collect();
    let numbers = ["1", "null", "-3"];
    for (line, number) in lines.iter().zip(numbers) {
        assert!(line.starts_with(&format!("{{\"n\":{number},")), "{read}");
    }
    let refused = folder.run(&[&["cat", "b.csv"][..], &cast].concat());
    assert!(refused.error(1).contains("not a value of Int32"));
}

#[test]
fn nested_types_are_written_only_as_deep_as_they_are_read() {
    let nested = |levels: usize| format!("{}1{}\n", "{\"a\":".repeat(levels), "}".repeat(levels));
    let folder = folder(&[("ok.ndjson", &nested(61)), ("deep.ndjson", &nested(62))]);
    for name in ["t.parquet", "t.arrow", "t.arrows"] {
        folder.run(&["convert", "-q", "ok.ndjson", name]).ok();
        assert_eq!(folder.run(&["count", name]).ok(), "1\n");
        let refused = folder.run(&["convert", "-qf", "deep.ndjson", name]);
        let refused = refused.error(1);
        assert!(refused.contains("more than 61 levels deep"), "{refused}");
        assert_eq!(folder.run(&["count", name]).ok(), "1\n");
    }
}

#[test]
fn a_schema_may_be_a_table_of_another_format_and_have_odd_names() {
    let folder = folder(&[("data.txt", "a: b, c,\"q\"\"\"\n1,2,3\n")]);
    let from = ["--from", "csv"];
    let convert = [
        "convert",
        "-q",
        "data.txt",
        "s.parquet",
        "--cast",
        "a: b=int16",
    ];
    folder.run(&[&convert[..], &from].concat()).ok();
    let printed = folder.run(&["schema", "s.parquet"]).ok();
    fs::write(folder.path("s.txt"), &printed).unwrap();
    for schema in ["s.parquet", "s.txt"] {
        let command = ["schema", "data.txt", "--schema", schema];
        let read = folder.run(&[&command[..], &from].concat()).ok();
        assert_eq!(read, printed, "{schema}");
    }
}

#[test]
fn a_name_of_two_columns_is_never_read_as_one_of_them() {
    let folder = folder(&[("dup.csv", "a,a\n1,2\n"), ("other.csv", "a\n1\n")]);
    for command in [
        &["cat", "dup.csv", "--columns", "a"][..],
        &["convert", "dup.csv", "x.parquet", "--columns", "a"],
        &["diff", "dup.csv", "other.csv", "--columns", "a"],
    ] {
        let refused = folder.run(command).error(2);
        assert!(refused.contains("2 columns are named `a`"), "{refused}");
    }
    assert!(!folder.path("x.parquet").exists());
}

#[test]
fn a_column_of_one_file_and_of_the_folder_of_another_is_refused() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("mix/k=5")).unwrap();
    fs::write(folder.path("mix/a.csv"), "k,v\n1,10\n").unwrap();
    fs::write(folder.path("mix/k=5/b.csv"), "v\n20\n").unwrap();
    for command in [
        &["schema", "mix", "--hive"][..],
        &["cat", "mix", "--hive"],
        &["cat", "mix", "--hive", "--filter", "k = 5"],
    ] {
        let refused = folder.run(command).error(1);
        let why = "a.csv: column `k` is in the file and in the name of the folder of mix/k=5/b.csv";
        assert!(refused.contains(why), "{command:?}: {refused}");
    }
    fs::remove_file(folder.path("mix/a.csv")).unwrap();
    let read = folder.run(&["cat", "mix", "--hive", "--json"]).ok();
    assert_eq!(read, "{\"v\":20,\"k\":5}\n");
    // A merged shard does not have the values of the folders of its parts.
    folder
        .run(&["convert", "-q", "mix/k=5/b.csv", "mix/k=5/b.shard"])
        .ok();
    let merged = folder.run(&["merge", "mix/k=5/b.shard", "-o", "mix/all.shard"]);
    assert!(
        merged.err.contains("such as `k=5`, are not columns"),
        "{}",
        merged.err
    );
}

#[test]
fn a_time_beyond_the_calendar_is_shown_as_its_number() {
    let line = "{\"t\":9089380393200000000,\"d\":2000000000}\n";
    let folder = folder(&[("t.ndjson", line)]);
    // As numbers first: no text is such a time.
    folder.run(&["convert", "-q", "t.ndjson", "n.parquet"]).ok();
    let cast = ["--cast", "t=timestamp(us),d=int32"];
    folder
        .run(&[&["convert", "-q", "n.parquet", "i.shard"][..], &cast].concat())
        .ok();
    let cast = ["--cast", "d=date32"];
    folder
        .run(&[&["convert", "-q", "i.shard", "t.shard"][..], &cast].concat())
        .ok();
    for options in [&[][..], &["--json"], &["--scan"]] {
        let shown = folder
            .run(&[&["stats", "t.shard"][..], options].concat())
            .ok();
        for number in ["9089380393200000000", "2000000000"] {
            assert!(shown.contains(number), "{options:?}: {shown}");
        }
    }
}
