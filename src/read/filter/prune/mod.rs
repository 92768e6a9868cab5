//! Truth values that a predicate may have over rows that have not been read.
//!
//! The rows of a shard or stripe have three outcomes: none matches, all match, or some may match. This module reads
//! nothing; what is known comes in as [`Facts`].

mod facts;

pub(in crate::read) use facts::{Facts, ValueBound, is_nan};

use super::predicate::{PredicateNode, Truth};
use std::ops::{BitAnd, BitOr};

/// Returns the truth values that a predicate may have, given the truth values of its leaves.
pub(in crate::read) fn truth(node: &PredicateNode, leaf: &dyn Fn(usize) -> Truth) -> Truth {
    truths(node, leaf, &|truth| truth)
}

/// Returns the truth values that a predicate may have, like [`truth`], for each of several blocks of rows. `all`
/// returns the same truth for all blocks.
pub(in crate::read) fn truths<B>(
    node: &PredicateNode,
    leaf: &dyn Fn(usize) -> Truth<B>,
    all: &dyn Fn(Truth) -> Truth<B>,
) -> Truth<B>
where
    for<'a> &'a B: BitAnd<&'a B, Output = B> + BitOr<&'a B, Output = B>,
{
    let part = |node: &PredicateNode| truths(node, leaf, all);
    let start = || all(Truth::always(true));
    match node {
        PredicateNode::Known(known) => all(*known),
        PredicateNode::Leaf(ordinal) => leaf(*ordinal),
        PredicateNode::Function(_) => all(Truth::ANY),
        PredicateNode::Not(node) => part(node).not(),
        PredicateNode::And(nodes) => nodes
            .iter()
            .fold(start(), |both, node| both.and(&part(node))),
        // De Morgan holds in three-valued logic as well.
        PredicateNode::Or(nodes) => {
            let neither = |both: Truth<B>, node| both.and(&part(node).not());
            nodes.iter().fold(start(), neither).not()
        }
    }
}

/// Simplifies a predicate, given the truth of some leaves.
pub(in crate::read) fn simplify(
    node: &PredicateNode,
    leaf: &dyn Fn(usize) -> Truth,
) -> PredicateNode {
    let whole = truth(node, leaf);
    if whole.is_known() {
        return PredicateNode::Known(whole);
    }
    // A part that is always true does not narrow a conjunction. A part that is always false does not widen a
    // disjunction.
    let rest = |parts: &[PredicateNode], neutral: bool| -> Vec<PredicateNode> {
        let parts = parts.iter().map(|part| simplify(part, leaf));
        let neutral = PredicateNode::Known(Truth::always(neutral));
        parts.filter(|part| *part != neutral).collect()
    };
    match node {
        PredicateNode::And(parts) => PredicateNode::And(rest(parts, true)),
        PredicateNode::Or(parts) => PredicateNode::Or(rest(parts, false)),
        PredicateNode::Not(part) => PredicateNode::Not(Box::new(simplify(part, leaf))),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [Option<bool>; 3] = [Some(true), Some(false), None];

    fn one(value: Option<bool>) -> Truth {
        value.map_or(Truth::UNKNOWN, Truth::always)
    }

    fn all() -> impl Iterator<Item = Truth> {
        (1..8).map(|bits| Truth::new(bits & 1 != 0, bits & 2 != 0, bits & 4 != 0))
    }

    fn holds(truth: Truth, value: Option<bool>) -> bool {
        truth.either(one(value)) == truth
    }

    #[test]
    fn a_junction_may_have_the_values_that_its_parts_give_and_no_other() {
        for (a, b) in all().flat_map(|a| all().map(move |b| (a, b))) {
            let leaf = |i: usize| if i == 0 { a } else { b };
            let parts = || vec![PredicateNode::Leaf(0), PredicateNode::Leaf(1)];
            let mut both = Truth::default();
            let mut either = Truth::default();
            for (x, y) in VALUES
                .iter()
                .flat_map(|x| VALUES.iter().map(move |y| (*x, *y)))
            {
                if holds(a, x) && holds(b, y) {
                    both = both.either(one(match (x, y) {
                        (Some(false), _) | (_, Some(false)) => Some(false),
                        (Some(true), Some(true)) => Some(true),
                        _ => None,
                    }));
                    either = either.either(one(match (x, y) {
                        (Some(true), _) | (_, Some(true)) => Some(true),
                        (Some(false), Some(false)) => Some(false),
                        _ => None,
                    }));
                }
            }
            assert_eq!(
                truth(&PredicateNode::And(parts()), &leaf),
                both,
                "{a:?} AND {b:?}"
            );
            assert_eq!(
                truth(&PredicateNode::Or(parts()), &leaf),
                either,
                "{a:?} OR {b:?}"
            );
        }
    }

    #[test]
    fn parts_that_are_known_are_left_out() {
        let leaf = |i: usize| match i {
            0 => Truth::always(true),
            1 => Truth::always(false),
            2 => Truth::UNKNOWN,
            _ => Truth::ANY,
        };
        let and = |parts: [usize; 2]| PredicateNode::And(parts.map(PredicateNode::Leaf).to_vec());
        assert_eq!(
            simplify(&and([0, 3]), &leaf),
            PredicateNode::And(vec![PredicateNode::Leaf(3)])
        );
        assert_eq!(
            simplify(&and([1, 3]), &leaf),
            PredicateNode::Known(Truth::always(false))
        );
        let unknown = PredicateNode::And(vec![
            PredicateNode::Known(Truth::UNKNOWN),
            PredicateNode::Leaf(3),
        ]);
        assert_eq!(simplify(&and([2, 3]), &leaf), unknown);
    }
}
