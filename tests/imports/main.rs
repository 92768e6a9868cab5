//! Checks the sources against the rules of the design: allowed imports, places of `unsafe`, `Spec:` lines of files that
//! implement the format, and lengths of files.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod cycles;
mod sources;
mod twins;

use sources::{crate_paths, sources, strip};
use std::collections::BTreeSet;

/// A module, the modules that it may import in addition to itself and the [`BOTTOM`], and single items of modules
/// that it may not import as a whole. A room may be inside of another; a file belongs to the innermost.
struct Room {
    name: &'static str,
    may_import: &'static [&'static str],
    items: &'static [&'static str],
}

/// Modules that all modules may import, and that import only each other.
const BOTTOM: &[&str] = &["error", "limits", "progress", "settings", "sorting"];

/// Aliases at the root of the crate, and their targets.
const ALIASES: &[(&str, &str)] = &[
    ("Error", "error"),
    ("ErrorKind", "error"),
    ("Result", "error"),
    ("Limits", "limits"),
    ("Progress", "progress"),
    ("Shard", "read"),
];

const ROOMS: &[Room] = &[
    room("error", &[], &[]),
    room("limits", &[], &[]),
    room("progress", &[], &[]),
    room("settings", &[], &[]),
    room("sorting", &[], &[]),
    room("io", &[], &[]),
    room("kernels", &[], &[]),
    room("format", &[], &["io::ByteRange"]),
    room("encoding", &["kernels", "format"], &[]),
    // All modules that process values may use the kernels for loops over them.
    room(
        "buffer",
        &["kernels", "encoding", "format"],
        &["io::ByteRange"],
    ),
    room("stats", &["kernels", "format"], &[]),
    room("arrow", &[], &[]),
    room("column", &["arrow", "kernels", "buffer", "format"], &[]),
    room(
        "external",
        &["kernels", "buffer", "format"],
        &["io::ByteRange"],
    ),
    room("write/batch", &["arrow", "column"], &[]),
    room("write/choose", &["encoding", "format"], &[]),
    room(
        "write/field",
        &[
            "write/choose",
            "column",
            "stats",
            "buffer",
            "encoding",
            "format",
        ],
        &[],
    ),
    room(
        "write/layout",
        &[
            "write/choose",
            "write/field",
            "column",
            "stats",
            "buffer",
            "format",
            "io",
        ],
        &[],
    ),
    room(
        "write",
        &[
            "write/batch",
            "write/choose",
            "write/field",
            "write/layout",
            "arrow",
            "column",
            "buffer",
            "format",
            "io",
        ],
        &[],
    ),
    room(
        "read/shard",
        &["column", "buffer", "external", "encoding", "format", "io"],
        &[],
    ),
    room(
        "read/scan",
        &[
            "read/shard",
            "arrow",
            "column",
            "buffer",
            "encoding",
            "format",
            "io",
        ],
        &[],
    ),
    room(
        "read/filter",
        &[
            "read/shard",
            "read/scan",
            "arrow",
            "column",
            "stats",
            "buffer",
            "format",
        ],
        &[],
    ),
    room(
        "read",
        &[
            "read/shard",
            "read/scan",
            "read/filter",
            "column",
            "buffer",
            "encoding",
            "format",
            "io",
        ],
        &[],
    ),
    room(
        "read/report",
        &[
            "read",
            "read/shard",
            "read/scan",
            "read/filter",
            "arrow",
            "column",
            "stats",
            "buffer",
            "external",
            "encoding",
            "format",
            "io",
        ],
        &[],
    ),
    room("metadata", &["column", "format"], &[]),
    room(
        "ops",
        &[
            "arrow", "read", "write", "external", "column", "format", "io",
        ],
        &[],
    ),
    room("interop", &["read", "write", "ops", "io"], &[]),
];

const fn room(
    name: &'static str,
    may_import: &'static [&'static str],
    items: &'static [&'static str],
) -> Room {
    Room {
        name,
        may_import,
        items,
    }
}

/// Files outside of `kernels` and the generated code that may use `unsafe`: memory maps, and the allocator of the
/// command line.
const UNSAFE: &[&str] = &[
    "bin/arrow-shard/allocator.rs",
    "io/mapped_file.rs",
    "io/tests.rs",
    "read/open_shard.rs",
];

/// Files of `format`, `encoding` and `buffer` that do not implement a part of the format, but helpers.
const NOT_SPECIFIED: &[&str] = &[
    // The positions that a reader selects.
    "buffer/selection.rs",
    // The first and last bytes of files in other formats.
    "format/foreign.rs",
    // The context that all encodings share.
    "encoding/context.rs",
    // Arrow's layouts of decoded byte strings, and byte strings to encode.
    "encoding/bytes/append.rs",
    "encoding/bytes/builder.rs",
    "encoding/bytes/nulls.rs",
    // The basis for decisions of writers.
    "encoding/bytes/plan.rs",
    "encoding/bytes/stats.rs",
    "encoding/number/follow.rs",
    "encoding/number/plan.rs",
    "encoding/number/stats.rs",
    // The context of decoding, and bytes for tests.
    "buffer/read_context.rs",
    "buffer/test_source.rs",
];

#[test]
fn paths_are_found_in_sources() {
    let code = strip(
        "use crate::{a, b::{c as d, e::F}, g::*};\n// crate::no\nlet x = \"crate::no\"; crate::h::i(crate::J);\n",
    );
    let expected = ["a", "b::c", "b::e::F", "g", "h::i", "J"];
    assert_eq!(crate_paths(&code), expected);
}

