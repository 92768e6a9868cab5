//! Shards with files that were replaced by files of other shards.

use crate::numbers::{ids, names, read, write};
use crate::support::{NAME, collect, opened, written};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, FixedSizeBinaryArray, Float64Array,
    Int16Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow_shard::io::MemoryFolder;
use arrow_shard::ops::{ShardEditor, merge};
use arrow_shard::read::{col, lit};
use arrow_shard::write::{ColumnOptions, Layout, PresenceLayout, Profile, WriterOptions};
use arrow_shard::{Error, ErrorKind, Shard};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns a pseudo-random number from an index.
fn mixed(i: usize) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Returns a table of `rows` rows. Every seed gives every column other values, in encodings of the same size if
/// possible.
fn table(seed: usize, rows: usize) -> RecordBatch {
    let noise = move |i: usize| mixed(i * 16 + seed) >> 20;
    let small = move |i: usize| i64::try_from((noise(i) + seed as u64) % 100).unwrap();
    let texts: Vec<String> = (0..rows)
        .map(|i| format!("{:08x}", noise(i) & 0xFFFF_FFFF))
        .collect();
    let few: DictionaryArray<Int32Type> = (0..rows)
        .map(|i| ["red", "green", "blue", "black"][(i + seed + i / 7) % 4])
        .collect();
    let lists = (0..rows).map(|i| {
        let len = (i + seed) % 3;
        Some((0..len).map(|k| Some(small(i + k))).collect::<Vec<_>>())
    });
    let flags = (0..rows).map(|i| Some(noise(i) % 2 == 0));
    let member = Arc::new((0..rows).map(|i| Some(small(i))).collect::<Int64Array>());
    let other = Arc::new(
        (0..rows)
            .map(|i| Some(small(i) as f64 / 4.0))
            .collect::<Float64Array>(),
    );
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "small",
            Arc::new((0..rows).map(small).collect::<Int64Array>()),
        ),
        (
            "nulls",
            Arc::new(
                (0..rows)
                    .map(|i| (small(i) % 3 > 0).then(|| small(i)))
                    .collect::<Int64Array>(),
            ),
        ),
        (
            "steps",
            Arc::new(
                (0..rows)
                    .map(|i| i64::try_from(i * (seed + 3)).unwrap())
                    .collect::<Int64Array>(),
            ),
        ),
        (
            "short",
            Arc::new(
                (0..rows)
                    .map(|i| i16::try_from(small(i)).unwrap())
                    .collect::<Int16Array>(),
            ),
        ),
        (
            "float",
            Arc::new(
                (0..rows)
                    .map(|i| f64::from_bits(noise(i)))
                    .collect::<Float64Array>(),
            ),
        ),
        ("flag", Arc::new(flags.collect::<BooleanArray>())),
        ("text", Arc::new(StringArray::from(texts))),
        ("few", Arc::new(few)),
        (
            "fixed",
            Arc::new(
                FixedSizeBinaryArray::try_from_iter((0..rows).map(|i| noise(i).to_le_bytes()))
                    .unwrap(),
            ),
        ),
        (
            "money",
            Arc::new(
                (0..rows)
                    .map(|i| i128::from(small(i)) << 70)
                    .collect::<Decimal128Array>(),
            ),
        ),
        (
            "list",
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)),
        ),
        (
            "pair",
            Arc::new(StructArray::try_from(vec![("a", member as ArrayRef), ("b", other)]).unwrap()),
        ),
        // A constant for each seed, which takes no bytes in the stripe.
        (
            "same",
            Arc::new(Int64Array::from(vec![i64::try_from(seed).unwrap(); rows])),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

fn two_level(profile: Profile) -> WriterOptions {
    WriterOptions::default()
        .with_layout(Layout::TwoLevel)
        .with_profile(profile)
}

/// Returns ways to write a table, all of them with separate stripe files.
fn ways() -> Vec<(&'static str, WriterOptions)> {
    let balanced = || two_level(Profile::Balanced);
    let column = ColumnOptions::default;
    vec![
        ("fast", two_level(Profile::Fast)),
        ("balanced", balanced()),
        ("plain", two_level(Profile::Plain)),
        ("high", two_level(Profile::HighCompression)),
        ("minimal", two_level(Profile::MinimalSize)),
        (
            "embedded",
            balanced().with_presence(PresenceLayout::Embedded),
        ),
        ("small blocks", balanced().with_block_values(1024)),
        (
            "packed",
            balanced()
                .with_packed_columns(["small", "text", "flag"])
                .with_column("pair", column().with_packed_group(true)),
        ),
        (
            "delimited",
            balanced().with_column("text", column().with_delimited_values(true)),
        ),
        (
            "compressors",
            two_level(Profile::HighCompression)
                .with_block_values(1_024)
                .with_compressor_dictionary_enabled(true),
        ),
        ("stripes", two_level(Profile::Fast).with_stripe_rows(40)),
    ]
}

/// Reads all rows of one column, and the rows that a filter finds, in several ways.
fn column(shard: &Shard, name: &str) -> Vec<Result<RecordBatch, Error>> {
    let scan = || shard.scan().with_projection([name]);
    let all = scan().build().and_then(|reader| Ok(collect(reader)?));
    let rows: Vec<u64> = (0..shard.num_rows()).step_by(7).collect();
    let mut found = vec![all, shard.take(&rows, [name])];
    if name == "small" || name == "short" {
        let some = scan().with_filter(col(name).lt(lit(20))).build();
        found.push(some.and_then(|reader| Ok(collect(reader)?)));
    }
    found
}

/// Reads a shard in which one file was swapped: each column is unchanged or an error. Returns the errors.
fn check_swapped(what: &str, right: &Shard, swapped: &Shard) -> Vec<(String, Error)> {
    let schema = right.schema().unwrap();
    let mut errors = Vec::new();
    for field in schema.fields() {
        let name = field.name();
        let found = column(swapped, name);
        for (way, (expected, found)) in column(right, name).into_iter().zip(found).enumerate() {
            match found {
                Ok(rows) => assert_eq!(rows, expected.unwrap(), "{what}, `{name}`, way {way}"),
                Err(error) => errors.push((name.clone(), error)),
            }
        }
    }
    errors
}

#[test]
fn a_stripe_file_of_another_shard_is_an_error_or_has_the_same_rows() {
    for rows in [100, 5000] {
        for (way, options) in ways() {
            let shards: Vec<MemoryFolder> = (0..3)
                .map(|seed| {
                    let table = table(seed, rows);
                    let options = options.clone().with_stripe_rows(match way {
                        "stripes" => rows as u64 * 2 / 5,
                        _ => u64::MAX,
                    });
                    written(&table.schema(), &[table], options).unwrap()
                })
                .collect();
            for (x, y) in (0..3).flat_map(|x| (0..3).map(move |y| (x, y))) {
                let (own, other) = (stripe_files(&shards[x]), stripe_files(&shards[y]));
                for (a, b) in own.iter().flat_map(|a| other.iter().map(move |b| (a, b))) {
                    if (x, a) == (y, b) {
                        continue;
                    }
                    let what = format!("{way}, {rows} rows, {b} of {y} for {a} of {x}");
                    let folder = copied(&shards[x]);
                    folder.insert(a, shards[y].get(b).unwrap());
                    let swapped = opened(&folder).unwrap();
                    let errors = check_swapped(&what, &opened(&shards[x]).unwrap(), &swapped);
                    // All columns except for the constant one.
                    let columns = table(0, 1).num_columns() - 1;
                    let mut failed: Vec<&str> = errors.iter().map(|e| e.0.as_str()).collect();
                    failed.dedup();
                    assert_eq!(failed.len(), columns, "{what}: {failed:?}");
                    for (name, error) in &errors {
                        let text = error.to_string();
                        let kinds = [
                            ErrorKind::WrongFile,
                            ErrorKind::Checksum,
                            ErrorKind::Corrupt,
                        ];
                        assert!(kinds.contains(&error.kind()), "{what}: {text}");
                        assert!(text.contains(a.as_str()), "{what}, `{name}`: {text}");
                        // The bytes missing in a shorter file belong to several fields.
                        let names = text.contains("stripe ")
                            && (text.contains("field `") || text.contains(name.as_str()));
                        let is_cut = text.contains(" lies outside of the ");
                        assert!(names || is_cut, "{what}, `{name}`: {text}");
                    }
                    let report = opened(&folder).unwrap().verify().unwrap();
                    assert!(!report.is_sound(), "{what}");
                }
            }
        }
    }
}

/// Returns the names of all files except for the directory file.
fn stripe_files(folder: &MemoryFolder) -> Vec<String> {
    let names = folder.names().into_iter();
    names.filter(|name| name != NAME).collect()
}

fn copied(folder: &MemoryFolder) -> MemoryFolder {
    let copy = MemoryFolder::new();
    for name in folder.names() {
        copy.insert(&name, folder.get(&name).unwrap());
    }
    copy
}

#[test]
fn the_error_names_both_files_and_says_what_to_do() {
    let [x, y] = [0, 1].map(|seed| {
        let table = table(seed, 100);
        written(&table.schema(), &[table], two_level(Profile::Fast)).unwrap()
    });
    let name = stripe_files(&x).remove(0);
    x.insert(&name, y.get(&stripe_files(&y)[0]).unwrap());
    let error = opened(&x).unwrap().take(&[3], ["small"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongFile);
    let text = error.to_string();
    for part in [
        "stripe 0",
        "field `small`",
        &format!("file `{name}`"),
        "put the right one back",
    ] {
        assert!(text.contains(part), "{text}");
    }
    // A reader without verification of checksums does not compare them with the descriptor either.
    let options = arrow_shard::ShardOptions::default().with_verify_checksums(false);
    let directory = x.get(NAME).unwrap();
    let shard = Shard::from_reader(Arc::new(directory), Arc::new(x), options).unwrap();
    assert_eq!(shard.take(&[3], ["small"]).unwrap().num_rows(), 1);
}

/// Creates a folder with a shard, and returns it with the path of the directory file.
fn local(rows: std::ops::Range<i64>, options: WriterOptions) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    write(&path, vec![("id", ids(rows))], options);
    (folder, path)
}

/// Returns the only name in a folder that is not in `before`.
fn added(folder: &Path, before: &[String]) -> String {
    let mut new = names(folder);
    new.retain(|name| !before.contains(name));
    assert_eq!(new.len(), 1, "{new:?}");
    new.remove(0)
}

#[test]
fn deleted_rows_and_added_columns_are_those_of_the_shard() {
    type Edit = dyn Fn(&mut ShardEditor, u64);
    let edits: [&Edit; 2] = [
        &|editor, seed| {
            let rows: Vec<u64> = [1, 5, 9].map(|row| row + seed).to_vec();
            editor.delete_rows(&rows).unwrap();
        },
        &|editor, seed| {
            let values = Int64Array::from_iter_values(
                (0..100).map(|i| ((mixed(i) >> 57) + seed).cast_signed()),
            );
            let field = arrow_schema::Field::new("more", arrow_schema::DataType::Int64, false);
            let values = [Arc::new(values) as ArrayRef];
            editor
                .add_column_values(field, values, ColumnOptions::default())
                .unwrap();
        },
    ];
    for edit in edits {
        for profile in [Profile::Fast, Profile::Balanced] {
            let edited = [0, 1].map(|seed| {
                let (folder, path) = local(0..100, two_level(profile));
                let before = names(folder.path());
                let mut editor = ShardEditor::open(&path).unwrap();
                edit(&mut editor, seed);
                editor.commit().unwrap();
                let name = added(folder.path(), &before);
                (folder, path, name)
            });
            let [(a, path, name), (b, _, other)] = &edited;
            std::fs::copy(b.path().join(other), a.path().join(name)).unwrap();
            let shard = Shard::open(path).unwrap();
            let rows = shard.scan().build().and_then(|reader| Ok(collect(reader)?));
            let error = rows.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WrongFile, "{error}");
            assert!(error.to_string().contains(name.as_str()), "{error}");
            assert!(!shard.verify().unwrap().is_sound());
        }
    }
}

