//! Random histories of shards: written, merged, appended to, rows deleted and restored, columns renamed, dropped and
//! added, in place or as new directories. After every step, all directories return the expected rows, in local folders
//! and in object stores. `ARROW_SHARD_CASES=20` runs 20 times the default number of histories; a failure prints the
//! command that repeats it.

use crate::common::arrays::random_array;
use crate::common::equal::{assert_values_equal, rows_equal};
use crate::common::schemas::{Config, any_type, random_field};
use crate::moto::Moto;
use crate::support::layouts::{random_blobs, random_layout};
use crate::support::replay::run_cases;
use crate::worlds::World;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, new_null_array,
};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use arrow_select::take::take;
use arrow_shard::ops::{CompactOptions, ShardEditor};
use arrow_shard::read::{Predicate, ScanBuilder, col};
use arrow_shard::write::{Layout, Profile, WriterOptions};
use arrow_shard::{ErrorKind, Shard};
use object_store::memory::InMemory;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use std::sync::Arc;

/// The expected content of a shard: all rows, and which of them are deleted.
#[derive(Debug, Clone)]
struct Table {
    fields: Vec<Field>,
    columns: Vec<ArrayRef>,
    deleted: Vec<bool>,
}

impl Table {
    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> RecordBatch {
        let schema = Arc::new(Schema::new(self.fields.clone()));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema, columns, &options).unwrap()
    }

    fn all(&self) -> RecordBatch {
        self.batch(self.columns.clone(), self.deleted.len())
    }

    fn live(&self) -> Vec<u64> {
        let rows = self.deleted.iter().enumerate();
        rows.filter(|(_, deleted)| !**deleted)
            .map(|(i, _)| i as u64)
            .collect()
    }

    fn rows(&self) -> RecordBatch {
        let live: BooleanArray = self.deleted.iter().map(|deleted| Some(!deleted)).collect();
        let columns = self
            .columns
            .iter()
            .map(|column| filter(column, &live).unwrap());
        self.batch(columns.collect(), live.true_count())
    }

    fn append(&mut self, other: &Self) {
        let (own, others) = (self.deleted.len(), other.deleted.len());
        for (field, column) in self.fields.iter_mut().zip(&mut self.columns) {
            let place = other.fields.iter().position(|f| f.name() == field.name());
            let rest = match place {
                Some(place) => {
                    let nullable = field.is_nullable() || other.fields[place].is_nullable();
                    field.set_nullable(nullable);
                    other.columns[place].clone()
                }
                None => {
                    field.set_nullable(true);
                    new_null_array(field.data_type(), others)
                }
            };
            *column = concat(&[column.as_ref(), rest.as_ref()]).unwrap();
        }
        for (field, column) in other.fields.iter().zip(&other.columns) {
            if self.fields.iter().all(|f| f.name() != field.name()) {
                let nulls = new_null_array(field.data_type(), own);
                self.fields.push(field.clone().with_nullable(true));
                self.columns
                    .push(concat(&[nulls.as_ref(), column.as_ref()]).unwrap());
            }
        }
        self.deleted.extend(&other.deleted);
    }
}

/// Returns whether Arrow's kernels concatenate arrays of the type correctly. They lose the declared fields of run-end
/// encoding, and the number of values without bytes; small keys of dictionaries overflow; and they reject list views of
/// non-nullable items together with nulls.
fn is_kept_by_kernels(data_type: &DataType) -> bool {
    match data_type {
        DataType::FixedSizeBinary(0) | DataType::FixedSizeList(_, 0) => false,
        DataType::RunEndEncoded(..) | DataType::ListView(_) | DataType::LargeListView(_) => false,
        DataType::Dictionary(keys, _) => !matches!(**keys, DataType::Int8 | DataType::UInt8),
        _ => true,
    }
}

/// The columns of shards. A shard may lack a column, and its rows are then null. Unions cannot be null, so every
/// shard has them.
struct Columns {
    fields: Vec<Field>,
    next: usize,
    /// Decimals of the profile `Plain` have other widths, and cannot be merged with decimals of other profiles.
    is_plain: bool,
}

