//! Facts about the values of a column over some rows, and their consequences for tests.

use super::super::predicate::{Comparison, Test, Truth, bytes_of};
use crate::error::Result;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBuffer;
use arrow_ord::ord::make_comparator;
use arrow_schema::SortOptions;
use std::cmp::Ordering;

/// Facts about the values of a column over some rows.
#[derive(Debug, Clone)]
pub(in crate::read) struct Facts {
    /// Whether a row may be null.
    pub(in crate::read) may_be_null: bool,
    /// Whether a row may have a value.
    pub(in crate::read) may_be_present: bool,
    /// The value of every row that is not null, as an array of length 1.
    pub(in crate::read) constant: Option<ArrayRef>,
    /// Lower bound of the values other than NaN.
    pub(in crate::read) low: Option<ValueBound>,
    /// Upper bound of the values other than NaN.
    pub(in crate::read) high: Option<ValueBound>,
    /// Whether a value may be NaN.
    pub(in crate::read) may_be_nan: bool,
}

/// An end of a range of values.
#[derive(Debug, Clone)]
pub(in crate::read) struct ValueBound {
    /// An array of length 1, of the column's type; not NaN.
    pub(in crate::read) value: ArrayRef,
    /// Whether a value may be equal to it.
    pub(in crate::read) inclusive: bool,
}

impl Facts {
    /// The facts if nothing is known.
    pub(in crate::read) const NONE: Self = Self {
        may_be_null: true,
        may_be_present: true,
        constant: None,
        low: None,
        high: None,
        may_be_nan: true,
    };

    /// Returns the truth values that a test may have over the rows. No row has a value of the test with a set bit in
    /// `absent`.
    ///
    /// # Errors
    /// Fails if the types of the values differ.
    pub(in crate::read) fn truth(
        &self,
        test: &Test,
        absent: Option<&BooleanBuffer>,
    ) -> Result<Truth> {
        match test {
            Test::IsNull => return Ok(Truth::new(self.may_be_null, self.may_be_present, false)),
            Test::Unknown => return Ok(Truth::UNKNOWN),
            _ => {}
        }
        let mut truth = Truth::default();
        if self.may_be_null {
            truth = truth.either(Truth::UNKNOWN);
        }
        if self.may_be_present {
            truth = truth.either(self.of_present(test, absent)?);
        }
        Ok(truth)
    }

    fn of_present(&self, test: &Test, absent: Option<&BooleanBuffer>) -> Result<Truth> {
        if let Some(constant) = &self.constant {
            return Ok(Truth::of(&test.of(constant)?));
        }
        match test {
            Test::Compare(comparison, value) => {
                let mut positions = self.positions(value, absent)?;
                Ok(positions.next().map_or(Truth::ANY, |p| comparison.truth(p)))
            }
            Test::In {
                values, has_null, ..
            } => {
                let mut truth = Truth::always(false);
                for one in self.positions(values, absent)? {
                    truth.may_be_true |= one.equal;
                    truth.may_be_false &= one.less || one.greater;
                }
                if *has_null {
                    truth.may_be_unknown |= std::mem::take(&mut truth.may_be_false);
                }
                Ok(truth)
            }
            Test::StartsWith(prefix) => Ok(self.starts_with(prefix)),
            Test::Present(value) => Ok(Truth::always(*value)),
            Test::IsNull | Test::Unknown => Ok(Truth::ANY),
        }
    }

    /// Returns how the column's values may compare with each of `values`. A set bit in `absent` means that no row has
    /// the value.
    fn positions<'a>(
        &'a self,
        values: &'a ArrayRef,
        absent: Option<&'a BooleanBuffer>,
    ) -> Result<impl Iterator<Item = Position> + 'a> {
        let comparator = |bound: &'a Option<ValueBound>| -> Result<Option<_>> {
            let Some(ValueBound { value, inclusive }) = bound else {
                return Ok(None);
            };
            let compare = make_comparator(value, values, SortOptions::default())?;
            Ok(Some((compare, *inclusive)))
        };
        let (low, high) = (comparator(&self.low)?, comparator(&self.high)?);
        Ok((0..values.len()).map(move |i| {
            let mut position = Position {
                less: true,
                equal: true,
                greater: true,
            };
            // No number is a NaN, but NaNs lie on both sides of the numbers.
            if self.may_be_nan && is_nan(values, i) {
                return position;
            }
            position.equal = absent.is_none_or(|absent| !absent.value(i));
            if let Some((compare, inclusive)) = &low {
                let order = compare(0, i);
                position.less = self.may_be_nan || order == Ordering::Less;
                position.equal &= order == Ordering::Less || order == Ordering::Equal && *inclusive;
            }
            if let Some((compare, inclusive)) = &high {
                let order = compare(0, i);
                position.greater = self.may_be_nan || order == Ordering::Greater;
                position.equal &=
                    order == Ordering::Greater || order == Ordering::Equal && *inclusive;
            }
            position
        }))
    }

    fn starts_with(&self, prefix: &[u8]) -> Truth {
        let low = self.low.as_ref().and_then(|low| bytes_of(&low.value));
        let high = self.high.as_ref().and_then(|high| bytes_of(&high.value));
        let above = |low: &Vec<u8>| low.as_slice() > prefix && !low.starts_with(prefix);
        let below = |high: &Vec<u8>| high.as_slice() < prefix;
        // Every value between two values with the prefix has it as well.
        let has = |bound: &Option<Vec<u8>>| bound.as_ref().is_some_and(|b| b.starts_with(prefix));
        let may = !low.as_ref().is_some_and(above) && !high.as_ref().is_some_and(below);
        Truth::new(may, !(has(&low) && has(&high)), false)
    }
}

