//! Spec: Chapter 6; docs/format.md, "Two wires, one model".
//!
//! Common parts of the conversions between generated messages and the types of this crate.

use crate::error::{Error, Result, Within};
use crate::limits::{Limits, exceeded};

/// Context of a conversion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cx<'a> {
    pub(super) limits: &'a Limits,
    /// Levels of `AnyValue` that may still be nested.
    depth: u32,
}

impl<'a> Cx<'a> {
    pub(super) fn new(limits: &'a Limits) -> Self {
        Self {
            limits,
            depth: limits.max_value_depth(),
        }
    }

    pub(super) fn deeper(self) -> Result<Self> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Self { depth, ..self }),
            None => Err(exceeded(
                "max_value_depth",
                self.limits.max_value_depth().into(),
                "a value is nested more levels deep",
            )),
        }
    }
}

/// Conversion to the generated message `P`.
pub(super) trait ToWire<P> {
    fn to_wire(&self, cx: Cx<'_>) -> Result<P>;
}

/// Checked conversion from the generated message `P`.
pub(super) trait FromWire<P>: Sized {
    fn from_wire(message: P, cx: Cx<'_>) -> Result<Self>;
}

pub(super) fn to_option<T: ToWire<P>, P>(
    value: &Option<T>,
    cx: Cx<'_>,
    name: &str,
) -> Result<Option<P>> {
    let converted = value.as_ref().map(|v| v.to_wire(cx)).transpose();
    converted.within(|| name.to_owned())
}

pub(super) fn from_option<T: FromWire<P>, P>(
    message: Option<P>,
    cx: Cx<'_>,
    name: &str,
) -> Result<Option<T>> {
    let converted = message.map(|m| T::from_wire(m, cx)).transpose();
    converted.within(|| name.to_owned())
}

pub(super) fn to_list<T: ToWire<P>, P>(values: &[T], cx: Cx<'_>, name: &str) -> Result<Vec<P>> {
    let converted = values.iter().enumerate();
    converted
        .map(|(i, v)| v.to_wire(cx).within(|| format!("{name} {i}")))
        .collect()
}

pub(super) fn from_list<T: FromWire<P>, P>(
    messages: Vec<P>,
    cx: Cx<'_>,
    name: &str,
) -> Result<Vec<T>> {
    let converted = messages.into_iter().enumerate();
    converted
        .map(|(i, m)| T::from_wire(m, cx).within(|| format!("{name} {i}")))
        .collect()
}

/// Checks that a count of some positions or records does not exceed the count of all.
pub(super) fn part_of(name: &str, part: Option<u64>, whole: u64) -> Result<()> {
    match part {
        Some(part) if part > whole => Err(Error::corrupt(format!(
            "{name} is {part}, of {whole} in all"
        ))),
        _ => Ok(()),
    }
}
