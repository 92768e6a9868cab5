//! Parquet files outside of the folder of their shard, in folders that the caller allows.

use super::files::{assert_sound, read_shard, table, write_parquet};
use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use arrow_shard::io::ExternalFiles;
use arrow_shard::ops::{
    AttachOptions, CompactOptions, ShardEditor, VacuumOptions, attach, attach_with, compact, vacuum,
};
use arrow_shard::read::{ShardOptions, col};
use arrow_shard::{Error, ErrorKind, Result, Shard, ShardWriter};
use parquet::file::properties::WriterProperties;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const ROWS: i64 = 500;

/// A folder `lake x` with `a/1.parquet`, a folder `lake x2`, and a folder `mine` for shards.
struct Places {
    folder: TempDir,
    rows: RecordBatch,
}

impl Places {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["lake x/a", "lake x2", "mine"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let rows = table(ROWS);
        let path = folder.path().join("lake x/a/1.parquet");
        write_parquet(&path, &rows, WriterProperties::default());
        Self { folder, rows }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn parquet(&self) -> PathBuf {
        self.path("lake x/a/1.parquet")
    }

    fn target(&self) -> PathBuf {
        self.path("mine/t.amudai.shard")
    }

    fn allowed(&self, name: &str) -> ExternalFiles {
        ExternalFiles::default()
            .with_folder(self.path(name))
            .unwrap()
    }

    /// Attaches the file from a folder that is allowed.
    fn attach(&self) {
        let options = AttachOptions::default().with_external_files(self.allowed("lake x"));
        attach_with([self.parquet()], self.target(), options).unwrap();
    }

    fn open(&self, files: ExternalFiles) -> Result<Shard> {
        let options = ShardOptions::default().with_external_files(files);
        Shard::open_with(self.target(), options)
    }
}

fn refusal(shard: &Shard) -> Error {
    let mut scan = shard.scan().build().unwrap();
    let error = Error::from(scan.next().unwrap().unwrap_err());
    assert_eq!(error.kind(), ErrorKind::ForbiddenUrl, "{error}");
    error
}

#[test]
fn a_file_elsewhere_is_attached_and_read_if_both_allow_its_folder() {
    let places = Places::new();
    let error = attach([places.parquet()], places.target()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForbiddenUrl);
    assert!(error.to_string().contains("with_external_files"), "{error}");
    let other = AttachOptions::default().with_external_files(places.allowed("lake x2"));
    let error = attach_with([places.parquet()], places.target(), other).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForbiddenUrl);
    assert!(!places.target().exists());
    places.attach();
    for files in [
        ExternalFiles::default(),
        places.allowed("lake x2"),
        places.allowed("mine"),
    ] {
        let shard = places.open(files).unwrap();
        let text = refusal(&shard).to_string();
        for part in [
            "lake%20x/a/1.parquet",
            "if you trust the shard",
            "with_external_files",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!shard.verify().unwrap().is_sound());
        assert_eq!(
            shard.referenced_files().unwrap_err().kind(),
            ErrorKind::ForbiddenUrl
        );
    }
    for folder in ["lake x", "lake x/a", ""] {
        let shard = places.open(places.allowed(folder)).unwrap();
        assert_eq!(read_shard(&shard), places.rows);
        let taken = shard.take(&[77, 3], ["id", "text"]).unwrap();
        assert_eq!(taken.slice(1, 1), places.rows.slice(3, 1));
        assert_sound(&shard);
        assert!(shard.referenced_files().unwrap().is_empty());
        let files = shard.external_files().unwrap();
        assert_eq!(files.len(), 1);
        assert!(files[0].starts_with("file:///"), "{files:?}");
        assert!(files[0].ends_with("/lake%20x/a/1.parquet"), "{files:?}");
    }
}

#[test]
fn paths_with_dots_lead_where_the_system_says() {
    let places = Places::new();
    let options = AttachOptions::default().with_external_files(places.allowed("mine/../lake x"));
    let file = places.path("mine/../lake x2/../lake x/a/1.parquet");
    attach_with([file], places.target(), options).unwrap();
    let shard = places.open(places.allowed("lake x")).unwrap();
    assert_eq!(read_shard(&shard), places.rows);
    let shard = places.open(places.allowed("lake x2/../mine")).unwrap();
    refusal(&shard);
}

