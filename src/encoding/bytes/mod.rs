//! Spec: Chapter 7, encodings of byte strings. One file per encoding.
//!
//! Values are of variable size (string, binary) or of a fixed one (fixed-size binary, GUID, decimal). A new
//! encoding needs a file with a `Codec`, a line in `with_codec`, and a variant
//! of [`Plan`].

mod append;
mod block_dictionary;
mod builder;
mod compressed;
mod delimited;
mod digit_field;
mod digit_lesson;
mod digit_pattern;
mod digit_reader;
mod digit_template;
mod digit_time;
mod digits;
mod fsst;
mod fsst_values;
mod input;
mod non_empty;
mod nulls;
mod plain;
mod plan;
mod single_value;
mod spans;
mod split128;
mod stats;

pub use builder::{BytesBuilder, BytesLayout, Decoded};
pub use delimited::{decode_delimited, describe_delimited};
pub use fsst::Learned;
pub use input::Input;
pub use non_empty::{PLACE, Texts};
pub use nulls::NullsOut;
pub use plan::{Plan, try_digits};
pub use split128::Halves;
pub use stats::Stats;

use super::{
    Children, Context, EncodingCode, EncodingTree, Estimate, Scratch, check_ranges, number,
};
use crate::Limits;
use crate::error::{Error, Result, Within};
use std::ops::Range;

/// Rough time to check a value and to place it among the others, with any encoding, in nanoseconds.
/// Entries of value dictionaries were checked before.
const PLACING: f32 = 2.3;

#[cfg(any(test, feature = "experimental"))]
/// Structure of encoded values, found without decoding each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// All present values are equal to this one.
    Constant(Vec<u8>),
    /// Code 0 is null, and code k is entry k - 1. Every code has an entry.
    Codes {
        /// One code per value.
        codes: Vec<u32>,
        /// The distinct values. Some may be unused.
        entries: Entries,
    },
    /// No structure: the values have to be decoded.
    None,
}

#[cfg(any(test, feature = "experimental"))]
/// The distinct values of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entries {
    /// Offsets of the entries, one more than entries. They ascend from 0.
    pub offsets: Vec<u64>,
    /// The bytes of the entries, one after the other.
    pub values: Vec<u8>,
}

#[cfg(any(test, feature = "experimental"))]
impl Entries {
    #[cfg(feature = "experimental")]
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    #[cfg(feature = "experimental")]
    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns entry `i`.
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        let start = usize::try_from(*self.offsets.get(i)?).ok()?;
        let end = usize::try_from(*self.offsets.get(i.checked_add(1)?)?).ok()?;
        self.values.get(start..end)
    }
}

/// A region and the ranges of values to decode.
#[derive(Clone, Copy)]
struct Request<'a> {
    /// The whole region, starting with its code. The caller has checked the code and that it is legal.
    values: &'a [u8],
    /// Number of values.
    n: usize,
    /// Size of each value, if it is fixed.
    fixed: Option<usize>,
    /// Ascending ranges within `n`.
    ranges: &'a [Range<usize>],
    /// Total length of the ranges.
    count: usize,
}

impl<'a> Request<'a> {
    fn new(values: &'a [u8], n: usize, fixed: Option<usize>, ranges: &'a [Range<usize>]) -> Self {
        Self {
            values,
            n,
            fixed,
            ranges,
            count: ranges.iter().map(Range::len).sum(),
        }
    }
}

/// The decoder of one encoding.
trait Codec {
    /// Appends the values of the ranges.
    fn select(
        request: Request<'_>,
        cx: &mut Context<'_>,
        out: &mut BytesBuilder,
        nulls: &mut NullsOut<'_>,
    ) -> Result<()>;

    #[cfg(any(test, feature = "experimental"))]
    /// Returns the structure of the values. The only range of the request contains them all.
    fn view(_request: Request<'_>, _cx: &mut Context<'_>) -> Result<View> {
        Ok(View::None)
    }

    /// Describes the nested regions. The ranges of the request do not matter.
    fn children(_request: Request<'_>, _cx: &mut Context<'_>) -> Result<Children> {
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
            EncodingCode::SingleValue => run!(single_value::SingleValue),
            EncodingCode::BlockDictionary => run!(block_dictionary::BlockDictionary),
            EncodingCode::Fsst => run!(fsst::Fsst),
            EncodingCode::FsstValues => run!(fsst_values::FsstValues),
            EncodingCode::Zstd | EncodingCode::Lz4 => run!(compressed::Compressed),
            EncodingCode::Split128 => run!(split128::Split128),
            EncodingCode::Digits => run!(digits::Digits),
            EncodingCode::NonEmpty => run!(non_empty::NonEmpty),
            code => Err(code.unsupported()),
        }
    }};
}

/// Returns the encoding of a region, after checking that it is legal for byte strings of that size.
fn code_of(values: &[u8], fixed: Option<usize>) -> Result<EncodingCode> {
    let code = EncodingCode::read(values)?;
    if matches!(code, EncodingCode::Other(_)) {
        return Err(code.unsupported());
    }
    if !code.suits_bytes(fixed) {
        let size = fixed.map_or("any size".to_owned(), |width| format!("{width} bytes each"));
        return Err(Error::corrupt(format!(
            "{code} cannot encode byte strings of {size}"
        )));
    }
    Ok(code)
}

