//! An upstream on this machine that writes down every byte it gets, and answers as it is told.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "shared by tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// One thing that upstream does.
#[derive(Clone)]
pub enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Waits.
    Wait(Duration),
    /// Says nothing more until the other side has gone.
    Hang,
}

/// Steps that answer with a status, a kind and a body.
pub fn answer(status: u16, kind: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    vec![Step::Send((head + body).into_bytes())]
}

/// A JSON answer.
pub fn json(body: &serde_json::Value) -> Vec<Step> {
    answer(200, "application/json", &body.to_string())
}

/// The head of a stream of events, which ends with the connection.
pub fn stream() -> Step {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    Step::Send(head.as_bytes().to_vec())
}

#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    requests: Vec<String>,
    gone: usize,
}

pub struct Recorder {
    pub url: String,
    seen: Arc<Mutex<Seen>>,
}

impl Recorder {
    /// Answers every request with these steps.
    pub fn new(steps: Vec<Step>) -> Self {
        Self::answering(move |_| steps.clone())
    }

    /// Answers each request by its body.
    pub fn answering(
        steps: impl Fn(&serde_json::Value) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (shared, steps) = (Arc::clone(&seen), Arc::new(steps));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, steps) = (Arc::clone(&shared), Arc::clone(&steps));
                std::thread::spawn(move || serve(stream, &*steps, &seen));
            }
        });
        Self { url, seen }
    }

    /// Every byte of every request.
    pub fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap().bytes).into_owned()
    }

    /// The bodies of the requests.
    pub fn bodies(&self) -> Vec<serde_json::Value> {
        let seen = self.seen.lock().unwrap();
        seen.requests.iter().map(|body| serde_json::from_str(body).unwrap()).collect()
    }

    pub fn count(&self) -> usize {
        self.seen.lock().unwrap().requests.len()
    }

    /// Waits until a client has gone away in the middle of an answer.
    pub fn wait_for_gone(&self) -> bool {
        let until = Instant::now() + Duration::from_secs(20);
        while Instant::now() < until {
            if self.seen.lock().unwrap().gone > 0 {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }
}

fn serve(
    mut stream: TcpStream,
    steps: &dyn Fn(&serde_json::Value) -> Vec<Step>,
    seen: &Mutex<Seen>,
) {
    let Ok((bytes, body)) = read(&stream) else { return };
    let steps = steps(&serde_json::from_str(&body).unwrap());
    {
        let mut seen = seen.lock().unwrap();
        seen.bytes.extend(bytes);
        seen.requests.push(body);
    }
    for step in steps {
        match step {
            Step::Send(bytes) => {
                if stream.write_all(&bytes).and_then(|()| stream.flush()).is_err() {
                    seen.lock().unwrap().gone += 1;
                    return;
                }
            }
            Step::Wait(time) => std::thread::sleep(time),
            Step::Hang => {
                let _ = stream.read(&mut [0; 1]);
                seen.lock().unwrap().gone += 1;
                return;
            }
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn read(stream: &TcpStream) -> std::io::Result<(Vec<u8>, String)> {
    let mut reader = BufReader::new(stream);
    let (mut bytes, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend(line.bytes());
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    bytes.extend(&body);
    let body = if body.is_empty() { "null".to_owned() } else { String::from_utf8(body).unwrap() };
    Ok((bytes, body))
}
