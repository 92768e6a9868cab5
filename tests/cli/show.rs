//! What `head`, `cat`, `schema` and `verify` print.

use super::data::{nested, plain};
use super::{Folder, Value};

#[test]
fn head_and_cat_print_rows_as_asked() {
    let folder = Folder::with(&plain(100));
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    for file in ["t.shard", "t.arrow"] {
        let table = folder
            .run(&["head", file, "-n", "2", "--columns", "size,id"])
            .ok();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[1], "| size | id |");
        assert_eq!(lines.len(), 6, "{table}");
        let window = ["--offset", "98", "--limit", "5", "--columns", "id"];
        let csv = folder
            .run(&[&["cat", file, "--format", "csv"][..], &window].concat())
            .ok();
        assert_eq!(csv, "id\n683\n690\n");
        let json = folder
            .run(&["head", file, "--format", "json", "--rows", "1"])
            .ok();
        assert_eq!(
            json,
            "{\"id\":null,\"name\":null,\"size\":null,\"flag\":null}\n"
        );
        assert_eq!(
            folder
                .run(&["cat", file, "--format", "json"])
                .ok()
                .lines()
                .count(),
            100
        );
        assert_eq!(
            folder.run(&["head", file, "-n", "0"]).ok().lines().count(),
            4
        );
    }
}

#[test]
fn paths_lead_into_structs_and_unknown_columns_are_named() {
    let folder = Folder::with(&nested());
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    let json = folder
        .run(&[
            "head",
            "t.shard",
            "--columns",
            "point.y",
            "--format",
            "json",
        ])
        .ok();
    assert!(
        json.starts_with("{\"point\":{\"y\":null}}\n{\"point\":{\"y\":\"u\"}}\n"),
        "{json}"
    );
    for file in ["t.shard", "t.arrow"] {
        let error = folder.run(&["head", file, "--columns", "prise"]).error(1);
        assert!(
            error.contains("`prise`") && error.contains("price"),
            "{error}"
        );
    }
    let error = folder
        .run(&["inspect", "t.shard", "--columns", "prise"])
        .error(1);
    assert!(error.contains("`prise`"), "{error}");
}

#[test]
fn schema_has_a_line_per_field() {
    let folder = Folder::with(&nested());
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    let expected = "list: List\n  item: Int32\nmap: Map\n  entries: Struct not null\n    \
                    keys: Utf8 not null\n    values: Int32\npoint: Struct\n  x: Int64\n  y: Utf8\n\
                    key: Dictionary(Int32, Utf8)\ntime: Timestamp(µs, \"Europe/Oslo\")\n\
                    price: Decimal128(20, 2)\n";
    for file in ["t.shard", "t.arrow"] {
        assert_eq!(folder.run(&["schema", file]).ok(), expected);
    }
    let stored = folder.run(&["schema", "--shard", "t.shard"]).ok();
    assert!(stored.contains("time: Int64 [arrow.timestamp{"), "{stored}");
    let json: Value =
        serde_json::from_str(&folder.run(&["schema", "--json", "t.shard"]).ok()).unwrap();
    assert_eq!(json["fields"][0]["children"][0]["type"], "Int32");
    let json = folder.run(&["schema", "--json", "--shard", "t.shard"]).ok();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["fields"][4]["properties"]["timezone"], "Europe/Oslo");
    folder.run(&["schema", "--shard", "t.arrow"]).error(2);
}

#[test]
fn verify_says_what_is_broken_where() {
    let folder = Folder::with(&plain(10_000));
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    assert!(
        folder
            .run(&["verify", "t.shard"])
            .ok()
            .contains("t.shard: sound; 10000 rows")
    );
    assert_eq!(folder.run(&["verify", "--quiet", "t.shard"]).ok(), "");
    let json: Value =
        serde_json::from_str(&folder.run(&["inspect", "--json", "t.shard"]).ok()).unwrap();
    let buffer = &json["stripes"][0]["fields"][2]["buffers"][0];
    assert_eq!(buffer["kind"], "Data");
    let at = usize::try_from(buffer["start"].as_u64().unwrap()).unwrap() + 20;
    let mut bytes = std::fs::read(folder.path("t.shard")).unwrap();
    bytes[at] ^= 1;
    std::fs::write(folder.path("bad.shard"), &bytes).unwrap();
    let done = folder.run(&["verify", "t.shard", "bad.shard"]);
    let threads = folder.run(&["verify", "--threads", "3", "t.shard", "bad.shard"]);
    assert_eq!((&threads.out, threads.code), (&done.out, done.code));
    let text = done.text();
    assert_eq!(done.code, 1);
    let place = "bad.shard, stripe 0, field `size`, Data buffer, block 0: checksum mismatch";
    assert!(
        text.contains(place) && text.contains("bad.shard: 1 problem"),
        "{text}"
    );
    assert!(text.contains("t.shard: sound"), "{text}");
    let error = folder.run(&["cat", "bad.shard"]).error(1);
    assert!(
        error.contains("`size`") && error.contains("block 0"),
        "{error}"
    );
    // A damaged shard can still be looked at.
    assert!(
        folder
            .run(&["inspect", "bad.shard"])
            .ok()
            .contains("└─ flag")
    );
    std::fs::write(folder.path("cut.shard"), &bytes[..100]).unwrap();
    assert_eq!(folder.run(&["verify", "cut.shard"]).code, 1);
    assert!(
        folder
            .run(&["verify", "none.shard"])
            .error(1)
            .contains("none.shard")
    );
}
