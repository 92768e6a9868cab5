//! Finds shards of one table that refer to the same buffers: their rows would appear twice.

use super::source::{SourceShard, node_ids};
use crate::error::{Error, Result, Within};
use crate::format::{AnyValue, DataEncoding};
use crate::io::{ByteRange, Home, Place, RelativeUrl, STRIPE_FILE_SUFFIX, Store};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::SystemTime;
use xxhash_rust::xxh3::xxh3_64;

/// A shard of a folder that is not part of its table, because another shard refers to all of its buffers: a merged
/// shard holds the shards that it was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    shard: String,
    held_by: String,
}

impl LeftOut {
    /// Returns the name of the shard that is left out, in the store of the table.
    pub fn shard(&self) -> &str {
        &self.shard
    }

    /// Returns the name of the shard that holds its rows.
    pub fn held_by(&self) -> &str {
        &self.held_by
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shard, held_by } = self;
        write!(
            f,
            "`{shard}` is left out, because `{held_by}` in the same folder refers to all of its data"
        )
    }
}

/// How a table treats shards that refer to the same data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlap {
    /// Keep the shard that contains the other one.
    LeaveOut,
    /// Fail, unless both are one file that was named several times.
    Refuse,
}

/// Leaves out shards if another shard refers to all of their buffers.
///
/// # Errors
/// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument), which names both shards, if two shards share some
/// buffers while each of them also has others.
pub(super) async fn settle(
    sources: Vec<SourceShard>,
    overlap: Overlap,
) -> Result<(Vec<(usize, SourceShard)>, Vec<LeftOut>)> {
    let held = held(&sources, overlap).await?;
    let name = |i: usize| {
        let source = sources.get(i)?;
        Some(source.location().to_string())
    };
    let left_out = held.iter().filter_map(|(&shard, &by)| {
        Some(LeftOut {
            shard: name(shard)?,
            held_by: name(by)?,
        })
    });
    let mut left_out: Vec<LeftOut> = left_out.collect();
    left_out.sort_by(|a, b| a.shard.cmp(&b.shard));
    let kept = sources.into_iter().enumerate();
    let kept = kept.filter(|(i, _)| !held.contains_key(i));
    Ok((kept.collect(), left_out))
}

/// Fails if two shards refer to the same buffers, unless both are one file that was named several times.
pub(super) async fn refuse(sources: &[SourceShard]) -> Result<()> {
    held(sources, Overlap::Refuse).await.map(drop)
}

/// Returns the shards that are contained in others, each with one shard that contains it.
pub(super) async fn held(
    sources: &[SourceShard],
    overlap: Overlap,
) -> Result<HashMap<usize, usize>> {
    let mut ids = Ids::default();
    let mut named = HashSet::new();
    let mut users: HashMap<usize, Vec<usize>> = HashMap::new();
    for (i, source) in sources.iter().enumerate() {
        if overlap == Overlap::Refuse && !named.insert(&source.place) {
            continue;
        }
        for file in ids.files_of(source).await? {
            users.entry(file).or_default().push(i);
        }
    }
    // Parts can be shared only between shards that share a file.
    users.retain(|_, users| users.len() > 1);
    let mut in_question: Vec<usize> = users.into_values().flatten().collect();
    in_question.sort_unstable();
    in_question.dedup();
    let mut parts = HashMap::new();
    for &i in &in_question {
        if let Some(source) = sources.get(i) {
            let found = ids.parts_of(source).await;
            parts.insert(i, found.within(|| format!("`{}`", source.place))?);
        }
    }
    let mut holders: HashMap<Part, Vec<usize>> = HashMap::new();
    for &i in &in_question {
        for part in parts.get(&i).into_iter().flatten() {
            holders.entry(*part).or_default().push(i);
        }
    }
    let mut held: HashMap<usize, usize> = HashMap::new();
    let mut partly = Vec::new();
    for &i in &in_question {
        let own = parts.get(&i).map_or(0, HashSet::len);
        let mut common: HashMap<usize, usize> = HashMap::new();
        let shared = parts.get(&i).into_iter().flatten();
        for other in shared.filter_map(|part| holders.get(part)).flatten() {
            *common.entry(*other).or_default() += 1;
        }
        common.remove(&i);
        let others = |j: usize| parts.get(&j).map_or(0, HashSet::len);
        // The first of several shards with the same parts stays.
        let holder = |&(j, common): &(&usize, &usize)| {
            *common == own && (others(*j) > own || *j < i) && !held.contains_key(j)
        };
        match common.iter().filter(holder).map(|(j, _)| *j).min() {
            Some(holder) => {
                check_equal(sources, (i, holder), own == others(holder))?;
                held.insert(i, holder);
            }
            None => partly.extend(common.keys().map(|j| (i, *j))),
        }
    }
    if overlap == Overlap::Refuse
        && let Some((shard, by)) = held.iter().min()
    {
        return Err(both(sources, (*shard, *by), "refer to the same data"));
    }
    // A shard that is left out anyway, because others contain it, does not matter.
    let mut partly = partly.into_iter();
    match partly
        .find(|(i, j)| !held.contains_key(i) && !held.contains_key(j) && !holds(&parts, *i, *j))
    {
        Some(pair) => Err(both(sources, pair, "refer to the same data in part")),
        None => Ok(held),
    }
}

