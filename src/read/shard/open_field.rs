//! The fields of a stripe: the layout of their values, and their dictionaries.

use super::dictionary_entries;
use super::fetch::StepBytes;
use super::metadata::{FieldKey, Metadata, OpenField, StripeField, ready};
use crate::buffer::{
    Body, ExternalValues, FieldBuffers, FieldLayout, OpaqueDictionary, PackedGroup, Storage,
    StoredDictionary, StoredRange, packed_member,
};
use crate::column::DictionaryEntries;
use crate::encoding::{Context, Dictionaries, Scratch};
use crate::error::{Result, Within};
use crate::external::{VerifiedFiles, load_footer, needs_footers, open_parquet};
use crate::format::{BasicType, DataEncoding, DataType, StripeFieldDescriptor};
use crate::io::ByteRange;
use crate::limits::{Limits, exceeded};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;

impl Metadata {
    /// Returns the layout of a stripe field, which locates its values.
    pub(super) fn layout(
        &self,
        step: &StepBytes<'_>,
        key: FieldKey,
        field: &StripeField,
        node: &DataType,
    ) -> Result<Option<Arc<FieldLayout>>> {
        if let Some(layout) = field.layout.get() {
            return Ok(Some(layout.clone()));
        }
        let node = self.stored_types.node(key, node);
        let verified = self.artifacts.verified_files();
        let layout = match field.described() {
            None => FieldLayout::absent(node)?,
            Some((artifact, descriptor)) => {
                if !self.load_footers(step, artifact, descriptor)? {
                    return Ok(None);
                }
                let group = if is_member(descriptor) {
                    ready!(self.group_of(step, key))
                } else {
                    None
                };
                let layout = self.layout_of(node, descriptor, artifact, group.as_deref(), verified);
                self.artifacts.placed(artifact, layout)?
            }
        };
        Ok(Some(field.layout.get_or_init(|| Arc::new(layout)).clone()))
    }

    /// Reads the footers of the Parquet files of a field, if only these describe its column chunks. Returns whether all
    /// are there; notes the missing ones.
    pub(in crate::read) fn load_footers(
        &self,
        step: &StepBytes<'_>,
        artifact: u32,
        descriptor: &StripeFieldDescriptor,
    ) -> Result<bool> {
        if !needs_footers(descriptor) {
            return Ok(true);
        }
        let verified = self.artifacts.verified_files();
        let mut get = |place: StoredRange| {
            self.check_message(place.range)?;
            step.get(place)
        };
        let mut complete = true;
        for encoding in &descriptor.encodings {
            // An encoding of this format is preferred if it is the first.
            let DataEncoding::Parquet(files) = encoding else {
                break;
            };
            for file in files.iter().filter_map(|file| file.file_ref.as_ref()) {
                let number = self.artifacts.resolve_external(&file.url, artifact)?;
                let loaded = load_footer(verified, number, file.range.end(), &mut get);
                let loaded = loaded.within(|| "footer".to_owned());
                complete &= self.artifacts.placed(number, loaded)?;
            }
        }
        Ok(complete)
    }

    /// Returns the layout for a descriptor in an artifact.
    pub(in crate::read) fn layout_of(
        &self,
        node: &DataType,
        descriptor: &StripeFieldDescriptor,
        artifact: u32,
        group: Option<&PackedGroup>,
        verified: &Arc<VerifiedFiles>,
    ) -> Result<FieldLayout> {
        FieldLayout::try_new(
            node,
            descriptor,
            group,
            &mut |url| self.artifacts.resolve(url, artifact),
            &mut |descriptor, files, resolve| {
                let file = &mut |url: &str| self.artifacts.resolve_external(url, artifact);
                open_parquet(node, descriptor, files, verified, resolve, file)
            },
        )
    }

    /// Returns the schema id of the struct that each member belongs to, by schema id of the member.
    fn structs(&self, step: &StepBytes<'_>) -> Result<Option<&HashMap<u32, u32>>> {
        if self.structs.get().is_none() {
            let schema = ready!(self.schema(step));
            let mut structs = HashMap::new();
            for i in 0..schema.len() {
                schema.field(i)?.data_type.walk(&mut |node| {
                    if node.basic_type == BasicType::Struct {
                        let members = node.children.iter();
                        structs.extend(members.map(|child| (child.schema_id, node.schema_id)));
                    }
                });
            }
            self.structs.get_or_init(|| structs);
        }
        Ok(self.structs.get())
    }

    /// Returns the stripe field of the struct that a node is a member of; the inner `None` if it is not a member.
    pub(in crate::read) fn parent_field(
        &self,
        step: &StepBytes<'_>,
        (stripe, id): FieldKey,
    ) -> Result<Option<Option<Arc<StripeField>>>> {
        let Some(&parent) = ready!(self.structs(step)).get(&id) else {
            return Ok(Some(None));
        };
        self.field(step, (stripe, parent))
            .map(|field| field.map(Some))
    }

