//! Outputs that are also inputs, and dry runs that fail where a run would.

use super::Folder;
use super::data::{plain, union};
use std::fs;

fn ids(folder: &Folder, file: &str) -> Vec<String> {
    let text = folder
        .run(&["cat", "--format", "csv", "--columns", "id", file])
        .ok();
    text.lines().skip(1).map(str::to_owned).collect()
}

/// Writes `t-00001` and so on with the rows of a range of numbers each.
fn numbered(folder: &Folder, suffix: &str) -> Vec<String> {
    let names = (1..=3).map(|part| format!("t-0000{part}.{suffix}"));
    for (part, name) in (0..).zip(names.clone()) {
        let numbers = (part * 10..(part + 1) * 10).map(|number: i32| format!("{number}\n"));
        let text = format!("id\n{}", numbers.collect::<String>());
        fs::write(folder.path("in.csv"), text).unwrap();
        folder.run(&["convert", "--quiet", "in.csv", &name]).ok();
    }
    fs::remove_file(folder.path("in.csv")).unwrap();
    names.collect()
}

#[test]
fn a_numbered_output_is_none_of_the_inputs_that_are_read_after_it() {
    for suffix in ["csv", "parquet", "amudai.shard", "arrow"] {
        let folder = Folder::new();
        let names = numbered(&folder, suffix);
        let before: Vec<_> = names
            .iter()
            .map(|name| fs::read(folder.path(name)).unwrap())
            .collect();
        let output = format!("t.{suffix}");
        let run = |inputs: &[&str]| {
            let options = ["convert", "--force", "--rows-per-file", "5"];
            folder.run(&[&options[..], inputs, &[&output]].concat())
        };
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        // Only the last part is read, and it would be replaced by the third output.
        for inputs in [&all[..], &all[2..], &["*-0000*"], &["."]] {
            let error = run(inputs).error(1);
            assert!(
                error.contains("the output is one of the") && error.contains("write it elsewhere"),
                "{error}"
            );
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&names[1], folder.path("link")).unwrap();
            let name = format!("link.{suffix}");
            fs::rename(folder.path("link"), folder.path(&name)).unwrap();
            let error = run(&[&name]).error(1);
            assert!(error.contains(&names[1]), "{error}");
        }
        let after: Vec<_> = names
            .iter()
            .map(|name| fs::read(folder.path(name)).unwrap())
            .collect();
        assert_eq!(before, after, "{suffix}");
    }
}

#[test]
fn a_single_output_may_replace_its_input_once_it_is_complete() {
    for suffix in ["csv", "parquet", "amudai.shard", "arrow", "ndjson.gz"] {
        let folder = Folder::new();
        let names = numbered(&folder, suffix);
        let done = folder.run(&["convert", "--force", &names[0], &names[1], &names[0]]);
        done.ok();
        let want: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        assert_eq!(ids(&folder, &names[0]), want, "{suffix}");
    }
}

#[test]
fn files_that_an_input_shard_needs_are_not_replaced() {
    let folder = Folder::new();
    numbered(&folder, "parquet");
    folder
        .run(&["attach", "t-00001.parquet", "-o", "all.amudai.shard"])
        .ok();
    for arguments in [
        &["all.amudai.shard", "t-00001.parquet"][..],
        &["all.amudai.shard", "t.parquet", "--rows-per-file", "5"],
    ] {
        let error = folder
            .run(&[&["convert", "--force"], arguments].concat())
            .error(1);
        assert!(
            error.contains("t-00001.parquet: the output has rows of the input all.amudai.shard"),
            "{error}"
        );
    }
    let layout = [
        "--layout",
        "two-level",
        "t-00001.parquet",
        "two.amudai.shard",
    ];
    folder.run(&[&["convert"], &layout[..]].concat()).ok();
    let stripe = folder
        .names()
        .into_iter()
        .find(|name| name.ends_with(".amudai.stripe"));
    let arguments = ["two.amudai.shard", &stripe.unwrap(), "--to", "parquet"];
    let error = folder
        .run(&[&["convert", "--force"], &arguments[..]].concat())
        .error(1);
    assert!(error.contains("the input two.amudai.shard"), "{error}");
    // The shard itself is replaced when its rows are written.
    let again = ["--force", "--layout", "two-level"];
    folder
        .run(&[&["convert"], &again[..], &["two.amudai.shard"; 2]].concat())
        .ok();
    assert_eq!(ids(&folder, "two.amudai.shard").len(), 10);
}

