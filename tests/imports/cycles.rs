//! Finds files that import each other in a circle.
//!
//! A module and the modules inside of it may refer to each other, like a table of encodings and nested encodings. All
//! other imports must go in one direction.

use super::sources::{Leaf, Source, expand, sources};
use std::collections::{BTreeMap, BTreeSet};

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

/// Path of the command line, a crate of its own, below `src`.
const COMMAND_LINE: &str = "bin/arrow-shard/";

fn module(source: &Source) -> Module {
    let path = source.path.strip_suffix(".rs").unwrap();
    let path = path.strip_prefix(COMMAND_LINE).unwrap_or(path);
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
    /// Reads the files of the library, or of the command line.
    fn read(of_command_line: bool) -> Self {
        let mut files = BTreeMap::new();
        for source in sources() {
            let is_of_crate = (source.room() == "bin") == of_command_line;
            if !is_of_crate || source.is_test() || source.is_generated() {
                continue;
            }
            let file = File {
                path: source.path.clone(),
                code: source.code(),
                imports: Vec::new(),
            };
            files.insert(module(&source), file);
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

/// Fails if files import each other in a circle, or if fewer than `least` imports are found.
fn check(files: &Files, least: usize) {
    let uses = files.uses();
    let count: usize = uses.values().map(BTreeSet::len).sum();
    assert!(count > least, "only {count} imports were found");
    let circles = circles(uses);
    let shown: Vec<String> = circles
        .iter()
        .map(|(module, uses)| {
            let uses = uses.iter().filter(|to| circles.contains_key(*to));
            let uses: Vec<String> = uses.map(|to| to.join("::")).collect();
            format!("{} uses {}", files.0[module].path, uses.join(", "))
        })
        .collect();
    assert!(shown.is_empty(), "{shown:#?}");
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    check(&Files::read(false), 500);
}

#[test]
fn no_files_of_the_command_line_import_each_other_in_a_circle() {
    check(&Files::read(true), 100);
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
