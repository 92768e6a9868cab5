//! The columns of all stripes, checked by one thread or by several.

use super::super::concurrent_parts::{in_order, in_order_until, read_field_lists};
use super::{Column, Verifier, VerifyOptions};
use crate::error::Result;
use crate::format::Schema;
use crate::progress::Progress;
use crate::read::open_shard::Shard;
use crate::read::shard::waiting::give_way;
use crate::read::stripe::Stripe;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeInclusive};

/// The columns of all stripes with a readable field list, numbered from 0.
struct ColumnTasks<'a> {
    schema: &'a Schema,
    stripes: Vec<&'a Stripe>,
    columns: VisibleColumns,
}

/// The columns that readers may see.
pub(super) struct VisibleColumns {
    all: Vec<Column>,
    /// Ordinals by the schema id of the node: the nodes of packed columns lie among others.
    by_id: BTreeMap<u32, usize>,
}

impl VisibleColumns {
    pub(super) fn new(all: Vec<Column>) -> Self {
        let ids = all.iter().map(|column| column.node.schema_id);
        let by_id = ids.zip(0..).collect();
        Self { all, by_id }
    }

    /// Returns the columns with nodes in this range, each with its ordinal.
    pub(super) fn of_nodes(
        &self,
        ids: RangeInclusive<u32>,
    ) -> impl Iterator<Item = (usize, &Column)> {
        let ordinals = self.by_id.range(ids);
        ordinals.filter_map(|(_, &ordinal)| Some((ordinal, self.all.get(ordinal)?)))
    }
}

impl ColumnTasks<'_> {
    fn len(&self) -> usize {
        self.stripes.len().saturating_mul(self.schema.fields.len())
    }

    /// Checks one column of one stripe.
    async fn check<'s>(&self, i: usize, shard: &'s Shard) -> Verifier<'s> {
        let mut verifier = Verifier::new(shard);
        let fields = &self.schema.fields;
        let stripe = self.stripes.get(i / fields.len().max(1));
        if let Some((stripe, field)) = stripe.zip(fields.get(i % fields.len().max(1))) {
            verifier.column(stripe, field, &self.columns).await;
            give_way().await;
        }
        verifier
    }
}

impl<'s> Verifier<'s> {
    /// Checks the columns of all stripes, and reports progress after each.
    pub(super) async fn stripes(
        &mut self,
        schema: &Schema,
        stripes: &[Stripe],
        options: &VerifyOptions,
    ) -> Result<ControlFlow<()>> {
        let columns = self.columns(schema).await;
        let fields = schema.fields.len() as u64;
        let total = fields.saturating_mul(stripes.len() as u64);
        let mut readable = Vec::with_capacity(stripes.len());
        let shard = self.shard;
        read_field_lists(shard, schema.fields.len()).await;
        let checked = stripes.iter().map(|stripe| async move {
            let mut verifier = Verifier::new(shard);
            let is_readable = verifier.stripe_messages(stripe).await;
            (verifier, stripe, is_readable)
        });
        let prefetch = options.prefetch;
        in_order(checked, prefetch, |(verifier, stripe, is_readable)| {
            self.absorb(verifier);
            self.report.stripes += 1;
            if is_readable {
                readable.push(stripe);
            } else {
                self.counts.miss();
            }
        })
        .await;
        if self.failed.is_some() {
            return Ok(ControlFlow::Break(()));
        }
        // Columns of unreadable stripes count as done.
        let mut done = total - fields.saturating_mul(readable.len() as u64);
        let work = ColumnTasks {
            schema,
            stripes: readable,
            columns,
        };
        let names = schema.fields.iter().map(|field| &field.data_type.name);
        let mut names = names.cycle();
        let take = |verifier: Verifier<'s>| {
            self.absorb(verifier);
            if self.failed.is_some() {
                return ControlFlow::Break(());
            }
            done += 1;
            options.listener.report(Progress {
                field: names.next().map(String::as_str),
                done,
                total,
            })
        };
        #[cfg(feature = "threads")]
        if options.threads() > 1 {
            return threads::check(&work, shard, options.threads(), take);
        }
        let checked = (0..work.len()).map(|i| work.check(i, shard));
        Ok(in_order_until(checked, prefetch, take).await)
    }
}

#[cfg(feature = "threads")]
mod threads {
    use super::{ColumnTasks, Verifier};
    use crate::error::Result;
    use crate::read::open_shard::Shard;
    use crate::read::shard::waiting::ready_now;
    use std::collections::BTreeMap;
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc;

    /// Checks the columns on this many other threads. This thread passes the results to `take`, in order.
    pub(super) fn check<'s>(
        work: &ColumnTasks<'_>,
        shard: &'s Shard,
        threads: usize,
        mut take: impl FnMut(Verifier<'s>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..threads.min(work.len()) {
                let sender = sender.clone();
                scope.spawn(|| {
                    // Moves the sender into this thread.
                    let sender = sender;
                    while !is_over.load(Ordering::Relaxed) {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        if i >= work.len() {
                            break;
                        }
                        let checked = ready_now(async { Ok(work.check(i, shard).await) });
                        if sender.send((i, checked)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            let (mut early, mut taken) = (BTreeMap::new(), 0);
            for (i, checked) in receiver {
                early.insert(i, checked);
                while let Some(checked) = early.remove(&taken) {
                    taken += 1;
                    let flow = checked.map(&mut take);
                    if !matches!(flow, Ok(ControlFlow::Continue(()))) {
                        is_over.store(true, Ordering::Relaxed);
                        return flow;
                    }
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }
}
