//! Finds files that import each other in a circle.
//!
//! A module and the modules inside of it may refer to each other, like a table of encodings and nested encodings. All
//! other imports must go in one direction.

use super::sources::{Leaf, Source, expand, sources_in};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The path of a module, from the root of the crate.
type Module = Vec<String>;

/// An import: the module where its path starts, the following names, its name here if it has one, and whether it is
/// public.
struct Import {
    from: Module,
    names: Vec<String>,
    name: Option<String>,
    is_public: bool,
}

/// A module, and the imports of its file.
struct File {
    path: String,
    /// The code without imports.
    code: String,
    imports: Vec<Import>,
}

struct Files(BTreeMap<Module, File>);

/// Returns the start of a path below `src` that leads to the root of its crate: `bin/name/` in a program with modules,
/// `bin/` in programs of one file, and empty in all other crates.
fn root_of(path: &str) -> &str {
    let Some(rest) = path.strip_prefix("bin/") else {
        return "";
    };
    let name = rest.find('/').map_or(0, |slash| slash + 1);
    &path[.."bin/".len() + name]
}

/// Returns the sources below a folder of the repository for each crate in it, by the root of the crate.
fn crates_in(folder: &str) -> BTreeMap<String, Vec<Source>> {
    let sources = sources_in(folder);
    let has_library = sources.iter().any(|source| source.path == "lib.rs");
    let mut crates: BTreeMap<String, Vec<Source>> = BTreeMap::new();
    for source in sources {
        // A program next to its library is one file, which imports nothing from other programs.
        let is_program = has_library && source.path == "main.rs";
        if !is_program && !source.is_test() && !source.is_generated() {
            let root = root_of(&source.path).to_owned();
            crates.entry(root).or_default().push(source);
        }
    }
    crates
}

/// Returns the folders with the sources of packages outside of this one. The published package has none of them.
fn other_folders() -> Vec<String> {
    let mut folders = Vec::new();
    for around in ["benches", "integrations"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(around);
        for entry in fs::read_dir(path).into_iter().flatten() {
            let entry = entry.unwrap();
            if entry.path().join("Cargo.toml").exists() {
                let name = entry.file_name().into_string().unwrap();
                folders.push(format!("{around}/{name}/src"));
            }
        }
    }
    folders.sort();
    folders
}

fn module(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut names: Vec<_> = path.split('/').map(str::to_owned).collect();
    if names
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
    {
        names.pop();
    }
    names
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Removes the imports from some code. Returns each import as text, and whether it is public.
fn cut_imports(code: &str) -> (String, Vec<(String, bool)>) {
    let (mut kept, mut imports) = (String::new(), Vec::new());
    let mut rest = code;
    while let Some(at) = rest.find("use ") {
        let starts = !rest[..at].ends_with(is_word);
        let Some(end) = rest[at..].find(';').filter(|_| starts) else {
            kept.push_str(&rest[..at + 4]);
            rest = &rest[at + 4..];
            continue;
        };
        let line = rest[..at].rfind('\n').map_or(0, |line| line + 1);
        imports.push((
            rest[at + 4..at + end].to_owned(),
            rest[line..at].trim_start().starts_with("pub"),
        ));
        kept.push_str(&rest[..at]);
        rest = &rest[at + end + 1..];
    }
    kept.push_str(rest);
    (kept, imports)
}

impl Files {
    /// Reads the files of a crate with this root below a folder of the repository.
    fn read(folder: &str, root: &str, sources: &[Source]) -> Self {
        let mut files = BTreeMap::new();
        for source in sources {
            let path = source.path.strip_prefix(root).unwrap();
            let file = File {
                path: format!("{folder}/{}", source.path),
                code: source.code(),
                imports: Vec::new(),
            };
            files.insert(module(path), file);
        }
        let mut files = Self(files);
        let modules: Vec<Module> = files.0.keys().cloned().collect();
        for module in modules {
            let (code, texts) = cut_imports(&files.0[&module].code);
            let mut imports = Vec::new();
            for (text, is_public) in texts {
                let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let mut leaves = Vec::new();
                expand(
                    "",
                    &text
                        .replace(", }", " }")
                        .replace("{ ", "{")
                        .replace(" }", "}"),
                    &mut leaves,
                );
                imports.extend(
                    leaves
                        .iter()
                        .filter_map(|leaf| files.import(&module, leaf, is_public)),
                );
            }
            // Paths in the code.
            let mut leaves = Vec::new();
            let uses = imports.len();
            for start in ["crate::", "super::"] {
                for (at, _) in code.match_indices(start) {
                    if !code[..at].ends_with(|c| is_word(c) || c == ':') {
                        expand("", &code[at..], &mut leaves);
                    }
                }
            }
            for child in files.0.keys().filter(|child| {
                child
                    .split_last()
                    .is_some_and(|(_, around)| around == module)
            }) {
                let start = format!("{}::", child.last().unwrap());
                for (at, _) in code.match_indices(&start) {
                    if !code[..at].ends_with(|c| is_word(c) || c == ':') {
                        expand("", &code[at..], &mut leaves);
                    }
                }
            }
            imports.extend(
                leaves
                    .iter()
                    .filter_map(|leaf| files.import(&module, leaf, false)),
            );
            // Paths do not define a name.
            imports[uses..]
                .iter_mut()
                .for_each(|import| import.name = None);
            let file = files.0.get_mut(&module).unwrap();
            (file.code, file.imports) = (code, imports);
        }
        files
    }

    /// Returns the import of a path in a module, if it leads into the crate.
    fn import(&self, module: &Module, leaf: &Leaf, is_public: bool) -> Option<Import> {
        let mut from = module.clone();
        let mut names: Vec<String> = leaf.path.split("::").map(str::to_owned).collect();
        match names.first()?.as_str() {
            "crate" => {
                from.clear();
                names.remove(0);
            }
            "self" => drop(names.remove(0)),
            "super" => {
                while names.first().is_some_and(|name| name == "super") {
                    from.pop()?;
                    names.remove(0);
                }
            }
            child
                if self
                    .0
                    .contains_key(&[module.as_slice(), &[child.to_owned()]].concat()) => {}
            _ => return None,
        }
        names.retain(|name| name != "self");
        let name = Some(leaf.name.clone());
        Some(Import {
            from,
            names,
            name,
            is_public,
        })
    }

    /// Returns the module that defines the item at a path of names from another module.
    fn definition(&self, from: &Module, names: &[String], steps: usize) -> Module {
        let Some((first, rest)) = names.split_first().filter(|_| steps < 20) else {
            return from.clone();
        };
        let child = [from.as_slice(), std::slice::from_ref(first)].concat();
        if self.0.contains_key(&child) {
            return self.definition(&child, rest, steps + 1);
        }
        let imports = self.0.get(from).map_or(&[][..], |file| &file.imports);
        match imports
            .iter()
            .find(|import| import.name.as_ref() == Some(first))
        {
            Some(import) if (&import.from, import.names.as_slice()) != (from, names) => {
                self.definition(&import.from, &import.names, steps + 1)
            }
            _ => from.clone(),
        }
    }

    /// Returns the modules that each module uses, except for modules around or inside of it.
    fn uses(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let mut uses = BTreeMap::new();
        for (module, file) in &self.0 {
            let mut used = BTreeSet::new();
            for import in &file.imports {
                // A re-export is not a use.
                let is_named = |name: &String| has_word(&file.code, name);
                let is_handed_on = import.is_public && !import.name.as_ref().is_some_and(is_named);
                let to = self.definition(&import.from, &import.names, 0);
                if !is_handed_on && !to.starts_with(module) && !module.starts_with(&to) {
                    used.insert(to);
                }
            }
            uses.insert(module.clone(), used);
        }
        uses
    }
}

fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        !code[..at].ends_with(is_word) && !code[at + word.len()..].starts_with(is_word)
    })
}

