//! Spec: docs/format.md, "Range indexes": how the entries of an index are encoded.

use crate::buffer::EntryPlans;
use crate::encoding::number::Plan;
use crate::encoding::{NumberKind, Word};
use crate::write::choose;
use crate::write::choose::settings::Settings;

impl EntryPlans for Settings {
    fn plan<W: Word>(&self, entries: &[W], kind: NumberKind) -> Plan {
        choose::numbers(entries, kind, self).plan
    }
}
