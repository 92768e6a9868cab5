//! Decompression of pages. No codec produces more bytes than the header of the page promises, and memory is reserved
//! only as far as the compressed bytes can fill it.

use super::description::Codec;
use crate::error::{Error, Result};
use std::fmt;
use std::io::Read;

/// Largest ratio of decompressed to compressed bytes: Snappy copies up to 64 bytes by 3.
const SNAPPY_RATIO: usize = 22;
/// Largest ratio of decompressed to compressed bytes: LZ4 has a byte for every 255 that match.
const LZ4_RATIO: usize = 255;
/// Largest ratio of decompressed to compressed bytes: Zstandard repeats a byte 128 KiB times in a block of 4 bytes.
const ZSTD_RATIO: usize = 32 << 10;
/// Bytes that a page may have beyond these ratios, because of headers.
const SLACK: usize = 64;
/// First bytes of the frame format of LZ4.
const LZ4_FRAME: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
/// Bytes that are read at a time of a compressed stream.
const BROTLI_BUFFER: usize = 4096;

/// Decompresses the pages of a chunk.
pub(super) struct Decompressor {
    codec: Codec,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Decompressor").field(&self.codec).finish()
    }
}

impl Decompressor {
    pub(super) fn new(codec: Codec) -> Self {
        Self { codec, zstd: None }
    }

    pub(super) fn codec(&self) -> Codec {
        self.codec
    }

    /// Appends `size` decompressed bytes.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the bytes are not compressed by the codec, or are of another size.
    pub(super) fn append(&mut self, bytes: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let is_done = self.decompress(bytes, size, out).is_some();
        if is_done && out.len() - start == size {
            return Ok(());
        }
        let codec = self.codec;
        Err(Error::corrupt(format!(
            "a Parquet page does not decompress to {size} bytes with {codec:?}"
        )))
    }

    fn decompress(&mut self, bytes: &[u8], size: usize, out: &mut Vec<u8>) -> Option<()> {
        match self.codec {
            Codec::None => out.extend_from_slice(bytes),
            Codec::Snappy => {
                let to = grown(bytes, size, SNAPPY_RATIO, out)?;
                let len = snap::raw::Decoder::new().decompress(bytes, to).ok()?;
                return (len == size).then_some(());
            }
            Codec::Lz4Raw => return lz4_block(bytes, size, out),
            Codec::Lz4 if bytes.starts_with(&LZ4_FRAME) => {
                append_stream(lz4_flex::frame::FrameDecoder::new(bytes), size, out)?;
            }
            Codec::Lz4 => {
                let start = out.len();
                if lz4_hadoop(bytes, size, out).is_none() {
                    out.truncate(start);
                    return lz4_block(bytes, size, out);
                }
            }
            Codec::Zstd => {
                if size > most(bytes, ZSTD_RATIO) {
                    return None;
                }
                out.reserve(size);
                let decompressor = match self.zstd.take() {
                    Some(decompressor) => decompressor,
                    None => zstd::bulk::Decompressor::new().ok()?,
                };
                let decompressor = self.zstd.insert(decompressor);
                let mut to = std::io::Cursor::new(&mut *out);
                to.set_position(to.get_ref().len() as u64);
                decompressor.decompress_to_buffer(bytes, &mut to).ok()?;
            }
            Codec::Gzip => append_stream(flate2::read::MultiGzDecoder::new(bytes), size, out)?,
            Codec::Brotli => {
                append_stream(brotli::Decompressor::new(bytes, BROTLI_BUFFER), size, out)?;
            }
        }
        Some(())
    }
}

/// Returns the largest size of the decompressed bytes.
fn most(bytes: &[u8], ratio: usize) -> usize {
    bytes.len().saturating_mul(ratio).saturating_add(SLACK)
}

/// Appends `size` zeros and returns them, unless the compressed bytes are too few for that size.
fn grown<'a>(
    bytes: &[u8],
    size: usize,
    ratio: usize,
    out: &'a mut Vec<u8>,
) -> Option<&'a mut [u8]> {
    if size > most(bytes, ratio) {
        return None;
    }
    let start = out.len();
    out.resize(start + size, 0);
    out.get_mut(start..)
}

fn lz4_block(bytes: &[u8], size: usize, out: &mut Vec<u8>) -> Option<()> {
    let to = grown(bytes, size, LZ4_RATIO, out)?;
    let len = lz4_flex::block::decompress_into(bytes, to).ok()?;
    (len == size).then_some(())
}