/// The possible orders of the values relative to another value.
#[derive(Debug, Clone, Copy)]
struct Position {
    less: bool,
    equal: bool,
    greater: bool,
}

impl Comparison {
    fn truth(self, position: Position) -> Truth {
        let Position {
            less,
            equal,
            greater,
        } = position;
        let (t, f) = match self {
            Self::Eq => (equal, less || greater),
            Self::NotEq => (less || greater, equal),
            Self::Lt => (less, equal || greater),
            Self::LtEq => (less || equal, greater),
            Self::Gt => (greater, less || equal),
            Self::GtEq => (greater || equal, less),
        };
        Truth::new(t, f, false)
    }
}

/// Whether value `i` of an array is a NaN.
pub(in crate::read) fn is_nan(values: &ArrayRef, i: usize) -> bool {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float16Type, Float32Type, Float64Type};
    use arrow_schema::DataType;
    match values.data_type() {
        DataType::Float16 => values.as_primitive::<Float16Type>().value(i).is_nan(),
        DataType::Float32 => values.as_primitive::<Float32Type>().value(i).is_nan(),
        DataType::Float64 => values.as_primitive::<Float64Type>().value(i).is_nan(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Array, Float64Array, Int32Array, StringArray, UInt64Array};
    use arrow_array::{BooleanArray, make_array};
    use std::sync::Arc;

    const COMPARISONS: [Comparison; 6] = [
        Comparison::Eq,
        Comparison::NotEq,
        Comparison::Lt,
        Comparison::LtEq,
        Comparison::Gt,
        Comparison::GtEq,
    ];

    fn one(array: &dyn Array, i: usize) -> ArrayRef {
        make_array(array.slice(i, 1).to_data())
    }

    /// Checks every test on every subset of some values: the facts of the subset must allow the test's result.
    fn check(values: &dyn Array, tests: &[Test], facts: impl Fn(&[usize]) -> Facts) {
        for set in 1u32..1 << values.len() {
            let chosen: Vec<usize> = (0..values.len()).filter(|i| set & 1 << i != 0).collect();
            let facts = facts(&chosen);
            let indices = UInt64Array::from_iter_values(chosen.iter().map(|&i| i as u64));
            let array = arrow_select::take::take(values, &indices, None).unwrap();
            for test in tests {
                let truths: BooleanArray = test.of(&array).unwrap();
                let (may, is) = (facts.truth(test, None).unwrap(), Truth::of(&truths));
                assert_eq!(may.either(is), may, "{test:?} of {array:?} with {facts:?}");
            }
        }
    }

    fn bound(values: &dyn Array, i: usize) -> Option<ValueBound> {
        Some(ValueBound {
            value: one(values, i),
            inclusive: true,
        })
    }

    #[test]
    fn ranges_allow_what_values_in_them_give_and_rule_out_the_rest() {
        let values = Int32Array::from(vec![-3, 0, 5, 9, 12]);
        let mut tests: Vec<Test> = Vec::new();
        for i in 0..values.len() {
            tests.extend(COMPARISONS.map(|c| Test::Compare(c, one(&values, i))));
        }
        for has_null in [false, true] {
            let values = Arc::new(Int32Array::from(vec![-3, 5]));
            tests.push(Test::among(values, has_null));
        }
        let facts = |chosen: &[usize]| Facts {
            may_be_null: false,
            low: bound(&values, chosen[0]),
            high: bound(&values, chosen[chosen.len() - 1]),
            may_be_nan: false,
            ..Facts::NONE
        };
        check(&values, &tests, facts);
        let facts = facts(&[1, 3]);
        let truth = |c, i| {
            facts
                .truth(&Test::Compare(c, one(&values, i)), None)
                .unwrap()
        };
        assert!(truth(Comparison::Eq, 0).is_none());
        assert!(truth(Comparison::Gt, 3).is_none());
        assert!(truth(Comparison::GtEq, 1).is_all());
        assert!(truth(Comparison::NotEq, 4).is_all());
        assert!(truth(Comparison::Eq, 2) == Truth::new(true, true, false));
    }

    #[test]
    fn nan_and_the_zeros_are_never_ruled_out() {
        let ordered = [f64::NEG_INFINITY, -0.0, 0.0, 1.5, f64::NAN, -f64::NAN];
        let values = Float64Array::from(ordered.to_vec());
        let mut tests: Vec<Test> = Vec::new();
        for i in 0..values.len() {
            tests.extend(COMPARISONS.map(|c| Test::Compare(c, one(&values, i))));
        }
        let facts = |chosen: &[usize]| {
            let numbers: Vec<usize> = chosen.iter().copied().filter(|&i| i < 4).collect();
            Facts {
                may_be_null: false,
                low: numbers.first().and_then(|&i| bound(&values, i)),
                high: numbers.last().and_then(|&i| bound(&values, i)),
                may_be_nan: true,
                ..Facts::NONE
            }
        };
        check(&values, &tests, facts);
        let facts = facts(&[1, 2, 4]);
        let above = Test::Compare(Comparison::Gt, one(&values, 3));
        assert!(
            facts.truth(&above, None).unwrap().may_be_true,
            "NaN is above"
        );
        let equal = Test::Compare(Comparison::Eq, one(&values, 3));
        assert!(facts.truth(&equal, None).unwrap().is_none());
    }

    #[test]
    fn prefixes_are_ranges() {
        let values = StringArray::from(vec!["", "a", "ab", "abc", "b", "ü"]);
        let prefixes = ["", "a", "ab", "abd", "c", "ü", "z"];
        let tests = prefixes.map(|prefix| Test::StartsWith(prefix.as_bytes().to_vec()));
        let facts = |chosen: &[usize]| Facts {
            may_be_null: false,
            low: bound(&values, chosen[0]),
            high: bound(&values, chosen[chosen.len() - 1]),
            may_be_nan: false,
            ..Facts::NONE
        };
        check(&values, &tests, facts);
        let truth = |chosen: &[usize], i: usize| facts(chosen).truth(&tests[i], None).unwrap();
        assert!(truth(&[4, 5], 1).is_none());
        assert!(truth(&[0, 1], 4).is_none());
        assert!(truth(&[2, 3], 1).is_all());
    }

    #[test]
    fn a_bound_that_was_cut_is_no_value() {
        let values = StringArray::from(vec!["b", "d"]);
        let exclusive = |i| {
            let bound = bound(&values, i);
            bound.map(|bound| ValueBound {
                inclusive: false,
                ..bound
            })
        };
        let facts = Facts {
            may_be_null: false,
            low: bound(&values, 0),
            high: exclusive(1),
            may_be_nan: false,
            ..Facts::NONE
        };
        let d = |c| {
            facts
                .truth(&Test::Compare(c, one(&values, 1)), None)
                .unwrap()
        };
        assert!(d(Comparison::Eq).is_none());
        assert!(d(Comparison::Lt).is_all());
        assert!(d(Comparison::GtEq).is_none());
    }

    #[test]
    fn absent_values_are_told_one_by_one() {
        let values = Int32Array::from(vec![1, 2, 3]);
        let in_list = |has_null| Test::among(Arc::new(values.clone()), has_null);
        let facts = Facts {
            may_be_null: false,
            low: bound(&values, 0),
            may_be_nan: false,
            ..Facts::NONE
        };
        let absent = |bits: [bool; 3]| BooleanBuffer::from_iter(bits);
        let truth = |test: &Test, bits| facts.truth(test, Some(&absent(bits))).unwrap();
        assert!(truth(&in_list(false), [true; 3]).is_none());
        let none_but_null = Truth::new(false, false, true);
        assert_eq!(truth(&in_list(true), [true; 3]), none_but_null);
        let some = Truth::new(true, true, false);
        assert_eq!(truth(&in_list(false), [true, false, true]), some);
        let equal = Test::Compare(Comparison::Eq, one(&values, 1));
        assert!(truth(&equal, [true, false, false]).is_none());
        let differs = Test::Compare(Comparison::NotEq, one(&values, 1));
        assert!(truth(&differs, [true, false, false]).is_all());
    }
}
