//! Bits on their way into blocks or a raw buffer: Boolean values, and presence.

use super::plain_numbers::PlainNumbers;
use super::settings::{Settings, WINDOW};
use crate::buffer::FinishedBuffer;
use crate::encoding::NumberKind;
use crate::error::Result;
use crate::format::BufferKind;
use arrow_buffer::BooleanBuffer;
use std::sync::Arc;

/// Encodes a bitmap: the values of a Boolean field, or presence.
pub(super) fn finish_bits(
    bits: &BooleanBuffer,
    settings: Settings,
    buffer: BufferKind,
) -> Result<FinishedBuffer> {
    let mut bytes = bits.sliced().as_slice()[..bits.len().div_ceil(8)].to_vec();
    let spare = bytes.len() * 8 - bits.len();
    if let Some(last) = bytes.last_mut() {
        *last &= 0xff >> spare;
    }
    // Blocks of bits count bytes, and have to end at every window of positions.
    let most = settings.block_values.min(WINDOW / 8);
    let settings = Settings {
        embedded_presence: false,
        block_values: 1 << most.ilog2(),
        ..settings
    };
    let mut encoder = PlainNumbers::<u8>::new(NumberKind::Unsigned, settings, &Arc::default());
    encoder.push(&bytes, None)?;
    encoder.finish(buffer)
}
