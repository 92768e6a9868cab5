//! Makes shards over Parquet files.

mod bloom_filters;
mod bounds;
mod chunk_places;
mod chunks;
mod columns;
mod file_columns;
mod levels;
mod native_columns;
mod page_index;
mod parquet_file;
mod scanned;
mod sort_order;
mod stripe_files;

use self::bounds::LeafStatistics;
use super::commit::{CommitFiles, EditSummary};
use super::files::list_files_async;
use super::progress::WorkProgress;
use super::put::{check_new, put};
use crate::column::{SchemaOptions, encode_arrow_schema, to_shard};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{ShardProperties, Wire, WriterInfo};
use crate::io::{ExistingFile, ExternalFiles, Location};
use crate::limits::Limits;
use crate::progress::{Listener, with_progress};
use crate::read::{StoredTypes, ready_now};
use crate::write::{
    PositionedSink, StripeRecord, StripesMetadata, check_storable, shard_properties, stored_schema,
};
use arrow_array::ArrayRef;
use arrow_schema::Field;
use bloom_filters::BloomFilters;
use bytes::Bytes;
use chunks::AttachedStripe;
use columns::{AttachedColumn, ColumnSource, FileColumn, united_schema};
use file_columns::{file_columns, with_file_columns};
use native_columns::NativeColumns;
use parquet_file::ParquetFile;
use scanned::{ScannedNames, ScannedStripe};
use sort_order::SortOrder;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::ops::Range;
use std::path::Path;
use stripe_files::AttachedStripeFiles;

/// Rows that a stripe has at most, unless one row group has more.
const STRIPE_ROWS: u64 = 128 << 10;

/// Options of [`attach_with`].
#[derive(Debug, Clone, PartialEq)]
pub struct AttachOptions {
    stripe_rows: u64,
    page_map: bool,
    scanned: ScannedNames,
    checksums: bool,
    file_columns: Vec<(Field, ArrayRef)>,
    dry_run: bool,
    external_files: ExternalFiles,
    listener: Listener,
}

impl Default for AttachOptions {
    fn default() -> Self {
        Self {
            stripe_rows: STRIPE_ROWS,
            page_map: false,
            scanned: ScannedNames::default(),
            checksums: false,
            file_columns: Vec::new(),
            dry_run: false,
            external_files: ExternalFiles::default(),
            listener: Listener::default(),
        }
    }
}

impl AttachOptions {
    /// Returns the number of rows up to which row groups of a file are combined into one stripe.
    pub fn stripe_rows(&self) -> u64 {
        self.stripe_rows
    }

    /// Sets the number of rows up to which row groups of a file are combined into one stripe: 131,072 by default. A row
    /// group is never divided. Statistics describe whole stripes, so smaller stripes let filters skip more.
    #[must_use]
    pub fn with_stripe_rows(mut self, rows: u64) -> Self {
        self.stripe_rows = rows;
        self
    }

    /// Returns whether pages are found by reading all column chunks once, in files that have no page index.
    pub fn page_map(&self) -> bool {
        self.page_map
    }

    /// Sets whether to find pages by reading all column chunks once, in files that have no page index. The shard then
    /// lists the pages, so that readers of a few rows read only the pages of those rows. Without a list, they read
    /// whole column chunks. Pages of values in lists are never listed. Off by default, because attaching otherwise
    /// reads no pages of most columns.
    #[must_use]
    pub fn with_page_map(mut self, page_map: bool) -> Self {
        self.page_map = page_map;
        self
    }

    /// Returns the folders outside of the shard's folder where files may be.
    pub fn external_files(&self) -> &ExternalFiles {
        &self.external_files
    }

    /// Allows Parquet files outside of the folder of the new shard, in the given folders; none by default. The shard
    /// refers to them by their absolute URLs. Readers must allow the same folders, by
    /// [`ShardOptions::with_external_files`](crate::read::ShardOptions::with_external_files).
    #[must_use]
    pub fn with_external_files(mut self, files: ExternalFiles) -> Self {
        self.external_files = files;
        self
    }

    /// Returns the columns that have one value for all rows of each file.
    pub fn file_columns(&self) -> &[(Field, ArrayRef)] {
        &self.file_columns
    }

    /// Adds a column, after all others, that has one value for all rows of each file, such as a value in the name of
    /// its folder. The array must have a value for each of the files, in their order. Filters skip the stripes of files
    /// with other values. Further calls add further columns.
    #[must_use]
    pub fn with_file_column(mut self, field: Field, values: ArrayRef) -> Self {
        self.file_columns.push((field, values));
        self
    }

