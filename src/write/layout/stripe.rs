//! One stripe: the encoders of all its fields.

use super::dictionary_headroom::DictionaryHeadroom;
use super::directory::StripeRecord;
use super::lane::Lane;
use super::packed_group::pack;
use super::positioned_sink::PositionedSink;
use super::workers::Workers;
use crate::buffer::OwnProperties;
use crate::column::{Chunk, Values};
use crate::error::{Error, Result};
use crate::format::{
    Capabilities, DataEncoding, NameValuePair, NativeDataEncoding, StripeFieldDescriptor,
    StripeProperties, WINDOW_ROWS,
};
use crate::write::choose::candidate::Candidate;
use crate::write::field::encoder::{EncodedField, FieldEncoder};
use crate::write::field::plan::FieldPlan;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

/// A chunk of a batch and the schema node that it belongs to.
pub(in crate::write) type NodeChunk = (u32, Chunk<Values>);

/// Most batches held back, so that a field encodes several together.
const MAX_PENDING_BATCHES: usize = 64;
/// Most bytes of values held back.
const MAX_PENDING_BYTES: u64 = 32 << 20;

/// Most rounds of batches that a field may lag behind. With more, threads wait less for each other, but the batches
/// take more memory.
const MAX_LATE_ROUNDS: usize = 2;

/// The fields of a stripe, by schema id. Dropping this cancels the jobs that have not begun.
#[derive(Debug)]
struct Lanes(Vec<Arc<Lane>>);

impl Lanes {
    /// Returns a lane. While more than `most` of its jobs are open, this thread first runs jobs that no other thread
    /// has taken, starting with the jobs of that lane. If none is left, the lane may still be behind; its methods wait.
    fn caught_up(&self, ordinal: usize, most: usize) -> Option<&Lane> {
        let (before, behind) = self.0.split_at_checked(ordinal)?;
        let lane = behind.first()?;
        let mut helped = true;
        while helped {
            helped = false;
            for other in behind.iter().chain(before) {
                if !lane.is_behind(most) {
                    return Some(lane);
                }
                helped |= other.help();
            }
        }
        Some(lane)
    }

    /// Returns all lanes in order, each as [`caught_up`](Self::caught_up) does.
    fn all_caught_up(&self, most: usize) -> impl Iterator<Item = &Lane> {
        (0..self.0.len()).filter_map(move |ordinal| self.caught_up(ordinal, most))
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.0.iter().for_each(|lane| lane.cancel());
    }
}

/// Collects the rows of one stripe.
#[derive(Debug)]
pub(in crate::write) struct StripeBuilder {
    rows: u64,
    bytes: u64,
    lanes: Lanes,
    /// The dictionary headroom of each field.
    headrooms: Vec<DictionaryHeadroom>,
    /// Memory of each field some rounds ago. Together with `since` (bytes of the later batches) this depends on the
    /// rows alone, not on thread timing, so stripe borders do not depend on it either.
    sizes: Vec<usize>,
    since: VecDeque<u64>,
    /// Chunks that are not passed to their fields yet, by schema id, with the number of batches and their bytes. A
    /// field gets the chunks of a window at once (a round), so that the collected values are still in the cache when
    /// they are encoded.
    pending: Vec<Vec<Chunk<Values>>>,
    pending_batches: usize,
    pending_bytes: u64,
}

/// A stripe that has all its rows; threads may still be encoding them.
#[derive(Debug)]
pub(in crate::write) struct FullStripe {
    rows: u64,
    memory: usize,
    lanes: Lanes,
}

/// A finished stripe, not yet written.
#[derive(Debug)]
pub(in crate::write) struct EncodedStripe {
    pub(in crate::write) rows: u64,
    /// The fields by schema id.
    pub(in crate::write) fields: Vec<EncodedField>,
}

impl StripeBuilder {
    pub(in crate::write) fn new(plans: &[Arc<FieldPlan>]) -> Self {
        Self::with_headrooms(
            plans,
            plans
                .iter()
                .map(|plan| DictionaryHeadroom::new(plan))
                .collect(),
        )
    }

