//! Spec: Chapter 7, "General-purpose encodings": the compressed bytes of ZSTD and LZ4 blocks.
//!
//! LZ4: the uncompressed size as u32, then one raw LZ4 block. Zstandard: frames, without a size.

use super::code::EncodingCode;
use super::context::Context;
#[cfg(feature = "zstd")]
use super::dictionaries::ZstdDictionary;
use super::fields::{size32, split_at};
use super::trained_dictionary::Trained;
use crate::error::{Error, Result};
use arrow_buffer::MutableBuffer;

/// A general-purpose compressor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// Zstandard with this level, 0 for the default of the library. Decoding ignores the level.
    Zstd { level: i32 },
    /// LZ4 block format.
    Lz4,
}

impl Method {
    /// Returns the method of a compressed region, from its code.
    pub(super) fn of_region(values: &[u8]) -> Result<Self> {
        match EncodingCode::read(values)? {
            EncodingCode::Zstd => Ok(Self::Zstd { level: 0 }),
            EncodingCode::Lz4 => Ok(Self::Lz4),
            other => Err(other.unsupported()),
        }
    }

    /// Returns the code of regions that are compressed with this method.
    pub(super) fn code(self) -> EncodingCode {
        match self {
            Self::Zstd { .. } => EncodingCode::Zstd,
            Self::Lz4 => EncodingCode::Lz4,
        }
    }

    /// Returns the method if this build supports it, else LZ4.
    pub(super) fn available(self) -> Self {
        if cfg!(feature = "zstd") {
            self
        } else {
            Self::Lz4
        }
    }

    /// Returns the rough time to decompress a byte of numbers, in nanoseconds per decompressed byte.
    pub(super) fn cost_per_byte(self) -> f32 {
        match self {
            Self::Zstd { .. } => 1.0,
            Self::Lz4 => 0.4,
        }
    }

    /// Returns the rough time to decompress text, in nanoseconds per compressed byte. For text, the time
    /// depends on the bytes that are read rather than on those that are written.
    pub(super) fn cost_per_compressed_byte(self) -> f32 {
        match self {
            Self::Zstd { .. } => 2.6,
            Self::Lz4 => 0.7,
        }
    }
}

/// Most bytes that a byte of LZ4 can decompress to.
const LZ4_MAX_RATIO: usize = 255;

fn wrong_size(expected: usize, found: usize) -> Error {
    Error::corrupt(format!(
        "expected {expected} decompressed bytes, found {found}"
    ))
}

/// Returns the raw LZ4 block, after checking that it claims `len` bytes and that it can hold them.
fn lz4_block(src: &[u8], len: usize) -> Result<&[u8]> {
    let (size, block) = split_at(src, 4, "LZ4 size")?;
    let claimed = size
        .first_chunk::<4>()
        .map_or(0, |size| u32::from_le_bytes(*size)) as usize;
    if claimed != len {
        return Err(wrong_size(len, claimed));
    }
    if len > block.len().saturating_mul(LZ4_MAX_RATIO) {
        return Err(Error::corrupt(format!(
            "{} bytes of LZ4 cannot hold {len} bytes",
            block.len()
        )));
    }
    Ok(block)
}

fn un_lz4(src: &[u8], dst: &mut [u8]) -> Result<()> {
    let block = lz4_block(src, dst.len())?;
    let size = lz4_flex::block::decompress_into(block, dst)
        .map_err(|e| Error::corrupt(format!("LZ4 data is malformed: {e}")))?;
    if size == dst.len() {
        Ok(())
    } else {
        Err(wrong_size(dst.len(), size))
    }
}

#[cfg(feature = "zstd")]
fn malformed_zstd(e: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("Zstandard data is malformed: {e}"))
}

/// Returns the dictionary that a frame refers to, if any.
#[cfg(feature = "zstd")]
fn named_dictionary<'a>(src: &[u8], cx: &Context<'a>) -> Result<Option<&'a ZstdDictionary>> {
    let dictionaries = cx.dictionaries;
    zstd::zstd_safe::get_dict_id_from_frame(src)
        .map(|id| dictionaries.zstd(id.get()))
        .transpose()
}