#[test]
fn a_merged_shard_keeps_its_rows_or_says_that_a_source_was_overwritten() {
    for profile in [Profile::Fast, Profile::Balanced, Profile::Plain] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let options = WriterOptions::default().with_profile(profile);
        for (name, first) in [("a", 1000), ("b", 2000), ("c", 3000)] {
            write(
                &path(name),
                vec![("id", ids(first..first + 300))],
                options.clone(),
            );
        }
        merge([path("a"), path("b")], path("m")).unwrap();
        let before = read(&path("m"));
        // Like `cp`, this keeps the inode.
        std::fs::write(path("a"), std::fs::read(path("c")).unwrap()).unwrap();
        let shard = Shard::open(path("m")).unwrap();
        let rows = shard.scan().build().and_then(|reader| Ok(collect(reader)?));
        match rows {
            Ok(rows) => {
                let found = rows.column(0).as_primitive::<Int64Type>().values().to_vec();
                assert_eq!(found, before);
            }
            Err(_) => assert!(!shard.verify().unwrap().is_sound()),
        }
    }
}

/// Returns the bytes of the entries that repeat checksums, in the descriptors of all stripe fields.
#[cfg(feature = "experimental")]
fn repeated_bytes(shard: &Shard, nodes: u32) -> u64 {
    use arrow_shard::buffer::CHECKSUMS_PROPERTY;
    use arrow_shard::format::ValueKind;
    let mut total = 0;
    for stripe in 0..shard.num_stripes() {
        for id in 0..nodes {
            let Some(field) = shard.stripe_field_descriptor(stripe, id).unwrap() else {
                continue;
            };
            let mut properties = field.field.custom_properties.iter();
            let Some(own) = properties.find(|p| p.name == CHECKSUMS_PROPERTY) else {
                continue;
            };
            let Some(ValueKind::Bytes(bytes)) = &own.value.as_ref().unwrap().kind else {
                panic!("{own:?}");
            };
            let mut rest = bytes.as_ref();
            while let Some((entry, behind)) = rest.split_first_chunk::<16>() {
                let count = u32::from_le_bytes(entry[12..].try_into().unwrap());
                let len = 4 * count as usize;
                if entry[4] >= 4 {
                    total += 16 + len as u64;
                }
                rest = &behind[len..];
            }
        }
    }
    total
}