    /// Returns a builder for the next stripe.
    pub(in crate::write) fn next(&self, plans: &[Arc<FieldPlan>]) -> Self {
        Self::with_headrooms(
            plans,
            self.headrooms
                .iter()
                .map(DictionaryHeadroom::next)
                .collect(),
        )
    }

    fn with_headrooms(plans: &[Arc<FieldPlan>], headrooms: Vec<DictionaryHeadroom>) -> Self {
        let lane = |plan: &Arc<FieldPlan>| Arc::new(Lane::new(FieldEncoder::new(plan.clone())));
        Self {
            rows: 0,
            bytes: 0,
            lanes: Lanes(plans.iter().map(lane).collect()),
            headrooms,
            sizes: vec![0; plans.len()],
            since: VecDeque::new(),
            pending: plans.iter().map(|_| Vec::new()).collect(),
            pending_batches: 0,
            pending_bytes: 0,
        }
    }

    pub(in crate::write) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the size of Arrow data so far in bytes.
    pub(in crate::write) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns whether these rows must go into another stripe.
    ///
    /// # Errors
    /// Returns the errors of earlier rows.
    pub(in crate::write) fn would_overflow(
        &mut self,
        chunks: &[NodeChunk],
        workers: &Workers,
    ) -> Result<bool> {
        let may_overflow = |(id, chunk): &&NodeChunk| {
            let headroom = self.headrooms.get(*id as usize);
            headroom.is_some_and(|headroom| !headroom.surely_holds(chunk))
        };
        let dictionaries: Vec<_> = chunks.iter().filter(may_overflow).collect();
        if dictionaries.is_empty() {
            return Ok(false);
        }
        self.settle(workers)?;
        for (id, chunk) in dictionaries {
            let id = *id as usize;
            let (Some(lane), Some(headroom)) =
                (self.lanes.caught_up(id, 0), self.headrooms.get_mut(id))
            else {
                continue;
            };
            let answer = lane.ask(|field| (field.would_overflow(chunk), field.dictionary()))?;
            match answer {
                Some((true, _)) => return Ok(true),
                Some((false, used)) => headroom.correct(used),
                None => {}
            }
        }
        Ok(false)
    }

    /// Appends rows, which must not cross the border of a window. `bytes` counts them as Arrow data, `memory` as
    /// shredded values.
    ///
    /// # Errors
    /// Returns the errors of these or of earlier rows.
    pub(in crate::write) fn push(
        &mut self,
        rows: u64,
        bytes: u64,
        memory: u64,
        chunks: Vec<NodeChunk>,
        workers: &Workers,
    ) -> Result<()> {
        let mut held = 0;
        for (id, chunk) in chunks {
            let place = self.pending.get_mut(id as usize);
            let (Some(place), Some(headroom)) = (place, self.headrooms.get_mut(id as usize)) else {
                return Err(Error::invalid(format!("no schema node {id}")));
            };
            held += headroom.take(&chunk) as u64 + chunk.slots_size();
            place.push(chunk);
        }
        self.rows += rows;
        self.bytes += bytes;
        self.pending_batches += 1;
        self.pending_bytes += memory.max(held);
        let full = self.rows.is_multiple_of(WINDOW_ROWS as u64)
            || self.pending_batches >= MAX_PENDING_BATCHES
            || self.pending_bytes >= MAX_PENDING_BYTES;
        if full { self.settle(workers) } else { Ok(()) }
    }

    /// Passes the pending chunks to all fields, and waits for fields that lag too far behind.
    fn settle(&mut self, workers: &Workers) -> Result<()> {
        if self.pending_batches == 0 {
            return Ok(());
        }
        for (lane, chunks) in self.lanes.0.iter().zip(&mut self.pending) {
            let next = Vec::with_capacity(chunks.len());
            if lane.append(std::mem::replace(chunks, next)) {
                workers.run(lane);
            }
        }
        for (lane, size) in self
            .lanes
            .all_caught_up(MAX_LATE_ROUNDS)
            .zip(&mut self.sizes)
        {
            *size = lane.size_before(MAX_LATE_ROUNDS)?.unwrap_or(*size);
        }
        self.pending_batches = 0;
        self.since
            .push_back(std::mem::take(&mut self.pending_bytes));
        if self.since.len() > MAX_LATE_ROUNDS {
            self.since.pop_front();
        }
        Ok(())
    }