impl Columns {
    fn random(rng: &mut StdRng) -> Self {
        let config = Config {
            max_depth: 2,
            odd_names: false,
            allow: is_kept_by_kernels,
            ..Config::default()
        };
        let mut fields = vec![Field::new("key", DataType::Int64, false)];
        let others = rng.random_range(0..5);
        fields.extend((0..others).map(|i| random_field(rng, &config, 0, &format!("c{i}"))));
        Self {
            fields,
            next: others,
            is_plain: rng.random(),
        }
    }

    fn profile(&self, rng: &mut StdRng) -> Profile {
        let profiles = match self.is_plain {
            true => [Profile::Plain, Profile::Plain],
            false => [Profile::Fast, Profile::Balanced],
        };
        *profiles.choose(rng).unwrap()
    }

    fn some(&self, rng: &mut StdRng) -> Vec<Field> {
        let is_union = |t: &DataType| matches!(t, DataType::Union(..));
        let mut some = self.fields.clone();
        some.retain(|field| {
            let is_needed =
                field.name() == "key" || any_type(field.data_type(), &mut |t| is_union(t));
            is_needed || rng.random_ratio(3, 4)
        });
        some.shuffle(rng);
        some
    }

    fn new_name(&mut self) -> String {
        self.next += 1;
        format!("c{}", self.next)
    }
}

fn random_table(rng: &mut StdRng, columns: &Columns) -> Table {
    let rows = *[0, 1, 7, 100, 300].choose(rng).unwrap();
    let fields = columns.some(rng);
    let array = |field: &Field| match field.name().as_str() {
        "key" => Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef,
        _ => random_array(rng, field, usize::try_from(rows).unwrap()),
    };
    Table {
        columns: fields.iter().map(array).collect(),
        fields,
        deleted: vec![false; usize::try_from(rows).unwrap()],
    }
}

/// Writes a shard.
fn write(rng: &mut StdRng, world: &World, columns: &Columns, table: &Table, name: &str) {
    let layouts = [Layout::SingleFile, Layout::TwoLevel];
    let mut options = WriterOptions::default()
        .with_profile(columns.profile(rng))
        .with_layout(*layouts.choose(rng).unwrap())
        .with_stripe_rows(*[50, 1000].choose(rng).unwrap());
    let all = table.all();
    let schema = all.schema();
    for field in schema.fields() {
        if rng.random_ratio(1, 3) {
            let column = random_layout(rng, &schema, field.name(), true);
            let column = random_blobs(rng, &schema, field.name(), column);
            options = options.with_column(field.name(), column);
        }
    }
    world.write(name, &all, options.with_overwrite(true));
}

fn collect(scan: ScanBuilder) -> RecordBatch {
    crate::support::collect(scan.build().unwrap()).unwrap()
}

/// Checks a shard in all ways.
fn check(rng: &mut StdRng, shard: &Shard, table: &Table) {
    let (all, rows) = (table.all(), table.rows());
    assert_eq!(shard.schema().unwrap().fields(), all.schema().fields());
    assert_eq!(shard.num_rows(), rows.num_rows() as u64);
    let deleted = all.num_rows() - rows.num_rows();
    assert_eq!(shard.num_deleted_rows(), deleted as u64);
    assert_values_equal(&rows, &collect(shard.scan()));
    assert_values_equal(&all, &collect(shard.scan().with_deleted_rows(true)));

    let live = table.live();
    let numbered = collect(shard.scan().with_projection(["key"]).with_row_number("row"));
    assert_eq!(
        numbered.column(1).as_primitive::<UInt64Type>().values(),
        live.as_slice()
    );

    let (offset, limit) = (rng.random_range(0..20), rng.random_range(0..200));
    let scan = shard.scan().with_offset(offset).with_limit(limit);
    let start = rows.num_rows().min(usize::try_from(offset).unwrap());
    let len = (rows.num_rows() - start).min(usize::try_from(limit).unwrap());
    assert_values_equal(&rows.slice(start, len), &collect(scan));

    let some: Vec<u64> = (0..5).filter_map(|_| live.choose(rng).copied()).collect();
    let taken = shard.scan().take(&some).unwrap();
    for (column, taken) in all.columns().iter().zip(taken.columns()) {
        let rows = some.iter().map(|&row| usize::try_from(row).unwrap());
        rows_equal(column, taken, rows.zip(0..)).unwrap();
    }
    let gone = table.deleted.iter().position(|deleted| *deleted);
    if let Some(row) = gone.map(|row| row as u64) {
        let error = shard.scan().take(&[row]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RowOutOfRange, "{error}");
        shard.scan().with_deleted_rows(true).take(&[row]).unwrap();
    }

    let few = shard
        .scan()
        .with_filter(col("key").lt(9))
        .with_projection(["key"]);
    let keys = rows.column_by_name("key").unwrap();
    let expected = keys.as_primitive::<arrow_array::types::Int64Type>().iter();
    let expected = expected
        .filter(|key| key.is_some_and(|key| key < 9))
        .count();
    assert_eq!(collect(few).num_rows(), expected);

    for statistics in [shard.statistics(["key"]), shard.stripe_statistics(["key"])] {
        let statistics = statistics.unwrap();
        let counts = statistics.column(0).as_primitive::<UInt64Type>();
        let total: u64 = counts.values().iter().sum();
        assert_eq!(total, shard.num_rows());
    }
    let report = shard.verify().unwrap();
    assert!(
        report.problems().is_empty(),
        "{:?} {:?}",
        report.problems(),
        table.fields
    );
}

