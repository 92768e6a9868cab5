//! The output of `inspect` about encodings, statistics and sketches, for both wires.

use super::covered::{Covered, covered};
use super::data::plain;
use super::support::shared;
use super::{Folder, Value};
use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, DurationMillisecondArray, FixedSizeBinaryArray,
    Float32Array, Int64Array, RecordBatch, TimestampMillisecondArray,
};
use arrow_shard::ShardWriter;
use arrow_shard::metadata::NameValuePair;
use arrow_shard::write::WriterOptions;
use std::sync::Arc;

fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let all = [&["inspect", "--json"], arguments].concat();
    serde_json::from_str(&folder.run(&all).ok()).unwrap()
}

/// Returns all fields of all stripes, including nested ones.
fn fields(shard: &Value) -> Vec<&Value> {
    let stripes = shard["stripes"].as_array().unwrap().iter();
    let mut found: Vec<&Value> = stripes
        .flat_map(|stripe| stripe["fields"].as_array().unwrap())
        .collect();
    let mut next = 0;
    while next < found.len() {
        found.extend(found[next]["children"].as_array().unwrap());
        next += 1;
    }
    found
}

#[test]
fn inspect_shows_sizes_and_encodings() {
    let folder = Folder::with(&plain(10_000));
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    let tree = folder.run(&["inspect", "t.shard"]).ok();
    assert!(
        tree.contains("10000 rows in 1 stripe") && tree.contains("├─ id: Int64"),
        "{tree}"
    );
    assert!(
        tree.contains("2000 nulls") && tree.contains("2 blocks of"),
        "{tree}"
    );
    let verbose = folder
        .run(&["inspect", "-v", "t.shard", "--columns", "id"])
        .ok();
    assert!(
        verbose.contains("values 0..8192") && !verbose.contains("name"),
        "{verbose}"
    );
    let json: Value =
        serde_json::from_str(&folder.run(&["inspect", "--json", "t.shard"]).ok()).unwrap();
    let id = &json["stripes"][0]["fields"][0];
    assert_eq!(
        (&id["path"], &id["nulls"]),
        (&Value::from("id"), &Value::from(2000))
    );
    assert!(id["ratio"].as_f64().unwrap() > 1.0);
    let counted = &id["buffers"][0]["blocks"]["encodings"][0]["blocks"];
    assert!(counted.as_u64().unwrap() > 0);
    let quick = folder
        .run(&["inspect", "--json", "--quick", "t.shard"])
        .ok();
    let quick: Value = serde_json::from_str(&quick).unwrap();
    let encodings = &quick["stripes"][0]["fields"][0]["buffers"][0]["blocks"]["encodings"];
    assert_eq!(encodings.as_array().unwrap().len(), 0);
}

#[test]
fn verbose_inspection_names_every_nested_encoding_with_values_and_bytes() {
    let folder = Folder::with(&plain(10_000));
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    let json = json(&folder, &["-v", "t.shard"]);
    let mut nested = 0;
    for field in fields(&json) {
        assert_eq!(field["contradictions"].as_array().unwrap().len(), 0);
        for buffer in field["buffers"].as_array().unwrap() {
            // A value dictionary has no blocks.
            for block in buffer["blocks"]["trees"].as_array().unwrap_or(&Vec::new()) {
                let tree = &block["encoding"];
                assert_eq!(tree["values"], block["values"], "{block}");
                assert_eq!(block["presence"], "all present", "{block}");
                for child in tree["children"].as_array().unwrap() {
                    nested += 1;
                    assert!(child["bytes"].as_u64() < tree["bytes"].as_u64(), "{block}");
                    assert!(child["values"].as_u64().unwrap() > 0, "{block}");
                }
            }
        }
    }
    assert!(nested > 0);
    let text = folder.run(&["inspect", "-v", "t.shard"]).ok();
    for expected in [
        "values 0..8192",
        "all present: ",
        "{ differences: FFOR (4) 8191 x ",
        "2500 true, 5000 false",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("CONTRADICTION"), "{text}");
    let short = folder.run(&["inspect", "t.shard"]).ok();
    assert!(!short.contains("2500 true"), "{short}");
}

#[test]
fn statistics_that_contradict_each_other_are_marked() {
    let folder = Folder::with(&plain(10_000));
    folder.run(&["convert", "t.arrow", "t.amudai.shard"]).ok();
    let bytes = std::fs::read(folder.path("t.amudai.shard")).unwrap();
    let mut files = vec![("t.amudai.shard".to_owned(), bytes)];
    let regions = covered(&files);
    // Changes the null count of `flag`, so its counts of true and false values exceed the rest.
    let [nulls, more] = [2500u64, 2600].map(u64::to_le_bytes);
    for region in regions
        .iter()
        .filter(|region| region.name == "stripe field")
    {
        let field = &mut files[0].1[region.bytes.clone()];
        if let Some(at) = field.windows(8).position(|bytes| bytes == nulls) {
            field[at..at + 8].copy_from_slice(&more);
            Covered::mend(&regions, region, &mut files);
        }
    }
    std::fs::write(folder.path("bad.shard"), &files[0].1).unwrap();
    let text = folder.run(&["inspect", "bad.shard"]).ok();
    let expected = "CONTRADICTION: 2500 values are true and 5000 false, and 7400 are not null";
    assert!(text.contains(expected), "{text}");
    let json = json(&folder, &["--quick", "bad.shard"]);
    let marked = fields(&json)
        .into_iter()
        .filter(|field| field["contradictions"].as_array().unwrap().len() == 1);
    assert_eq!(
        marked.map(|field| &field["path"]).collect::<Vec<_>>(),
        ["flag"]
    );
}