/// Whether one of two shards has all parts of the other.
fn holds(parts: &HashMap<usize, HashSet<Part>>, i: usize, j: usize) -> bool {
    match (parts.get(&i), parts.get(&j)) {
        (Some(a), Some(b)) => a.is_superset(b) || b.is_superset(a),
        _ => false,
    }
}

/// Fails if shards with the same parts have different rows.
fn check_equal(sources: &[SourceShard], pair: (usize, usize), is_same: bool) -> Result<()> {
    let rows = |i: usize| {
        let shard = sources.get(i).map(|source| &source.shard);
        shard.map(|shard| (shard.num_rows(), shard.num_deleted_rows()))
    };
    if is_same && rows(pair.0) != rows(pair.1) {
        Err(both(
            sources,
            pair,
            "refer to the same data, and have other rows",
        ))
    } else {
        Ok(())
    }
}

fn both(sources: &[SourceShard], (i, j): (usize, usize), what: &str) -> Error {
    let name = |i: usize| {
        let place = sources.get(i).map(|source| source.place.to_string());
        place.unwrap_or_default()
    };
    let (a, b) = (name(i.min(j)), name(i.max(j)));
    Error::invalid(format!(
        "`{a}` and `{b}` {what}: a table of both would have rows twice; leave one of them out"
    ))
}

/// Stored bytes: the number of their file, and their start and end.
type StoredBytes = (usize, u64, u64);

/// A part of a shard, by which it is compared to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    /// A buffer, or the pages of a column chunk of a Parquet file.
    Stored(StoredBytes),
    /// The hash of a constant, such as the mark that all rows of a stripe are deleted. A constant has no bytes, so the
    /// first bytes of its stripe identify the stripe.
    Constant(StoredBytes, u64),
}

/// Numbers for files: names of one file, and its clones, share a number. Files of different stores never do, whatever
/// their names: a place does not name its store.
#[derive(Default)]
struct Ids {
    count: usize,
    stores: Vec<StoreIds>,
    /// Parquet files outside of the folders of their shards, by reference.
    elsewhere: HashMap<String, usize>,
}

/// The numbers of the files of a store.
struct StoreIds {
    store: Store,
    numbers: HashMap<String, usize>,
    known: HashMap<Place, usize>,
    /// Files of the same size and time, which can be clones of each other.
    alike: HashMap<(u64, SystemTime), Vec<AlikeFile>>,
}

impl StoreIds {
    fn new(store: &Store) -> Self {
        Self {
            store: store.clone(),
            numbers: HashMap::new(),
            known: HashMap::new(),
            alike: HashMap::new(),
        }
    }

    /// Returns the number of a file. A new one gets the number after `count`, which then counts it.
    fn number(&mut self, place: Place, count: &mut usize) -> usize {
        if let Some(known) = self.known.get(&place) {
            return *known;
        }
        let home = self.store.home();
        let file = home.file_id(&place);
        let mut own = AlikeFile::new(&place);
        let mut alike = file
            .version
            .map(|version| self.alike.entry(version).or_default());
        let mut clone = || {
            let mut others = alike.as_mut()?.iter_mut();
            let clone =
                others.find_map(|other| other.is_clone(&mut own, home).then_some(&*other))?;
            self.known.get(&clone.place).copied()
        };
        let number = self.numbers.get(&file.id).copied().or_else(&mut clone);
        let number = number.unwrap_or_else(|| {
            *count += 1;
            *count
        });
        self.numbers.insert(file.id, number);
        if let Some(alike) = alike {
            alike.push(own);
        }
        self.known.insert(place, number);
        number
    }
}

/// A file that may be a clone of others of its size and time.
struct AlikeFile {
    place: Place,
    /// Whether it has the name of a file that an edit made.
    is_made: bool,
    /// The hash of its last bytes, once it was needed; `None` in it if the file cannot be read.
    end: Option<Option<u64>>,
}