/// Changes a shard, and its expected table.
fn edit(
    rng: &mut StdRng,
    world: &World,
    editor: &mut ShardEditor,
    table: &mut Table,
    columns: &mut Columns,
    others: &[(String, Table)],
) {
    let rows = table.deleted.len();
    match rng.random_range(0..11) {
        0 if !others.is_empty() => {
            let (name, other) = others.choose(rng).unwrap();
            world.append(editor, name);
            table.append(other);
        }
        1 | 2 => {
            let some = rng.random_range(0..=rows);
            let some: Vec<u64> = (0..some)
                .map(|_| rng.random_range(0..rows) as u64)
                .collect();
            let mut deleted = 0;
            for &row in &some {
                let row = &mut table.deleted[usize::try_from(row).unwrap()];
                deleted += u64::from(!std::mem::replace(row, true));
            }
            assert_eq!(world.delete_rows(editor, &some), deleted);
        }
        3 => {
            let some: Vec<u64> = (0..rows as u64)
                .filter(|_| rng.random_ratio(1, 3))
                .collect();
            let mut changed = 0;
            for &row in &some {
                let row = &mut table.deleted[usize::try_from(row).unwrap()];
                changed += u64::from(std::mem::replace(row, false));
            }
            assert_eq!(world.undelete_rows(editor, &some), changed);
        }
        4 => {
            let before = table.deleted.iter().filter(|deleted| **deleted).count();
            assert_eq!(editor.undelete(), before as u64);
            table.deleted.fill(false);
        }
        5 => {
            // Every shard keeps its key and its unions.
            let drop = |field: &Field| {
                let is_union = |t: &DataType| matches!(t, DataType::Union(..));
                field.name() != "key" && !any_type(field.data_type(), &mut |t| is_union(t))
            };
            let places = (0..table.fields.len()).filter(|&i| drop(&table.fields[i]));
            if let Some(&place) = places.collect::<Vec<_>>().choose(rng) {
                let field = table.fields.remove(place);
                table.columns.remove(place);
                editor.drop_columns([field.name()]).unwrap();
            }
        }
        6 => {
            let mut order: Vec<usize> = (0..table.fields.len()).collect();
            order.shuffle(rng);
            table.fields = order.iter().map(|&i| table.fields[i].clone()).collect();
            table.columns = order.iter().map(|&i| table.columns[i].clone()).collect();
            let names = table.fields.iter().map(Field::name);
            editor.select_columns(names).unwrap();
        }
        7 => delete(rng, world, editor, table),
        8 | 9 => add_values(rng, editor, table, columns),
        _ => {
            let field = Field::new(columns.new_name(), DataType::Int64, true);
            let value = rng.random_bool(0.7).then(|| rng.random_range(0..3));
            let value: ArrayRef = Arc::new(Int64Array::from(vec![value]));
            let all = take(&value, &arrow_array::UInt64Array::from(vec![0; rows]), None);
            editor.add_column(field.clone(), &value).unwrap();
            columns.fields.push(field.clone());
            table.fields.push(field);
            table.columns.push(all.unwrap());
        }
    }
    let schema = Schema::new(table.fields.clone());
    assert_eq!(editor.schema().fields(), schema.fields());
    let deleted = table.deleted.iter().filter(|deleted| **deleted).count() as u64;
    assert_eq!(editor.num_deleted_rows(), deleted);
    assert_eq!(editor.num_rows(), table.deleted.len() as u64 - deleted);
}

