//! Files in a store that speaks S3.

use super::Folder;
use super::moto::Moto;

#[test]
fn files_in_a_bucket_are_tables_and_targets_of_copies() {
    let Some(moto) = Moto::start() else { return };
    let folder = Folder::new();
    let run = |sql: &str| {
        let mut command = folder.command(&["--quiet", "--format", "csv", sql]);
        let output = command.envs(moto.environment()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    for (name, last) in [
        ("days/1.amudai.shard", 10),
        ("days/2 %.amudai.shard", 20),
        ("days/x/3.csv.gz", 30),
    ] {
        let sql = format!(
            "COPY (SELECT value AS id FROM generate_series(1, {last})) TO 's3://shards/{}'",
            name.replace('%', "%25")
        );
        let done = run(&sql);
        assert_eq!(done, (Some(0), String::new(), String::new()), "{sql}");
    }
    for (from, rows) in [
        ("days/1.amudai.shard", "10"),
        ("days/2 %25.amudai.shard", "20"),
        ("days/*.shard", "30"),
        ("days/", "60"),
        ("days", "60"),
        ("**/*.csv.gz", "30"),
    ] {
        let (code, out, err) = run(&format!("SELECT count(*) AS n FROM 's3://shards/{from}'"));
        assert_eq!(
            (code, out),
            (Some(0), format!("n\n{rows}\n")),
            "{from}: {err}"
        );
    }
    for (sql, words) in [
        ("SELECT * FROM 's3://shards/none.csv'", "none.csv"),
        ("SELECT * FROM 's3://shards/days/*.parquet'", "no file"),
        (
            "COPY (SELECT 1) TO 's3://shards/days/1.amudai.shard'",
            "exists",
        ),
        ("SELECT * FROM 'ftp://shards/a.csv'", "ftp"),
    ] {
        let (code, out, err) = run(sql);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{sql}");
        assert!(
            err.lines().count() == 1 && err.contains(words),
            "{sql}: {err}"
        );
    }
    for name in [
        "1.csv",
        "2.parquet",
        "3.ndjson",
        "4.arrow",
        "5.amudai.shard",
        "x/",
    ] {
        let sql = format!(
            "COPY (SELECT 1 / (value - 100000) AS a FROM generate_series(1, 200000)) TO 's3://shards/failed/{name}' {}",
            if name == "x/" {
                "STORED AS PARQUET"
            } else {
                ""
            }
        );
        let (code, _, err) = run(&sql);
        assert!(
            code == Some(1) && err.to_lowercase().contains("divide by zero"),
            "{err}"
        );
        let place = name.replace('/', "");
        let listed = moto.request(&format!("GET /shards?prefix=failed/{place}"));
        assert!(!listed.contains("<Key>"), "{sql}: {listed}");
        let done = run(&sql.replace("- 100000", "+ 1"));
        assert_eq!(done, (Some(0), String::new(), String::new()), "{sql}");
        let (_, out, _) = run(&format!(
            "SELECT count(*) AS n FROM 's3://shards/failed/{name}'"
        ));
        assert_eq!(out, "n\n200000\n", "{name}");
    }
}
