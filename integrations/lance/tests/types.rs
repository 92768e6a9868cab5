//! Every Arrow type in every version of Lance: the table in docs/conversions.md.
#![expect(
    clippy::unwrap_used,
    reason = "a table that cannot be made is a failed test"
)]

mod common;

use arrow_array::*;
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, Field, Schema};
use arrow_shard::ErrorKind;
use arrow_shard_lance::{LanceVersion, LanceWriter};
use common::{columns, dictionaries, flat, nested, null_structs, read, table_of, write};
use std::fmt::Write;
use std::sync::Arc;

/// The type of a column after writing and reading it: the same, of another type, or refused with an error that names
/// it.
fn outcome(column: &ArrayRef, version: LanceVersion) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.lance");
    let field = Field::new("c", column.data_type().clone(), true);
    let batch = table_of(field, column.clone());
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(0..3));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("id", ids, true),
        ("c", batch.column(0).clone(), true),
    ])
    .unwrap();
    if let Err(error) = write(&path, std::slice::from_ref(&batch), version) {
        let message = error.to_string();
        assert!(
            message.contains("column `c`"),
            "{}: {message}",
            column.data_type()
        );
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{message}");
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 0, "a refused table leaves a file");
        return "–".to_owned();
    }
    let back = read(&path).unwrap();
    assert_eq!(back.column(0), batch.column(0));
    let found = back.column(1);
    if found == column {
        return "same".to_owned();
    }
    assert_ne!(
        found.data_type(),
        column.data_type(),
        "{version}: {found:?}"
    );
    let cast = arrow_cast::cast(found, column.data_type()).unwrap();
    assert_eq!(&cast, column, "{version}");
    found.data_type().to_string()
}

/// The table in the docs.
fn table() -> &'static str {
    let page = include_str!("../../../docs/conversions.md");
    let shown = page
        .split("\n\n")
        .find(|part| part.starts_with("| type | Lance 2.0 |"));
    shown.unwrap_or_default().trim()
}

#[test]
fn every_type_in_every_version_is_as_the_docs_say() {
    let mut found = "| type |".to_owned();
    for version in LanceVersion::ALL {
        write!(found, " Lance {version} |").unwrap();
    }
    found.push_str("\n|-|-|-|-|\n");
    for column in columns() {
        let name = column.data_type().to_string().replace('|', "\\|");
        write!(found, "| {name} |").unwrap();
        for version in LanceVersion::ALL {
            write!(found, " {} |", outcome(&column, version)).unwrap();
        }
        found.push('\n');
    }
    if let Ok(path) = std::env::var("CONVERSIONS_TABLE") {
        std::fs::write(path, &found).unwrap();
    }
    assert_eq!(table(), found.trim(), "the table in docs/conversions.md");
}

/// Many rows in uneven batches come back equal, in every version.
fn comes_back(batch: &RecordBatch, version: LanceVersion) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.lance");
    let rows = batch.num_rows();
    let cut = rows / 3;
    let batches = [batch.slice(0, cut), batch.slice(cut, rows - cut)];
    assert_eq!(write(&path, &batches, version).unwrap(), rows as u64);
    let back = read(&path).unwrap();
    assert_eq!(back.schema(), batch.schema(), "{version}");
    for (at, field) in batch.schema().fields().iter().enumerate() {
        assert_eq!(
            back.column(at),
            batch.column(at),
            "{version}, {}",
            field.name()
        );
    }
}

#[test]
fn many_rows_come_back() {
    for version in LanceVersion::ALL {
        comes_back(&flat(50_000), version);
        comes_back(&flat(1), version);
    }
}

#[test]
fn nested_columns_with_nulls_come_back() {
    for version in LanceVersion::ALL {
        comes_back(&nested(5_000), version);
    }
}

#[test]
fn null_structs_come_back_or_are_refused() {
    for version in LanceVersion::ALL {
        let batch = null_structs(1_000);
        if version == LanceVersion::V2_0 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.lance");
            let error = write(&path, &[batch], version).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains("column `s`"), "{error}");
            assert!(!path.exists());
        } else {
            comes_back(&batch, version);
        }
    }
}

/// Lance takes the wrong bits of slices like these by itself.
#[test]
fn sliced_booleans_in_null_structs_come_back() {
    let rows = 300;
    let bits = |n: usize| BooleanBuffer::collect_bool(rows, |row| row % n != 0);
    let member = BooleanArray::new(bits(3), Some(NullBuffer::new(bits(5))));
    let members = vec![Field::new("m", DataType::Boolean, true)].into();
    let nulls = Some(NullBuffer::new(bits(4)));
    let column: ArrayRef = Arc::new(StructArray::new(members, vec![Arc::new(member)], nulls));
    let batch = table_of(Field::new("c", column.data_type().clone(), true), column);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.lance");
    for version in [LanceVersion::V2_1, LanceVersion::V2_2] {
        for cut in [1, 8, 64] {
            let batches = [batch.slice(0, cut), batch.slice(cut, rows - cut)];
            write(&path, &batches, version).unwrap();
            assert_eq!(read(&path).unwrap(), batch, "{version}, {cut}");
        }
    }
}

