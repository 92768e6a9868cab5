//! Files that a command leaves, and the place where it writes.
#![cfg(unix)]

use super::data::plain;
use super::{Done, Folder, read_ipc};
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Starts a conversion of an endless stream.
fn endless(folder: &Folder, output: &str, options: &[&str]) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
        .args(["convert", "--quiet", "--from", "ipc-stream", "-", output])
        .args(options)
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take().unwrap();
    let batch = plain(10_000);
    std::thread::spawn(move || {
        let mut writer = arrow_ipc::writer::StreamWriter::try_new(stdin, &batch.schema()).unwrap();
        while writer.write(&batch).is_ok() {}
    });
    child
}

fn send(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", signal, &pid]).status();
    assert!(sent.unwrap().success());
}

/// Fails if signals are ignored: a child process inherits this, and would never end.
fn assert_signals_are_heeded() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
    let [hangup, interrupt, terminate] = [1, 2, 15].map(|number| 1 << (number - 1));
    let message = "signals are ignored here, as nohup and scripts in the background do";
    assert_eq!(ignored & (hangup | interrupt | terminate), 0, "{message}");
}

/// Number of different moments of a conversion at which each signal is sent.
const MOMENTS: u64 = 25;

#[test]
fn signals_leave_no_file() {
    use std::os::unix::process::ExitStatusExt;
    assert_signals_are_heeded();
    let two_level = &["--layout", "two-level", "--stripe-rows", "20000"][..];
    let cases = [
        ("HUP", 1, "t.parquet", &[][..]),
        ("INT", 2, "t.csv", &[]),
        ("TERM", 15, "t.shard", &[]),
        ("INT", 2, "t.shard", two_level),
    ];
    let at_every_moment = |(signal, number, output, options): (&str, i32, &str, &[&str])| {
        for moment in 0..MOMENTS {
            let folder = Folder::new();
            let mut child = endless(&folder, output, options);
            // Every second signal is sent once there is a file.
            while moment % 2 > 0 && folder.names().is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(moment * moment / 4));
            let place = format!("{signal}, {output}, moment {moment}");
            send(&child, signal);
            let status = child.wait().unwrap();
            let mut said = String::new();
            let stderr = child.stderr.as_mut().unwrap();
            stderr.read_to_string(&mut said).unwrap();
            // The signal may arrive before the program handles signals, or before it has created a file.
            assert_eq!(status.signal(), Some(number), "{place}: {status} {said}");
            assert_eq!(folder.names(), [""; 0], "{place}");
        }
    };
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || at_every_moment(case));
        }
    });
}

#[test]
fn a_hangup_that_nohup_ignores_is_ignored() {
    let folder = Folder::new();
    let mut child = Command::new("nohup")
        .arg(env!("CARGO_BIN_EXE_arrow-shard"))
        .args(["convert", "--quiet", "--from", "csv", "-", "t.arrow"])
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    send(&child, "HUP");
    std::thread::sleep(Duration::from_millis(100));
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"a\n1\n").unwrap();
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(read_ipc(&folder.path("t.arrow")).num_rows(), 1);
}

#[test]
fn links_are_written_through() {
    let folder = Folder::with(&plain(100));
    fs::create_dir(folder.path("below")).unwrap();
    for name in ["t.shard", "t.parquet"] {
        let target = folder.path("below").join(name);
        fs::write(&target, "before").unwrap();
        symlink(&target, folder.path(name)).unwrap();
        let error = folder.run(&["convert", "t.arrow", name]).error(1);
        assert!(error.contains("--force"), "{error}");
        folder.run(&["convert", "--force", "t.arrow", name]).ok();
        assert!(folder.path(name).symlink_metadata().unwrap().is_symlink());
        assert!(fs::metadata(&target).unwrap().len() > 100);
        folder.run(&["convert", "--force", name, "back.arrow"]).ok();
        assert_eq!(read_ipc(&folder.path("back.arrow")), plain(100));
    }
    symlink(folder.path("nowhere"), folder.path("lost.csv")).unwrap();
    let error = folder
        .run(&["convert", "--force", "t.arrow", "lost.csv"])
        .error(1);
    assert!(error.contains("link to nothing"), "{error}");
}

