//! Counts the rows of files, without reading values if the metadata of a format have the number.

use super::cole;
use super::columns::Needed;
use super::csv;
use super::ipc;
use super::origin::Origin;
use super::parquet_footer::Footer;
use super::plan::is_read_once;
use super::source::Input;
use super::wanted::Wanted;
use super::{ColumnArgs, ReadArgs, RowWindow, mistaken, predicate};
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::isolate::Foreign;
use crate::progress::InputProgress;
use arrow_shard::Shard;
use arrow_shard::io::is_url;
use arrow_shard::read::Projection;
use std::path::Path;

impl ReadArgs {
    /// Returns the number of rows of a file, or of those that match the filter. Shows the progress of reading unless
    /// `quiet`.
    pub(crate) fn count(
        &self,
        path: &Path,
        filter: Option<&str>,
        quiet: bool,
    ) -> Result<u64, Failure> {
        let format = self.format(path)?;
        let counted = match (format, filter) {
            // The condition may use columns that options change or add.
            (_, Some(_)) if self.changes_columns().is_some() => {
                self.count_read(path, filter, quiet)
            }
            (FileFormat::Shard, _) => self
                .open_one_of_many(path)
                .and_then(|shard| count_shard(&shard, filter)),
            (FileFormat::Cole, None) => cole::num_rows(path, self.limits()),
            (FileFormat::Parquet, None) => Footer::read(path).map(|footer| footer.num_rows()),
            (FileFormat::IpcFile, None) => {
                let origin = Origin::find(path)?;
                let file = Foreign::new(path, format, origin.bytes());
                file.isolate(|| ipc::num_rows(origin.file()?))
            }
            (FileFormat::Csv, None) => self.count_csv(path, quiet),
            (FileFormat::Csv, Some(filter)) => {
                match self.count_csv_at_once(path, filter, quiet) {
                    Ok(Some(rows)) => Ok(rows),
                    // Whatever is wrong, the usual way says it.
                    Ok(None) | Err(_) => self.count_read(path, Some(filter), quiet),
                }
            }
            _ => self.count_read(path, filter, quiet),
        };
        counted.map_err(|failure| mistaken(path, format).unwrap_or(failure))
    }

    fn count_read(&self, path: &Path, filter: Option<&str>, quiet: bool) -> Result<u64, Failure> {
        let rows = RowWindow {
            filter,
            is_counted: true,
            ..RowWindow::default()
        };
        let input = self.open_all(&[path.to_owned()], &ColumnArgs::default(), rows)?;
        count_batches(input, quiet)
    }

    /// Counts the rows of CSV that match, while the types are inferred. Assumes that the columns of the condition have
    /// the types of the first block, and returns `None` if that turns out to be wrong, or if the file can be read only
    /// once.
    fn count_csv_at_once(
        &self,
        path: &Path,
        filter: &str,
        quiet: bool,
    ) -> Result<Option<u64>, Failure> {
        if is_read_once(path) || is_url(&path.to_string_lossy()) || self.input.schema_rows.is_some()
        {
            return Ok(None);
        }
        let origin = Origin::find(path)?;
        let file = Foreign::new(path, FileFormat::Csv, origin.bytes());
        file.isolate(|| csv::count_matching(origin, &self.csv_style(path), filter, &file, quiet))
    }

    /// Counts the rows of CSV. Their number does not depend on types, so none are inferred, unless reading fails: the
    /// errors of inference, which other commands report, say more than those of the reader.
    fn count_csv(&self, path: &Path, quiet: bool) -> Result<u64, Failure> {
        let mut untyped = self.clone();
        untyped.input.schema_rows = Some(0);
        let rows = RowWindow::default();
        let (text, file) = untyped.text(
            path,
            FileFormat::Csv,
            Needed::default(),
            rows,
            &Wanted::default(),
        )?;
        let input = file.isolate(|| text.read(Needed::default(), rows));
        let counted = input.and_then(|input| count_batches(input.guarded(file.clone()), quiet));
        counted.map_err(|failure| file.isolate(|| text.check()).err().unwrap_or(failure))
    }
}

fn count_batches(input: Input, quiet: bool) -> Result<u64, Failure> {
    let mut progress = InputProgress::new(input.total, quiet);
    for batch in input.batches {
        progress.add(batch?.num_rows());
    }
    let rows = progress.rows();
    progress.finish();
    Ok(rows)
}

fn count_shard(shard: &Shard, filter: Option<&str>) -> Result<u64, Failure> {
    let Some(filter) = filter else {
        return Ok(shard.num_rows());
    };
    let reader = shard
        .scan()
        .with_projection(Projection::Paths(Vec::new()))
        .with_filter(predicate("--filter", shard.parse_predicate(filter))?)
        .build()?;
    let mut rows = 0;
    for batch in reader {
        rows += batch?.num_rows() as u64;
    }
    Ok(rows)
}
