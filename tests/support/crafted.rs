//! Creates shards with metadata that no writer produces.

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;
use arrow_shard::format::{DataRef, HEADER, Message, StripeList, open, seal};
use arrow_shard::io::ByteRange;
use arrow_shard::metadata::Wire;
use arrow_shard::write::{ShardWriter, WriterOptions};
use arrow_shard::{Limits, Shard};
use std::sync::Arc;

/// Returns a shard of one stripe without columns that claims a number of rows.
pub(crate) fn rows_of_nothing(rows: u64) -> Vec<u8> {
    let few = RecordBatchOptions::new().with_row_count(Some(70));
    let schema = Arc::new(Schema::empty());
    let batch = RecordBatch::try_new_with_options(schema.clone(), vec![], &few).unwrap();
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, schema, WriterOptions::default()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let mut directory = Shard::from_bytes(file.clone().into())
        .unwrap()
        .directory()
        .clone();
    let range = directory.stripe_list_ref.as_ref().unwrap().range;
    let list = open(&file[range.to_usize().unwrap()]).unwrap();
    let mut stripes = StripeList::decode(list, Wire::Spec, &Limits::default()).unwrap();
    stripes.0[0].total_record_count = rows;
    directory.total_record_count = rows;
    // A new stripe list and directory at the end of the file replace the earlier ones.
    let start = file.len() as u64;
    file.extend(seal(&stripes.encode(Wire::Spec).unwrap()).unwrap());
    let list = ByteRange::try_new(start, file.len() as u64).unwrap();
    directory.stripe_list_ref = Some(DataRef::this(list));
    let frame = seal(&directory.encode(Wire::Spec).unwrap()).unwrap();
    file.extend(&frame);
    file.extend(&frame[..4]);
    file.extend(HEADER);
    file
}
