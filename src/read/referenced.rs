//! What a directory says that refers to the buffers of an open shard: the shard as it is stored.

#![cfg_attr(
    target_family = "wasm",
    allow(
        dead_code,
        reason = "shards in memory need less than those in folders and stores"
    )
)]

use super::open_shard::Shard;
use super::scan::rows::{RowFormat, RowReader};
use super::shard::fetch::Bench;
use super::shard::metadata::{Metadata, ready};
use super::shard::waiting::give_way;
use crate::error::{Result, to_usize};
use crate::format::{DataType, StripeDirectory, StripeFieldDescriptor, StripeProperties};
use crate::io::{Reference, RelativeUrl, resolve};
use crate::read::{Predicate, Projection};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::{Field, Schema};
use std::ops::Range;
use std::sync::Arc;

/// Descriptors that are fetched at once, about.
#[cfg(feature = "object_store")]
const AT_ONCE: usize = 1 << 15;
/// Rows that are looked at at a time.
const BATCH_ROWS: u32 = 65_536;

impl Shard {
    /// The stripes, as the directory lists them.
    pub(crate) async fn stripe_directories(&self) -> Result<Vec<StripeDirectory>> {
        let inner = &self.inner;
        inner
            .run(|bench| Ok(Some(ready!(inner.stripes(bench)).to_vec())))
            .await
    }

    /// The columns, packed ones as members of their structs: their Arrow fields, and their nodes with all that
    /// labels mean.
    pub(crate) async fn stored_columns(&self) -> Result<Vec<(Field, DataType)>> {
        let inner = &self.inner;
        let columns = inner.run(|bench| inner.stored_columns(bench));
        let columns = columns.await?.into_iter();
        Ok(columns.map(|column| (column.field, column.node)).collect())
    }

    /// Which file the directory file was when it was opened, where that is known.
    pub(crate) fn version(&self) -> Option<String> {
        self.inner.artifacts.version()
    }

    /// The files that the shard refers to, beside the directory file.
    pub(crate) async fn urls(&self) -> Result<Vec<RelativeUrl>> {
        let inner = &self.inner;
        let list = inner.run(|bench| inner.url_list(bench)).await?;
        let base = inner.artifacts.base();
        let mut urls = Vec::with_capacity(list.0.len());
        for url in &list.0 {
            if let Reference::Relative(url) = resolve(url, base)? {
                urls.push(url);
            }
        }
        Ok(urls)
    }

    /// The properties of a stripe.
    pub(crate) async fn properties_of(&self, stripe: u64) -> Result<StripeProperties> {
        let inner = &self.inner;
        inner
            .run(|bench| inner.stripe_properties(bench, stripe))
            .await
    }

    /// Reads the descriptors of the fields with these schema ids of all stripes, which the shard then keeps
    /// as far as its cache goes, in as few rounds as there are kinds of metadata. Gives the properties of each
    /// stripe.
    #[cfg(feature = "object_store")]
    pub(crate) async fn load_stripes(&self, ids: &[u32]) -> Result<Vec<StripeProperties>> {
        let inner = &self.inner;
        let stripes: Vec<u64> = (0..self.num_stripes()).collect();
        let mut properties = Vec::with_capacity(stripes.len());
        for some in stripes.chunks((AT_ONCE / ids.len().max(1)).max(1)) {
            let loaded = inner.run(|bench| {
                // All are asked for before any is missed, so that one round fetches all.
                let (mut found, mut complete) = (Vec::with_capacity(some.len()), true);
                for &stripe in some {
                    match inner.stripe_properties(bench, stripe)? {
                        Some(properties) => found.push(properties),
                        None => complete = false,
                    }
                    for &id in ids {
                        complete &= inner.field(bench, (stripe, id))?.is_some();
                    }
                }
                Ok(complete.then_some(found))
            });
            properties.extend(loaded.await?);
        }
        Ok(properties)
    }

