//! Shows what a conversion would read and write.

use super::writing::Target;
use crate::failure::Failure;
use crate::field_tree::print_field;
use crate::input::Survey;
use crate::output::Destination;
use crate::text;
use std::io::Write;
use std::path::Path;

/// Prints the files with their formats and rows, the columns of the result, and the output. Fails if the format of the
/// output does not support a column.
pub(super) fn print(
    survey: &Survey,
    target: &Target,
    place: &Path,
    is_lossy: bool,
    rows_per_file: Option<u64>,
) -> Result<(), Failure> {
    target.check_schema(&survey.schema, is_lossy)?;
    let mut out = Destination::standard();
    for (path, format, rows) in &survey.files {
        let rows = rows.map_or_else(String::new, |rows| {
            format!(", {}", text::count(rows, "row"))
        });
        let path = path.display().to_string();
        writeln!(out, "reads {}: {format}{rows}", text::shown(&path))?;
    }
    let path = place.display().to_string();
    let path = text::shown(&path);
    match rows_per_file {
        Some(rows) => writeln!(
            out,
            "writes {path} and so on: {}, {} in each",
            target.format,
            text::count(rows, "row")
        )?,
        None => writeln!(out, "writes {path}: {}", target.format)?,
    }
    writeln!(out, "columns:")?;
    for field in survey.schema.fields() {
        print_field(&mut out, field, 1)?;
    }
    out.flush()?;
    Ok(())
}
