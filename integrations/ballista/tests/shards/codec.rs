//! Encoding and decoding a plan preserves it.

use arrow_shard_ballista::{ShardLogicalExtensionCodec, ShardPhysicalExtensionCodec};
use arrow_shard_datafusion::{
    ShardFormat, ShardFormatFactory, ShardSink, ShardSource, TableShardOptions,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics, TableReference};
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::datasource::listing::{ListingTableUrl, PartitionedFile};
use datafusion::datasource::physical_plan::{
    FileGroup, FileOutputMode, FileScanConfig, FileScanConfigBuilder, FileSink, FileSinkConfig,
    FileSource,
};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::TaskContext;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::Operator;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterPhysicalExpr, IsNullExpr, LikeExpr, in_list, lit,
};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{
    LexOrdering, LexRequirement, PhysicalExpr, PhysicalSortExpr, PhysicalSortRequirement,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::{DefaultPhysicalProtoConverter, PhysicalExtensionCodec};
use object_store::ObjectMeta;
use object_store::path::Path;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

/// The columns of files.
fn file_schema() -> SchemaRef {
    let place = DataType::Struct(vec![Field::new("city", DataType::Utf8View, true)].into());
    let at = DataType::Timestamp(TimeUnit::Microsecond, Some("Europe/Oslo".into()));
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("note", DataType::Utf8, true)
            .with_metadata([("of".to_owned(), "a field".to_owned())].into()),
        Field::new("at", at, true),
        Field::new("place", place, true),
    ]);
    Arc::new(schema.with_metadata([("of".to_owned(), "the table".to_owned())].into()))
}

fn table_schema() -> TableSchema {
    let region = Field::new("region", DataType::Utf8, false);
    TableSchema::builder(file_schema())
        .with_table_partition_cols(vec![Arc::new(region)])
        .build()
}

fn column(name: &str) -> Arc<dyn PhysicalExpr> {
    let schema = table_schema().table_schema().clone();
    Arc::new(Column::new_with_schema(name, &schema).unwrap())
}

fn binary(
    left: Arc<dyn PhysicalExpr>,
    op: Operator,
    right: Arc<dyn PhysicalExpr>,
) -> Arc<dyn PhysicalExpr> {
    Arc::new(BinaryExpr::new(left, op, right))
}

fn filters() -> impl Strategy<Value = Arc<dyn PhysicalExpr>> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|of| binary(column("id"), Operator::Gt, lit(of))),
        "[a-c%_]{0,4}".prop_map(|like| -> Arc<dyn PhysicalExpr> {
            let pattern = lit(like);
            Arc::new(LikeExpr::new(false, true, column("note"), pattern))
        }),
        vec(any::<i64>(), 1..5).prop_map(|values| {
            let values = values.into_iter().map(lit).collect();
            let schema = table_schema().table_schema().clone();
            in_list(column("id"), values, &false, &schema).unwrap()
        }),
        Just(Arc::new(IsNullExpr::new(column("at"))) as Arc<dyn PhysicalExpr>),
        "[a-z]{1,3}".prop_map(|region| binary(column("region"), Operator::Eq, lit(region))),
        any::<i64>().prop_map(|of| -> Arc<dyn PhysicalExpr> {
            let inner = binary(column("id"), Operator::Lt, lit(of));
            Arc::new(DynamicFilterPhysicalExpr::new(vec![column("id")], inner))
        }),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        (inner.clone(), any::<bool>(), inner).prop_map(|(left, and, right)| {
            let op = if and { Operator::And } else { Operator::Or };
            binary(left, op, right)
        })
    })
}

fn orders() -> impl Strategy<Value = Option<LexOrdering>> {
    let columns = proptest::sample::subsequence(vec!["id", "note", "at"], 0..=3);
    (columns, any::<bool>(), any::<bool>()).prop_map(|(columns, descending, nulls_first)| {
        let sorts = columns.into_iter().map(|name| {
            let mut sort = PhysicalSortExpr::new_default(column(name));
            sort.options.descending = descending;
            sort.options.nulls_first = nulls_first;
            sort
        });
        LexOrdering::new(sorts)
    })
}

