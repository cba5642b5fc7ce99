//! A chat model's server on this machine that says what it is told to say, faults included.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "shared by tests")]

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The server's reaction to one request.
#[derive(Clone)]
pub enum Reply {
    /// A status, headers (each ends its line) and a body.
    Http(u16, &'static str, String),
    /// As above, but the body breaks off in the middle.
    Cut(String),
    /// These bytes.
    Raw(&'static [u8]),
    /// A body without an end.
    Endless,
    /// Nothing, and the line stays open.
    Silence,
}

impl Reply {
    /// An answer with this content, which is JSON.
    pub fn content(content: &str) -> Self {
        let choice =
            format!(r#"{{"index":0,"message":{{"content":{content}}},"finish_reason":"stop"}}"#);
        let usage = r#"{"prompt_tokens":21,"completion_tokens":3,"total_tokens":24}"#;
        Self::Http(200, "", format!(r#"{{"choices":[{choice}],"usage":{usage}}}"#))
    }

    /// An answer of one token, with these likely ones.
    pub fn logprobs(likely: &serde_json::Value) -> Self {
        let choice = format!(r#"{{"logprobs":{{"content":[{{"top_logprobs":{likely}}}]}}}}"#);
        Self::Http(200, "", format!(r#"{{"choices":[{choice}]}}"#))
    }

    /// A status with a body.
    pub fn status(status: u16, body: &str) -> Self {
        Self::Http(status, "", body.into())
    }
}

/// A request as it came in.
#[derive(Clone, Default)]
pub struct Request {
    pub line: String,
    pub authorization: Option<String>,
    pub content_type: Option<String>,
    pub body: String,
}

pub struct Server {
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Gives these replies in turn, the last of them again and again.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        Self::answering(move |_| {
            let last = replies.len() == 1;
            if last { replies.front().cloned() } else { replies.pop_front() }.unwrap()
        })
    }

    /// Replies by what is asked.
    pub fn answering(mut reply: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for mut stream in listener.incoming().flatten() {
                let Ok(request) = read(&stream) else { continue };
                let reply = reply(&request);
                seen.lock().unwrap().push(request);
                // whoever asked may be gone
                let _ = say(&mut stream, &reply);
                if matches!(reply, Reply::Silence) {
                    open.push(stream);
                }
            }
        });
        Self { url, requests }
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> std::io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut request = Request::default();
    reader.read_line(&mut request.line)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => request.authorization = Some(value.into()),
            "content-type" => request.content_type = Some(value.into()),
            "content-length" => length = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    reader.take(length).read_to_string(&mut request.body)?;
    Ok(request)
}

fn say(stream: &mut TcpStream, reply: &Reply) -> std::io::Result<()> {
    match reply {
        Reply::Http(status, headers, body) => write!(
            stream,
            "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ),
        Reply::Cut(body) => {
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len())?;
            stream.write_all(&body.as_bytes()[..body.len() / 2])?;
            stream.shutdown(std::net::Shutdown::Both)
        }
        Reply::Raw(bytes) => {
            stream.write_all(bytes)?;
            stream.shutdown(std::net::Shutdown::Both)
        }
        Reply::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")?;
            loop {
                stream.write_all(&[b' '; 1 << 14])?;
            }
        }
        Reply::Silence => Ok(()),
    }
}
