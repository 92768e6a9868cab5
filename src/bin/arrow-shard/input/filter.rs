//! Conditions on the rows of all formats.

use super::source::Input;
use crate::failure::Failure;
use crate::progress::Total;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_shard::read::{Predicate, Projection};
use arrow_shard::write::{Profile, ShardWriter, WriterOptions};
use arrow_shard::{ErrorKind, Shard};

/// Filters the rows of another format. Batches become shards in memory, so that the condition has the same meaning as
/// for a shard.
pub(super) fn matching(input: Input, filter: &str, name: &str) -> Result<Input, Failure> {
    let condition = Condition::new(input.schema.clone(), filter, name)?;
    let name = name.to_owned();
    let batches = input.batches.flat_map(move |batch| {
        let kept = |batch| condition.kept(&batch).map_err(|e| e.within(&name));
        match batch.and_then(kept) {
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

/// A condition on the rows of batches.
pub(super) struct Condition {
    schema: SchemaRef,
    predicate: Predicate,
}

impl Condition {
    /// Parses a condition for the columns of the input with this name.
    pub(super) fn new(schema: SchemaRef, filter: &str, name: &str) -> Result<Self, Failure> {
        let predicate = parsed_for(&schema, filter, name)?;
        Ok(Self { schema, predicate })
    }

    /// Returns the rows that match.
    fn kept(&self, batch: &RecordBatch) -> Result<Vec<RecordBatch>, Failure> {
        shard(&self.schema, Some(batch))?
            .scan()
            .with_filter(self.predicate.clone())
            .build()?
            .map(|batch| Ok(batch?.with_schema(self.schema.clone())?))
            .collect()
    }

    /// Returns the number of rows that match.
    pub(super) fn count(&self, batch: &RecordBatch) -> Result<u64, Failure> {
        let shard = shard(&self.schema, Some(batch))?;
        let scan = shard.scan().with_projection(Projection::Paths(Vec::new()));
        let matching = scan.with_filter(self.predicate.clone()).build()?;
        let rows = matching.map(|batch| Ok(batch?.num_rows() as u64));
        rows.sum()
    }
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