#[test]
fn statistics_and_sketches_of_the_reference_are_shown_and_agree() {
    let Some(golden) = shared("golden/shards") else {
        return;
    };
    let folder = Folder::new();
    let (mut sketches, mut filters, mut typed) = (0, 0, 0);
    for entry in std::fs::read_dir(golden).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_file() {
            continue;
        }
        let json = json(&folder, &["--quick", path.to_str().unwrap()]);
        for field in fields(&json) {
            let place = format!("{}: {}", path.display(), field["path"]);
            assert_eq!(field["problem"], Value::Null, "{place}");
            let found = field["contradictions"].as_array().unwrap();
            // The reference implementation stores floats that are equal except for NaN as a constant.
            let folded = |c: &Value| c.as_str().unwrap().contains("are not numbers");
            assert!(found.iter().all(folded), "{place}: {found:?}");
            typed += usize::from(!field["statistics"].is_null());
            let sketch = &field["cardinality"]["sketch"];
            if !sketch.is_null() {
                sketches += 1;
                assert_eq!(sketch["hash_seed"], 0x416D_7564_484C_4C31u64, "{place}");
                assert_eq!(
                    (&sketch["bits_per_index"], &sketch["counters"]),
                    (&7.into(), &128.into())
                );
            }
            let filter = &field["bloom_filter"];
            if !filter.is_null() {
                filters += 1;
                assert_eq!(filter["hash_seed"], 0x4D75_6461_6942_4646u64, "{place}");
                let blocks = filter["blocks"].as_u64().unwrap();
                assert_eq!(filter["bytes"], blocks * 32, "{place}");
            }
        }
    }
    assert!(
        sketches > 10 && filters > 10 && typed > 50,
        "{sketches} {filters} {typed}"
    );
    let strings = shared("golden/shards")
        .unwrap()
        .join("strings.amudai.shard");
    let text = folder
        .run(&["inspect", "-v", strings.to_str().unwrap()])
        .ok();
    assert!(
        text.contains("HLL: ") && text.contains("(SBBF): ") && text.contains("lengths: "),
        "{text}"
    );
    assert!(
        text.contains("Reference wire") && text.contains("presence "),
        "{text}"
    );
}

#[test]
fn an_explanation_lists_the_candidates_with_the_chosen_one_first() {
    let folder = Folder::with(&plain(10_000));
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    let explain = |profile: &str| {
        let options = ["--explain", "--profile", profile, "--columns", "id"];
        folder
            .run(&[&["inspect", "t.shard"], &options[..]].concat())
            .ok()
    };
    let balanced = explain("balanced");
    let lines = balanced.lines().skip_while(|line| *line != "id");
    let candidates: Vec<&str> = lines.skip(1).collect();
    let cost = |line: &&str| -> f64 {
        let number = line.split("cost").nth(1).unwrap().split_whitespace().next();
        number.unwrap().parse().unwrap()
    };
    assert!(
        candidates[0].contains("->") && candidates.len() > 3,
        "{balanced}"
    );
    assert!(candidates.is_sorted_by_key(cost), "{balanced}");
    assert!(
        candidates.iter().any(|line| line.ends_with(" FFOR")),
        "{balanced}"
    );
    // The first candidate of the explanation is the written encoding.
    let chosen = candidates[0].rsplit("  ").next().unwrap();
    assert!(chosen.starts_with("Multiples(Delta("), "{balanced}");
    let written = folder.run(&["inspect", "t.shard", "--columns", "id"]).ok();
    assert!(written.contains("Multiples"), "{written}");
    assert!(explain("plain").ends_with("Plain\n"));
}