/// Decompresses `src`, which must decompress to exactly `dst.len()` bytes.
pub(super) fn decompress(
    method: Method,
    src: &[u8],
    cx: &mut Context<'_>,
    dst: &mut [u8],
) -> Result<()> {
    match method {
        Method::Lz4 => un_lz4(src, dst),
        #[cfg(feature = "zstd")]
        Method::Zstd { .. } => {
            let dictionary = named_dictionary(src, cx)?;
            let zstd = cx.zstd();
            let size = match dictionary {
                None => zstd.decompress(dst, src),
                Some(dictionary) => zstd.decompress_using_ddict(dst, src, &dictionary.prepared),
            };
            let size =
                size.map_err(|code| malformed_zstd(zstd::zstd_safe::get_error_name(code)))?;
            if size == dst.len() {
                Ok(())
            } else {
                Err(wrong_size(dst.len(), size))
            }
        }
        #[cfg(not(feature = "zstd"))]
        Method::Zstd { .. } => {
            let _ = (src, cx, dst);
            Err(Error::unsupported(
                "Zstandard blocks need the feature \"zstd\" of this build",
            ))
        }
    }
}

/// Appends the `len` bytes that `src` must decompress to. If `len` is implausibly large for the compressed
/// bytes, memory is allocated step by step, as decompressed bytes fill it.
pub(super) fn decompress_append(
    method: Method,
    src: &[u8],
    len: usize,
    cx: &mut Context<'_>,
    out: &mut MutableBuffer,
) -> Result<()> {
    cx.check_bytes(len as u64)?;
    let start = out.len();
    match method {
        Method::Lz4 => {
            lz4_block(src, len)?;
        }
        #[cfg(feature = "zstd")]
        Method::Zstd { .. } if len > src.len().saturating_mul(EAGER_RATIO).max(EAGER_BYTES) => {
            return un_zstd_in_steps(src, len, cx, out);
        }
        Method::Zstd { .. } => {}
    }
    out.resize(start + len, 0);
    let dst = out.as_slice_mut().get_mut(start..).unwrap_or_default();
    decompress(method, src, cx, dst)
}

/// Largest ratio to the compressed bytes that is allocated at once.
#[cfg(feature = "zstd")]
const EAGER_RATIO: usize = 64;
/// Number of bytes that is allocated at once whatever the ratio.
#[cfg(feature = "zstd")]
const EAGER_BYTES: usize = 1 << 20;

/// Decompresses when `len` is implausibly large for the size of `src`: each allocation must be filled before the
/// next one.
#[cfg(feature = "zstd")]
fn un_zstd_in_steps(
    src: &[u8],
    len: usize,
    cx: &Context<'_>,
    out: &mut MutableBuffer,
) -> Result<()> {
    use std::io::Read;
    use zstd::stream::read::Decoder;
    let decoder = match named_dictionary(src, cx)? {
        None => Decoder::with_buffer(src),
        Some(dictionary) => Decoder::with_dictionary(src, &dictionary.payload),
    };
    let mut decoder = decoder.map_err(malformed_zstd)?;
    let mut done = 0;
    while done < len {
        let step = EAGER_BYTES.max(done).min(len - done);
        let start = out.len();
        out.resize(start + step, 0);
        let dst = out.as_slice_mut().get_mut(start..).unwrap_or_default();
        decoder.read_exact(dst).map_err(malformed_zstd)?;
        done += step;
    }
    match decoder.read(&mut [0]).map_err(malformed_zstd)? {
        0 => Ok(()),
        more => Err(wrong_size(len, len + more)),
    }
}

/// Compresses `data` and appends it.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for more than 4 GiB.
pub(super) fn compress(method: Method, data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    match method {
        #[cfg(feature = "zstd")]
        Method::Zstd { level } => compress_zstd(level, None, data, out),
        _ => {
            out.extend_from_slice(&size32(data.len())?.to_le_bytes());
            let start = out.len();
            out.resize(
                start + lz4_flex::block::get_maximum_output_size(data.len()),
                0,
            );
            let dst = out.get_mut(start..).unwrap_or_default();
            let size = lz4_flex::block::compress_into(data, dst)
                .map_err(|e| Error::invalid(format!("LZ4 failed: {e}")))?;
            out.truncate(start + size);
            Ok(())
        }
    }
}