#[test]
fn dictionaries_come_back() {
    for version in LanceVersion::ALL {
        comes_back(&dictionaries(3_000), version);
    }
}

#[test]
fn empty_tables_keep_their_schema() {
    for version in LanceVersion::ALL {
        for batch in [flat(0), nested(0), dictionaries(0)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.lance");
            assert_eq!(
                write(&path, std::slice::from_ref(&batch), version).unwrap(),
                0
            );
            assert_eq!(read(&path).unwrap(), batch);
        }
    }
}

#[test]
fn metadata_of_schema_and_fields_are_kept() {
    let entry = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let member = Field::new("m", DataType::Int32, true).with_metadata([entry("unit", "µm")].into());
    let item =
        Field::new("element", DataType::Int32, false).with_metadata([entry("of", "items")].into());
    let fields = vec![
        Field::new("s", DataType::Struct(vec![member].into()), false)
            .with_metadata([entry("k", "v"), entry("empty", "")].into()),
        Field::new("l", DataType::List(Arc::new(item)), false),
        Field::new("u", DataType::FixedSizeBinary(16), true)
            .with_metadata([entry("ARROW:extension:name", "arrow.uuid")].into()),
    ];
    let schema = Schema::new_with_metadata(fields, [entry("geo", "{}"), entry("ä", "ö")].into());
    let column = |field: &Arc<Field>| match field.data_type() {
        data_type if field.is_nullable() => new_null_array(data_type, 2),
        DataType::List(item) => Arc::new(ListArray::new(
            item.clone(),
            arrow_buffer::OffsetBuffer::from_lengths([1, 2]),
            Arc::new(Int32Array::from(vec![1, 2, 3])),
            None,
        )) as ArrayRef,
        DataType::Struct(members) => {
            let nulls = new_null_array(&DataType::Int32, 2);
            Arc::new(StructArray::new(members.clone(), vec![nulls], None))
        }
        other => panic!("{other}"),
    };
    let columns = schema.fields().iter().map(column).collect();
    let batch = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
    for version in LanceVersion::ALL {
        comes_back(&batch, version);
    }
}

#[test]
fn blobs_are_kept() {
    let entry = ("lance-encoding:blob".to_owned(), "true".to_owned());
    let field = Field::new("image", DataType::LargeBinary, true).with_metadata([entry].into());
    let images = (0..30u8).map(|row| (row % 7 != 3).then(|| vec![row; 1000 * usize::from(row)]));
    let batch = table_of(field, Arc::new(LargeBinaryArray::from_iter(images)));
    for version in LanceVersion::ALL {
        comes_back(&batch, version);
    }
}

#[test]
fn columns_that_lance_does_not_keep_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let decimal = Field::new("d", DataType::Decimal32(5, 1), true);
    let list = |item: Field| DataType::List(Arc::new(item));
    let texts = Arc::new(Field::new("item", DataType::Utf8, true));
    let json = [("ARROW:extension:name".to_owned(), "arrow.json".to_owned())];
    let id = [("lance:field_id".to_owned(), "7".to_owned())];
    for (field, reason) in [
        (
            Field::new("inner", list(decimal.clone()), true),
            "Decimal32",
        ),
        (
            Field::new("inner", DataType::Struct(vec![decimal].into()), true),
            "Decimal32",
        ),
        (
            Field::new(
                "inner",
                DataType::Struct(arrow_schema::Fields::empty()),
                true,
            ),
            "without members",
        ),
        (
            Field::new("inner", DataType::FixedSizeList(texts, 2), true),
            "FixedSizeList",
        ),
        (Field::new("in.ner", DataType::Int32, true), "`.`"),
        (
            Field::new("inner", DataType::Utf8, true).with_metadata(json.into()),
            "JSON",
        ),
        (
            Field::new("inner", DataType::Int32, true).with_metadata(id.into()),
            "metadata",
        ),
    ] {
        let schema = Schema::new(vec![
            Field::new("fine", DataType::Int32, true),
            field.clone(),
        ]);
        let path = folder.path().join("t.lance");
        let Err(error) = LanceWriter::create(&path, Arc::new(schema)) else {
            panic!("{field} is not refused");
        };
        let error = error.to_string();
        assert!(
            error.contains(&format!("column `{}`", field.name())),
            "{error}"
        );
        assert!(
            error.contains(reason) && error.contains("t.lance"),
            "{reason}: {error}"
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
    let twice = Field::new("a", DataType::Int32, true);
    let schema = Schema::new(vec![twice.clone(), twice]);
    let error = LanceWriter::create(folder.path().join("t.lance"), Arc::new(schema)).unwrap_err();
    assert!(error.to_string().contains("same name"), "{error}");
}

#[test]
fn a_file_that_appears_meanwhile_is_not_blamed_on_a_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.lance");
    let column: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    let batch = table_of(Field::new("c", DataType::Int32, true), column);
    let mut writer = LanceWriter::create(&path, batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    std::fs::write(&path, "another file").unwrap();
    let error = writer.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    let message = format!("{error:#}");
    assert!(
        message.contains("t.lance") && !message.contains("column"),
        "{message}"
    );
}
