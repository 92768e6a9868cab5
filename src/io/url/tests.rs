use super::*;
use crate::io::{Container, LocalFolder, NoContainer};
use proptest::prelude::*;
use std::path::Path;

fn url(text: &str) -> RelativeUrl {
    text.parse().unwrap()
}

#[test]
fn references_that_might_leave_the_folder_are_refused() {
    for text in [
        "/a",
        "//host/a",
        "a//b",
        "a/",
        "/",
        ".",
        "..",
        "a/..",
        "../a",
        "a/./b",
        "%2e",
        "%2E%2e",
        ".%2e/a",
        "a/%2E.",
        "a\\b",
        "..\\a",
        "a%5Cb",
        "a%5c..",
        "a%2Fb",
        "..%2Fa",
        "a%00",
        "a\0b",
        ".\t.",
        ".\n./a",
        "a\r",
        " a",
        "a ",
        "a?b",
        "a#b",
        "?",
        "#",
        "c:",
        "C:/a",
        "c%3A/a",
        "a/c:b",
        "a/c%3a",
        "file:a",
        "http:a",
        "x+y.z-1:a",
        "file%3Aa",
        "file:/a",
        "%",
        "a%2",
        "a%zz",
        "a%+1",
        "%FF",
        "%C3",
        "mailto:a@b",
        "\u{7f}",
    ] {
        let error = text.parse::<RelativeUrl>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ForbiddenUrl, "{text:?}");
        assert_eq!(
            resolve(text, Some("/data")).unwrap_err().kind(),
            ErrorKind::ForbiddenUrl,
            "{text:?}"
        );
    }
    assert!("".parse::<RelativeUrl>().is_err());
}

#[test]
fn references_to_files_of_the_folder_are_accepted() {
    for (text, path) in [
        ("a", "a"),
        (
            "9f9c71b5c340b143.amudai.stripe",
            "9f9c71b5c340b143.amudai.stripe",
        ),
        ("a/b/c", "a/b/c"),
        ("...", "..."),
        (".a", ".a"),
        ("a..", "a.."),
        ("a%20b", "a b"),
        ("a b", "a b"),
        ("%E4%BD%A0", "你"),
        ("ü", "ü"),
        ("100%25", "100%"),
        ("%252e%252E", "%2e%2E"),
        ("2024-01-01T00:00", "2024-01-01T00:00"),
        ("a/bc:d", "a/bc:d"),
        ("a%3Fb%23", "a?b#"),
    ] {
        assert_eq!(url(text).path(), path);
        assert_eq!(url(text), url(&url(text).to_string()));
        assert_eq!(resolve(text, None).unwrap(), Reference::Relative(url(text)));
    }
}

#[test]
fn absolute_references_lead_into_the_container_or_nowhere() {
    let inside = |text: &str, base: &str| match resolve(text, Some(base)) {
        Ok(Reference::Relative(url)) => Some(url.path().to_owned()),
        Ok(Reference::This) => panic!("{text} is not empty"),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::ForbiddenUrl);
            assert!(error.message().contains(text), "{error}");
            None
        }
    };
    for (text, base, path) in [
        ("file:///d/s/x", "/d/s", "x"),
        ("file:///d/s/x", "/d/s/", "x"),
        ("file:///d/s/x", "file:///d/s/", "x"),
        ("file:///d/s/x", "file:///d/s", "x"),
        ("FILE://localhost/d/s/x/y", "/d/s", "x/y"),
        ("file:///d/a%20b/%C3%BC", "/d/a b", "ü"),
        ("file:///x", "/", "x"),
        ("file:///C:/d/x", r"C:\d", "x"),
        ("file:///C:/d/x", r"\\?\C:\d", "x"),
        ("https://h/d/x", "https://h/d/", "x"),
        ("https://H:80/d/x", "https://h:80/d", "x"),
        ("s3://bucket/x", "s3://bucket", "x"),
    ] {
        assert_eq!(
            inside(text, base).as_deref(),
            Some(path),
            "{text} in {base}"
        );
    }
    for (text, base) in [
        ("file:///d/x", "/d/s"),
        ("file:///d/s", "/d/s"),
        ("file:///d/s/", "/d/s"),
        ("file:///d/st/x", "/d/s"),
        ("file:///d/s/../x", "/d/s"),
        ("file:///d/s/%2e%2e/x", "/d/s"),
        ("file:///d/s//x", "/d/s"),
        ("file:///d/s/x?y", "/d/s"),
        ("file:///d/s/x#y", "/d/s"),
        ("file://host/d/s/x", "/d/s"),
        ("file:///d/s/x", "d/s"),
        ("file:///d/s/x", ""),
        ("http://h/d/x", "https://h/d"),
        ("https://h2/d/x", "https://h/d"),
        ("https://h:81/d/x", "https://h/d"),
        ("https://h@evil/d/x", "https://h/d"),
        ("https://u:p@h/d/x", "https://u:p@h/d"),
        ("https://h", "https://h/"),
        ("https://h/d/x", "/d"),
    ] {
        assert_eq!(inside(text, base), None, "{text} in {base}");
    }
    let error = resolve("file:///d/x", None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForbiddenUrl);
    assert_eq!(resolve("", None).unwrap(), Reference::This);
}