/// Appends all `n` values of a region to `out`. `fixed` is the size of each, if it is fixed.
///
/// `nulls` holds the `n` presence bits of the block, which were decoded before. Positions that the values
/// themselves mark as null (code 0 of a dictionary) are cleared in it.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if the region does not hold exactly `n` values,
/// [`Unsupported`](crate::ErrorKind::Unsupported) for an unknown encoding,
/// [`OffsetOverflow`](crate::ErrorKind::OffsetOverflow) if the layout cannot hold all bytes,
/// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for the limits of `cx`. After an overflow, `out` is
/// unchanged. After other errors, the caller must discard `out` and `nulls`.
pub fn decode(
    values: &[u8],
    n: usize,
    fixed: Option<usize>,
    cx: &mut Context<'_>,
    out: &mut BytesBuilder,
    nulls: &mut NullsOut<'_>,
) -> Result<()> {
    let whole = 0..n;
    decode_selected(
        values,
        n,
        fixed,
        std::slice::from_ref(&whole),
        cx,
        out,
        nulls,
    )
}

/// Appends ascending `ranges` of the `n` values of a region to `out`. `fixed` is the size of each, if it is fixed.
/// `nulls` holds the presence bits of the ranges, as for [`decode`].
///
/// # Errors
/// Returns the errors of [`decode`], and [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for
/// ranges or presence bits that do not fit.
pub fn decode_selected(
    values: &[u8],
    n: usize,
    fixed: Option<usize>,
    ranges: &[Range<usize>],
    cx: &mut Context<'_>,
    out: &mut BytesBuilder,
    nulls: &mut NullsOut<'_>,
) -> Result<()> {
    let count = check_ranges(ranges, n)?;
    if nulls.len() != count {
        return Err(Error::invalid(format!(
            "expected {count} presence bits, found {}",
            nulls.len()
        )));
    }
    out.check_fixed(fixed)?;
    if count == 0 {
        return Ok(());
    }
    let code = code_of(values, fixed)?;
    let request = Request::new(values, n, fixed, ranges);
    cx.deeper(|cx| with_codec!(code, C => C::select(request, cx, out, nulls)))
        .within(|| code.to_string())
}

#[cfg(any(test, feature = "experimental"))]
/// Decodes value `i` of the `n` values of the region. Returns `None` if the values mark it as null. The
/// presence section is not considered.
///
/// # Errors
/// Returns the errors of [`decode_selected`].
pub fn get(
    values: &[u8],
    n: usize,
    fixed: Option<usize>,
    i: usize,
    cx: &mut Context<'_>,
) -> Result<Option<Vec<u8>>> {
    let mut bits = arrow_buffer::BooleanBufferBuilder::new(1);
    bits.append(true);
    let mut nulls = NullsOut::new(&mut bits, 0);
    let mut out = BytesBuilder::new(fixed.map_or(BytesLayout::Offsets64, BytesLayout::Fixed), 1);
    let range = i..i.saturating_add(1);
    decode_selected(
        values,
        n,
        fixed,
        std::slice::from_ref(&range),
        cx,
        &mut out,
        &mut nulls,
    )?;
    let present = nulls.cleared() == 0;
    Ok(present.then(|| match out.finish() {
        Decoded::Fixed(bytes) | Decoded::Offsets64(_, bytes) | Decoded::Offsets32(_, bytes) => {
            bytes.to_vec()
        }
        Decoded::Views(..) => Vec::new(),
    }))
}

#[cfg(any(test, feature = "experimental"))]
/// Returns the structure of the `n` values of the region.
///
/// # Errors
/// Returns the errors of [`decode`].
pub fn view(values: &[u8], n: usize, fixed: Option<usize>, cx: &mut Context<'_>) -> Result<View> {
    let code = code_of(values, fixed)?;
    let whole = 0..n;
    let request = Request::new(values, n, fixed, std::slice::from_ref(&whole));
    cx.deeper(|cx| with_codec!(code, C => C::view(request, cx)))
        .within(|| code.to_string())
}

/// Describes the encodings of a region of `n` values, and their sizes.
///
/// # Errors
/// Returns the errors of [`decode`] that metadata show.
pub fn describe(values: &[u8], n: usize, fixed: Option<usize>) -> Result<EncodingTree> {
    let (limits, mut scratch) = (Limits::default(), Scratch::default());
    tree(values, n, fixed, &mut Context::new(&limits, &mut scratch))
}

/// Describes the encodings of a region within another one.
fn tree(
    values: &[u8],
    n: usize,
    fixed: Option<usize>,
    cx: &mut Context<'_>,
) -> Result<EncodingTree> {
    let code = code_of(values, fixed)?;
    let request = Request::new(values, n, fixed, &[]);
    let children = cx
        .deeper(|cx| with_codec!(code, C => C::children(request, cx)))
        .within(|| code.to_string())?;
    Ok(EncodingTree {
        code,
        values: n,
        bytes: values.len(),
        children,
    })
}

/// Appends encoded values, with the encodings of `plan`. If the values violate the assumptions of the plan,
/// another encoding replaces it, so any plan encodes any values. Bytes at null positions are not
/// written.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the parts of `input` contradict each
/// other, or a part exceeds 4 GiB.
pub fn encode(input: &Input<'_>, plan: &Plan, out: &mut Vec<u8>) -> Result<()> {
    plan::encode(input, plan, out)
}