#[cfg(feature = "experimental")]
#[test]
fn what_binds_files_takes_a_small_part_of_them() {
    let size = |folder: &MemoryFolder| {
        let bytes = folder
            .names()
            .into_iter()
            .map(|name| folder.get(&name).unwrap().len());
        bytes.sum::<usize>() as f64
    };
    let share = |table: RecordBatch, nodes, options| {
        let folder = written(&table.schema(), &[table], options).unwrap();
        let bytes = repeated_bytes(&opened(&folder).unwrap(), nodes);
        let share = bytes as f64 / size(&folder);
        println!("{bytes} bytes of {}, {:.3} %", size(&folder), 100.0 * share);
        assert!(bytes > 0);
        share
    };
    let wide = RecordBatch::try_from_iter((0..10_000).map(|column| {
        let values = (0..20).map(|row| mixed(column * 20 + row).cast_signed());
        let values = Arc::new(values.collect::<Int64Array>()) as ArrayRef;
        (format!("c{column}"), values)
    }));
    // 20 bytes for each column, which has little other data.
    assert!(share(wide.unwrap(), 10_000, WriterOptions::default()) < 0.04);
    for profile in [Profile::Fast, Profile::Balanced, Profile::HighCompression] {
        let options = two_level(profile);
        assert!(share(table(1, 100_000), 20, options) < 0.005, "{profile:?}");
    }
}

