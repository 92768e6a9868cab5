//! Starts moto, an S3 server, from the virtual environment that `tools/setup.sh` creates.

#![allow(
    dead_code,
    reason = "each test is a crate of its own and uses a part of this"
)]

use super::process::{Server, installed};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::{ClientOptions, RetryConfig};
use std::io::{Read, Write};
use std::net::TcpStream;

/// A key that must not appear in errors.
pub(crate) const SECRET: &str = "a-secret-that-stays-one";

/// A running server with a bucket; dropping it ends the server.
#[derive(Debug)]
pub(crate) struct Moto(Server);

impl Moto {
    /// Starts the server. If it is not installed, prints a line and returns `None`, or panics if `REQUIRE_S3` is set.
    pub(crate) fn start() -> Option<Self> {
        let program = installed("stores/bin/moto_server", "REQUIRE_S3")?;
        let arguments = |port: &str| ["-H", "127.0.0.1", "-p", port].map(str::to_owned).into();
        let moto = Self(Server::start(&program, arguments));
        assert!(moto.request("PUT /shards").contains("200 OK"));
        Some(moto)
    }

    /// Sends an unsigned request without a body, and returns the answer. It retries, because a server that has just
    /// started may drop a connection.
    pub(crate) fn request(&self, line: &str) -> String {
        let mut tries = 0;
        loop {
            match self.try_request(line) {
                Ok(answer) if !answer.is_empty() => return answer,
                other => assert!(tries < 50, "no answer to `{line}`: {other:?}"),
            }
            tries += 1;
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }

    fn try_request(&self, line: &str) -> std::io::Result<String> {
        let host = format!("127.0.0.1:{}", self.0.port);
        let mut stream = TcpStream::connect(&host)?;
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// Returns the environment variables for programs.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT", format!("http://127.0.0.1:{}", self.0.port)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "a-key-that-nobody-sees".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ]
    }

    /// Returns the bucket as a store.
    pub(crate) fn store(&self) -> AmazonS3 {
        let retry = RetryConfig {
            max_retries: 0,
            ..RetryConfig::default()
        };
        AmazonS3Builder::new()
            .with_endpoint(format!("http://127.0.0.1:{}", self.0.port))
            .with_bucket_name("shards")
            .with_region("us-east-1")
            .with_access_key_id("a-key-that-nobody-sees")
            .with_secret_access_key(SECRET)
            .with_client_options(ClientOptions::new().with_allow_http(true))
            .with_retry(retry)
            .build()
            .unwrap()
    }
}