proptest! {
    #[test]
    fn file_names_survive_their_url(name in "\\PC{1,12}|[ -~]{1,12}|[a.%:/ \\\\]{1,4}") {
        if let Ok(url) = RelativeUrl::from_file_name(&name) {
            prop_assert_eq!(url.path(), &name);
            let text = url.to_string();
            prop_assert!(text.is_ascii());
            prop_assert_eq!(text.parse::<RelativeUrl>().unwrap(), url);
        } else {
            let first_colon = name.find(':');
            prop_assert!(
                name.contains(['/', '\\', '\0']) || name == "." || name == ".." || first_colon.is_some(),
                "{:?} was refused", name
            );
        }
    }

    #[test]
    fn whatever_is_accepted_stays_below_the_folder(text in "[a.%25eEfFcC:/\\\\ ]{0,10}|\\PC{0,10}") {
        if let Ok(url) = text.parse::<RelativeUrl>() {
            let mut depth = 0;
            for segment in url.segments() {
                prop_assert!(!["", ".", ".."].contains(&segment));
                prop_assert!(!segment.contains(['/', '\\', '\0']));
                depth += 1;
            }
            prop_assert!(depth > 0);
            let path = Path::new("/folder").join(url.path());
            prop_assert!(path.starts_with("/folder"));
        }
    }

    #[test]
    fn any_two_texts_resolve_or_are_refused(text in "\\PC{0,20}", base in "\\PC{0,20}") {
        for text in [text.clone(), format!("file://{text}"), format!("{base}{text}")] {
            for base in [base.clone(), format!("file:///{base}"), format!("/{base}")] {
                let _ = resolve(&text, Some(&base));
            }
        }
    }
}

#[test]
fn only_a_local_folder_is_the_base_of_absolute_references() {
    let folder = tempfile::tempdir().unwrap();
    let local = LocalFolder::open(folder.path()).unwrap();
    let base = local.base().unwrap();
    assert_eq!(base, local.path().to_str().unwrap());
    let inside = format!("file://{}/s.amudai.stripe", base.replace('\\', "/"));
    let found = resolve(&inside, Some(&base)).unwrap();
    assert!(matches!(found, Reference::Relative(url) if url.to_string() == "s.amudai.stripe"));
    assert!(resolve(&inside, NoContainer.base().as_deref()).is_err());
}

#[test]
fn urls_have_a_scheme() {
    for url in ["s3://bucket/t.shard", "file:///t.shard", "https://a/b"] {
        assert!(is_url(url), "{url}");
    }
    for path in ["t.shard", "C://t.shard", "a b://t", "://t", "s3:/t", "-"] {
        assert!(!is_url(path), "{path}");
    }
}
