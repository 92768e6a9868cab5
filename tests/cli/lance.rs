//! Lance files, which the program `arrow-shard-lance` converts.

use super::Folder;
#[cfg(unix)]
use super::external::with_program;

#[cfg(unix)]
#[test]
fn the_program_for_lance_gets_the_whole_command() {
    let folder = Folder::new();
    let path = with_program(&folder, "arrow-shard-lance", "echo \"$@\"\nexit 7");
    for command in [
        "convert a.lance b.amudai.shard --force --dataset-version 3",
        "convert --lance-version 2.0 a.amudai.shard b.LANCE",
        "convert folder.lance/ b.shard",
    ] {
        let arguments: Vec<_> = command.split(' ').collect();
        let done = folder.run_with(&[("PATH", path.clone())], &arguments, &[]);
        assert_eq!(
            (done.code, done.text().trim()),
            (7, command),
            "{}",
            done.err
        );
    }
}

#[test]
fn lance_is_converted_to_and_from_shards_only() {
    let folder = Folder::new();
    for (input, output) in [
        ("a.lance", "b.parquet"),
        ("a.lance", "b.ARROW"),
        ("a.lance", "-"),
        ("b.csv", "a.lance"),
        ("-", "a.lance"),
        ("a.lance", "b.lance"),
    ] {
        let error = folder.run(&["convert", input, output]).error(2);
        assert!(error.contains("shard"), "{input} {output}: {error}");
        assert!(folder.names().is_empty(), "{input} {output}");
    }
}

#[test]
fn a_missing_program_for_lance_is_explained() {
    let folder = Folder::new();
    let nowhere = [("PATH", folder.path("nowhere").display().to_string())];
    let done = folder.run_with(&nowhere, &["convert", "a.lance", "b.shard"], &[]);
    let error = done.error(1);
    assert!(
        error.contains("arrow-shard-lance") && error.contains("cargo install"),
        "{error}"
    );
    assert!(folder.names().is_empty());
}

#[test]
fn other_commands_say_that_a_file_is_lance() {
    let folder = Folder::new();
    std::fs::write(folder.path("a.lance"), "LANC").unwrap();
    let error = folder.run(&["schema", "a.lance"]).error(2);
    assert!(error.contains("arrow-shard convert a.lance"), "{error}");
    let error = folder
        .run(&["convert", "a.csv", "b.shard", "--lance-version", "2.0"])
        .error(2);
    assert!(error.contains("--lance-version"), "{error}");
}
