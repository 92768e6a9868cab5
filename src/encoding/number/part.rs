//! Spec: Chapter 7, numbers inside of other regions: encoded as regions of their own, or raw.

use super::super::fields::write_words;
use super::{
    Children, Context, Estimate, NumberKind, Plan, Stats, View, Word, decode_selected, fill, plain,
    tree, view,
};
use crate::error::Result;
use crate::kernels::Slots;
use std::ops::Range;

/// Numbers that are a part of a region.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Part<'a> {
    pub(in super::super) bytes: &'a [u8],
    /// Whether the bytes are an encoded region. If not, they are raw words.
    nested: bool,
    pub(super) kind: NumberKind,
    /// Number of values.
    pub(super) n: usize,
}

impl<'a> Part<'a> {
    /// Returns a part that is either an encoded region or raw words.
    pub(in super::super) fn new(bytes: &'a [u8], nested: bool, kind: NumberKind, n: usize) -> Self {
        Self {
            bytes,
            nested,
            kind,
            n,
        }
    }

    /// Returns a part that is an encoded region.
    pub(in super::super) fn region(bytes: &'a [u8], kind: NumberKind, n: usize) -> Self {
        Self::new(bytes, true, kind, n)
    }

    /// Decodes all values. `dst` has a place for each.
    pub(in super::super) fn decode<W: Word>(
        self,
        cx: &mut Context<'_>,
        dst: &mut [W],
    ) -> Result<()> {
        self.fill(cx, &mut dst.into())
    }

    /// Decodes all values to places that need not be zeroed.
    pub(super) fn fill<W: Word>(self, cx: &mut Context<'_>, dst: &mut Slots<'_, W>) -> Result<()> {
        if self.nested {
            fill(self.bytes, self.kind, cx, dst)
        } else {
            plain::copy_all(self.bytes, dst)
        }
    }

    /// Decodes the values of ascending `ranges`. `dst` has their total length.
    pub(in super::super) fn select<W: Word>(
        self,
        ranges: &[Range<usize>],
        cx: &mut Context<'_>,
        dst: &mut [W],
    ) -> Result<()> {
        if self.nested {
            decode_selected(self.bytes, self.kind, self.n, ranges, cx, dst)
        } else {
            plain::copy_selected(self.bytes, self.n, ranges, dst)
        }
    }

    /// Runs `f` with all values.
    pub(in super::super) fn with_values<W: Word, T>(
        self,
        cx: &mut Context<'_>,
        f: impl FnOnce(&mut Context<'_>, &[W]) -> Result<T>,
    ) -> Result<T> {
        cx.with_words(self.n, |cx, values: &mut [W]| {
            self.decode(cx, values)?;
            f(cx, values)
        })
    }

    /// Returns the structure of the values. Raw words have none.
    pub(super) fn view<W: Word>(self, cx: &mut Context<'_>) -> Result<View<W>> {
        if self.nested {
            view(self.bytes, self.kind, self.n, cx)
        } else {
            Ok(View::None)
        }
    }

    /// Describes the part under this name. Raw words have no encoding, so the result is empty.
    pub(in super::super) fn children<W: Word>(
        self,
        name: &'static str,
        cx: &mut Context<'_>,
    ) -> Result<Children> {
        if self.nested {
            Ok(vec![(name, tree::<W>(self.bytes, self.kind, self.n, cx)?)])
        } else {
            Ok(Vec::new())
        }
    }
}

/// Appends numbers as a part of a region: encoded by the plan, or as raw words without one.
pub(in super::super) fn encode<W: Word>(
    values: &[W],
    kind: NumberKind,
    plan: Option<&Plan>,
    out: &mut Vec<u8>,
) -> Result<()> {
    match plan {
        Some(plan) => super::encode(values, kind, plan, out),
        None => {
            write_words(values, out);
            Ok(())
        }
    }
}

/// Estimates the size and the decoding cost of `n` numbers that are stored as a part of a region. Their statistics are
/// collected only if there is a plan.
pub(super) fn estimate<W: Word>(
    n: usize,
    plan: Option<&Plan>,
    stats: impl FnOnce() -> Stats<W>,
) -> Option<Estimate> {
    match plan {
        Some(plan) => plan.estimate(&stats()),
        None => Some(Estimate {
            bytes: n * W::BYTES,
            decode_cost: 0.05,
        }),
    }
}
