//! Spec: Chapter 7, "SingleValue", of byte strings.
//!
//! ```text
//! u16 code = 7 | the value
//! ```

use super::stats::Stats;
use super::{BytesBuilder, Codec, Context, EncodingCode, Estimate, NullsOut, Request};
use crate::error::{Error, Result};

pub(super) struct SingleValue;

fn value<'a>(request: Request<'a>) -> Result<&'a [u8]> {
    let value = request.values.get(2..).unwrap_or_default();
    match request.fixed {
        Some(width) if width != value.len() => Err(Error::corrupt(format!(
            "expected a value of {width} bytes, found {}",
            value.len()
        ))),
        _ => Ok(value),
    }
}

impl Codec for SingleValue {
    fn select(
        request: Request<'_>,
        cx: &mut Context<'_>,
        out: &mut BytesBuilder,
        nulls: &mut NullsOut<'_>,
    ) -> Result<()> {
        out.push_repeated(value(request)?, request.count, |i| nulls.is_present(i), cx)
    }

    #[cfg(any(test, feature = "experimental"))]
    fn view(request: Request<'_>, _cx: &mut Context<'_>) -> Result<super::View> {
        Ok(super::View::Constant(value(request)?.to_vec()))
    }
}

pub(super) fn encode(value: &[u8], out: &mut Vec<u8>) {
    EncodingCode::SingleValue.begin(out);
    out.extend_from_slice(value);
}

pub(super) fn estimate(stats: &Stats) -> Option<Estimate> {
    stats.all_equal.then_some(Estimate {
        bytes: 2 + stats.max_length,
        decode_cost: 0.1,
    })
}
