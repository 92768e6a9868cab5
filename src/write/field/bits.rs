//! Bits for blocks or a raw buffer: Boolean values and presence.

use super::number_blocks::NumberBlocks;
use super::numbers::plain_numbers;
use crate::buffer::FinishedBuffer;
use crate::encoding::NumberKind;
use crate::error::Result;
use crate::format::{BufferKind, WINDOW_ROWS};
use crate::write::choose::settings::Settings;
use arrow_buffer::BooleanBuffer;
use std::sync::Arc;

/// Encodes a bitmap: the values of a Boolean field, or presence.
pub(super) fn finish_bits(
    bits: &BooleanBuffer,
    settings: Settings,
    buffer: BufferKind,
) -> Result<Vec<FinishedBuffer>> {
    let mut bytes = bits.sliced().as_slice()[..bits.len().div_ceil(8)].to_vec();
    let spare = bytes.len() * 8 - bits.len();
    if let Some(last) = bytes.last_mut() {
        *last &= 0xff >> spare;
    }
    let settings = of_bits(settings);
    let mut encoder = plain_numbers::<u8>(NumberKind::Unsigned, settings, &Arc::default());
    encoder.push(&bytes, None)?;
    Ok(encoder.finish(buffer)?.buffers)
}

/// Returns the settings for a buffer of bits: its blocks count bytes, and must end at every window of positions.
fn of_bits(settings: Settings) -> Settings {
    let most = settings.block_values.min(WINDOW_ROWS / 8);
    Settings {
        embedded_presence: false,
        block_values: 1 << most.ilog2(),
        ..settings
    }
}

/// Bits per window.
pub(crate) const WINDOW_BITS: u64 = WINDOW_ROWS as u64;

/// A part of a long bitmap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BitPiece {
    /// A bit and its number of repetitions: a multiple of [`WINDOW_BITS`], unless it is the last piece.
    Alike(bool, u64),
    /// The bits of a window, 8 per byte, lowest bit first. Bits past the end of the bitmap are 0.
    Window(Vec<u8>),
}

/// Encodes a bitmap in time and space that depend on its changes rather than its length: equal bytes share blocks of up
/// to 65,536 bytes.
pub(in crate::write) fn finish_pieces(
    pieces: impl Iterator<Item = BitPiece>,
    settings: Settings,
    buffer: BufferKind,
) -> Result<FinishedBuffer> {
    let mut blocks =
        NumberBlocks::<u8>::new(NumberKind::Unsigned, of_bits(settings), Arc::default());
    // The current run of equal bytes, not in a block yet.
    let (mut byte, mut count) = (0u8, 0u64);
    // The bytes after that run, at most a window: an encoding is chosen for all of its blocks, because the choice takes
    // longer than the encoding.
    let mut staged = Vec::new();
    for piece in pieces {
        if staged.len() + WINDOW_ROWS / 8 > WINDOW_ROWS || matches!(piece, BitPiece::Alike(..)) {
            encode_bytes(&mut blocks, &mut staged)?;
        }
        match piece {
            BitPiece::Alike(bit, bits) => {
                let next = if bit { u8::MAX } else { 0 };
                if next != byte {
                    blocks.encode_alike(byte, count)?;
                    (byte, count) = (next, 0);
                }
                count += bits / 8;
                let spare = bits % 8;
                if spare > 0 {
                    blocks.encode_alike(byte, std::mem::take(&mut count))?;
                    blocks.encode_window(&[byte & !(u8::MAX << spare)], |_| true)?;
                }
            }
            BitPiece::Window(bytes) => {
                blocks.encode_alike(byte, std::mem::take(&mut count))?;
                staged.extend(bytes);
            }
        }
    }
    blocks.encode_alike(byte, count)?;
    encode_bytes(&mut blocks, &mut staged)?;
    blocks.finish(buffer)
}

/// Encodes the staged bytes, and clears them.
fn encode_bytes(blocks: &mut NumberBlocks<u8>, staged: &mut Vec<u8>) -> Result<()> {
    if !staged.is_empty() {
        blocks.encode_window(staged, |_| true)?;
        staged.clear();
    }
    Ok(())
}
