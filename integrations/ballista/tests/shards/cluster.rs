//! Queries on a cluster of one scheduler and several executor processes.

use crate::moto::Moto;
use crate::process::{Guarded, free_port, until};
use crate::tables::{answer, compare, create_tables, local, run, write_tables};
use arrow_shard_ballista::{
    EnvironmentStores, remote_with_state, runtime_env, session_config, session_state,
};
use datafusion::prelude::SessionContext;
use object_store::ObjectStore;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use url::Url;

/// One scheduler, and executors with one slot each.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) executors: Vec<Guarded>,
    pub(crate) scheduler: Guarded,
    port: u16,
    _folder: TempDir,
}

impl Cluster {
    pub(crate) fn start(executors: usize, environment: &[(&'static str, String)]) -> Self {
        let folder = TempDir::new().unwrap();
        let port = free_port();
        // Executors start before the scheduler: they wait for it.
        let start = |n| Self::executor(folder.path(), port, n, &[], environment);
        let executors: Vec<Guarded> = (0..executors).map(start).collect();
        let scheduler = Guarded::start(
            folder.path(),
            "scheduler",
            env!("CARGO_BIN_EXE_shard-scheduler"),
            &[
                "--bind-host=127.0.0.1".to_owned(),
                format!("--bind-port={port}"),
                format!("--min-ready-executors={}", executors.len()),
                // The scheduler detects a lost executor within seconds.
                "--executor-timeout-seconds=4".to_owned(),
                "--expire-dead-executor-interval-seconds=1".to_owned(),
            ],
            environment,
        );
        until("the cluster is not ready", || {
            ask(port, "/readyz").contains("200 OK").then_some(())
        });
        Self {
            executors,
            scheduler,
            port,
            _folder: folder,
        }
    }

    fn executor(
        folder: &Path,
        scheduler: u16,
        n: usize,
        more: &[String],
        environment: &[(&'static str, String)],
    ) -> Guarded {
        let name = format!("executor-{n}");
        let work = folder.join(&name);
        std::fs::create_dir(&work).unwrap();
        let mut arguments = vec![
            "--bind-host=127.0.0.1".to_owned(),
            "--external-host=127.0.0.1".to_owned(),
            format!("--bind-port={}", free_port()),
            format!("--bind-grpc-port={}", free_port()),
            format!("--bind-health-port={}", free_port()),
            "--scheduler-host=127.0.0.1".to_owned(),
            format!("--scheduler-port={scheduler}"),
            "--executor-heartbeat-interval-seconds=1".to_owned(),
            "--vcores=1".to_owned(),
            "--memory-pool-size=256MiB".to_owned(),
            format!("--work-dir={}", work.display()),
        ];
        arguments.extend_from_slice(more);
        let program = env!("CARGO_BIN_EXE_shard-executor");
        Guarded::start(folder, &name, program, &arguments, environment)
    }

    /// Returns a session of a client, with `store` as its bucket.
    pub(crate) async fn session(&self, store: Option<&Arc<dyn ObjectStore>>) -> SessionContext {
        let runtime = runtime_env(Arc::new(EnvironmentStores::default())).unwrap();
        if let Some(store) = store {
            let bucket = Url::parse("s3://shards").unwrap();
            runtime.register_object_store(&bucket, Arc::clone(store));
        }
        let config = session_config().with_target_partitions(6);
        let state = session_state(config, runtime).unwrap();
        let url = format!("df://127.0.0.1:{}", self.port);
        remote_with_state(&url, state).await.unwrap()
    }

    /// Returns the numbers of tasks that an executor has begun and ended.
    pub(crate) fn tasks(executor: &Guarded) -> (usize, usize) {
        let log = executor.log();
        let count = |what| log.matches(what).count();
        (count("Execute task"), count("Finished task"))
    }
}

fn ask(port: u16, path: &str) -> String {
    let mut answer = String::new();
    if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
        let _ = write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        );
        let _ = stream.read_to_string(&mut answer);
    }
    answer
}

#[test]
fn an_executor_without_a_scheduler_ends() {
    let folder = TempDir::new().unwrap();
    let nobody = free_port();
    let patience = ["--scheduler-connect-timeout-seconds=1".to_owned()];
    let executor = Cluster::executor(folder.path(), nobody, 0, &patience, &[]);
    let why = format!("there is no scheduler at 127.0.0.1:{nobody}");
    until("it goes on", || executor.log().contains(&why).then_some(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_share_local_files() {
    let folder = TempDir::new().unwrap();
    let at = format!("{}/", folder.path().display());
    let cluster = Cluster::start(3, &[]);
    let (one, many) = (local(), cluster.session(None).await);
    run(&many, &write_tables(&at, 4, 1000)).await;
    for session in [&one, &many] {
        run(session, &create_tables(&at)).await;
    }
    compare(&one, &many).await;
    for executor in &cluster.executors {
        let (begun, _) = Cluster::tasks(executor);
        assert!(begun > 0, "{} had nothing to do", executor.name);
    }
    let more = "INSERT INTO customers SELECT id + 1000, note, 'r9' FROM orders WHERE id < 100";
    assert_eq!(answer(&many, more).await, ["| 100 |"]);
    assert_eq!(
        answer(&many, "SELECT count(*) FROM customers").await,
        ["| 200 |"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_share_a_bucket() {
    let Some(moto) = Moto::start() else { return };
    let store: Arc<dyn ObjectStore> = Arc::new(moto.store());
    let at = "s3://shards/of 1 %/";
    let cluster = Cluster::start(3, &moto.environment());
    let (one, many) = (local(), cluster.session(Some(&store)).await);
    one.register_object_store(&Url::parse("s3://shards").unwrap(), store);
    run(&many, &write_tables(at, 3, 1000)).await;
    for session in [&one, &many] {
        run(session, &create_tables(at)).await;
    }
    compare(&one, &many).await;
    let more = "INSERT INTO events SELECT id, 1, 'r7', 2030 FROM orders WHERE id < 10";
    assert_eq!(answer(&many, more).await, ["| 10 |"]);
    let sql = "SELECT count(*) FROM events WHERE year = 2030";
    assert_eq!(answer(&many, sql).await, ["| 10 |"]);
}
