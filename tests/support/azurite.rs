//! Starts azurite, a server with Azure's blob protocol, which `tools/setup.sh` installs.

use super::process::{Server, installed};
use object_store::azure::{MicrosoftAzure, MicrosoftAzureBuilder};
use object_store::{ClientOptions, RetryConfig};
use std::process::Command;

/// The key of all emulators.
pub(crate) const SECRET: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// A running server with a container; dropping it ends the server.
#[derive(Debug)]
pub(crate) struct Azurite(Server);

impl Azurite {
    /// Starts the server. If it is not installed, prints a line and returns `None`, or panics if `REQUIRE_AZURE` is
    /// set.
    pub(crate) fn start() -> Option<Self> {
        let program = installed("azurite/node_modules/.bin/azurite-blob", "REQUIRE_AZURE")?;
        let arguments = |port: &str| {
            let flags = ["--inMemoryPersistence", "--disableTelemetry", "--silent"];
            let flags = flags.into_iter().chain(["--blobPort", port]);
            flags.map(str::to_owned).collect()
        };
        let azurite = Self(Server::start(&program, arguments));
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stores/container.mjs");
        let created = Command::new("node")
            .args([script, &azurite.0.port.to_string()])
            .status();
        assert!(created.unwrap().success());
        Some(azurite)
    }

    /// Returns the container as a store.
    pub(crate) fn store(&self) -> MicrosoftAzure {
        let retry = RetryConfig {
            max_retries: 0,
            ..RetryConfig::default()
        };
        let port = self.0.port;
        MicrosoftAzureBuilder::new()
            .with_account("devstoreaccount1")
            .with_access_key(SECRET)
            .with_endpoint(format!("http://127.0.0.1:{port}/devstoreaccount1"))
            .with_container_name("shards")
            .with_client_options(ClientOptions::new().with_allow_http(true))
            .with_retry(retry)
            .build()
            .unwrap()
    }
}
