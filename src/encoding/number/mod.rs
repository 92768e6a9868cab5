//! Spec: Chapter 7, encodings of numeric blocks. One file per encoding.
//!
//! Numbers are handled as their bits, [`Word`]s. A [`NumberKind`] determines which encodings are legal for
//! them. A new encoding needs a file with a `Codec`, a line in `with_codec`, and a variant
//! of [`Plan`].

mod alp;
mod alp_rd;
mod block_dictionary;
mod compressed;
mod delta;
mod exceptions;
mod ffor;
mod fl_bit_pack;
mod follow;
mod frame;
mod mapped;
mod packed;
mod patched_ffor;
mod pco;
mod plain;
mod plan;
mod run_length;
mod single_value;
mod sparse;
mod stats;
mod truncate;
mod zig_zag;

pub(super) use block_dictionary::UNUSED_ENTRIES;
pub use plan::Plan;
pub use stats::Stats;
pub(super) use stats::{ratio, scaled};

use super::{
    Context, EncodingCode, EncodingTree, Estimate, NumberKind, Scratch, Word, check_ranges,
};
use crate::Limits;
use crate::error::{Error, Result, Within};
use crate::kernels::Slots;
use std::ops::Range;

/// Structure of encoded values, found without decoding each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View<W> {
    /// All values are equal to this one.
    Constant(W),
    /// Run `i` has value `values[i]` and ends before position `ends[i]`. The last end is the
    /// number of values.
    Runs {
        /// One value per run.
        values: Vec<W>,
        /// One end per run, ascending.
        ends: Vec<u32>,
    },
    /// Value `i` is `dictionary[codes[i]]`. Every code has an entry; entries may be unused.
    Codes {
        /// One code per value.
        codes: Vec<u32>,
        /// The values.
        dictionary: Vec<W>,
    },
    /// No structure: the values have to be decoded.
    None,
}

impl<W> View<W> {
    /// Returns the same structure with mapped values.
    fn map(self, mut f: impl FnMut(W) -> W) -> Self {
        match self {
            Self::Constant(v) => Self::Constant(f(v)),
            Self::Runs { values, ends } => Self::Runs {
                values: values.into_iter().map(f).collect(),
                ends,
            },
            Self::Codes { codes, dictionary } => Self::Codes {
                codes,
                dictionary: dictionary.into_iter().map(f).collect(),
            },
            Self::None => Self::None,
        }
    }
}

