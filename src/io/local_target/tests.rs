//! Links, pipes and devices at the path of an output.

use crate::error::{ErrorKind, Result};
use crate::io::{LocalSink, Sink};
use std::fs;
use std::path::{Path, PathBuf};

/// Creates the sink for a path.
type Create = fn(&Path) -> Result<LocalSink>;

#[test]
fn a_link_is_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let [target, link, second] = ["target", "link", "second"].map(|name| folder.path().join(name));
    fs::write(&target, b"old").unwrap();
    std::os::unix::fs::symlink("target", &link).unwrap();
    std::os::unix::fs::symlink(&link, &second).unwrap();
    let error = LocalSink::create(&link).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    for (link, bytes) in [(&link, b"new"), (&second, b"two")] {
        let mut sink = LocalSink::create_or_replace(link).unwrap();
        sink.write_all(bytes).unwrap();
        sink.commit().unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), bytes);
    }
    fs::remove_file(&target).unwrap();
    let cases: [Create; 2] = [
        |path| LocalSink::create(path),
        |path| LocalSink::create_or_replace(path),
    ];
    for create in cases {
        let error = create(&link).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains("link to nothing"), "{error}");
    }
}

/// Creates a pipe and, if the user may do so, a device in the folder.
fn no_files(folder: &Path) -> Vec<PathBuf> {
    let make = |program: &str, name: &str, arguments: &[&str]| {
        let path = folder.join(name);
        let made = std::process::Command::new(program)
            .arg(&path)
            .args(arguments)
            .output();
        made.is_ok_and(|made| made.status.success()).then_some(path)
    };
    let pipe = make("mkfifo", "pipe", &[]).unwrap();
    let link = folder.join("link");
    std::os::unix::fs::symlink("pipe", &link).unwrap();
    let socket = folder.join("socket");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let device = make("mknod", "device", &["c", "1", "3"]);
    [pipe, link, socket].into_iter().chain(device).collect()
}

#[test]
fn nothing_but_a_regular_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let paths = no_files(folder.path());
    let cases: [Create; 2] = [
        |path| LocalSink::create(path),
        |path| LocalSink::create_or_replace(path),
    ];
    for path in &paths {
        let before = path.symlink_metadata().unwrap().file_type();
        for create in cases {
            let error = create(path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(error.message().contains("name a file"), "{error}");
        }
        assert_eq!(path.symlink_metadata().unwrap().file_type(), before);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), paths.len());
    // The file is put there after the sink was created.
    let late = folder.path().join("late");
    fs::write(&late, b"old").unwrap();
    let mut sink = LocalSink::create_or_replace(&late).unwrap();
    fs::rename(&paths[0], &late).unwrap();
    let error = sink.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(!late.symlink_metadata().unwrap().is_file());
}
