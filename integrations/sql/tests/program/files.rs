//! Files, folders and globs as tables.

use super::Folder;

#[test]
fn files_of_every_format_are_tables() {
    let folder = Folder::new();
    for name in [
        "t.amudai.shard",
        "t.shard",
        "t.parquet",
        "t.pq",
        "t.arrow",
        "t.feather",
        "t.csv",
        "t.tsv",
        "t.ndjson",
        "t.json",
        "t.csv.gz",
        "t.csv.zst",
        "t.csv.bz2",
        "t.csv.xz",
        "t.ndjson.gz",
    ] {
        folder.numbers(name, 100);
        let rows = folder.rows(&format!(
            "SELECT count(*), sum(id), max(name) FROM '{name}'"
        ));
        assert_eq!(rows, ["100,5050,n99"], "{name}");
    }
    let absolute = folder.path("t.csv");
    let rows = folder.rows(&format!("SELECT sum(id) FROM '{}'", absolute.display()));
    assert_eq!(rows, ["5050"]);
    let rows = folder.rows(&format!(
        "SELECT sum(id) FROM 'file://{}'",
        absolute.display()
    ));
    assert_eq!(rows, ["5050"]);
}

#[test]
fn the_content_shows_the_format_of_a_file_without_suffix() {
    let folder = Folder::new();
    for (name, content) in [
        ("t.amudai.shard", "shard"),
        ("t.parquet", "parquet"),
        ("t.arrow", "arrow"),
        ("t.ndjson", "json"),
    ] {
        folder.numbers(name, 10);
        std::fs::rename(folder.path(name), folder.path(content)).unwrap();
        assert_eq!(
            folder.rows(&format!("SELECT sum(id) FROM '{content}'")),
            ["55"]
        );
    }
    folder.write("array.json", "[{\"a\": 1},\n {\"a\": 2}]");
    assert_eq!(folder.rows("SELECT sum(a) FROM 'array.json'"), ["3"]);
    folder.write("data.bin", "a,b\n1,2\n");
    let error = folder.run(&["SELECT * FROM 'data.bin'"]).error(1);
    assert!(
        error.contains("data.bin") && error.contains(".csv"),
        "{error}"
    );
    let sql = "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 'data.bin' OPTIONS ('format.has_header' 'true'); \
               SELECT a + b AS c FROM t";
    assert_eq!(folder.rows(sql), ["3"]);
}

#[test]
fn globs_match_names_in_folders() {
    let folder = Folder::new();
    for (name, last) in [
        ("d/a.amudai.shard", 1),
        ("d/b.amudai.shard", 2),
        ("d/x/c.amudai.shard", 3),
    ] {
        folder.numbers(name, last);
    }
    folder.write("d/.hidden.amudai.shard", "no shard");
    for (glob, count) in [
        ("d/*.amudai.shard", "3"),
        ("d/[a]*", "1"),
        ("d/?.amudai.shard", "3"),
        ("d/*/*.shard", "3"),
        ("d/**/*.shard", "6"),
        ("*/b.amudai.*", "2"),
    ] {
        assert_eq!(
            folder.rows(&format!("SELECT count(*) FROM '{glob}'")),
            [count],
            "{glob}"
        );
    }
    let error = folder.run(&["SELECT * FROM 'd/*.parquet'"]).error(1);
    assert!(
        error.contains("d/*.parquet") && error.contains("no file"),
        "{error}"
    );
}

#[test]
fn a_file_with_a_name_like_a_glob_is_that_file() {
    let folder = Folder::new();
    folder.numbers("plain.csv", 2);
    std::fs::rename(folder.path("plain.csv"), folder.path("a [1] %20*.csv")).unwrap();
    folder.numbers("a 1 %20.csv", 5);
    assert_eq!(folder.rows("SELECT count(*) FROM 'a [1] %20*.csv'"), ["2"]);
}

