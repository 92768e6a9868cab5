//! `tail` and `sample`

use super::{NAMES, all_formats, flights, write};
use crate::Folder;

fn csv_ids(folder: &Folder, arguments: &[&str]) -> Vec<i64> {
    let options = ["--format", "csv", "--columns", "id"];
    let shown = folder.run(&[arguments, &options].concat()).ok();
    let mut lines = shown.lines();
    assert_eq!(lines.next(), Some("id"));
    lines.map(|line| line.parse().unwrap()).collect()
}

#[test]
fn the_last_rows_of_every_format_are_printed() {
    let folder = all_formats(&flights(0, 20_000));
    for name in NAMES {
        let ids = |options: &[&str]| csv_ids(&folder, &[&["tail", name], options].concat());
        assert_eq!(ids(&[]), (19_990..20_000).collect::<Vec<_>>(), "{name}");
        assert_eq!(ids(&["-n", "2"]), [19_998, 19_999], "{name}");
        assert_eq!(ids(&["-n", "30000"]).len(), 20_000, "{name}");
        assert!(ids(&["-n", "0"]).is_empty(), "{name}");
        let some = ["-n", "3", "--filter", "origin = 'LIM' AND id < 19990"];
        assert_eq!(ids(&some), [19_981, 19_984, 19_987], "{name}");
        // Rows that match are spread over more than a batch.
        let spread = ["-n", "3", "--filter", "id IN (1, 9000, 19000)"];
        assert_eq!(ids(&spread), [1, 9000, 19_000], "{name}");
    }
    let csv = std::fs::read(folder.path("t.csv")).unwrap();
    let piped = folder.pipe(&["tail", "-n", "1", "--from", "csv", "--json", "-"], &csv);
    assert!(piped.ok().contains("\"id\":19999,"));
}

#[test]
fn the_last_rows_of_several_files_are_those_of_the_last_file_first() {
    let folder = Folder::new();
    write(&folder, "a.shard", &flights(0, 5));
    write(&folder, "b.parquet", &flights(5, 2));
    write(&folder, "c.arrow", &flights(7, 1));
    let files = ["tail", "a.shard", "b.parquet", "c.arrow", "-n"];
    let ids = |rows: &str| csv_ids(&folder, &[&files[..], &[rows]].concat());
    assert_eq!(ids("1"), [7]);
    assert_eq!(ids("4"), [4, 5, 6, 7]);
    assert_eq!(ids("100"), (0..8).collect::<Vec<_>>());
    folder.run(&["delete", "a.shard", "--rows", "4"]).ok();
    assert_eq!(ids("4"), [3, 5, 6, 7]);
}

#[test]
fn a_sample_is_the_same_for_a_seed_in_every_format() {
    let folder = all_formats(&flights(0, 20_000));
    let ids = |name: &str, seed: &str| csv_ids(&folder, &["sample", "50", name, "--seed", seed]);
    let sample = ids("t.shard", "7");
    assert_eq!(sample.len(), 50);
    assert!(sample.is_sorted_by(|a, b| a < b), "{sample:?}");
    assert!(sample[0] < 4000 && sample[49] >= 16_000, "{sample:?}");
    for name in NAMES {
        assert_eq!(ids(name, "7"), sample, "{name}");
        assert_ne!(ids(name, "8"), sample, "{name}");
    }
    // Without a seed, two runs agree with a probability of less than 1 in 10^100.
    let random = || csv_ids(&folder, &["sample", "50", "t.shard"]);
    assert_ne!(random(), random());
}

