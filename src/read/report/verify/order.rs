//! Spec: docs/format.md, "Properties": whether rows are in the order of the sorting columns.

use super::{BATCH_ROWS, Verifier, nodes_of};
use crate::buffer::Storage;
use crate::error::{Error, ErrorKind, Result};
use crate::format::DataType;
use crate::read::shard::columns::InternalFields;
use crate::read::shard::projection::Projection;
use crate::read::shard::waiting::give_way;
use crate::read::stripe::Stripe;
use crate::sorting::{OrderCheck, place_of};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_schema::{Fields, SchemaRef};

/// The columns to read for the check of an order.
struct OrderColumns {
    projection: Projection,
    /// The stored columns.
    nodes: Vec<DataType>,
    /// A name for the row numbers that no column has.
    row_number: String,
}

impl Verifier<'_> {
    /// Compares the rows of all stripes with the order that the shard declares. Reports the first row of each
    /// stripe that breaks it.
    pub(super) async fn order(&mut self, stripes: &[Stripe]) {
        let loaded = self.shard.properties_async().await;
        if self.again(&self.root(), loaded).is_none() {
            return;
        }
        let declared = self.shard.sorting_columns_async().await;
        let Some(declared) = self.note(self.root(), declared) else {
            return;
        };
        let schema = self.shard.schema_async().await;
        let Some(schema) = self
            .again(&self.root(), schema)
            .filter(|_| !declared.is_empty())
        else {
            return;
        };
        let paths: Vec<&str> = declared.iter().map(|column| column.path.as_str()).collect();
        let wanted = self.wanted(&schema, &paths).await;
        let Some((wanted, fields)) = self.note(self.root(), wanted) else {
            return;
        };
        let order = OrderCheck::try_new(&declared, &fields);
        let Some(mut order) = self.note(self.root(), order) else {
            return;
        };
        for stripe in stripes {
            if let Err(error) = self.stripe_order(stripe, &wanted, &mut order).await {
                order.restart();
                // Other errors of reading the rows were reported with their columns.
                if error.is_of_reader() || error.kind() == ErrorKind::Arrow {
                    let at = self.at(stripe, &declared[0].path);
                    self.note_new(&at, error);
                }
            }
        }
    }

    /// Returns the columns of the order, and their fields in the order of the batches.
    async fn wanted(&self, schema: &SchemaRef, paths: &[&str]) -> Result<(OrderColumns, Fields)> {
        let places = paths.iter().map(|path| place_of(schema.fields(), path));
        let whole = places.map(|place| match place.as_deref() {
            Some(&[column]) => Some(column),
            _ => None,
        });
        // If several columns have the same name, a path would be ambiguous.
        let projection = match whole.collect::<Option<Vec<usize>>>() {
            Some(columns) => Projection::from(columns),
            None => Projection::from(paths),
        };
        let metadata = &self.shard.metadata;
        let columns =
            metadata.run(|step| metadata.columns_with(step, &projection, InternalFields::Hidden));
        let nodes = columns.await?.into_iter().map(|column| column.node);
        let nodes = nodes.collect();
        let (_, _, read) = self
            .shard
            .scan()
            .with_projection(projection.clone())
            .planned(false)
            .await?;
        let mut row_number = "row".to_owned();
        while read.fields().find(&row_number).is_some() {
            row_number.push('_');
        }
        let wanted = OrderColumns {
            projection,
            nodes,
            row_number,
        };
        Ok((wanted, read.fields().clone()))
    }

    async fn stripe_order(
        &mut self,
        stripe: &Stripe,
        wanted: &OrderColumns,
        order: &mut OrderCheck,
    ) -> Result<()> {
        let mut rows = stripe.row_range();
        if stripe.num_deleted_rows() >= rows.end - rows.start {
            return Ok(());
        }
        // Equal rows cost the file nothing, so the file may claim any number of them.
        let constant = !self.is_any_stored(stripe, &wanted.nodes).await?;
        if constant {
            rows.end = rows.end.min(rows.start + 1);
        }
        let scan = self
            .shard
            .scan()
            .with_projection(wanted.projection.clone())
            .with_row_number(wanted.row_number.clone())
            .with_deleted_rows(constant)
            .with_row_range(rows)
            .with_batch_size(BATCH_ROWS as usize);
        let (mut reader, _, _) = scan.planned(false).await?;
        let mut broken = false;
        while let Some(batch) = reader.next_batch().await {
            let batch = batch?;
            let disorder = order.check(batch.columns(), batch.num_rows())?;
            if let Some(disorder) = disorder {
                order.skip(batch.columns())?;
                if std::mem::replace(&mut broken, true) {
                    continue;
                }
                let numbers = batch.columns().last();
                let numbers = numbers.and_then(|column| column.as_primitive_opt::<UInt64Type>());
                let row = numbers.map_or(0, |numbers| numbers.value(disorder.row));
                let in_stripe = row.saturating_sub(stripe.row_range().start);
                let error = Error::corrupt(format!(
                    "row {in_stripe} of the stripe, row {row} of the shard, sorts before the preceding row; \
                     the shard declares {}",
                    disorder.declared()
                ));
                self.report
                    .add(self.at(stripe, &disorder.column.path), &error);
            }
            give_way().await;
        }
        Ok(())
    }

    /// Whether the values of any of the fields, or of their descendants, are stored in buffers.
    async fn is_any_stored(&self, stripe: &Stripe, columns: &[DataType]) -> Result<bool> {
        let metadata = &self.shard.metadata;
        for (node, _) in columns.iter().flat_map(nodes_of) {
            let key = (stripe.ordinal(), node.schema_id);
            let open = metadata
                .run(|step| metadata.open_field(step, key, node))
                .await?;
            if !matches!(open.layout.storage, Storage::Null | Storage::Constant(_)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
