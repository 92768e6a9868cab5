//! A server that speaks S3: moto, of the virtual environment that `tools/setup.sh` makes.

#![allow(
    dead_code,
    reason = "each test is a crate of its own and uses a part of this"
)]

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::{ClientOptions, RetryConfig};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A key that no error may show.
pub(crate) const SECRET: &str = "a-secret-that-stays-one";

/// A running server with a bucket; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Moto {
    server: Child,
    port: u16,
}

impl Moto {
    /// `None`, and a line that says so, where the server is not installed, unless `REQUIRE_S3` is set.
    pub(crate) fn start() -> Option<Self> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let program = root.join("target/stores/bin/moto_server");
        if !program.exists() {
            let why = format!("there is no {}; run tools/setup.sh", program.display());
            assert!(std::env::var_os("REQUIRE_S3").is_none(), "{why}");
            eprintln!("SKIPPED: {why}");
            return None;
        }
        // Somebody else may take the port first.
        let moto = (0..5).find_map(|_| Self::listen(&program));
        let moto = moto.unwrap();
        assert!(moto.request("PUT /shards").contains("200 OK"));
        Some(moto)
    }

    /// A server that listens; `None` if it ended.
    fn listen(program: &Path) -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let server = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut moto = Self { server, port };
        let start = Instant::now();
        loop {
            let answers = TcpStream::connect(("127.0.0.1", port)).is_ok();
            if let Some(status) = moto.server.try_wait().unwrap() {
                eprintln!("the server ended: {status}");
                return None;
            }
            if answers {
                return Some(moto);
            }
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "it does not listen"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The answer to a request without a body, which nobody has to sign.
    pub(crate) fn request(&self, line: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let host = format!("127.0.0.1:{}", self.port);
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// What programs are told by their environment.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "a-key-that-nobody-sees".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ]
    }

    /// The bucket.
    pub(crate) fn store(&self) -> AmazonS3 {
        let retry = RetryConfig {
            max_retries: 0,
            ..RetryConfig::default()
        };
        AmazonS3Builder::new()
            .with_endpoint(format!("http://127.0.0.1:{}", self.port))
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

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