type Children = Vec<(&'static str, EncodingTree)>;

/// The decoder of one encoding. `values` is always the whole region, starting with its code. The caller has checked
/// the code and that it is legal.
trait Codec {
    /// Decodes all `dst.len()` values of the region.
    fn decode<W: Word>(
        values: &[u8],
        kind: NumberKind,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()>;

    /// Decodes the values of checked `ranges` out of `n`. `dst` has their total length.
    fn select<W: Word>(
        values: &[u8],
        kind: NumberKind,
        n: usize,
        ranges: &[Range<usize>],
        cx: &mut Context<'_>,
        dst: &mut [W],
    ) -> Result<()> {
        cx.with_words(n, |cx, all: &mut [W]| {
            Self::decode(values, kind, cx, &mut Slots::from(&mut *all))?;
            copy_ranges(all, ranges, dst);
            Ok(())
        })
    }

    /// Returns the structure of the values.
    fn view<W: Word>(
        _values: &[u8],
        _kind: NumberKind,
        _n: usize,
        _cx: &mut Context<'_>,
    ) -> Result<View<W>> {
        Ok(View::None)
    }

    /// Describes the nested regions.
    fn children<W: Word>(
        _values: &[u8],
        _kind: NumberKind,
        _n: usize,
        _cx: &mut Context<'_>,
    ) -> Result<Children> {
        Ok(Vec::new())
    }
}

/// Evaluates `$call` with `$codec` as the codec of `$code`.
macro_rules! with_codec {
    ($code:expr, $codec:ident => $call:expr) => {{
        macro_rules! run {
            ($t:ty) => {{
                type $codec = $t;
                $call
            }};
        }
        match $code {
            EncodingCode::Plain => run!(plain::Plain),
            EncodingCode::FlBitPack => run!(packed::BitPacked<fl_bit_pack::FlBitPack>),
            EncodingCode::For => run!(mapped::Mapped<frame::For>),
            EncodingCode::Ffor => run!(packed::BitPacked<ffor::Ffor>),
            EncodingCode::Delta => run!(delta::Delta),
            EncodingCode::RunLength => run!(run_length::RunLength),
            EncodingCode::SingleValue => run!(single_value::SingleValue),
            EncodingCode::TruncateU8 => run!(truncate::Truncate<u8>),
            EncodingCode::TruncateU16 => run!(truncate::Truncate<u16>),
            EncodingCode::TruncateU32 => run!(truncate::Truncate<u32>),
            EncodingCode::TruncateU64 => run!(truncate::Truncate<u64>),
            EncodingCode::Alp => run!(alp::Alp),
            EncodingCode::AlpRd => run!(alp_rd::AlpRd),
            EncodingCode::BlockDictionary => run!(block_dictionary::BlockDictionary),
            EncodingCode::Zstd => run!(compressed::Zstd),
            EncodingCode::Lz4 => run!(compressed::Lz4),
            EncodingCode::ZigZag => run!(mapped::Mapped<zig_zag::ZigZag>),
            EncodingCode::Sparse => run!(sparse::Sparse),
            EncodingCode::PatchedFfor => run!(patched_ffor::PatchedFfor),
            EncodingCode::Pco => run!(pco::Pco),
            code @ (EncodingCode::Fsst
            | EncodingCode::FsstValues
            | EncodingCode::Split128
            | EncodingCode::Other(_)) => Err(code.unsupported()),
        }
    }};
}

/// Returns the encoding of a region, after checking that it is legal for such numbers.
fn code_of<W: Word>(values: &[u8], kind: NumberKind) -> Result<EncodingCode> {
    let code = EncodingCode::read(values)?;
    if matches!(code, EncodingCode::Other(_)) {
        return Err(code.unsupported());
    }
    if !code.suits_numbers(kind, W::BYTES) {
        return Err(Error::corrupt(format!(
            "{code} cannot encode {kind} numbers of {} bytes",
            W::BYTES
        )));
    }
    Ok(code)
}

/// Decodes all `dst.len()` values of a region.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if the region does not hold exactly that many values of
/// that type, [`Unsupported`](crate::ErrorKind::Unsupported) for an unknown encoding,
/// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for encodings that are nested too deep.
pub fn decode<W: Word>(
    values: &[u8],
    kind: NumberKind,
    cx: &mut Context<'_>,
    dst: &mut [W],
) -> Result<()> {
    fill(values, kind, cx, &mut dst.into())
}

/// Decodes all `dst.len()` values of a region to places that need not be zeroed.
///
/// # Errors
/// Returns the errors of [`decode`].
pub(crate) fn fill<W: Word>(
    values: &[u8],
    kind: NumberKind,
    cx: &mut Context<'_>,
    dst: &mut Slots<'_, W>,
) -> Result<()> {
    let code = code_of::<W>(values, kind)?;
    cx.deeper(|cx| with_codec!(code, C => C::decode(values, kind, cx, dst)))
        .within(|| code.to_string())
}

/// Decodes the values of ascending `ranges` out of the `n` of the region. Decodes few other values if
/// the encoding allows it. `dst` has the total length of the ranges.
///
/// # Errors
/// Returns the errors of [`decode`] for the decoded part, and
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for ranges that do not fit.
pub fn decode_selected<W: Word>(
    values: &[u8],
    kind: NumberKind,
    n: usize,
    ranges: &[Range<usize>],
    cx: &mut Context<'_>,
    dst: &mut [W],
) -> Result<()> {
    let count = check_ranges(ranges, n)?;
    if count != dst.len() {
        return Err(Error::invalid(format!(
            "ranges of {count} values are to be decoded into a slice of {}",
            dst.len()
        )));
    }
    if count == n {
        return decode(values, kind, cx, dst);
    }
    if count == 0 {
        return Ok(());
    }
    let code = code_of::<W>(values, kind)?;
    cx.deeper(|cx| with_codec!(code, C => C::select(values, kind, n, ranges, cx, dst)))
        .within(|| code.to_string())
}

#[cfg(any(test, feature = "experimental"))]
/// Decodes value `i` of the `n` values of the region.
///
/// # Errors
/// Returns the errors of [`decode_selected`].
pub fn get<W: Word>(
    values: &[u8],
    kind: NumberKind,
    n: usize,
    i: usize,
    cx: &mut Context<'_>,
) -> Result<W> {
    let range = i..i.saturating_add(1);
    let mut dst = [W::ZERO];
    decode_selected(values, kind, n, std::slice::from_ref(&range), cx, &mut dst)?;
    let [value] = dst;
    Ok(value)
}

/// Returns the structure of the `n` values of the region.
///
/// # Errors
/// Returns the errors of [`decode`].
pub fn view<W: Word>(
    values: &[u8],
    kind: NumberKind,
    n: usize,
    cx: &mut Context<'_>,
) -> Result<View<W>> {
    let code = code_of::<W>(values, kind)?;
    cx.deeper(|cx| with_codec!(code, C => C::view(values, kind, n, cx)))
        .within(|| code.to_string())
}

/// Returns the number of runs of equal values that the region declares, or `None` if its encoding does not
/// store runs, so that only decoding can find them.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if the metadata of the region is damaged.
pub fn run_count(values: &[u8], n: usize) -> Result<Option<usize>> {
    match EncodingCode::read(values)? {
        EncodingCode::SingleValue => Ok(Some(1)),
        EncodingCode::RunLength => run_length::count(values, n).map(Some),
        _ => Ok(None),
    }
}

/// Describes the encodings of a region of `n` numbers of `width` bytes, and their sizes.
///
/// # Errors
/// Returns the errors of [`decode`] that metadata show.
pub fn describe(values: &[u8], kind: NumberKind, n: usize, width: usize) -> Result<EncodingTree> {
    let (limits, mut scratch) = (Limits::default(), Scratch::default());
    let mut cx = Context::new(&limits, &mut scratch);
    match width {
        1 => tree::<u8>(values, kind, n, &mut cx),
        2 => tree::<u16>(values, kind, n, &mut cx),
        4 => tree::<u32>(values, kind, n, &mut cx),
        8 => tree::<u64>(values, kind, n, &mut cx),
        other => Err(Error::invalid(format!(
            "numbers have 1, 2, 4 or 8 bytes, not {other}"
        ))),
    }
}

/// Describes the encodings of a region of `n` words.
pub(super) fn tree<W: Word>(
    values: &[u8],
    kind: NumberKind,
    n: usize,
    cx: &mut Context<'_>,
) -> Result<EncodingTree> {
    let code = code_of::<W>(values, kind)?;
    let children = cx
        .deeper(|cx| with_codec!(code, C => C::children::<W>(values, kind, n, cx)))
        .within(|| code.to_string())?;
    Ok(EncodingTree {
        code,
        values: n,
        bytes: values.len(),
        children,
    })
}

/// Appends encoded values, with the encodings of `plan`. If the values violate the assumptions of the plan,
/// another encoding replaces it, so any plan encodes any values.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if a part exceeds 4 GiB.
pub fn encode<W: Word>(
    values: &[W],
    kind: NumberKind,
    plan: &Plan,
    out: &mut Vec<u8>,
) -> Result<()> {
    follow::encode(values, kind, plan, out)
}

/// Copies ranges of values, one after the other.
fn copy_ranges<W: Word>(all: &[W], ranges: &[Range<usize>], dst: &mut [W]) {
    let mut rest = dst;
    for range in ranges {
        let Some(src) = all.get(range.clone()) else {
            return;
        };
        let Some((now, later)) = std::mem::take(&mut rest).split_at_mut_checked(src.len()) else {
            return;
        };
        now.copy_from_slice(src);
        rest = later;
    }
}

/// Decodes a part that is either nested or raw words.
pub(super) fn decode_part<W: Word>(
    bytes: &[u8],
    nested: bool,
    kind: NumberKind,
    cx: &mut Context<'_>,
    dst: &mut [W],
) -> Result<()> {
    if nested {
        decode(bytes, kind, cx, dst)
    } else {
        super::fields::read_words(bytes, dst)
    }
}

/// Decodes a part, nested or raw words, to a new vector of `n` values. The caller has limited `n`.
fn part_to_vec<W: Word>(
    bytes: &[u8],
    nested: bool,
    kind: NumberKind,
    n: usize,
    cx: &mut Context<'_>,
) -> Result<Vec<W>> {
    cx.check_bytes(n.saturating_mul(W::BYTES) as u64)?;
    let mut values = vec![W::ZERO; n];
    decode_part(bytes, nested, kind, cx, &mut values)?;
    Ok(values)
}

/// Decodes ranges of a part that is either nested or raw words.
fn select_part<W: Word>(
    bytes: &[u8],
    nested: bool,
    kind: NumberKind,
    n: usize,
    ranges: &[Range<usize>],
    cx: &mut Context<'_>,
    dst: &mut [W],
) -> Result<()> {
    if nested {
        return decode_selected(bytes, kind, n, ranges, cx, dst);
    }
    super::fields::expect_words::<W>(bytes, n)?;
    plain::copy_raw(bytes, ranges, dst);
    Ok(())
}

/// Describes a part. A raw one has no encoding, so the result is empty.
pub(super) fn part_tree<W: Word>(
    name: &'static str,
    bytes: &[u8],
    nested: bool,
    kind: NumberKind,
    n: usize,
    cx: &mut Context<'_>,
) -> Result<Children> {
    if nested {
        Ok(vec![(name, tree::<W>(bytes, kind, n, cx)?)])
    } else {
        Ok(Vec::new())
    }
}