#[test]
fn a_pipe_and_the_null_device_are_written_to_and_other_devices_refused() {
    let folder = Folder::with(&plain(1_000));
    let made = Command::new("mkfifo").arg(folder.path("pipe")).status();
    assert!(made.unwrap().success());
    let pipe = folder.path("pipe");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
        text
    });
    folder
        .run(&["convert", "--to", "csv", "t.arrow", "pipe"])
        .ok();
    assert_eq!(reader.join().unwrap().lines().count(), 1_001);
    assert!(!folder.path("pipe").metadata().unwrap().is_file());
    for format in ["shard", "parquet"] {
        let error = folder
            .run(&["convert", "--force", "--to", format, "t.arrow", "pipe"])
            .error(2);
        assert!(error.contains("pipe"), "{error}");
    }
    for force in [&["--force"][..], &[]] {
        let arguments = ["convert", "--to", "csv", "t.arrow", "/dev/zero"];
        let error = folder.run(&[&arguments[..], force].concat()).error(1);
        assert!(error.contains("device") && error.contains("`-`"), "{error}");
    }
    let before = folder.names();
    std::os::unix::fs::symlink("/dev/null", folder.path("null")).unwrap();
    for format in ["shard", "parquet", "ipc", "ipc-stream", "csv", "ndjson"] {
        for name in ["/dev/null", "null"] {
            let arguments = ["convert", "--to", format, "t.arrow", name];
            folder.run(&arguments).ok();
        }
    }
    let two_level = ["--to", "shard", "--layout", "two-level"];
    let arguments = [&["convert", "t.arrow", "/dev/null"][..], &two_level].concat();
    let error = folder.run(&arguments).error(2);
    assert!(error.contains("--layout"), "{error}");
    assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
    assert_eq!(folder.names().len(), before.len() + 1);
    let text = folder.run(&["convert", "--to", "csv", "t.arrow", "/dev/stdout"]);
    assert_eq!(text.ok().lines().count(), 1_001);
}

#[test]
fn a_missing_folder_is_named_and_not_the_temporary_file() {
    let folder = Folder::with(&plain(10));
    for name in ["no/t.shard", "no/t.csv"] {
        let error = folder.run(&["convert", "t.arrow", name]).error(1);
        assert!(
            error.contains("folder `no`")
                && error.contains("does not exist")
                && !error.contains("tmp"),
            "{error}"
        );
    }
}

#[test]
fn a_full_disk_is_named_and_nothing_stays() {
    let folder = Folder::with(&plain(10));
    let device = std::path::Path::new("/dev/full");
    if !device.exists() {
        eprintln!("SKIPPED: this system has no /dev/full");
        return;
    }
    let done = Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
        .args(["cat", "t.arrow", "--format", "csv"])
        .current_dir(&folder.0)
        .stdout(File::options().write(true).open(device).unwrap())
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(1));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(
        said.starts_with("error: ") && said.contains("No space left"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1);
}

/// Runs the program in a shell, after other commands.
fn below_shell(folder: &Folder, before: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_arrow-shard");
    let done = Command::new("sh")
        .args(["-c", &format!("{before}; exec \"$0\" \"$@\""), program])
        .args(arguments)
        .current_dir(&folder.0)
        .output()
        .unwrap();
    (done.status.code(), String::from_utf8(done.stderr).unwrap())
}

#[test]
fn a_file_that_cannot_grow_is_named_and_does_not_stay() {
    let folder = Folder::with(&plain(100_000));
    // The shell ignores the signal, or lets the program receive it.
    for before in ["trap '' XFSZ; ulimit -f 8", "ulimit -f 8"] {
        for output in [
            "t.shard",
            "t.parquet",
            "t.csv",
            "t.ndjson",
            "t.arrows",
            "u.arrow",
        ] {
            let (code, said) = below_shell(&folder, before, &["convert", "t.arrow", output]);
            assert_eq!(code, Some(1), "{output}: {said}");
            assert!(
                said.contains(output)
                    && said.contains("too large")
                    && !said.contains(".arrow-shard."),
                "{said}"
            );
            assert_eq!(said.lines().count(), 1, "{said}");
            assert_eq!(folder.names(), ["t.arrow"], "{output}");
        }
    }
}