/// Repeatedly removes modules that use none of the remaining modules. The modules that stay are part of a circle, or
/// lead to one.
fn circles(mut uses: BTreeMap<Module, BTreeSet<Module>>) -> BTreeMap<Module, BTreeSet<Module>> {
    loop {
        let before = uses.len();
        let left: BTreeSet<Module> = uses.keys().cloned().collect();
        let used: BTreeSet<Module> = uses.values().flatten().cloned().collect();
        uses.retain(|module, _| used.contains(module));
        for of_one in uses.values_mut() {
            of_one.retain(|to| left.contains(to));
        }
        uses.retain(|_, of_one| !of_one.is_empty());
        if uses.len() == before {
            return uses;
        }
    }
}

/// Returns the number of imports between the files of a crate, and a line for each file in a circle.
fn check(folder: &str, root: &str, sources: &[Source]) -> (usize, Vec<String>) {
    let files = Files::read(folder, root, sources);
    let uses = files.uses();
    let count = uses.values().map(BTreeSet::len).sum();
    let circles = circles(uses);
    let lines = circles.iter().map(|(module, uses)| {
        let uses = uses.iter().filter(|to| circles.contains_key(*to));
        let uses: Vec<String> = uses.map(|to| to.join("::")).collect();
        format!("{} uses {}", files.0[module].path, uses.join(", "))
    });
    (count, lines.collect())
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let crates = crates_in("src");
    for (root, least) in [("", 500), ("bin/arrow-shard/", 100)] {
        let (count, circles) = check("src", root, &crates[root]);
        assert!(count > least, "only {count} imports were found");
        assert!(circles.is_empty(), "{circles:#?}");
    }
}

#[test]
fn no_files_of_other_packages_import_each_other_in_a_circle() {
    let folders = other_folders();
    if folders.is_empty() {
        eprintln!("SKIPPED: the published package has no other packages next to it");
    }
    let mut circles = Vec::new();
    for folder in &folders {
        let mut imports = 0;
        for (root, sources) in crates_in(folder) {
            let (count, found) = check(folder, &root, &sources);
            imports += count;
            circles.extend(found);
        }
        assert!(imports > 10, "only {imports} imports in {folder}");
    }
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn a_program_with_modules_is_a_crate() {
    let paths = ["lib.rs", "a/mod.rs", "bin/b.rs", "bin/c/main.rs"];
    assert_eq!(paths.map(root_of), ["", "", "bin/", "bin/c/"]);
}

#[test]
fn a_circle_is_found() {
    let module = |name: &str| vec![name.to_owned()];
    let uses = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a"), ("c", "e")];
    let mut map: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (from, to) in uses {
        map.entry(module(from)).or_default().insert(module(to));
        map.entry(module(to)).or_default();
    }
    let found: Vec<_> = circles(map.clone()).into_keys().collect();
    assert_eq!(found, [module("b"), module("c")]);
    map.remove(&module("c"));
    assert!(circles(map).is_empty());
}
