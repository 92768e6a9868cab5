//! Spec: docs/format.md, "Differences in meaning": which encodings readers of a wire take.

use crate::encoding::{bytes, number::Plan};
use crate::format::Capabilities;

/// Maximum nesting depth of encodings, including the outermost.
const MAX_DEPTH: u32 = 4;

/// Returns whether readers of the wire accept this encoding of numbers.
pub(super) fn takes_numbers(plan: &Plan, capabilities: &Capabilities) -> bool {
    capabilities.every_nesting || outer(plan)
}

/// Returns whether readers of the wire accept this encoding of byte strings. `fixed` is for values of one size.
pub(super) fn takes_bytes(plan: &bytes::Plan, fixed: bool, capabilities: &Capabilities) -> bool {
    use bytes::Plan as P;
    let below = |part: &Option<Plan>| {
        capabilities.every_nesting || part.as_ref().is_none_or(|plan| inner(plan, MAX_DEPTH - 1))
    };
    match plan {
        P::Plain => true,
        // A block with several distinct values becomes a BlockDictionary.
        P::SingleValue => {
            !fixed
                || capabilities.fixed_size_single_values
                    && capabilities.fixed_size_block_dictionaries
        }
        P::BlockDictionary { codes, lengths } => {
            (!fixed || capabilities.fixed_size_block_dictionaries)
                && (capabilities.every_nesting || inner(codes, MAX_DEPTH - 1))
                && below(lengths)
        }
        // Encodings that only this crate defines.
        P::FsstValues { .. } | P::Split128 { .. } | P::Digits { .. } | P::NonEmpty { .. } => {
            capabilities.every_nesting
        }
        P::Trained { .. } => capabilities.compressor_dictionaries,
        P::Delimited { .. } => capabilities.delimited_strings,
        P::Fsst { offsets, .. } | P::Zstd { offsets, .. } | P::Lz4 { offsets } => below(offsets),
    }
}

/// Returns whether the reference accepts the plan for a whole block.
fn outer(plan: &Plan) -> bool {
    let below = |plan: &Plan| inner(plan, MAX_DEPTH - 1);
    let part = |part: &Option<Box<Plan>>| part.as_deref().is_none_or(below);
    match plan {
        Plan::ZigZag { values } => below(values),
        Plan::Alp { integers } => below(integers),
        // The distinct values follow the codes without padding, and only raw values may be unaligned.
        Plan::BlockDictionary { codes, values } => below(codes) && values.is_none(),
        Plan::Sparse { positions, values } => part(positions) && part(values),
        // The right parts follow the left codes without padding, and the length of equal left codes is not a multiple
        // of 8.
        Plan::AlpRd { .. } => false,
        Plan::Zstd { .. } | Plan::Lz4 => true,
        // Encodings that only this crate defines.
        Plan::PatchedFfor | Plan::CompactFfor | Plan::Multiples { .. } | Plan::Pco { .. } => false,
        _ => inner(plan, MAX_DEPTH),
    }
}

/// Returns whether the reference accepts the plan for a part of a block.
fn inner(plan: &Plan, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let part = |part: &Option<Box<Plan>>| part.as_deref().is_none_or(|plan| inner(plan, depth));
    match plan {
        Plan::Plain | Plan::SingleValue | Plan::FlBitPack | Plan::Ffor => true,
        Plan::For { deltas } => inner(deltas, depth),
        Plan::Delta { differences } => inner(differences, depth),
        Plan::RunLength { values, lengths } => part(values) && part(lengths),
        Plan::Truncate { values } => part(values),
        Plan::ZigZag { .. }
        | Plan::Alp { .. }
        | Plan::AlpRd { .. }
        | Plan::BlockDictionary { .. }
        | Plan::Sparse { .. }
        | Plan::Zstd { .. }
        | Plan::Lz4
        | Plan::PatchedFfor
        | Plan::CompactFfor
        | Plan::Multiples { .. }
        | Plan::Pco { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Wire;

    fn taken(plan: &Plan) -> (bool, bool) {
        let on = |wire: Wire| takes_numbers(plan, &wire.capabilities());
        (on(Wire::Spec), on(Wire::Reference))
    }

    fn runs(values: Plan) -> Plan {
        Plan::RunLength {
            values: Some(Box::new(values)),
            lengths: Some(Box::new(Plan::FlBitPack)),
        }
    }

    fn dictionary(values: Option<Box<Plan>>) -> Plan {
        Plan::BlockDictionary {
            codes: Box::new(Plan::FlBitPack),
            values,
        }
    }

    #[test]
    fn every_nesting_is_taken_on_one_wire_and_aligned_ones_on_the_other() {
        let delta = |differences| Plan::Delta {
            differences: Box::new(differences),
        };
        let both = [
            Plan::Plain,
            Plan::Lz4,
            delta(Plan::Ffor),
            runs(delta(Plan::Ffor)),
            dictionary(None),
        ];
        for plan in both {
            assert_eq!(taken(&plan), (true, true), "{plan}");
        }
        let alp_rd = Plan::AlpRd {
            left: Box::new(Plan::FlBitPack),
            right: Box::new(Plan::FlBitPack),
        };
        let deep = delta(delta(delta(delta(Plan::Ffor))));
        let spec_only = [
            alp_rd,
            deep,
            delta(dictionary(None)),
            runs(Plan::Lz4),
            dictionary(Some(Box::new(Plan::Ffor))),
        ];
        for plan in spec_only {
            assert_eq!(taken(&plan), (true, false), "{plan}");
        }
    }

    #[test]
    fn fixed_sizes_have_no_block_dictionary_on_the_reference_wire() {
        let reference = Wire::Reference.capabilities();
        let plans = [
            bytes::Plan::SingleValue,
            bytes::Plan::BlockDictionary {
                codes: Plan::FlBitPack,
                lengths: Some(Plan::Ffor),
            },
        ];
        for plan in plans {
            assert!(takes_bytes(&plan, false, &reference), "{plan}");
            assert!(!takes_bytes(&plan, true, &reference), "{plan}");
            assert!(
                takes_bytes(&plan, true, &Wire::Spec.capabilities()),
                "{plan}"
            );
        }
    }
}