#[test]
fn errors_about_a_file_elsewhere_name_it() {
    let places = Places::new();
    places.attach();
    std::fs::remove_file(places.parquet()).unwrap();
    let shard = places.open(places.allowed("lake x")).unwrap();
    let error = Error::from(shard.scan().build().unwrap().next().unwrap().unwrap_err());
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("/lake x/a/1.parquet"), "{error}");
    let report = shard.verify().unwrap();
    assert_eq!(report.problems().len(), 1, "{:?}", report.problems());
    assert!(report.problems()[0].file.ends_with("/lake x/a/1.parquet"));
    let missing = ExternalFiles::default().with_folder(places.path("none"));
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn shards_over_files_elsewhere_are_edited_with_the_same_permission() {
    let places = Places::new();
    places.attach();
    let native = places.path("mine/n.amudai.shard");
    let mut writer = ShardWriter::create(&native, places.rows.schema()).unwrap();
    writer.write(&places.rows.slice(0, 10)).unwrap();
    writer.finish().unwrap();
    let refused = ShardEditor::open(places.target()).and_then(|mut editor| {
        editor.delete(&col("id").lt(100))?;
        editor.commit()
    });
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::ForbiddenUrl);
    let options = ShardOptions::default().with_external_files(places.allowed("lake x"));
    let mut editor = ShardEditor::open_with(places.target(), options).unwrap();
    assert_eq!(editor.delete(&col("id").lt(100)).unwrap(), 100);
    editor.append(&native).unwrap();
    editor.commit().unwrap();
    let kept = [&places.rows.slice(100, 400), &places.rows.slice(0, 10)];
    let expected = concat_batches(&places.rows.schema(), kept).unwrap();
    let shard = places.open(places.allowed("lake x")).unwrap();
    assert_eq!(read_shard(&shard), expected);
    assert_eq!(shard.external_files().unwrap().len(), 1);
    assert_sound(&shard);
    // The file is not in the folder.
    let options = VacuumOptions::default().with_external_files(places.allowed("lake x"));
    vacuum(places.path("mine"), options).unwrap();
    assert_eq!(read_shard(&shard), expected);
    let options = CompactOptions::default().with_external(true);
    let error = compact(places.target(), options.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForbiddenUrl);
    let options = options.with_external_files(places.allowed("lake x"));
    compact(places.target(), options).unwrap().unwrap();
    std::fs::remove_file(places.parquet()).unwrap();
    let shard = Shard::open(places.target()).unwrap();
    assert_eq!(read_shard(&shard), expected);
    assert!(shard.external_files().unwrap().is_empty());
}

#[cfg(unix)]
#[test]
fn symbolic_links_out_of_the_folder_lead_to_folders_that_are_allowed() {
    let places = Places::new();
    let file = places.path("mine/1.parquet");
    std::fs::copy(places.parquet(), &file).unwrap();
    attach([&file], places.target()).unwrap();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(places.parquet(), &file).unwrap();
    for files in [ExternalFiles::default(), places.allowed("lake x2")] {
        let error = refusal(&places.open(files).unwrap());
        let text = error.to_string();
        assert!(
            text.contains("symbolic link") && text.contains("with_external_files"),
            "{text}"
        );
    }
    let shard = places.open(places.allowed("lake x")).unwrap();
    assert_eq!(read_shard(&shard), places.rows);
    assert_sound(&shard);
    // A link inside of an allowed folder must not lead out of it.
    places.attach_link();
}

#[cfg(unix)]
impl Places {
    /// Reads a shard over a file that becomes a link out of the folder that is allowed.
    fn attach_link(&self) {
        std::fs::remove_file(self.target()).unwrap();
        self.attach();
        let moved = self.path("lake x2/1.parquet");
        std::fs::rename(self.parquet(), &moved).unwrap();
        std::os::unix::fs::symlink(&moved, self.parquet()).unwrap();
        let error = refusal(&self.open(self.allowed("lake x")).unwrap());
        assert!(error.to_string().contains("symbolic link"), "{error}");
    }
}

/// References that other writers may have written are followed only into the folders that are allowed.
#[cfg(feature = "experimental")]
#[test]
fn crafted_references_do_not_lead_out_of_the_folders_that_are_allowed() {
    use super::descriptors::with_descriptors;
    use arrow_shard::format::DataEncoding;
    let places = Places::new();
    places.attach();
    std::fs::write(places.path("secret.parquet"), "PAR1").unwrap();
    let directory = std::fs::read(places.target()).unwrap();
    let absolute = |path: &Path| format!("file://{}", path.display()).replace(' ', "%20");
    let inside = absolute(&places.path("lake x").canonicalize().unwrap());
    for reference in [
        absolute(&places.path("secret.parquet")),
        format!("{inside}/../secret.parquet"),
        format!("{inside}/%2e%2e/secret.parquet"),
        format!("{inside}/a%2f..%2f..%2fsecret.parquet"),
        format!("{inside}2/1.parquet"),
        "../secret.parquet".to_owned(),
        "/etc/passwd".to_owned(),
        "s3://bucket/1.parquet".to_owned(),
        "file://host/etc/passwd".to_owned(),
    ] {
        let changed = with_descriptors(&directory, |_, field, _| {
            if let Some(DataEncoding::Parquet(files)) = field.encodings.first_mut() {
                files[0].file_ref.as_mut().unwrap().url = reference.clone();
            }
        });
        std::fs::write(places.target(), changed).unwrap();
        let shard = places.open(places.allowed("lake x")).unwrap();
        let text = refusal(&shard).to_string();
        assert!(text.contains(&reference), "{text}");
    }
    // Buffers of this format are never elsewhere.
    let changed = with_descriptors(&directory, |_, field, _| {
        if let Some(DataEncoding::Parquet(files)) = field.encodings.first_mut() {
            let url = files[0].file_ref.as_ref().unwrap().url.clone();
            for chunk in &mut files[0].column_chunks {
                let range = chunk.data_pages_range.unwrap();
                chunk.data_page_map = Some(arrow_shard::format::DataRef {
                    url: url.clone(),
                    range,
                });
            }
        }
    });
    std::fs::write(places.target(), changed).unwrap();
    refusal(&places.open(places.allowed("lake x")).unwrap());
}
