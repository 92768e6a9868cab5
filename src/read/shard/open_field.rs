//! The fields of a stripe: where their values are, and what their codes stand for.

use super::fetch::Bench;
use super::metadata::{FieldKey, Metadata, OpenField, StripeField, ready};
use crate::buffer::{BlockMap, Body, FieldLayout, Place, Storage, ValueDictionary};
use crate::column::DictionaryEntries;
use crate::error::{Result, Within};
use crate::format::DataType;
use crate::io::ByteRange;
use crate::limits::{Limits, exceeded};
use std::sync::Arc;

impl Metadata {
    /// Where the values of a stripe field are.
    pub(super) fn layout(&self, field: &StripeField, node: &DataType) -> Result<Arc<FieldLayout>> {
        if let Some(layout) = field.layout.get() {
            return Ok(layout.clone());
        }
        let layout = match field.described() {
            None => FieldLayout::absent(node)?,
            Some((artifact, descriptor)) => FieldLayout::try_new(node, descriptor, &mut |url| {
                self.artifacts.resolve(url, artifact)
            })?,
        };
        Ok(field.layout.get_or_init(|| Arc::new(layout)).clone())
    }

    /// Bytes of the values of a stripe field, from its descriptor alone.
    #[cfg(feature = "async")]
    pub(in crate::read) fn described_bytes(
        &self,
        bench: &Bench<'_>,
        key: FieldKey,
        node: &DataType,
    ) -> Result<Option<u64>> {
        let field = ready!(self.field(bench, key));
        let layout = self.layout(&field, node)?;
        let Storage::Buffers(buffers) = &layout.storage else {
            return Ok(Some(0));
        };
        let bytes = buffers.streams().map(|buffer| buffer.place.range.len());
        Ok(Some(bytes.fold(0, u64::saturating_add)))
    }

    /// Where the values of a stripe field are, its block maps and dictionary loaded.
    pub(in crate::read) fn open_field(
        &self,
        bench: &Bench<'_>,
        key: FieldKey,
        node: &DataType,
    ) -> Result<Option<OpenField>> {
        let field = ready!(self.field(bench, key));
        let layout = self.layout(&field, node)?;
        let has_maps = self.load_maps(bench, key, &layout)?;
        let mut dictionary = None;
        if let Storage::Buffers(buffers) = &layout.storage
            && let Some(place) = buffers.dictionary
        {
            dictionary = Some(ready!(self.dictionary(
                bench,
                key,
                &field,
                &layout,
                (place, node)
            )));
        }
        Ok(has_maps.then_some(OpenField { layout, dictionary }))
    }

    /// As [`open_field`](Self::open_field), without the dictionary: what its codes stand for need not be
    /// known to fetch them.
    pub(in crate::read) fn open_codes(
        &self,
        bench: &Bench<'_>,
        key: FieldKey,
        node: &DataType,
    ) -> Result<Option<OpenField>> {
        let field = ready!(self.field(bench, key));
        let layout = self.layout(&field, node)?;
        let has_maps = self.load_maps(bench, key, &layout)?;
        let dictionary = None;
        Ok(has_maps.then_some(OpenField { layout, dictionary }))
    }

    /// Whether the block maps of a stripe field are loaded; those that are missing are noted.
    fn load_maps(&self, bench: &Bench<'_>, key: FieldKey, layout: &FieldLayout) -> Result<bool> {
        let Storage::Buffers(buffers) = &layout.storage else {
            return Ok(true);
        };
        let verify = self.artifacts.options().verify_checksums();
        let mut complete = true;
        for buffer in buffers.streams() {
            bench.note_later(buffer.place);
            if let Body::Blocks(blocks) = &buffer.body
                && blocks.map().is_none()
            {
                let place = Place {
                    artifact: buffer.place.artifact,
                    range: blocks.map_range,
                };
                self.check_message(place.range)
                    .within(|| "block map".to_owned())?;
                let bytes = match &blocks.map_copy {
                    Some(copy) => Some(copy.clone()),
                    None => bench.get(place)?,
                };
                let Some(bytes) = bytes else {
                    complete = false;
                    continue;
                };
                blocks
                    .load_map(buffer.place.range, &bytes, verify)
                    .within(|| format!("{:?} buffer", buffer.kind))?;
                let size = blocks.map().map_or(0, BlockMap::memory_size);
                self.fields.grow(&key, size);
            }
        }
        Ok(complete)
    }

    /// The entries of the value dictionary of a stripe field.
    fn dictionary(
        &self,
        bench: &Bench<'_>,
        key: FieldKey,
        field: &StripeField,
        layout: &FieldLayout,
        (place, node): (Place, &DataType),
    ) -> Result<Option<Arc<DictionaryEntries>>> {
        if let Some(entries) = field.dictionary.get() {
            return Ok(Some(entries.clone()));
        }
        check_dictionary(place.range, self.artifacts.limits())?;
        let bytes = ready!(bench.get(place));
        let entries = ValueDictionary::parse(&bytes)
            .and_then(|d| super::dictionary_entries::entries(d, node, layout))
            .within(|| "value dictionary".to_owned())?;
        let entries = Arc::new(entries);
        if field.dictionary.set(entries.clone()).is_ok() {
            // The arrays that are made of the entries hold about as much again.
            let size = place
                .range
                .len()
                .saturating_add(16 * entries.chunk.len as u64);
            self.fields.grow(&key, size.saturating_mul(2));
        }
        Ok(Some(entries))
    }
}

/// Whether a value dictionary is small enough to be read.
pub(in crate::read) fn check_dictionary(range: ByteRange, limits: &Limits) -> Result<()> {
    let limit = limits.max_dictionary_bytes();
    if range.len() > limit {
        return Err(exceeded(
            "max_dictionary_bytes",
            limit,
            format_args!("the value dictionary has {} bytes", range.len()),
        ));
    }
    Ok(())
}
