//! Types that are asked for with `--cast` and `--schema`, and windows of rows.

use super::data::{nested, plain};
use super::{Folder, read_ipc};
use std::fs;

fn schema_of(folder: &Folder, file: &str) -> String {
    folder.run(&["schema", file]).ok()
}

fn csv_of(folder: &Folder, file: &str) -> String {
    folder.run(&["cat", "--format", "csv", file]).ok()
}

#[test]
fn text_is_read_in_the_type_that_is_asked_for() {
    let folder = Folder::new();
    let text =
        "id,price,at,note,code\n1,0.10,2024-02-29,1.50,x\n2,12345678901234567.89,2024-03-01,,y\n";
    fs::write(folder.path("t.csv"), text).unwrap();
    let json = "{\"id\":1,\"price\":0.10,\"at\":\"2024-02-29\",\"note\":1.50,\"code\":\"x\"}\n\
                {\"id\":2,\"price\":12345678901234567.89,\"at\":\"2024-03-01\",\"code\":\"y\"}\n";
    fs::write(folder.path("t.ndjson"), json).unwrap();
    for file in ["t.csv", "t.ndjson"] {
        let casts = [
            "convert",
            "--force",
            file,
            "out.arrow",
            "--cast",
            "id=int8",
            "--cast",
            "price=decimal(20,2)",
            "--cast",
            "at=timestamp(us, UTC)",
            "--cast",
            "note=text",
            "--cast",
            "code=Dictionary(Int8, Utf8)",
        ];
        folder.run(&casts).ok();
        assert_eq!(
            schema_of(&folder, "out.arrow"),
            "id: Int8\nprice: Decimal128(20, 2)\nat: Timestamp(µs, \"UTC\")\nnote: Utf8\ncode: Dictionary(Int8, Utf8)\n"
        );
        assert_eq!(
            csv_of(&folder, "out.arrow"),
            "id,price,at,note,code\n1,0.10,2024-02-29T00:00:00Z,1.50,x\n\
             2,12345678901234567.89,2024-03-01T00:00:00Z,,y\n",
            "{file}"
        );
        let error = folder
            .run(&["convert", file, "x.arrow", "--cast", "price=decimal(20,1)"])
            .error(1);
        assert!(
            error.contains(file)
                && error.contains("`price`, row 1")
                && error.contains("12345678901234567.89"),
            "{error}"
        );
        let lossy = [
            "convert",
            "--lossy",
            "--force",
            file,
            "x.arrow",
            "--cast",
            "price=decimal(20,1)",
        ];
        folder.run(&lossy).ok();
        assert!(csv_of(&folder, "x.arrow").contains("12345678901234567.9,"));
        fs::remove_file(folder.path("x.arrow")).unwrap();
    }
    let error = folder
        .run(&["convert", "t.csv", "x.arrow", "--cast", "code=int8"])
        .error(1);
    assert!(
        error.contains("t.csv: column `code`, row 0, `x`") && error.contains("Int8"),
        "{error}"
    );
    let error = folder
        .run(&["convert", "t.csv", "x.arrow", "--cast", "prise=int8"])
        .error(2);
    assert!(
        error.contains("`prise`") && error.contains("price"),
        "{error}"
    );
    let wrong = folder.run(&["convert", "t.csv", "x.arrow", "--cast", "id=int65"]);
    assert!(
        wrong.code == 2 && wrong.err.contains("int65"),
        "{}",
        wrong.err
    );
    assert!(!folder.path("x.arrow").exists());
}

#[test]
fn typed_values_are_cast_if_the_type_holds_them() {
    let folder = Folder::with(&plain(100));
    for name in ["t.shard", "t.parquet"] {
        folder.run(&["convert", "t.arrow", name]).ok();
    }
    for file in ["t.shard", "t.parquet", "t.arrow"] {
        let casts = [
            "convert",
            "--force",
            file,
            "out.arrow",
            "--cast",
            "id=int16",
            "--cast",
            "size=float32",
        ];
        folder.run(&casts).ok();
        assert!(
            schema_of(&folder, "out.arrow").starts_with("id: Int16\nname: Utf8\nsize: Float32\n")
        );
        folder
            .run(&[
                "convert",
                "--force",
                "out.arrow",
                "back.arrow",
                "--cast",
                "id=int64",
                "--cast",
                "size=float64",
            ])
            .ok();
        assert_eq!(read_ipc(&folder.path("back.arrow")), plain(100), "{file}");
        let error = folder
            .run(&["convert", file, "x.arrow", "--cast", "id=int8"])
            .error(1);
        assert!(
            error.contains(file) && error.contains("`id`, row 19, `130`"),
            "{error}"
        );
        let error = folder.run(&["cat", file, "--cast", "size=int64"]).error(1);
        assert!(error.contains("`size`, row 1, `1.25`"), "{error}");
        let rows = [
            "cat",
            file,
            "--cast",
            "id=text",
            "--filter",
            "id = '4'",
            "--columns",
            "id",
            "--format",
            "csv",
        ];
        assert_eq!(folder.run(&rows).ok(), "id\n4\n", "{file}");
    }
}

