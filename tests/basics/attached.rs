//! A shard over Parquet files, in builds with the feature `parquet` and without it.

use arrow_shard::Shard;
use arrow_shard::read::inspect::InspectOptions;
use std::path::Path;

fn golden() -> Shard {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/layouts/external_parquet");
    Shard::open(folder.join("table.amudai.shard")).unwrap()
}

#[test]
fn inspect_lists_column_chunks_in_every_build() {
    let info = golden().inspect(InspectOptions::default()).unwrap();
    for (stripe, file) in info.stripes.iter().zip(["a.parquet", "b.parquet"]) {
        for (column, physical_type) in ["INT64", "BYTE_ARRAY"].into_iter().enumerate() {
            let field = &stripe.fields[column];
            assert_eq!(field.problem, None);
            let [chunk] = &field.parquet_chunks[..] else {
                panic!("{field:?}");
            };
            assert_eq!(chunk.file, file);
            let place = (chunk.row_group, chunk.column as usize);
            assert_eq!(place, (0, column));
            assert_eq!(chunk.physical_type, physical_type);
            assert_eq!((chunk.num_pages, chunk.has_page_map), (Some(1), false));
            let dictionary = chunk.dictionary_page.unwrap();
            let data = chunk.data_pages.unwrap();
            assert_eq!(dictionary.end(), data.start());
            assert_eq!(field.encoded_bytes, dictionary.len() + data.len());
            // The property of the field is parsed with the feature only.
            let has_feature = cfg!(feature = "parquet");
            assert_eq!(chunk.codec.as_deref(), has_feature.then_some("ZSTD"));
            assert_eq!(
                chunk.num_values,
                has_feature.then(|| field.positions.unwrap())
            );
            assert_eq!(chunk.uncompressed_bytes.is_some(), has_feature);
            assert_eq!(chunk.page_encodings.is_empty(), !has_feature);
        }
    }
}

#[cfg(feature = "parquet")]
#[test]
fn rows_are_read_from_the_parquet_files() {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    let taken = golden().take(&[4, 0, 2], ["id", "name"]).unwrap();
    let ids = taken["id"].as_primitive::<Int64Type>();
    assert_eq!(ids.values(), &[5, 1, 3]);
    let names: Vec<_> = taken["name"].as_string::<i32>().iter().collect();
    assert_eq!(names, [Some("five"), Some("one"), None]);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn rows_in_parquet_files_are_refused_by_name() {
    let error = golden().take(&[0], ["id"]).unwrap_err();
    assert_eq!(error.kind(), arrow_shard::ErrorKind::Unsupported, "{error}");
    let text = error.to_string();
    assert!(text.contains("feature `parquet`"), "{text}");
}
