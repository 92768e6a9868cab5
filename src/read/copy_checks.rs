//! The checksums of buffers that are copied to another file.

use super::open_shard::Shard;
use crate::buffer::{CopyCheck, OwnProperties, StoredRange};
use crate::error::{Error, Result, Within};
use crate::format::{DataEncoding, StripeFieldDescriptor};
use crate::io::ByteRange;
use std::collections::HashMap;

/// A range of a file, by the number of the file.
type Range = (u32, ByteRange);

/// The checks of the buffers of some stripe fields.
#[derive(Debug, Default)]
pub(crate) struct CopyChecks {
    /// By place: the name of the first field that refers to the buffer, and the check.
    checks: HashMap<Range, (String, CopyCheck)>,
}

impl CopyChecks {
    /// Adds the buffers of a field.
    pub(crate) fn add(
        &mut self,
        shard: &Shard,
        name: &str,
        descriptor: &StripeFieldDescriptor,
    ) -> Result<()> {
        let most = shard.metadata.artifacts.limits().max_dictionary_bytes();
        let notes = OwnProperties::from_properties(&descriptor.field.custom_properties)?;
        for (encoding, described) in descriptor.encodings.iter().enumerate() {
            let DataEncoding::Native(native) = described else {
                continue;
            };
            for (ordinal, buffer) in native.buffers.iter().enumerate() {
                let artifact = &mut |url: &str| shard.artifact(url);
                let ordinals = (encoding, ordinal);
                let check = CopyCheck::try_new(buffer, ordinals, &notes, most, artifact)
                    .within(|| format!("{:?} buffer", buffer.kind))?;
                if let Some(check) = check {
                    let StoredRange { artifact, range } = check.place();
                    let entry = self.checks.entry((artifact, range));
                    entry.or_insert_with(|| (name.to_owned(), check));
                }
            }
        }
        Ok(())
    }

    /// Reads the block maps of these buffers, which have to be known before the buffers are copied.
    pub(crate) async fn load_maps(&self, shard: &Shard, buffers: &[Range]) -> Result<()> {
        let (mut mapped, mut places) = (Vec::new(), Vec::new());
        for buffer in buffers {
            let Some((name, check)) = self.checks.get(buffer) else {
                continue;
            };
            let place = check
                .map_place()
                .within(|| place_of(shard, *buffer, name, check))?;
            if let Some(StoredRange { artifact, range }) = place {
                let limits = shard.metadata.artifacts.limits();
                limits
                    .check_message_bytes(range.len())
                    .within(|| "block map".to_owned())
                    .within(|| place_of(shard, *buffer, name, check))?;
                mapped.push((buffer, name, check));
                places.push((artifact, range));
            }
        }
        if places.is_empty() {
            return Ok(());
        }
        let read = shard.read_artifacts(&places).await?;
        if read.len() != mapped.len() {
            return Err(Error::corrupt("a block map was not read"));
        }
        for ((buffer, name, check), bytes) in mapped.into_iter().zip(read) {
            let loaded = check.load_map(&bytes);
            loaded.within(|| place_of(shard, *buffer, name, check))?;
        }
        Ok(())
    }

    /// Takes the next bytes of a buffer that is copied.
    ///
    /// # Errors
    /// [`Checksum`](crate::ErrorKind::Checksum) or [`Corrupt`](crate::ErrorKind::Corrupt) if they are damaged,
    /// [`WrongFile`](crate::ErrorKind::WrongFile) if they are of another file.
    pub(crate) fn take(&mut self, shard: &Shard, buffer: Range, bytes: &[u8]) -> Result<()> {
        let Some((name, check)) = self.checks.get_mut(&buffer) else {
            return Ok(());
        };
        let taken = check.take(bytes);
        taken.within(|| place_of(shard, buffer, name, check))
    }
}

/// Names a buffer in errors.
fn place_of(shard: &Shard, (artifact, _): Range, name: &str, check: &CopyCheck) -> String {
    let file = shard.artifact_name(artifact);
    format!("field `{name}`, file `{file}`, {:?} buffer", check.kind())
}