/// Compresses `data` with a dictionary and appends it.
pub(super) fn compress_trained(with: &Trained, data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    #[cfg(feature = "zstd")]
    {
        compress_zstd(0, Some(with), data, out)
    }
    // Without Zstandard, no dictionary exists.
    #[cfg(not(feature = "zstd"))]
    {
        let _ = with;
        compress(Method::Lz4, data, out)
    }
}

#[cfg(feature = "zstd")]
fn compress_zstd(level: i32, with: Option<&Trained>, data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    use std::cell::RefCell;
    use zstd::bulk::Compressor;
    thread_local! {
        /// The compressor of this thread and its level. Making one costs more than compressing a small block.
        static KEPT: RefCell<Option<(i32, Compressor<'static>)>> = const { RefCell::new(None) };
    }
    KEPT.with_borrow_mut(|kept| {
        let mut compressor = match kept.take() {
            Some((of, compressor)) if of == level => compressor,
            _ => Compressor::new(level)?,
        };
        let start = out.len();
        out.resize(start + zstd::zstd_safe::compress_bound(data.len()), 0);
        let dst = out.get_mut(start..).unwrap_or_default();
        let size = match with {
            None => compressor.compress_to_buffer(data, dst)?,
            // The dictionary determines the level.
            Some(with) => compressor
                .context_mut()
                .compress_using_cdict(dst, data, with.prepared())
                .map_err(|code| Error::invalid(zstd::zstd_safe::get_error_name(code).to_owned()))?,
        };
        out.truncate(start + size);
        *kept = Some((level, compressor));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Scratch;
    use crate::{ErrorKind, Limits};

    #[test]
    #[cfg_attr(not(feature = "zstd"), ignore = "needs the feature zstd")]
    fn bytes_survive_at_any_size_and_ratio() {
        let (limits, mut scratch) = (Limits::default(), Scratch::default());
        let mut cx = Context::new(&limits, &mut scratch);
        for method in [
            Method::Lz4,
            Method::Zstd { level: 3 },
            Method::Zstd { level: -2 },
        ] {
            for len in [0, 1, 100, 70_000, 5_000_000] {
                let data: Vec<u8> = (0..len).map(|i| u8::from(i % 1000 == 7)).collect();
                let mut packed = Vec::new();
                compress(method, &data, &mut packed).unwrap();
                let mut out = MutableBuffer::new(0);
                out.push(9u8);
                decompress_append(method, &packed, len, &mut cx, &mut out).unwrap();
                assert_eq!(out.as_slice()[1..], data);
                for wrong in [len + 1, len.wrapping_sub(1)] {
                    let mut out = MutableBuffer::new(0);
                    assert!(decompress_append(method, &packed, wrong, &mut cx, &mut out).is_err());
                }
            }
        }
    }

    #[test]
    #[cfg_attr(not(feature = "zstd"), ignore = "needs the feature zstd")]
    fn an_unearned_size_is_refused_before_it_is_allocated() {
        let (limits, mut scratch) = (Limits::default(), Scratch::default());
        let mut cx = Context::new(&limits, &mut scratch);
        let len = 1usize << 31;
        let mut packed = Vec::new();
        compress(Method::Zstd { level: 1 }, &[7; 100], &mut packed).unwrap();
        let mut out = MutableBuffer::new(0);
        let error = decompress_append(Method::Zstd { level: 1 }, &packed, len, &mut cx, &mut out);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Corrupt);
        assert!(out.capacity() <= 2 << 20);
        let claim = [(1u32 << 31).to_le_bytes().as_slice(), &[0; 50]].concat();
        let mut out = MutableBuffer::new(0);
        assert!(decompress_append(Method::Lz4, &claim, len, &mut cx, &mut out).is_err());
        assert_eq!(out.capacity(), 0);
    }
}
