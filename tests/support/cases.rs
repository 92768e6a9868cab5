//! Random shards: their data, writer options, ways to open them, and projections.
#![allow(
    dead_code,
    reason = "each test is a crate of its own and uses a part of this"
)]

use crate::common::arrays::random_batch;
use crate::common::equal::rows_equal;
use crate::common::native::representable;
use crate::support::layouts::{has_leaf, random_blobs, random_layout, random_presence};
use crate::support::{NAME, Remote, unaligned};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader, StructArray,
};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_shard::Shard;
use arrow_shard::io::{MemoryFolder, ReadAt};
use arrow_shard::metadata::{TypeMapping, Wire};
use arrow_shard::read::{Projection, ShardOptions, ShardReader};
use arrow_shard::write::{Layout, Profile, WriterOptions};
use bytes::Bytes;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use std::sync::Arc;

/// Returns the columns of a schema, one line each.
pub(crate) fn text(schema: &Schema) -> String {
    let line = |field: &FieldRef| {
        let not_null = if field.is_nullable() { "" } else { " not null" };
        format!("  `{}`: {}{not_null}", field.name(), field.data_type())
    };
    schema
        .fields()
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The written data.
pub(crate) struct Data {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
    /// First row of each batch.
    starts: Vec<usize>,
    pub(crate) rows: usize,
}

impl Data {
    pub(crate) fn random(
        rng: &mut StdRng,
        schema: &SchemaRef,
        batches: usize,
        max_rows: usize,
        mapping: TypeMapping,
    ) -> Self {
        let count = rng.random_range(0..=batches);
        let mut batches = Vec::new();
        for _ in 0..count {
            let rows = match rng.random_range(0..10) {
                0 => 0,
                1 => 1,
                2 => rng.random_range(1..20).min(max_rows),
                // Around the ends of small blocks.
                3 => rng.random_range(1020..1030).min(max_rows),
                _ => rng.random_range(max_rows / 3..=max_rows),
            };
            let mut batch = random_batch(rng, schema, rows);
            if mapping == TypeMapping::Amudai {
                batch = representable_batch(&batch);
            }
            let mut start = 0;
            while rng.random_ratio(1, 3) && start < rows {
                let len = rng.random_range(0..=rows - start);
                batches.push(batch.slice(start, len));
                start += len;
            }
            batches.push(batch.slice(start, rows - start));
        }
        let mut rows = 0;
        let starts = batches.iter().map(|batch| {
            rows += batch.num_rows();
            rows - batch.num_rows()
        });
        Self {
            schema: schema.clone(),
            starts: starts.collect(),
            rows,
            batches,
        }
    }

    /// Checks that `actual` contains the given rows of the columns that `column` selects from a batch.
    pub(crate) fn check(
        &self,
        actual: &RecordBatch,
        rows: &[usize],
        columns: &[Pick],
    ) -> Result<(), String> {
        if actual.num_rows() != rows.len() {
            return Err(format!(
                "expected {} rows, found {}",
                rows.len(),
                actual.num_rows()
            ));
        }
        for (pick, found) in columns.iter().zip(actual.columns()) {
            found
                .to_data()
                .validate_full()
                .map_err(|e| format!("{pick:?} is no valid array: {e}"))?;
            let mut by_batch: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.batches.len()];
            for (i, row) in rows.iter().enumerate() {
                // Of several batches with this start, only the last one is not empty.
                let batch = self.starts.partition_point(|start| start <= row) - 1;
                by_batch[batch].push((row - self.starts[batch], i));
            }
            for (batch, pairs) in self.batches.iter().zip(by_batch) {
                if !pairs.is_empty() {
                    let expected = pick.of(batch);
                    rows_equal(&expected, found, pairs.into_iter())
                        .map_err(|difference| format!("{pick:?}{difference}"))?;
                }
            }
        }
        Ok(())
    }

    /// Checks that the batches of a scan contain these rows in this order.
    pub(crate) fn check_scan(
        &self,
        reader: ShardReader,
        rows: std::ops::Range<usize>,
        columns: &[Pick],
        batch_size: usize,
    ) -> Result<(), String> {
        let schema = reader.schema();
        let mut at = rows.start;
        for batch in reader {
            let batch = batch.map_err(|e| format!("from row {at} on: {e}"))?;
            if batch.schema() != schema {
                return Err(format!("a batch of schema {:?}", batch.schema()));
            }
            let end = at + batch.num_rows();
            if end == at || end - at > batch_size || end > rows.end {
                return Err(format!("a batch of {} rows at {at} of {rows:?}", end - at));
            }
            let wanted: Vec<usize> = (at..end).collect();
            self.check(&batch, &wanted, columns)
                .map_err(|e| format!("batch of rows {at}..{end}: {e}"))?;
            at = end;
        }
        if at != rows.end {
            return Err(format!("the scan of {rows:?} ends at {at}"));
        }
        Ok(())
    }

    pub(crate) fn all_columns(&self) -> Vec<Pick> {
        (0..self.schema.fields().len()).map(Pick::whole).collect()
    }
}

