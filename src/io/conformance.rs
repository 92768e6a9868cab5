//! Checks that readers and sinks of other crates fulfill the contracts of the traits.
//!
//! Each check returns the first violation as an [`Io`](ErrorKind::Io) error that describes the expected behavior.
//!
//! ```
//! use arrow_shard::io::{MemoryFolder, conformance};
//!
//! let content = conformance::content(1000);
//! conformance::check_reader(&bytes::Bytes::from(content.clone()), &content)?;
//! let mut folder = MemoryFolder::new();
//! conformance::check_sinks(&mut folder.clone(), &folder)?;
//! # Ok::<(), arrow_shard::Error>(())
//! ```

use super::{
    AsyncContainer, AsyncReadAt, AsyncSinkFactory, ByteRange, Container, ReadAt, RelativeUrl, Sink,
    SinkFactory,
};
use crate::error::{Error, ErrorKind, Result, Within};
use bytes::Bytes;
use std::ops::Range;

/// Returns `len` pseudorandom bytes, the same on each call: content whose sections differ, so that the checks of this
/// module notice a read at a wrong offset.
pub fn content(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_u32;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[1]
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn wrong(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Io, what)
}

/// Fails unless `is_right`.
fn check(is_right: bool, what: impl FnOnce() -> String) -> Result<()> {
    if is_right { Ok(()) } else { Err(wrong(what())) }
}

fn check_kind<T>(result: Result<T>, kinds: &[ErrorKind], what: &str) -> Result<()> {
    match result {
        Ok(_) => Err(wrong(format!("{what}: expected an error, {kinds:?}"))),
        Err(e) => check(kinds.contains(&e.kind()), || {
            format!(
                "{what}: expected an error, {kinds:?}, found {:?}, {e:#}",
                e.kind()
            )
        }),
    }
}

/// Returns ranges of `len` bytes: at the ends, a single byte, empty, complete, and overlapping.
fn ranges(len: u64) -> Result<Vec<ByteRange>> {
    let third = len / 3;
    let mut ranges = vec![
        0..0,
        0..len,
        len..len,
        third..len - third,
        0..third,
        third..third,
        third..2 * third,
        0..len,
    ];
    if len > 0 {
        ranges.extend([0..1, len - 1..len, third..third + 1]);
    }
    let ranges = ranges.into_iter();
    ranges
        .map(|Range { start, end }| ByteRange::try_new(start, end))
        .collect()
}

/// Returns ranges that end beyond `len` bytes.
fn beyond(len: u64) -> Result<[ByteRange; 3]> {
    Ok([
        ByteRange::try_new(0, len + 1)?,
        ByteRange::try_new(len + 5, len + 7)?,
        ByteRange::try_new(len / 2, 1 << 47)?,
    ])
}

fn expected(content: &[u8], range: ByteRange) -> Result<&[u8]> {
    content
        .get(range.to_usize()?)
        .ok_or_else(|| wrong("a range of this check is wrong"))
}

/// Checks a reader of an artifact with the given content.
///
/// # Errors
/// Returns the first violation.
pub fn check_reader(reader: &dyn ReadAt, content: &[u8]) -> Result<()> {
    let size = content.len() as u64;
    let found = reader.size()?;
    check(found == size, || {
        format!("expected size {size}, found {found}")
    })?;
    let ranges = ranges(size)?;
    let read = |range: ByteRange| {
        let bytes = reader.read_at(range).within(|| format!("bytes {range}"))?;
        check(bytes == expected(content, range)?, || {
            format!(
                "bytes {range}: expected those of the content, found {} others",
                bytes.len()
            )
        })
    };
    ranges.iter().try_for_each(|range| read(*range))?;
    let all = reader.read_ranges(&ranges)?;
    check_ranges(&ranges, &all, content)?;
    for range in beyond(size)? {
        let what = format!("bytes {range} of {size}");
        check_kind(reader.read_at(range), &[ErrorKind::Corrupt], &what)?;
        check_kind(reader.read_ranges(&[range]), &[ErrorKind::Corrupt], &what)?;
    }
    if let Some(all) = reader.resident() {
        check(all == content, || {
            "the resident bytes are not the content".to_owned()
        })?;
    }
    check_threads(&ranges, &read)
}

