//! The options for types of columns.

use super::READING;
use crate::schema_text::parse_type;
use arrow_schema::DataType;
use std::str::FromStr;

/// Options for the types of columns.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TypeArgs {
    /// Type of a column, such as `day=date32` or `price=decimal(10,2)`; may be given several times. CSV and JSON are read
    /// in this type; other values are cast. A value that the type does not hold exactly is an error; commands with --lossy can cut or round it
    #[arg(long, help_heading = READING, value_name = "COLUMN=TYPE")]
    pub(super) cast: Vec<Cast>,
    /// Names, types and order of all columns: as text, `a int64 not null, b timestamp(us, UTC)`, or as a file, which may
    /// be a table or the output of `arrow-shard schema`. A column that is not in the input is null
    #[arg(long, help_heading = READING, value_name = "FIELDS|FILE")]
    pub(super) schema: Option<String>,
}

impl TypeArgs {
    /// Returns the name of the first given option.
    pub(super) fn given(&self) -> Option<&'static str> {
        let cast = (!self.cast.is_empty()).then_some("--cast");
        cast.or_else(|| self.schema.as_ref().map(|_| "--schema"))
    }
}

/// A column and its type.
#[derive(Debug, Clone)]
pub(super) struct Cast {
    pub(super) column: String,
    pub(super) data_type: DataType,
}

impl FromStr for Cast {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (column, data_type) = text
            .rsplit_once('=')
            .ok_or("expected a column and a type, such as day=date32")?;
        Ok(Self {
            column: column.to_owned(),
            data_type: parse_type(data_type)?,
        })
    }
}
