//! Inputs and options that a writer accepts or rejects, and the traits that it implements.

use crate::support::{collect, inner, written_bytes};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, RecordBatchWriter,
    StructArray, UnionArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, UnionFields};
use arrow_shard::metadata::{AnyValue, NameValuePair, SortingColumn, Wire};
use arrow_shard::write::{ColumnOptions, Profile, ShardWriter, WriterOptions};
use arrow_shard::{Error, ErrorKind, Shard};
use std::sync::Arc;

fn schema() -> SchemaRef {
    let member = Field::new("x.y", DataType::Int32, true);
    let item = Field::new("item", DataType::Int32, true);
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int32, true),
        Field::new("a.b", DataType::Int32, true),
        Field::new("point", DataType::Struct(vec![member].into()), true),
        Field::new("list", DataType::List(Arc::new(item)), true),
    ]))
}

/// Returns the error of creating a writer with these options.
fn refusal(options: WriterOptions) -> Option<Error> {
    ShardWriter::try_new(Vec::new(), schema(), options).err()
}

#[test]
fn sorting_columns_are_columns_or_members_of_structs() {
    let sorted = |path: &str| {
        let column = SortingColumn {
            path: path.to_owned(),
            descending: false,
            nulls_first: true,
        };
        refusal(WriterOptions::default().with_sorting_columns(vec![column]))
    };
    for path in ["id", "a.b", "point", "point.x.y"] {
        assert!(sorted(path).is_none(), "{path}");
    }
    for path in ["", "i", "idx", "a", "point.x", "point.", "list.item", "b"] {
        let error = sorted(path).unwrap_or_else(|| panic!("`{path}` was accepted"));
        assert_eq!(error.kind(), ErrorKind::UnknownColumn, "{error}");
        assert!(error.message().contains(&format!("`{path}`")), "{error}");
    }
}

#[test]
fn properties_that_are_nested_too_deeply_are_refused_before_rows_come() {
    let nested = |levels: usize| {
        let value = (0..levels).fold(AnyValue::from(1_i64), |value, _| vec![value].into());
        NameValuePair::new("deep", value)
    };
    let given = |property: NameValuePair| {
        let column = ColumnOptions::default().with_property(property.clone());
        [
            WriterOptions::default().with_property(property.clone()),
            WriterOptions::default().with_stripe_property(property),
            WriterOptions::default().with_column("id", column),
        ]
    };
    let batch = RecordBatch::new_empty(schema());
    for wire in [Wire::Spec, Wire::Reference] {
        for options in given(nested(40)) {
            let error = refusal(options.with_wire(wire)).unwrap();
            assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
            assert!(error.to_string().contains("property `deep`"), "{error}");
        }
        // With every accepted property, a shard can be written and finished.
        for levels in 0..40 {
            for options in given(nested(levels)) {
                let writer = ShardWriter::try_new(Vec::new(), schema(), options.with_wire(wire));
                if let Ok(mut writer) = writer {
                    writer.write(&batch).unwrap();
                    writer.finish().unwrap();
                } else {
                    assert!(levels > 25, "{levels} levels");
                }
            }
        }
    }
}

#[test]
fn profiles_that_a_build_lacks_are_refused_by_the_feature() {
    for profile in [Profile::HighCompression, Profile::MinimalSize] {
        let column = ColumnOptions::default().with_profile(profile);
        for options in [
            WriterOptions::default().with_profile(profile),
            WriterOptions::default().with_column("id", column),
        ] {
            let Some(error) = refusal(options) else {
                assert!(profile.is_available());
                continue;
            };
            assert!(!profile.is_available());
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.message().contains("feature `zstd`"), "{error}");
        }
    }
    assert_eq!(
        Profile::HighCompression.is_available(),
        cfg!(feature = "zstd")
    );
}

fn unions() -> ArrayRef {
    let variants = [(0, "a", DataType::Int32), (1, "b", DataType::Int64)];
    let fields: UnionFields = variants
        .map(|(id, name, kind)| (id, Arc::new(Field::new(name, kind, true))))
        .into_iter()
        .collect();
    let children: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![Some(1), None])),
        Arc::new(Int64Array::from(vec![2, 3])),
    ];
    Arc::new(UnionArray::try_new(fields, vec![0, 1].into(), None, children).unwrap())
}

#[test]
fn null_keys_of_dictionaries_of_unions_are_refused_by_column_and_row() {
    let dictionary = |keys: [Option<i32>; 3]| -> ArrayRef {
        let keys = Int32Array::from_iter(keys);
        Arc::new(DictionaryArray::<Int32Type>::try_new(keys, unions()).unwrap())
    };
    let write = |column: &ArrayRef| {
        let batch = RecordBatch::try_from_iter([("kind", column.clone())]).unwrap();
        let mut file = Vec::new();
        let mut writer =
            ShardWriter::try_new(&mut file, batch.schema(), WriterOptions::default()).unwrap();
        writer.write(&batch)?;
        writer.finish()?;
        Ok::<_, Error>((batch, Shard::from_bytes(file.into())?))
    };
    let nulls = dictionary([Some(1), None, Some(0)]);
    let error = write(&nulls).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ValueOutOfRange, "{error}");
    for part in ["column `kind`", "row 1:"] {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    // If all values are null, nothing is lost.
    let field = Arc::new(Field::new("m", nulls.data_type().clone(), true));
    let valid = NullBuffer::from(vec![true, false, true]);
    let hidden = StructArray::new(vec![field].into(), vec![nulls], Some(valid));
    for column in [dictionary([Some(1), Some(0), Some(1)]), Arc::new(hidden)] {
        let (batch, shard) = write(&column).unwrap();
        let read = collect(shard.scan().build().unwrap()).unwrap();
        let read = read.column(0);
        assert_eq!(read.nulls(), batch.column(0).nulls());
        let keys = |array: &dyn Array| array.logical_nulls();
        assert_eq!(keys(read), keys(batch.column(0)));
    }
}

/// Writes a batch through the trait `RecordBatchWriter`.
fn write_all<W: RecordBatchWriter>(mut writer: W, batch: &RecordBatch) -> Result<(), ArrowError> {
    writer.write(batch)?;
    writer.close()
}

#[test]
fn a_writer_is_arrows_writer_of_batches() {
    let numbers = Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("a", numbers)]).unwrap();
    let options = WriterOptions::default().with_creation_time(Some(1));
    let mut file = Vec::new();
    let writer = ShardWriter::try_new(&mut file, batch.schema(), options.clone()).unwrap();
    write_all(writer, &batch).unwrap();
    assert_eq!(
        file,
        written_bytes(std::slice::from_ref(&batch), options.clone())
    );

    let writer = ShardWriter::try_new(Vec::new(), schema(), options).unwrap();
    let error = write_all(writer, &batch).unwrap_err();
    assert_eq!(inner(&error).kind(), ErrorKind::SchemaMismatch);
}

#[test]
fn a_writer_tells_what_it_is_at() {
    let mut writer = ShardWriter::try_new(Vec::new(), schema(), WriterOptions::default()).unwrap();
    writer.write(&RecordBatch::new_empty(schema())).unwrap();
    let text = format!("{writer:?}");
    for part in [
        "ShardWriter",
        "in_progress_rows: 0",
        "a.b",
        "profile: Balanced",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}
