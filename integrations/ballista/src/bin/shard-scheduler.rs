//! A Ballista scheduler with support for shards. It takes the options of `ballista-scheduler`.

use arrow_shard_ballista::process::{Log, scheduler};
use ballista_core::error::{BallistaError, Result};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::{Config, SchedulerConfig};
use ballista_scheduler::scheduler_process::start_server;
use clap::Parser;
use std::net::SocketAddr;
use std::sync::Arc;

/// Stack of each thread. Recursion over deep plans needs a large one.
const STACK_BYTES: usize = 32 << 20;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build()?;
    // Only tasks of the runtime have the large stack: `block_on` itself runs on the stack of the process.
    let server = runtime.spawn(serve());
    let end = runtime.block_on(server);
    end.map_err(|error| BallistaError::General(error.to_string()))?
}

async fn serve() -> Result<()> {
    let options = Config::parse();
    let log = Log {
        filter: options.log_level_setting.clone(),
        folder: options.log_dir.clone(),
        prefix: format!(
            "scheduler_{}_{}_{}",
            options.namespace, options.external_host, options.bind_port
        ),
        rotation: options.log_rotation_policy,
        threads: options.print_thread_info,
    };
    log.start();
    let host_and_port = format!("{}:{}", options.bind_host, options.bind_port);
    let address: SocketAddr = host_and_port.parse().map_err(|error| {
        BallistaError::Configuration(format!("--bind-host {}: {error}", options.bind_host))
    })?;
    let config = scheduler(SchedulerConfig::try_from(options)?)?;
    let cluster = BallistaCluster::new_from_config(&config).await?;
    start_server(cluster, address, Arc::new(config)).await
}
