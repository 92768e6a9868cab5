//! Configures schedulers and executors that run as separate processes.

use crate::logical::ShardLogicalExtensionCodec;
use crate::physical::ShardPhysicalExtensionCodec;
use crate::session::{runtime_env, session_config, session_state};
use crate::stores::EnvironmentStores;
use ballista_core::config::LogRotationPolicy;
use ballista_executor::executor_process::ExecutorProcessConfig;
use ballista_scheduler::config::SchedulerConfig;
use datafusion::common::Result;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use std::sync::Arc;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

/// Configures a scheduler that plans scans of shards.
///
/// # Errors
/// Returns an error if the folder for temporary files cannot be created.
pub fn scheduler(config: SchedulerConfig) -> Result<SchedulerConfig> {
    let shared = runtime_env(Arc::new(EnvironmentStores::default()))?;
    let mut config = config
        .with_override_config_producer(Arc::new(session_config))
        .with_override_session_builder(Arc::new(move |config| {
            // All sessions share stores and metadata; each session has its own memory pool.
            let runtime = RuntimeEnvBuilder::from_runtime_env(&shared).build_arc()?;
            session_state(config, runtime)
        }));
    config.override_logical_codec = Some(Arc::new(ShardLogicalExtensionCodec::default()));
    config.override_physical_codec = Some(Arc::new(ShardPhysicalExtensionCodec::default()));
    Ok(config)
}

/// Configures an executor that reads and writes shards. It keeps the memory settings of `config`, and puts temporary
/// files into its `work_dir`.
///
/// # Errors
/// Returns an error if the folder for temporary files cannot be created.
pub fn executor(mut config: ExecutorProcessConfig) -> Result<ExecutorProcessConfig> {
    let mut runtime =
        RuntimeEnvBuilder::from_runtime_env(&*runtime_env(Arc::new(EnvironmentStores::default()))?);
    if let Some(folder) = &config.work_dir {
        runtime = runtime.with_temp_file_path(folder);
    }
    let runtime = runtime.build_arc()?;
    config.override_config_producer = Some(Arc::new(session_config));
    config.override_runtime_producer = Some(Arc::new(move |_| Ok(Arc::clone(&runtime))));
    config.override_logical_codec = Some(Arc::new(ShardLogicalExtensionCodec::default()));
    config.override_physical_codec = Some(Arc::new(ShardPhysicalExtensionCodec::default()));
    Ok(config)
}

/// The log of a process.
#[derive(Debug)]
pub struct Log {
    /// The filter of log lines; the environment variable `RUST_LOG` overrides it.
    pub filter: String,
    /// The folder of log files; `None` for standard output.
    pub folder: Option<String>,
    /// The prefix of the names of log files.
    pub prefix: String,
    /// When a new file begins.
    pub rotation: LogRotationPolicy,
    /// Whether log lines name threads.
    pub threads: bool,
}

impl Log {
    /// Starts logging. Call it once per process.
    pub fn start(self) {
        let filter = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or(self.filter);
        let writer = match self.folder {
            Some(folder) => BoxMakeWriter::new(match self.rotation {
                LogRotationPolicy::Minutely => {
                    tracing_appender::rolling::minutely(folder, self.prefix)
                }
                LogRotationPolicy::Hourly => tracing_appender::rolling::hourly(folder, self.prefix),
                LogRotationPolicy::Daily => tracing_appender::rolling::daily(folder, self.prefix),
                LogRotationPolicy::Never => tracing_appender::rolling::never(folder, self.prefix),
            }),
            None => BoxMakeWriter::new(std::io::stdout),
        };
        tracing_subscriber::fmt()
            .with_ansi(false)
            .with_thread_names(self.threads)
            .with_thread_ids(self.threads)
            .with_env_filter(EnvFilter::new(filter))
            .with_writer(writer)
            .init();
    }
}
