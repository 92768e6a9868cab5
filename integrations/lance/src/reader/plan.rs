//! The parts of a file or a dataset.

use super::data_file::{self, arrow_schema_of};
use super::deletions::Deletions;
use super::local_reader::store_path;
use crate::failure::{file_name, from_lance};
use crate::ffi::column_name;
use arrow_schema::SchemaRef;
use arrow_shard::{Error, ErrorKind, Result};
use lance_core::datatypes::{Field, Schema};
use lance_file::reader::{FileReader, ReaderProjection};
use lance_file::versions::{reader_projection_from_field_ids, reader_projection_from_whole_schema};
use lance_io::object_store::ObjectStore;
use lance_table::feature_flags::ensure_can_read_manifest;
use lance_table::format::{DataFile, Fragment, Manifest};
use lance_table::io::commit::{CommitHandler, RenameCommitHandler};
use lance_table::io::manifest::read_manifest;
use object_store::path::Path as StorePath;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The folder of a dataset that holds its data files.
const DATA_FOLDER: &str = "data";

/// The rows of a file or a dataset.
#[derive(Debug)]
pub(super) struct Plan {
    /// The columns, with the ids by which data files name them.
    pub(super) columns: Arc<Schema>,
    pub(super) schema: SchemaRef,
    /// The version of the format, as Lance writes it.
    pub(super) version: String,
    /// Rows that are not deleted.
    pub(super) rows: u64,
    pub(super) fragments: VecDeque<FragmentPlan>,
}

/// Rows that are stored in the same data files.
#[derive(Debug)]
pub(super) struct FragmentPlan {
    pub(super) files: Vec<FilePlan>,
    /// Number of rows, including deleted ones.
    pub(super) rows: u64,
    pub(super) deletions: Option<Deletions>,
}

/// Some columns of the rows of a fragment.
#[derive(Debug)]
pub(super) struct FilePlan {
    pub(super) path: PathBuf,
    /// The file, if it is open already.
    pub(super) opened: Option<FileReader>,
    pub(super) columns: ReaderProjection,
}

impl Plan {
    /// Creates the plan of a file.
    pub(super) async fn of_file(path: &Path) -> Result<Self> {
        let file = data_file::open(path).await?;
        let columns = file.schema();
        let within = |e: Error| e.within(file_name(path));
        check_columns(&columns.fields).map_err(within)?;
        let rows = file.num_rows();
        let part = FilePlan {
            path: path.to_path_buf(),
            columns: reader_projection_from_whole_schema(columns, file.version()),
            opened: Some(file.clone()),
        };
        Ok(Self {
            columns: columns.clone(),
            schema: arrow_schema_of(columns).map_err(within)?,
            version: file.version().to_string(),
            rows,
            fragments: VecDeque::from([FragmentPlan {
                files: vec![part],
                rows,
                deletions: None,
            }]),
        })
    }

    /// Creates the plan of a dataset, of its latest version or of the version with the number `version`.
    pub(super) async fn of_dataset(folder: &Path, version: Option<u64>) -> Result<Self> {
        let plan = async {
            let manifest = manifest(folder, version).await?;
            Self::of_manifest(folder, &manifest).await
        };
        plan.await
            .map_err(|e: Error| e.within(format!("dataset `{}`", folder.display())))
    }

    async fn of_manifest(folder: &Path, manifest: &Manifest) -> Result<Self> {
        check_columns(&manifest.schema.fields)?;
        let mut fragments = VecDeque::with_capacity(manifest.fragments.len());
        let mut rows = 0u64;
        for fragment in manifest.fragments.iter() {
            let mut plan = FragmentPlan::of(folder, manifest, fragment).await?;
            let announced = fragment.deletion_file.as_ref();
            let deleted = match (announced.map(|it| it.num_deleted_rows), &plan.deletions) {
                (Some(Some(deleted)), _) => deleted as u64,
                (Some(None), Some(deletions)) => {
                    // The number of rows bounds the memory for the list, so it must not come from the manifest alone.
                    if let Some(first) = plan.files.first_mut() {
                        first.open(plan.rows).await?;
                    }
                    deletions.read().await?.len() as u64
                }
                _ => 0,
            };
            let kept = plan.rows.checked_sub(deleted);
            let total = kept.and_then(|kept| rows.checked_add(kept));
            rows = total.ok_or_else(|| {
                Error::new(
                    ErrorKind::Corrupt,
                    format!(
                        "fragment {} has {} rows, and {deleted} of them are deleted",
                        fragment.id, plan.rows
                    ),
                )
            })?;
            fragments.push_back(plan);
        }
        Ok(Self {
            schema: arrow_schema_of(&manifest.schema)?,
            columns: Arc::new(manifest.schema.clone()),
            version: manifest.data_storage_format.version.to_string(),
            rows,
            fragments,
        })
    }
}

impl FragmentPlan {
    async fn of(folder: &Path, manifest: &Manifest, fragment: &Fragment) -> Result<Self> {
        let unsupported = |what: &str| {
            Error::new(
                ErrorKind::Unsupported,
                format!("fragment {} has {what}, which are not read", fragment.id),
            )
        };
        if !fragment.overlays.is_empty() {
            return Err(unsupported("overlay files"));
        }
        let mut files = Vec::with_capacity(fragment.files.len());
        for file in &fragment.files {
            files.extend(FilePlan::of(folder, manifest, file)?);
        }
        let rows = match (fragment.physical_rows, files.first_mut()) {
            (Some(rows), _) => rows as u64,
            // Manifests of early versions lack the number of rows.
            (None, Some(first)) => {
                let file = data_file::open(&first.path).await?;
                first.opened.insert(file).num_rows()
            }
            (None, None) => return Err(unsupported("neither files nor a number of rows")),
        };
        let deletions = match &fragment.deletion_file {
            None => None,
            Some(file) => {
                let folder = match file.base_id {
                    None => folder.to_path_buf(),
                    Some(id) => base(manifest, id)?.0,
                };
                Some(Deletions::new(fragment.id, rows, file.clone(), folder))
            }
        };
        Ok(Self {
            files,
            rows,
            deletions,
        })
    }
}

