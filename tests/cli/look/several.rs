//! `head` and `tail` as in other programs: `-5`, and several files.

use super::{flights, write};
use crate::Folder;

fn folder() -> Folder {
    let folder = Folder::new();
    write(&folder, "a.shard", &flights(0, 20));
    write(&folder, "b.parquet", &flights(20, 20));
    folder
}

#[test]
fn a_number_after_a_hyphen_is_a_number_of_rows() {
    let folder = folder();
    for command in ["head", "tail"] {
        for (short, rows) in [("-3", "3"), ("-0", "0"), ("-15", "15")] {
            let want = folder.run(&[command, "-n", rows, "a.shard"]).ok();
            for arguments in [[command, short, "a.shard"], [command, "a.shard", short]] {
                assert_eq!(folder.run(&arguments).ok(), want, "{arguments:?}");
            }
        }
        let help = folder.run(&[command, "--help"]).ok();
        assert!(help.contains("`-5` is short for `-n 5`"), "{help}");
        let twice = folder.run(&[command, "-3", "-n", "4", "a.shard"]);
        assert!(
            twice.code == 2 && twice.err.contains("--rows"),
            "{}",
            twice.err
        );
    }
    // After `--` it is a file, and other commands have no such option.
    let file = folder.run(&["head", "--", "-3"]).error(1);
    assert!(file.starts_with("-3: "), "{file}");
    assert_eq!(folder.run(&["cat", "-3", "a.shard"]).code, 2);
}

#[test]
fn a_table_is_printed_for_each_input_under_its_name() {
    let folder = folder();
    for command in ["head", "tail"] {
        for format in ["table", "vertical"] {
            let options = [command, "-2", "--format", format];
            let one = |file: &str| folder.run(&[&options[..], &[file]].concat()).ok();
            let (a, b) = (one("a.shard"), one("b.parquet"));
            let both = folder.run(&[&options[..], &["a.shard", "b.parquet"]].concat());
            let want = format!("==> a.shard <==\n{a}\n==> b.parquet <==\n{b}");
            assert_eq!(both.ok(), want, "{command} {format}");
        }
        // The files of a glob are one table, without a name.
        let glob = folder.run(&[command, "-30", "*.*"]).ok();
        assert!(!glob.contains("==>"), "{glob}");
        let missing = folder.run(&[command, "a.shard", "none.shard"]);
        assert!(!missing.text().contains("none.shard"), "{command}");
        assert_eq!(missing.code, 1, "{command}");
    }
    // An option has to fit one of the inputs.
    std::fs::write(folder.path("t.csv"), "a;b\n1;2\n").unwrap();
    let options = ["--delimiter", ";"];
    let both = folder.run(&[&["head", "a.shard", "t.csv"][..], &options].concat());
    assert!(both.ok().contains("==> t.csv <=="));
    let none = folder.run(&[&["head", "a.shard", "b.parquet"][..], &options].concat());
    assert!(none.error(2).contains("--delimiter"));
}

#[test]
fn csv_and_json_of_several_inputs_are_one_table() {
    let folder = folder();
    for (command, ids) in [("head", ["0", "1"]), ("tail", ["38", "39"])] {
        let options = [command, "-2", "--columns", "id", "a.shard", "b.parquet"];
        let csv = folder.run(&[&options[..], &["--format", "csv"]].concat());
        assert_eq!(csv.ok(), format!("id\n{}\n{}\n", ids[0], ids[1]));
        let json = folder.run(&[&options[..], &["--json"]].concat()).ok();
        assert_eq!(json.lines().count(), 2, "{json}");
    }
}
