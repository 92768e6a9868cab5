//! Metrics of a plan: what a scan has read and skipped.

use arrow_shard::read::{ScanMetrics, Skipped};
use datafusion_physical_plan::metrics::{
    Count, ExecutionPlanMetricsSet, MetricBuilder, MetricCategory, MetricType,
};

/// Counters of one partition of a scan.
#[derive(Debug, Clone)]
pub(crate) struct ShardMetrics {
    /// Files that statistics ruled out before they were opened.
    pub(crate) files_pruned: Count,
    /// Filters that statistics cannot decide.
    pub(crate) pruning_errors: Count,
    /// Rows of stripes that DataFusion's pruning ruled out by statistics.
    pub(crate) rows_pruned: Count,
    bytes_scanned: Count,
    stripes: Count,
    skipped: [(Count, Count); 4],
    known_to_match: Count,
    values_tested: Count,
    rows_matched: Count,
    rows_read: Count,
}

impl ShardMetrics {
    pub(crate) fn new(partition: usize, metrics: &ExecutionPlanMetricsSet) -> Self {
        let count = |name: &str| MetricBuilder::new(metrics).counter(name.to_owned(), partition);
        let skipped = |level: &str| {
            (
                count(&format!("rows_skipped_by_{level}")),
                count(&format!("stripes_skipped_by_{level}")),
            )
        };
        let bytes_scanned = MetricBuilder::new(metrics)
            .with_type(MetricType::Summary)
            .with_category(MetricCategory::Bytes)
            .counter("bytes_scanned", partition);
        Self {
            bytes_scanned,
            files_pruned: count("files_skipped_by_statistics"),
            pruning_errors: count("num_predicate_creation_errors"),
            rows_pruned: count("rows_pruned_by_stripe_statistics"),
            stripes: count("stripes"),
            skipped: [
                skipped("statistics"),
                skipped("bloom_filters"),
                skipped("range_indexes"),
                skipped("dictionaries"),
            ],
            known_to_match: count("rows_known_to_match"),
            values_tested: count("values_tested"),
            rows_matched: count("rows_matched"),
            rows_read: count("rows_read"),
        }
    }

    /// Adds a number of bytes read.
    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.bytes_scanned
            .add(usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// Adds the changes of a scan's counters since `before`.
    pub(crate) fn add(&self, before: &ScanMetrics, now: &ScanMetrics) {
        let add = |count: &Count, before: u64, now: u64| {
            // A counter decreases for a moment when a scan plans rows again.
            count.add(usize::try_from(now.saturating_sub(before)).unwrap_or(usize::MAX));
        };
        let levels = |metrics: &ScanMetrics| -> [Skipped; 4] {
            [
                metrics.skipped_by_statistics,
                metrics.skipped_by_bloom_filters,
                metrics.skipped_by_range_indexes,
                metrics.skipped_by_dictionaries,
            ]
        };
        add(&self.stripes, before.stripes, now.stripes);
        let skipped = levels(before).into_iter().zip(levels(now));
        for ((rows, stripes), (before, now)) in self.skipped.iter().zip(skipped) {
            add(rows, before.rows, now.rows);
            add(stripes, before.stripes, now.stripes);
        }
        add(
            &self.known_to_match,
            before.rows_known_to_match,
            now.rows_known_to_match,
        );
        add(&self.values_tested, before.values_tested, now.values_tested);
        add(&self.rows_matched, before.rows_matched, now.rows_matched);
        add(&self.rows_read, before.rows_read, now.rows_read);
    }
}