#[cfg(not(target_family = "wasm"))]
fn check_threads(
    ranges: &[ByteRange],
    read: &(impl Fn(ByteRange) -> Result<()> + Sync),
) -> Result<()> {
    std::thread::scope(|scope| {
        let all = || ranges.iter().try_for_each(|range| read(*range));
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(all)).collect();
        threads.into_iter().try_for_each(|thread| {
            let done = thread.join();
            done.unwrap_or_else(|_| Err(wrong("it panics when several threads read")))
        })
    })
}

#[cfg(target_family = "wasm")]
fn check_threads(_: &[ByteRange], _: &impl Fn(ByteRange) -> Result<()>) -> Result<()> {
    Ok(())
}

fn check_ranges(ranges: &[ByteRange], all: &[Bytes], content: &[u8]) -> Result<()> {
    check(all.len() == ranges.len(), || {
        format!("{} ranges: found {} answers", ranges.len(), all.len())
    })?;
    for (range, bytes) in ranges.iter().zip(all) {
        check(*bytes == expected(content, *range)?, || {
            format!("bytes {range} among others: found {} others", bytes.len())
        })?;
    }
    Ok(())
}

/// Checks an asynchronous reader of an artifact with the given content. The reader must be unused.
///
/// # Errors
/// Returns the first violation.
pub async fn check_async_reader(reader: &dyn AsyncReadAt, content: &[u8]) -> Result<()> {
    let size = content.len() as u64;
    for len in [size / 2, 1, size, size + 1, 1 << 40] {
        if len == 0 {
            continue;
        }
        let (tail, found) = reader.read_tail(len).await?;
        let start = size.saturating_sub(len);
        let wanted = expected(content, ByteRange::try_new(start, size)?)?;
        check(found == size && tail == wanted, || {
            format!("the last {len} bytes: found {} of {found}", tail.len())
        })?;
        let known = reader.known_size();
        check(known == Some(size), || {
            format!("after an answer: expected the size {size} to be known, found {known:?}")
        })?;
    }
    // Many stores do not support requests for no bytes, and this crate never sends them.
    let ranges: Vec<ByteRange> = ranges(size)?
        .into_iter()
        .filter(|r| !r.is_empty())
        .collect();
    let all = reader.read_ranges(ranges.clone()).await?;
    check_ranges(&ranges, &all, content)?;
    check(reader.read_ranges(Vec::new()).await?.is_empty(), || {
        "no ranges: found an answer".to_owned()
    })
}

/// Names that no artifact may have.
const NO_NAMES: [&str; 5] = ["", ".", "..", "a/b", "../a"];

