//! Spec: Chapter 6, "External Parquet Encoding": values in files of another format.

use super::report::At;
use super::{Checked, Verifier};
use crate::buffer::{
    ByteSource, ExternalDecoder, ExternalValues, ReadContext, Selection, StoredRange,
};
use crate::encoding::{Dictionaries, Scratch};
use crate::error::{Error, Result};
use crate::format::{BufferKind, FieldDescriptor};
use crate::read::open_shard::Shard;
use crate::read::shard::metadata::WINDOW_ROWS;
use crate::read::shard::waiting::give_way;
use arrow_array::Array;
use arrow_schema::DataType as ArrowType;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

impl Verifier<'_> {
    /// Loads the page maps of external values, decodes all pages, and counts the nulls.
    pub(super) async fn external(
        &mut self,
        values: &Arc<dyn ExternalValues>,
        field: &FieldDescriptor,
        at: &At,
    ) -> Checked {
        let artifacts = &self.shard.metadata.artifacts;
        let places = values.places();
        let file = places.first().map_or(0, |place| place.artifact);
        let at = at.buffer(BufferKind::Data, artifacts.name_of(file));
        self.external_files
            .extend(places.iter().map(|place| place.artifact));
        let bytes = places.iter().map(|place| place.range.len());
        let bytes = bytes.fold(0, u64::saturating_add);
        self.report.add_data(bytes);
        if !self.external_files_fit(&**values).await {
            return Checked::default();
        }
        let loaded = load_maps(self.shard, &**values).await;
        if self.note(at.clone(), loaded).is_none() {
            return Checked::default();
        }
        let (mut decoder, mut nulls, mut is_readable) = (values.clone().decoder(), 0, true);
        let mut start = 0;
        while start < field.position_count {
            let rows = start..start.saturating_add(WINDOW_ROWS).min(field.position_count);
            start = rows.end;
            let found = count_nulls(self.shard, &**values, &mut *decoder, rows).await;
            match self.note(at.clone(), found) {
                Some(found) => nulls += found,
                None => {
                    is_readable = false;
                    self.report.pages += decoder.num_pages();
                    decoder = values.clone().decoder();
                }
            }
            give_way().await;
        }
        self.report.pages += decoder.num_pages();
        if let Some(said) = field
            .null_count
            .filter(|said| is_readable && *said != nulls)
        {
            let text = format!("{said} values are said to be null, and {nulls} are");
            self.report.add(at, &Error::corrupt(text));
        }
        Checked {
            readable: is_readable,
            ..Checked::readable(bytes)
        }
    }

    /// Returns whether the files of external values are those that the shard was made for. Reports each other file
    /// once, and not for each of its columns.
    async fn external_files_fit(&mut self, values: &dyn ExternalValues) -> bool {
        let (mut fit, artifacts) = (true, &self.shard.metadata.artifacts);
        for end in values.file_ends() {
            let bytes = self.shard.bytes_at(end).await;
            let checked = bytes.and_then(|bytes| values.check_file(end, &bytes));
            let Err(error) = checked else {
                continue;
            };
            fit = false;
            if error.is_of_reader() {
                self.failed = self.failed.take().or(Some(error));
            } else {
                let name = artifacts.name_of(end.artifact);
                self.report.add_file(name, &error);
            }
        }
        fit
    }
}

async fn load_maps(shard: &Shard, values: &dyn ExternalValues) -> Result<()> {
    let mut missing = Vec::new();
    values.missing_maps(&mut missing);
    for place in missing {
        values.load_map(place, &shard.bytes_at(place).await?)?;
    }
    Ok(())
}

/// Decodes the values of some rows, and returns the number of nulls.
async fn count_nulls(
    shard: &Shard,
    values: &dyn ExternalValues,
    decoder: &mut dyn ExternalDecoder,
    rows: Range<u64>,
) -> Result<u64> {
    let rows = Selection::range(rows);
    let mut places = Vec::new();
    values.places_of(&rows, &mut places)?;
    let mut source = ReadPlaces::default();
    for place in places {
        let bytes = shard.bytes_at(place).await?;
        source
            .0
            .insert((place.artifact, place.range.start()), bytes);
    }
    let array = decoder.read(
        &rows,
        // The file's own type.
        &ArrowType::Null,
        &ReadContext {
            source: &source,
            limits: shard.metadata.artifacts.limits(),
            scratch: &mut Scratch::default(),
            dictionaries: Dictionaries::none(),
            verify: true,
            sequential: true,
        },
    )?;
    Ok(array.logical_null_count() as u64)
}

/// The bytes of some places, by artifact and position.
#[derive(Debug, Default)]
struct ReadPlaces(BTreeMap<(u32, u64), Bytes>);

impl ByteSource for ReadPlaces {
    fn bytes(&self, place: StoredRange) -> Result<Bytes> {
        let (artifact, start) = (place.artifact, place.range.start());
        let before = self.0.range(..=(artifact, start)).next_back();
        let found = before.filter(|((of, _), _)| *of == artifact);
        let found = found.and_then(|((_, from), bytes)| {
            let skipped = usize::try_from(start - from).ok()?;
            let end = skipped.checked_add(usize::try_from(place.range.len()).ok()?)?;
            (end <= bytes.len()).then(|| bytes.slice(skipped..end))
        });
        found.ok_or_else(|| Error::corrupt(format!("bytes {} were not read", place.range)))
    }

    fn resident(&self, _: StoredRange) -> Result<Option<Bytes>> {
        Ok(None)
    }

    fn name(&self, _: u32) -> Option<String> {
        None
    }
}
