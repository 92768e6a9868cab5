//! Opens files as streams of batches.

mod args;
mod blocks;
mod cole;
mod columns;
mod csv;
mod csv_arrays;
mod csv_rows;
mod delimiter_advice;
mod exact_cast;
mod exact_text;
mod files;
mod filter;
mod folder_columns;
mod folder_files;
mod folder_values;
mod globs;
mod infer_csv;
mod infer_json;
mod ipc;
mod local_globs;
mod lossy_text;
mod misfit;
mod ndjson;
mod numbers;
mod origin;
#[cfg(unix)]
mod own_output;
mod parquet;
mod parquet_batches;
mod parquet_footer;
mod plan;
mod provided;
mod record_ends;
mod repeated_files;
mod row_count;
mod row_numbers;
mod row_sizes;
mod source;
mod spares;
mod text_file;
mod text_forms;
mod text_plan;
mod times;
mod type_args;
mod union;
mod united_schema;
mod wanted;

pub(crate) use args::{HiveArgs, InputArgs, ReadArgs, UntypedArgs};
pub(crate) use columns::{ColumnArgs, ColumnNames, indices};
pub(crate) use files::{Files, shards, with_matches};
pub(crate) use filter::predicate;
pub(crate) use folder_columns::values_by_file;
pub(crate) use folder_files::is_folder;
pub(crate) use folder_values::folder_name;
pub(crate) use globs::{glob_matches, no_match};
pub(crate) use parquet_footer::Footer;
pub(crate) use provided::Provided;
pub(crate) use row_numbers::row_numbers;
pub(crate) use source::Input;
pub(crate) use type_args::TypeArgs;
pub(crate) use union::{Survey, chained};

use crate::content::{self, Content};
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::isolate::Foreign;
use crate::location::{PathLocation, open_one_of_many, open_shard};
use crate::progress::Total;
use crate::threads::usual_threads;
use arrow_schema::Schema;
use arrow_shard::Shard;
use arrow_shard::read::{Projection, ScanBuilder};
use columns::Needed;
use origin::Origin;
use plan::is_read_once;
use std::path::{Path, PathBuf};
use text_plan::TextPlan;
use wanted::Wanted;

/// Number of rows in a batch.
const BATCH_ROWS: usize = 8192;
/// Heading of the options for reading in help.
const READING: &str = "Options for reading";

/// Number of bytes read from a file at a time.
const BUFFER_BYTES: usize = 1 << 18;

/// Selects the rows and columns of an input in another format.
fn selected(
    input: Input,
    file: Foreign,
    names: &[String],
    rows: RowWindow<'_>,
) -> Result<Input, Failure> {
    let mut input = input.guarded(file.clone());
    if let Some(filter) = rows.filter {
        input = filter::matching(input, filter, file.name())?;
    }
    Ok(input.choose(names, file.name())?.window(rows))
}

/// Returns an error if the content of a file shows another format.
fn mistaken(path: &Path, format: FileFormat) -> Option<Failure> {
    let Ok(PathLocation::Local(local)) = PathLocation::of(path) else {
        return None;
    };
    let why = match Content::of_file(&local)? {
        Content::Compressed(_) if format.is_text() => return None,
        Content::Compressed(compression) => {
            content::decompressed(compression.program(), path, None)
        }
        Content::Foreign(program) => content::decompressed(program, path, None),
        // CSV may begin like JSON, and text like CSV.
        Content::Format(found) if found == format || found.is_text() && format.is_text() => {
            return None;
        }
        Content::Format(found) => format!(
            "the content is {found}, not {format}; name the format with --from {}",
            found.option()
        ),
    };
    Some(Failure::new(why).within(path.display()))
}

/// The rows of an input to read, and the number of threads that read them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowWindow<'a> {
    /// The condition for rows. `offset` and `limit` count only rows that match.
    pub(crate) filter: Option<&'a str>,
    /// Number of rows to skip.
    pub(crate) offset: u64,
    /// Maximum number of rows to read.
    pub(crate) limit: Option<u64>,
    /// Number of threads that read CSV or decode a shard; 0 means the usual number for CSV, and one for a shard.
    pub(crate) threads: usize,
    /// Whether only the number of rows matters.
    pub(crate) is_counted: bool,
}

