//! The options that `--help` lists.

use super::flights;
use super::write;
use crate::Folder;

/// Returns the options for reading that the help of a command lists.
fn listed(folder: &Folder, command: &str) -> Vec<String> {
    let help = folder.run(&[command, "--help"]).ok();
    let (_, reading) = help.split_once("Options for reading:").unwrap();
    let lines = reading.lines().map(str::trim);
    let options = lines.filter_map(|line| line.strip_prefix("--"));
    let names = options.map(|option| option.split([' ', '=']).next().unwrap().to_owned());
    names.collect()
}

#[test]
fn commands_take_the_options_that_their_help_lists() {
    let folder = Folder::new();
    write(&folder, "u.amudai.shard", &flights(10, 10));
    std::fs::write(folder.path("t.csv"), "id,origin\n1,OSL\n").unwrap();
    std::fs::write(folder.path("n.csv"), "1,OSL\n").unwrap();
    let types = "id int64, origin text";
    folder
        .run(&["convert", "t.csv", "t.amudai.shard", "--schema", types])
        .ok();
    let value = |option: &str| match option {
        "from" => Some("csv"),
        "max-memory" => Some("1G"),
        "external-files" => Some("."),
        "schema-rows" => Some("1"),
        "delimiter" => Some(","),
        "names" => Some("id,origin"),
        "escape" => Some("\\"),
        "null-value" => Some("-"),
        "time-unit" => Some("ms"),
        "decimal" => Some("20,2"),
        "cast" => Some("id=int64"),
        "schema" => Some("id int64, origin text, delay int64, day date32"),
        _ => None,
    };
    for command in ["count", "info", "stats", "append"] {
        let options = listed(&folder, command);
        assert!(
            options.contains(&"from".to_owned()),
            "{command}: {options:?}"
        );
        for option in &options {
            let long = format!("--{option}");
            let mut arguments = vec![command];
            if command == "append" {
                arguments.push("t.amudai.shard");
            }
            // `append` reads a shard in any case.
            let is_for_shards = match option.as_str() {
                "time-unit" | "decimal" => true,
                "max-memory" | "strict" | "external-files" => command != "append",
                _ => false,
            };
            arguments.push(if is_for_shards {
                "u.amudai.shard"
            } else if option == "names" {
                "n.csv"
            } else {
                "t.csv"
            });
            arguments.push(&long);
            arguments.extend(value(option));
            if command == "count" {
                arguments.extend(["--filter", "id > 0"]);
            }
            if option == "no-header" {
                // The names of the columns are others.
                continue;
            }
            folder.run(&arguments).ok();
        }
    }
    for option in [
        "--cast=id=int8",
        "--schema=id int8",
        "--lossy",
        "--unify",
        "--hive",
    ] {
        for command in ["info", "stats"] {
            let done = folder.run(&[command, "t.csv", option]);
            assert_eq!(done.code, 2, "{command} {option}: {}", done.err);
        }
    }
    let error = folder.run(&["count", "t.csv", "--cast=id=int8"]).error(2);
    assert!(
        error.contains("--cast applies only to the columns of a --filter"),
        "{error}"
    );
}
