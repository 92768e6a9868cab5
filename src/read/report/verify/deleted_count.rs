//! Spec: Chapter 6, "Internal Fields": checks the number of deleted records that stripes declare.

use super::Verifier;
use crate::error::Error;
use crate::format::DataType;
use crate::read::stripe::Stripe;
use std::ops::Range;

impl Verifier<'_> {
    /// Compares the number of deleted records of a stripe with the number that the stripe declares.
    pub(super) async fn deleted(&mut self, stripe: &Stripe, node: &DataType) {
        let mut found = 0;
        let count = |rows: Range<u64>| found += rows.end - rows.start;
        let (ordinal, rows) = (stripe.ordinal(), stripe.row_range());
        let counted = self.shard.for_each_deleted(ordinal, rows, count).await;
        let at = self.at(stripe, &node.name);
        if self.again(&at, counted).is_none() {
            return;
        }
        let expected = stripe.num_deleted_rows();
        if found != expected {
            let text = format!("{expected} rows are said to be deleted, and {found} are");
            self.report.add(at, &Error::corrupt(text));
        }
    }
}