impl RowWindow<'_> {
    /// Returns the number of rows after which reading ends, if it is known.
    fn end(&self) -> Option<usize> {
        let end = self.limit?.saturating_add(self.offset).max(1);
        self.filter.is_none().then_some(usize::try_from(end).ok()?)
    }

    /// Returns the number of threads that read CSV.
    fn text_threads(&self) -> usize {
        match self.threads {
            0 => usual_threads(),
            threads => threads,
        }
    }

    /// Returns the number of rows in a batch: not more than are needed.
    fn batch_rows(&self) -> usize {
        self.end().map_or(BATCH_ROWS, |end| end.min(BATCH_ROWS))
    }
}

impl ReadArgs {
    /// Opens an input.
    pub(crate) fn open(
        &self,
        path: &Path,
        columns: &ColumnArgs,
        rows: RowWindow<'_>,
    ) -> Result<Input, Failure> {
        let format = self.format(path)?;
        let opened = match format {
            FileFormat::Shard => {
                let shard = self.open_shard(path);
                shard.and_then(|shard| self.scan(&shard, columns, rows))
            }
            FileFormat::Cole => cole::open(path, self.limits(), columns, rows),
            other => self.foreign(path, other, columns, rows),
        };
        opened.map_err(|failure| mistaken(path, format).unwrap_or(failure))
    }

    /// Opens an input that is neither a shard nor COLE.
    fn foreign(
        &self,
        path: &Path,
        format: FileFormat,
        columns: &ColumnArgs,
        rows: RowWindow<'_>,
    ) -> Result<Input, Failure> {
        let names = columns.names();
        let open = |needed| {
            let (input, file) = if format.is_text() {
                let (text, file) = self.text(path, format, needed, rows, &Wanted::default())?;
                (file.isolate(|| text.read(needed, rows))?, file)
            } else {
                self.opened(path, format, needed)?
            };
            selected(input, file, &names, rows)
        };
        // With all columns, errors can list them.
        if is_read_once(path) {
            return open(Needed::default());
        }
        match open(Needed::for_rows(&names, rows)) {
            Err(Failure::Usage(_)) => open(Needed::default()),
            other => other,
        }
    }

    /// Opens an input that is not text, with at least the needed columns.
    fn opened(
        &self,
        path: &Path,
        format: FileFormat,
        needed: Needed<'_>,
    ) -> Result<(Input, Foreign), Failure> {
        if format == FileFormat::Cole {
            let file = Foreign::new(path, format, 0);
            let (columns, rows) = (ColumnArgs::default(), RowWindow::default());
            return Ok((cole::open(path, self.limits(), &columns, rows)?, file));
        }
        let origin = Origin::find(path)?;
        let file = Foreign::new(path, format, origin.bytes());
        let input = file.isolate(|| match format {
            FileFormat::Parquet => parquet::open(origin.file()?, needed, None),
            FileFormat::IpcStream => ipc::open_stream(origin),
            _ => ipc::open_file(origin.file()?),
        })?;
        Ok((input, file))
    }

    /// Infers the types of the needed columns of a text file. Columns with a type that is wanted are read as text.
    fn text(
        &self,
        path: &Path,
        format: FileFormat,
        needed: Needed<'_>,
        rows: RowWindow<'_>,
        wanted: &Wanted,
    ) -> Result<(TextPlan, Foreign), Failure> {
        // The types are inferred only from the rows that are read.
        let sample = self.input.schema_rows.or_else(|| rows.end());
        let style = (format == FileFormat::Csv).then(|| self.csv_style(path));
        let origin = Origin::find(path)?;
        let file = Foreign::new(path, format, origin.bytes());
        let threads = rows.text_threads();
        let text = file
            .isolate(|| TextPlan::infer(origin, &file, style, sample, needed, threads, wanted))?;
        match self.input.schema_rows {
            Some(_) => Ok((text.of_sample(), file)),
            None => Ok((text, file)),
        }
    }