#[test]
fn indexes_and_filters_are_shown_as_such() {
    let mixed = |i: u64| {
        let word = i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        word.wrapping_mul(0xBF58_476D_1CE4_E5B9).to_be_bytes()
    };
    let ids = (0..20_000u64).map(|i| [mixed(2 * i + 1), mixed(2 * i + 2)].concat());
    let ids = FixedSizeBinaryArray::try_from_iter(ids).unwrap();
    let columns = [
        ("id", Arc::new(ids) as ArrayRef),
        ("time", Arc::new(Int64Array::from_iter_values(0..20_000))),
    ];
    let folder = Folder::with(&RecordBatch::try_from_iter(columns).unwrap());
    folder.run(&["convert", "t.arrow", "t.shard"]).ok();
    for quick in [&[][..], &["--quick"]] {
        let text = folder.run(&[&["inspect", "t.shard"], quick].concat()).ok();
        let lines = |word: &str| text.lines().filter(|line| line.contains(word)).count();
        assert_eq!(lines("· RangeIndex: "), 1, "{text}");
        assert_eq!(lines(", 79 entries, one for 256 positions"), 1, "{text}");
        let filter =
            "· Bloom filter (SBBF): 32.0 KiB, 1024 blocks, 20000 values at a false positive";
        assert_eq!(lines(filter), 1, "{text}");
        assert!(!text.contains("not in blocks"), "{text}");
        let json = json(&folder, &[&["t.shard"], quick].concat());
        let index = &json["stripes"][0]["fields"][1]["buffers"][1];
        assert_eq!(index["kind"], "RangeIndex");
        assert_eq!(index["range_index"]["entries"], 79);
        assert_eq!(index["range_index"]["block_positions"], 256);
        assert_eq!(
            json["stripes"][0]["fields"][0]["bloom_filter"]["blocks"],
            1024
        );
    }
}

#[test]
fn bounds_and_constants_have_their_types_and_properties_have_values() {
    let times = TimestampMillisecondArray::from(vec![0, 86_400_500]).with_timezone("+02:00");
    let prices = Decimal128Array::from(vec![150, -25]);
    let waits = DurationMillisecondArray::from(vec![1_500, 1_500]);
    let columns = [
        (
            "day",
            Arc::new(Date32Array::from(vec![19_723, 19_782])) as ArrayRef,
        ),
        ("time", Arc::new(times)),
        (
            "price",
            Arc::new(prices.with_precision_and_scale(9, 2).unwrap()),
        ),
        ("wait", Arc::new(waits)),
        ("share", Arc::new(Float32Array::from(vec![0.1, 0.3]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let metadata = [("station".to_owned(), "Blindern".to_owned())];
    let schema = batch.schema_ref().as_ref().clone();
    let schema = schema.with_metadata(metadata.into_iter().collect());
    let batch = batch.with_schema(Arc::new(schema)).unwrap();
    let folder = Folder::new();
    let property = NameValuePair {
        name: "source".to_owned(),
        value: Some("buoys of the north".into()),
    };
    let options = WriterOptions::default().with_property(property);
    let file = folder.path("t.shard");
    let mut writer = ShardWriter::create_with(file, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let text = folder.run(&["inspect", "t.shard"]).ok();
    for expected in [
        ", 2024-01-01 ..= 2024-02-29, ",
        ", 1970-01-01T02:00:00+02:00 ..= 1970-01-02T02:00:00.500+02:00, ",
        ", -0.25 ..= 1.50, ",
        ", constant PT1.5S, ",
        ", 0.1 ..= 0.3, ",
        "\nproperty source = \"buoys of the north\"\n",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let json = json(&folder, &["t.shard"]);
    assert_eq!(json["properties"]["source"], "buoys of the north");
    let fields = fields(&json);
    assert_eq!(fields[0]["range"]["min"], "2024-01-01");
    assert_eq!(fields[2]["range"]["max"], "1.50");
    assert_eq!(fields[3]["constant"], "PT1.5S");
    let schema = folder.run(&["schema", "t.shard"]).ok();
    assert!(
        schema.ends_with("metadata:\n  station = Blindern\n"),
        "{schema}"
    );
}

#[test]
fn a_shard_that_needs_more_than_it_may_take_is_refused() {
    let folder = Folder::with(&plain(20_000));
    for name in ["t.shard", "other.shard"] {
        folder.run(&["convert", "t.arrow", name]).ok();
    }
    for command in [
        &["cat", "t.shard"][..],
        &["head", "t.shard"],
        &["convert", "t.shard", "u.csv", "--force"],
        &["inspect", "t.shard"],
        &["verify", "t.shard"],
        &["schema", "t.shard"],
        &["delete", "t.shard", "--rows", "1", "--dry-run"],
        &["undelete", "t.shard", "--dry-run"],
        &["select", "t.shard", "--dry-run"],
        &["append", "t.shard", "other.shard", "--dry-run"],
        &["merge", "t.shard", "-o", "m.shard", "--dry-run"],
        &["compact", "t.shard", "--dry-run"],
        &["pack", "t.shard", "p.shard", "--force"],
        &["vacuum", "."],
    ] {
        folder.run(&[command, &["--strict"]].concat()).ok();
        folder
            .run(&[command, &["--max-memory", "64M"]].concat())
            .ok();
        let small = folder.run(&[command, &["--max-memory", "1K", "--strict"]].concat());
        assert_eq!(small.code, 1, "{command:?}");
        let said = small.text() + &small.err;
        assert!(
            said.contains("limit exceeded") || said.contains("Limits::"),
            "{said}"
        );
    }
    let wrong = folder.run(&["head", "t.shard", "--max-memory", "lots"]);
    assert!(
        wrong.code == 2 && wrong.err.contains("512M"),
        "{}",
        wrong.err
    );
}