#[test]
fn only_rows_that_match_and_exist_are_sampled() {
    let folder = Folder::new();
    write(&folder, "a.shard", &flights(0, 100));
    write(&folder, "b.parquet", &flights(100, 100));
    let files = ["sample", "1000", "a.shard", "b.parquet"];
    assert_eq!(csv_ids(&folder, &files), (0..200).collect::<Vec<_>>());
    let filter = ["--filter", "origin = 'LIM' AND id > 90"];
    let all = csv_ids(&folder, &[&files[..], &filter].concat());
    assert_eq!(all.len(), 37, "{all:?}");
    let few = ["sample", "4", "a.shard", "b.parquet", "--seed", "1"];
    let few = csv_ids(&folder, &[&few[..], &filter].concat());
    assert!(few.len() == 4 && few.iter().all(|id| all.contains(id)));
    folder
        .run(&["delete", "a.shard", "--where", "id < 95"])
        .ok();
    let left = csv_ids(&folder, &["sample", "10", "a.shard"]);
    assert_eq!(left, [95, 96, 97, 98, 99]);
    assert!(csv_ids(&folder, &["sample", "0", "a.shard"]).is_empty());
    let error = folder.run(&["sample", "many", "a.shard"]);
    assert_eq!(error.code, 2);
}

#[test]
fn a_sample_is_written_in_the_format_of_its_name() {
    let folder = Folder::new();
    write(&folder, "a.shard", &flights(0, 100));
    write(&folder, "b.parquet", &flights(100, 100));
    let sample = ["sample", "20", "--seed", "3", "a.shard", "b.parquet"];
    let printed = folder
        .run(&[&sample[..], &["--format", "csv"]].concat())
        .ok();
    for name in ["s.parquet", "s.amudai.shard", "s.arrow", "s.csv.gz"] {
        let written = folder.run(&[&sample[..], &["-o", name]].concat());
        assert_eq!(written.err, format!("{name}: 20 rows\n"));
        assert_eq!(written.ok(), "");
        let read = folder.run(&["cat", name, "--format", "csv"]).ok();
        assert_eq!(read, printed, "{name}");
    }
    let again = [&sample[..], &["-o", "s.parquet"]].concat();
    assert!(folder.run(&again).error(1).contains("--force"));
    folder.run(&[&again[..], &["--force"]].concat()).ok();
    let quiet = folder.run(&[&again[..], &["-fq"]].concat());
    assert_eq!((quiet.code, quiet.err), (0, String::new()));
    folder
        .run(&["sample", "2", "s.csv.gz", "-fo", "s.csv.gz"])
        .ok();
    assert_eq!(folder.run(&["count", "s.csv.gz"]).ok(), "2\n");
    // The rows of a shard that was edited are in a file of its own.
    folder
        .run(&["delete", "-q", "a.shard", "--where", "id < 5"])
        .ok();
    let names = std::fs::read_dir(folder.path("")).unwrap();
    let rows = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .find(|name| name.ends_with(".amudai.stripe"))
        .unwrap();
    let over = ["sample", "2", "a.shard", "--force", "--output", &rows];
    assert!(folder.run(&over).code > 0);
    assert_eq!(folder.run(&["count", "a.shard"]).ok(), "95\n");
    for (option, code) in [
        (&["--json"][..], 2),
        (&["--format", "csv"], 2),
        (&["--full"], 2),
    ] {
        let both = [&sample[..], &["-o", "other.csv"], option].concat();
        assert_eq!(folder.run(&both).code, code, "{option:?}");
    }
    assert_eq!(folder.run(&["sample", "2", "a.shard", "--force"]).code, 2);
    assert_eq!(
        folder.run(&["sample", "2", "a.shard", "-o", "s.txt"]).code,
        2
    );
}

#[test]
fn json_is_short_for_its_format() {
    let folder = Folder::new();
    write(&folder, "t.shard", &flights(0, 3));
    for command in ["head", "cat", "tail"] {
        let long = folder.run(&[command, "t.shard", "--format", "json"]).ok();
        assert_eq!(folder.run(&[command, "t.shard", "--json"]).ok(), long);
        assert_eq!(long.lines().count(), 3);
    }
    let both = ["head", "t.shard", "--json", "--format", "csv"];
    assert_eq!(folder.run(&both).code, 2);
    let width = folder.run(&["head", "t.shard", "--json", "--full"]);
    assert!(width.error(2).contains("--full applies only to tables"));
}