/// Puts the objects of a folder into a store that counts requests.
#[cfg(all(feature = "experimental", feature = "object_store"))]
fn stored(files: Vec<(String, bytes::Bytes)>) -> Arc<crate::rounds::Rounds> {
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStore, ObjectStoreExt};
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    for (name, bytes) in files {
        let path = Path::from(name);
        futures::executor::block_on(store.put(&path, bytes.into())).unwrap();
    }
    crate::rounds::Rounds::new(store)
}

/// Reads columns of a shard in a store, and returns the rows, the number of reads, and the number of rounds.
#[cfg(all(feature = "experimental", feature = "object_store"))]
fn read_stored(
    store: &Arc<crate::rounds::Rounds>,
    columns: &[&str],
) -> (Result<Vec<RecordBatch>, Error>, usize, usize) {
    use futures::TryStreamExt;
    use object_store::path::Path;
    store.take();
    let rows = store.run(async {
        let options = arrow_shard::ShardOptions::default();
        let shard = Shard::open_object(store.clone(), &Path::from(NAME), options).await?;
        let scan = shard.scan().with_projection(columns.to_vec());
        let rows = scan.build_stream().await?.try_collect().await;
        rows.map_err(Error::from)
    });
    let asked = store.take();
    (rows, asked.reads.len(), asked.rounds)
}

