//! Rows as a stream of Arrow IPC.

use super::encoder::Encoder;
use crate::failure::Failure;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::ipc::writer::StreamWriter;

/// A stream of Arrow IPC.
pub(super) struct Stream(StreamWriter<Vec<u8>>);

impl Stream {
    /// Begins a stream of rows with these columns.
    pub(super) fn new(schema: &Schema) -> Result<Self, Failure> {
        Ok(Self(StreamWriter::try_new(Vec::new(), schema)?))
    }
}

impl Encoder for Stream {
    fn encode(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), Failure> {
        if batch.num_rows() > 0 {
            self.0.write(batch)?;
        }
        out.append(self.0.get_mut());
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        self.0.finish()?;
        out.append(self.0.get_mut());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{ArrayRef, DictionaryArray, Int64Array};
    use datafusion::arrow::datatypes::Int32Type;
    use datafusion::arrow::ipc::reader::StreamReader;
    use std::sync::Arc;

    fn batch(words: &[&str]) -> RecordBatch {
        let numbers = (0i64..).take(words.len()).collect::<Int64Array>();
        let words: DictionaryArray<Int32Type> = words.iter().copied().collect();
        let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(numbers)), ("w", Arc::new(words))];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    #[test]
    fn rows_come_back_with_the_dictionary_of_each_batch() {
        let batches = [batch(&["a", "b", "a"]), batch(&["c"])];
        let mut stream = Stream::new(&batches[0].schema()).unwrap();
        let mut out = Vec::new();
        for batch in [&batches[0].slice(0, 0), &batches[0], &batches[1]] {
            stream.encode(batch, &mut out).unwrap();
        }
        stream.finish(&mut out).unwrap();
        let read = StreamReader::try_new(out.as_slice(), None).unwrap();
        assert_eq!(read.collect::<Result<Vec<_>, _>>().unwrap(), batches);
    }
}
