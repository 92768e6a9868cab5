//! `arrow-shard inspect --explain`: the encodings that the writer considers for each field.

use crate::failure::Failure;
use crate::option_names::ProfileName;
use crate::text;
use arrow_shard::write::{Profile, WriterOptions, explain};
use arrow_shard::{Projection, Shard};
use std::io::Write;

/// Number of rows from which the writer would choose.
const ROWS: usize = 16_384;

/// Prints the candidates for the first rows of the named columns, or of all columns if none is named.
pub(super) fn print(
    out: &mut impl Write,
    shard: &Shard,
    columns: &[String],
    profile: ProfileName,
) -> Result<(), Failure> {
    let projection = match columns {
        [] => Projection::All,
        columns => columns.to_vec().into(),
    };
    let scan = shard
        .scan()
        .with_projection(projection)
        .with_limit(ROWS as u64)
        .with_batch_size(ROWS);
    // If the first stripe is short, the batch has only its rows.
    let Some(batch) = scan.build()?.next().transpose()? else {
        return Ok(());
    };
    let profile = Profile::from(profile);
    let options = WriterOptions::default().with_profile(profile);
    let price = match profile.bytes_per_nanosecond() {
        bytes if bytes.is_finite() => format!("; a nanosecond costs {bytes} bytes"),
        _ => String::new(),
    };
    writeln!(
        out,
        "\nWhat the writer would weigh for rows 0 to {} (bytes and nanoseconds per value{price}):",
        batch.num_rows(),
    )?;
    for field in explain(&batch, options)? {
        writeln!(out, "{}", text::shown(field.path()))?;
        for (i, candidate) in field.candidates().iter().enumerate() {
            let mark = if i == 0 { "->" } else { "  " };
            let cost = match candidate.cost() {
                cost if cost.is_finite() => format!("{cost:9.3}"),
                _ => " too slow".to_owned(),
            };
            writeln!(
                out,
                "  {mark} {:9.3} B {:7.2} ns  cost {cost}  {}",
                candidate.bytes_per_value(),
                candidate.decode_nanoseconds(),
                candidate.name(),
            )?;
        }
    }
    Ok(())
}