#[cfg(all(feature = "experimental", feature = "object_store"))]
#[test]
fn objects_are_told_apart_without_another_request() {
    use arrow_shard::buffer::CHECKSUMS_PROPERTY;
    let columns = ["small", "text", "few", "list"];
    // One object, unchanged, and without the repeated checksums in its descriptors.
    for profile in [Profile::Fast, Profile::Balanced, Profile::HighCompression] {
        let table = table(1, 200_000);
        let options = WriterOptions::default().with_profile(profile);
        let whole = crate::support::written_bytes(&[table], options);
        let bare = crate::descriptors::with_descriptors(&whole, |_, field, _| {
            let properties = &mut field.field.custom_properties;
            properties.retain(|property| property.name != CHECKSUMS_PROPERTY);
        });
        let [whole, bare] = [whole, bare.into()].map(|bytes| {
            assert!(bytes.len() > 1 << 20);
            let store = stored(vec![(NAME.to_owned(), bytes)]);
            let (rows, reads, rounds) = read_stored(&store, &columns);
            (rows.unwrap(), reads, rounds)
        });
        assert_eq!(whole, bare, "{profile:?}");
    }
    // A stripe's object is replaced by an object of another shard.
    let [x, y] = [0, 1].map(|seed| {
        let table = table(seed, 5000);
        written(&table.schema(), &[table], two_level(Profile::Fast)).unwrap()
    });
    let files = |folder: &MemoryFolder| {
        let names = folder.names().into_iter();
        names
            .map(|name| (name.clone(), folder.get(&name).unwrap()))
            .collect::<Vec<_>>()
    };
    let (rows, sound, _) = read_stored(&stored(files(&x)), &["small"]);
    assert_eq!(
        rows.unwrap()
            .iter()
            .map(RecordBatch::num_rows)
            .sum::<usize>(),
        5000
    );
    x.insert(&stripe_files(&x)[0], y.get(&stripe_files(&y)[0]).unwrap());
    let (rows, swapped, _) = read_stored(&stored(files(&x)), &["small"]);
    let error = rows.unwrap_err();
    let kinds = [ErrorKind::WrongFile, ErrorKind::Checksum];
    assert!(kinds.contains(&error.kind()), "{error}");
    assert!(error.to_string().contains(&stripe_files(&x)[0]), "{error}");
    assert!(swapped <= sound);
}