/// Adds a column with values.
fn add_values(
    rng: &mut StdRng,
    editor: &mut ShardEditor,
    table: &mut Table,
    columns: &mut Columns,
) {
    let config = Config {
        max_depth: 2,
        odd_names: false,
        // Rows that are appended later are null, which unions do not support.
        allow: |t| is_kept_by_kernels(t) && !matches!(t, DataType::Union(..)),
        ..Config::default()
    };
    let name = columns.new_name();
    let field = random_field(rng, &config, 0, &name).with_nullable(true);
    let values = random_array(rng, &field, table.deleted.len());
    let cut = rng.random_range(0..=values.len());
    let parts = [values.slice(0, cut), values.slice(cut, values.len() - cut)];
    let layout = random_layout(rng, &Schema::new(vec![field.clone()]), &name, true);
    let layout = layout.with_profile(columns.profile(rng));
    editor
        .add_column_values(field.clone(), parts, layout)
        .unwrap();
    columns.fields.push(field.clone());
    table.fields.push(field);
    table.columns.push(values);
}

/// Deletes the rows that match a predicate on a column that every shard has.
fn delete(rng: &mut StdRng, world: &World, editor: &mut ShardEditor, table: &mut Table) {
    let least = rng.random_range(0..300);
    let predicate: Predicate = col("key").gt_eq(least);
    let keys = table
        .fields
        .iter()
        .position(|field| field.name() == "key")
        .unwrap();
    let keys = table.columns[keys].as_primitive::<arrow_array::types::Int64Type>();
    let mut deleted = 0;
    for (row, key) in table.deleted.iter_mut().zip(keys.iter()) {
        if key.is_some_and(|key| key >= least) {
            deleted += u64::from(!std::mem::replace(row, true));
        }
    }
    assert_eq!(world.delete(editor, &predicate), deleted);
}

/// Compacts some stripes of a shard, and removes their deleted rows from its table.
fn compact_some(
    rng: &mut StdRng,
    world: &World,
    columns: &Columns,
    (name, table): &mut (String, Table),
    open: &mut Vec<(Shard, Table)>,
) {
    let profile = match columns.is_plain {
        true => Profile::Plain,
        false => Profile::Balanced,
    };
    let options = CompactOptions::default()
        .with_min_rows(*[1, 60, 1000].choose(rng).unwrap())
        .with_max_deleted(*[0.0, 0.2, 1.0].choose(rng).unwrap())
        .with_profile(profile);
    let runs = world.compaction(name, &options);
    let before = world.open(name);
    let stripes = before.stripes().unwrap();
    let mut kept = vec![true; table.deleted.len()];
    for stripe in runs.iter().cloned().flatten() {
        for row in stripes[usize::try_from(stripe).unwrap()].row_range() {
            let row = usize::try_from(row).unwrap();
            kept[row] = !table.deleted[row];
        }
    }
    let done = world.compact(name, &options);
    assert_eq!(done.is_some(), !runs.is_empty());
    if done.is_some() {
        open.push((before, table.clone()));
    }
    let is_kept = BooleanArray::from(kept.clone());
    for column in &mut table.columns {
        *column = filter(column, &is_kept).unwrap();
    }
    let mut kept = kept.iter();
    table.deleted.retain(|_| *kept.next().unwrap());
    assert_eq!(world.compaction(name, &options).len(), 0);
}

