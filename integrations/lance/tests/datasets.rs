//! Datasets that pylance wrote (`tests/pylance.py golden`), with deleted rows, and with columns that were added,
//! renamed and removed.
#![expect(
    clippy::unwrap_used,
    reason = "a table that cannot be made is a failed test"
)]

mod common;

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use arrow_select::concat::concat_batches;
use arrow_shard::ErrorKind;
use arrow_shard_lance::{LanceReadOptions, LanceReader};
use common::read;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Damaged manifests and lists of deleted rows.
const MUTANTS: usize = 500;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// The rows that pylance reads.
fn expected(name: &str) -> RecordBatch {
    let file = File::open(data(&format!("{name}.arrow"))).unwrap();
    let reader = FileReader::try_new(file, None).unwrap();
    let schema = reader.schema();
    let batches: Vec<_> = reader.map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

fn compare(found: &RecordBatch, expected: &RecordBatch) {
    assert_eq!(found.schema(), expected.schema());
    for (at, field) in expected.schema().fields().iter().enumerate() {
        let (mut mine, mut theirs) = (found.column(at).clone(), expected.column(at).clone());
        if let arrow_schema::DataType::Dictionary(_, values) = field.data_type() {
            mine = arrow_cast::cast(&mine, values).unwrap();
            theirs = arrow_cast::cast(&theirs, values).unwrap();
        }
        assert_eq!(&mine, &theirs, "column {}", field.name());
    }
}

#[test]
fn datasets_are_read_as_by_pylance() {
    for name in [
        "deleted",
        "deleted-fragment",
        "columns",
        "members",
        "versions",
    ] {
        println!("{name}");
        compare(
            &read(&data(&format!("{name}.lance"))).unwrap(),
            &expected(name),
        );
    }
    assert!(expected("deleted").num_rows() > 0 && expected("deleted").num_rows() < 40);
}

#[test]
fn batches_have_as_many_rows_as_asked_for() {
    let options = LanceReadOptions::default().with_batch_rows(5);
    for name in ["deleted", "columns"] {
        let reader = LanceReader::open_with(data(&format!("{name}.lance")), &options).unwrap();
        let batches: Vec<_> = reader.map(Result::unwrap).collect();
        assert!(
            batches
                .iter()
                .all(|batch| (1..=5).contains(&batch.num_rows()))
        );
        let wanted = expected(name);
        compare(
            &concat_batches(&batches[0].schema(), &batches).unwrap(),
            &wanted,
        );
    }
}

#[test]
fn versions_of_a_dataset_are_read_by_number() {
    let path = data("versions.lance");
    let rows = |version| {
        let options = LanceReadOptions::default().with_version(version);
        LanceReader::open_with(&path, &options).map(|reader| reader.num_rows())
    };
    assert_eq!(rows(1).unwrap(), 40);
    assert_eq!(rows(2).unwrap(), 11);
    let error = rows(3).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let message = error.to_string();
    assert!(
        message.contains("versions.lance") && message.contains("no version 3"),
        "{message}"
    );
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|it| it.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn missing_data_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.lance");
    copy(&data("deleted.lance"), &path);
    let gone = files(&path.join("data")).remove(0);
    fs::remove_file(&gone).unwrap();
    let error = read(&path).unwrap_err().to_string();
    let name = gone.file_name().unwrap().to_str().unwrap();
    assert!(error.contains(name), "{error}");
}

/// Changes the manifest of version 2 of `deleted.lance`: fragments get 127 rows instead of 12, and their numbers of
/// deleted rows become unknown.
fn exaggerate(dataset: &Path) {
    let path = dataset.join("_versions/18446744073709551613.manifest");
    let mut bytes = fs::read(&path).unwrap();
    // A fragment ends with field 4 of its list, 4 deleted rows, and with its own field 4, 12 rows. The file has each
    // fragment twice: in the transaction, and in the manifest.
    for at in 0..bytes.len() - 4 {
        if bytes[at..].starts_with(&[0x20, 4, 0x20, 12]) {
            bytes[at..at + 4].copy_from_slice(&[0x20, 0, 0x20, 127]);
        }
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn rows_are_compared_with_a_data_file_before_their_deletions_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.lance");
    copy(&data("deleted.lance"), &path);
    exaggerate(&path);
    let error = LanceReader::open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    let message = error.to_string();
    assert!(message.contains("12 rows, not 127"), "{message}");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_list_of_deleted_rows_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.lance");
    copy(&data("deleted.lance"), &path);
    let list = files(&path.join("_deletions")).remove(0);
    fs::remove_file(&list).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&list).status();
    assert!(made.unwrap().success());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(read(&path).map_err(|e| e.to_string())));
    // Opening a pipe waits for a writer, which never comes.
    let read = receiver.recv_timeout(std::time::Duration::from_secs(20));
    let error = read.unwrap().unwrap_err();
    let name = list.file_name().unwrap().to_str().unwrap();
    assert!(error.contains(name), "{error}");
}

#[test]
fn damaged_datasets_end_as_errors_or_as_tables() {
    std::panic::set_hook(Box::new(|info| {
        let thread = std::thread::current();
        if thread.name().is_none_or(|name| !name.starts_with("lance")) {
            eprintln!("{info}");
        }
    }));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.lance");
    copy(&data("deleted.lance"), &path);
    let mut targets = files(&path.join("_deletions"));
    targets.extend(
        files(&path.join("_versions"))
            .into_iter()
            .filter(|it| it.extension().is_some_and(|it| it == "manifest")),
    );
    let contents: Vec<_> = targets.iter().map(|it| fs::read(it).unwrap()).collect();
    let mut random = StdRng::seed_from_u64(38);
    let mut failed = 0;
    for mutant in 0..MUTANTS {
        let at = mutant % targets.len();
        let mut bytes = contents[at].clone();
        if random.random_bool(0.1) {
            bytes.truncate(random.random_range(0..bytes.len()));
        } else {
            for _ in 0..random.random_range(1..4) {
                let at = random.random_range(0..bytes.len());
                bytes[at] = random.random();
            }
        }
        fs::write(&targets[at], &bytes).unwrap();
        // An error, or a table: no panic here, and an end.
        let read = LanceReader::open(&path).map(|reader| reader.take_while(Result::is_ok).count());
        failed += usize::from(read.is_err());
        fs::write(&targets[at], &contents[at]).unwrap();
    }
    assert!(failed > MUTANTS / 20, "{failed}");
    compare(&read(&path).unwrap(), &expected("deleted"));
}
