//! Opens files as streams of batches.

mod cole;
mod columns;
mod csv;
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
mod ndjson;
mod numbers;
mod origin;
mod parquet;
mod parquet_batches;
mod parquet_footer;
mod plan;
mod quotes;
mod repeated_files;
mod row_count;
mod row_numbers;
mod row_sizes;
mod source;
mod text_file;
mod text_plan;
mod union;
mod united_schema;
mod wanted;
mod widened_type;

pub(crate) use columns::{ColumnArgs, ColumnNames, indices};
pub(crate) use csv::CsvArgs;
pub(crate) use files::Files;
pub(crate) use filter::predicate;
pub(crate) use folder_files::is_folder;
pub(crate) use globs::glob_matches;
pub(crate) use parquet_footer::Footer;
pub(crate) use row_numbers::row_numbers;
pub(crate) use source::Input;
pub(crate) use union::{Survey, chained};

use crate::content::{self, Content};
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::isolate::Foreign;
use crate::limits::LimitArgs;
use crate::location::{Location, open_one_of_many, open_shard};
use crate::progress::Total;
use arrow_schema::{DECIMAL256_MAX_PRECISION, Schema, TimeUnit};
use arrow_shard::Shard;
use arrow_shard::read::{Projection, ScanBuilder, ShardOptions};
use origin::Origin;
use std::path::{Path, PathBuf};
use text_plan::TextPlan;
use wanted::{TypeArgs, Wanted};

/// Number of rows in a batch.
const BATCH_ROWS: usize = 8192;
/// Number of bytes read from a file at a time.
const BUFFER_BYTES: usize = 1 << 18;

/// Heading of the options for reading in help.
const READING: &str = "Options for reading";

/// Options for reading inputs.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReadArgs {
    /// Format of all inputs, if neither their names nor their content show it
    #[arg(long, help_heading = READING, value_enum, value_name = "FORMAT")]
    from: Option<FileFormat>,
    /// Rows of CSV or NDJSON from which types are inferred; all by default; with 0, all columns of CSV are text
    #[arg(long, help_heading = READING, value_name = "ROWS")]
    schema_rows: Option<usize>,
    /// Unit for times in a shard that declares no Arrow type for them; nanoseconds cover the years 1677 to 2262
    /// [default: ns]
    #[arg(long, help_heading = READING, value_enum, value_name = "UNIT")]
    time_unit: Option<Unit>,
    /// Allow conversions that lose information: times are rounded to the --time-unit, and values are cut or rounded to the
    /// types of --cast and --schema; in COLE, nulls become 0 or empty text, and columns of other types numbers or text;
    /// otherwise each of these is an error
    #[arg(long, help_heading = READING)]
    lossy: bool,
    /// Unite columns whose types differ between files, where a wider type holds the values of both exactly: wider
    /// integers, floats and decimals, finer times, the large forms of text
    #[arg(long, help_heading = READING)]
    unify: bool,
    /// Add a column for each folder with a name such as `year=2024`; its type is inferred from the names as in CSV
    #[arg(long, help_heading = READING)]
    hive: bool,
    #[command(flatten)]
    types: TypeArgs,
    /// Precision and scale for decimals in a shard that declares no Arrow type for them, such as 38,10 [default: 38,16]
    #[arg(long, help_heading = READING, value_name = "PRECISION,SCALE", value_parser = decimal)]
    decimal: Option<(u8, i8)>,
    #[command(flatten)]
    pub(crate) csv: CsvArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

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

/// Extends an error about inexact times by the option that allows rounding.
fn rounded(failure: Failure) -> Failure {
    match failure {
        Failure::Error(why) if why.contains("would be rounded") => {
            Failure::Error(format!("{why}; --lossy allows that"))
        }
        other => other,
    }
}

