//! Options for reading inputs.

use super::READING;
use super::csv::CsvArgs;
use super::delimiter_advice::other_delimiter;
use super::exact_cast::LOSSES;
use super::files::Files;
use super::type_args::TypeArgs;
use crate::counts::rows;
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::limits::LimitArgs;
use arrow_schema::{DECIMAL256_MAX_PRECISION, Schema, TimeUnit};
use arrow_shard::Limits;
use arrow_shard::read::ShardOptions;
use std::path::{Path, PathBuf};

/// Options of every command that reads files.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct InputArgs {
    /// Format of all inputs, if neither their names nor their content show it
    #[arg(long, help_heading = READING, value_enum, value_name = "FORMAT")]
    from: Option<FileFormat>,
    /// Rows of CSV or NDJSON from which types are inferred; all by default; with 0, all columns of CSV are text
    #[arg(long, help_heading = READING, value_name = "ROWS", value_parser = rows::<usize>)]
    pub(super) schema_rows: Option<usize>,
    #[command(flatten)]
    csv: CsvArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

impl InputArgs {
    /// Returns the name of the first given option.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let from = self.from.map(|_| "--from");
        let rows = self.schema_rows.map(|_| "--schema-rows");
        let csv = self.csv.given().or(self.csv.given_to_read());
        from.or(rows).or(csv).or(self.limits.given())
    }
}

/// Options for values of shards that declare no Arrow types for them.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct UntypedArgs {
    /// Unit for times in a shard that declares no Arrow type for them; nanoseconds cover the years 1677 to 2262
    /// [default: ns]
    #[arg(long, help_heading = READING, value_enum, value_name = "UNIT")]
    time_unit: Option<Unit>,
    /// Precision and scale for decimals in a shard that declares no Arrow type for them, such as 38,10 [default: 38,16]
    #[arg(long, help_heading = READING, value_name = "PRECISION,SCALE", value_parser = decimal)]
    decimal: Option<(u8, i8)>,
}

/// Columns in the names of folders.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct HiveArgs {
    /// Add a column for each folder with a name such as `year=2024`; its type is inferred from the names as in CSV
    #[arg(long, help_heading = READING)]
    pub(crate) hive: bool,
}

/// Options of commands that read files as one table.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReadArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    #[command(flatten)]
    untyped: UntypedArgs,
    /// Allow conversions that lose information: times are rounded to the --time-unit, and values are cut or rounded to
    /// the types of --cast and --schema; in COLE, nulls become 0 or empty text, and columns of other types numbers or
    /// text; otherwise each of these is an error
    #[arg(long, help_heading = READING)]
    pub(super) lossy: bool,
    /// Unite columns whose types differ between files, where a wider type holds the values of both exactly: wider
    /// integers, floats and decimals, finer times, the large forms of text
    #[arg(long, help_heading = READING)]
    pub(super) unify: bool,
    #[command(flatten)]
    folders: HiveArgs,
    #[command(flatten)]
    pub(super) types: TypeArgs,
    /// Whether the command has the option --lossy.
    #[arg(skip = true)]
    has_lossy: bool,
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

impl UntypedArgs {
    /// Returns the names of the given options.
    fn given(&self) -> [Option<&'static str>; 2] {
        [
            self.time_unit.map(|_| "--time-unit"),
            self.decimal.map(|_| "--decimal"),
        ]
    }
}

impl ReadArgs {
    /// Returns the options of a command that takes the columns of files as they are.
    pub(crate) fn plain(input: &InputArgs, untyped: &UntypedArgs) -> Self {
        Self {
            input: input.clone(),
            untyped: untyped.clone(),
            lossy: false,
            unify: false,
            folders: HiveArgs::default(),
            types: TypeArgs::default(),
            has_lossy: false,
        }
    }

    /// Sets the format of all inputs.
    pub(super) fn with_format(self, from: Option<FileFormat>) -> Self {
        let input = InputArgs { from, ..self.input };
        Self { input, ..self }
    }

    /// Adds columns in the names of folders.
    pub(crate) fn with_folders(self, folders: &HiveArgs) -> Self {
        let folders = folders.clone();
        Self { folders, ..self }
    }

    /// Sets types of columns.
    pub(crate) fn with_types(self, types: &TypeArgs) -> Self {
        let types = types.clone();
        Self { types, ..self }
    }

    /// Returns the format of the file.
    pub(crate) fn format(&self, path: &Path) -> Result<FileFormat, Failure> {
        FileFormat::of_input(path, self.input.from)
    }

    /// Returns the syntax of a CSV file that is read.
    pub(super) fn csv_style(&self, path: &Path) -> CsvStyle {
        let is_recognized = self
            .input
            .from
            .or_else(|| FileFormat::by_name(path))
            .is_none();
        self.input.csv.style_of_input(path, is_recognized)
    }

    /// Returns the syntax of a CSV file that is written.
    pub(crate) fn csv_output_style(&self, path: &Path) -> CsvStyle {
        self.input.csv.style(path)
    }

    /// Returns advice if the only column of CSV files has another usual delimiter in its name: they were probably
    /// written with it.
    pub(crate) fn delimiter_note(&self, files: &[PathBuf], schema: &Schema) -> Option<String> {
        let [column] = schema.fields().as_ref() else {
            return None;
        };
        let file = files.iter().find(|file| {
            let is_csv = self.format(file).is_ok_and(|it| it == FileFormat::Csv);
            is_csv
                && !column
                    .name()
                    .as_bytes()
                    .contains(&self.csv_style(file).delimiter)
        })?;
        let advice = other_delimiter(column.name().as_bytes())?;
        Some(format!(
            "{} has the single column `{}`; {advice}",
            file.display(),
            column.name()
        ))
    }

