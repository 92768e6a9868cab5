//! Spec: Chapter 7, "FOR" and "ZigZag": what the encodings share that map each of their values.

use super::{Children, Codec, Context, Part, Request, View, Word};
use crate::error::Result;
use crate::kernels::Slots;
use std::marker::PhantomData;

/// An encoding that maps each value from a value of a nested region.
pub(super) trait MappedLayout {
    /// Name of the nested values.
    const NESTED: &'static str;

    /// The parameters of the map.
    type Map<W: Word>: Copy;

    /// Splits a region into the parameters of the map and the values to map.
    fn parse<W: Word>(request: Request<'_>) -> Result<(Self::Map<W>, Part<'_>)>;

    /// Maps nested values in place.
    fn map<W: Word>(values: &mut [W], map: Self::Map<W>);
}

/// The codec of a [`MappedLayout`].
pub(super) struct Mapped<L>(PhantomData<L>);

impl<L: MappedLayout> Codec for Mapped<L> {
    fn decode<W: Word>(
        request: Request<'_>,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let (map, nested) = L::parse(request)?;
        nested.fill(cx, dst)?;
        L::map(dst.values(), map);
        Ok(())
    }

    fn select<W: Word>(request: Request<'_>, cx: &mut Context<'_>, dst: &mut [W]) -> Result<()> {
        let (map, nested) = L::parse(request)?;
        nested.select(request.ranges, cx, dst)?;
        L::map(dst, map);
        Ok(())
    }

    fn view<W: Word>(request: Request<'_>, cx: &mut Context<'_>) -> Result<View<W>> {
        let (map, nested) = L::parse(request)?;
        Ok(nested.view(cx)?.map(|values| L::map(values, map)))
    }

    fn children<W: Word>(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        let (_, nested) = L::parse::<W>(request)?;
        nested.children::<W>(L::NESTED, cx)
    }
}
