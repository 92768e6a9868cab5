//! The format of an input or output: asked for, or shown by the name or the content.

use crate::compression::Compression;
use crate::content::{self, Content};
use crate::failure::Failure;
use crate::file_format::{FileFormat, decompressed_name, is_standard};
use crate::lance_names::is_lance;
use crate::location::{self, PathLocation};
use std::path::Path;

impl FileFormat {
    /// Returns the format of an input: the requested one, or the one that its name or content shows.
    pub(crate) fn of_input(path: &Path, asked: Option<Self>) -> Result<Self, Failure> {
        Self::known(path, asked, || {
            if is_lance(path) {
                return Err(Failure::Usage(format!(
                    "`{0}` is Lance; convert it first: arrow-shard convert {0} out.amudai.shard",
                    path.display()
                )));
            }
            let content = match PathLocation::of(path)? {
                PathLocation::Local(_) if is_standard(path) => Content::of_stream(path),
                PathLocation::Local(local) if content::is_pipe(&local) => {
                    let content = Content::of_stream(&local);
                    if let Some(Content::Format(format)) = content
                        && !format.is_sequential()
                    {
                        return Err(not_sequential("pipes", format));
                    }
                    content
                }
                PathLocation::Local(local) => {
                    // A missing file is not a wrong usage.
                    let exists = local.metadata();
                    exists.map_err(|e| Failure::from(e).within(path.display()))?;
                    Content::of_file(&local)
                }
                #[cfg(feature = "cloud")]
                PathLocation::Object(_) => None,
            };
            // `content` is known only for local files.
            let inside = match (&content, PathLocation::of(path)?) {
                (Some(Content::Compressed(compression)), PathLocation::Local(local)) => {
                    Content::inside(&local, *compression)
                }
                _ => None,
            };
            match (content, inside) {
                (Some(Content::Format(format)), _) => Ok(format),
                (_, Some(Content::Format(format))) if format.is_text() => Ok(format),
                (Some(Content::Compressed(compression)), inside @ Some(_)) => {
                    let advice = content::decompressed(compression.program(), path, inside);
                    Err(Failure::new(advice).within(path.display()))
                }
                (Some(Content::Foreign(program)), _) => {
                    let advice = content::decompressed(program, path, None);
                    Err(Failure::new(advice).within(path.display()))
                }
                _ if is_standard(path) => Err(unnamed("--from")),
                _ => Err(Failure::Usage(format!(
                    "the format of `{}` is not known from its name or content; name it with --from (CSV \
                     is recognized if its first lines have the same number of values)",
                    path.display()
                ))),
            }
        })
    }

    /// Returns the format of an output: the requested one, or the one that its name shows.
    pub(crate) fn of_output(path: &Path, asked: Option<Self>) -> Result<Self, Failure> {
        let compression = Compression::by_name(path);
        let format = Self::known(path, asked, || {
            if is_standard(path) {
                return Err(unnamed("--to"));
            }
            let shown = path.display();
            Err(Failure::Usage(match compression {
                Some(_) if decompressed_name(path).and_then(Self::by_name).is_none() => format!(
                    "the name `{shown}` shows a compression and no format; name it with --to: csv or ndjson"
                ),
                Some(_) => only_text(path),
                None => format!("the name `{shown}` shows no format; name it with --to"),
            }))
        })?;
        if compression.is_some() && !format.is_text() {
            return Err(Failure::Usage(only_text(path)));
        }
        Ok(format)
    }

    /// Returns the requested format, the one that the name shows, or the result of `find`.
    fn known(
        path: &Path,
        asked: Option<Self>,
        find: impl FnOnce() -> Result<Self, Failure>,
    ) -> Result<Self, Failure> {
        location::check(path)?;
        let format = match asked.or_else(|| Self::by_name(path)) {
            Some(format) => format,
            None => find()?,
        };
        if is_standard(path) && !format.is_sequential() {
            return Err(not_sequential("standard input and output", format));
        }
        Ok(format)
    }
}

fn unnamed(option: &str) -> Failure {
    Failure::Usage(format!(
        "name the format of `-` with {option}: ipc-stream, csv or ndjson"
    ))
}

fn not_sequential(what: &str, format: FileFormat) -> Failure {
    Failure::Usage(format!(
        "{what} cannot have the format {format}; use a file, or ipc-stream, csv or ndjson"
    ))
}

fn only_text(path: &Path) -> String {
    format!(
        "`{}`: only CSV and NDJSON are compressed as a whole; choose a name without the last suffix",
        path.display()
    )
}