#[test]
fn a_folder_of_several_formats_is_one_table_by_column_names() {
    let folder = Folder::new();
    folder.numbers("d/a.amudai.shard", 1);
    folder.numbers("d/b.parquet", 2);
    folder.numbers("d/x/c.arrow", 3);
    folder.write("d/e.csv", "name,extra,id\ncsv,7,10\n");
    folder.write("d/f.ndjson", "{\"id\": 1.5}\n");
    folder.write("d/README", "text");
    folder.write("d/_log/g.json", "{\"id\": 100}");
    let rows = folder.rows("SELECT count(*), sum(id), count(name), sum(extra) FROM 'd'");
    assert_eq!(rows, ["8,21.5,7,7"]);
    let rows = folder.rows("SELECT id, extra FROM 'd/' WHERE name = 'csv'");
    assert_eq!(rows, ["10.0,7"]);

    folder.write("d/h.csv", "id\ntext\n");
    let error = folder.run(&["SELECT * FROM 'd'"]).error(1);
    assert!(
        error.contains("`id`") && error.contains("UNION ALL"),
        "{error}"
    );
}

#[test]
fn csv_files_are_united_by_names_and_not_by_position() {
    let folder = Folder::new();
    folder.write("d/1.csv", "a,b\n1,2\n");
    folder.write("d/2.csv", "b,a\n20,10\n");
    folder.write("d/3.csv", "a,b\n1.5,x\n");
    let error = folder.run(&["SELECT a, b FROM 'd/*.csv'"]).error(1);
    assert!(error.contains("`b`"), "{error}");
    folder.write("d/3.csv", "a,b\n1.5,\n");
    let rows = folder.rows("SELECT a, b FROM 'd/*.csv' ORDER BY a");
    assert_eq!(rows, ["1.0,2", "1.5,", "10.0,20"]);
}

#[test]
fn a_value_of_csv_may_have_line_breaks() {
    let folder = Folder::new();
    let rows: String = (0..5_000)
        .map(|i| format!("{i},\"one\ntwo, \"\"{i}\"\"\"\n"))
        .collect();
    folder.write("t.csv", format!("id,text\n{rows}"));
    let sql = "SELECT count(*), min(length(text)) FROM 't.csv'";
    assert_eq!(folder.rows(sql), ["5000,12"]);
}

#[test]
fn folders_with_values_in_their_names_have_these_columns() {
    let folder = Folder::new();
    folder.numbers("lake/year=2023/a.parquet", 1);
    folder.numbers("lake/year=2024/a.parquet", 2);
    let rows = folder.rows("SELECT year, count(*) FROM 'lake' GROUP BY year ORDER BY year");
    assert_eq!(rows, ["2023,1", "2024,2"]);
    assert_eq!(
        folder.rows("SELECT max(id) FROM 'lake/' WHERE year = '2023'"),
        ["1"]
    );
    folder.numbers("lake/_delta_log/a.parquet", 1);
    let error = folder.run(&["SELECT * FROM 'lake'"]).error(1);
    assert!(error.contains("hidden"), "{error}");
}

#[test]
fn a_table_joins_files_and_views() {
    let folder = Folder::new();
    folder.numbers("a.amudai.shard", 10);
    folder.write("b.csv", "id,city\n3,Oslo\n4,Lima\n");
    let sql = "CREATE VIEW v AS SELECT * FROM 'a.amudai.shard' WHERE id > 3; \
               CREATE TABLE c AS SELECT * FROM 'b.csv'; \
               SELECT v.name, c.city FROM v JOIN c ON v.id = c.id";
    assert_eq!(folder.rows(sql), ["n4,Lima"]);
    let sql =
        "CREATE EXTERNAL TABLE t STORED AS SHARD LOCATION 'a.amudai.shard'; SELECT sum(id) FROM t";
    assert_eq!(folder.rows(sql), ["55"]);
}

#[test]
fn a_table_may_have_the_name_of_a_folder_without_tables() {
    let folder = Folder::new();
    for name in ["empty", "notes"] {
        std::fs::create_dir(folder.path(name)).unwrap();
    }
    folder.write("notes/read.me", "nothing\n");
    for name in ["empty", "notes"] {
        let sql = format!("CREATE TABLE {name} AS SELECT 7 AS a; SELECT a FROM {name}");
        assert_eq!(folder.rows(&sql), ["7"]);
        let error = folder.run(&[&format!("SELECT * FROM {name}")]).error(1);
        assert!(error.contains("there is no table or file"), "{error}");
        let error = folder.run(&[&format!("SELECT * FROM '{name}/'")]).error(1);
        assert!(error.contains("no file"), "{error}");
    }
}
