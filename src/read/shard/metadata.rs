//! The parsed metadata of an open shard; each element is read when it is first needed.

use super::artifacts::Artifacts;
use super::cache::Cache;
use super::column::ProjectedColumns;
use super::fetch::{FetchPolicy, Fetched, StepBytes, drive};
use super::stored_types::StoredTypes;
#[cfg(any(test, feature = "experimental", feature = "threads"))]
use super::waiting::ready_now;
use crate::buffer::{
    Chunks, FieldLayout, PackedGroup, RANGE_INDEX_HEADER, RangeIndex, RangeIndexHeader,
    StoredIndex, StoredRange,
};
use crate::column::{ArrowSchemaHint, DictionaryEntries, StoredAs};
use crate::encoding::{Context, Scratch};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{
    DataRef, DataRefs, DataType, FRAME_OVERHEAD, FieldDescriptor, IndexCollection, Message,
    SchemaReader, ShardDirectory, ShardProperties, StripeDirectory, StripeFieldDescriptor,
    StripeList, StripeProperties, UrlList, ValueKind, Wire, find_property,
};
use crate::io::ByteRange;
use arrow_array::ArrayRef;
use bytes::Bytes;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A field of a stripe: the ordinal of the stripe and the schema id.
pub(in crate::read) type FieldKey = (u64, u32);

/// Positions per window: the unit of kept arrays, and of rows that are tested or read at a time.
pub(in crate::read) const WINDOW_ROWS: u64 = crate::format::WINDOW_ROWS as u64;

/// Fewest fields of a shard for which the places of values are guessed. In others, descriptors are usually in the tail.
const MIN_WIDE_FIELDS: u64 = 1024;
/// Most fields for which the places of values are guessed, so that all requests are sent at the same time.
const MAX_GUESSED_FIELDS: usize = 8;

/// Unwraps an `Option` inside a `Result`. If it is `None`, bytes are missing, and the step returns `Ok(None)`.
macro_rules! ready {
    ($step:expr) => {
        match $step? {
            Some(value) => value,
            None => return Ok(None),
        }
    };
}
pub(in crate::read) use ready;

/// References to the field descriptors of a stripe, and the artifact that contains them.
#[derive(Debug)]
pub(in crate::read) struct FieldList {
    artifact: u32,
    refs: DataRefs,
}

/// A field of a stripe: its descriptor, and the elements parsed so far.
#[derive(Debug)]
pub(in crate::read) struct StripeField {
    /// The descriptor, and the artifact that contains it; `None` if the stripe has no such field.
    described: Option<(u32, StripeFieldDescriptor)>,
    pub(super) layout: OnceLock<Arc<FieldLayout>>,
    pub(super) dictionary: OnceLock<Arc<DictionaryEntries>>,
    range_index: OnceLock<Arc<RangeIndex>>,
    pub(super) group: OnceLock<Arc<PackedGroup>>,
}

impl StripeField {
    /// Returns the descriptor, and the artifact that contains it; `None` if the stripe has no such field.
    pub(in crate::read) fn described(&self) -> Option<(u32, &StripeFieldDescriptor)> {
        self.described
            .as_ref()
            .map(|(artifact, descriptor)| (*artifact, descriptor))
    }

    /// Returns the description of the values; `None` if the stripe has no such field.
    pub(in crate::read) fn descriptor(&self) -> Option<&FieldDescriptor> {
        self.described().map(|(_, descriptor)| &descriptor.field)
    }
}

/// The layout of a stripe field's values, and the entries for their codes.
#[derive(Debug, Clone)]
pub(in crate::read) struct OpenField {
    pub(in crate::read) layout: Arc<FieldLayout>,
    /// The entries of the value dictionary, if there is one.
    pub(in crate::read) dictionary: Option<Arc<DictionaryEntries>>,
    /// How the values are stored, if they have another type than the node of the field.
    pub(in crate::read) stored_as: Option<Arc<StoredAs>>,
}