/// Decompresses blocks as Hadoop writes them: before each, its size and its compressed size, with the highest byte
/// first.
fn lz4_hadoop(bytes: &[u8], size: usize, out: &mut Vec<u8>) -> Option<()> {
    let (mut rest, mut left) = (bytes, size);
    while !rest.is_empty() {
        let mut number = || {
            let (number, after) = rest.split_first_chunk::<4>()?;
            rest = after;
            usize::try_from(u32::from_be_bytes(*number)).ok()
        };
        let (block, compressed) = (number()?, number()?);
        let (bytes, after) = rest.split_at_checked(compressed)?;
        left = left.checked_sub(block)?;
        lz4_block(bytes, block, out)?;
        rest = after;
    }
    (left == 0).then_some(())
}

/// Appends the bytes of a stream, and at most one more than `size`.
fn append_stream(stream: impl Read, size: usize, out: &mut Vec<u8>) -> Option<()> {
    let most = (size as u64).saturating_add(1);
    stream.take(most).read_to_end(out).ok()?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    }

    fn brotli(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = brotli::CompressorWriter::new(&mut out, 4096, 1, 22);
        writer.write_all(bytes).unwrap();
        drop(writer);
        out
    }

    fn lz4_frame(bytes: &[u8]) -> Vec<u8> {
        let mut writer = lz4_flex::frame::FrameEncoder::new(Vec::new());
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    }

    fn hadoop(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for block in bytes.chunks(bytes.len() / 3) {
            let compressed = lz4_flex::block::compress(block);
            for number in [block.len(), compressed.len()] {
                out.extend(u32::try_from(number).unwrap().to_be_bytes());
            }
            out.extend(compressed);
        }
        out
    }

    fn compressed(bytes: &[u8]) -> Vec<(Codec, Vec<u8>)> {
        vec![
            (Codec::None, bytes.to_vec()),
            (
                Codec::Snappy,
                snap::raw::Encoder::new().compress_vec(bytes).unwrap(),
            ),
            (Codec::Gzip, gzip(bytes)),
            (Codec::Brotli, brotli(bytes)),
            (Codec::Lz4, lz4_frame(bytes)),
            (Codec::Lz4, hadoop(bytes)),
            (Codec::Lz4, lz4_flex::block::compress(bytes)),
            (Codec::Zstd, zstd::bulk::compress(bytes, 1).unwrap()),
            (Codec::Lz4Raw, lz4_flex::block::compress(bytes)),
        ]
    }

    #[test]
    fn pages_of_every_codec_have_the_promised_size_or_are_refused() {
        let text = b"some text that repeats, some text that repeats. ".repeat(100);
        for (codec, bytes) in compressed(&text) {
            let mut decompressor = Decompressor::new(codec);
            let mut out = b"levels".to_vec();
            decompressor.append(&bytes, text.len(), &mut out).unwrap();
            assert_eq!(out, [&b"levels"[..], &text].concat(), "{codec:?}");
            for size in [0, 1, text.len() - 1, text.len() + 1] {
                let refused = decompressor.append(&bytes, size, &mut Vec::new());
                assert!(refused.is_err(), "{codec:?}, {size} bytes");
            }
            for len in 0..bytes.len() {
                let mut out = Vec::new();
                let cut = bytes.get(..len).unwrap();
                let _ = decompressor.append(cut, text.len(), &mut out);
                assert!(out.is_empty() || out.len() <= text.len() + 1);
            }
        }
    }

    #[test]
    fn bytes_that_expand_a_lot_take_no_more_memory_than_promised() {
        let zeros = vec![0; 4 << 20];
        for (codec, bytes) in compressed(&zeros) {
            let mut out = Vec::new();
            let size = 1 << 16;
            let refused = Decompressor::new(codec).append(&bytes, size, &mut out);
            assert!(refused.is_err(), "{codec:?}");
            let is_bounded = codec == Codec::None || out.capacity() <= 4 * size;
            assert!(is_bounded, "{codec:?}: {} bytes", out.capacity());
        }
    }

    #[test]
    fn claims_of_many_bytes_reserve_none() {
        for (codec, bytes) in compressed(b"a few bytes") {
            let mut out = Vec::new();
            let claim = i32::MAX.unsigned_abs() as usize;
            let refused = Decompressor::new(codec).append(&bytes, claim, &mut out);
            assert!(refused.is_err(), "{codec:?}");
            assert!(out.capacity() < 1 << 20, "{codec:?}: {}", out.capacity());
        }
    }
}
