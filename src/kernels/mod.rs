//! The hot loops, chosen by CPU at run time.
//!
//! Besides the memory map, this is the only module with `unsafe` code. Some functions need conditions that
//! the caller guarantees. They are needed for correct results, never for memory safety.

#![expect(unsafe_code, reason = "the room for it")]

#[cfg(target_arch = "x86_64")]
mod avx512;
mod bitpack;
mod bits;
mod bytes;
mod chunk;
mod cpu;
mod digit_words;
mod extremes;
mod fresh_memory;
mod fsst;
mod fsst_encoder;
mod fsst_training;
mod gather;
mod hash;
mod prefix_sum;
mod slots;
mod utf8;
mod views;
mod word;
mod words;

pub(crate) use bitpack::{BitPlace, chunk_bytes, pack, place_of, prefetch_at, unpack, unpack_at};
pub(crate) use bits::{bit_runs, deposit};
pub(crate) use bytes::{
    Offset, append_gathered, checked_offsets, is_ascending, make_views, rebase_offsets,
};
pub(crate) use chunk::CHUNK;
use cpu::dispatch;
pub(crate) use cpu::prefetch;
pub(crate) use digit_words::{
    DECIMAL_LIMIT, DigitWords, MAX_DECIMAL, MAX_HEX, SHORT_DECIMALS, decimal_digits, decimal_len,
    hex_digits, hex_len, short_decimal,
};
pub(crate) use extremes::{FloatCounts, float_counts, number_range};
pub(crate) use fsst::{MAX_SYMBOL, Symbols};
pub(crate) use fsst_encoder::{FsstEncoder, quarters};
pub(crate) use fsst_training::learn_symbols;
pub(crate) use gather::{gather_entries, gather_words};
pub(crate) use hash::hash_words;
pub(crate) use prefix_sum::prefix_sum;
pub(crate) use slots::{Growing, Slots};
pub(crate) use utf8::{utf8_array, utf8_view_array};
pub(crate) use views::{append_views, gather_views, views_of};
pub(crate) use word::Pools;
pub use word::{NumberKind, Word};
pub(crate) use word::{as_bytes, as_bytes_mut};
pub(crate) use words::{
    NEAR_INTEGERS, add, append_halves, bits_of_bytes, codes_below, count_runs, expand_runs,
    join_lefts, key_range, scaled_integers, sign_extend, step_range, un_zig_zag, within,
    within_wide,
};
