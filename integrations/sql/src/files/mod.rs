//! Files, folders and globs as tables, named in queries: `FROM 'days/*.parquet'`.

mod find;
mod ipc;
mod kind;
mod types;
mod unite;

pub(crate) use find::is_like_path;
pub(crate) use kind::{Kind, SUFFIXES};

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{TableProvider, UrlTableFactory};
use datafusion::common::{Result, internal_datafusion_err, plan_err};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::execution::SessionState;
use find::{Found, Place};
use futures::{StreamExt, TryStreamExt};
use kind::HEAD_BYTES;
use object_store::{ObjectMeta, ObjectStoreExt};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Number of files that are opened at the same time to infer their columns.
const AT_ONCE: usize = 8;

/// Files with a kind and, if they are CSV, the same columns: DataFusion assigns the values of CSV by position.
struct Group {
    kind: Kind,
    /// The end of the names, which shows the kind; empty for a file without a known suffix.
    suffix: String,
    format: Arc<dyn FileFormat>,
    files: Vec<ObjectMeta>,
    schema: SchemaRef,
}

type GetState = Box<dyn Fn() -> Option<SessionState> + Send + Sync>;

/// Makes tables of files. It remembers the columns of the tables for completions.
pub(crate) struct FileTables {
    state: OnceLock<GetState>,
    infer_rows: usize,
    columns: Mutex<BTreeMap<String, Vec<String>>>,
}

impl fmt::Debug for FileTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileTables").finish_non_exhaustive()
    }
}

impl FileTables {
    /// Creates a factory that infers the types of text from this number of rows of each file.
    pub(crate) fn new(infer_rows: usize) -> Self {
        Self {
            state: OnceLock::new(),
            infer_rows,
            columns: Mutex::default(),
        }
    }

    /// Sets the session of the tables. It is created after the factory, and holds it.
    pub(crate) fn set_state(&self, state: GetState) {
        // It is set once.
        let _first = self.state.set(state);
    }

    /// Returns the columns of the files that queries have named, by name.
    pub(crate) fn known_columns(&self) -> BTreeMap<String, Vec<String>> {
        let columns = self.columns.lock();
        columns.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the table of a name; `None` if it is the name of a table that does not exist.
    pub(crate) async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let state = self.state.get().and_then(|get| get());
        let state = state.ok_or_else(|| internal_datafusion_err!("the session has ended"))?;
        let Some(found) = find::find(&state, name).await? else {
            return Ok(None);
        };
        let groups = self.groups(&state, name, &found).await?;
        if groups.is_empty() {
            // A table may have the name of a folder.
            return Ok(None);
        }
        let mut tables = Vec::new();
        for group in groups {
            let kind = group.kind;
            let table: Arc<dyn TableProvider> =
                Arc::new(listing(&state, name, &found, group).await?);
            tables.push((kind, table));
        }
        let table = unite::unite(name, tables)?;
        let fields = table.schema();
        let columns = fields.fields().iter().map(|it| it.name().clone()).collect();
        let mut known = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.to_owned(), columns);
        Ok(Some(table))
    }

    /// Groups files by their kinds, and infers the columns of each group. A folder without known files has no
    /// groups; it is an error if `name` is a path.
    async fn groups(&self, state: &SessionState, name: &str, found: &Found) -> Result<Vec<Group>> {
        let mut kinds: BTreeMap<(Kind, String), Vec<ObjectMeta>> = BTreeMap::new();
        for file in &found.files {
            let known = Kind::by_name(file.location.as_ref());
            let (kind, suffix) = match (known, found.place) {
                (Some((kind, suffix)), _) if kind.compression.is_some() => (kind, suffix),
                (Some((kind, suffix)), _) if !kind.format.is_text() => (kind, suffix),
                (Some((kind, suffix)), _) => (kind.with_content(&head(found, file).await?), suffix),
                (None, Place::File) => match Kind::by_content(&head(found, file).await?) {
                    Some(kind) => (kind, ""),
                    None => {
                        return plan_err!(
                            "`{name}`: neither the name nor the content shows the format; known suffixes are \
                             {SUFFIXES}. Any other CSV file can be a table: CREATE EXTERNAL TABLE t STORED AS CSV \
                             LOCATION '{name}'"
                        );
                    }
                },
                (None, _) => continue,
            };
            let files = kinds.entry((kind, suffix.to_owned())).or_default();
            files.push(file.clone());
        }
        if kinds.is_empty() && is_like_path(name) {
            return plan_err!("`{name}`: no file has a known suffix; there are {SUFFIXES}");
        }
        let mut groups = Vec::new();
        for ((kind, suffix), files) in kinds {
            let format = kind.file_format(state, self.infer_rows)?;
            let inferred = infer(state, found, kind, &format, files).await?;
            groups.extend(inferred.into_iter().map(|(files, schema)| Group {
                kind,
                suffix: suffix.clone(),
                format: Arc::clone(&format),
                files,
                schema,
            }));
        }
        Ok(groups)
    }
}