/// Returns the innermost room of a file, or of a module with `/` between its names.
fn room_of(path: &str) -> Option<&'static Room> {
    let is_inside = |room: &&Room| {
        let rest = path.strip_prefix(room.name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
    };
    ROOMS
        .iter()
        .filter(is_inside)
        .max_by_key(|room| room.name.len())
}

fn allowed(room: &Room, path: &str) -> bool {
    let first = path.split("::").next().unwrap();
    let alias = ALIASES.iter().find(|(alias, _)| *alias == first);
    let target = alias.map_or(first, |(_, room)| room);
    let in_bottom = BOTTOM.contains(&room.name);
    let house = room.name.split('/').next().unwrap();
    // Rooms inside of the same module have rules, too. The module's own name is in visibilities: `pub(in crate::read)`.
    let target = if target == house && path != house {
        room_of(&path.replace("::", "/")).map_or(target, |room| room.name)
    } else {
        target
    };
    target == room.name
        || path == house
        || (BOTTOM.contains(&target) && (!in_bottom || ["error", "settings"].contains(&target)))
        || room.may_import.contains(&target)
        || room.items.iter().any(|item| path.starts_with(item))
}

#[test]
fn modules_import_only_what_the_table_allows() {
    let mut wrong = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for source in sources() {
        // The root refers to all modules, and tests may use everything.
        if matches!(source.room(), "lib" | "bin") || source.is_test() {
            continue;
        }
        let Some(room) = room_of(&source.path) else {
            wrong.insert(format!(
                "{}: module `{}` is not in the table",
                source.path,
                source.room()
            ));
            continue;
        };
        seen.insert(room.name);
        let code = source.code();
        for path in crate_paths(&code) {
            if !allowed(room, &path) {
                wrong.insert(format!("{} uses crate::{path}", source.path));
            }
        }
        // One `super` for each module around the file leads out of its room.
        let inside = source.path.matches('/').count();
        let depth = inside + usize::from(!source.path.ends_with("/mod.rs") && inside > 0);
        let out = "super::".repeat(depth.max(1) - room.name.matches('/').count());
        if code.contains(&out) {
            wrong.insert(format!("{} leaves its room by `{out}`", source.path));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let expected: BTreeSet<_> = ROOMS.iter().map(|room| room.name).collect();
    assert_eq!(seen, expected, "modules of the table that do not exist");
}

/// Returns the lines of some code that contain a word.
fn lines_with<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    (0..).zip(code.lines()).filter(move |(_, line)| {
        line.match_indices(word).any(|(at, _)| {
            !line[..at].ends_with(is_word) && !line[at + word.len()..].starts_with(is_word)
        })
    })
}

#[test]
fn unsafe_code_is_in_the_kernels_the_memory_map_and_the_allocator_only() {
    let mut wrong = Vec::new();
    for source in sources() {
        let code = strip(&source.text);
        let found = lines_with(&code, "unsafe").count();
        let allowed = source.room() == "kernels"
            || source.is_generated()
            || UNSAFE.contains(&source.path.as_str());
        if found > 0 && !allowed {
            wrong.push(source.path.clone());
        }
        if source.path == "read/open_shard.rs" {
            let map = code.find("unsafe fn open_mmap").unwrap();
            let end = map + code[map..].find("\n    }\n").unwrap();
            let inside = lines_with(&code[map..end], "unsafe").count();
            assert_eq!(
                found, inside,
                "read/open_shard.rs has unsafe code outside of open_mmap"
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_unsafe_block_says_why_it_is_sound() {
    let mut wrong = Vec::new();
    for source in sources() {
        if source.is_generated() {
            continue;
        }
        let code = strip(&source.text);
        let lines: Vec<&str> = source.text.lines().collect();
        for (i, line) in lines_with(&code, "unsafe") {
            // Functions and traits define a contract; blocks and implementations fulfil one.
            let keeps = !line.contains("unsafe fn") && !line.contains("unsafe trait");
            let before = lines[i.saturating_sub(6)..=i].join("\n");
            if keeps && !before.contains("SAFETY:") {
                wrong.push(format!("{}:{}: {}", source.path, i + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn files_that_implement_the_format_say_which_part() {
    let mut wrong = Vec::new();
    for source in sources() {
        let specified = ["format", "encoding", "buffer"].contains(&source.room())
            && !source.is_test()
            && !source.is_generated()
            && !source.path.ends_with("/mod.rs");
        let says = source
            .text
            .lines()
            .any(|line| line.starts_with("//! Spec: "));
        let excused = NOT_SPECIFIED.contains(&source.path.as_str());
        if specified && says == excused {
            wrong.push(source.path);
        }
    }
    assert!(
        wrong.is_empty(),
        "without a `//! Spec:` line, or excused in vain: {wrong:#?}"
    );
}

#[test]
fn no_file_has_more_than_600_lines() {
    let mut long = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if lines > 600 && !source.is_generated() {
            long.push(format!("{}: {lines}", source.path));
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

/// rustfmt does not wrap comments. Rows of tables and long paths stay on one line.
#[test]
fn comments_have_at_most_120_columns() {
    let mut long = Vec::new();
    for source in sources() {
        for (number, line) in source.text.lines().enumerate() {
            let comment = line.trim_start();
            let words = comment.trim_start_matches(['/', '!', ' ']);
            let is_prose = comment.starts_with("//") && !words.starts_with(['|', '[']);
            if is_prose && line.chars().count() > 120 && !source.is_generated() {
                long.push(format!("{}:{}", source.path, number + 1));
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}
