//! Several inputs as one: folders, globs, columns united by name, and types that are widened.

use super::data::plain;
use super::{Done, Folder, read_ipc, write_ipc};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use std::fs;
use std::sync::Arc;

fn write(folder: &Folder, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn csv(folder: &Folder, arguments: &[&str]) -> String {
    cat(folder, arguments).ok()
}

fn cat(folder: &Folder, arguments: &[&str]) -> Done {
    folder.run(&[&["cat", "--format", "csv"], arguments].concat())
}

#[test]
fn files_of_all_formats_become_one_file_with_the_columns_of_all() {
    let folder = Folder::new();
    write(
        &folder,
        &[
            ("days/2.ndjson", "{\"b\":\"y\",\"a\":2}\n{\"c\":true}\n"),
            ("days/1.csv", "a,b\n1,x\n"),
            ("days/more/3.csv", "d,a\n1.5,3\n"),
            ("days/notes.txt", "not a table"),
            ("days/_done", ""),
            ("days/.hidden.csv", "z\n1\n"),
        ],
    );
    folder
        .run(&["convert", "days/more/3.csv", "days/more/4.parquet"])
        .ok();
    folder
        .run(&[
            "convert",
            "days/1.csv",
            "days/5.shard",
            "--stripe-rows",
            "1",
            "--layout",
            "two-level",
        ])
        .ok();
    let want = "a,b,c,d\n1,x,,\n2,y,,\n,,true,\n1,x,,\n3,,,1.5\n3,,,1.5\n";
    for output in [
        &["out.csv"][..],
        &["-o", "out.csv"],
        &["--output", "out.csv"],
    ] {
        let done = folder.run(&[&["convert", "--force", "days"], output].concat());
        assert_eq!(fs::read_to_string(folder.path("out.csv")).unwrap(), want);
        assert!(
            done.err.contains("days/notes.txt") && done.err.contains("6 rows"),
            "{}",
            done.err
        );
        assert!(
            !done.err.contains("stripe") && !done.err.contains("hidden"),
            "{}",
            done.err
        );
    }
    assert_eq!(csv(&folder, &["days"]), want);
    assert_eq!(
        csv(&folder, &["days/1.csv", "days/more"]),
        "a,b,d\n1,x,\n3,,1.5\n3,,1.5\n"
    );
    assert_eq!(
        csv(&folder, &["days/*.csv", "days/**/3.csv"]),
        "a,b,d\n1,x,\n3,,1.5\n"
    );
    assert_eq!(
        csv(&folder, &["days/more/[34].*", "--limit", "1"]),
        "d,a\n1.5,3\n"
    );
    let error = cat(&folder, &["days/*.cole"]).error(1);
    assert!(error.contains("days/*.cole"), "{error}");
    let error = folder.run(&["convert", "days/1.csv"]).error(2);
    assert!(error.contains("--output"), "{error}");
    let error = folder
        .run(&["convert", "a.shard", "b.shard", "a.lance"])
        .error(2);
    assert!(error.contains("one file at a time"), "{error}");
}

#[test]
fn an_output_in_the_folder_that_is_read_is_an_error() {
    let folder = Folder::new();
    write(
        &folder,
        &[("days/1.csv", "a\n1\n"), ("days/2.csv", "a\n2\n")],
    );
    folder.run(&["convert", "days", "days/all.csv"]).ok();
    for input in ["days", "days/*.csv"] {
        let error = folder
            .run(&["convert", "--force", input, "days/all.csv"])
            .error(1);
        assert!(error.contains("days/all.csv"), "{error}");
    }
    assert_eq!(
        fs::read_to_string(folder.path("days/all.csv")).unwrap(),
        "a\n1\n2\n"
    );
}

#[test]
fn rows_of_a_merged_shard_are_read_once() {
    let folder = Folder::new();
    // A shard of one value has no buffers that another could refer to.
    let text = |numbers: std::ops::Range<u32>| {
        let lines: Vec<String> = numbers
            .map(|number| format!("{}\n", number * 7919))
            .collect();
        lines.concat()
    };
    let [one, two] = [text(0..50), text(50..100)];
    let both = format!("a\n{one}{two}");
    write(
        &folder,
        &[
            ("1.csv", &format!("a\n{one}")),
            ("2.csv", &format!("a\n{two}")),
            ("days/notes.txt", ""),
        ],
    );
    for name in ["1", "2"] {
        let shard = format!("days/{name}.amudai.shard");
        let csv = format!("{name}.csv");
        folder.run(&["convert", &csv, &shard]).ok();
    }
    let parts = ["days/1.amudai.shard", "days/2.amudai.shard"];
    let merge = [&["merge"], &parts[..], &["-o", "days/all.amudai.shard"]].concat();
    folder.run(&merge).ok();
    assert_eq!(csv(&folder, &["days"]), both);
    let done = folder.run(&["convert", "days", "out.csv"]);
    let said = done.err;
    assert!(
        said.contains("days/1.amudai.shard") && said.contains("100 rows"),
        "{said}"
    );
    // Without the merged shard, its parts are read.
    assert_eq!(csv(&folder, &["days/[12].amudai.shard"]), both);
    let named = [&parts[..], &["days/all.amudai.shard"]].concat();
    assert_eq!(csv(&folder, &named), format!("{both}{one}{two}"));
}

#[test]
fn types_that_differ_are_an_error_unless_a_wider_one_holds_all_values() {
    let folder = Folder::new();
    write(
        &folder,
        &[
            ("a.csv", "x,y,z\n1,,2024-02-29\n"),
            ("b.csv", "x,y,z\n1.5,7,2024-02-29T12:00:00\n"),
            ("c.csv", "x,y,z\ntext,8,\n"),
            ("d.csv", "x\n9007199254740993\n"),
        ],
    );
    let error = folder
        .run(&["convert", "a.csv", "b.csv", "out.arrow"])
        .error(1);
    assert!(
        error.starts_with("b.csv: column `x` is Float64, where a.csv has Int64")
            && error.contains("--unify"),
        "{error}"
    );
    let error = folder
        .run(&["convert", "a.csv", "c.csv", "out.arrow", "--unify"])
        .error(1);
    assert!(
        error.contains("c.csv") && error.contains("no type"),
        "{error}"
    );
    folder
        .run(&["convert", "a.csv", "b.csv", "out.arrow", "--unify"])
        .ok();
    assert_eq!(
        folder.run(&["cat", "out.arrow", "--format", "csv"]).ok(),
        "x,y,z\n1.0,,2024-02-29T00:00:00\n1.5,7,2024-02-29T12:00:00\n"
    );
    let schema = folder.run(&["schema", "out.arrow"]).ok();
    assert_eq!(schema, "x: Float64\ny: Int64\nz: Timestamp(s)\n");
    // Other columns may differ.
    assert_eq!(
        csv(&folder, &["a.csv", "c.csv", "--columns", "y"]),
        "y\n\"\"\n8\n"
    );
    let error = folder
        .run(&["convert", "b.csv", "d.csv", "x.arrow", "--unify"])
        .error(1);
    assert!(
        error.contains("d.csv") && error.contains("`x`, row 0, `9007199254740993`"),
        "{error}"
    );
    assert!(!folder.path("x.arrow").exists());
}

#[test]
fn the_order_of_the_inputs_does_not_decide_their_type() {
    let folder = Folder::new();
    let small: ArrayRef = Arc::new(Int64Array::from(vec![-1, 2]));
    let of = |data_type| arrow_cast::cast(&small.slice(1, 1), &data_type).unwrap();
    let columns = [
        ("int8", arrow_cast::cast(&small, &DataType::Int8).unwrap()),
        ("uint64", of(DataType::UInt64)),
        ("decimal", of(DataType::Decimal128(20, 0))),
        ("float", of(DataType::Float64)),
    ];
    for (name, column) in columns {
        let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
        write_ipc(&folder.path(&format!("{name}.arrow")), &batch);
    }
    for (files, wide) in [
        (["int8", "uint64", "decimal"], "Decimal128(20, 0)"),
        (["int8", "uint64", "float"], "Float64"),
        (["uint64", "int8", "float"], "Float64"),
        (["float", "uint64", "int8"], "Float64"),
        (["decimal", "uint64", "int8"], "Decimal128(20, 0)"),
        (["uint64", "decimal", "int8"], "Decimal128(20, 0)"),
    ] {
        let files = files.map(|name| format!("{name}.arrow"));
        let [a, b, c] = files.each_ref().map(String::as_str);
        folder
            .run(&["convert", a, b, c, "out.arrow", "--unify", "--force"])
            .ok();
        let schema = folder.run(&["schema", "out.arrow"]).ok();
        assert!(
            schema.starts_with(&format!("x: {wide}")),
            "{files:?}: {schema}"
        );
    }
}

#[test]
fn a_missing_column_is_null_where_that_is_allowed() {
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let folder = Folder::new();
    let batch = RecordBatch::try_from_iter_with_nullable([("id", ids, false)]).unwrap();
    write_ipc(&folder.path("a.arrow"), &batch);
    write(&folder, &[("b.csv", "name\nx\n")]);
    let error = folder
        .run(&["convert", "a.arrow", "b.csv", "out.arrow"])
        .error(1);
    assert!(
        error.contains("b.csv") && error.contains("`id`") && error.contains("not null in a.arrow"),
        "{error}"
    );
    folder
        .run(&["convert", "a.arrow", "b.csv", "out.arrow", "--unify"])
        .ok();
    let batch = read_ipc(&folder.path("out.arrow"));
    let ids = Int64Array::from(vec![Some(1), Some(2), None]);
    assert_eq!(batch.column(0).as_ref(), &ids as &dyn Array);
    let names = StringArray::from(vec![None, None, Some("x")]);
    assert_eq!(batch.column(1).as_ref(), &names as &dyn Array);
}

#[test]
fn conditions_columns_and_windows_count_over_all_files() {
    let folder = Folder::with(&plain(100));
    folder.run(&["convert", "t.arrow", "a.shard"]).ok();
    folder.run(&["convert", "t.arrow", "b.parquet"]).ok();
    write(
        &folder,
        &[
            ("c.csv", "extra,id,name\n7,25,x\n8,,y\n"),
            ("d.ndjson", "{\"id\":25}\n"),
        ],
    );
    let files = ["a.shard", "b.parquet", "c.csv", "d.ndjson"];
    let run = |options: &[&str]| csv(&folder, &[&files[..], options].concat());
    assert_eq!(
        run(&["--filter", "id = 25", "--columns", "name,id"]),
        "name,id\na,25\na,25\nx,25\n,25\n"
    );
    assert_eq!(
        run(&["--filter", "extra >= 7", "--columns", "extra"]),
        "extra\n7\n8\n"
    );
    assert_eq!(
        run(&[
            "--filter",
            "id = 25",
            "--offset",
            "1",
            "--limit",
            "2",
            "--columns",
            "name"
        ]),
        "name\na\nx\n"
    );
    assert_eq!(
        run(&["--offset", "200", "--columns", "extra,id"]),
        "extra,id\n7,25\n8,\n,25\n"
    );
    assert_eq!(
        run(&["--offset", "99", "--limit", "1", "--columns", "extra,id"]),
        "extra,id\n,690\n"
    );
    let error = cat(&folder, &[&files[..], &["--columns", "exta"]].concat()).error(2);
    assert!(error.contains("exta"), "{error}");
    let error = cat(&folder, &[&files[..], &["--filter", "exta = 1"]].concat()).error(2);
    assert!(error.contains("exta"), "{error}");
    // The standard input is one of the files.
    let piped = ["convert", "-", "d.ndjson", "out.csv", "--from", "ndjson"];
    folder.pipe(&piped, b"{\"name\":\"z\"}").ok();
    assert_eq!(
        fs::read_to_string(folder.path("out.csv")).unwrap(),
        "name,id\nz,\n,25\n"
    );
    let stream = folder
        .run(&["convert", "c.csv", "-", "--to", "ipc-stream"])
        .out;
    let piped = [
        "cat",
        "--format",
        "csv",
        "--columns",
        "id",
        "-",
        "c.csv",
        "--from",
    ];
    let done = folder.pipe(&[&piped[..], &["ipc-stream"]].concat(), &stream);
    assert!(done.error(1).contains("c.csv"));
}
