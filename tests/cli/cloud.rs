//! URLs in place of paths.

#[path = "../support/moto.rs"]
mod moto;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/server.rs"]
mod server;

use super::data::plain;
use super::{Done, Folder, read_ipc};
use moto::{Moto, SECRET};
use server::Server;
#[cfg(unix)]
use std::process::{Command, Stdio};

/// Runs commands with the environment of the store.
pub(super) struct Cloud {
    pub(super) folder: Folder,
    pub(super) moto: Moto,
}

impl Cloud {
    pub(super) fn start(rows: usize) -> Option<Self> {
        let moto = Moto::start()?;
        Some(Self {
            folder: Folder::with(&plain(rows)),
            moto,
        })
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Done {
        let done = self
            .folder
            .run_with(&self.moto.environment(), arguments, &[]);
        let said = format!("{}{}", done.err, String::from_utf8_lossy(&done.out));
        assert!(
            !said.contains(SECRET) && !said.contains("nobody-sees"),
            "{said}"
        );
        done
    }
}

#[test]
fn key_values_and_columns_are_added_in_s3() {
    let Some(cloud) = Cloud::start(1000) else {
        return;
    };
    let [shard, tagged] = ["t", "tagged"].map(|name| format!("s3://shards/{name}.amudai.shard"));
    cloud
        .run(&["convert", "t.arrow", &shard, "--layout", "two-level"])
        .ok();
    cloud.run(&["delete", &shard, "--rows", "3,999"]).ok();
    cloud
        .run(&["set", &shard, "owner=o", "--output", &tagged])
        .ok();
    let info = cloud.run(&["info", &tagged]).ok();
    assert!(info.contains("owner = o"), "{info}");
    let values = "new\n".to_owned() + &"1\n".repeat(998);
    std::fs::write(cloud.folder.path("v.csv"), values).unwrap();
    let add = ["add", &tagged, "--values", "v.csv"];
    let dry = cloud.run(&[&add[..], &["--dry-run"]].concat()).ok();
    assert!(dry.contains("would have 998 rows"), "{dry}");
    cloud.run(&add).ok();
    let counted = cloud.run(&["count", &tagged, "--filter", "new = 1"]).ok();
    assert_eq!(counted.trim(), "998");
    // An object with rows is not replaced, and this is known before anything is computed.
    let one = "s3://shards/one.amudai.shard";
    cloud.run(&["convert", "t.arrow", one]).ok();
    for dry in [&[][..], &["--dry-run"]] {
        let error = cloud.run(&[&["set", one, "a=b"], dry].concat()).error(1);
        assert!(error.contains("another name"), "{error}");
    }
    let error = cloud
        .run(&["set", one, "a=b", "--output", &tagged])
        .error(1);
    assert!(error.contains("exists"), "{error}");
}

#[test]
fn shards_are_merged_and_changed_in_s3() {
    let Some(cloud) = Cloud::start(1000) else {
        return;
    };
    let url = |name: &str| format!("s3://shards/a b/{name}.amudai.shard");
    let [one, two, all] = ["one", "two", "all"].map(url);
    cloud.run(&["convert", "t.arrow", &one]).ok();
    cloud
        .run(&["convert", "t.arrow", &two, "--layout", "two-level"])
        .ok();
    let said = cloud.run(&["merge", &one, &two, "--output", &all]).ok();
    assert!(said.contains("has 2000 rows in 2 stripes"), "{said}");
    cloud.run(&["delete", &all, "--rows", "3,1999"]).ok();
    let said = cloud
        .run(&["delete", &all, "--rows", "4", "--dry-run"])
        .ok();
    assert!(
        said.ends_with("would have 1997 rows, and 3 rows deleted\n"),
        "{said}"
    );
    cloud.run(&["verify", &all]).ok();
    let shown = cloud.run(&["inspect", &all]).ok();
    assert!(
        shown.contains("1998 rows (2 more are deleted) in 2 stripes"),
        "{shown}"
    );
    // Other shards refer to the rows of this one.
    let error = cloud.run(&["delete", &one, "--rows", "3"]).error(1);
    assert!(error.contains("commit to another name"), "{error}");
    let error = cloud
        .run(&["append", &all, "s3://elsewhere/t.shard"])
        .error(1);
    assert!(error.contains("another store"), "{error}");
    let error = cloud.run(&["append", &all, "t.shard"]).error(1);
    assert!(error.contains("another store"), "{error}");
    let target = url("compact");
    let compact = ["compact", &all, "--output", &target];
    let said = cloud.run(&[&compact[..], &["--dry-run"]].concat()).ok();
    assert!(
        said.ends_with("stripes 0 to 1 would become one or more\n"),
        "{said}"
    );
    let said = cloud.run(&compact).ok();
    assert!(said.contains("has 1998 rows in 1 stripe; "), "{said}");
    cloud.run(&["undelete", &all]).ok();
    let listed = cloud
        .run(&["vacuum", "s3://shards/a b", "--min-age", "0"])
        .ok();
    assert!(listed.contains(".amudai.stripe"), "{listed}");
    // From the root of the store, so all directories are found.
    let remove = ["vacuum", "s3://shards/", "--min-age", "0", "--remove"];
    assert!(cloud.run(&remove).ok().starts_with("a b/"));
    for shard in [&one, &two, &all, &target] {
        cloud.run(&["verify", shard]).ok();
    }
    let lines = cloud
        .run(&["cat", &all, "--format", "csv"])
        .ok()
        .lines()
        .count();
    assert_eq!(lines, 2001);
}

#[test]
fn shards_of_a_folder_in_s3_are_listed_as_those_of_a_local_one() {
    let Some(cloud) = Cloud::start(1000) else {
        return;
    };
    std::fs::create_dir(cloud.folder.path("a b")).unwrap();
    for place in ["a b", "s3://shards/a b"] {
        let path = |name: &str| format!("{place}/{name}");
        let [one, two] = ["1.amudai.shard", "2.amudai.shard"].map(path);
        cloud.run(&["convert", "t.arrow", &one]).ok();
        let more = ["--layout", "two-level", "--stripe-rows", "400"];
        cloud
            .run(&[&["convert", "t.arrow", &two], &more[..]].concat())
            .ok();
        cloud.run(&["delete", &two, "--rows", "3,999"]).ok();
        // Files that are not shards, and shards of other folders, are skipped.
        cloud.run(&["convert", "t.arrow", &path("notes.csv")]).ok();
    }
    let below = "s3://shards/a b/below/3.amudai.shard";
    cloud.run(&["convert", "t.arrow", below]).ok();
    let local = cloud.run(&["ls", "a b"]).ok();
    assert!(
        local.ends_with("2 shards: 1998 rows and 2 deleted in 4 stripes\n"),
        "{local}"
    );
    for url in ["s3://shards/a b", "s3://shards/a b/"] {
        assert_eq!(cloud.run(&["ls", url]).ok(), local);
    }
    let one = "s3://shards/a b/below/3.amudai.shard";
    let root = "s3://shards/4.amudai.shard";
    cloud.run(&["convert", one, root]).ok();
    let listed = cloud.run(&["ls", "s3://shards"]).ok();
    assert!(listed.contains("\n4.amudai.shard"), "{listed}");
    assert!(listed.ends_with("\n1 shard: 1000 rows and 0 deleted in 1 stripe\n"));
    let one = "\n1 shard: 1000 rows and 0 deleted in 1 stripe\n";
    assert!(cloud.run(&["ls", root]).ok().ends_with(one));
    let both = cloud.run(&["ls", "s3://shards/a b/*.shard"]).ok();
    assert!(both.ends_with("2 shards: 1998 rows and 2 deleted in 4 stripes\n"));
    let error = cloud.run(&["ls", "s3://nobody/a"]).error(1);
    assert!(error.contains("list"), "{error}");
}

#[test]
fn copies_in_other_buckets_are_shards_of_their_own() {
    let Some(cloud) = Cloud::start(100) else {
        return;
    };
    assert!(cloud.moto.request("PUT /copies").contains("200 OK"));
    std::fs::create_dir(cloud.folder.path("t")).unwrap();
    let places = ["s3://shards/t", "s3://copies/t", "t"];
    for place in places {
        let path = |name: &str| format!("{place}/{name}.amudai.shard");
        cloud.run(&["convert", "-q", "t.arrow", &path("one")]).ok();
        cloud
            .run(&["merge", "-q", &path("one"), "-o", &path("all")])
            .ok();
    }
    // In each of the folders, the merged shard holds the other one.
    let listed = cloud.run(&[&["ls"], &places[..]].concat()).ok();
    let last = "\n3 shards: 300 rows and 0 deleted in 3 stripes\n";
    assert!(listed.ends_with(last), "{listed}");
    for place in places {
        let held = format!("(in {place}/all.amudai.shard)");
        assert!(listed.contains(&held), "{listed}");
    }
    // One object is asked for by itself, also one with other files.
    for (name, rows) in [("one", 100), ("all", 100)] {
        let url = format!("s3://copies/t/{name}.amudai.shard");
        let text = cloud.run(&["ls", &url, &url]).ok();
        assert!(text.ends_with(&format!("1 shard: {rows} rows and 0 deleted in 1 stripe\n")));
        let size = |text: &str| {
            let line = text.lines().nth(1).unwrap().to_owned();
            line.split_whitespace().nth(4).unwrap().to_owned()
        };
        assert!(size(&text) != "0", "{text}");
    }
    let error = cloud.run(&["ls", "s3://copies/t/none.shard"]).error(1);
    assert!(error.contains("none.shard"), "{error}");
    let forced = [
        "merge",
        "-q",
        "s3://copies/t/one.amudai.shard",
        "-o",
        "s3://copies/t/all.amudai.shard",
    ];
    let error = cloud.run(&forced).error(1);
    assert!(error.contains("replace it with --force"), "{error}");
    cloud.run(&[&forced[..], &["--force"]].concat()).ok();
    let again = ["convert", "t.arrow", "s3://copies/t/one.amudai.shard"];
    let error = cloud.run(&again).error(1);
    assert!(error.contains("replace it with --force"), "{error}");
}

#[test]
fn files_folders_and_globs_of_s3_are_looked_at() {
    let Some(cloud) = Cloud::start(1000) else {
        return;
    };
    let place = "s3://shards/a b";
    for name in ["days/1.amudai.shard", "days/2.parquet", "days/deep/3.csv"] {
        cloud
            .run(&["convert", "t.arrow", &format!("{place}/{name}")])
            .ok();
    }
    for folder in ["s3://shards/a b/", "s3://shards/a%20b/", "s3://shards/"] {
        assert_eq!(cloud.run(&["count", folder]).ok(), "3000\n", "{folder}");
    }
    for glob in ["s3://shards/a b/days/*.p*", "s3://shards/a%20b/*/[2-9]*"] {
        let counted = cloud.run(&["count", "--by-file", glob]).ok();
        assert!(counted.starts_with("1000 s3://shards/a"), "{counted}");
        assert!(counted.ends_with("/days/2.parquet\n"), "{counted}");
        assert_eq!(counted.lines().count(), 1);
    }
    let error = cloud.run(&["count", "s3://shards/none/*.shard"]).error(1);
    assert!(error.contains("no file matches"), "{error}");
    let csv = ["--format", "csv"];
    let [local, remote] = ["t.arrow", "s3://shards/a b/days/1.amudai.shard"].map(|file| {
        let tail = cloud.run(&[&["tail", file][..], &csv].concat()).ok();
        let sample = ["sample", "5", file, "--seed", "3"];
        tail + &cloud.run(&[&sample[..], &csv].concat()).ok()
    });
    assert_eq!(local, remote);
    for name in ["days/1.amudai.shard", "days/2.parquet"] {
        let url = format!("{place}/{name}");
        assert_eq!(cloud.run(&["diff", &url, "t.arrow"]).ok(), "");
        let info = cloud.run(&["info", "--json", &url]).ok();
        assert!(info.contains("\"rows\":1000,"), "{info}");
        let stats = cloud.run(&["stats", "--json", &url]).ok();
        assert!(stats.contains("\"nulls\":200,"), "{stats}");
    }
    let listed = cloud.run(&["ls", "-r", "--json", "s3://shards"]).ok();
    assert!(
        listed.contains("\"shard\":\"a b/days/1.amudai.shard\"") && listed.lines().count() == 1,
        "{listed}"
    );
}

#[test]
fn every_format_goes_to_s3_and_comes_back() {
    let Some(cloud) = Cloud::start(50_000) else {
        return;
    };
    let before = cloud.folder.names();
    for name in [
        "t.shard",
        "t.parquet",
        "t.arrow",
        "t.arrows",
        "t.csv",
        "t.ndjson",
    ] {
        let url = format!("s3://shards/a b/{name}");
        cloud.run(&["convert", "t.arrow", &url]).ok();
        cloud.run(&["convert", "--force", &url, "back.arrow"]).ok();
        assert_eq!(
            read_ipc(&cloud.folder.path("back.arrow")),
            plain(50_000),
            "{name}"
        );
        // Converts an object to another object.
        let other = format!("s3://shards/other/{name}");
        cloud.run(&["convert", &url, &other]).ok();
        let head = ["head", "-n", "3", "--format", "csv"];
        let [here, there] = [&url, &other].map(|url| cloud.run(&[&head[..], &[url]].concat()).ok());
        assert_eq!(here, there);
        assert_eq!(here.lines().count(), 4);
    }
    std::fs::remove_file(cloud.folder.path("back.arrow")).unwrap();
    assert_eq!(cloud.folder.names(), before);
    let url = "s3://shards/a b/t.shard";
    assert!(
        cloud
            .run(&["verify", url])
            .ok()
            .contains("sound; 50000 rows")
    );
    assert!(cloud.run(&["inspect", url]).ok().contains("50000 rows"));
    assert!(cloud.run(&["schema", url]).ok().contains("name: Utf8"));
    let found = cloud
        .run(&["cat", "--filter", "id = 4", "--format", "csv", url])
        .ok();
    assert!(found.lines().count() <= 2, "{found}");
}

#[test]
fn shards_of_several_files_go_to_s3() {
    let Some(cloud) = Cloud::start(50_000) else {
        return;
    };
    let url = "s3://shards/t.amudai.shard";
    let options = ["--layout", "two-level", "--stripe-rows", "10000"];
    cloud
        .run(&[&["convert", "t.arrow", url], &options[..]].concat())
        .ok();
    assert_eq!(
        cloud.moto.request("GET /shards").matches("<Key>").count(),
        6
    );
    assert!(
        cloud
            .run(&["verify", "--threads", "2", url])
            .ok()
            .contains("6 files")
    );
    cloud.run(&["convert", url, "back.arrow"]).ok();
    assert_eq!(read_ipc(&cloud.folder.path("back.arrow")), plain(50_000));
}

#[test]
fn what_goes_wrong_with_a_url_is_said_and_leaves_nothing() {
    let Some(cloud) = Cloud::start(1_000) else {
        return;
    };
    for name in ["no.shard", "no.parquet", "no.csv"] {
        let url = format!("s3://shards/{name}");
        let error = cloud.run(&["convert", &url, "back.arrow"]).error(1);
        assert!(
            error.contains(name) && error.contains("no such object"),
            "{error}"
        );
        let error = cloud
            .run(&["convert", "t.arrow", &format!("s3://nowhere/{name}")])
            .error(1);
        assert!(error.contains(&format!("s3://nowhere/{name}")), "{error}");
    }
    for name in ["t.shard", "t.csv"] {
        let url = format!("s3://shards/{name}");
        cloud.run(&["convert", "t.arrow", &url]).ok();
        let error = cloud.run(&["convert", "t.arrow", &url]).error(1);
        assert!(error.contains("exists") && error.contains(&url), "{error}");
        cloud.run(&["convert", "--force", "t.arrow", &url]).ok();
    }
    // The input is damaged in the middle.
    let mut bytes = std::fs::read(cloud.folder.path("t.arrow")).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(cloud.folder.path("half.arrow"), bytes).unwrap();
    let keys = cloud.moto.request("GET /shards");
    for name in ["half.shard", "half.parquet"] {
        let url = format!("s3://shards/{name}");
        cloud.run(&["convert", "half.arrow", &url]).error(1);
    }
    let after = cloud.moto.request("GET /shards");
    assert_eq!(
        after.matches("<Key>").count(),
        keys.matches("<Key>").count()
    );
}

#[test]
fn what_is_no_plain_url_is_refused_and_not_shown() {
    let folder = Folder::with(&plain(10));
    for url in [
        "s3://shards/t.shard?signature=a-secret-that-stays-one",
        "s3://shards/t#a-secret-that-stays-one.shard",
        "file:///t#a-secret-that-stays-one.shard",
        "https://a-key-that-nobody-sees:x@example.org/t.shard",
        "nfs://host/t.shard",
        "memory:///t.shard",
        "s3://shards",
    ] {
        for arguments in [
            &["verify", url][..],
            &["inspect", url],
            &["schema", url],
            &["head", url],
            &["cat", "--from", "csv", url],
            &["convert", "--force", "t.arrow", url],
            &["convert", "--force", "--to", "csv", "t.arrow", url],
        ] {
            let done = folder.run(arguments);
            // A bucket without a path has no name to detect a format from.
            let code = if url == "s3://shards" { 1..3 } else { 1..2 };
            assert!(code.contains(&done.code), "{arguments:?}: {}", done.err);
            assert_eq!(done.err.lines().count(), 1, "{}", done.err);
            let said = format!("{}{}", done.err, done.text());
            assert!(
                !said.contains(SECRET) && !said.contains("nobody-sees"),
                "{said}"
            );
        }
    }
    assert_eq!(folder.names(), ["t.arrow"]);
}

#[test]
fn a_name_of_an_object_with_a_hash_is_no_other_object() {
    let Some(cloud) = Cloud::start(100) else {
        return;
    };
    cloud
        .run(&["convert", "t.arrow", "s3://shards/out.shard"])
        .ok();
    let objects = || {
        let answer = cloud.moto.request("GET /shards");
        answer[answer.find("<Contents>").unwrap()..].to_owned()
    };
    let before = objects();
    let url = "s3://shards/out.shard#2.shard";
    let error = cloud.run(&["convert", "--force", "t.arrow", url]).error(1);
    assert!(error.contains("%23"), "{error}");
    assert_eq!(objects(), before);
    cloud
        .run(&["convert", "t.arrow", "s3://shards/out%232.shard"])
        .ok();
    let after = objects();
    assert!(after.contains("<Key>out#2.shard</Key>"), "{after}");
}

#[test]
fn variables_of_other_programs_configure_no_store() {
    let others = [
        ("TOKEN", "x"),
        ("ENDPOINT", "http://127.0.0.1:1"),
        ("REGION", "mars"),
        ("TIMEOUT", "soon"),
        ("aws_endpoint", "http://127.0.0.1:1"),
    ];
    let others = others.map(|(name, value)| (name, value.to_owned()));
    let folder = Folder::with(&plain(10));
    folder.run(&["convert", "t.arrow", "t.csv"]).ok();
    let server = Server::start();
    server.put(
        "/t.csv",
        std::fs::read(folder.path("t.csv")).unwrap().into(),
    );
    let url = format!("{}/t.csv", server.url());
    folder.run_with(&others, &["head", &url], &[]).ok();
    let Some(moto) = Moto::start() else { return };
    let variables = [&moto.environment()[..], &others].concat();
    let url = "s3://shards/t.csv";
    folder
        .run_with(&variables, &["convert", "t.arrow", url], &[])
        .ok();
    folder.run_with(&variables, &["head", url], &[]).ok();
}

#[cfg(unix)]
#[test]
fn no_copy_of_an_object_stays_when_the_reader_has_seen_enough() {
    let folder = Folder::with(&plain(200_000));
    let server = Server::start();
    folder.run(&["convert", "t.arrow", "t.parquet"]).ok();
    for name in ["t.arrow", "t.parquet"] {
        let bytes = std::fs::read(folder.path(name)).unwrap();
        server.put(&format!("/{name}"), bytes.into());
        let copies = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
            .args(["cat", "--format", "json"])
            .arg(format!("{}/{name}", server.url()))
            .env("TMPDIR", copies.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert_eq!(std::fs::read_dir(copies.path()).unwrap().count(), 0);
    }
}

#[test]
fn http_and_file_urls_are_read() {
    let folder = Folder::with(&plain(20_000));
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    folder.run(&["convert", "t.arrow", "t.csv"]).ok();
    let server = Server::start();
    for name in ["t.shard", "t.csv"] {
        let bytes = std::fs::read(folder.path(name)).unwrap();
        server.put(&format!("/a b/{name}"), bytes.into());
        let url = format!("{}/a%20b/{name}", server.url());
        folder.run(&["convert", "--force", &url, "back.arrow"]).ok();
        assert_eq!(read_ipc(&folder.path("back.arrow")), plain(20_000));
        let url = format!("file://{}", folder.path(name).display());
        folder.run(&["convert", "--force", &url, "back.arrow"]).ok();
        assert_eq!(read_ipc(&folder.path("back.arrow")), plain(20_000));
    }
    // The error names the URL of the damaged shard among several.
    let mut bytes = std::fs::read(folder.path("t.shard")).unwrap();
    let data = bytes.len() / 3;
    bytes[data] ^= 1;
    server.put("/a b/damaged.shard", bytes.into());
    let urls = ["t", "damaged"].map(|name| format!("{}/a%20b/{name}.shard", server.url()));
    let error = folder
        .run(&["cat", "--format", "csv", &urls[0], &urls[1]])
        .error(1);
    assert!(
        error.contains(&urls[1]) && !error.contains(&urls[0]),
        "{error}"
    );
    let url = format!("{}/a%20b/t.shard", server.url());
    assert!(folder.run(&["verify", &url]).ok().contains("sound"));
    let url = format!("file://{}/out.parquet", folder.0.path().display());
    folder.run(&["convert", "t.arrow", &url]).ok();
    folder
        .run(&["convert", "--force", "out.parquet", "back.arrow"])
        .ok();
    assert_eq!(read_ipc(&folder.path("back.arrow")), plain(20_000));
}

#[test]
fn folders_and_globs_of_a_store_are_one_input() {
    let Some(cloud) = Cloud::start(100) else {
        return;
    };
    let files = [
        "b.csv",
        "a.csv.gz",
        "more/c.parquet",
        "more/d.ndjson",
        "_done.csv",
    ];
    for name in files {
        cloud
            .run(&["convert", "t.arrow", &format!("s3://shards/a b/{name}")])
            .ok();
    }
    std::fs::create_dir_all(cloud.folder.path("a b/more")).unwrap();
    for name in files {
        cloud
            .run(&["convert", "t.arrow", &format!("a b/{name}")])
            .ok();
    }
    for (inputs, number) in [
        ("a b/", 4),
        ("a b/*.csv", 1),
        ("a b/**/*.n*", 1),
        ("a b/more/", 2),
    ] {
        let rows = |input: &str| {
            let done = cloud.run(&["cat", "--format", "csv", input]);
            done.ok()
        };
        let remote = rows(&format!("s3://shards/{inputs}"));
        assert_eq!(remote.lines().count(), 100 * number + 1, "{inputs}");
        assert_eq!(remote, rows(inputs), "{inputs}");
    }
    for (url, word) in [
        ("s3://shards/none/", "s3://shards/none/"),
        ("s3://shards/*.cole", "*.cole"),
    ] {
        let error = cloud.run(&["convert", url, "out.csv"]).error(1);
        assert!(error.contains(word), "{error}");
    }
    cloud
        .run(&[
            "convert",
            "s3://shards/a b/",
            "out.csv.gz",
            "--rows-per-file",
            "300",
        ])
        .ok();
    assert!(cloud.folder.path("out-00002.csv.gz").exists());
}
