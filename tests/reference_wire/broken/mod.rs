//! Every rule can be broken: bytes that obey are changed in one place, and the rule is named.

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

/// Appends the checksum of what there is.
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