#[cfg(unix)]
#[test]
fn standard_output_is_none_of_the_files() {
    let folder = Folder::new();
    for name in ["t.csv", "t.ndjson"] {
        let text = if name == "t.csv" {
            "a\n1\n"
        } else {
            "{\"a\":1}\n"
        };
        fs::write(folder.path(name), text).unwrap();
        for command in [
            &["cat", name, "--format", "csv"][..],
            &["convert", name, "-", "--to", "ndjson"],
            &["count", name],
        ] {
            let out = fs::OpenOptions::new().append(true).open(folder.path(name));
            let done = std::process::Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
                .args(command)
                .current_dir(folder.path("."))
                .stdout(out.unwrap())
                .output()
                .unwrap();
            let error = String::from_utf8(done.stderr).unwrap();
            assert_eq!(done.status.code(), Some(1), "{error}");
            assert!(
                error.contains(name) && error.contains("standard output"),
                "{error}"
            );
            assert_eq!(fs::read_to_string(folder.path(name)).unwrap(), text);
        }
    }
}

#[test]
fn a_dry_run_refuses_what_a_run_would_refuse() {
    let folder = Folder::with(&plain(10));
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    folder.run(&["convert", "t.arrow", "t.csv"]).ok();
    let inputs = [
        &["t.arrow"][..],
        &["t.shard"],
        &["t.csv"],
        &["t.csv", "t.shard"],
    ];
    for input in inputs {
        let run = |filter: &str| {
            let options = ["out.parquet", "--columns", "id", "--filter", filter];
            folder.run(&[&["convert", "--dry-run"], input, &options[..]].concat())
        };
        for filter in ["sie > 3", "size >", "name > 3"] {
            let error = run(filter).error(2);
            assert!(error.contains("--filter"), "{input:?}: {error}");
        }
        // The condition may use columns that are not written.
        assert!(run("size > 3").ok().ends_with("columns:\n  id: Int64\n"));
    }
    super::write_ipc(&folder.path("u.arrow"), &union());
    for output in ["out.csv", "out.parquet"] {
        let error = folder.run(&["convert", "--dry-run", "u.arrow", output]);
        assert!(error.error(1).contains("`either`"), "{output}");
    }
    let reference = ["--wire", "reference", "u.arrow", "out.shard"];
    let error = folder.run(&[&["convert", "--dry-run"], &reference[..]].concat());
    assert!(error.error(1).contains("`either`"));
}

#[test]
fn numbered_outputs_go_into_a_folder() {
    let folder = Folder::new();
    fs::write(folder.path("t.csv"), "k,v\na,1\nb,2\na,3\n").unwrap();
    let names = |path: &str| -> Vec<String> {
        let entries = fs::read_dir(folder.path(path)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let convert = |arguments: &[&str]| {
        let arguments = [&["convert", "t.csv"], arguments].concat();
        folder.run(&arguments)
    };
    // Nothing is made for a dry run, or for an input that fails.
    convert(&["lake", "--partition-by", "k", "--dry-run"]).ok();
    convert(&["lake", "--partition-by", "nothing"]).error(2);
    convert(&["lake", "--partition-by", "k"]).ok();
    assert_eq!(names("lake"), ["k=a", "k=b"]);
    assert_eq!(names("lake/k=a"), ["part-00001.amudai.shard"]);
    let count = folder.run(&["count", "--hive", "--filter", "k = 'a'", "lake"]);
    assert_eq!(count.ok().trim(), "2");
    convert(&["parts", "--rows-per-file", "2", "--to", "parquet"]).ok();
    let parts = ["part-00001.parquet", "part-00002.parquet"];
    assert_eq!(names("parts"), parts);
    // The folder may exist.
    let again = ["parts", "--rows-per-file", "2", "--to", "parquet"];
    let error = convert(&again).error(1);
    assert!(error.contains("exists"), "{error}");
    convert(&[&again[..], &["--force"]].concat()).ok();
    assert_eq!(names("parts"), parts);
}

#[cfg(unix)]
#[test]
fn an_output_that_appears_meanwhile_is_replaced_with_force_only() {
    for output in ["t.csv", "t.parquet", "t.amudai.shard"] {
        let folder = Folder::new();
        let pipe = format!(
            "(sleep 0.7; printf mine > {output}; printf 'a\\n1\\n') | \"$0\" convert --from csv - {output}"
        );
        let done = std::process::Command::new("sh")
            .args(["-c", &pipe, env!("CARGO_BIN_EXE_arrow-shard")])
            .current_dir(folder.path("."))
            .output()
            .unwrap();
        let error = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1), "{error}");
        assert!(
            error.contains(output)
                && error.contains("exists; replace it with --force, or choose another name"),
            "{error}"
        );
        assert_eq!(fs::read(folder.path(output)).unwrap(), b"mine");
        assert_eq!(folder.names(), [output]);
    }
}
