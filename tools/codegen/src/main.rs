//! Makes `src/format/generated` from the files in `proto/` and `fbs/`: `cargo run -p codegen`.
//!
//! `flatc` comes from the crate `flatc-fork`, which builds it with CMake; no `protoc` is needed.

use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FileDescriptorSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The two sets of metadata messages and schema tables.
const WIRES: [&str; 2] = ["spec", "reference"];

/// Messages that the wires fill differently while nothing around them says which wire it is. They
/// are generated as bytes, so that the reader can look into each before it decodes it.
const DECIDED_BY_CONTENT: [(&str, &str); 3] = [
    ("CardinalityInfo", "hll_sketch"),
    ("MembershipFilters", "sbbf"),
    ("IndexDescriptor", "artifacts"),
];

/// Fields of bytes that may be long: they share the memory of the message.
const SHARED_BYTES: [&str; 4] = [
    "AnyValue.bytes_value",
    "MembershipFilters.sbbf",
    "SplitBlockBloomFilter.data",
    "SplitBlockBloomFilterBlocks.blocks",
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = workspace_root();
    for (name, content) in generate(&root)? {
        let path = root.join("src/format/generated").join(name);
        std::fs::write(&path, content)?;
        println!("{}", path.display());
    }
    Ok(())
}

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// File names below `src/format/generated` and their content.
fn generate(root: &Path) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut files = Vec::new();
    for wire in WIRES {
        files.push((format!("{wire}_messages.rs"), messages(root, wire)?));
        files.push((format!("{wire}_schema.rs"), schema(root, wire)?));
    }
    Ok(files)
}

fn messages(root: &Path, wire: &str) -> Result<String, Box<dyn Error>> {
    let folder = root.join("proto");
    let mut descriptors = protox::compile([format!("{wire}.proto")], [&folder])?;
    for (message, field) in DECIDED_BY_CONTENT {
        make_bytes(&mut descriptors, message, field)?;
    }
    let out = tempfile::tempdir()?;
    prost_build::Config::new()
        .out_dir(out.path())
        .bytes(SHARED_BYTES)
        .compile_fds(descriptors)?;
    Ok(std::fs::read_to_string(
        out.path().join(format!("amudai.{wire}.rs")),
    )?)
}

/// Turns a field that holds a message into one that holds its bytes, which look the same.
fn make_bytes(set: &mut FileDescriptorSet, message: &str, field: &str) -> Result<(), String> {
    let is_message = |m: &&mut DescriptorProto| m.name.as_deref() == Some(message);
    let field = set
        .file
        .iter_mut()
        .flat_map(|file| &mut file.message_type)
        .find(is_message)
        .and_then(|m| {
            m.field
                .iter_mut()
                .find(|f| f.name.as_deref() == Some(field))
        })
        .ok_or_else(|| format!("no field {message}.{field}"))?;
    field.set_type(Type::Bytes);
    field.type_name = None;
    Ok(())
}

fn schema(root: &Path, wire: &str) -> Result<String, Box<dyn Error>> {
    let out = tempfile::tempdir()?;
    let status = Command::new(flatc_fork::flatc())
        .args(["--rust", "-o"])
        .arg(out.path())
        .arg(root.join(format!("fbs/{wire}.fbs")))
        .status()?;
    if !status.success() {
        return Err(format!("flatc ended with {status}").into());
    }
    Ok(std::fs::read_to_string(
        out.path().join(format!("{wire}_generated.rs")),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_code_is_what_the_generators_make() {
        let root = workspace_root();
        for (name, fresh) in generate(&root).unwrap() {
            let path = root.join("src/format/generated").join(&name);
            let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                checked_in == fresh,
                "{name} is not current: run `cargo run -p codegen`"
            );
        }
    }
}