    /// Fails if an option applies to none of the files, nor to `output`.
    pub(crate) fn check(
        &self,
        files: &[PathBuf],
        output: Option<FileFormat>,
    ) -> Result<(), Failure> {
        self.check_formats(&self.formats(files)?, output)
    }

    /// Fails if an option applies neither to any of the files, nor to a shard that they are added to.
    pub(crate) fn check_added(&self, files: &[PathBuf]) -> Result<(), Failure> {
        let mut formats = self.formats(files)?;
        formats.push(FileFormat::Shard);
        self.check_formats(&formats, None)
    }

    fn formats(&self, files: &[PathBuf]) -> Result<Vec<FileFormat>, Failure> {
        files.iter().map(|file| self.format(file)).collect()
    }

    fn check_formats(
        &self,
        formats: &[FileFormat],
        output: Option<FileFormat>,
    ) -> Result<(), Failure> {
        use FileFormat::{Cole, Csv, Ndjson, Shard};
        let is_read = |asked: &[FileFormat]| formats.iter().any(|it| asked.contains(it));
        let has_csv = is_read(&[Csv]) || output == Some(Csv);
        let has_text = is_read(&[Csv, Ndjson]);
        let InputArgs { csv, limits, .. } = &self.input;
        let [time_unit, decimal] = self.untyped.given();
        let options = [
            (csv.given(), has_csv, "CSV files"),
            (csv.given_to_read(), is_read(&[Csv]), "CSV inputs"),
            (
                self.input.schema_rows.map(|_| "--schema-rows"),
                has_text,
                "CSV and NDJSON inputs",
            ),
            (time_unit, is_read(&[Shard]), "shard inputs"),
            (decimal, is_read(&[Shard]), "shard inputs"),
            (
                self.lossy.then_some("--lossy"),
                time_unit.is_some() || self.types.given().is_some() || output == Some(Cole),
                "conversions to a --time-unit, to types that are given, or to COLE",
            ),
            (
                limits.given(),
                is_read(&[Shard, Cole]),
                "shard and COLE inputs",
            ),
        ];
        for (option, means_something, what) in options {
            if let Some(option) = option.filter(|_| !means_something) {
                return Err(Failure::Usage(format!(
                    "{option} applies only to {what}, and there are none here"
                )));
            }
        }
        Ok(())
    }

    /// Finds the files that inputs name.
    pub(crate) fn files(&self, inputs: &[PathBuf]) -> Result<Files, Failure> {
        Files::find(inputs, self.input.from, &self.shard_options()?)
    }

    /// Returns whether values may be changed by conversions.
    pub(crate) fn is_lossy(&self) -> bool {
        self.lossy
    }

    /// Returns the name of the first given option that changes or adds columns.
    pub(crate) fn changes_columns(&self) -> Option<&'static str> {
        let hive = self.folders.hive.then_some("--hive");
        self.types.given().or(hive)
    }

    /// Whether the names of folders give columns.
    pub(super) fn has_folder_columns(&self) -> bool {
        self.folders.hive
    }

    /// Returns the limits for shards.
    pub(super) fn limits(&self) -> Limits {
        self.input.limits.limits()
    }

    /// Returns the options for opening a shard that is edited.
    pub(crate) fn editing_options(&self) -> arrow_shard::Result<ShardOptions> {
        self.input.limits.editing_options()
    }

    /// Returns the options for opening shards.
    pub(crate) fn shard_options(&self) -> arrow_shard::Result<ShardOptions> {
        let mut options = self.input.limits.shard_options()?;
        if let Some(unit) = self.untyped.time_unit {
            options = options.with_default_time_unit(match unit {
                Unit::S => TimeUnit::Second,
                Unit::Ms => TimeUnit::Millisecond,
                Unit::Us => TimeUnit::Microsecond,
                Unit::Ns => TimeUnit::Nanosecond,
            });
        }
        if let Some((precision, scale)) = self.untyped.decimal {
            options = options.with_default_precision_and_scale(precision, scale);
        }
        Ok(options)
    }

    /// Whether times that the --time-unit would round are an error.
    pub(super) fn is_exact(&self) -> bool {
        self.untyped.time_unit.is_some() && !self.lossy
    }

    /// Completes the error of a cast. If the types that the user gives lose something, it then names the option that
    /// allows that.
    pub(super) fn with_lossy_advice(&self, failure: Failure) -> Failure {
        let has_advice = self.has_lossy && self.types.given().is_some();
        match failure {
            Failure::Error(why) if has_advice && LOSSES.iter().any(|loss| why.contains(loss)) => {
                Failure::Error(format!("{why}; --lossy cuts or rounds it"))
            }
            other => other,
        }
    }

    /// Completes the error of a scan. If times would be rounded, it then names the option that allows that.
    pub(super) fn failure(&self) -> impl Fn(Failure) -> Failure + 'static {
        let has_advice = self.is_exact() && self.has_lossy;
        move |error| match error {
            Failure::Error(why) if has_advice && why.contains("would be rounded") => {
                Failure::Error(format!("{why}; --lossy allows that"))
            }
            other => other,
        }
    }
}
