//! A Ballista executor that reads and writes shards. It takes the options of `ballista-executor`, but by default waits
//! for its scheduler for a minute, so executor and scheduler may start in any order.

use arrow_shard_ballista::process::{Log, executor};
use ballista_core::error::{BallistaError, Result};
use ballista_executor::config::Config;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::health::spawn_health_server;
use clap::{CommandFactory, FromArgMatches};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> Result<()> {
    let command = Config::command().mut_arg("scheduler_connect_timeout_seconds", |argument| {
        argument.default_value("60")
    });
    let mut options =
        Config::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit());
    let scheduler = (options.scheduler_host.clone(), options.scheduler_port);
    // With any value, Ballista 55.0 would try forever; `wait_for` applies the timeout instead.
    let patience = std::mem::take(&mut options.scheduler_connect_timeout_seconds);
    let host_and_port = format!("{}:{}", options.bind_host, options.bind_health_port);
    let health: SocketAddr = host_and_port.parse().map_err(|error| {
        BallistaError::Configuration(format!("--bind-host {}: {error}", options.bind_host))
    })?;
    let config = executor(ExecutorProcessConfig::try_from(options)?)?;
    let log = Log {
        filter: config.special_mod_log_level.clone(),
        folder: config.log_dir.clone(),
        prefix: config.log_file_name_prefix(),
        rotation: config.log_rotation_policy,
        threads: config.print_thread_info,
    };
    log.start();
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let health = spawn_health_server(health, config.health.clone(), stopped);
    let end = match wait_for(&scheduler, Duration::from_secs(patience.into())).await {
        Ok(()) => start_executor_process(Arc::new(config)).await,
        Err(error) => Err(error),
    };
    // The send fails if the health server could not listen and has ended.
    let _ = stop.send(());
    let _ = health.await;
    end
}

/// Waits until the scheduler accepts connections at its address.
///
/// # Errors
/// Returns an error if the scheduler does not accept connections in time.
async fn wait_for(scheduler: &(String, u16), patience: Duration) -> Result<()> {
    let end = Instant::now() + patience;
    while let Err(error) = TcpStream::connect(scheduler).await {
        if Instant::now() >= end {
            let (host, port) = scheduler;
            return Err(BallistaError::GrpcConnectionError(format!(
                "there is no scheduler at {host}:{port} ({error}), after {} s",
                patience.as_secs()
            )));
        }
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