impl AlikeFile {
    fn new(place: &Place) -> Self {
        let name = place.names().last().and_then(|name| name.to_str());
        Self {
            place: place.clone(),
            is_made: name.is_some_and(|name| name.ends_with(STRIPE_FILE_SUFFIX)),
            end: None,
        }
    }

    /// Whether one of two files of the same size and time is a clone or copy of the other that an edit made. A copy
    /// that the user made counts as another file.
    fn is_clone(&mut self, other: &mut Self, home: &dyn Home) -> bool {
        (self.is_made || other.is_made) && {
            let end = self.end(home);
            end.is_some() && end == other.end(home)
        }
    }

    /// Returns the hash of the last bytes. In a shard, they hold the directory, with the time of creation and
    /// references to everything else.
    fn end(&mut self, home: &dyn Home) -> Option<u64> {
        let place = &self.place;
        let hash = || home.end(place).map(|end| xxh3_64(&end));
        *self.end.get_or_insert_with(hash)
    }
}

impl Ids {
    /// Returns a function that numbers the files of a store.
    fn of_store(&mut self, store: &Store) -> impl FnMut(Place) -> usize {
        let (known, count) = (&mut self.stores, &mut self.count);
        let index = known.iter().position(|ids| ids.store.is_same(store));
        let index = index.unwrap_or_else(|| {
            known.push(StoreIds::new(store));
            known.len() - 1
        });
        let mut ids = known.get_mut(index);
        move |place| match &mut ids {
            Some(ids) => ids.number(place, count),
            None => 0,
        }
    }

    /// Returns the numbers of the directory file and of the files that it refers to.
    async fn files_of(&mut self, source: &SourceShard) -> Result<HashSet<usize>> {
        let urls = source.files().await?;
        let others = urls.iter().map(|url| source.place.beside(url));
        let all = std::iter::once(source.place.clone()).chain(others);
        Ok(all.map(self.of_store(&source.store)).collect())
    }

    /// Returns the parts of all columns of a shard.
    async fn parts_of(&mut self, source: &SourceShard) -> Result<HashSet<Part>> {
        let ids = node_ids(&source.shard).await?;
        let mut parts = HashSet::new();
        for stripe in 0..source.shard.num_stripes() {
            let described = {
                let mut number = self.of_store(&source.store);
                let mut lead = |artifact: Option<&RelativeUrl>| {
                    let place = match artifact {
                        None => source.place.clone(),
                        Some(url) => source.place.beside(url),
                    };
                    Ok(number(place).to_string())
                };
                source.shard.descriptors(stripe, &ids, &mut lead).await?
            };
            let fields = || described.iter().flatten();
            let encodings = fields().flat_map(|field| &field.encodings);
            let stored: HashSet<StoredBytes> = encodings
                .flat_map(stored_bytes)
                .map(|(file, range)| (self.number_of(file), range.start(), range.end()))
                .collect();
            if let Some(&first) = stored.iter().min() {
                let constants = fields().filter_map(|field| field.field.constant_value.as_ref());
                let constants = constants.filter(|value| !value.is_null());
                parts.extend(constants.map(|value| Part::Constant(first, hash_of(value))));
            }
            parts.extend(stored.into_iter().map(Part::Stored));
        }
        Ok(parts)
    }

    /// Returns the number of a file. `file` is that number, unless the file is outside of the folder of the shard.
    fn number_of(&mut self, file: &str) -> usize {
        file.parse().unwrap_or_else(|_| {
            *self.elsewhere.entry(file.to_owned()).or_insert_with(|| {
                self.count += 1;
                self.count
            })
        })
    }
}

/// Returns the byte ranges of an encoding, each with the reference to its file.
fn stored_bytes(encoding: &DataEncoding) -> Vec<(&str, ByteRange)> {
    let mut found = Vec::new();
    match encoding {
        DataEncoding::Native(native) => {
            let buffers = native.buffers.iter().filter_map(|it| it.buffer.as_ref());
            found.extend(buffers.map(|buffer| (buffer.url.as_str(), buffer.range)));
        }
        DataEncoding::Parquet(files) => {
            for file in files {
                let url = file.file_ref.as_ref().map(|file| file.url.as_str());
                found.extend(file.column_chunks.iter().filter_map(|chunk| {
                    let url = chunk.file_url.as_deref().or(url)?;
                    Some((url, chunk.data_pages_range?))
                }));
            }
        }
        _ => {}
    }
    found.retain(|(_, range)| !range.is_empty());
    found
}

fn hash_of(value: &AnyValue) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{value:?}").hash(&mut hasher);
    hasher.finish()
}
