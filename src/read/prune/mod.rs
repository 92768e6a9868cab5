//! Which truth values a predicate may have over rows of which little is known.
//!
//! There are three outcomes for the rows of a shard or stripe: none matches, all match, or some may.
//! Nothing here reads: what is known comes in as [`Facts`].

mod facts;

pub(super) use facts::{Bound, Facts, is_nan};

use super::predicate::{Node, Truth};

/// The truth values that a predicate may have, given those of its leaves.
pub(super) fn truth(node: &Node, leaf: &dyn Fn(usize) -> Truth) -> Truth {
    match node {
        Node::Known(known) => *known,
        Node::Leaf(ordinal) => leaf(*ordinal),
        Node::Function(_) => Truth::ANY,
        Node::Not(part) => {
            let part = truth(part, leaf);
            Truth::new(part.may_be_false, part.may_be_true, part.may_be_unknown)
        }
        Node::And(parts) => {
            let all = Truth::always(true);
            parts
                .iter()
                .fold(all, |all, part| and(all, truth(part, leaf)))
        }
        Node::Or(parts) => {
            let none = Truth::always(false);
            parts
                .iter()
                .fold(none, |any, part| or(any, truth(part, leaf)))
        }
    }
}

fn and(a: Truth, b: Truth) -> Truth {
    let unfalse = |truth: Truth| truth.may_be_true || truth.may_be_unknown;
    Truth::new(
        a.may_be_true && b.may_be_true,
        a.may_be_false || b.may_be_false,
        (a.may_be_unknown && unfalse(b)) || (b.may_be_unknown && unfalse(a)),
    )
}

fn or(a: Truth, b: Truth) -> Truth {
    let untrue = |truth: Truth| truth.may_be_false || truth.may_be_unknown;
    Truth::new(
        a.may_be_true || b.may_be_true,
        a.may_be_false && b.may_be_false,
        (a.may_be_unknown && untrue(b)) || (b.may_be_unknown && untrue(a)),
    )
}

/// The predicate that is left where the truth of some leaves is known.
pub(super) fn simplify(node: &Node, leaf: &dyn Fn(usize) -> Truth) -> Node {
    let whole = truth(node, leaf);
    if whole.is_known() {
        return Node::Known(whole);
    }
    // A part that is always true does not narrow a conjunction, nor one that is always false widen
    // a disjunction.
    let rest = |parts: &[Node], neutral: bool| -> Vec<Node> {
        let parts = parts.iter().map(|part| simplify(part, leaf));
        let neutral = Node::Known(Truth::always(neutral));
        parts.filter(|part| *part != neutral).collect()
    };
    match node {
        Node::And(parts) => Node::And(rest(parts, true)),
        Node::Or(parts) => Node::Or(rest(parts, false)),
        Node::Not(part) => Node::Not(Box::new(simplify(part, leaf))),
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
            let parts = || vec![Node::Leaf(0), Node::Leaf(1)];
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
            assert_eq!(truth(&Node::And(parts()), &leaf), both, "{a:?} AND {b:?}");
            assert_eq!(truth(&Node::Or(parts()), &leaf), either, "{a:?} OR {b:?}");
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
        let and = |parts: [usize; 2]| Node::And(parts.map(Node::Leaf).to_vec());
        assert_eq!(
            simplify(&and([0, 3]), &leaf),
            Node::And(vec![Node::Leaf(3)])
        );
        assert_eq!(
            simplify(&and([1, 3]), &leaf),
            Node::Known(Truth::always(false))
        );
        let unknown = Node::And(vec![Node::Known(Truth::UNKNOWN), Node::Leaf(3)]);
        assert_eq!(simplify(&and([2, 3]), &leaf), unknown);
    }
}