impl FilePlan {
    /// Opens the file, unless it is open already, and keeps it open.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) if it does not have `rows` rows.
    pub(super) async fn open(&mut self, rows: u64) -> Result<FileReader> {
        let file = match &self.opened {
            Some(opened) => opened.clone(),
            None => data_file::open(&self.path).await?,
        };
        if file.num_rows() != rows {
            let error = Error::new(
                ErrorKind::Corrupt,
                format!("the file has {} rows, not {rows}", file.num_rows()),
            );
            return Err(error.within(file_name(&self.path)));
        }
        self.opened = Some(file.clone());
        Ok(file)
    }

    /// Returns the columns of the dataset that a data file holds; `None` if all of its columns were dropped.
    fn of(folder: &Path, manifest: &Manifest, file: &DataFile) -> Result<Option<Self>> {
        let folder = match file.base_id {
            None => folder.join(DATA_FOLDER),
            Some(id) => match base(manifest, id)? {
                (base, true) => base.join(DATA_FOLDER),
                (base, false) => base,
            },
        };
        // The manifest may come from an untrusted source, so the name of a file must not lead outside of its folder.
        // The folder itself may be anywhere: the base paths of a shallow clone name other datasets by absolute paths.
        let relative = Path::new(&file.path);
        if !relative
            .components()
            .all(|it| matches!(it, Component::Normal(_)))
        {
            return Err(Error::new(
                ErrorKind::ForbiddenUrl,
                format!("the data file `{}` is outside of its folder", file.path),
            ));
        }
        let path = folder.join(relative);
        let within =
            |e: lance_core::Error| from_lance(&e, ErrorKind::Corrupt).within(file_name(&path));
        let version = file.file_version().map_err(within)?;
        if version == lance_file::version::ConcreteFileVersion::V1 {
            let error = Error::new(
                ErrorKind::Unsupported,
                "the file is of Lance version 0.1, which is older than 2.0; write the dataset again with a newer version",
            );
            return Err(error.within(file_name(&path)));
        }
        file.validate(&StorePath::default()).map_err(within)?;
        let columns = file.schema(&manifest.schema);
        if columns.fields.is_empty() {
            return Ok(None);
        }
        let pairs = file.fields.iter().zip(file.column_indices.iter());
        let ids: BTreeMap<u32, u32> = pairs
            .filter_map(|(&id, &column)| {
                Some((u32::try_from(id).ok()?, u32::try_from(column).ok()?))
            })
            .collect();
        let columns = reader_projection_from_field_ids(version, &columns, &ids).map_err(within)?;
        Ok(Some(Self {
            path,
            opened: None,
            columns,
        }))
    }
}

/// Reads the manifest of a dataset.
async fn manifest(folder: &Path, version: Option<u64>) -> Result<Manifest> {
    let store = ObjectStore::local();
    let base = store_path(folder)?;
    let corrupt = |e: lance_core::Error| from_lance(&e, ErrorKind::Corrupt);
    let resolved = match version {
        None => {
            RenameCommitHandler
                .resolve_latest_location(&base, &store)
                .await
        }
        Some(version) => {
            let inner = store.inner.as_ref();
            RenameCommitHandler
                .resolve_version_location(&base, version, inner)
                .await
        }
    };
    let missing = |e: lance_core::Error| match e {
        lance_core::Error::NotFound { .. } | lance_core::Error::DatasetNotFound { .. } => {
            let why = match version {
                None => "the folder has no manifest: it is not a Lance dataset".to_owned(),
                Some(version) => format!("the dataset has no version {version}"),
            };
            Error::new(ErrorKind::NotFound, why)
        }
        other => from_lance(&other, ErrorKind::Corrupt),
    };
    let found = resolved.map_err(missing)?;
    let read = read_manifest(&store, &found.path, None).await;
    let manifest = read.map_err(missing)?;
    ensure_can_read_manifest(&manifest).map_err(corrupt)?;
    Ok(manifest)
}

/// Returns the folder with a number in the manifest, and whether it is the root of a dataset.
fn base(manifest: &Manifest, id: u32) -> Result<(PathBuf, bool)> {
    let base = manifest.base_paths.get(&id).ok_or_else(|| {
        Error::new(
            ErrorKind::Corrupt,
            format!("the manifest has no base path {id}"),
        )
    })?;
    let path = Path::new(base.path.strip_prefix("file://").unwrap_or(&base.path));
    if path.is_absolute() {
        Ok((path.to_path_buf(), base.is_dataset_root))
    } else {
        Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "data files are in `{}`, which is not a local folder",
                base.path
            ),
        ))
    }
}

/// Refuses columns that need more than their data file.
fn check_columns(fields: &[Field]) -> Result<()> {
    for field in fields {
        check_column(field).map_err(|e| e.within(column_name(&field.name)))?;
    }
    Ok(())
}

fn check_column(field: &Field) -> Result<()> {
    if field.is_blob_v2() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "it holds blobs of version 2 (`lance.blob.v2`), whose bytes may be in files or at addresses of their own; \
             copy it into a column of LargeBinary first",
        ));
    }
    field.children.iter().try_for_each(check_column)
}
