//! Writes a shard of one column of bits. The bits come in pieces, so that long runs of equal bits cost almost nothing.

use super::field::bits::{BitPiece, finish_pieces};
use super::field::encoder::FieldEncoder;
use super::field::values::BitCounts;
use super::layout::directory::StripesMetadata;
use super::layout::positioned_sink::PositionedSink;
use super::layout::stripe::{EncodedStripe, write_stripe};
use super::options::WriterOptions;
use super::schema::{field_plans, shard_schema, stored_schema};
use super::shard_columns::ShardColumns;
use super::shard_properties::shard_properties;
use crate::column::encode_arrow_schema;
use crate::error::{Error, Result};
use crate::format::{BufferKind, ShardProperties, Wire};
use arrow_schema::{DataType, Field, Schema};
use std::sync::Arc;

/// The bits of one stripe.
pub(crate) struct StripeBits<P> {
    pub(crate) rows: u64,
    /// The number of ones among them.
    pub(crate) ones: u64,
    /// All bits, in order.
    pub(crate) pieces: P,
}

/// Encodes a shard of one Boolean column of that name, without nulls.
pub(crate) fn bits_shard<P: Iterator<Item = BitPiece>>(
    name: &str,
    stripes: impl Iterator<Item = StripeBits<P>>,
    wire: Wire,
) -> Result<Vec<u8>> {
    let field = Field::new(name, DataType::Boolean, false);
    let schema = Arc::new(Schema::new(vec![field]));
    let options = WriterOptions::default().with_wire(wire);
    let capabilities = wire.capabilities();
    let columns = ShardColumns::try_new(&schema, &options)?;
    let stored = shard_schema(&columns, &options)?;
    let plans = field_plans(&columns, &stored, &options)?;
    let [plan] = plans.as_slice() else {
        return Err(Error::invalid("a column of bits has one node"));
    };
    let (mut file, mut position) = (Vec::new(), 0);
    let mut out = PositionedSink::new(&mut file, &mut position);
    out.begin()?;
    let mut metadata = StripesMetadata::new(wire, plans.len());
    for StripeBits { rows, ones, pieces } in stripes {
        // If all bits are equal, they are a constant, which has no buffer.
        let pieces = (ones > 0 && ones < rows).then_some(pieces);
        let pieces = pieces.into_iter().flatten();
        let buffer = finish_pieces(pieces, plan.settings, BufferKind::Data)?;
        let counts = BitCounts {
            trues: ones,
            falses: rows - ones,
        };
        let values = counts.finish(rows, vec![buffer]);
        let field = FieldEncoder::of_encoded(plan.clone(), rows, values).finish()?;
        let stripe = EncodedStripe {
            rows,
            fields: vec![field],
        };
        let record = write_stripe(stripe, String::new(), &mut out, Vec::new(), &capabilities)?;
        metadata.push(record)?;
    }
    let properties = ShardProperties {
        custom_properties: shard_properties(&encode_arrow_schema(&schema)?, &[], &[], &[]),
        ..ShardProperties::default()
    };
    let stored = stored_schema(stored, &capabilities);
    metadata.finish(&mut out, &stored, &properties)?;
    Ok(file)
}