/// Omits cached elements and the access to the store, which do not belong in logs.
impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metadata")
            .field("name", &self.artifacts.name())
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// The metadata of an open shard.
pub(in crate::read) struct Metadata {
    pub(in crate::read) artifacts: Artifacts,
    pub(in crate::read) wire: Wire,
    pub(in crate::read) directory: ShardDirectory,
    schema: OnceLock<SchemaReader>,
    /// The schema id of the struct that a node is a member of, by schema id of the node.
    pub(super) structs: OnceLock<HashMap<u32, u32>>,
    hint: OnceLock<Option<ArrowSchemaHint>>,
    properties: OnceLock<ShardProperties>,
    pub(in crate::read) all_columns: OnceLock<ProjectedColumns>,
    stripes: OnceLock<(u32, Vec<StripeDirectory>)>,
    field_lists: Cache<u64, FieldList>,
    shard_field_list: OnceLock<FieldList>,
    pub(super) fields: Cache<FieldKey, StripeField>,
    pub(in crate::read) stored_types: StoredTypes,
    /// Arrays of raw byte strings, by window of positions and whether they are text.
    pub(in crate::read) byte_arrays: Cache<(FieldKey, u64, bool), ArrayRef>,
}

impl Metadata {
    /// Returns the list of stripes, if it has been read.
    pub(in crate::read) fn known_stripes(&self) -> Option<&[StripeDirectory]> {
        self.stripes.get().map(|(_, stripes)| stripes.as_slice())
    }

