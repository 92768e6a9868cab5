//! Every command says and does the same with local files and with objects of a store.

use super::cloud::Cloud;
use std::fs;

const STORE: &str = "s3://shards/";

/// A local folder and a store with the same files: two days as shards in this layout, and as Parquet.
fn cloud(layout: &str) -> Option<Cloud> {
    let cloud = Cloud::start(2)?;
    for name in ["days", "raw"] {
        fs::create_dir(cloud.folder.path(name)).unwrap();
    }
    for day in [1, 2] {
        let mut text = "id,city,x\n".to_owned();
        for row in 0..200 {
            let id = day * 150 + row;
            let city = ["Oslo", "Lima", ""][row % 3];
            text += &format!("{id},{city},{}.5\n", row % 7);
        }
        fs::write(cloud.folder.path("day.csv"), text).unwrap();
        for file in [
            format!("days/{day}.amudai.shard"),
            format!("raw/{day}.parquet"),
        ] {
            for place in ["", STORE] {
                let target = format!("{place}{file}");
                let layout: &[&str] = match file.ends_with(".shard") {
                    true => &["--layout", layout],
                    false => &[],
                };
                let convert = ["convert", "-q", "day.csv", &target];
                cloud.run(&[&convert, layout].concat()).ok();
            }
        }
    }
    Some(cloud)
}

/// Runs a command over the local files, and again over the objects; `@` stands for the folder. The output must be the
/// same, and is returned.
fn both(cloud: &Cloud, command: &[&str]) -> String {
    let [local, remote] = ["", STORE].map(|place| {
        let arguments: Vec<String> = command.iter().map(|it| it.replace('@', place)).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let done = cloud.run(&arguments);
        let said = format!("{}{}", done.err, done.text());
        let lines: Vec<String> = said.lines().filter_map(comparable).collect();
        (done.code, lines.join("\n"))
    });
    assert_eq!(local, remote, "{command:?}");
    assert_eq!(local.0, 0, "{command:?}: {}", local.1);
    local.1
}

