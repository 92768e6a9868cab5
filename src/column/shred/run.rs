//! Spec: docs/format.md, "Arrow types": run-end encoded arrays are stored as their values.

use super::super::mismatch;
use super::Shredder;
use super::slots::Slots;
use crate::error::Result;
use crate::format::DataType;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array, RunArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType as ArrowType;

impl Shredder<'_> {
    /// Shreds a run-end encoded array as its plain values, one per row.
    pub(super) fn runs(&mut self, array: &dyn Array, slots: &Slots, node: &DataType) -> Result<()> {
        let ArrowType::RunEndEncoded(ends, _) = array.data_type() else {
            return Err(mismatch(array.data_type(), node));
        };
        match ends.data_type() {
            ArrowType::Int16 => self.expand(array.as_run::<Int16Type>(), slots, node),
            ArrowType::Int32 => self.expand(array.as_run::<Int32Type>(), slots, node),
            ArrowType::Int64 => self.expand(array.as_run::<Int64Type>(), slots, node),
            _ => Err(mismatch(array.data_type(), node)),
        }
    }

    fn expand<R: RunEndIndexType>(
        &mut self,
        array: &RunArray<R>,
        slots: &Slots,
        node: &DataType,
    ) -> Result<()> {
        let runs = array.run_ends();
        let picks = if slots.is_all() {
            let (ends, offset) = (runs.values(), runs.offset());
            let mut run = ends.partition_point(|end| end.as_usize() <= offset);
            (offset..offset + slots.len())
                .map(|row| {
                    while ends[run].as_usize() <= row {
                        run += 1;
                    }
                    run
                })
                .collect()
        } else {
            (0..slots.len())
                .map(|i| {
                    if slots.is_open(i) {
                        runs.get_physical_index(slots.pick(i))
                    } else {
                        0
                    }
                })
                .collect()
        };
        let slots = Slots::picks(picks, slots.mask().cloned());
        self.node(array.values(), &slots, node)
    }
}