    /// Returns the approximate memory size in bytes.
    pub(in crate::write) fn memory_size(&self) -> usize {
        let since = self.since.iter().sum::<u64>() + self.pending_bytes;
        let since = usize::try_from(since).unwrap_or(usize::MAX);
        self.sizes.iter().sum::<usize>().saturating_add(since)
    }

    /// Returns the candidate encodings of the staged values of each schema node.
    pub(in crate::write) fn into_candidates(
        mut self,
        workers: &Workers,
    ) -> Result<Vec<Vec<Candidate>>> {
        self.settle(workers)?;
        self.lanes.all_caught_up(0).map(Lane::candidates).collect()
    }

    /// Starts the encoding of the remaining values, largest fields first.
    ///
    /// # Errors
    /// Returns the errors of the rows.
    pub(in crate::write) fn finish(mut self, workers: &Workers) -> Result<FullStripe> {
        self.settle(workers)?;
        let mut lanes: Vec<_> = self.lanes.0.iter().zip(&self.sizes).collect();
        lanes.sort_by_key(|(_, size)| Reverse(**size));
        for (lane, _) in lanes {
            if lane.finish() {
                workers.run(lane);
            }
        }
        Ok(FullStripe {
            rows: self.rows,
            memory: self.memory_size(),
            lanes: self.lanes,
        })
    }
}

impl FullStripe {
    pub(in crate::write) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the approximate memory size in bytes.
    pub(in crate::write) fn memory_size(&self) -> usize {
        self.memory
    }

    /// Returns whether all fields are encoded.
    pub(in crate::write) fn is_encoded(&self) -> bool {
        !self.lanes.0.iter().any(|lane| lane.is_behind(0))
    }

    /// Waits until all fields are encoded.
    ///
    /// # Errors
    /// Returns the errors of the rows.
    pub(in crate::write) fn encoded(self) -> Result<EncodedStripe> {
        let lanes = self.lanes.all_caught_up(0);
        let mut fields = lanes.map(Lane::encoded).collect::<Result<Vec<_>>>()?;
        // Shards that share rows are recognized by the bytes that they refer to, so a stripe needs some.
        if fields.iter().all(|field| field.buffers.is_empty()) {
            let _ = fields.iter_mut().any(EncodedField::store_constant);
        }
        pack(&mut fields)?;
        Ok(EncodedStripe {
            rows: self.rows,
            fields,
        })
    }
}

