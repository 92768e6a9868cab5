//! Checks that public operations have a blocking and an asynchronous form, and that errors recommend the right one.

use crate::sources::sources;
use std::collections::BTreeSet;

/// Blocking functions without an asynchronous form of the usual name, and why.
const ONLY_BLOCKING: &[(&str, &str)] = &[
    ("add_column", "the value is in memory"),
    ("build", "its twin is build_stream"),
    ("open_pooled", "only local files are pooled"),
    ("open_through", "the container is a blocking one"),
    ("shard_schema", "for tools that look at local files"),
];

/// Asynchronous functions without a blocking form of the usual name, and why.
const ONLY_ASYNC: &[(&str, &str)] = &[
    ("build_stream", "its twin is build"),
    ("from_async_reader", "its twin is from_reader"),
    ("open_object", "object stores are asynchronous"),
    ("read", "AsyncBlob is a type of its own"),
    ("read_range", "AsyncBlob is a type of its own"),
];

/// A public function.
struct Function {
    path: String,
    name: String,
    is_async: bool,
    text: String,
}

/// Returns the public functions of the modules that read and change shards.
fn functions() -> Vec<Function> {
    let mut found = Vec::new();
    for source in sources() {
        if !matches!(source.room(), "read" | "ops") || source.is_test() {
            continue;
        }
        let text = source.text.split("#[cfg(test)]\nmod tests {").next();
        let lines: Vec<&str> = text.unwrap().lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let code = line.trim_start();
            let (is_async, head) = match code.strip_prefix("pub async fn ") {
                Some(head) => (true, head),
                None => (false, code.strip_prefix("pub fn ").unwrap_or_default()),
            };
            let name = head.split(['(', '<']).next().unwrap();
            if name.is_empty() {
                continue;
            }
            let end = format!("{}}}", &line[..line.len() - code.len()]);
            let body = lines[i..].iter().take_while(|line| **line != end);
            found.push(Function {
                path: source.path.clone(),
                name: name.to_owned(),
                is_async,
                text: body.copied().collect::<Vec<_>>().join("\n"),
            });
        }
    }
    found
}

#[test]
fn operations_have_a_blocking_and_an_asynchronous_form() {
    let functions = functions();
    let has = |path: &str, name: &str, is_async: bool| {
        let is_it = |f: &&Function| f.path == path && f.name == name && f.is_async == is_async;
        functions.iter().any(|f| is_it(&f))
    };
    let mut wrong = BTreeSet::new();
    let mut excused = BTreeSet::new();
    for Function {
        path,
        name,
        is_async,
        text,
    } in &functions
    {
        let waits = ["ready_now(", "ready_now_or(", "check_near("];
        if *is_async {
            let twin = name.strip_suffix("_async");
            if ONLY_ASYNC.iter().any(|(excuse, _)| excuse == name) {
                excused.insert(name.as_str());
            } else if !twin.is_some_and(|twin| has(path, twin, false)) {
                wrong.insert(format!("{path}: `{name}` has no blocking form"));
            }
        } else if waits.iter().any(|wait| text.contains(wait)) {
            let twin = format!("{name}_async");
            if ONLY_BLOCKING.iter().any(|(excuse, _)| excuse == name) {
                excused.insert(name.as_str());
            } else if !has(path, &twin, true) {
                wrong.insert(format!("{path}: `{name}` has no asynchronous form"));
            } else if !text
                .split('"')
                .skip(1)
                .step_by(2)
                .any(|said| said.contains(&twin))
            {
                wrong.insert(format!(
                    "{path}: the error of `{name}` does not recommend `{twin}`"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let excuses = ONLY_BLOCKING.iter().chain(ONLY_ASYNC);
    let in_vain: Vec<_> = excuses
        .filter(|(name, _)| !excused.contains(name))
        .collect();
    assert!(in_vain.is_empty(), "excused in vain: {in_vain:#?}");
}