    /// The descriptors of the fields of a stripe with these schema ids; `None` where the stripe has not
    /// the field. `rebase` gives the URL of each reference, by the artifact that it leads to: `None` is
    /// the directory file.
    pub(crate) async fn descriptors(
        &self,
        stripe: u64,
        ids: &[u32],
        rebase: &mut dyn FnMut(Option<&RelativeUrl>) -> Result<String>,
    ) -> Result<Vec<Option<StripeFieldDescriptor>>> {
        let inner = &self.inner;
        let fields = inner.run(|bench| fields(inner, bench, stripe, ids)).await?;
        let mut descriptors = Vec::with_capacity(fields.len());
        for described in fields {
            let Some((holder, mut descriptor)) = described else {
                descriptors.push(None);
                continue;
            };
            let holder = inner.artifacts.url_of(holder);
            descriptor.for_each_url(&mut |url| {
                *url = match resolve(url, inner.artifacts.base())? {
                    Reference::This => rebase(holder.as_ref())?,
                    Reference::Relative(other) => rebase(Some(&other))?,
                };
                Ok(())
            })?;
            descriptors.push(Some(descriptor));
        }
        Ok(descriptors)
    }

    /// Calls `found` with the number of each row that matches, deleted ones included: who edits the shard may
    /// have brought some of them back. `left` is told how many rows are left, in the end 0.
    pub(crate) async fn for_each_match(
        &self,
        predicate: Predicate,
        mut found: impl FnMut(u64),
        mut left: impl FnMut(u64),
    ) -> Result<()> {
        let scan = self.scan().with_projection(Projection::Indices(Vec::new()));
        let scan = scan.with_row_number("row").with_filter(predicate);
        let scan = scan.with_deleted_rows(true);
        let scan = scan.with_batch_size(BATCH_ROWS as usize);
        let (mut reader, _, _) = scan.planned(true).await?;
        while let Some(batch) = reader.next_batch().await.transpose()? {
            let rows = batch.column(0).as_primitive::<UInt64Type>();
            rows.values().iter().for_each(|&row| found(row));
            left(reader.remaining_rows());
            give_way().await;
        }
        left(0);
        Ok(())
    }

    /// Which of some rows are deleted.
    pub(crate) async fn deleted_rows(&self, rows: Range<u64>) -> Result<BooleanBuffer> {
        let inner = &self.inner;
        let len = rows.end - rows.start;
        // A bit for each row.
        let limits = inner.artifacts.limits();
        limits.check_batch_bytes(len.div_ceil(8), 1)?;
        let len = to_usize(len)?;
        let mut deleted = BooleanBufferBuilder::new(len);
        if !inner.has_deleted() {
            deleted.append_n(len, false);
            return Ok(deleted.finish());
        }
        let column = inner.run(|bench| inner.deleted_column(bench)).await?;
        let format = RowFormat {
            metadata: inner.clone(),
            schema: Arc::new(Schema::new(vec![column.field.clone()])),
            columns: [column].into(),
            row_number: false,
            batch_size: BATCH_ROWS.into(),
            rows: rows.clone(),
            shared: None,
            bytes_read: Arc::default(),
            gives_way: false,
        };
        let mut reader = RowReader::new(format, rows);
        while let Some(batch) = reader.next_batch().await? {
            let flags = batch.column(0).as_boolean();
            match flags.nulls() {
                Some(known) => deleted.append_buffer(&(flags.values() & known.inner())),
                None => deleted.append_buffer(flags.values()),
            }
        }
        Ok(deleted.finish())
    }
}

/// The descriptors of the fields of a stripe, each with the artifact that holds it.
type Described = Vec<Option<(u32, StripeFieldDescriptor)>>;

fn fields(
    metadata: &Metadata,
    bench: &Bench<'_>,
    stripe: u64,
    ids: &[u32],
) -> Result<Option<Described>> {
    // All are asked for before any is missed, so that one round fetches all.
    let fields = ids.iter().map(|&id| metadata.field(bench, (stripe, id)));
    let fields: Vec<_> = fields.collect::<Result<_>>()?;
    let described = |field: Option<Arc<_>>| -> Option<Option<(u32, StripeFieldDescriptor)>> {
        let field: Arc<super::shard::metadata::StripeField> = field?;
        Some(field.described().map(|(holder, it)| (holder, it.clone())))
    };
    Ok(fields.into_iter().map(described).collect())
}