fn statistics(rows: usize, exact: bool) -> Statistics {
    let precise = |value: usize| {
        if exact {
            Precision::Exact(value)
        } else {
            Precision::Inexact(value)
        }
    };
    let mut statistics = Statistics::new_unknown(&file_schema());
    statistics.num_rows = precise(rows);
    statistics.total_byte_size = precise(rows * 8);
    statistics.column_statistics[0] = ColumnStatistics::new_unknown()
        .with_null_count(precise(0))
        .with_min_value(Precision::Exact(ScalarValue::Int64(Some(-3))))
        .with_max_value(Precision::Inexact(ScalarValue::Int64(Some(9))));
    statistics
}

fn files() -> impl Strategy<Value = PartitionedFile> {
    let tag = proptest::option::of("[ -~]{0,8}");
    let range = proptest::option::of((0i64..100, 100i64..1000));
    (
        (any::<u32>(), "[a-z %=]{1,9}", tag.clone(), tag),
        range,
        orders(),
        proptest::option::of((0usize..10_000, any::<bool>())),
        proptest::option::of(0usize..1_000_000),
        (0i64..i64::from(u32::MAX), "[a-z]{0,3}"),
    )
        .prop_map(
            |(object, range, ordering, known, hint, (changed, region))| {
                let (size, name, e_tag, version) = object;
                let mut file = PartitionedFile::new_from_meta(ObjectMeta {
                    location: Path::from_iter(["data", &name, "x.shard"]),
                    last_modified: chrono_at(changed),
                    size: u64::from(size),
                    e_tag,
                    version,
                })
                .with_partition_values(vec![ScalarValue::from(region)]);
                if let Some((rows, exact)) = known {
                    file = file.with_statistics(Arc::new(statistics(rows, exact)));
                }
                if let Some((start, end)) = range {
                    file = file.with_range(start, end);
                }
                file.ordering = ordering;
                file.metadata_size_hint = hint;
                file
            },
        )
}

/// Returns a time with nanoseconds.
fn chrono_at<T: From<std::time::SystemTime>>(seconds: i64) -> T {
    let since = std::time::Duration::new(seconds.unsigned_abs(), 123_456_789);
    T::from(std::time::UNIX_EPOCH + since)
}

fn options() -> impl Strategy<Value = TableShardOptions> {
    (
        any::<bool>(),
        any::<bool>(),
        proptest::option::of(1usize..9),
    )
        .prop_map(|(pushdown, pruning, rows)| TableShardOptions {
            pushdown_filters: pushdown,
            pruning,
            stripe_rows: rows,
            sorting_columns: rows.map(|_| "\"a, b\" DESC, c".to_owned()),
            profile: "fast".to_owned(),
            ..TableShardOptions::default()
        })
}

pub(crate) fn scans() -> impl Strategy<Value = FileScanConfig> {
    let groups = vec(vec(files(), 0..4).prop_map(FileGroup::new), 0..4);
    let limit = proptest::option::of(prop_oneof![
        0usize..100,
        // More than 32 bits.
        (1usize << 32)..(1 << 40)
    ]);
    let projection = proptest::sample::subsequence(vec![0usize, 1, 2, 3, 4], 1..=5);
    (
        (
            options(),
            proptest::option::of(filters()),
            orders(),
            any::<(bool, bool)>(),
        ),
        (
            groups,
            limit,
            any::<bool>(),
            proptest::option::of(1usize..10_000),
        ),
        (
            proptest::option::of(projection),
            orders(),
            0usize..1000,
            any::<bool>(),
        ),
    )
        .prop_map(|(source, config, more)| {
            let (options, filter, order, (evaluates, reverse)) = source;
            let (groups, limit, preserve_order, batch_size) = config;
            let (projection, output_ordering, rows, exact) = more;
            let mut source = ShardSource::new(table_schema())
                .with_options(options)
                .with_evaluates(evaluates)
                .with_order(order)
                .with_reverse(reverse);
            if let Some(filter) = filter {
                source = source.with_predicate(filter);
            }
            let mut source: Arc<dyn FileSource> = Arc::new(source);
            if let Some(columns) = projection {
                let schema = table_schema().table_schema().clone();
                let columns = ProjectionExprs::from_indices(&columns, &schema);
                source = source.try_pushdown_projection(&columns).unwrap().unwrap();
            }
            let mut known = statistics(rows, exact);
            known
                .column_statistics
                .push(ColumnStatistics::new_unknown());
            FileScanConfigBuilder::new(ObjectStoreUrl::parse("s3://bucket").unwrap(), source)
                .with_file_groups(groups)
                .with_limit(limit)
                .with_preserve_order(preserve_order)
                .with_batch_size(batch_size)
                .with_output_ordering(output_ordering.into_iter().collect())
                .with_statistics(known)
                .build()
        })
}

