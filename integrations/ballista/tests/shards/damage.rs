//! Damaged messages are errors, not panics.

use crate::codec::{decode, encode, scans, sink};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::sync::Arc;

/// The bytes of a plan, and the inputs of the plan.
type Message = (Vec<u8>, Vec<Arc<dyn ExecutionPlan>>);

/// Returns the messages of scans with many features, and of a sink.
fn messages() -> Vec<Message> {
    let mut runner = TestRunner::deterministic();
    let mut messages = Vec::new();
    while messages.len() < 6 {
        let scan = scans().new_tree(&mut runner).unwrap().current();
        let bytes = encode(DataSourceExec::from_data_source(scan));
        if (1000..4000).contains(&bytes.len()) {
            messages.push((bytes, Vec::new()));
        }
    }
    let sink = sink();
    let inputs = sink.children().into_iter().cloned().collect();
    messages.push((encode(sink), inputs));
    messages
}

/// Decodes a damaged message. If it is still a plan, the methods of plans must not panic.
fn read(bytes: &[u8], inputs: &[Arc<dyn ExecutionPlan>]) -> bool {
    let Ok(plan) = decode(bytes, inputs) else {
        return false;
    };
    let _ = plan.schema();
    let _ = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new());
    let _ = format!("{:?}", plan.properties());
    true
}

#[test]
fn cut_messages_give_errors() {
    for (bytes, inputs) in messages() {
        assert!(read(&bytes, &inputs));
        for len in 0..bytes.len() {
            assert!(!read(&bytes[..len], &inputs), "{len} of {}", bytes.len());
        }
        let more = [bytes.as_slice(), &[0]].concat();
        let error = decode(&more, &inputs).unwrap_err().to_string();
        assert!(error.contains("1 bytes follow it"), "{error}");
    }
}

#[test]
fn damaged_messages_never_panic() {
    quiet(|| {
        for (bytes, inputs) in messages() {
            let mut damaged = bytes.clone();
            for at in 0..bytes.len() {
                for bit in [1, 16, 128] {
                    damaged[at] ^= bit;
                    read(&damaged, &inputs);
                    damaged[at] ^= bit;
                }
            }
        }
    });
}

#[test]
fn other_versions_are_named() {
    let (bytes, inputs) = messages().remove(0);
    let head = b"\0shard".len();
    // First the length, which ends with a byte below 128, then the version.
    let length = bytes[head..].iter().position(|byte| *byte < 128).unwrap();
    let version = head + length + 1;
    let mut newer = bytes;
    assert_eq!(newer[version..version + 2], [8, 1]);
    newer[version + 1] = 2;
    let error = decode(&newer, &inputs).unwrap_err().to_string();
    assert!(error.contains("version 2"), "{error}");
    assert!(error.contains("one release"), "{error}");
}

proptest! {
    #[test]
    fn bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let ours = [b"\0shard".as_slice(), &bytes].concat();
        prop_assert!(!read(&ours, &[]));
    }
}

/// Runs a test without printing panics that the codec catches; panics of other tests are still printed.
fn quiet(test: impl FnOnce()) {
    let this = std::thread::current().id();
    let shown = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() != this || panic.location().is_none_or(is_here) {
            shown(panic);
        }
    }));
    test();
}

/// Returns whether a panic comes from this test itself.
fn is_here(location: &std::panic::Location<'_>) -> bool {
    location.file().ends_with("damage.rs")
}