/// Returns what a line says of both places. Times and second names differ, so do bytes of directories, which hold the
/// names of files; columns are as wide as the longest name.
fn comparable(line: &str) -> Option<String> {
    if line.contains("created") || line.contains("second name") {
        return None;
    }
    let line = match line.split_once("; ") {
        Some((said, bytes)) if bytes.ends_with(" were written") => said,
        _ => line,
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    Some(words.join(" ").replace(STORE, ""))
}

#[test]
fn commands_that_look_say_the_same_of_a_store() {
    let Some(cloud) = cloud("single-file") else {
        return;
    };
    for inputs in [
        "@days/1.amudai.shard",
        "@days/*.amudai.shard",
        "@days",
        "@days/",
        "@raw/2.parquet",
        "@raw/*.parquet",
        "@raw",
    ] {
        for command in [
            &["info"][..],
            &["count"],
            &["count", "--by-file", "--filter", "city IS NULL AND x > 3"],
            &["head", "-n", "3"],
            &["tail", "-n", "3", "--format", "json"],
            &["sample", "4", "--seed", "7"],
            &["cat", "--filter", "id BETWEEN 300 AND 305"],
            &["stats"],
            &["stats", "--json"],
            &["schema"],
        ] {
            let said = both(&cloud, &[command, &[inputs]].concat());
            assert!(!said.is_empty(), "{command:?} {inputs}");
        }
    }
    for command in [
        &["verify", "@days/*.shard"][..],
        &["verify", "@days"],
        &["ls", "@days"],
        &["ls", "@days/*.shard"],
        &["inspect", "@days/1.amudai.shard"],
        &["diff", "@days/1.amudai.shard", "@raw/1.parquet"],
        &["diff", "@days/", "@raw/"],
    ] {
        both(&cloud, command);
    }
    for command in [
        &["convert", "-q", "@days/", "@a.shard", "--sort", "-id"][..],
        &[
            "convert",
            "-q",
            "@raw/*.parquet",
            "@all.csv.gz",
            "--limit",
            "77",
        ],
    ] {
        both(&cloud, command);
        both(&cloud, &["cat", "--format", "csv", command[3]]);
    }
    let sample = ["sample", "9", "@days/", "--seed", "5"];
    both(&cloud, &[&sample[..], &["--output", "@s.parquet"]].concat());
    both(&cloud, &["cat", "--format", "csv", "@s.parquet"]);
}

#[test]
fn commands_that_change_do_the_same_in_a_store() {
    // In a store, an object with rows is not replaced.
    let Some(cloud) = cloud("two-level") else {
        return;
    };
    fs::write(
        cloud.folder.path("new.csv"),
        "x,id\n9,151\n8,349\n7,1000\n,\n",
    )
    .unwrap();
    fs::write(
        cloud.folder.path("price.csv"),
        "price\n".to_owned() + &"2\n".repeat(404),
    )
    .unwrap();
    let day = "@days/1.amudai.shard";
    for (command, rows) in [
        (&["append", day, "new.csv", "@raw/2.parquet"][..], 404),
        (&["add", day, "--values", "price.csv"], 404),
        (&["upsert", "--key", "id", day, "new.csv"], 401),
        (&["dedupe", "--key", "id", "--keep", "last", day], 352),
        (&["undelete", day, "--rows", "1"], 353),
        (&["set", day, "owner=o"], 353),
        (&["select", day, "--drop", "x"], 353),
        (
            &[
                "delete",
                "--where",
                "id BETWEEN 300 AND 320",
                "@days/*.amudai.shard",
            ],
            332,
        ),
        (
            &[
                "compact",
                day,
                "--max-deleted",
                "0.01",
                "--output",
                "@days/a.shard",
            ],
            332,
        ),
        (&["pack", "@days/a.shard", day, "--force"], 332),
        (&["merge", "@days/*.amudai.shard", "-o", "@a.shard"], 511),
        (&["attach", "-o", "@raw.a.shard", "@raw/*.parquet"], 400),
    ] {
        both(&cloud, command);
        let made = command
            .iter()
            .rfind(|it| it.ends_with("a.shard") || it.ends_with("1.amudai.shard"));
        let changed = made.unwrap_or(&day);
        both(&cloud, &["verify", changed]);
        assert_eq!(
            both(&cloud, &["count", changed]),
            rows.to_string(),
            "{command:?}"
        );
        both(&cloud, &["cat", "--format", "csv", changed]);
    }
    let days = both(&cloud, &["cat", "--format", "csv", "@days/*.amudai.shard"]);
    for place in ["", STORE] {
        let vacuum = [
            "vacuum",
            "--min-age",
            "0",
            "--remove",
            &format!("{place}days"),
        ];
        let removed = cloud.run(&vacuum).ok();
        assert!(removed.ends_with(" removed\n"), "{removed}");
    }
    both(&cloud, &["verify", "@days"]);
    let kept = both(&cloud, &["cat", "--format", "csv", "@days/*.amudai.shard"]);
    assert_eq!(kept, days);
}

#[test]
fn folders_of_a_store_give_the_columns_of_local_ones() {
    let Some(cloud) = cloud("two-level") else {
        return;
    };
    for place in ["", STORE] {
        // The name of the folder is `city=S%C3%A3o`, which a URL escapes.
        let escaped = if place.is_empty() {
            "S%C3%A3o"
        } else {
            "S%25C3%25A3o"
        };
        let file = format!("{place}lake/city={escaped}/a.parquet");
        if place.is_empty() {
            for name in ["city=S%C3%A3o", "city=Rom"] {
                fs::create_dir_all(cloud.folder.path(&format!("lake/{name}"))).unwrap();
            }
        }
        let other = format!("{place}lake/city=Rom/a.parquet");
        for file in [&file, &other] {
            let convert = ["convert", "-q", "day.csv", file, "--columns", "id,x"];
            cloud.run(&convert).ok();
        }
    }
    let filter = ["count", "--hive", "--filter", "city = 'S\u{e3}o'", "@lake/"];
    assert_eq!(both(&cloud, &filter), "200");
    both(
        &cloud,
        &["attach", "@lake/", "--hive", "-o", "@l.amudai.shard"],
    );
    let filter = ["count", "--filter", "city = 'S\u{e3}o'", "@l.amudai.shard"];
    assert_eq!(both(&cloud, &filter), "200");
    both(&cloud, &["cat", "--format", "csv", "@l.amudai.shard"]);
    // Shards that several arguments name are checked and changed once.
    let twice = ["verify", "@days/1.amudai.shard", "@days/", "@days/*.shard"];
    assert_eq!(both(&cloud, &twice).lines().count(), 2);
    let twice = [
        "delete",
        "--where",
        "id < 160",
        "--dry-run",
        "@days/*",
        "@days/1.amudai.shard",
    ];
    assert!(both(&cloud, &twice).ends_with("10 rows in 1 of 2 shards would be deleted"));
}

#[test]
fn rows_that_are_not_committed_leave_nothing_in_a_store() {
    let Some(cloud) = cloud("two-level") else {
        return;
    };
    let names = || -> Vec<String> {
        let listed = cloud.moto.request("GET /shards");
        let names = listed.split("<Key>").skip(1);
        let name = |rest: &str| rest.split("</Key>").next().unwrap_or_default().to_owned();
        names.map(name).collect()
    };
    let before = names();
    let day = "s3://shards/days/1.amudai.shard";
    fs::write(cloud.folder.path("new.csv"), "id,x\n1,1\n1,2\n").unwrap();
    fs::write(cloud.folder.path("bad.csv"), "id,x\n1,1\n2,oslo\n").unwrap();
    cloud.run(&["append", day, "new.csv", "--dry-run"]).ok();
    let upsert = ["upsert", "--key", "id", day, "new.csv"];
    let error = cloud.run(&upsert).error(1);
    assert!(error.contains("have the same key"), "{error}");
    let error = cloud.run(&["append", day, "bad.csv"]).error(1);
    assert!(error.contains("`x`"), "{error}");
    assert_eq!(names(), before);
    let other = "s3://shards/days/3.amudai.shard";
    let append = ["append", day, "new.csv", "--output", other];
    cloud.run(&append).ok();
    assert_eq!(cloud.run(&["count", other]).ok(), "202\n");
    // The directory, and the file with the new rows, which is not listed.
    let listed = cloud.run(&["ls", "s3://shards/days"]).ok();
    assert_eq!(listed.lines().count(), 5, "{listed}");
    assert_eq!(names().len(), before.len() + 2);
    // Nothing is written if the output exists.
    let after = names();
    let error = cloud.run(&append).error(1);
    assert!(error.contains("exists"), "{error}");
    assert_eq!(names(), after);
}