    /// Returns the packed group of the struct that a node is a member of.
    fn group_of(
        &self,
        step: &StepBytes<'_>,
        key: FieldKey,
    ) -> Result<Option<Option<Arc<PackedGroup>>>> {
        let Some(parent) = ready!(self.parent_field(step, key)) else {
            return Ok(Some(None));
        };
        if let Some(group) = parent.group.get() {
            return Ok(Some(Some(group.clone())));
        }
        let Some((artifact, descriptor)) = parent.described() else {
            return Ok(Some(None));
        };
        let group =
            PackedGroup::try_new(descriptor, &mut |url| self.artifacts.resolve(url, artifact))?;
        let group = group.map(|group| parent.group.get_or_init(|| Arc::new(group)).clone());
        Ok(Some(group))
    }

    /// Returns the size of a stripe field's values in bytes; needs only its descriptor.
    pub(in crate::read) fn described_bytes(
        &self,
        step: &StepBytes<'_>,
        key: FieldKey,
        node: &DataType,
    ) -> Result<Option<u64>> {
        let field = ready!(self.field(step, key));
        let layout = ready!(self.layout(step, key, &field, node));
        Ok(Some(layout.stored_bytes()))
    }

    /// Opens a stripe field: loads its block maps and dictionaries.
    pub(in crate::read) fn open_field(
        &self,
        step: &StepBytes<'_>,
        key: FieldKey,
        node: &DataType,
    ) -> Result<Option<OpenField>> {
        let field = ready!(self.field(step, key));
        let layout = ready!(self.layout(step, key, &field, node));
        let mut is_loaded = self.load_maps(step, key, &layout)?;
        is_loaded &= self.load_compressors(step, key, &layout)?;
        let mut dictionary = None;
        if let Storage::Buffers(buffers) = &layout.storage
            && let Some(place) = buffers.dictionary
        {
            dictionary = Some(ready!(self.dictionary(
                step,
                key,
                &field,
                &layout,
                (place, node)
            )));
        }
        let stored_as = self.stored_types.get(key).cloned();
        Ok(is_loaded.then_some(OpenField {
            layout,
            dictionary,
            stored_as,
        }))
    }

    /// Opens a stripe field without its dictionaries, which are not needed to fetch codes. Returns also whether its
    /// block maps are loaded.
    pub(in crate::read) fn open_codes(
        &self,
        step: &StepBytes<'_>,
        key: FieldKey,
        node: &DataType,
    ) -> Result<Option<(OpenField, bool)>> {
        let field = ready!(self.field(step, key));
        let layout = ready!(self.layout(step, key, &field, node));
        let has_maps = self.load_maps(step, key, &layout)?;
        let field = OpenField {
            layout,
            dictionary: None,
            stored_as: self.stored_types.get(key).cloned(),
        };
        Ok(Some((field, has_maps)))
    }

    /// Loads the block maps of a stripe field. Returns whether all are there; notes the missing ones.
    fn load_maps(&self, step: &StepBytes<'_>, key: FieldKey, layout: &FieldLayout) -> Result<bool> {
        let buffers = match &layout.storage {
            Storage::Buffers(buffers) => buffers,
            Storage::External(values) => return self.load_page_maps(step, key, &**values),
            Storage::Null | Storage::Constant(_) => return Ok(true),
        };
        let verify = self.verifies();
        let mut complete = true;
        for buffer in buffers.streams() {
            step.note_later(buffer.place);
            if let Body::Blocks(blocks) = &buffer.body
                && blocks.map().is_none()
            {
                let place = StoredRange {
                    artifact: buffer.place.artifact,
                    range: blocks.described_in()?,
                };
                self.check_message(place.range)
                    .within(|| "block map".to_owned())?;
                let bytes = match &blocks.map_copy {
                    Some(copy) => Some(copy.clone()),
                    None => step.get(place)?,
                };
                let Some(bytes) = bytes else {
                    complete = false;
                    continue;
                };
                let loaded = blocks
                    .load_map(buffer.place.range, &bytes, verify)
                    .within(|| format!("{:?} buffer", buffer.kind));
                self.artifacts.placed(place.artifact, loaded)?;
                self.fields.grow(&key, blocks.memory_size());
            }
        }
        Ok(complete)
    }