fn representable_batch(batch: &RecordBatch) -> RecordBatch {
    let columns = batch.columns().iter().map(representable).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options).unwrap()
}

/// A column, or a member of a struct at any depth.
#[derive(Debug, Clone)]
pub(crate) struct Pick {
    column: usize,
    members: Vec<usize>,
}

impl Pick {
    pub(crate) fn whole(column: usize) -> Self {
        Self {
            column,
            members: Vec::new(),
        }
    }

    fn of(&self, batch: &RecordBatch) -> ArrayRef {
        member(batch.column(self.column), &self.members)
    }

    /// Returns the field after the projection.
    pub(crate) fn field(&self, schema: &Schema) -> Field {
        member_field(schema.field(self.column), &self.members)
    }
}

fn member(array: &ArrayRef, members: &[usize]) -> ArrayRef {
    let Some((&first, rest)) = members.split_first() else {
        return array.clone();
    };
    let parent = array.as_struct();
    let child = member(parent.column(first), rest);
    let field = Field::new("", child.data_type().clone(), true);
    let nulls = parent.nulls().cloned();
    Arc::new(StructArray::try_new(vec![field].into(), vec![child], nulls).unwrap())
}

fn member_field(field: &Field, members: &[usize]) -> Field {
    let (Some((&first, rest)), DataType::Struct(fields)) =
        (members.split_first(), field.data_type())
    else {
        return field.clone();
    };
    let child = member_field(&fields[first], rest);
    field
        .clone()
        .with_data_type(DataType::Struct(vec![child].into()))
}

pub(crate) fn random_options(
    rng: &mut StdRng,
    schema: &Schema,
    rows: usize,
    profiles: &[Profile],
    wire: Wire,
) -> WriterOptions {
    let profile = *profiles.choose(rng).unwrap();
    let mut options = WriterOptions::default()
        .with_profile(profile)
        .with_wire(wire)
        .with_presence(random_presence(rng))
        .with_threads(rng.random_range(1..=3));
    if rng.random_ratio(1, 3) {
        options = options.with_layout(Layout::TwoLevel);
    }
    if rng.random() {
        let most = [1024, 2048, 65_536];
        options = options.with_block_values(*most.choose(rng).unwrap());
    }
    match rng.random_range(0..6) {
        // At most a handful of stripes.
        0 | 1 => {
            let least = (rows / 6).max(1);
            options = options.with_stripe_rows(rng.random_range(least..=least * 5) as u64);
        }
        2 => options = options.with_stripe_bytes(rng.random_range(1000..1_000_000)),
        3 => options = options.with_memory_limit(rng.random_range(20_000..1_000_000)),
        _ => {}
    }
    // The reference wire does not support these layouts.
    let all_layouts = wire == Wire::Spec;
    let shares = cfg!(feature = "zstd") && all_layouts && rng.random_ratio(1, 4);
    options = options.with_compressor_dictionary_enabled(shares);
    // Packed and delimited columns have no value dictionary, so they are rare: filters must be tested with
    // dictionaries, too.
    let packs = all_layouts && rng.random_ratio(1, 12);
    if packs {
        options = packed_columns(schema, options, rng);
    }
    for field in schema.fields() {
        if rng.random_ratio(1, 5) {
            let mut column = random_layout(rng, schema, field.name(), all_layouts);
            if all_layouts && !packs {
                column = random_blobs(rng, schema, field.name(), column);
            }
            if rng.random() {
                column = column.with_profile(*profiles.choose(rng).unwrap());
            }
            options = options.with_column(field.name(), column);
        }
    }
    options
}