/// Writes the buffers of a stripe to the file with that URL, which is empty for the directory file. `properties` are
/// the user's, in the order of the schema ids of their columns.
pub(in crate::write) fn write_stripe(
    stripe: EncodedStripe,
    url: String,
    out: &mut PositionedSink<'_>,
    properties: Vec<(usize, Vec<NameValuePair>)>,
    capabilities: &Capabilities,
) -> Result<StripeRecord> {
    let mut properties = properties.into_iter().peekable();
    let mut fields = Vec::with_capacity(stripe.fields.len());
    for (id, field) in stripe.fields.into_iter().enumerate() {
        let mut notes = OwnProperties::default();
        let mut native = NativeDataEncoding::default();
        for (ordinal, mut buffer) in (0u16..).zip(field.buffers) {
            native.packed_group |= buffer.is_packed_group();
            if capabilities.checksum_properties {
                buffer.list_checksums();
            }
            out.align()?;
            let start = out.position();
            buffer.write(|bytes| out.write(bytes))?;
            let described = buffer.describe(&url, start, ordinal, &mut notes)?;
            native.buffers.push(described);
        }
        let mut descriptor = field.descriptor;
        if capabilities.checksum_properties {
            descriptor.custom_properties.extend(notes.to_properties());
        }
        if let Some((_, own)) = properties.next_if(|(column, _)| *column == id) {
            descriptor.custom_properties.extend(own);
        }
        fields.push(Some(StripeFieldDescriptor {
            field: descriptor,
            encodings: vec![DataEncoding::Native(native)],
        }));
    }
    // Raw buffers are padded to a multiple of 64 as well.
    out.align()?;
    Ok(StripeRecord {
        rows: stripe.rows,
        deleted_rows: 0,
        urls: Some(url)
            .filter(|url| !url.is_empty())
            .into_iter()
            .collect(),
        fields,
        properties: StripeProperties::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::ByteValues;
    use crate::write::schema::plans_of_column;
    use arrow_buffer::{Buffer, OffsetBuffer};
    use arrow_schema::{DataType, Field};
    use std::ops::Range;

    /// A dictionary of texts.
    fn entries(texts: &[&str]) -> Arc<Chunk<Values>> {
        let entries = Chunk {
            len: texts.len(),
            nulls: None,
            values: Values::Bytes(ByteValues::Offsets64(
                OffsetBuffer::from_lengths(texts.iter().map(|text| text.len())),
                Buffer::from(texts.concat().as_bytes()),
            )),
        };
        Arc::new(entries)
    }

    /// A chunk of the first node.
    fn coded(codes: Range<u32>, entries: &Arc<Chunk<Values>>) -> NodeChunk {
        let chunk = Chunk {
            len: codes.len(),
            nulls: None,
            values: Values::Dictionary {
                codes: codes.collect(),
                entries: Arc::clone(entries),
            },
        };
        (0, chunk)
    }

    #[test]
    fn dictionaries_that_readers_would_not_take_go_into_several_stripes() {
        let key = DataType::Int32.into();
        let column = Field::new("a", DataType::Dictionary(key, DataType::Utf8.into()), true);
        let mut plans = plans_of_column(column);
        // An offset and a sorted id take 12 bytes.
        Arc::make_mut(&mut plans[0]).most_dictionary_bytes = 3 * (20 + 12);
        let workers = Workers::try_new(1).unwrap();
        let texts = ["a", "b", "c", "d"].map(|text| text.repeat(20));
        let [a, b, c, d] = texts.each_ref().map(String::as_str);
        let all = entries(&[a, b, c, d]);
        let mut stripe = StripeBuilder::new(&plans);
        for given in [[a, b], [b, a], [a, a], [b, c]] {
            let chunk = [coded(0..2, &entries(&given))];
            assert!(
                !stripe.would_overflow(&chunk, &workers).unwrap(),
                "{given:?}"
            );
            stripe.push(2, 2, 2, chunk.into(), &workers).unwrap();
        }
        for (codes, overflows) in [(2..3, false), (3..4, true), (0..4, true)] {
            let chunk = [coded(codes, &all)];
            assert_eq!(stripe.would_overflow(&chunk, &workers).unwrap(), overflows);
        }
        let other = [coded(0..1, &entries(&["d"]))];
        assert!(stripe.would_overflow(&other, &workers).unwrap());
        // The first rows of a stripe may be too many too.
        for (codes, overflows) in [(0..4, true), (0..3, false), (1..4, false)] {
            let mut stripe = StripeBuilder::new(&plans);
            let chunk = [coded(codes, &all)];
            assert_eq!(stripe.would_overflow(&chunk, &workers).unwrap(), overflows);
        }

        // Rows after the first ones use other entries of the same dictionary.
        let mut stripe = StripeBuilder::new(&plans);
        for (codes, overflows) in [(0..2, false), (0..3, false), (2..4, true)] {
            let chunk = [coded(codes.clone(), &all)];
            let found = stripe.would_overflow(&chunk, &workers).unwrap();
            assert_eq!(found, overflows, "{codes:?}");
            if !overflows {
                stripe
                    .push(codes.len() as u64, 2, 2, chunk.into(), &workers)
                    .unwrap();
            }
        }
    }

    #[test]
    fn a_chunk_that_cannot_be_encoded_is_of_a_column() {
        let member = Field::new("b", DataType::Int32, true);
        let column = Field::new("a", DataType::Struct(vec![member].into()), true);
        let plans = plans_of_column(column);
        let workers = Workers::try_new(1).unwrap();
        let mut stripe = StripeBuilder::new(&plans);
        let wrong = Chunk {
            len: 1,
            nulls: None,
            values: Values::Bits(vec![true].into()),
        };
        stripe.push(1, 1, 1, vec![(1, wrong)], &workers).unwrap();
        let error = stripe.finish(&workers).unwrap_err().to_string();
        assert!(error.contains("column `a.b`"), "{error}");
    }
}