/// Returns an error if the content of a file shows another format.
fn mistaken(path: &Path, format: FileFormat) -> Option<Failure> {
    let Ok(Location::Local(local)) = Location::of(path) else {
        return None;
    };
    let why = match Content::of_file(&local)? {
        Content::Compressed(_) if format.is_text() => return None,
        Content::Compressed(compression) => content::decompressed(compression.program(), path),
        Content::Foreign(program) => content::decompressed(program, path),
        // CSV may begin like JSON.
        Content::Format(found) if found != format && found != FileFormat::Ndjson => format!(
            "the content is {found}, not {format}; name the format with --from {}",
            found.option()
        ),
        Content::Format(_) => return None,
    };
    Some(Failure::new(why).within(path.display()))
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Unit {
    S,
    Ms,
    Us,
    Ns,
}

fn decimal(text: &str) -> Result<(u8, i8), String> {
    let parts = text.split_once(',');
    let numbers = parts.and_then(|(p, s)| Some((p.trim().parse().ok()?, s.trim().parse().ok()?)));
    let (precision, scale) = numbers.ok_or("expected two numbers, such as 38,10")?;
    match precision {
        1..=DECIMAL256_MAX_PRECISION => Ok((precision, scale)),
        _ => Err(format!(
            "expected a precision of 1 to {DECIMAL256_MAX_PRECISION}"
        )),
    }
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
    /// Number of threads that decode a shard; 0 means one.
    pub(crate) threads: usize,
}

impl RowWindow<'_> {
    /// Returns the number of rows after which reading ends, if it is known.
    fn end(&self) -> Option<usize> {
        let end = self.limit?.saturating_add(self.offset).max(1);
        self.filter.is_none().then_some(usize::try_from(end).ok()?)
    }

    /// Returns the number of rows in a batch: not more than are needed.
    fn batch_rows(&self) -> usize {
        self.end().map_or(BATCH_ROWS, |end| end.min(BATCH_ROWS))
    }
}

impl ReadArgs {
    /// Returns the format of the file.
    pub(crate) fn format(&self, path: &Path) -> Result<FileFormat, Failure> {
        FileFormat::of_input(path, self.from)
    }

