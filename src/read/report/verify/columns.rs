//! The columns of all stripes, checked by one thread or by several.

use super::report::VerifyProgress;
use super::{Column, Verifier, VerifyOptions};
use crate::format::Schema;
use crate::read::stripe::Stripe;
use std::ops::ControlFlow;

/// The columns of the stripes whose fields can be found, numbered from 0 on.
struct Work<'a> {
    schema: &'a Schema,
    stripes: Vec<&'a Stripe>,
    columns: Vec<Column>,
}

impl Work<'_> {
    fn len(&self) -> usize {
        self.stripes.len().saturating_mul(self.schema.fields.len())
    }

    /// Checks a column of a stripe.
    fn check<'s>(&self, i: usize, mut verifier: Verifier<'s>) -> Verifier<'s> {
        let fields = &self.schema.fields;
        let stripe = self.stripes.get(i / fields.len().max(1));
        if let Some((stripe, field)) = stripe.zip(fields.get(i % fields.len().max(1))) {
            verifier.column(stripe, field, &self.columns);
        }
        verifier
    }
}

impl<'s> Verifier<'s> {
    /// Checks the columns of stripes, and tells of each that is done.
    pub(super) fn stripes(
        &mut self,
        schema: &Schema,
        stripes: &[Stripe],
        options: &VerifyOptions,
        mut progress: impl FnMut(VerifyProgress<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let columns = self.columns();
        let fields = schema.fields.len() as u64;
        let total = fields.saturating_mul(stripes.len() as u64);
        let mut readable = Vec::with_capacity(stripes.len());
        for stripe in stripes {
            self.report.stripes += 1;
            match self.stripe_messages(stripe) {
                true => readable.push(stripe),
                false => self.counts.miss(),
            }
        }
        // Those of stripes that cannot be read are done.
        let mut done = total - fields.saturating_mul(readable.len() as u64);
        let work = Work {
            schema,
            stripes: readable,
            columns,
        };
        let names = schema.fields.iter().map(|field| &field.data_type.name);
        let mut names = names.cycle();
        let shard = self.shard;
        let take = |verifier: Verifier<'s>| {
            self.absorb(verifier);
            done += 1;
            progress(VerifyProgress {
                field: names.next().map_or("", String::as_str),
                done,
                total,
            })
        };
        #[cfg(feature = "threads")]
        if options.threads() > 1 {
            return threads::check(&work, shard, options.threads(), take);
        }
        #[cfg(not(feature = "threads"))]
        let _ = options;
        let checked = (0..work.len()).map(|i| work.check(i, Verifier::new(shard)));
        let mut take = take;
        checked.into_iter().try_for_each(&mut take)
    }
}

#[cfg(feature = "threads")]
mod threads {
    use super::{Verifier, Work};
    use crate::read::open_shard::Shard;
    use std::collections::BTreeMap;
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc;

    /// Checks the columns with that many threads beside this one, which gives what they find to
    /// `take`, in order.
    pub(super) fn check<'s>(
        work: &Work<'_>,
        shard: &'s Shard,
        threads: usize,
        mut take: impl FnMut(Verifier<'s>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..threads.min(work.len()) {
                let sender = sender.clone();
                scope.spawn(|| {
                    // Of this thread.
                    let sender = sender;
                    while !is_over.load(Ordering::Relaxed) {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        if i >= work.len() {
                            break;
                        }
                        let checked = work.check(i, Verifier::new(shard));
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
                    if take(checked).is_break() {
                        is_over.store(true, Ordering::Relaxed);
                        return ControlFlow::Break(());
                    }
                }
            }
            ControlFlow::Continue(())
        })
    }
}