#[test]
fn a_schema_gives_names_types_and_order() {
    let folder = Folder::new();
    fs::write(folder.path("a.csv"), "b,a\nx,1\n").unwrap();
    fs::write(folder.path("c.ndjson"), "{\"a\":2,\"c\":true}\n").unwrap();
    let fields = "a int32 not null, b text, c bool, d list(int8)";
    let run = |schema: &str| {
        folder
            .run(&[
                "convert",
                "--force",
                "a.csv",
                "c.ndjson",
                "out.shard",
                "--schema",
                schema,
            ])
            .ok();
        schema_of(&folder, "out.shard")
    };
    let printed = run(fields);
    assert_eq!(
        printed,
        "a: Int32 not null\nb: Utf8\nc: Boolean\nd: List\n  item: Int8\n"
    );
    folder.run(&["convert", "out.shard", "typed.parquet"]).ok();
    let json = folder.run(&["schema", "--json", "out.shard"]).ok();
    fs::write(folder.path("lines.txt"), &printed).unwrap();
    fs::write(folder.path("json.json"), json).unwrap();
    fs::write(folder.path("fields.sql"), fields.replace(", ", ",\n")).unwrap();
    for file in ["lines.txt", "json.json", "fields.sql", "typed.parquet"] {
        assert_eq!(run(file), printed, "{file}");
    }
    let error = folder
        .run(&["convert", "a.csv", "x.shard", "--schema", "a int32"])
        .error(1);
    assert!(
        error.contains("`b`") && error.contains("--columns"),
        "{error}"
    );
    folder
        .run(&[
            "convert",
            "a.csv",
            "x.csv",
            "--schema",
            "a int32",
            "--columns",
            "a",
        ])
        .ok();
    assert_eq!(csv_of(&folder, "x.csv"), "a\n1\n");
    let error = folder
        .run(&[
            "convert",
            "a.csv",
            "y.shard",
            "--schema",
            "a int32, b text, z text not null",
        ])
        .error(1);
    assert!(
        error.contains("`z`") && error.contains("not null"),
        "{error}"
    );
    fs::write(folder.path("e.csv"), "a,b\n,x\n").unwrap();
    let error = folder
        .run(&["convert", "e.csv", "y.shard", "--schema", fields])
        .error(1);
    assert!(
        error.contains("e.csv") && error.contains("'a'") && error.contains("null"),
        "{error}"
    );
    for (schema, word) in [
        ("none.parquet", "none.parquet"),
        ("a whole, b text", "`whole`"),
        ("a", "no file"),
    ] {
        let error = folder
            .run(&["convert", "a.csv", "y.shard", "--schema", schema])
            .error(2);
        assert!(
            error.contains("--schema") && error.contains(word),
            "{error}"
        );
    }
}

#[test]
fn the_schema_of_every_type_is_read_as_it_is_printed() {
    let folder = Folder::with(&nested());
    let printed = schema_of(&folder, "t.arrow");
    fs::write(folder.path("schema.txt"), &printed).unwrap();
    folder
        .run(&["convert", "t.arrow", "out.arrow", "--schema", "schema.txt"])
        .ok();
    assert_eq!(read_ipc(&folder.path("out.arrow")), nested());
}

#[test]
fn conversions_have_an_offset_and_a_limit() {
    let folder = Folder::with(&plain(100));
    for name in ["t.shard", "t.csv", "t.parquet"] {
        folder.run(&["convert", "t.arrow", name]).ok();
    }
    let rows = csv_of(&folder, "t.arrow");
    let lines: Vec<&str> = rows.lines().collect();
    for file in ["t.shard", "t.csv", "t.parquet", "t.arrow"] {
        folder
            .run(&[
                "convert", "--force", file, "out.csv", "--offset", "7", "--limit", "5",
            ])
            .ok();
        let want = [&lines[..1], &lines[8..13]].concat();
        assert_eq!(
            csv_of(&folder, "out.csv").lines().collect::<Vec<_>>(),
            want,
            "{file}"
        );
        folder
            .run(&[
                "convert", "--force", file, "out.csv", "--filter", "id > 200", "-n", "1",
            ])
            .ok();
        assert_eq!(csv_of(&folder, "out.csv").lines().count(), 2, "{file}");
    }
}