    /// Opens files one after the other. Their columns are united by name.
    pub(crate) fn open_all(
        &self,
        paths: &[PathBuf],
        columns: &ColumnArgs,
        rows: RowWindow<'_>,
    ) -> Result<Input, Failure> {
        let wanted = Wanted::of(&self.types, self)?;
        match paths {
            [path] if wanted.is_empty() && !self.has_folder_columns() => {
                self.open(path, columns, rows)
            }
            paths => union::open(self, paths, columns, rows, wanted),
        }
    }

    /// Opens inputs in the types of the columns of a shard, which their rows will be added to. Also returns the columns
    /// that each of the inputs provides; in the rows, the others are null.
    pub(crate) fn open_for(
        &self,
        paths: &[PathBuf],
        columns: &ColumnArgs,
        shard: &Path,
        schema: &Schema,
    ) -> Result<(Input, Vec<Provided>), Failure> {
        let wanted = Wanted::of_shard(shard, schema);
        union::open_for(self, paths, columns, wanted)
    }

    /// Looks at files without reading them, except for text, whose types are inferred. Fails if the columns do not fit
    /// the filter.
    pub(crate) fn survey(
        &self,
        paths: &[PathBuf],
        columns: &ColumnArgs,
        filter: Option<&str>,
    ) -> Result<Survey, Failure> {
        let wanted = Wanted::of(&self.types, self)?;
        union::survey(self, paths, columns, filter, &wanted)
    }

    /// Whether rows of the files can be read file by file, as those of one table. Otherwise only
    /// [`open_all`](Self::open_all) reads them: their columns differ, or options change them.
    pub(crate) fn are_alike(&self, paths: &[PathBuf]) -> Result<bool, Failure> {
        match paths {
            _ if self.changes_columns().is_some() => Ok(false),
            [_] => Ok(true),
            paths => union::are_alike(self, paths),
        }
    }

    /// Opens a shard, for commands that support no other format.
    pub(crate) fn open_shard(&self, path: &Path) -> Result<Shard, Failure> {
        match self.format(path)? {
            FileFormat::Shard => Ok(open_shard(path, self.shard_options()?)?),
            other => Err(Failure::Usage(format!(
                "`{}` is {other}, and this command reads only shards; convert it first: arrow-shard convert \
                 {0} out.amudai.shard",
                path.display()
            ))),
        }
    }

    /// Opens a shard, possibly one of more shards than the process may have open files.
    pub(crate) fn open_one_of_many(&self, path: &Path) -> Result<Shard, Failure> {
        Ok(open_one_of_many(path, self.shard_options()?)?)
    }

    /// Returns a scan of the columns with these names, or of all columns.
    fn scan_of(&self, shard: &Shard, names: &[String]) -> ScanBuilder {
        let projection = if names.is_empty() {
            Projection::All
        } else {
            names.to_vec().into()
        };
        shard
            .scan()
            .with_projection(projection)
            .with_strict_casts(self.is_exact())
    }

    /// Returns the rows of a shard as an input.
    fn scan(
        &self,
        shard: &Shard,
        columns: &ColumnArgs,
        rows: RowWindow<'_>,
    ) -> Result<Input, Failure> {
        let failure = self.failure();
        let names = columns.names();
        let mut scan = self
            .scan_of(shard, &names)
            .with_offset(rows.offset)
            .with_batch_size(BATCH_ROWS)
            .with_threads(rows.threads.max(1));
        if let Some(limit) = rows.limit {
            scan = scan.with_limit(limit);
        }
        if let Some(filter) = rows.filter {
            scan = scan.with_filter(predicate("--filter", shard.parse_predicate(filter))?);
        }
        let reader = scan.build().map_err(columns::unresolved)?;
        let schema = arrow_array::RecordBatchReader::schema(&reader);
        let repeated = columns::repeated(&schema, &names);
        let input = Input {
            schema,
            total: Total::Rows(reader.remaining_rows()),
            batches: Box::new(reader.map(move |batch| batch.map_err(|e| failure(e.into())))),
        };
        match repeated {
            Some(indices) => input.project(indices),
            None => Ok(input),
        }
    }
}