    /// Returns whether nothing is written.
    pub fn dry_run(&self) -> bool {
        self.dry_run
    }

    /// Sets whether to check the files and the target without writing anything. Off by default. The summary then
    /// describes the shard.
    #[must_use]
    pub fn with_dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Returns whether the shard has checksums of the pages.
    pub fn checksums(&self) -> bool {
        self.checksums
    }

    /// Sets whether to read all column chunks once for checksums of their pages. Readers then verify each page when
    /// they first read it, and a page that was damaged in place is an error, also in files without a CRC. Lists the
    /// pages as [`with_page_map`](Self::with_page_map) does. Off by default, because attaching otherwise reads no pages
    /// of most columns.
    #[must_use]
    pub fn with_checksums(mut self, checksums: bool) -> Self {
        self.checksums = checksums;
        self
    }
}

with_progress! {
    AttachOptions,
    /// Calls `progress` with a number of files that counts each Parquet file twice: when its footer has been read, and
    /// when its columns have been described. If it breaks, no shard is written.
}

/// Makes a shard over Parquet files: writes a directory file `target` that refers to their column chunks. Needs the
/// feature `parquet`. The files must be in the folder of `target` or in subfolders, unless the
/// [options](AttachOptions::with_external_files) allow other folders. They are not changed, and must stay as they are:
/// if the size or the footer of a file changes, reading its rows is an error. A page that is damaged in place is an
/// error if it has a CRC or cannot be decoded, or with [checksums](AttachOptions::with_checksums).
///
/// Columns are united by name. If one of the files lacks a column, its rows are null in that column. Every stripe has
/// one or more whole row groups of one file.
///
/// Of columns with lists, maps, or structs that can be null, the offsets and the presence are written natively, next to
/// `target`, because Parquet stores them as levels of each leaf. For that, `attach` reads a leaf of each of these lists
/// and structs once. The values stay in the Parquet files, except for types that the shard cannot refer to, such as
/// lists of a fixed size; such columns are copied.
///
/// ```no_run
/// use arrow_shard::ops::attach;
/// let attached = attach(["lake/2024.parquet", "lake/2025.parquet"], "lake.amudai.shard")?;
/// println!("{} rows in {} stripes", attached.num_rows(), attached.num_stripes());
/// # Ok::<(), arrow_shard::Error>(())
/// ```
///
/// # Errors
/// Returns [`SchemaMismatch`](ErrorKind::SchemaMismatch) if the types of a column are stored in different ways,
/// [`Unsupported`](ErrorKind::Unsupported) for encrypted files, codecs that cannot be read, and several columns of one
/// name, [`Corrupt`](ErrorKind::Corrupt) for damaged footers, [`NotFound`](ErrorKind::NotFound),
/// [`ForbiddenUrl`](ErrorKind::ForbiddenUrl) for files outside of the folder,
/// [`AlreadyExists`](ErrorKind::AlreadyExists), [`LimitExceeded`](ErrorKind::LimitExceeded) for more stripes than
/// readers accept, and [`InvalidArgument`](ErrorKind::InvalidArgument) if there is no file, if a file is named twice,
/// if the files and the target are not in one store and the options allow no other, or if a store is asynchronous: use
/// [`attach_async`].
pub fn attach<L: Into<Location>>(
    files: impl IntoIterator<Item = L>,
    target: impl Into<Location>,
) -> Result<EditSummary> {
    attach_with(files, target, AttachOptions::default())
}

/// Makes a shard over Parquet files, like [`attach`], with options.
///
/// # Errors
/// Returns the errors of [`attach`], [`Stopped`](ErrorKind::Stopped), [`UnknownColumn`](ErrorKind::UnknownColumn) if no
/// file has a column that the options name, [`InvalidArgument`](ErrorKind::InvalidArgument) for a file column with a
/// used name or the wrong number of values, and [`SchemaMismatch`](ErrorKind::SchemaMismatch) for values that its field
/// cannot hold.
pub fn attach_with<L: Into<Location>>(
    files: impl IntoIterator<Item = L>,
    target: impl Into<Location>,
    options: AttachOptions,
) -> Result<EditSummary> {
    let target = target.into();
    target
        .store()
        .check_near("attach_async or attach_with_async")?;
    let files: Vec<Location> = files.into_iter().map(Into::into).collect();
    for file in &files {
        file.store()
            .check_near("attach_async or attach_with_async")?;
    }
    ready_now(attach_with_async(files, target, options))
}

/// Makes a shard over Parquet files, in any store: the asynchronous form of [`attach`].
///
/// # Errors
/// Returns the errors of [`attach`], but accepts asynchronous stores.
pub async fn attach_async<L: Into<Location>>(
    files: impl IntoIterator<Item = L>,
    target: impl Into<Location>,
) -> Result<EditSummary> {
    attach_with_async(files, target, AttachOptions::default()).await
}

