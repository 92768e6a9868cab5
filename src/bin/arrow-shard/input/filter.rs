//! Conditions on the rows of all formats.

use super::source::Input;
use crate::failure::Failure;
use crate::progress::Total;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_shard::read::Predicate;
use arrow_shard::write::{Profile, ShardWriter, WriterOptions};
use arrow_shard::{ErrorKind, Shard};

/// Filters the rows of another format. Batches become shards in memory, so that the condition has the same meaning as
/// for a shard.
pub(super) fn matching(input: Input, filter: &str, name: &str) -> Result<Input, Failure> {
    let predicate = parsed_for(&input.schema, filter, name)?;
    let schema = input.schema.clone();
    let name = name.to_owned();
    let keep = move |batch: RecordBatch| -> Result<Vec<RecordBatch>, Failure> {
        shard(&schema, Some(&batch))?
            .scan()
            .with_filter(predicate.clone())
            .build()?
            .map(|batch| Ok(batch?.with_schema(schema.clone())?))
            .collect()
    };
    let batches = input.batches.flat_map(move |batch| {
        match batch.and_then(|batch| keep(batch).map_err(|e| e.within(&name))) {
            Ok(kept) => kept.into_iter().map(Ok).collect(),
            Err(failure) => vec![Err(failure)],
        }
    });
    Ok(Input {
        batches: Box::new(batches),
        schema: input.schema,
        // The total would include the rows that do not match, and the progress would not.
        total: match input.total {
            Total::Rows(_) | Total::Batches(_) => Total::Unknown,
            other => other,
        },
    })
}

/// Returns the condition on rows of these columns, which the input with this name has.
pub(super) fn parsed_for(
    schema: &SchemaRef,
    filter: &str,
    name: &str,
) -> Result<Predicate, Failure> {
    let parsed = predicate("--filter", shard(schema, None)?.parse_predicate(filter));
    parsed.map_err(|failure| match failure {
        // The shard is only in memory.
        Failure::Usage(why) => Failure::Usage(why.replace("in the shard", &format!("in {name}"))),
        other => other,
    })
}

/// Returns a shard with one batch, or without rows.
fn shard(schema: &SchemaRef, batch: Option<&RecordBatch>) -> Result<Shard, Failure> {
    let options = WriterOptions::default().with_profile(Profile::Plain);
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, schema.clone(), options)?;
    if let Some(batch) = batch {
        writer.write(batch)?;
    }
    writer.finish()?;
    Ok(Shard::from_bytes(file.into())?)
}

/// Returns the parsed condition, or an error that names the option where it was given.
pub(crate) fn predicate(
    option: &str,
    parsed: arrow_shard::Result<Predicate>,
) -> Result<Predicate, Failure> {
    parsed.map_err(|e| {
        let place = format!("{option}, {}", e.element());
        match e.kind() {
            ErrorKind::InvalidArgument => Failure::Usage(format!("{place}: {}", e.message())),
            kind @ (ErrorKind::UnknownColumn
            | ErrorKind::AmbiguousColumn
            | ErrorKind::SchemaMismatch) => {
                Failure::Usage(format!("{place}: {kind}: {}", e.message()))
            }
            kind => Failure::new(format!("{place}: {kind}: {}", e.message())),
        }
    })
}