/// Checks the sinks of a folder, and reads the results through `files`. The folder must be empty, and is empty
/// afterwards.
///
/// # Errors
/// Returns the first violation.
pub fn check_sinks(folder: &mut dyn SinkFactory, files: &dyn Container) -> Result<()> {
    let content = content(300_000);
    let found = |name: &str| -> Result<Option<Bytes>> {
        let reader = match files.open(&RelativeUrl::from_file_name(name)?) {
            Ok(reader) => reader,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        reader
            .read_at(ByteRange::try_new(0, reader.size()?)?)
            .map(Some)
    };
    let is_absent = |name: &str, when: &str| -> Result<()> {
        check(found(name)?.is_none(), || {
            format!("`{name}` is visible {when}")
        })
    };
    for name in NO_NAMES {
        check_kind(
            folder.create(name),
            &[ErrorKind::InvalidArgument, ErrorKind::ForbiddenUrl],
            name,
        )?;
    }
    for name in ["one.shard", "a name with blanks %", "ä.stripe"] {
        is_absent(name, "before it was created")?;
        let mut sink = folder.create(name)?;
        for piece in content.chunks(70_001) {
            sink.write_all(piece)?;
        }
        sink.write_all(&[])?;
        is_absent(name, "before the commit")?;
        sink.seal()?;
        is_absent(name, "after it was sealed")?;
        sink.commit()?;
        check(found(name)?.is_some_and(|bytes| bytes == content), || {
            format!("`{name}` is not what was written")
        })?;
        check(sink.write_all(b"x").is_err(), || {
            format!("`{name}` takes more after its commit")
        })?;
        drop(sink);
        check_kind(folder.create(name), &[ErrorKind::AlreadyExists], name)?;
        folder.remove(name)?;
        is_absent(name, "after it was removed")?;
        check_kind(folder.remove(name), &[ErrorKind::NotFound], name)?;
    }
    let mut sink = folder.create("dropped")?;
    sink.write_all(&content)?;
    drop(sink);
    is_absent("dropped", "after its sink was dropped")?;
    let mut empty = folder.create("empty")?;
    empty.commit()?;
    check(
        found("empty")?.is_some_and(|bytes| bytes.is_empty()),
        || "an artifact of no bytes is not there".to_owned(),
    )?;
    folder.remove("empty")
}

/// Checks the asynchronous sinks of a folder like [`check_sinks`], and that an abort discards the bytes before a
/// commit, but not after it. Removing an artifact that does not exist need not be an error.
///
/// # Errors
/// Returns the first violation.
pub async fn check_async_sinks(
    folder: &mut dyn AsyncSinkFactory,
    files: &dyn AsyncContainer,
) -> Result<()> {
    let content = content(300_000);
    for name in NO_NAMES {
        let created = folder.create(name).await;
        check_kind(
            created,
            &[ErrorKind::InvalidArgument, ErrorKind::ForbiddenUrl],
            name,
        )?;
    }
    for name in ["one.shard", "a name with blanks %", "ä.stripe"] {
        is_absent(files, name, "before it was created").await?;
        let mut sink = folder.create(name).await?;
        for piece in content.chunks(70_001) {
            sink.write_all(Bytes::copy_from_slice(piece)).await?;
        }
        sink.write_all(Bytes::new()).await?;
        is_absent(files, name, "before the commit").await?;
        sink.commit().await?;
        check(
            found(files, name)
                .await?
                .is_some_and(|bytes| bytes == content),
            || format!("`{name}` is not what was written"),
        )?;
        let more = sink.write_all(Bytes::from_static(b"x")).await;
        check(more.is_err(), || {
            format!("`{name}` takes more after its commit")
        })?;
        sink.abort().await?;
        check(found(files, name).await?.is_some(), || {
            format!("`{name}` is gone after an abort that came after the commit")
        })?;
        drop(sink);
        let again = folder.create(name).await;
        check_kind(again, &[ErrorKind::AlreadyExists], name)?;
        folder.remove(name).await?;
        is_absent(files, name, "after it was removed").await?;
    }
    let mut sink = folder.create("aborted").await?;
    sink.write_all(content.clone().into()).await?;
    sink.abort().await?;
    check(sink.commit().await.is_err(), || {
        "a sink is committed after its abort".to_owned()
    })?;
    is_absent(files, "aborted", "after its abort").await?;
    let mut sink = folder.create("dropped").await?;
    sink.write_all(content.into()).await?;
    drop(sink);
    is_absent(files, "dropped", "after its sink was dropped").await?;
    let mut empty = folder.create("empty").await?;
    empty.commit().await?;
    // Many stores do not support ranges of an empty object.
    let again = folder.create("empty").await;
    check_kind(
        again,
        &[ErrorKind::AlreadyExists],
        "an artifact of no bytes",
    )?;
    folder.remove("empty").await
}

async fn found(files: &dyn AsyncContainer, name: &str) -> Result<Option<Bytes>> {
    let reader = files.open(&RelativeUrl::from_file_name(name)?)?;
    match reader.read_tail(1 << 40).await {
        Ok((bytes, _)) => Ok(Some(bytes)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

async fn is_absent(files: &dyn AsyncContainer, name: &str, when: &str) -> Result<()> {
    check(found(files, name).await?.is_none(), || {
        format!("`{name}` is visible {when}")
    })
}