#[async_trait]
impl UrlTableFactory for FileTables {
    async fn try_new(&self, url: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        self.table(url).await
    }
}

async fn head(found: &Found, file: &ObjectMeta) -> Result<Vec<u8>> {
    let range = 0..file.size.min(HEAD_BYTES);
    let bytes = found.store.get_range(&file.location, range).await?;
    Ok(bytes.to_vec())
}

/// Infers the columns of files of one kind. CSV files with other columns, or another order of them, are another group.
async fn infer(
    state: &SessionState,
    found: &Found,
    kind: Kind,
    format: &Arc<dyn FileFormat>,
    files: Vec<ObjectMeta>,
) -> Result<Vec<(Vec<ObjectMeta>, SchemaRef)>> {
    if kind.format == kind::Format::Arrow {
        let schema = ipc::infer(state, &found.store, format, &files).await?;
        return Ok(vec![(files, schema)]);
    }
    if !kind.format.is_text() {
        let schema = format.infer_schema(state, &found.store, &files).await?;
        return Ok(vec![(files, schema)]);
    }
    let inferring = futures::stream::iter(files).map(|file| async move {
        let one = std::slice::from_ref(&file);
        let schema = format.infer_schema(state, &found.store, one).await;
        let schema = schema.map_err(|error| error.context(format!("`{}`", found.url_of(&file))))?;
        Ok::<_, datafusion::common::DataFusionError>((file, schema))
    });
    let inferred: Vec<_> = inferring.boxed().buffered(AT_ONCE).try_collect().await?;
    let is_csv = kind.format == kind::Format::Csv;
    let mut groups: Vec<(Vec<ObjectMeta>, Schema)> = Vec::new();
    for (file, schema) in inferred {
        let same = |(_, other): &&mut (_, Schema)| !is_csv || has_names_of(other, &schema);
        match groups.iter_mut().find(same) {
            Some((files, united)) => {
                *united = types::unite(united, &schema, is_csv).map_err(|column| {
                    datafusion::common::plan_datafusion_err!(
                        "`{}`: column {column} the files before it",
                        found.url_of(&file)
                    )
                })?;
                files.push(file);
            }
            None => groups.push((vec![file], schema.as_ref().clone())),
        }
    }
    let without_null = |schema: Schema| {
        // A column without values has no type.
        let fields = schema.fields().iter().map(|field| match field.data_type() {
            DataType::Null => Arc::new(Field::new(field.name(), DataType::Utf8View, true)),
            _ => Arc::clone(field),
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    };
    let groups = groups.into_iter();
    Ok(groups
        .map(|(files, it)| (files, without_null(it)))
        .collect())
}

fn has_names_of(a: &Schema, b: &Schema) -> bool {
    let names = |schema: &Schema| -> Vec<String> {
        schema.fields().iter().map(|it| it.name().clone()).collect()
    };
    names(a) == names(b)
}

/// Makes a table of a group of files. Parts of paths such as `year=2024` below a folder are columns.
async fn listing(
    state: &SessionState,
    name: &str,
    found: &Found,
    group: Group,
) -> Result<ListingTable> {
    let is_hive = |file: &ObjectMeta| {
        let folders = found.below(file).rsplit_once('/');
        folders.is_some_and(|(folders, _)| folders.split('/').any(|part| part.contains('=')))
    };
    let config = if found.place == Place::Folder && group.files.iter().any(is_hive) {
        let base = ListingTableUrl::try_new(found.base.clone(), None)?;
        let options = ListingOptions::new(group.format).with_file_extension(group.suffix);
        let listed = base.list_all_files(state, &found.store, &options.file_extension);
        let listed: Vec<_> = listed.await?.try_collect().await?;
        if listed.iter().filter(|file| file.size > 0).count() != group.files.len() {
            return plan_err!(
                "`{name}` has folders such as `year=2024`, and files that are hidden or have other columns; name its \
                 files by a glob instead"
            );
        }
        let keys = options.infer_partitions(state, &base).await?;
        let ty = DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8));
        let columns = keys.into_iter().map(|key| (key, ty.clone())).collect();
        ListingTableConfig::new(base)
            .with_listing_options(options.with_table_partition_cols(columns))
    } else {
        let urls = group.files.iter().map(|file| found.url_of(file));
        let urls: Result<Vec<_>> = urls
            .map(|url| ListingTableUrl::try_new(url, None))
            .collect();
        // The names have been checked.
        let options = ListingOptions::new(group.format).with_file_extension("");
        ListingTableConfig::new_with_multi_paths(urls?).with_listing_options(options)
    };
    ListingTable::try_new(config.with_schema(group.schema))
}
