//! Values in the names of folders, as in `year=2024/month=5/a.parquet`.

use super::{exact_text, lossy_text};
use crate::failure::Failure;
use crate::location::stored;
use arrow_array::{ArrayRef, StringArray, UInt32Array};
use arrow_schema::{DataType, Field};
use arrow_select::take::take;
use std::path::Path;
use std::sync::Arc;

/// The value of a folder for rows in which the column is null.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The columns and values of a file; a value may be null.
#[derive(Debug, Default)]
pub(super) struct FolderValues(Vec<(String, Option<String>)>);

impl FolderValues {
    /// Returns the values in the names of the folders of a file.
    pub(super) fn of(path: &Path) -> Self {
        // A URL escapes the percent signs of an object's name.
        let object = stored(path).ok().filter(|it| it.path().is_none());
        let text = match &object {
            Some(object) => object.name().to_string_lossy(),
            None => path.to_string_lossy(),
        };
        let mut folders: Vec<&str> = text.split(['/', std::path::MAIN_SEPARATOR]).collect();
        folders.pop();
        let pairs = folders.iter().filter_map(|folder| folder.split_once('='));
        let pairs = pairs.filter(|(column, _)| !column.is_empty());
        Self(
            pairs
                .map(|(column, value)| {
                    (
                        unescaped(column),
                        Some(unescaped(value)).filter(|it| it != NULL),
                    )
                })
                .collect(),
        )
    }

    /// Returns the names of the columns.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the value of a column, which may be null.
    pub(super) fn value(&self, column: &str) -> Option<&Option<String>> {
        let mut pairs = self.0.iter();
        pairs
            .find(|(name, _)| name == column)
            .map(|(_, value)| value)
    }

    /// Returns `rows` times the value of a column in the type of a field, or `None` if no folder gives the column.
    pub(super) fn repeated(
        &self,
        field: &Field,
        rows: usize,
        is_lossy: bool,
    ) -> Result<Option<ArrayRef>, Failure> {
        let Some(value) = self.value(field.name()) else {
            return Ok(None);
        };
        let text: ArrayRef = Arc::new(StringArray::from(vec![value.as_deref()]));
        let one = match field.data_type() {
            DataType::Utf8 => Ok(text),
            other if is_lossy => lossy_text::parsed(&text, other),
            other => exact_text::parsed(&text, other),
        };
        let one = one.map_err(|e| e.within(format!("folder of column `{}`", field.name())))?;
        let zeros = UInt32Array::from(vec![0; rows]);
        Ok(Some(take(&one, &zeros, None)?))
    }
}

/// Returns the name of the folder for rows with a value, or with null.
///
/// # Errors
/// Fails for the text that stands for null.
pub(crate) fn folder_name(column: &str, value: Option<&str>) -> Result<String, Failure> {
    if value == Some(NULL) {
        return Err(Failure::new(format!(
            "column `{column}` has the text {NULL}, which would be read as null"
        )));
    }
    let value = value.map_or_else(|| NULL.to_owned(), escaped);
    let column = escaped(column);
    // Folders whose names begin with these are hidden.
    let column = match column.as_bytes().first() {
        Some(b'_') => format!("%5F{}", &column[1..]),
        Some(b'.') => format!("%2E{}", &column[1..]),
        _ => column,
    };
    Ok(format!("{column}={value}"))
}

/// Returns the text with escapes for the characters that file systems or readers do not take as they are.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_control() || "\"#%'*/:<=>?\\|{}[]^".contains(c) {
            escaped.push_str(&format!("%{:02X}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Returns the text without escapes such as `%3D`.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, others)) = rest.split_first() {
        let digits = others.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                rest = &others[2..];
            }
            None => {
                plain.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8(plain).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_from_the_names_of_folders() {
        for (column, value) in [
            ("year", Some("2024")),
            ("a=b", Some("x/y=1%\u{1}")),
            ("_x", Some("")),
            (".x", None),
            ("\u{e3}", Some("2024-02-29T00:00:00")),
        ] {
            let name = folder_name(column, value).unwrap();
            let path = format!("{name}/t.csv");
            let found = FolderValues::of(Path::new(&path));
            let want = (column.to_owned(), value.map(str::to_owned));
            assert_eq!(found.0, [want], "{name}");
        }
        assert!(folder_name("x", Some(NULL)).is_err());
    }

    #[test]
    fn folders_give_values() {
        let values = FolderValues::of(Path::new(
            "s3://b/year=2024/x/city=S%25C3%25A3o%252F1/n=__HIVE_DEFAULT_PARTITION__/a=b.csv",
        ));
        let pair = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
        assert_eq!(
            values.0,
            [
                pair("year", Some("2024")),
                pair("city", Some("São/1")),
                pair("n", None)
            ]
        );
        assert!(FolderValues::of(Path::new("a=1.csv")).0.is_empty());
        assert_eq!(unescaped("50%, %zz%4"), "50%, %zz%4");
    }
}
