//! Bits on their way into blocks or a raw buffer: Boolean values, and presence.

use super::number::NumberEncoder;
use super::settings::{Settings, WINDOW};
use crate::buffer::FinishedBuffer;
use crate::encoding::NumberKind;
use crate::error::Result;
use crate::format::BufferKind;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use std::sync::Arc;

/// Presence that is to go into the blocks of the staged values.
#[derive(Debug, Default)]
pub(super) struct StagedPresence(Option<BooleanBufferBuilder>);

impl StagedPresence {
    /// Appends the presence of `len` values to those of `staged` earlier ones.
    pub(super) fn append(&mut self, staged: usize, len: usize, nulls: Option<&BooleanBuffer>) {
        if nulls.is_none() && self.0.is_none() {
            return;
        }
        let bits = self.0.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(WINDOW);
            bits.append_n(staged, true);
            bits
        });
        match nulls {
            Some(nulls) => bits.append_buffer(nulls),
            None => bits.append_n(len, true),
        }
    }

    /// Takes the presence of all staged values.
    pub(super) fn take(&mut self) -> Option<BooleanBuffer> {
        self.0.take().map(|mut bits| bits.finish())
    }
}

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
    let mut encoder = NumberEncoder::<u8>::new(NumberKind::Unsigned, settings, &Arc::default());
    encoder.push(&bytes, None)?;
    encoder.finish(buffer)
}