pub(crate) fn encode(plan: Arc<dyn ExecutionPlan>) -> Vec<u8> {
    let mut bytes = Vec::new();
    ShardPhysicalExtensionCodec::default()
        .try_encode(plan, &mut bytes, &DefaultPhysicalProtoConverter {})
        .unwrap();
    bytes
}

pub(crate) fn decode(
    bytes: &[u8],
    inputs: &[Arc<dyn ExecutionPlan>],
) -> datafusion::error::Result<Arc<dyn ExecutionPlan>> {
    let codec = ShardPhysicalExtensionCodec::default();
    let context = TaskContext::default();
    codec.try_decode(bytes, inputs, &context, &DefaultPhysicalProtoConverter {})
}

/// Returns all parts of a scan as text.
fn parts(plan: &Arc<dyn ExecutionPlan>) -> Vec<String> {
    let plan = plan.downcast_ref::<DataSourceExec>().unwrap();
    let config = plan.data_source().downcast_ref::<FileScanConfig>().unwrap();
    let source = config.file_source().downcast_ref::<ShardSource>().unwrap();
    let filter = source.filter().map(|filter| filter.to_string());
    vec![
        format!("{:?}", config.object_store_url),
        format!("{:#?}", config.file_groups),
        format!(
            "{:?}",
            (config.limit, config.preserve_order, config.batch_size)
        ),
        format!("{:?}", config.output_ordering),
        format!("{:?}", config.statistics()),
        format!("{:?}", config.projected_schema().unwrap()),
        format!("{:?}", source.table_schema()),
        format!("{:?}", source.options().to_options()),
        format!(
            "{:?}",
            (source.evaluates(), source.order(), source.is_reverse())
        ),
        format!("{:?}", source.projection()),
        format!("{filter:?}"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn scans_arrive_as_they_were(config in scans()) {
        let plan: Arc<dyn ExecutionPlan> = DataSourceExec::from_data_source(config);
        let bytes = encode(Arc::clone(&plan));
        let arrived = decode(&bytes, &[]).unwrap();
        prop_assert_eq!(parts(&arrived), parts(&plan));
        prop_assert_eq!(encode(arrived), bytes);
    }
}

pub(crate) fn sink() -> Arc<dyn ExecutionPlan> {
    let schema = file_schema();
    let config = FileSinkConfig {
        original_url: "s3://bucket/of 1 %/".to_owned(),
        object_store_url: ObjectStoreUrl::parse("s3://bucket").unwrap(),
        file_group: FileGroup::new(vec![PartitionedFile::new("old.shard", 7)]),
        table_paths: vec![ListingTableUrl::parse("s3://bucket/of%201%20%25/").unwrap()],
        output_schema: Arc::clone(&schema),
        table_partition_cols: vec![("note".to_owned(), DataType::Utf8)],
        insert_op: InsertOp::Overwrite,
        keep_partition_by_columns: true,
        file_extension: "shard".to_owned(),
        file_output_mode: FileOutputMode::Directory,
    };
    let options = TableShardOptions {
        profile: "plain".to_owned(),
        ..TableShardOptions::default()
    };
    let sink = ShardSink::new(config, options).with_sorting_columns(vec![
        arrow_shard::metadata::SortingColumn {
            path: "place.city".to_owned(),
            descending: true,
            nulls_first: false,
        },
    ]);
    let order = PhysicalSortRequirement::from(PhysicalSortExpr::new_default(column("id")));
    let input = Arc::new(EmptyExec::new(schema));
    let order = LexRequirement::new([order]);
    Arc::new(DataSinkExec::new(input, Arc::new(sink), order))
}

#[test]
fn sinks_arrive_as_they_were() {
    let parts = |plan: &Arc<dyn ExecutionPlan>| {
        let plan = plan.downcast_ref::<DataSinkExec>().unwrap();
        let sink = plan.sink().downcast_ref::<ShardSink>().unwrap();
        (
            format!("{:?}", sink.config()),
            format!(
                "{:?} {:?}",
                sink.options().to_options(),
                sink.sorting_columns()
            ),
            format!("{:?}", plan.sort_order()),
        )
    };
    let plan = sink();
    let bytes = encode(Arc::clone(&plan));
    let inputs: Vec<_> = plan.children().into_iter().cloned().collect();
    let arrived = decode(&bytes, &inputs).unwrap();
    assert_eq!(parts(&arrived), parts(&plan));
    assert_eq!(encode(arrived), bytes);
    let error = decode(&bytes, &[]).unwrap_err().to_string();
    assert!(error.contains("a sink with 0 inputs"), "{error}");
}

#[test]
fn formats_arrive_as_they_were() {
    let codec = ShardLogicalExtensionCodec::default();
    let options = TableShardOptions {
        stripe_rows: Some(9),
        ..TableShardOptions::default()
    };
    for factory in [
        ShardFormatFactory::new(),
        ShardFormatFactory::new_with_options(options),
    ] {
        let mut bytes = Vec::new();
        let sent: Arc<dyn FileFormatFactory> = Arc::new(factory.clone());
        codec.try_encode_file_format(&mut bytes, sent).unwrap();
        let context = TaskContext::default();
        let arrived = codec.try_decode_file_format(&bytes, &context).unwrap();
        let arrived = arrived.downcast_ref::<ShardFormatFactory>().unwrap();
        let options =
            |factory: &ShardFormatFactory| factory.options().map(TableShardOptions::to_options);
        assert_eq!(options(arrived), options(&factory));
        let as_table = codec.try_decode_table_provider(
            &bytes,
            &TableReference::bare("t"),
            file_schema(),
            &context,
        );
        let error = as_table
            .map(|table| table.schema())
            .unwrap_err()
            .to_string();
        assert!(error.contains("it is no table"), "{error}");
    }
    // The codec leaves other formats to Ballista.
    let csv = Arc::new(datafusion::datasource::file_format::csv::CsvFormatFactory::new());
    let mut bytes = Vec::new();
    codec.try_encode_file_format(&mut bytes, csv).unwrap();
    let format = codec.try_decode_file_format(&bytes, &TaskContext::default());
    assert_eq!(format.unwrap().get_ext(), "csv");
}

#[test]
fn what_cannot_travel_is_refused() {
    let source = || Arc::new(ShardSource::new(table_schema()));
    let store = ObjectStoreUrl::local_filesystem();
    let mut file = PartitionedFile::new("a.shard", 1);
    file.extensions.insert(7u8);
    let config = FileScanConfigBuilder::new(store, source()).with_file(file);
    let codec = ShardPhysicalExtensionCodec::default();
    let plan = DataSourceExec::from_data_source(config.build());
    let error = codec
        .try_encode(plan, &mut Vec::new(), &DefaultPhysicalProtoConverter {})
        .unwrap_err();
    assert!(error.to_string().contains("a.shard has some"), "{error}");
}

/// The source that a format creates for a scan is one that can be sent.
#[test]
fn sources_of_formats_can_be_sent() {
    let source = datafusion::datasource::file_format::FileFormat::file_source(
        &ShardFormat::default(),
        table_schema(),
    );
    assert!(source.is::<ShardSource>());
}
