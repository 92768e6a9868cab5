//! Edits check the files that they refer to, and report which files belong together.

use crate::numbers::{ids, names, write};
use arrow_array::RecordBatch;
use arrow_shard::io::Store;
use arrow_shard::ops::{CompactOptions, EditSummary, ShardEditor, compact, merge};
use arrow_shard::write::{Layout, Profile, ShardWriter, WriterOptions};
use std::path::Path;

/// Creates a folder with `a` and `b`, each of a directory file and three files of 10 rows, and returns the name of the
/// file with the first rows of `a`. Nearly all other rows of `a` are deleted.
fn pair() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut first = None;
    for (name, start) in [("b", 100), ("a", 0)] {
        let batch = RecordBatch::try_from_iter([("id", ids(start..start + 30))]).unwrap();
        let options = WriterOptions::default()
            .with_layout(Layout::TwoLevel)
            .with_profile(Profile::Fast)
            .with_stripe_rows(10);
        let path = folder.path().join(name);
        let mut writer = ShardWriter::create_with(path, batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        first = Some(writer.finish().unwrap().stripe_files()[0].clone());
    }
    let mut editor = ShardEditor::open(folder.path().join("a")).unwrap();
    editor.delete_rows(&(11..30).collect::<Vec<_>>()).unwrap();
    editor.commit().unwrap();
    (folder, first.unwrap())
}

/// A change that makes a file unusable.
type Change = fn(&Path);

#[cfg(unix)]
const CHANGES: [(&str, Change); 6] = [
    ("removed", |file| std::fs::remove_file(file).unwrap()),
    ("a folder", |file| {
        std::fs::remove_file(file).unwrap();
        std::fs::create_dir(file).unwrap();
    }),
    ("a pipe", |file| {
        std::fs::remove_file(file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(file).status();
        assert!(made.unwrap().success());
    }),
    ("a link out of the folder", |file| {
        let elsewhere = file.parent().unwrap().with_extension("elsewhere");
        std::fs::rename(file, &elsewhere).unwrap();
        std::os::unix::fs::symlink(elsewhere, file).unwrap();
    }),
    ("cut", |file| {
        let bytes = std::fs::read(file).unwrap();
        std::fs::write(file, &bytes[..bytes.len() - 64]).unwrap();
    }),
    ("of another kind", |file| {
        let len = std::fs::read(file).unwrap().len();
        std::fs::write(file, vec![b'x'; len]).unwrap();
    }),
];

/// An edit that refers to the files of the shard `a` of a folder.
type Edit = fn(&Path) -> arrow_shard::Result<EditSummary>;

const EDITS: [(&str, Edit); 6] = [
    ("merge", |folder| {
        merge([folder.join("b"), folder.join("a")], folder.join("m"))
    }),
    ("append", |folder| {
        let mut editor = ShardEditor::open(folder.join("b"))?;
        editor.append(folder.join("a"))?;
        editor.commit()
    }),
    ("delete to another name", |folder| {
        let mut editor = ShardEditor::open(folder.join("a"))?;
        editor.delete_rows(&[5])?;
        editor.commit_to(folder.join("m"))
    }),
    ("delete", |folder| {
        let mut editor = ShardEditor::open(folder.join("a"))?;
        editor.delete_rows(&[5])?;
        editor.commit()
    }),
    ("rename", |folder| {
        let mut editor = ShardEditor::open(folder.join("a"))?;
        editor.rename_column("id", "key")?;
        editor.commit_to(folder.join("m"))
    }),
    ("compact", |folder| {
        let options = CompactOptions::default().with_min_rows(0);
        Ok(compact(folder.join("a"), options)?.unwrap())
    }),
];

#[cfg(unix)]
#[test]
fn an_edit_refuses_files_that_are_not_there_or_of_another_kind() {
    for (edit, run) in EDITS {
        let (sound, _) = pair();
        run(sound.path()).unwrap();
        for (change, make) in CHANGES {
            let what = format!("{edit}, where a file is {change}");
            let (folder, name) = pair();
            make(&folder.path().join(&name));
            let before = names(folder.path());
            let error = run(folder.path()).unwrap_err();
            let text = format!("{error:#}");
            let says = text.contains(&name) && text.contains("only while it is there and whole");
            assert!(says, "{what}: {text}");
            assert_eq!(names(folder.path()), before, "{what}");
        }
    }
}

#[test]
fn a_summary_says_which_files_belong_together_and_how_names_were_given() {
    let (folder, _) = pair();
    let path = |name: &str| folder.path().join(name);
    // Three files of rows, and one of deleted rows.
    let mut editor = ShardEditor::open(path("a")).unwrap();
    editor.rename_column("id", "key").unwrap();
    let done = editor.commit_to(path("renamed")).unwrap();
    assert_eq!(done.num_other_files(), 4);
    let none = Default::default();
    assert_eq!([done.linked(), done.cloned(), done.copied()], [none; 3]);

    let whole = |name: &str, rows| {
        write(
            &path(name),
            vec![("id", ids(rows))],
            WriterOptions::default(),
        );
        std::fs::metadata(path(name)).unwrap().len()
    };
    let bytes = whole("x", 0..100) + whole("y", 100..300);
    let done = merge([path("x"), path("y")], path("xy")).unwrap();
    assert_eq!(done.num_other_files(), 2);
    let named = [done.linked(), done.cloned(), done.copied()];
    let counts = named.map(|count| (count.num_files(), count.bytes()));
    let mut sorted = counts;
    sorted.sort_unstable();
    assert_eq!(sorted, [(0, 0), (0, 0), (2, bytes)]);
    // A clone is another file, but a link is the same file.
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let links = std::fs::metadata(path("x")).unwrap().nlink();
        assert_eq!(links, 1 + u64::from(done.linked().num_files() > 0));
    }
}

#[cfg(feature = "object_store")]
#[test]
fn an_edit_of_objects_refuses_files_that_are_missing_or_short() {
    use arrow_shard::{ErrorKind, Shard, ShardOptions};
    use futures::executor::block_on;
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStore, ObjectStoreExt};
    use std::sync::Arc;
    let (folder, name) = pair();
    block_on(async {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        for name in names(folder.path()) {
            let bytes = std::fs::read(folder.path().join(&name)).unwrap();
            store.put(&Path::from(name), bytes.into()).await.unwrap();
        }
        let (a, b, file) = (Path::from("a"), Path::from("b"), Path::from(name.as_str()));
        let bytes = store.get(&file).await.unwrap().bytes().await.unwrap();
        let merge = async |target: &str| {
            let mut editor =
                ShardEditor::open_async(Store::object(store.clone()).at(b.to_string())).await?;
            editor.append_async(a.to_string()).await?;
            editor.commit_to_async(target).await
        };
        assert_eq!(merge("m").await.unwrap().num_other_files(), 7);
        for len in [0, bytes.len() - 64] {
            store.delete(&file).await.unwrap();
            if len > 0 {
                store.put(&file, bytes.slice(..len).into()).await.unwrap();
            }
            let error = merge("n").await.unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains(&name) && text.contains("only while"),
                "{text}"
            );
        }
        let options = ShardOptions::default();
        let error = Shard::open_object(store.clone(), &Path::from("n"), options).await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::NotFound);
    });
}
