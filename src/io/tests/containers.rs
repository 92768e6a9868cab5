//! Containers and factories of local folders and of memory.

use super::*;

fn url(text: &str) -> RelativeUrl {
    text.parse().unwrap()
}

/// Two folders with the files `a`, `sub/b` and `c d`, each holding its own name.
fn containers() -> (TempDir, Vec<Box<dyn Container>>) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let memory = MemoryFolder::new();
    for name in ["a", "sub/b", "c d"] {
        fs::write(folder.path().join(name), name).unwrap();
        memory.insert(name, name);
    }
    let local = LocalFolder::open(folder.path()).unwrap();
    (folder, vec![Box::new(memory), Box::new(local)])
}

#[test]
fn every_container_finds_what_is_inside() {
    let (_folder, containers) = containers();
    for container in containers {
        for reference in ["a", "sub/b", "c%20d"] {
            let url = url(reference);
            let file = container.open(&url).unwrap();
            let size = file.size().unwrap();
            assert_eq!(file.read_at(range(0, size)).unwrap(), url.path().as_bytes());
        }
        for missing in ["b", "A/b", "sub/c", "a/b"] {
            assert!(container.open(&url(missing)).is_err(), "{missing}");
        }
        let error = container.open(&url("nowhere")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains("nowhere"), "{error}");
    }
}

#[test]
fn without_a_container_every_reference_is_refused() {
    let error = Container::open(&NoContainer, &url("x.stripe")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForbiddenUrl);
    assert!(error.message().contains("x.stripe"), "{error}");
}

#[cfg(unix)]
#[test]
fn links_never_lead_out_of_a_folder() {
    use std::os::unix::fs::symlink;
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), b"secret").unwrap();
    let (folder, containers) = containers();
    let at = |name: &str| folder.path().join(name);
    symlink(outside.path().join("secret"), at("file")).unwrap();
    symlink(outside.path(), at("folder")).unwrap();
    symlink(at("a"), at("inside")).unwrap();
    symlink(at("loop"), at("loop")).unwrap();
    let container = &containers[1];
    for escape in ["file", "folder/secret"] {
        let error = container.open(&url(escape)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ForbiddenUrl, "{error}");
    }
    let inside = container.open(&url("inside")).unwrap();
    assert_eq!(inside.read_at(range(0, 1)).unwrap(), &b"a"[..]);
    assert!(container.open(&url("loop")).is_err());

    // A sibling folder with a name that begins with the folder's name is also outside.
    let mut sibling = folder.path().as_os_str().to_owned();
    sibling.push("-sibling");
    fs::write(&sibling, b"").unwrap();
    symlink(&sibling, at("sibling")).unwrap();
    let error = container.open(&url("sibling")).unwrap_err();
    fs::remove_file(&sibling).unwrap();
    assert_eq!(error.kind(), ErrorKind::ForbiddenUrl, "{error}");
}

#[test]
fn a_folder_must_exist_and_be_one() {
    let (folder, _) = containers();
    let error = LocalFolder::open(folder.path().join("a")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let error = LocalFolder::open(folder.path().join("x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let here = LocalFolder::of_file("new.shard").unwrap();
    assert_eq!(here.path(), Path::new(".").canonicalize().unwrap());
}

#[test]
fn factories_refuse_taken_names_and_names_that_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut local = LocalFolder::open(folder.path()).unwrap();
    let mut memory = MemoryFolder::new();
    let factories: [&mut dyn SinkFactory; 2] = [&mut local, &mut memory];
    for factory in factories {
        let mut first = factory.create("a").unwrap();
        let mut second = factory.create("a").unwrap();
        first.commit().unwrap();
        let kind = |error: Option<Error>| error.unwrap().kind();
        assert_eq!(
            kind(second.commit().err()),
            ErrorKind::AlreadyExists,
            "the second of two writers"
        );
        assert_eq!(kind(factory.create("a").err()), ErrorKind::AlreadyExists);
        for name in ["", ".", "..", "a/b", "/a", "a\\b", "c:", "s:x", "a\0"] {
            assert_eq!(
                kind(factory.create(name).err()),
                ErrorKind::InvalidArgument,
                "{name:?}"
            );
        }
    }
    assert_eq!(memory.names(), ["a"]);
}
