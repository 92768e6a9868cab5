//! Spec: Chapter 7, "FOR" and "ZigZag": what the encodings share that map each of their values.

use super::{Children, Codec, Context, NumberKind, View, Word};
use crate::error::Result;
use crate::kernels::Slots;
use std::marker::PhantomData;
use std::ops::Range;

/// An encoding that maps each value from an unsigned value of a nested region.
pub(super) trait Layout {
    /// Name of the nested values.
    const NESTED: &'static str;

    /// Splits a region into its parts.
    fn parse<W: Word>(values: &[u8]) -> Result<Parts<'_, W>>;

    /// Maps nested values in place.
    fn map<W: Word>(values: &mut [W], reference: W);
}

/// Parts of a region.
pub(super) struct Parts<'a, W> {
    /// Parameter of the map.
    pub(super) reference: W,
    /// Whether the nested values are encoded. If not, they are raw words.
    pub(super) nested: bool,
    pub(super) payload: &'a [u8],
}

/// The codec of a [`Layout`].
pub(super) struct Mapped<L>(PhantomData<L>);

impl<L: Layout> Codec for Mapped<L> {
    fn decode<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let parts = L::parse(values)?;
        if parts.nested {
            super::fill(parts.payload, NumberKind::Unsigned, cx, dst)?
        } else {
            super::super::fields::read_words(parts.payload, dst.values())?
        }
        L::map(dst.values(), parts.reference);
        Ok(())
    }

    fn select<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        n: usize,
        ranges: &[Range<usize>],
        cx: &mut Context<'_>,
        dst: &mut [W],
    ) -> Result<()> {
        let parts = L::parse(values)?;
        let (payload, nested, kind) = (parts.payload, parts.nested, NumberKind::Unsigned);
        super::select_part(payload, nested, kind, n, ranges, cx, dst)?;
        L::map(dst, parts.reference);
        Ok(())
    }

    fn view<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        n: usize,
        cx: &mut Context<'_>,
    ) -> Result<View<W>> {
        let parts = L::parse(values)?;
        if !parts.nested {
            return Ok(View::None);
        }
        let view = super::view::<W>(parts.payload, NumberKind::Unsigned, n, cx)?;
        Ok(view.map(|v| {
            let mut one = [v];
            L::map(&mut one, parts.reference);
            let [v] = one;
            v
        }))
    }

    fn children<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        n: usize,
        cx: &mut Context<'_>,
    ) -> Result<Children> {
        let parts = L::parse::<W>(values)?;
        let (payload, nested) = (parts.payload, parts.nested);
        super::part_tree::<W>(L::NESTED, payload, nested, NumberKind::Unsigned, n, cx)
    }
}
