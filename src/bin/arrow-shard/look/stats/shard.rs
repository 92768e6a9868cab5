//! Statistics in the metadata of shards.

use super::column::{ColumnStats, Lengths};
use crate::bounds::{Bound, is_true};
use crate::failure::Failure;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, StructArray};
use arrow_schema::{DataType, FieldRef};
use arrow_shard::Shard;
use arrow_shard::metadata::Wire;
use arrow_shard::read::Projection;
use arrow_shard::read::inspect::{FieldInfo, InspectOptions, ShardInfo};
use std::collections::HashMap;

/// Returns the statistics of the columns with these names, or of all columns, and of the members of structs.
pub(super) fn stats(shard: &Shard, names: &[String]) -> Result<Vec<ColumnStats>, Failure> {
    let projection = match names {
        [] => Projection::All,
        names => names.into(),
    };
    let known = shard.statistics(projection)?;
    let info = shard.inspect(InspectOptions::default().with_encodings(false))?;
    let mut types = HashMap::new();
    add_types(shard.schema()?.fields(), None, &mut types);
    let fields = fields_by_path(&info);
    let none = Vec::new();
    let rows = shard.num_rows();
    let known_fields = known.schema_ref().fields().iter().zip(known.columns());
    let columns = known_fields.skip(1).map(|(field, column)| {
        let path = field.name().clone();
        let members = column.as_struct();
        let bound_type = members.column_by_name("min").map(|it| it.data_type());
        let data_type = types.get(&path).or(bound_type).cloned();
        let data_type = data_type.unwrap_or(DataType::Null);
        let nulls = number(members, "null_count");
        let fields = fields.get(path.as_str()).unwrap_or(&none);
        let sizes = Sizes::of(fields, info.wire, &data_type);
        let (min, max) = Bound::both(members);
        ColumnStats {
            min,
            max,
            is_null: nulls == Some(rows),
            nulls,
            distinct: number(members, "distinct_count")
                .map(|count| (count, is_true(members, "distinct_is_exact"))),
            lengths: sizes.lengths,
            bytes: Some(sizes.bytes),
            ..ColumnStats::unknown(path, data_type)
        }
    });
    Ok(columns.collect())
}

/// Adds the types of fields and of the members of structs, by their paths.
fn add_types(fields: &[FieldRef], above: Option<&str>, types: &mut HashMap<String, DataType>) {
    for field in fields {
        let path = match above {
            Some(above) => format!("{above}.{}", field.name()),
            None => field.name().clone(),
        };
        if let DataType::Struct(members) = field.data_type() {
            add_types(members, Some(&path), types);
        }
        types
            .entry(path)
            .or_insert_with(|| field.data_type().clone());
    }
}

fn number(members: &StructArray, name: &str) -> Option<u64> {
    let column = members.column_by_name(name)?;
    let numbers = column.as_primitive_opt::<UInt64Type>()?;
    numbers.is_valid(0).then(|| numbers.value(0))
}

/// The sizes of a field over all stripes.
struct Sizes {
    /// Encoded bytes.
    bytes: u64,
    lengths: Option<Lengths>,
}

impl Sizes {
    /// Returns the sizes of a field, as which it is described in each stripe.
    fn of(fields: &[&FieldInfo], wire: Wire, data_type: &DataType) -> Self {
        let bytes = fields.iter().map(|field| field.total_encoded_bytes());
        let lengths = fields.iter().map(|field| lengths(field, data_type, wire));
        Self {
            bytes: bytes.fold(0, u64::saturating_add),
            lengths: lengths.reduce(|a, b| Some(a?.and(b?))).flatten(),
        }
    }
}

/// Returns the fields of all stripes by their paths. If a stripe has several with one path, the outermost of them
/// counts.
fn fields_by_path(info: &ShardInfo) -> HashMap<&str, Vec<&FieldInfo>> {
    fn add<'a>(
        fields: &'a [FieldInfo],
        stripe: usize,
        all: &mut HashMap<&'a str, (usize, Vec<&'a FieldInfo>)>,
    ) {
        for field in fields {
            let (last, found) = all
                .entry(&field.path)
                .or_insert_with(|| (usize::MAX, Vec::new()));
            if *last != stripe {
                *last = stripe;
                found.push(field);
            }
        }
        for field in fields {
            add(&field.children, stripe, all);
        }
    }
    let mut all = HashMap::new();
    for (stripe, info) in info.stripes.iter().enumerate() {
        add(&info.fields, stripe, &mut all);
    }
    let fields = all.into_iter().map(|(path, (_, found))| (path, found));
    fields.collect()
}

/// Returns the lengths of the values of a field in a stripe, if its type has them.
fn lengths(field: &FieldInfo, data_type: &DataType, wire: Wire) -> Option<Lengths> {
    use DataType as T;
    let count = field.positions?.checked_sub(field.null_count?)?;
    let sum = match data_type {
        T::Dictionary(_, values) => return lengths(field, values, wire),
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Binary | T::LargeBinary | T::BinaryView => {
            // The other wire counts bitmaps, too.
            field.raw_data_size.filter(|_| wire == Wire::Spec)?
        }
        T::List(_) | T::LargeList(_) | T::ListView(_) | T::LargeListView(_) | T::Map(..) => {
            field.children.first()?.positions?
        }
        _ => return None,
    };
    Some(Lengths { sum, count })
}
