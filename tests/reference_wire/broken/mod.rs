//! Checks that every rule can fail: valid bytes are changed in one place, and the error names the rule.

mod metadata;
mod values;

use crate::bytes::checksum;
use crate::schema::Node;

#[track_caller]
pub(super) fn breaks<T>(result: Result<T, String>, rule: &str) {
    match result {
        Ok(_) => panic!("nothing breaks [{rule}]"),
        Err(error) => assert!(error.contains(rule), "expected [{rule}], found {error}"),
    }
}

/// Appends the checksum of the bytes.
fn seal(bytes: &mut Vec<u8>) {
    let sum = checksum(bytes);
    bytes.extend(sum.to_le_bytes());
}

fn node(basic_type: u8) -> Node {
    Node {
        basic_type,
        id: 0,
        name: "c".to_owned(),
        signed: false,
        fixed_size: 0,
        label: String::new(),
        children: Vec::new(),
    }
}