/// Makes a shard over Parquet files, with options, in any store: the asynchronous form of [`attach_with`].
///
/// # Errors
/// Returns the errors of [`attach_with`], but accepts asynchronous stores.
pub async fn attach_with_async<L: Into<Location>>(
    files: impl IntoIterator<Item = L>,
    target: impl Into<Location>,
    options: AttachOptions,
) -> Result<EditSummary> {
    let target = target.into();
    let files: Vec<Location> = files.into_iter().map(Into::into).collect();
    if files.is_empty() {
        return Err(Error::invalid("there is no Parquet file to attach"));
    }
    let place = target.home().find_new(target.name())?;
    let mut work = Steps::new(options.listener.clone(), files.len());
    let mut opened = Vec::with_capacity(files.len());
    let mut known = HashSet::new();
    for file in &files {
        let file = ParquetFile::open(file, &target, &place, &options).await?;
        if !known.insert(file.url.clone()) {
            let why =
                "the file is named twice, and the shard would have its rows twice; name it once";
            return Err(Error::invalid(why).within(file.place.element()));
        }
        opened.push(file);
        work.add()?;
    }
    let attachment = Attachment {
        files: &opened,
        options: &options,
    };
    if options.dry_run {
        check_new(target.store(), &place).await?;
        let mut unwritten = AttachedStripeFiles::unwritten(target.store(), &place);
        return Ok(attachment.files(&mut unwritten, &mut work).await?.summary);
    }
    let mut stripe_files = AttachedStripeFiles::new(target.store(), &place);
    let written = match attachment.files(&mut stripe_files, &mut work).await {
        Ok(files) => put(target.store(), &place, ExistingFile::Kept, files).await,
        Err(error) => Err(error.into()),
    };
    match written {
        Ok(summary) => Ok(summary),
        Err(failed) => {
            if !failed.may_be_there {
                stripe_files.remove().await;
            }
            Err(failed.into())
        }
    }
}

/// Lists the Parquet files of a folder and its subfolders, sorted by name: the files with the extension `parquet`,
/// `parq` or `pq`, in upper or lower case. It skips files and folders with names that begin with `_` or `.`, as other
/// readers of tables do.
///
/// # Errors
/// Returns the errors of the store, and [`InvalidArgument`](ErrorKind::InvalidArgument) if it is asynchronous: use
/// [`list_parquet_files_async`].
pub fn list_parquet_files(folder: impl Into<Location>) -> Result<Vec<Location>> {
    let folder = folder.into();
    folder.store().check_near("list_parquet_files_async")?;
    ready_now(list_parquet_files_async(folder))
}

/// Lists the Parquet files of a folder and its subfolders, in any store: the asynchronous form of
/// [`list_parquet_files`].
///
/// # Errors
/// Returns the errors of the store.
pub async fn list_parquet_files_async(folder: impl Into<Location>) -> Result<Vec<Location>> {
    let mut files = list_files_async(folder).await?;
    files.retain(|file| is_parquet(file.name()));
    Ok(files)
}

/// Whether a file is a Parquet file by its name.
fn is_parquet(name: &OsStr) -> bool {
    let suffix = Path::new(name).extension().map(OsStr::to_ascii_lowercase);
    let suffix = suffix.as_deref().and_then(OsStr::to_str);
    matches!(suffix, Some("parquet" | "parq" | "pq"))
}

/// The progress of two steps for each file: its footer is read, and its columns are described.
struct Steps {
    work: WorkProgress,
    done: u64,
}

impl Steps {
    fn new(listener: Listener, files: usize) -> Self {
        Self {
            work: WorkProgress::new(listener, files as u64),
            done: 0,
        }
    }

    fn add(&mut self) -> Result<()> {
        self.done += 1;
        self.work.set(self.done / 2)
    }
}

/// Parquet files that become a shard.
struct Attachment<'a> {
    files: &'a [ParquetFile],
    options: &'a AttachOptions,
}

