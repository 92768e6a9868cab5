//! Generated code is only in the intended places. A test of `tools/codegen` checks that it is current.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

#[test]
fn every_definition_has_its_generated_file_and_no_file_is_left_over() {
    let mut expected = vec!["mod.rs".to_owned()];
    for (folder, kind) in [("proto", "messages"), ("fbs", "schema")] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let wire = path.file_stem().unwrap().to_string_lossy().into_owned();
            expected.push(format!("{wire}_{kind}.rs"));
        }
    }
    expected.sort();
    let mut found = Vec::new();
    sources(&root().join("src/format/generated"), &mut found).unwrap();
    let mut found: Vec<String> = found
        .iter()
        .map(|p| p.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn generated_files_say_so() {
    let mut found = Vec::new();
    sources(&root().join("src/format/generated"), &mut found).unwrap();
    for path in found.iter().filter(|p| !p.ends_with("mod.rs")) {
        let text = fs::read_to_string(path).unwrap();
        let head: String = text.lines().take(3).collect();
        assert!(head.contains("@generated"), "{}", path.display());
    }
}

#[test]
fn only_the_wires_and_the_schema_writer_see_generated_code() {
    let mut found = Vec::new();
    sources(&root().join("src"), &mut found).unwrap();
    for path in found {
        let name = path
            .strip_prefix(root())
            .unwrap()
            .to_string_lossy()
            .replace('\\', "/");
        let allowed = name.starts_with("src/format/wire")
            || name.starts_with("src/format/generated/")
            || name == "src/format/schema_writer.rs"
            || name == "src/format/schema_reader/tests.rs";
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            allowed || !text.contains("generated::"),
            "{name} uses generated code"
        );
    }
}

#[test]
fn the_generators_are_no_dependency_of_the_library() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    // Profiles configure the compilation of workspace members, and add no dependencies.
    let (manifest, _) = manifest.split_once("[profile.dev]").unwrap();
    for generator in ["prost-build", "protox", "flatc-fork"] {
        assert!(
            !manifest.contains(generator),
            "{generator} is for tools/codegen alone"
        );
    }
}
