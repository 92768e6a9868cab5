//! Rows as CSV and JSON, and plans as they are.

use super::cells::{cells, flat};
use super::encoder::Encoder;
use crate::failure::Failure;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::arrow::json::writer::{LineDelimited, WriterBuilder};
use std::sync::Arc;

/// CSV with a header row. Lists, structs and maps are the texts that tables show.
#[derive(Debug, Default)]
pub(super) struct Csv {
    has_begun: bool,
}

impl Encoder for Csv {
    fn encode(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), Failure> {
        let columns: Result<Vec<_>, _> = batch.columns().iter().map(flat).collect();
        let columns = columns?;
        let fields = batch.schema_ref().fields().iter().zip(&columns);
        let fields =
            fields.map(|(field, it)| Field::new(field.name(), it.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let flat = RecordBatch::try_new(schema, columns)?;
        let builder = csv::WriterBuilder::new().with_header(!self.has_begun);
        self.has_begun = true;
        Ok(builder.build(out).write(&flat)?)
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> Result<(), Failure> {
        Ok(())
    }
}

/// JSON objects, one per line.
#[derive(Debug)]
pub(super) struct Json {
    is_array: bool,
    /// Text before the next object of an array.
    before: &'static [u8],
}

impl Json {
    /// Objects in an array.
    pub(super) fn array() -> Self {
        Self {
            is_array: true,
            before: b"[",
        }
    }

    /// Objects that line breaks separate.
    pub(super) fn lines() -> Self {
        Self {
            is_array: false,
            before: b"",
        }
    }
}

impl Encoder for Json {
    fn encode(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), Failure> {
        let mut lines = Vec::new();
        let builder = WriterBuilder::new().with_explicit_nulls(true);
        let mut writer = builder.build::<_, LineDelimited>(&mut lines);
        writer.write(batch)?;
        writer.finish()?;
        drop(writer);
        if !self.is_array {
            out.append(&mut lines);
            return Ok(());
        }
        let objects = lines.split(|byte| *byte == b'\n');
        for object in objects.filter(|object| !object.is_empty()) {
            out.extend_from_slice(self.before);
            out.extend_from_slice(object);
            self.before = b",\n";
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        match (self.is_array, self.before) {
            (false, _) => {}
            (true, b"[") => out.extend_from_slice(b"[]\n"),
            (true, _) => out.extend_from_slice(b"]\n"),
        }
        Ok(())
    }
}

/// The plan of a statement: the lines of its last column.
#[derive(Debug)]
pub(super) struct Plan;

impl Encoder for Plan {
    fn encode(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), Failure> {
        let Some(plans) = batch.columns().last() else {
            return Ok(());
        };
        for plan in cells(plans, batch.num_rows())? {
            // Line breaks are the only control characters of a plan.
            let text = plan.replace("\\n", "\n");
            out.extend_from_slice(text.trim_end().as_bytes());
            out.push(b'\n');
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
    use datafusion::arrow::array::{ArrayRef, Int64Array, ListArray, StringArray};
    use datafusion::arrow::datatypes::Int64Type;

    fn batch() -> RecordBatch {
        let columns: [(&str, ArrayRef); 3] = [
            ("id", Arc::new(Int64Array::from(vec![Some(1), None]))),
            ("text", Arc::new(StringArray::from(vec!["a,\"b\"\nc", "ä"]))),
            (
                "list",
                Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([
                    Some(vec![Some(1), None]),
                    None,
                ])),
            ),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn encoded(mut encoder: impl Encoder, batches: &[RecordBatch]) -> String {
        let mut out = Vec::new();
        for batch in batches {
            encoder.encode(batch, &mut out).unwrap();
        }
        encoder.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn csv_has_one_header_and_lists_as_text() {
        let empty = batch().slice(0, 0);
        let csv = encoded(
            Csv::default(),
            &[empty.clone(), batch(), batch().slice(1, 1)],
        );
        assert_eq!(
            csv,
            "id,text,list\n1,\"a,\"\"b\"\"\nc\",\"[1, NULL]\"\n,ä,\n,ä,\n"
        );
        assert_eq!(encoded(Csv::default(), &[empty]), "id,text,list\n");
    }

    #[test]
    fn json_is_an_array_or_lines() {
        let one = r#"{"id":1,"text":"a,\"b\"\nc","list":[1,null]}"#;
        let two = r#"{"id":null,"text":"ä","list":null}"#;
        let batches = [batch(), batch().slice(1, 1)];
        assert_eq!(
            encoded(Json::lines(), &batches),
            format!("{one}\n{two}\n{two}\n")
        );
        assert_eq!(
            encoded(Json::array(), &batches),
            format!("[{one},\n{two},\n{two}]\n")
        );
        assert_eq!(encoded(Json::array(), &[]), "[]\n");
    }
}
