//! The options for types of columns.

use super::READING;
use crate::schema_text::parse_type;
use arrow_schema::DataType;
use std::str::FromStr;

/// Options for the types of columns.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TypeArgs {
    /// Types of columns, such as `day=date32,price=decimal(10,2)`. CSV and JSON are read in these types; other values
    /// are cast. Put a name with a comma in double quotes. A value that its type does not hold exactly is an error;
    /// commands with --lossy can cut or round it
    #[arg(long, help_heading = READING, value_name = "COLUMN=TYPE,...")]
    cast: Vec<Casts>,
    /// Names, types and order of all columns: as text, `a int64 not null, b timestamp(us, UTC)`, or as a file, which
    /// may be a table or the output of `arrow-shard schema`. A column that is not in the input is null
    #[arg(long, help_heading = READING, value_name = "FIELDS|FILE")]
    pub(super) schema: Option<String>,
}

impl TypeArgs {
    /// Returns the name of the first given option.
    pub(super) fn given(&self) -> Option<&'static str> {
        let cast = (!self.cast.is_empty()).then_some("--cast");
        cast.or_else(|| self.schema.as_ref().map(|_| "--schema"))
    }

    /// Returns the columns that have a type of their own.
    pub(super) fn casts(&self) -> Vec<Cast> {
        self.cast.iter().flat_map(|casts| casts.0.clone()).collect()
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
        let quoted = column.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        Ok(Self {
            column: quoted.map_or_else(|| column.to_owned(), |name| name.replace("\"\"", "\"")),
            data_type: parse_type(data_type)?,
        })
    }
}

/// Columns and their types, separated by commas.
#[derive(Debug, Clone)]
struct Casts(Vec<Cast>);

impl FromStr for Casts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Types have commas in parentheses, and names have them in quotes.
        let (mut depth, mut is_quoted) = (0, false);
        let parts = text.split(|character| {
            match character {
                '"' => is_quoted = !is_quoted,
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => (),
            }
            character == ',' && depth == 0 && !is_quoted
        });
        let parts: Vec<&str> = parts.collect();
        if !parts.iter().all(|part| part.contains('=')) {
            // The name of the column has a comma.
            return Ok(Self(vec![text.parse()?]));
        }
        let (first, more) = parts.split_at(1);
        let more = more.iter().map(|part| part.trim_start());
        let casts = first.iter().copied().chain(more).map(str::parse);
        casts.collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::TimeUnit;

    #[test]
    fn casts_are_separated_by_commas_outside_of_parentheses() {
        let at = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let price = DataType::Decimal128(10, 2);
        for (text, expected) in [
            ("a=int8", vec![("a", DataType::Int8)]),
            (
                "a=int8, p=decimal(10,2),t=timestamp(us, UTC)",
                vec![("a", DataType::Int8), ("p", price.clone()), ("t", at)],
            ),
            ("a,b=int8", vec![("a,b", DataType::Int8)]),
            (" a=int8", vec![(" a", DataType::Int8)]),
            (
                "\"b,c\"=int8, \" d\"\"\"=int8",
                vec![("b,c", DataType::Int8), (" d\"", DataType::Int8)],
            ),
            ("p (x, y)=decimal(10,2)", vec![("p (x, y)", price)]),
            ("a=b=int8", vec![("a=b", DataType::Int8)]),
        ] {
            let Casts(casts) = text.parse().unwrap();
            let found: Vec<_> = casts
                .iter()
                .map(|cast| (cast.column.as_str(), cast.data_type.clone()))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
        for text in ["a", "a=", "a=int8,b=nothing", "a,b"] {
            assert!(text.parse::<Casts>().is_err(), "{text}");
        }
    }
}