/// Packs some of the columns, if one of these is not nested.
fn packed_columns(schema: &Schema, options: WriterOptions, rng: &mut StdRng) -> WriterOptions {
    let mut names: Vec<&str> = Vec::new();
    for field in schema.fields() {
        if rng.random() && !names.contains(&field.name().as_str()) {
            names.push(field.name());
        }
    }
    let packed = schema.fields().iter();
    let packed = packed.filter(|field| names.contains(&field.name().as_str()));
    let members = packed.cloned().collect();
    match has_leaf(&Field::new("packed", DataType::Struct(members), false)) {
        true => options.with_packed_columns(names),
        false => options,
    }
}

/// Opens the shard from memory, from memory without alignment, or by positioned reads.
pub(crate) fn random_source(rng: &mut StdRng, folder: &MemoryFolder) -> Shard {
    let kind = rng.random_range(0..4);
    let placed = MemoryFolder::new();
    let mut directory: Arc<dyn ReadAt> = Arc::new(Bytes::new());
    for name in folder.names() {
        let bytes = folder.get(&name).unwrap();
        let bytes = if kind == 1 { unaligned(&bytes) } else { bytes };
        if name == NAME {
            directory = match kind {
                0 | 1 => Arc::new(bytes.clone()),
                _ => Arc::new(Remote(bytes.clone())),
            };
        }
        placed.insert(name, bytes);
    }
    let mut options = ShardOptions::default();
    if rng.random_ratio(1, 4) {
        options = options.with_verify_checksums(false);
    }
    if rng.random() {
        options = options
            .with_tail_bytes(*[0, 12, 100, 4096].choose(rng).unwrap())
            .with_fetch_bytes(*[1, 1000, 100_000].choose(rng).unwrap())
            .with_coalesce_gap(*[0, 1, 4096, 1 << 30].choose(rng).unwrap());
    }
    let container: Arc<dyn arrow_shard::io::Container> = match kind {
        3 => Arc::new(RemoteFolder(placed)),
        _ => Arc::new(placed),
    };
    Shard::from_reader(directory, container, options).unwrap()
}

/// A folder with files that are only available through reads.
#[derive(Debug)]
struct RemoteFolder(MemoryFolder);

impl arrow_shard::io::Container for RemoteFolder {
    fn open(&self, url: &arrow_shard::io::RelativeUrl) -> arrow_shard::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(Remote(self.0.get(url.path()).unwrap())))
    }
}

/// Returns some columns or parts of columns, by index or path, and the expected result.
pub(crate) fn random_projection(rng: &mut StdRng, schema: &Schema) -> (Projection, Vec<Pick>) {
    let columns = schema.fields().len();
    let some: Vec<usize> = (0..columns).filter(|_| rng.random()).collect();
    let mut some = some;
    rand::seq::SliceRandom::shuffle(some.as_mut_slice(), rng);
    if rng.random() {
        let picks = some.iter().copied().map(Pick::whole).collect();
        return (Projection::from(some), picks);
    }
    let mut paths = Vec::new();
    let mut picks = Vec::new();
    for column in some {
        let field = schema.field(column);
        let same = schema.fields().iter().filter(|f| f.name() == field.name());
        if same.count() > 1 {
            continue;
        }
        let mut path = field.name().clone();
        let mut pick = Pick::whole(column);
        let mut field: &Field = field;
        while let DataType::Struct(fields) = field.data_type() {
            let unique = |f: &&FieldRef| {
                !f.name().contains('.')
                    && fields.iter().filter(|o| o.name() == f.name()).count() == 1
            };
            let members: Vec<&FieldRef> = fields.iter().filter(unique).collect();
            let Some(&chosen) = members.choose(rng).filter(|_| rng.random_ratio(2, 3)) else {
                break;
            };
            let longer = format!("{path}.{}", chosen.name());
            // A column with this name, or with a name that begins the path, would take precedence.
            if schema
                .fields()
                .iter()
                .any(|f| longer.starts_with(f.name()) && f.name().len() > path.len())
            {
                break;
            }
            path = longer;
            pick.members
                .push(fields.iter().position(|f| f == chosen).unwrap());
            field = chosen;
        }
        paths.push(path);
        picks.push(pick);
    }
    (Projection::from(paths), picks)
}
