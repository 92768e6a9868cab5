//! Rows as a table in Markdown.

use super::cells::cells;
use super::encoder::Encoder;
use crate::failure::Failure;
use crate::safe_text::shown;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::Schema;

/// A table without padding: renderers align it.
#[derive(Debug)]
pub(super) struct Markdown {
    head: Option<String>,
}

impl Markdown {
    /// Begins a table with these columns.
    pub(super) fn new(schema: &Schema) -> Self {
        let names: Vec<_> = schema
            .fields()
            .iter()
            .map(|it| shown(it.name()).into_owned())
            .collect();
        let rule = |number: bool| if number { "-:|" } else { "-|" };
        let lines = schema
            .fields()
            .iter()
            .map(|it| rule(it.data_type().is_numeric()));
        let lines: String = lines.collect();
        Self {
            head: Some(format!(
                "{}|{lines}\n",
                row(names.iter().map(String::as_str))
            )),
        }
    }
}

fn row<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cells = cells.map(|cell| format!(" {} |", cell.replace('|', "\\|")));
    format!("|{}\n", cells.collect::<String>())
}

impl Encoder for Markdown {
    fn encode(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), Failure> {
        if let Some(head) = self.head.take() {
            out.extend_from_slice(head.as_bytes());
        }
        let rows = batch.num_rows();
        let columns = batch.columns().iter().map(|column| cells(column, rows));
        let columns: Vec<Vec<String>> = columns.collect::<Result<_, _>>()?;
        for i in 0..rows {
            let cells = columns.iter().filter_map(|cells| cells.get(i));
            out.extend_from_slice(row(cells.map(String::as_str)).as_bytes());
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> Result<(), Failure> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray};
    use std::sync::Arc;

    #[test]
    fn bars_and_line_breaks_stay_in_their_cell() {
        let columns: [(&str, ArrayRef); 2] = [
            ("id", Arc::new(Int64Array::from(vec![1]))),
            ("a|b", Arc::new(StringArray::from(vec!["c|\nd"]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut out = Vec::new();
        Markdown::new(&batch.schema())
            .encode(&batch, &mut out)
            .unwrap();
        let want = "| id | a\\|b |\n|-:|-|\n| 1 | c\\|\\nd |\n";
        assert_eq!(String::from_utf8(out).unwrap(), want);
    }
}
