//! How CSV files are written and read.

/// The syntax of a CSV file.
#[derive(Debug, Clone)]
pub(crate) struct CsvStyle {
    /// The separator of values.
    pub(crate) delimiter: u8,
    /// Whether the first line has the column names.
    pub(crate) has_header: bool,
    /// The names of the columns of CSV input without a header; none for generated names.
    pub(crate) names: Vec<String>,
    /// The text for null.
    pub(crate) null: String,
    /// The byte before a quote within a value, in CSV input.
    pub(crate) escape: Option<u8>,
}

impl Default for CsvStyle {
    fn default() -> Self {
        Self {
            delimiter: b',',
            has_header: true,
            names: Vec::new(),
            null: String::new(),
            escape: None,
        }
    }
}