impl Attachment<'_> {
    /// Returns the files to write. Large stripe files are written before.
    async fn files(
        &self,
        stripe_files: &mut AttachedStripeFiles<'_>,
        work: &mut Steps,
    ) -> Result<CommitFiles> {
        let wire = Wire::Spec;
        let capabilities = wire.capabilities();
        let schema = united_schema(self.files)?;
        let constants = file_columns(&self.options.file_columns, self.files.len(), wire).await?;
        let schema = with_file_columns(&schema, &self.options.file_columns)?;
        self.options.scanned.check(&schema)?;
        let stored = to_shard(&schema, &SchemaOptions::default())?;
        check_storable(&stored, &capabilities)?;
        let nodes = stored.fields.iter().map(|field| &field.data_type);
        let mut columns: Vec<AttachedColumn<'_>> = schema
            .fields()
            .iter()
            .zip(nodes)
            .map(|(field, node)| AttachedColumn::new(field, node))
            .collect();
        let mut count = 0;
        for column in &columns {
            column.node.walk(&mut |_| count += 1);
        }
        let of_files = columns.split_off(columns.len() - constants.len());
        let (mut directory, mut position) = (Vec::new(), 0);
        let mut out = PositionedSink::new(&mut directory, &mut position);
        out.begin()?;
        let mut stripes = StripesMetadata::new(wire, count);
        let mut num_stripes = 0u64;
        let mut order = SortOrder::default();
        for (ordinal, file) in self.files.iter().enumerate() {
            let groups = file.stripes(self.options.stripe_rows);
            num_stripes += groups.len() as u64;
            check_stripes(num_stripes)?;
            let mut attached = file.columns(&columns).within(|| file.place.element())?;
            let with_values = of_files.iter().zip(&constants);
            attached.extend(with_values.map(|(column, values)| FileColumn {
                node: column.node,
                source: ColumnSource::Constant(values.of_source(ordinal)),
            }));
            let names = &self.options.scanned;
            let stripe_file = of_file(file, &attached, &groups, names, &mut stripes, &mut out);
            let stripe_file = stripe_file.await.within(|| file.place.element())?;
            if let Some((name, bytes)) = stripe_file {
                stripe_files.add(name, bytes).await?;
            }
            let ordered = order.add(file, &attached, &schema);
            ordered.within(|| file.place.element())?;
            work.add()?;
        }
        let properties = ShardProperties {
            creation_min: Some(crate::write::now()),
            creation_max: Some(crate::write::now()),
            custom_properties: shard_properties(
                &encode_arrow_schema(&schema)?,
                order.columns(),
                &[WriterInfo::this(None)],
                &[],
            ),
            ..ShardProperties::default()
        };
        stripes.finish(&mut out, &stored_schema(stored, &capabilities), &properties)?;
        let rows = stripes.rows();
        let bytes = (stripe_files.bytes() + directory.len()) as u64;
        let summary = EditSummary::new(rows, 0, num_stripes, bytes);
        Ok(CommitFiles {
            summary: summary.with_other_files(stripes.other_files()),
            others: stripe_files.take_held(),
            kept: Vec::new(),
            as_they_are: Vec::new(),
            needed: Vec::new(),
            directory,
            stored_types: StoredTypes::default(),
        })
    }
}

/// Adds the stripes of a file. Returns the file with the columns that are written natively, if there are any.
async fn of_file(
    file: &ParquetFile,
    columns: &[FileColumn<'_>],
    groups: &[Range<usize>],
    scanned: &ScannedNames,
    stripes: &mut StripesMetadata,
    out: &mut PositionedSink<'_>,
) -> Result<Option<(String, Bytes)>> {
    let native = NativeColumns::write(file, columns, groups).await?;
    let leaves = columns.iter().flat_map(FileColumn::leaves);
    let statistics = leaves.map(|(_, leaf)| (leaf.column, LeafStatistics::load(file, leaf)));
    let statistics: HashMap<usize, LeafStatistics> = statistics.collect();
    for (ordinal, groups) in groups.iter().enumerate() {
        let mut urls = vec![file.url.clone()];
        let mut fields = Vec::new();
        let stripe = AttachedStripe {
            file,
            ordinal: ordinal as u64,
            groups,
            native: native.as_ref(),
            statistics: &statistics,
            filters: BloomFilters::load(file, columns, groups).await?,
            scanned: ScannedStripe::read(file, columns, groups, scanned).await?,
        };
        for column in columns {
            let described = column.descriptors(&stripe, out, &mut urls).await;
            fields.extend(described.within(|| format!("column `{}`", column.name()))?);
        }
        stripes.push(StripeRecord {
            rows: file.rows_of(groups)?,
            deleted_rows: 0,
            urls,
            fields,
            properties: Default::default(),
        })?;
    }
    Ok(native.map(NativeColumns::into_file))
}

/// Fails if a shard would have more stripes than readers accept.
fn check_stripes(count: u64) -> Result<()> {
    let most = Limits::default().max_stripes();
    if count <= most {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::LimitExceeded,
        format!(
            "more than {most} stripes, and readers accept no more; combine more row groups into each stripe"
        ),
    ))
}
