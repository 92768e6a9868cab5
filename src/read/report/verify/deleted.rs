//! Spec: Chapter 6, "Internal Fields": whether as many records are deleted as the stripes say.

use super::Verifier;
use crate::error::Error;
use crate::format::DataType;
use crate::read::stripe::Stripe;

impl Verifier<'_> {
    /// Counts the deleted records of a stripe.
    pub(super) async fn deleted(&mut self, stripe: &Stripe, node: &DataType) {
        let deleted = self.shard.deleted_rows(stripe.row_range()).await;
        let at = self.at(stripe, &node.name);
        let Some(deleted) = self.again(&at, deleted) else {
            return;
        };
        let found = deleted.count_set_bits() as u64;
        let expected = stripe.num_deleted_rows();
        if found != expected {
            let text = format!("{expected} rows are said to be deleted, and {found} are");
            self.report.add(at, &Error::corrupt(text));
        }
    }
}
