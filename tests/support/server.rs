//! A small HTTP server for objects in memory, with ranges and e-tags.

#![allow(
    dead_code,
    reason = "each test is a crate of its own and uses a part of this"
)]

use bytes::Bytes;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A fault of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An error of the server.
    Fails,
    /// The connection ends before the answer does.
    Truncates,
    /// Fewer bytes than requested, without an error.
    Short,
    /// More bytes than requested.
    Long,
    /// Bytes of another object.
    Other,
}

pub(crate) const FAULTS: [Fault; 5] = [
    Fault::Fails,
    Fault::Truncates,
    Fault::Short,
    Fault::Long,
    Fault::Other,
];

/// The delay of an answer.
const NETWORK: Duration = Duration::from_millis(20);

#[derive(Debug, Default)]
struct State {
    /// Objects and their versions, by path.
    objects: BTreeMap<String, (Bytes, u64)>,
    versions: u64,
    requests: Vec<String>,
    rounds: usize,
    /// Requests that wait for their answer.
    waiting: usize,
    fault: Option<(usize, Fault)>,
    /// Whether e-tags are weak, and there is no time of the last change.
    is_weak: bool,
}

/// A running server; it ends with the process.
#[derive(Debug)]
pub(crate) struct Server {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::<Mutex<State>>::default();
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                // A client may close its connection at any time.
                std::thread::spawn(move || serve(&stream, &state).unwrap_or_default());
            }
        });
        Self { port, state }
    }

    /// Starts a server with one object.
    pub(crate) fn with(path: &str, bytes: Bytes) -> Self {
        let server = Self::start();
        server.put(path, bytes);
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Adds an object, or replaces it by another version.
    pub(crate) fn put(&self, path: &str, bytes: Bytes) {
        let mut state = self.state.lock().unwrap();
        state.versions += 1;
        let version = state.versions;
        state.objects.insert(path.to_owned(), (bytes, version));
    }

    pub(crate) fn remove(&self, path: &str) {
        self.state.lock().unwrap().objects.remove(path);
    }

    /// Makes the answer to one request wrong, by its number.
    pub(crate) fn fail_at(&self, call: usize, fault: Fault) {
        self.state.lock().unwrap().fault = Some((call, fault));
    }

    /// Answers with weak e-tags from now on, and without a time of the last change, so that no condition holds.
    pub(crate) fn weaken(&self) {
        self.state.lock().unwrap().is_weak = true;
    }

    /// Returns the requested ranges.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }

    /// Returns the number of requests that arrived while no other was waiting.
    pub(crate) fn rounds(&self) -> usize {
        self.state.lock().unwrap().rounds
    }
}

/// A parsed request.
struct Request {
    path: String,
    range: String,
    if_match: Option<String>,
    has_time_condition: bool,
}

fn request(reader: &mut impl BufRead) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line
        .split(' ')
        .nth(1)
        .unwrap_or_default()
        .replace("%20", " ");
    let (mut range, mut if_match) = (String::new(), None);
    let mut has_time_condition = false;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "range" => range = value.trim_start_matches("bytes=").to_owned(),
            "if-match" => if_match = Some(value.to_owned()),
            "if-unmodified-since" => has_time_condition = true,
            _ => {}
        }
    }
    Ok(Some(Request {
        path,
        range,
        if_match,
        has_time_condition,
    }))
}

fn serve(stream: &TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut out = stream;
    while let Some(request) = request(&mut reader)? {
        let (object, fault, is_weak) = {
            let mut state = state.lock().unwrap();
            let call = state.requests.len();
            state.requests.push(request.range.clone());
            state.rounds += usize::from(state.waiting == 0);
            state.waiting += 1;
            let fault = state
                .fault
                .filter(|(at, _)| *at == call)
                .map(|(_, fault)| fault);
            let object = state.objects.get(&request.path).cloned();
            (object, fault, state.is_weak)
        };
        std::thread::sleep(NETWORK);
        let answer = answer(&request, object, fault, is_weak);
        state.lock().unwrap().waiting -= 1;
        out.write_all(&answer)?;
        out.flush()?;
        if fault == Some(Fault::Truncates) {
            return stream.shutdown(std::net::Shutdown::Both);
        }
    }
    Ok(())
}

fn answer(
    request: &Request,
    object: Option<(Bytes, u64)>,
    fault: Option<Fault>,
    is_weak: bool,
) -> Vec<u8> {
    let status = |line: &str| format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n").into_bytes();
    if fault == Some(Fault::Fails) {
        return status("500 Internal Server Error");
    }
    let Some((object, version)) = object else {
        return status("404 Not Found");
    };
    let e_tag = format!("{}\"{version}\"", if is_weak { "W/" } else { "" });
    let is_refused = match &request.if_match {
        Some(wanted) => is_weak || *wanted != e_tag,
        None => is_weak && request.has_time_condition,
    };
    if is_refused {
        return status("412 Precondition Failed");
    }
    let size = object.len();
    let (start, end) = match request.range.split_once('-') {
        Some(("", last)) => (size.saturating_sub(last.parse().unwrap()), size),
        Some((first, last)) => {
            let last: usize = last.parse().unwrap();
            (first.parse().unwrap(), size.min(last + 1))
        }
        None => (0, size),
    };
    let mut body = object[start..end].to_vec();
    let mut said = end;
    match fault {
        Some(Fault::Short) => {
            body.truncate(body.len() / 2);
            said = start + body.len();
        }
        Some(Fault::Long) => {
            body.extend([0; 7]);
            said = end + 7;
        }
        Some(Fault::Other) => body
            .iter_mut()
            .for_each(|byte| *byte = byte.wrapping_add(1)),
        _ => {}
    }
    let status = match request.range.is_empty() {
        true => "200 OK",
        false => "206 Partial Content",
    };
    let time = match is_weak {
        true => "",
        false => "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n",
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nContent-Range: bytes {start}-{}/{size}\r\n\
         ETag: {e_tag}\r\n{time}\r\n",
        body.len(),
        said.saturating_sub(1),
    );
    let mut answer = head.into_bytes();
    if fault == Some(Fault::Truncates) {
        body.truncate(body.len() / 2);
    }
    answer.extend(body);
    answer
}
