//! Truth values that a predicate can have, known before values are read.

use arrow_array::{Array, BooleanArray};
use std::ops::{BitAnd, BitOr};

/// The truth values that a predicate may have over some rows. With a bitmap as `B`, it has one bit for each of several
/// blocks of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::read) struct Truth<B = bool> {
    pub(in crate::read) may_be_true: B,
    pub(in crate::read) may_be_false: B,
    pub(in crate::read) may_be_unknown: B,
}

impl<B> Truth<B>
where
    for<'a> &'a B: BitAnd<&'a B, Output = B> + BitOr<&'a B, Output = B>,
{
    /// Returns the values that the conjunction of two predicates may have.
    pub(in crate::read) fn and(&self, other: &Self) -> Self {
        let unfalse = |truth: &Self| &truth.may_be_true | &truth.may_be_unknown;
        let first = &self.may_be_unknown & &unfalse(other);
        let second = &other.may_be_unknown & &unfalse(self);
        Self {
            may_be_true: &self.may_be_true & &other.may_be_true,
            may_be_false: &self.may_be_false | &other.may_be_false,
            may_be_unknown: &first | &second,
        }
    }

    /// Returns the values that the negation of a predicate may have.
    pub(in crate::read) fn not(self) -> Self {
        Self {
            may_be_true: self.may_be_false,
            may_be_false: self.may_be_true,
            may_be_unknown: self.may_be_unknown,
        }
    }
}

impl Truth {
    pub(in crate::read) const ANY: Self = Self::new(true, true, true);
    pub(in crate::read) const UNKNOWN: Self = Self::new(false, false, true);

    pub(in crate::read) const fn new(t: bool, f: bool, unknown: bool) -> Self {
        Self {
            may_be_true: t,
            may_be_false: f,
            may_be_unknown: unknown,
        }
    }

    /// Exactly this truth value for every row.
    pub(in crate::read) const fn always(value: bool) -> Self {
        Self::new(value, !value, false)
    }

    /// Returns the values that either of the two may have.
    pub(in crate::read) fn either(self, other: Self) -> Self {
        Self::new(
            self.may_be_true || other.may_be_true,
            self.may_be_false || other.may_be_false,
            self.may_be_unknown || other.may_be_unknown,
        )
    }

    /// Whether no row matches.
    pub(in crate::read) fn is_none(self) -> bool {
        !self.may_be_true
    }

    /// Whether every row matches.
    pub(in crate::read) fn is_all(self) -> bool {
        !self.may_be_false && !self.may_be_unknown
    }

    /// Returns the only value that it may have, if there is only one; `Some(None)` is unknown.
    pub(super) fn known(self) -> Option<Option<bool>> {
        match (self.may_be_true, self.may_be_false, self.may_be_unknown) {
            (true, false, false) => Some(Some(true)),
            (false, true, false) => Some(Some(false)),
            (false, false, true) => Some(None),
            _ => None,
        }
    }

    pub(in crate::read) fn is_known(self) -> bool {
        self.known().is_some()
    }

    /// Returns the values that occur in an array.
    pub(in crate::read) fn of(values: &BooleanArray) -> Self {
        let t = values.has_true();
        Self::new(t, values.has_false(), values.null_count() > 0)
    }
}