    /// Loads the page maps of external values. Returns whether all are there; notes the missing ones.
    fn load_page_maps(
        &self,
        step: &StepBytes<'_>,
        key: FieldKey,
        values: &dyn ExternalValues,
    ) -> Result<bool> {
        let (mut missing, mut complete) = (Vec::new(), true);
        values.missing_maps(&mut missing);
        for place in missing {
            self.check_message(place.range)
                .within(|| "page map".to_owned())?;
            let Some(bytes) = step.get(place)? else {
                complete = false;
                continue;
            };
            let loaded = values
                .load_map(place, &bytes)
                .within(|| "page map".to_owned());
            self.artifacts.placed(place.artifact, loaded)?;
            self.fields.grow(&key, 2 * place.range.len());
        }
        Ok(complete)
    }

    /// Loads the compressor dictionaries of a stripe field. Returns whether all are there; notes the missing ones.
    fn load_compressors(
        &self,
        step: &StepBytes<'_>,
        key: FieldKey,
        layout: &FieldLayout,
    ) -> Result<bool> {
        let Storage::Buffers(buffers) = &layout.storage else {
            return Ok(true);
        };
        if buffers.dictionaries().is_some() {
            return Ok(true);
        }
        check_compressors(buffers, self.artifacts.limits())?;
        let mut bytes = Vec::with_capacity(buffers.compressors.len());
        for stored in &buffers.compressors {
            bytes.extend(step.get(stored.place)?);
        }
        if bytes.len() < buffers.compressors.len() {
            return Ok(false);
        }
        let mut loaded = Dictionaries::default();
        for (stored, bytes) in buffers.compressors.iter().zip(&bytes) {
            let added = add_compressor(stored, bytes, self.verifies(), &mut loaded);
            self.artifacts.placed(stored.place.artifact, added)?;
        }
        self.fields.grow(&key, loaded.memory_size());
        buffers.load_dictionaries(loaded);
        Ok(true)
    }

    /// Returns the entries of the value dictionary of a stripe field.
    fn dictionary(
        &self,
        step: &StepBytes<'_>,
        key: FieldKey,
        field: &StripeField,
        layout: &FieldLayout,
        (place, node): (StoredRange, &DataType),
    ) -> Result<Option<Arc<DictionaryEntries>>> {
        if let Some(entries) = field.dictionary.get() {
            return Ok(Some(entries.clone()));
        }
        check_dictionary(place.range, self.artifacts.limits())?;
        let bytes = ready!(step.get(place));
        let node = self.stored_types.node(key, node);
        let parse = || {
            let mut scratch = Scratch::default();
            let mut cx = Context::new(self.artifacts.limits(), &mut scratch);
            let dictionary = dictionary_entries::parse(&bytes, node, layout, &mut cx)?;
            dictionary_entries::entries(dictionary, layout)
        };
        let entries = parse().within(|| "value dictionary".to_owned());
        let entries = Arc::new(self.artifacts.placed(place.artifact, entries)?);
        if field.dictionary.set(entries.clone()).is_ok() {
            // The arrays made from the entries take about as much memory again. Encoded entries take more than the
            // buffer.
            let stored = place
                .range
                .len()
                .max(entries.chunk.values.leaf_bytes() as u64);
            let size = stored.saturating_add(16 * entries.chunk.len as u64);
            self.fields.grow(&key, size.saturating_mul(2));
        }
        Ok(Some(entries))
    }
}

/// Whether the values of a field are in a packed group.
pub(in crate::read) fn is_member(descriptor: &StripeFieldDescriptor) -> bool {
    descriptor.encodings.iter().any(|encoding| match encoding {
        DataEncoding::Native(native) => native.buffers.iter().any(|b| packed_member(b).is_some()),
        DataEncoding::Parquet(_) | DataEncoding::Unknown => false,
    })
}

/// Parses a compressor dictionary from its bytes, and adds it to `all`.
pub(in crate::read) fn add_compressor(
    stored: &StoredDictionary,
    bytes: &Bytes,
    verify: bool,
    all: &mut Dictionaries,
) -> Result<()> {
    OpaqueDictionary::parse(bytes, verify)
        .and_then(|found| {
            if let Some(expected) = stored.carried.as_ref().filter(|_| verify) {
                expected.check_block(0, bytes)?;
            }
            all.add(stored.id, found.kind, found.payload)
        })
        .within(|| format!("OpaqueDictionary buffer {}", stored.id))
}

/// Fails if the compressor dictionaries together are too large.
pub(in crate::read) fn check_compressors(buffers: &FieldBuffers, limits: &Limits) -> Result<()> {
    let sizes = buffers.compressors.iter().map(|c| c.place.range.len());
    let bytes = sizes.fold(0, u64::saturating_add);
    let limit = limits.max_dictionary_bytes();
    if bytes > limit {
        return Err(exceeded(
            "max_dictionary_bytes",
            limit,
            format_args!("the compressor dictionaries have {bytes} bytes"),
        ));
    }
    Ok(())
}

/// Fails if a value dictionary is too large.
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
