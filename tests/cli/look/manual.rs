//! `completions` and `man`

use crate::Folder;

#[test]
fn every_shell_has_completions_of_the_commands() {
    let folder = Folder::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = folder.run(&["completions", shell]).ok();
        for word in ["undelete", "stripe-rows"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(folder.run(&["completions", "cmd"]).code, 2);
}

#[test]
fn pages_of_all_commands_are_printed_or_written() {
    let folder = Folder::new();
    let page = folder.run(&["man"]).ok();
    assert!(
        page.contains(".TH arrow-shard 1") && page.contains("convert"),
        "{page}"
    );
    let page = folder.run(&["man", "convert"]).ok();
    assert!(
        page.contains("arrow\\-shard\\-convert") && page.contains("stripe\\-rows"),
        "{page}"
    );
    assert!(page.contains("Examples"), "{page}");
    std::fs::create_dir(folder.path("man1")).unwrap();
    folder.run(&["man", "--folder", "man1"]).ok();
    let pages = std::fs::read_dir(folder.path("man1")).unwrap();
    assert!(pages.count() > 20);
    assert!(folder.path("man1/arrow-shard-sample.1").exists());
    let error = folder.run(&["man", "covert"]).error(2);
    assert!(error.contains("did you mean `convert`?"), "{error}");
    let error = folder.run(&["man", "--folder", "none"]).error(1);
    assert!(error.starts_with("none: "), "{error}");
}

#[test]
fn a_misspelt_command_or_option_is_suggested() {
    let folder = Folder::new();
    for (arguments, want) in [
        (&["cuont", "t.shard"][..], "'count'"),
        (&["count", "--fliter", "x", "t.shard"], "'--filter'"),
        (&["head", "--format", "tabel", "t.shard"], "'table'"),
    ] {
        let done = folder.run(arguments);
        assert!(done.code == 2 && done.err.contains(want), "{}", done.err);
    }
}