    /// Runs a step to its end without waiting.
    #[cfg(any(test, feature = "experimental", feature = "threads"))]
    pub(in crate::read) fn drive<T>(
        &self,
        step: impl FnMut(&StepBytes<'_>) -> Result<Option<T>>,
    ) -> Result<T> {
        ready_now(self.run(step))
    }

    /// Runs a step to its end.
    pub(in crate::read) async fn run<T>(
        &self,
        step: impl FnMut(&StepBytes<'_>) -> Result<Option<T>>,
    ) -> Result<T> {
        let mut fetched = Fetched::default();
        drive(&self.artifacts, &mut fetched, FetchPolicy::default(), step).await
    }

    pub(in crate::read) fn new(
        artifacts: Artifacts,
        wire: Wire,
        directory: ShardDirectory,
        stored_types: StoredTypes,
    ) -> Self {
        let max_bytes = artifacts.limits().max_cached_bytes();
        Self {
            artifacts,
            wire,
            directory,
            schema: OnceLock::new(),
            structs: OnceLock::new(),
            hint: OnceLock::new(),
            properties: OnceLock::new(),
            all_columns: OnceLock::new(),
            stripes: OnceLock::new(),
            field_lists: Cache::new(max_bytes),
            shard_field_list: OnceLock::new(),
            fields: Cache::new(max_bytes),
            stored_types,
            byte_arrays: Cache::new(max_bytes),
        }
    }

    fn decode<M: Message>(&self, payload: &Bytes) -> Result<M> {
        M::decode_shared(payload, self.wire, self.artifacts.limits())
    }

    /// Reads a message of the directory; a missing one has its default value.
    fn element<M: Message + Default>(
        &self,
        step: &StepBytes<'_>,
        reference: Option<&DataRef>,
        name: &str,
    ) -> Result<Option<M>> {
        let Some(reference) = reference else {
            return Ok(Some(M::default()));
        };
        let payload = ready!(step.frame(0, reference).within(|| name.to_owned()));
        self.decode(&payload).map(Some)
    }

    pub(in crate::read) fn schema(&self, step: &StepBytes<'_>) -> Result<Option<&SchemaReader>> {
        if self.schema.get().is_none() {
            let reference = required(self.directory.schema_ref.as_ref(), "schema")?;
            let payload = ready!(step.frame(0, reference).within(|| "schema".to_owned()));
            let schema = SchemaReader::try_new(payload, self.artifacts.limits())
                .within(|| "schema".to_owned())?;
            if schema.wire() != self.wire {
                return Err(Error::corrupt(format!(
                    "the directory is written for the {:?} wire, the schema for {:?}",
                    self.wire,
                    schema.wire()
                ))
                .within("schema"));
            }
            self.schema.get_or_init(|| schema);
        }
        Ok(self.schema.get())
    }

    pub(in crate::read) fn properties(
        &self,
        step: &StepBytes<'_>,
    ) -> Result<Option<&ShardProperties>> {
        if self.properties.get().is_none() {
            let reference = self.directory.properties_ref.as_ref();
            let properties = ready!(self.element(step, reference, "shard properties"));
            self.properties.get_or_init(|| properties);
        }
        Ok(self.properties.get())
    }

    /// Reads the URLs of all artifacts.
    pub(in crate::read) fn url_list(&self, step: &StepBytes<'_>) -> Result<Option<UrlList>> {
        let reference = required(self.directory.url_list_ref.as_ref(), "URL list")?;
        self.element(step, Some(reference), "URL list")
    }

    /// Reads the indexes over the whole shard.
    pub(in crate::read) fn indexes(&self, step: &StepBytes<'_>) -> Result<Option<IndexCollection>> {
        self.element(step, self.directory.indexes_ref.as_ref(), "indexes")
    }

    /// Reads the indexes over a stripe.
    pub(in crate::read) fn stripe_indexes(
        &self,
        step: &StepBytes<'_>,
        stripe: u64,
    ) -> Result<Option<IndexCollection>> {
        let (artifact, directory) = ready!(self.stripe(step, stripe));
        let Some(reference) = &directory.indexes_ref else {
            return Ok(Some(IndexCollection::default()));
        };
        let payload = ready!(step.frame(artifact, reference));
        self.decode(&payload).map(Some)
    }

    /// Returns the properties, if they have been read.
    pub(in crate::read) fn loaded_properties(&self) -> Option<&ShardProperties> {
        self.properties.get()
    }

    /// Returns the Arrow schema that the writer was given, if the shard records it. An invalid schema is ignored,
    /// because it is only a hint.
    pub(in crate::read) fn hint(
        &self,
        step: &StepBytes<'_>,
    ) -> Result<Option<Option<&ArrowSchemaHint>>> {
        if self.hint.get().is_none() {
            let properties = ready!(self.properties(step));
            let stored = find_property(&properties.custom_properties, "ARROW:schema");
            let hint = match stored.and_then(|value| value.kind.as_ref()) {
                Some(ValueKind::Bytes(bytes)) => {
                    ArrowSchemaHint::try_new(bytes.clone(), self.artifacts.limits()).ok()
                }
                _ => None,
            };
            self.hint.get_or_init(|| hint);
        }
        Ok(self.hint.get().map(Option::as_ref))
    }

    pub(in crate::read) fn stripes(
        &self,
        step: &StepBytes<'_>,
    ) -> Result<Option<&[StripeDirectory]>> {
        if self.stripes.get().is_none() {
            let name = || "stripe list".to_owned();
            let reference = required(self.directory.stripe_list_ref.as_ref(), "stripe list")?;
            let artifact = self.artifacts.resolve(&reference.url, 0).within(name)?;
            let payload = ready!(step.frame(0, reference).within(name));
            let StripeList(stripes) = self.decode(&payload)?;
            self.check_stripes(&stripes).within(name)?;
            self.stripes.get_or_init(|| (artifact, stripes));
        }
        Ok(self.stripes.get().map(|(_, stripes)| stripes.as_slice()))
    }

    fn check_stripes(&self, stripes: &[StripeDirectory]) -> Result<()> {
        if stripes.len() as u64 != self.directory.stripe_count {
            return Err(Error::corrupt(format!(
                "{} stripes, the directory promises {}",
                stripes.len(),
                self.directory.stripe_count
            )));
        }
        let (mut records, mut deleted) = (0u64, 0u64);
        for (i, stripe) in stripes.iter().enumerate() {
            if stripe.record_offset != records {
                return Err(Error::corrupt(format!(
                    "stripe {i} starts at record {}, the stripes before it hold {records}",
                    stripe.record_offset
                )));
            }
            records = records
                .checked_add(stripe.total_record_count)
                .ok_or_else(|| Error::corrupt("the records exceed 64 bits"))?;
            // No stripe has more deleted records than records, so the sum stays in range.
            deleted = deleted.saturating_add(stripe.deleted_record_count);
        }
        if records != self.directory.total_record_count {
            return Err(Error::corrupt(format!(
                "the stripes hold {records} records, the directory promises {}",
                self.directory.total_record_count
            )));
        }
        if deleted != self.directory.deleted_record_count {
            return Err(Error::corrupt(format!(
                "the stripes have {deleted} deleted records, the directory promises {}",
                self.directory.deleted_record_count
            )));
        }
        Ok(())
    }

    pub(in crate::read) fn stripe_properties(
        &self,
        step: &StepBytes<'_>,
        stripe: u64,
    ) -> Result<Option<StripeProperties>> {
        let (artifact, directory) = ready!(self.stripe(step, stripe));
        let Some(reference) = &directory.properties_ref else {
            return Ok(Some(StripeProperties::default()));
        };
        let payload = ready!(step.frame(artifact, reference));
        self.decode(&payload).map(Some)
    }

    fn stripe(&self, step: &StepBytes<'_>, stripe: u64) -> Result<Option<(u32, &StripeDirectory)>> {
        ready!(self.stripes(step));
        let found = self.stripes.get().and_then(|(artifact, stripes)| {
            Some((*artifact, stripes.get(usize::try_from(stripe).ok()?)?))
        });
        match found {
            Some(found) => Ok(Some(found)),
            None => Err(Error::new(
                ErrorKind::RowOutOfRange,
                format!("the shard has no stripe {stripe}"),
            )),
        }
    }

    pub(in crate::read) fn field_list(
        &self,
        step: &StepBytes<'_>,
        stripe: u64,
    ) -> Result<Option<Arc<FieldList>>> {
        if let Some(list) = self.field_lists.get(&stripe) {
            return Ok(Some(list));
        }
        let (artifact, directory) = ready!(self.stripe(step, stripe));
        let reference = required(directory.field_list_ref.as_ref(), "field list")?;
        let list = ready!(self.read_field_list(step, artifact, reference));
        let bytes = reference.range.len();
        Ok(Some(self.field_lists.insert(stripe, list, bytes)))
    }

    fn read_field_list(
        &self,
        step: &StepBytes<'_>,
        artifact: u32,
        reference: &DataRef,
    ) -> Result<Option<FieldList>> {
        let name = || "field list".to_owned();
        let payload = ready!(step.frame(artifact, reference).within(name));
        Ok(Some(FieldList {
            artifact: self.artifacts.resolve(&reference.url, artifact)?,
            refs: DataRefs::try_new(&payload, self.artifacts.limits())?,
        }))
    }

    /// Returns a field of a stripe with its descriptor.
    pub(in crate::read) fn field(
        &self,
        step: &StepBytes<'_>,
        key: FieldKey,
    ) -> Result<Option<Arc<StripeField>>> {
        if let Some(field) = self.fields.get(&key) {
            return Ok(Some(field));
        }
        let (stripe, id) = key;
        let list = ready!(self.field_list(step, stripe));
        let mut bytes = 0;
        let mut described = None;
        if let Some(reference) = list.refs.get(id as usize)? {
            let mut payload = ready!(
                step.frame(list.artifact, &reference)
                    .within(|| "field descriptor".to_owned())
            );
            let artifact = self.artifacts.resolve(&reference.url, list.artifact)?;
            if !step.is_resident(artifact) {
                // Copy the message, so that it does not keep all bytes that were fetched with it.
                payload = Bytes::copy_from_slice(&payload);
            }
            bytes = 2 * payload.len() as u64;
            let descriptor = self.artifacts.placed(artifact, self.decode(&payload))?;
            described = Some((artifact, descriptor));
        }
        let field = StripeField {
            described,
            layout: OnceLock::new(),
            dictionary: OnceLock::new(),
            range_index: OnceLock::new(),
            group: OnceLock::new(),
        };
        Ok(Some(self.fields.insert(key, field, bytes)))
    }

    /// Whether the descriptor of a stripe field has been read.
    pub(in crate::read) fn has_field(&self, key: FieldKey) -> bool {
        self.fields.get(&key).is_some()
    }

    /// Returns the size in bytes of the descriptor of a stripe field; needs only the field list.
    pub(in crate::read) fn descriptor_bytes(
        &self,
        step: &StepBytes<'_>,
        (stripe, id): FieldKey,
    ) -> Result<Option<u64>> {
        let list = ready!(self.field_list(step, stripe));
        let reference = list.refs.get(id as usize)?;
        Ok(Some(reference.map_or(0, |reference| reference.range.len())))
    }

    /// Guesses the places of the values of some fields, which descriptors will locate. In the only stripe of a wide
    /// shard, they are about where they would be if all fields had the same size: the values of all fields come first,
    /// in the order of the fields, and then the descriptors. Guesses nothing if the descriptors are not in the
    /// directory file.
    pub(in crate::read) fn guess_values(
        &self,
        step: &StepBytes<'_>,
        stripe: u64,
        ids: &[u32],
    ) -> Result<()> {
        if self.directory.stripe_count > 1 || !self.is_one_file() || ids.len() > MAX_GUESSED_FIELDS
        {
            return Ok(());
        }
        let Some(list) = self.field_list(step, stripe)? else {
            return Ok(());
        };
        let count = list.refs.len() as u64;
        let Some(first) = list.refs.get(0)?.filter(|_| count >= MIN_WIDE_FIELDS) else {
            return Ok(());
        };
        if self.artifacts.resolve(&first.url, list.artifact)? != 0 {
            return Ok(());
        }
        // The reference may be wrong, but a guess must not make the request for other places fail.
        let end = first.range.start().min(self.artifacts.root_size());
        let border = |field: u32| {
            let before = u128::from(end) * u128::from(field) / u128::from(count);
            u64::try_from(before).unwrap_or(end)
        };
        // Sizes that differ by half on average add up to a deviation that grows with the root of the number of fields.
        let deviation = end / count.isqrt() / 2;
        for &id in ids {
            let from = border(id).saturating_sub(deviation);
            let to = border(id.saturating_add(1)).saturating_add(deviation);
            let range = ByteRange::try_new(from.min(end), to.min(end))?;
            step.guess(vec![StoredRange { artifact: 0, range }]);
        }
        Ok(())
    }

    /// Whether the shard has no files other than its directory file.
    pub(in crate::read) fn is_one_file(&self) -> bool {
        let urls = self.directory.url_list_ref.as_ref();
        urls.is_none_or(|urls| urls.range.len() <= FRAME_OVERHEAD as u64)
    }

    /// Whether the list of the shard-level descriptors has been read.
    pub(in crate::read) fn has_shard_field_list(&self) -> bool {
        self.shard_field_list.get().is_some()
    }

    /// Returns the shard-level descriptor of a field; the inner `None` if no stripe has the field.
    pub(in crate::read) fn shard_descriptor(
        &self,
        step: &StepBytes<'_>,
        id: u32,
    ) -> Result<Option<Option<FieldDescriptor>>> {
        if self.shard_field_list.get().is_none() {
            let reference = required(self.directory.field_list_ref.as_ref(), "shard field list")?;
            let list = ready!(self.read_field_list(step, 0, reference));
            self.shard_field_list.get_or_init(|| list);
        }
        let list = required(self.shard_field_list.get(), "shard field list")?;
        let Some(mut reference) = list.refs.get(id as usize)? else {
            return Ok(Some(None));
        };
        // The reference implementation writes the original absolute URL of the shard in these entries, which is wrong
        // once the shard has moved: the bytes are in this file.
        if self.wire == Wire::Reference {
            reference.url.clear();
        }
        let payload = ready!(step.frame(list.artifact, &reference));
        self.decode(&payload)
            .map(|descriptor| Some(Some(descriptor)))
    }

    /// Returns the range index of a stripe field; the inner `None` if it has none, or if its values have another type
    /// than the node.
    pub(in crate::read) fn range_index(
        &self,
        step: &StepBytes<'_>,
        key: FieldKey,
        node: &DataType,
    ) -> Result<Option<Option<Arc<RangeIndex>>>> {
        if self.stored_types.get(key).is_some() {
            return Ok(Some(None));
        }
        let field = ready!(self.field(step, key));
        if let Some(index) = field.range_index.get() {
            return Ok(Some(Some(index.clone())));
        }
        let layout = ready!(self.layout(step, key, &field, node));
        let Some(stored) = layout.range_index() else {
            return Ok(Some(None));
        };
        let name = || "range index".to_owned();
        self.check_message(stored.place.range).within(name)?;
        let bytes = ready!(step.get(stored.place));
        let mut scratch = Scratch::default();
        let mut cx = Context::new(self.artifacts.limits(), &mut scratch);
        let header = self.header_checksums(stored);
        let parsed = RangeIndex::parse(&bytes, node, layout.positions, header, &mut cx);
        let checked = parsed.and_then(|index| {
            if let Some(expected) = stored.carried.as_ref().filter(|_| self.verifies()) {
                expected.check_all(&RangeIndex::carried_checksums(&bytes)?)?;
            }
            Ok(index)
        });
        let index = self
            .artifacts
            .placed(stored.place.artifact, checked.within(name));
        let index = Arc::new(index?);
        if field.range_index.set(index.clone()).is_ok() {
            self.fields.grow(&key, index.memory_size());
        }
        Ok(Some(Some(index)))
    }

    /// Returns the header of the range index of a stripe field; the inner `None` if it has none, or if its values have
    /// another type than the node.
    pub(in crate::read) fn range_index_header(
        &self,
        step: &StepBytes<'_>,
        key: FieldKey,
        node: &DataType,
    ) -> Result<Option<Option<RangeIndexHeader>>> {
        if self.stored_types.get(key).is_some() {
            return Ok(Some(None));
        }
        let field = ready!(self.field(step, key));
        let layout = ready!(self.layout(step, key, &field, node));
        let Some(stored) = layout.range_index() else {
            return Ok(Some(None));
        };
        let range = stored.place.range;
        let range = range.slice(0, range.len().min(RANGE_INDEX_HEADER as u64))?;
        let place = StoredRange {
            range,
            ..stored.place
        };
        let bytes = ready!(step.get(place));
        let checksums = self.header_checksums(stored);
        let parsed = RangeIndexHeader::parse(&bytes, node, layout.positions, checksums)
            .within(|| "range index".to_owned());
        let header = self.artifacts.placed(place.artifact, parsed)?;
        Ok(Some(Some(header)))
    }

    fn header_checksums<'a>(&self, stored: &'a StoredIndex) -> Option<&'a Chunks> {
        stored.header_checksums.as_ref().filter(|_| self.verifies())
    }

    /// Whether checksums of data are verified.
    pub(super) fn verifies(&self) -> bool {
        self.artifacts.options().verify_checksums()
    }

    pub(super) fn check_message(&self, range: ByteRange) -> Result<()> {
        self.artifacts.limits().check_message_bytes(range.len())
    }
}

fn required<'a, T>(element: Option<&'a T>, name: &str) -> Result<&'a T> {
    element.ok_or_else(|| Error::corrupt(format!("the shard has no {name}")))
}
