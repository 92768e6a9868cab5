//! The files that a shard is made of.

use super::options::ShardOptions;
use crate::buffer::Place;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::io::{Container, ReadAt, Reference, RelativeUrl, read_all, resolve};
use crate::limits::Limits;
use bytes::Bytes;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The artifacts of an open shard: number 0 is the directory file, the others are numbered as
/// references to them are met.
#[derive(Debug)]
pub(super) struct Artifacts {
    name: String,
    root: Arc<dyn ReadAt>,
    root_size: u64,
    root_resident: Option<Bytes>,
    /// The last bytes of the directory file.
    tail: Bytes,
    container: Arc<dyn Container>,
    base: Option<String>,
    options: ShardOptions,
    others: Mutex<Vec<Arc<Artifact>>>,
}

#[derive(Debug)]
struct Artifact {
    url: RelativeUrl,
    reader: OnceLock<(Arc<dyn ReadAt>, Option<Bytes>)>,
}

impl Artifacts {
    pub(super) fn new(
        name: String,
        root: Arc<dyn ReadAt>,
        root_size: u64,
        tail: Bytes,
        container: Arc<dyn Container>,
        base: Option<String>,
        options: ShardOptions,
    ) -> Self {
        Self {
            name,
            root_size,
            tail,
            root_resident: root.resident(),
            root,
            container,
            base,
            options,
            others: Mutex::default(),
        }
    }

    pub(super) fn options(&self) -> &ShardOptions {
        &self.options
    }

    pub(super) fn limits(&self) -> &Limits {
        self.options.limits()
    }

    /// Name of the directory file, for errors.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The number of the artifact that a reference in artifact `from` names.
    pub(super) fn resolve(&self, url: &str, from: u32) -> Result<u32> {
        let url = match resolve(url, self.base.as_deref())? {
            Reference::This => return Ok(from),
            Reference::Relative(url) => url,
        };
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let found = others.iter().position(|other| other.url == url);
        let ordinal = found.unwrap_or_else(|| {
            others.push(Arc::new(Artifact {
                url,
                reader: OnceLock::new(),
            }));
            others.len() - 1
        });
        u32::try_from(ordinal + 1)
            .map_err(|_| Error::new(ErrorKind::LimitExceeded, "too many artifacts"))
    }

    fn other(&self, artifact: u32) -> Option<Arc<Artifact>> {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        others.get((artifact as usize).checked_sub(1)?).cloned()
    }

    /// Whether small reads of the directory file are as good as large ones.
    pub(super) fn are_near(&self) -> bool {
        self.root.is_near()
    }

    /// All bytes of an artifact, if they are in memory anyway.
    pub(super) fn resident(&self, artifact: u32) -> Option<Bytes> {
        if artifact == 0 {
            return self.root_resident.clone();
        }
        self.other(artifact)?.reader.get()?.1.clone()
    }

    /// The bytes of a place, if they were read when the shard was opened.
    pub(super) fn in_tail(&self, place: Place) -> Option<Bytes> {
        let start = self.root_size - self.tail.len() as u64;
        if place.artifact != 0 || place.range.end() > self.root_size {
            return None;
        }
        let from = usize::try_from(place.range.start().checked_sub(start)?).ok()?;
        let to = usize::try_from(place.range.end() - start).ok()?;
        Some(self.tail.slice(from..to))
    }

    /// Reads places of one or more artifacts, one after the other.
    pub(super) fn read(&self, places: &[Place]) -> Result<Vec<Bytes>> {
        let mut out = Vec::with_capacity(places.len());
        for group in places.chunk_by(|a, b| a.artifact == b.artifact) {
            let artifact = group[0].artifact;
            let reader = self.reader(artifact)?;
            let size = match artifact {
                0 => self.root_size,
                _ => reader.size()?,
            };
            let ranges: Vec<_> = group
                .iter()
                .map(|place| place.range.within_size(size))
                .collect::<Result<_>>()
                .within(|| self.name_of(artifact))?;
            let read = read_all(&*reader, &ranges).within(|| self.name_of(artifact))?;
            out.extend(read);
        }
        Ok(out)
    }

    fn reader(&self, artifact: u32) -> Result<Arc<dyn ReadAt>> {
        if artifact == 0 {
            return Ok(self.root.clone());
        }
        let other = self
            .other(artifact)
            .ok_or_else(|| Error::corrupt(format!("no artifact {artifact}")))?;
        if let Some((reader, _)) = other.reader.get() {
            return Ok(reader.clone());
        }
        let reader = self
            .container
            .open(&other.url)
            .within(|| self.name_of(artifact))?;
        let resident = reader.resident();
        Ok(other.reader.get_or_init(|| (reader, resident)).0.clone())
    }

    /// Number of artifacts that references have led to so far, the directory file included.
    pub(super) fn count(&self) -> u32 {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        u32::try_from(others.len()).map_or(u32::MAX, |n| n.saturating_add(1))
    }

    /// Bytes of an artifact.
    pub(super) fn size_of(&self, artifact: u32) -> Result<u64> {
        match artifact {
            0 => Ok(self.root_size),
            _ => self.reader(artifact)?.size(),
        }
        .within(|| self.name_of(artifact))
    }

    /// Name of an artifact, for errors.
    pub(super) fn name_of(&self, artifact: u32) -> String {
        match self.other(artifact) {
            Some(other) if artifact > 0 => other.url.path().to_owned(),
            _ => self.name.clone(),
        }
    }
}