/// An output in every format, with options.
const OUTPUTS: [(&str, &[&str]); 7] = [
    ("t.shard", &[]),
    (
        "two.shard",
        &["--layout", "two-level", "--stripe-rows", "4"],
    ),
    ("t.parquet", &[]),
    ("t.csv", &[]),
    ("t.ndjson", &[]),
    ("t.arrow", &[]),
    ("t.arrows", &[]),
];

/// Runs the program as an unprivileged user.
fn as_anybody(folder: &Folder, program: &Path, arguments: &[&str]) -> Done {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&folder.0);
    if is_root(folder) {
        const NOBODY: u32 = 65_534;
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    Done {
        code: output.status.code().unwrap(),
        out: output.stdout,
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns whether this process runs as root: whether root owns the folder that it created.
fn is_root(folder: &Folder) -> bool {
    folder.0.path().metadata().unwrap().uid() == 0
}

#[test]
fn a_folder_that_takes_no_files_is_named() {
    let folder = Folder::with(&plain(10));
    let below = folder.path("below");
    fs::create_dir(&below).unwrap();
    fs::write(below.join("old.csv"), "mine").unwrap();
    let permit =
        |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    permit(folder.0.path(), 0o755);
    permit(&below, 0o555);
    // Other users may not have access to the build folder, so the program is copied. A child process copies it,
    // because a file that this process has open for writing cannot be executed.
    let program = folder.path("arrow-shard");
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_arrow-shard"))
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    permit(&program, 0o755);
    let before = folder.names();
    let refused = |output: &str, options: &[&str]| {
        let output = format!("below/{output}");
        let arguments = [&["convert", "t.arrow", &output][..], options].concat();
        let error = as_anybody(&folder, &program, &arguments).error(1);
        assert!(
            error.contains(&output)
                && error.contains("creating a file in folder `")
                && error.contains("below`: permission denied")
                && !error.contains("tmp`")
                && !error.contains(".arrow-shard."),
            "{error}"
        );
    };
    for (output, options) in OUTPUTS {
        refused(output, options);
    }
    refused("old.csv", &["--force"]);
    assert_eq!(fs::read(below.join("old.csv")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(&below).unwrap().count(), 1);
    assert_eq!(folder.names(), before);
    permit(&below, 0o755);
}

#[test]
fn the_folder_for_temporary_files_is_named() {
    let folder = Folder::new();
    fs::write(folder.path("t.csv"), "a\n1\n").unwrap();
    let missing = folder.path("no");
    let done = Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
        .args(["convert", "--from", "csv", "-", "t.arrow"])
        .env("TMPDIR", &missing)
        .current_dir(&folder.0)
        .stdin(File::open(folder.path("t.csv")).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(
        said.contains(missing.to_str().unwrap()) && said.contains("No such file"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(folder.names(), ["t.csv"]);
    // The error does not name a temporary file if the input cannot be read.
    fs::create_dir(folder.path("folder.csv")).unwrap();
    let error = folder.run(&["convert", "folder.csv", "t.arrow"]).error(1);
    assert!(
        error.contains("folder.csv") && error.contains("directory"),
        "{error}"
    );
    assert!(!error.contains("temporary"), "{error}");
}

#[test]
fn no_error_of_creating_a_file_names_the_temporary_one() {
    let folder = Folder::with(&plain(10));
    let long = "x".repeat(300);
    let mut places = vec![
        ("t.arrow".to_owned(), "ot a directory"),
        (long, "name too long"),
    ];
    if cfg!(target_os = "linux") {
        // A file system that does not allow new files.
        places.push(("/proc".to_owned(), "creating a file in folder `/proc`"));
    }
    for (place, why) in places {
        for (output, options) in OUTPUTS {
            let output = format!("{place}/{output}");
            let arguments = [&["convert", "t.arrow", &output][..], options].concat();
            let error = folder.run(&arguments).error(1);
            assert!(
                error.contains(&output) && error.contains(why) && !error.contains(".arrow-shard."),
                "{error}"
            );
        }
    }
    assert_eq!(folder.names(), ["t.arrow"]);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::with(&plain(10));
    for arguments in [
        &["cat", "t.arrow"][..],
        &["cat", "t.arrow", "--format", "csv"],
        &["convert", "t.arrow", "-", "--to", "ndjson"],
        &["schema", "t.arrow"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
            .args(arguments)
            .current_dir(&folder.0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{arguments:?}");
        assert!(done.stderr.is_empty());
    }
}
