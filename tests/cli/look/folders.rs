//! Folders and globs in the place of files.

use super::{flights, write};
use crate::Folder;

fn count(folder: &Folder, arguments: &[&str]) -> String {
    let arguments = [&["count", "--by-file"], arguments].concat();
    folder.run(&arguments).ok()
}

#[test]
fn a_folder_stands_for_the_readable_files_below_it() {
    let folder = Folder::new();
    write(&folder, "days/2.shard", &flights(0, 2));
    write(&folder, "days/1.parquet", &flights(0, 1));
    write(&folder, "days/older/3.arrow", &flights(0, 3));
    write(&folder, "days/_temporary/4.parquet", &flights(0, 4));
    write(&folder, "days/.hidden.parquet", &flights(0, 4));
    std::fs::write(folder.path("days/notes.txt"), "no table").unwrap();
    let all = "1 days/1.parquet\n2 days/2.shard\n3 days/older/3.arrow\n";
    assert_eq!(count(&folder, &["days"]), all);
    assert_eq!(count(&folder, &["days/"]), all);
    assert_eq!(count(&folder, &["."]), all);
    assert_eq!(
        count(&folder, &["days/2.shard", "days/older"])
            .lines()
            .count(),
        2
    );
    std::fs::create_dir(folder.path("empty")).unwrap();
    let error = folder.run(&["count", "empty"]).error(1);
    assert!(
        error.starts_with("empty: the folder has no file"),
        "{error}"
    );
}

#[test]
fn globs_match_files_and_folders() {
    let folder = Folder::new();
    for (name, rows) in [
        ("days/1.parquet", 1),
        ("days/2.parquet", 2),
        ("days/.3.parquet", 3),
        ("days/deep/4.parquet", 4),
        ("a[1].parquet", 5),
    ] {
        write(&folder, name, &flights(0, rows));
    }
    write(&folder, "days/two.shard", &flights(0, 10));
    let both = "1 days/1.parquet\n2 days/2.parquet\n";
    assert_eq!(count(&folder, &["days/*.parquet"]), both);
    assert_eq!(count(&folder, &["days/[12].p*"]), both);
    assert_eq!(count(&folder, &["**/4.parquet"]), "4 days/deep/4.parquet\n");
    assert_eq!(count(&folder, &["days/d*"]), "4 days/deep/4.parquet\n");
    // A file with this name takes precedence over the glob.
    assert_eq!(count(&folder, &["a[1].parquet"]), "5 a[1].parquet\n");
    let error = folder.run(&["count", "days/*.csv"]).error(1);
    assert_eq!(error, "no file matches `days/*.csv`\n");
    let error = folder.run(&["count", "days/[1.csv"]).error(2);
    assert!(error.contains("days/[1.csv"), "{error}");
}

#[test]
fn stripe_files_are_parts_of_shards() {
    let folder = Folder::with(&flights(0, 10));
    std::fs::create_dir(folder.path("t")).unwrap();
    let options = ["--layout", "two-level", "--stripe-rows", "4"];
    let convert = ["convert", "t.arrow", "t/a.shard"];
    folder.run(&[&convert[..], &options].concat()).ok();
    assert_eq!(count(&folder, &["t/*"]), "10 t/a.shard\n");
    assert_eq!(count(&folder, &["t"]), "10 t/a.shard\n");
}

#[test]
fn rows_that_two_files_of_a_folder_hold_count_once() {
    let folder = Folder::new();
    write(&folder, "t/a.amudai.shard", &flights(0, 5));
    write(&folder, "t/b.amudai.shard", &flights(5, 6));
    let merge = ["merge", "t/a.amudai.shard", "t/b.amudai.shard"];
    let target = ["--output", "t/c.amudai.shard"];
    folder.run(&[&merge[..], &target].concat()).ok();
    assert_eq!(count(&folder, &["t"]), "11 t/c.amudai.shard\n");
    // Named one by one, all of them count.
    assert_eq!(folder.run(&["count", "t/*.shard"]).ok(), "22\n");
    write(&folder, "lake/x/1.parquet", &flights(0, 7));
    write(&folder, "lake/2.parquet", &flights(0, 8));
    let attach = ["attach", "lake", "--output", "lake/all.amudai.shard"];
    folder.run(&attach).ok();
    write(&folder, "lake/3.parquet", &flights(0, 9));
    let want = " 9 lake/3.parquet\n15 lake/all.amudai.shard\n";
    assert_eq!(count(&folder, &["lake"]), want);
}