    /// Fails if an option applies to none of the files, nor to `output`.
    pub(crate) fn check(
        &self,
        files: &[PathBuf],
        output: Option<FileFormat>,
    ) -> Result<(), Failure> {
        use FileFormat::{Cole, Csv, Ndjson, Shard};
        let formats = files
            .iter()
            .map(|file| self.format(file))
            .collect::<Result<Vec<_>, _>>()?;
        let is_read = |asked: &[FileFormat]| formats.iter().any(|it| asked.contains(it));
        let has_csv = is_read(&[Csv]) || output == Some(Csv);
        let has_text = is_read(&[Csv, Ndjson]);
        let options = [
            (self.csv.given(), has_csv, "CSV files"),
            (self.csv.given_to_read(), is_read(&[Csv]), "CSV inputs"),
            (
                self.schema_rows.map(|_| "--schema-rows"),
                has_text,
                "CSV and NDJSON inputs",
            ),
            (
                self.time_unit.map(|_| "--time-unit"),
                is_read(&[Shard]),
                "shard inputs",
            ),
            (
                self.decimal.map(|_| "--decimal"),
                is_read(&[Shard]),
                "shard inputs",
            ),
            (
                self.lossy.then_some("--lossy"),
                self.time_unit.is_some() || self.types.given().is_some() || output == Some(Cole),
                "conversions to a --time-unit, to types that are given, or to COLE",
            ),
            (
                self.limits.given(),
                is_read(&[Shard, Cole]),
                "shard and COLE inputs",
            ),
        ];
        self.csv.check()?;
        for (option, means_something, what) in options {
            if let Some(option) = option.filter(|_| !means_something) {
                return Err(Failure::Usage(format!(
                    "{option} applies only to {what}, and there are none here"
                )));
            }
        }
        Ok(())
    }

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
            FileFormat::Cole => cole::open(path, self.limits.limits(), columns, rows),
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
        let (input, file) = match format {
            FileFormat::Csv | FileFormat::Ndjson => {
                let (text, file) = self.text(path, format, rows, &Wanted::default())?;
                (file.isolate(|| text.read(rows))?, file)
            }
            // The condition may use other columns.
            _ if rows.filter.is_some() => self.opened(path, format, &[])?,
            _ => self.opened(path, format, &names)?,
        };
        selected(input, file, &names, rows)
    }

    /// Opens an input that is not text, with at least these columns.
    fn opened(
        &self,
        path: &Path,
        format: FileFormat,
        names: &[String],
    ) -> Result<(Input, Foreign), Failure> {
        if format == FileFormat::Cole {
            let file = Foreign::new(path, format, 0);
            let (columns, rows) = (ColumnArgs::default(), RowWindow::default());
            return Ok((
                cole::open(path, self.limits.limits(), &columns, rows)?,
                file,
            ));
        }
        let origin = Origin::find(path)?;
        let file = Foreign::new(path, format, origin.bytes());
        let input = file.isolate(|| match format {
            FileFormat::Parquet => parquet::open(origin.file()?, names, None),
            FileFormat::IpcStream => ipc::open_stream(origin),
            _ => ipc::open_file(origin.file()?),
        })?;
        Ok((input, file))
    }

    /// Infers the types of a text file. Columns with a type that is wanted are read as text.
    fn text(
        &self,
        path: &Path,
        format: FileFormat,
        rows: RowWindow<'_>,
        wanted: &Wanted,
    ) -> Result<(TextPlan, Foreign), Failure> {
        // The types are inferred only from the rows that are read.
        let sample = self.schema_rows.or_else(|| rows.end());
        let style = (format == FileFormat::Csv).then(|| self.csv.style(path));
        let origin = Origin::find(path)?;
        let file = Foreign::new(path, format, origin.bytes());
        let text = file.isolate(|| TextPlan::infer(origin, style, sample, wanted))?;
        match self.schema_rows {
            Some(_) => Ok((text.with_unknown_as_text(), file)),
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
            [path] if wanted.is_empty() && !self.hive => self.open(path, columns, rows),
            paths => union::open(self, paths, columns, rows, wanted),
        }
    }

    /// Opens inputs in the types of the columns of a shard, which their rows will be added to.
    pub(crate) fn open_for(
        &self,
        paths: &[PathBuf],
        columns: &ColumnArgs,
        shard: &Path,
        schema: &Schema,
    ) -> Result<Input, Failure> {
        if let Some(option) = self.types.given() {
            return Err(Failure::Usage(format!(
                "{option} does not apply here: rows take the types of the shard's columns"
            )));
        }
        let wanted = Wanted::of_shard(shard, schema);
        union::open(self, paths, columns, RowWindow::default(), wanted)
    }

    /// Looks at files without reading them, except for text, whose types are inferred.
    pub(crate) fn survey(
        &self,
        paths: &[PathBuf],
        columns: &ColumnArgs,
    ) -> Result<Survey, Failure> {
        union::survey(self, paths, columns, &Wanted::of(&self.types, self)?)
    }

    /// Whether rows of the files can be read file by file, as those of one table. Otherwise only
    /// [`open_all`](Self::open_all) reads them: their columns differ, or options change them.
    pub(crate) fn are_alike(&self, paths: &[PathBuf]) -> Result<bool, Failure> {
        match paths {
            _ if self.types.given().is_some() || self.hive => Ok(false),
            [_] => Ok(true),
            paths => union::are_alike(self, paths),
        }
    }

    /// Fails if an option for the columns of tables is given to a command that takes the columns of each file as they are.
    pub(crate) fn check_plain(&self) -> Result<(), Failure> {
        let unify = || self.unify.then_some("--unify");
        let hive = || self.hive.then_some("--hive");
        match self.types.given().or_else(unify).or_else(hive) {
            None => Ok(()),
            Some(option) => Err(Failure::Usage(format!(
                "{option} does not apply here: the columns of each file are taken as they are"
            ))),
        }
    }

    /// Finds the files that inputs name.
    pub(crate) fn files(&self, inputs: &[PathBuf]) -> Result<Files, Failure> {
        Files::find(inputs, self.from, &self.shard_options()?)
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

    /// Returns whether values may be changed by conversions.
    pub(crate) fn is_lossy(&self) -> bool {
        self.lossy
    }

    /// Returns the options for opening a shard that is edited.
    pub(crate) fn editing_options(&self) -> arrow_shard::Result<ShardOptions> {
        self.limits.editing_options()
    }

    /// Returns the options for opening shards.
    pub(crate) fn shard_options(&self) -> arrow_shard::Result<ShardOptions> {
        let mut options = self.limits.shard_options()?;
        if let Some(unit) = self.time_unit {
            options = options.with_default_time_unit(match unit {
                Unit::S => TimeUnit::Second,
                Unit::Ms => TimeUnit::Millisecond,
                Unit::Us => TimeUnit::Microsecond,
                Unit::Ns => TimeUnit::Nanosecond,
            });
        }
        if let Some((precision, scale)) = self.decimal {
            options = options.with_default_precision_and_scale(precision, scale);
        }
        Ok(options)
    }

    /// Whether times that the --time-unit would round are an error.
    fn is_exact(&self) -> bool {
        self.time_unit.is_some() && !self.lossy
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
        let is_exact = self.is_exact();
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
        let reader = scan.build()?;
        let schema = arrow_array::RecordBatchReader::schema(&reader);
        let repeated = columns::repeated(&schema, &names);
        let input = Input {
            schema,
            total: Total::Rows(reader.remaining_rows()),
            batches: Box::new(reader.map(move |batch| match batch {
                Err(e) if is_exact => Err(rounded(e.into())),
                batch => Ok(batch?),
            })),
        };
        match repeated {
            Some(indices) => input.project(indices),
            None => Ok(input),
        }
    }
}
