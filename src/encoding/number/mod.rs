//! Spec: Chapter 7, encodings of numeric blocks. One file per encoding.
//!
//! Numbers are handled as their bits, [`Word`]s. A [`NumberKind`] determines which encodings are legal for
//! them. A new encoding needs a file with a `Codec`, a line in `with_codec`, and a variant
//! of [`Plan`]. A `Part` holds the numbers that an encoding nests.

mod alp;
mod alp_rd;
mod block_dictionary;
mod compact_ffor;
mod compressed;
mod delta;
mod exceptions;
mod ffor;
mod fl_bit_pack;
mod follow;
mod frame;
mod mapped;
mod multiples;
mod packed;
mod part;
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
pub(super) use exceptions::for_selected;
pub(super) use part::{Part, encode as encode_part};
pub use plan::Plan;
pub use stats::Stats;
pub(super) use stats::{ratio, scaled};

use super::{
    Children, Context, EncodingCode, EncodingTree, Estimate, NumberKind, Scratch, Word,
    check_ranges,
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
    /// Returns the same structure with values that `f` maps in place.
    fn map(mut self, f: impl FnOnce(&mut [W])) -> Self {
        match &mut self {
            Self::Constant(value) => f(std::slice::from_mut(value)),
            Self::Runs { values, .. } => f(values),
            Self::Codes { dictionary, .. } => f(dictionary),
            Self::None => {}
        }
        self
    }
}

/// A region and the ranges of values to decode.
#[derive(Clone, Copy)]
struct Request<'a> {
    /// The whole region, starting with its code. The caller has checked the code and that it is legal.
    values: &'a [u8],
    kind: NumberKind,
    /// Number of values.
    n: usize,
    /// Ascending ranges within `n`.
    ranges: &'a [Range<usize>],
}

impl<'a> Request<'a> {
    fn new(values: &'a [u8], kind: NumberKind, n: usize, ranges: &'a [Range<usize>]) -> Self {
        Self {
            values,
            kind,
            n,
            ranges,
        }
    }
}

/// The decoder of one encoding.
trait Codec {
    /// Decodes all values. `dst` has a place for each, and a single range of the request contains them all.
    fn decode<W: Word>(
        request: Request<'_>,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()>;

    /// Decodes the values of the ranges. `dst` has their total length.
    fn select<W: Word>(request: Request<'_>, cx: &mut Context<'_>, dst: &mut [W]) -> Result<()> {
        cx.with_words(request.n, |cx, all: &mut [W]| {
            let whole = 0..request.n;
            let ranges = std::slice::from_ref(&whole);
            Self::decode(
                Request { ranges, ..request },
                cx,
                &mut Slots::from(&mut *all),
            )?;
            copy_ranges(all, request.ranges, dst);
            Ok(())
        })
    }

    /// Returns the structure of the values. The ranges of the request do not matter.
    fn view<W: Word>(_request: Request<'_>, _cx: &mut Context<'_>) -> Result<View<W>> {
        Ok(View::None)
    }

    /// Describes the nested regions. The ranges of the request do not matter.
    fn children<W: Word>(_request: Request<'_>, _cx: &mut Context<'_>) -> Result<Children> {
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
            EncodingCode::Zstd | EncodingCode::Lz4 => run!(compressed::Compressed),
            EncodingCode::ZigZag => run!(mapped::Mapped<zig_zag::ZigZag>),
            EncodingCode::Sparse => run!(sparse::Sparse),
            EncodingCode::PatchedFfor => run!(patched_ffor::PatchedFfor),
            EncodingCode::Pco => run!(pco::Pco),
            EncodingCode::CompactFfor => run!(compact_ffor::CompactFfor),
            EncodingCode::Multiples => run!(mapped::Mapped<multiples::Multiples>),
            code @ (EncodingCode::Fsst
            | EncodingCode::FsstValues
            | EncodingCode::Split128
            | EncodingCode::Digits
            | EncodingCode::NonEmpty
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
/// [`Corrupt`](crate::ErrorKind::Corrupt) if the region does not hold exactly `dst.len()` values of
/// type `kind`, [`Unsupported`](crate::ErrorKind::Unsupported) for an unknown encoding,
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
    let whole = 0..dst.len();
    let request = Request::new(values, kind, dst.len(), std::slice::from_ref(&whole));
    cx.deeper(|cx| with_codec!(code, C => C::decode(request, cx, dst)))
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
    let request = Request::new(values, kind, n, ranges);
    cx.deeper(|cx| with_codec!(code, C => C::select(request, cx, dst)))
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
    let request = Request::new(values, kind, n, &[]);
    cx.deeper(|cx| with_codec!(code, C => C::view(request, cx)))
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

/// Decodes a region of `n` words. Returns their little-endian bytes.
///
/// # Errors
/// Returns the errors of [`decode`].
pub(crate) fn decode_bytes<W: Word>(
    values: &[u8],
    kind: NumberKind,
    cx: &mut Context<'_>,
    n: usize,
) -> Result<Vec<u8>> {
    let mut words = vec![W::ZERO; n];
    decode(values, kind, cx, &mut words)?;
    let mut bytes = Vec::with_capacity(n * W::BYTES);
    for word in words {
        bytes.extend_from_slice(word.to_le().as_ref());
    }
    Ok(bytes)
}

/// Describes the encodings of a region of `n` words.
fn tree<W: Word>(
    values: &[u8],
    kind: NumberKind,
    n: usize,
    cx: &mut Context<'_>,
) -> Result<EncodingTree> {
    let code = code_of::<W>(values, kind)?;
    let request = Request::new(values, kind, n, &[]);
    let children = cx
        .deeper(|cx| with_codec!(code, C => C::children::<W>(request, cx)))
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
