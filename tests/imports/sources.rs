//! Reads the sources of crates, and their imports.

use std::fs;
use std::path::{Path, PathBuf};

/// A source file: its path below `src` of its crate, and its text.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    /// Returns the top-level module.
    pub(crate) fn room(&self) -> &str {
        let first = self.path.split('/').next().unwrap();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    pub(crate) fn is_test(&self) -> bool {
        self.path
            .split('/')
            .any(|part| part == "tests" || part == "tests.rs")
    }

    pub(crate) fn is_generated(&self) -> bool {
        self.path.starts_with("format/generated/")
    }

    /// Returns the code without comments and string literals, up to the tests at its end.
    pub(crate) fn code(&self) -> String {
        let code = strip(&self.text);
        match code.find("#[cfg(test)]\nmod tests {") {
            Some(tests) => code[..tests].to_owned(),
            None => code,
        }
    }
}

/// Replaces comments, strings and characters by blanks, and keeps the lines.
pub(crate) fn strip(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(raw) = rest.strip_prefix("r#\"") {
            raw.find("\"#").map_or(rest.len(), |end| end + 5)
        } else if let Some(content) = rest.strip_prefix('"') {
            let mut escaped = false;
            let end = content.char_indices().find(|(_, c)| {
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |(end, _)| end + 2)
        } else if rest.starts_with("'\"'") {
            3
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        out.extend(rest[..skipped].chars().filter(|c| *c == '\n'));
        rest = &rest[skipped..];
    }
    out
}

/// Returns the sources of the library and of the command line.
pub(crate) fn sources() -> Vec<Source> {
    let found = sources_in("src");
    assert!(found.len() > 100, "only {} sources", found.len());
    found
}

/// Returns the sources below a folder of the repository.
pub(crate) fn sources_in(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let relative = path.strip_prefix(&root).unwrap();
                let parts: Vec<_> = relative.iter().map(|part| part.to_str().unwrap()).collect();
                found.push(Source {
                    path: parts.join("/"),
                    text: fs::read_to_string(&path).unwrap(),
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Returns the paths after each `crate::` in some code, with braces expanded.
pub(crate) fn crate_paths(code: &str) -> Vec<String> {
    let mut leaves = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        expand("", &code[at + "crate::".len()..], &mut leaves);
    }
    leaves.into_iter().map(|leaf| leaf.path).collect()
}

/// The end of a path, and the name that the import gives it.
pub(crate) struct Leaf {
    pub(crate) path: String,
    pub(crate) name: String,
}

/// Appends the leaves of the paths at the beginning of `text`, and returns the remaining text.
pub(crate) fn expand<'a>(prefix: &str, text: &'a str, leaves: &mut Vec<Leaf>) -> &'a str {
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = expand(prefix, rest.trim_start(), leaves).trim_start();
            match rest.strip_prefix(',') {
                Some(more) if !more.trim_start().starts_with('}') => rest = more,
                Some(more) => return more.trim_start().strip_prefix('}').unwrap(),
                None => return rest.strip_prefix('}').unwrap_or(rest),
            }
        }
    }
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    let path = format!("{prefix}{name}");
    if let Some(below) = rest.strip_prefix("::")
        && below.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '{')
    {
        return expand(&format!("{path}::"), below, leaves);
    }
    let mut name = name.to_owned();
    if let Some(renamed) = rest.strip_prefix(" as ") {
        let end = renamed.find(|c: char| !c.is_alphanumeric() && c != '_');
        let end = end.unwrap_or(renamed.len());
        name = renamed[..end].to_owned();
        rest = &renamed[end..];
    }
    leaves.push(Leaf { path, name });
    rest
}
