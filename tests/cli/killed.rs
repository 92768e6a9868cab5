//! A killed process leaves a complete shard, or none.

use super::Folder;
use super::data::plain;
use arrow_shard::Shard;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

const ROWS: usize = 30_000;
const OUTPUT: &str = "t.amudai.shard";

/// Returns a command that writes a shard of several stripes.
fn writer(folder: &Folder, layout: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_arrow-shard"));
    command
        .args(["convert", "--quiet", "--force", "--stripe-rows", "2000"])
        .args(["--layout", layout, "t.arrow", OUTPUT])
        .current_dir(&folder.0)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn temporaries(folder: &Folder) -> Vec<String> {
    let names = folder.names().into_iter();
    names.filter(|name| name.ends_with(".tmp")).collect()
}

#[test]
fn a_killed_process_leaves_a_whole_shard_or_none() {
    let kills: usize = std::env::var("KILLS").map_or(60, |kills| kills.parse().unwrap());
    let mut random = StdRng::seed_from_u64(7);
    let batch = plain(ROWS);
    let (mut whole, mut absent, mut left) = (0, 0, 0);
    for layout in ["single-file", "two-level"] {
        let started = Instant::now();
        let status = writer(&Folder::with(&batch), layout).status();
        assert!(status.unwrap().success());
        let duration = started.elapsed();
        for kill in 0..kills / 2 {
            let folder = Folder::with(&batch);
            let mut child = writer(&folder, layout).spawn().unwrap();
            std::thread::sleep(duration.mul_f64(random.random_range(0.0..1.2)));
            child.kill().unwrap();
            child.wait().unwrap();
            let place = format!("{layout}, kill {kill}");
            let check = || {
                let shard = Shard::open(folder.path(OUTPUT)).unwrap();
                assert_eq!(shard.num_rows(), ROWS as u64, "{place}");
                let report = shard.verify().unwrap();
                assert!(report.is_sound(), "{place}: {:?}", report.problems());
            };
            match folder.path(OUTPUT).exists() {
                true => {
                    check();
                    whole += 1;
                }
                false => absent += 1,
            }
            // The next writer removes its temporary files once they are old.
            let old = temporaries(&folder);
            left += old.len();
            for name in &old {
                let file = File::options().append(true).open(folder.path(name));
                let then = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
                file.unwrap().set_modified(then).unwrap();
            }
            assert!(
                writer(&folder, layout).status().unwrap().success(),
                "{place}"
            );
            check();
            assert_eq!(temporaries(&folder), [""; 0], "{place}");
        }
    }
    println!("{whole} whole, {absent} absent, {left} temporary files");
    assert!(
        whole > 0 && absent > 0 && left > 0,
        "{whole} {absent} {left}"
    );
}
