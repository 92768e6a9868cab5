//! The physical codec in `datafusion-distributed`, with workers in memory.

use crate::tables::{answer, compare, create_tables, local, run, write_tables};
use arrow_shard_ballista::ShardPhysicalExtensionCodec;
use arrow_shard_datafusion::register_state;
use async_trait::async_trait;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{
    ChannelResolver, DistributedExt, SessionStateBuilderExt, Worker, WorkerChannel,
    WorkerQueryContext, WorkerResolver, display_plan_ascii, grpc,
};
use hyper_util::rt::TokioIo;
use tempfile::TempDir;
use tonic::transport::{Endpoint, Server};
use url::Url;

const WORKER: &str = "http://localhost:50051";

/// A connection to a worker over an in-memory pipe.
#[derive(Clone)]
struct InMemory(grpc::BoxCloneSyncChannel);

impl InMemory {
    fn start() -> Self {
        let (client, server) = tokio::io::duplex(1 << 20);
        let mut client = Some(client);
        let channel = Endpoint::from_static(WORKER).connect_with_connector_lazy(tower::service_fn(
            move |_| {
                let client = client.take().map(TokioIo::new);
                async move { client.ok_or_else(|| std::io::Error::other("connected twice")) }
            },
        ));
        let this = Self(grpc::BoxCloneSyncChannel::new(channel));
        let workers = this.clone();
        let worker = Worker::from_session_builder(move |context: WorkerQueryContext| {
            let workers = workers.clone();
            async move {
                let builder = context.builder.with_distributed_channel_resolver(workers);
                Ok(builder
                    .with_distributed_user_codec(ShardPhysicalExtensionCodec::default())
                    .build())
            }
        });
        let incoming = tokio_stream::once(Ok::<_, std::io::Error>(server));
        let server = Server::builder().add_service(worker.into_worker_server());
        tokio::spawn(server.serve_with_incoming(incoming));
        this
    }
}

#[async_trait]
impl ChannelResolver for InMemory {
    async fn get_worker_client_for_url(
        &self,
        _: &Url,
    ) -> Result<Box<dyn WorkerChannel>, DataFusionError> {
        Ok(grpc::create_worker_client(self.0.clone()))
    }
}

struct Three;

impl WorkerResolver for Three {
    fn get_urls(&self) -> Result<Vec<Url>, DataFusionError> {
        Ok(vec![Url::parse(WORKER).unwrap(); 3])
    }
}

fn distributed() -> SessionContext {
    let mut state = SessionStateBuilder::new()
        .with_default_features()
        .with_config(SessionConfig::new().with_target_partitions(3))
        .with_distributed_planner()
        .with_distributed_worker_resolver(Three)
        .with_distributed_channel_resolver(InMemory::start())
        .with_distributed_user_codec(ShardPhysicalExtensionCodec::default())
        // Also distributes small tables.
        .with_distributed_file_scan_config_bytes_per_partition(1)
        .unwrap()
        .build();
    register_state(&mut state).unwrap();
    SessionContext::new_with_state(state)
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_of_another_engine_are_those_of_one_machine() {
    let folder = TempDir::new().unwrap();
    let at = format!("{}/", folder.path().display());
    let (one, many) = (local(), distributed());
    // The engine cannot split scans of files with a declared order into more parts than there are groups.
    let unsorted = |sql: &String| sql.replace(", 'format.sorting_columns' 'id'", "");
    let statements: Vec<String> = write_tables(&at, 4, 1000).iter().map(unsorted).collect();
    run(&one, &statements).await;
    for session in [&one, &many] {
        run(session, &create_tables(&at)).await;
    }
    compare(&one, &many).await;

    // Workers run the scans, each with a part of the files.
    let sql = "SELECT customer, sum(amount) FROM orders GROUP BY customer";
    let plan = many.sql(sql).await.unwrap().create_physical_plan().await;
    let plan = display_plan_ascii(plan.unwrap().as_ref(), false);
    let stage = plan
        .rfind("Stage")
        .map(|at| &plan[at..])
        .unwrap_or_default();
    assert!(stage.contains("file_type=shard"), "{plan}");
    assert!(stage.contains("t1:"), "{plan}");
    let rows = answer(&many, "SELECT count(*) FROM orders WHERE id % 2 = 0").await;
    assert_eq!(rows, ["| 2000 |"]);
}
