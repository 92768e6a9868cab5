//! Statistics of a shard for DataFusion's planner, from metadata.

use crate::adapt::are_alike;
use crate::by_name::ByName;
use crate::error::Context;
use crate::metadata::OpenShard;
use arrow::array::{Array, AsArray, StructArray};
use arrow::datatypes::{DataType, Field, Schema, UInt64Type};
use arrow_shard::read::Projection;
use datafusion_common::stats::Precision;
use datafusion_common::{ColumnStatistics, Result, ScalarValue, Statistics};

/// Returns the statistics of a shard for the columns of a table, without partition columns.
///
/// # Errors
/// Returns an error if the metadata are damaged or cannot be read.
pub(crate) async fn statistics_of(open: &OpenShard, table: &Schema) -> Result<Statistics> {
    let answer = open.shard.statistics_async(Projection::All).await;
    let known = answer.context("statistics")?;
    let mut statistics = Statistics::new_unknown(table);
    let rows = usize::try_from(open.shard.num_rows()).unwrap_or(usize::MAX);
    statistics.num_rows = Precision::Exact(rows);
    // The total size stays unknown, because DataFusion would use it as the size of any projection.
    let sizes = Sizes::of(open, rows).await?;
    // Columns of `known`: the number of rows, then each column followed by its members.
    let mut place = 1;
    let by_name = ByName::new(table.fields());
    for stored in open.schema.fields() {
        let found = known.columns().get(place).and_then(|c| c.as_struct_opt());
        place += fields_of(stored.data_type());
        if let (Some(found), Some((ordinal, wanted))) = (found, by_name.find(stored.name())) {
            let mut column = column_statistics(found, stored, wanted)?;
            column.byte_size = sizes.of_column(stored.data_type());
            statistics.column_statistics[ordinal] = column;
        }
    }
    Ok(statistics)
}

/// Estimated sizes of columns in memory, in bytes.
struct Sizes {
    rows: usize,
    /// Bytes of each column without a fixed width: an equal share of the bytes that columns of fixed width leave.
    varying: Precision<usize>,
}

impl Sizes {
    async fn of(open: &OpenShard, rows: usize) -> Result<Self> {
        let stripes = open.shard.stripes_async().await.context("stripes")?;
        let sizes = stripes.iter().map(|stripe| stripe.raw_data_size());
        let whole = sizes.sum::<Option<u64>>();
        let fields = open.schema.fields().iter();
        let widths: Vec<Option<usize>> = fields
            .map(|field| field.data_type().primitive_width())
            .collect();
        let fixed = widths.iter().flatten().sum::<usize>().saturating_mul(rows);
        let varying = widths.iter().filter(|width| width.is_none()).count();
        let varying = whole.and_then(|whole| {
            let left = usize::try_from(whole).ok()?.saturating_sub(fixed);
            left.checked_div(varying)
        });
        Ok(Self {
            rows,
            varying: varying.map_or(Precision::Absent, Precision::Inexact),
        })
    }

    fn of_column(&self, data_type: &DataType) -> Precision<usize> {
        match data_type.primitive_width() {
            Some(width) => Precision::Exact(width.saturating_mul(self.rows)),
            None => self.varying,
        }
    }
}

/// Returns the number of fields in the statistics of a column: the column itself and all members of structs.
fn fields_of(data_type: &DataType) -> usize {
    match data_type {
        DataType::Dictionary(_, values) => fields_of(values),
        DataType::RunEndEncoded(_, values) => fields_of(values.data_type()),
        DataType::Struct(members) => {
            let members = members.iter().map(|member| fields_of(member.data_type()));
            1 + members.sum::<usize>()
        }
        _ => 1,
    }
}

fn column_statistics(
    known: &StructArray,
    stored: &Field,
    wanted: &Field,
) -> Result<ColumnStatistics> {
    let count = |name: &str| {
        let counts = known
            .column_by_name(name)?
            .as_primitive_opt::<UInt64Type>()?;
        let count = counts.is_valid(0).then(|| counts.value(0))?;
        usize::try_from(count).ok()
    };
    let flag = |name: &str| {
        let flags = known.column_by_name(name).and_then(|c| c.as_boolean_opt());
        flags.is_some_and(|flags| flags.is_valid(0) && flags.value(0))
    };
    // A cast may map two values to one, or change their order.
    let is_same = are_alike(stored.data_type(), wanted.data_type());
    let bound = |name: &str, exact: &str| -> Result<Precision<ScalarValue>> {
        let Some(bound) = known.column_by_name(name).filter(|bound| bound.is_valid(0)) else {
            return Ok(Precision::Absent);
        };
        if !is_same {
            return Ok(Precision::Absent);
        }
        let value = ScalarValue::try_from_array(bound, 0)?.cast_to(wanted.data_type())?;
        Ok(if flag(exact) {
            Precision::Exact(value)
        } else {
            Precision::Inexact(value)
        })
    };
    Ok(ColumnStatistics {
        null_count: count("null_count").map_or(Precision::Absent, Precision::Exact),
        min_value: bound("min", "min_is_exact")?,
        max_value: bound("max", "max_is_exact")?,
        distinct_count: match (count("distinct_count"), flag("distinct_is_exact")) {
            (Some(count), true) => Precision::Exact(count),
            (Some(count), false) => Precision::Inexact(count),
            (None, _) => Precision::Absent,
        },
        ..ColumnStatistics::new_unknown()
    })
}
