//! Properties and metadata of edited shards.

use crate::numbers::{ids, write};
use arrow_shard::metadata::{AnyValue, NameValuePair, Wire};
use arrow_shard::ops::{CompactOptions, ShardEditor, compact, merge};
use arrow_shard::write::{Profile, WriterOptions};
use arrow_shard::{ErrorKind, Shard};

#[test]
fn properties_and_metadata_change_without_a_change_of_rows() {
    for wire in [Wire::Spec, Wire::Reference] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.amudai.shard");
        let options = WriterOptions::default()
            .with_wire(wire)
            .with_property(NameValuePair::new("source", "x"))
            .with_property(NameValuePair::new("old", 1u64));
        write(&path, vec![("id", ids(0..35))], options);
        let mut editor = ShardEditor::open(&path).unwrap();
        assert!(!editor.has_changes());
        editor
            .set_property(NameValuePair::new("source", "y"))
            .unwrap();
        editor
            .set_property(NameValuePair::new("count", 7u64))
            .unwrap();
        assert!(editor.remove_property("old"));
        assert!(!editor.remove_property("old"));
        let metadata = editor.metadata_mut();
        metadata.insert("owner".to_owned(), "operations".to_owned());
        assert!(editor.has_changes());
        assert_eq!(editor.properties().len(), 2);
        editor.commit().unwrap();

        let shard = Shard::open(&path).unwrap();
        let property = |name: &str| shard.property(name).unwrap().cloned();
        assert_eq!(property("source"), Some(AnyValue::from("y")));
        assert_eq!(property("count"), Some(AnyValue::from(7u64)));
        assert_eq!(property("old"), None);
        assert_eq!(shard.schema().unwrap().metadata()["owner"], "operations");
        assert_eq!(shard.num_rows(), 35);
        assert!(shard.verify().unwrap().is_sound());

        let mut editor = ShardEditor::open(&path).unwrap();
        editor.metadata_mut().clear();
        assert!(editor.has_changes());
        editor.commit().unwrap();
        let shard = Shard::open(&path).unwrap();
        assert!(shard.schema().unwrap().metadata().is_empty());
    }
}

#[test]
fn reserved_properties_are_neither_set_nor_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.amudai.shard");
    write(&path, vec![("id", ids(0..3))], WriterOptions::default());
    let mut editor = ShardEditor::open(&path).unwrap();
    for name in ["ARROW:schema", "arrow_shard.sorting_columns"] {
        let error = editor
            .set_property(NameValuePair::new(name, "x"))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(!editor.remove_property(name));
    }
    assert!(!editor.has_changes());
}

#[test]
fn each_writer_of_the_rows_is_listed_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(format!("{name}.amudai.shard"));
    for (name, profile) in [
        ("a", Profile::Plain),
        ("b", Profile::Balanced),
        ("c", Profile::Plain),
    ] {
        let options = WriterOptions::default().with_profile(profile);
        write(&path(name), vec![("id", ids(0..40))], options);
    }
    let profiles = |name: &str| -> Vec<String> {
        let writers = Shard::open(path(name)).unwrap().writers().unwrap();
        let program = concat!("arrow-shard ", env!("CARGO_PKG_VERSION"));
        assert!(writers.iter().all(|writer| writer.program == program));
        writers.into_iter().filter_map(|it| it.profile).collect()
    };
    assert_eq!(profiles("a"), ["Plain"]);
    merge([path("a"), path("b"), path("c")], path("all")).unwrap();
    assert_eq!(profiles("all"), ["Plain", "Balanced"]);

    let mut editor = ShardEditor::open(path("all")).unwrap();
    editor.delete_rows(&[3]).unwrap();
    editor.commit().unwrap();
    assert_eq!(profiles("all"), ["Plain", "Balanced"]);
    let fast = CompactOptions::default().with_profile(Profile::Fast);
    compact(path("all"), fast).unwrap().unwrap();
    assert!(profiles("all").contains(&"Fast".to_owned()));
    assert!(
        ShardEditor::open(path("all"))
            .unwrap()
            .properties()
            .is_empty()
    );
}