/// Returns the shards that a shard can refer to: the shards in its folder and subfolders.
fn below<'a>(name: &str, shards: &'a [(String, Table)]) -> Vec<&'a (String, Table)> {
    let folder = name.rfind('/').map_or("", |end| &name[..=end]);
    let mut below: Vec<_> = shards.iter().collect();
    below.retain(|(name, _)| name.starts_with(folder));
    below
}

/// Runs a history of shards in a folder and a subfolder.
fn live(seed: u64, world: &World) {
    let rng = &mut StdRng::seed_from_u64(seed);
    let mut columns = Columns::random(rng);
    let mut shards: Vec<(String, Table)> = Vec::new();
    // Shards that were open when they were replaced.
    let mut open: Vec<(Shard, Table)> = Vec::new();
    for step in 0..rng.random_range(2..9) {
        let name = format!("{step}.amudai.shard");
        match rng.random_range(0..9) {
            0 | 1 => {
                let table = random_table(rng, &columns);
                let name = match rng.random_bool(0.5) {
                    true => format!("below/{name}"),
                    false => name,
                };
                write(rng, world, &columns, &table, &name);
                shards.push((name, table));
            }
            2 if shards.len() > 1 => {
                let mut some: Vec<_> = shards.iter().collect();
                some.shuffle(rng);
                some.truncate(3);
                let mut table = some[0].1.clone();
                let mut editor = world.editor(&some[0].0);
                for (name, other) in &some[1..] {
                    table.append(other);
                    world.append(&mut editor, name);
                }
                let summary = world.commit(editor, Some(&name)).unwrap();
                assert_eq!(summary.num_rows(), table.live().len() as u64);
                shards.push((name, table));
            }
            3 if !shards.is_empty() => {
                let place = rng.random_range(0..shards.len());
                if world.may_replace(&shards[place].0) {
                    compact_some(rng, world, &columns, &mut shards[place], &mut open);
                }
            }
            4 => {
                // Shards with old directories lose their files.
                open.clear();
                world.vacuum();
                assert_eq!(world.vacuum(), 0);
            }
            5 if !shards.is_empty() => {
                // Other shards may refer to the overwritten file.
                let place = rng.random_range(0..shards.len());
                let name = shards[place].0.clone();
                if world.may_replace(&name) {
                    let table = random_table(rng, &columns);
                    let before = world.open(&name);
                    write(rng, world, &columns, &table, &name);
                    open.push((before, std::mem::replace(&mut shards[place].1, table)));
                }
            }
            _ if !shards.is_empty() => {
                let place = rng.random_range(0..shards.len());
                let (edited, mut table) = shards[place].clone();
                let mut editor = world.editor(&edited);
                let in_place = rng.random_bool(0.5) && world.may_replace(&edited);
                let target = if in_place { &edited } else { &name };
                let others: Vec<_> = below(target, &shards).into_iter().cloned().collect();
                for _ in 0..rng.random_range(0..5) {
                    edit(rng, world, &mut editor, &mut table, &mut columns, &others);
                }
                if in_place {
                    let before = world.open(&edited);
                    world.commit(editor, None).unwrap();
                    open.push((before, std::mem::replace(&mut shards[place].1, table)));
                } else {
                    world.commit(editor, Some(&name)).unwrap();
                    shards.push((name, table));
                }
            }
            _ => {}
        }
        for (name, table) in &shards {
            check(rng, &world.open(name), table);
        }
        for (shard, table) in &open {
            check(rng, shard, table);
        }
    }
}

#[test]
fn every_directory_gives_its_rows() {
    run_cases(
        module_path!(),
        "every_directory_gives_its_rows",
        2000,
        |seed| {
            live(seed, &World::folder());
            live(seed, &World::memory());
        },
    );
}

#[test]
fn every_directory_in_a_store_gives_its_rows() {
    let test = "every_directory_in_a_store_gives_its_rows";
    run_cases(module_path!(), test, 500, |seed| {
        live(seed, &World::store(Arc::new(InMemory::new())));
    });
}

#[test]
fn every_directory_in_s3_gives_its_rows() {
    let Some(moto) = Moto::start() else { return };
    for seed in 0..4 {
        let store = object_store::prefix::PrefixStore::new(moto.store(), format!("life {seed}"));
        live(seed, &World::store(Arc::new(store)));
    }
}
