//! `cape serve` as a process, with an upstream that writes down what it gets.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, missing_docs, reason = "shared by tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

/// No list has it: no draw can fall on it.
pub const CANARY: &str = "zq🂡canary";

/// An upstream that writes down what it gets.
pub fn upstream() -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(String::new()));
    let written = Arc::clone(&seen);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (head, body) = read(&stream);
            written.lock().unwrap().push_str(&(head + &body));
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (url, seen)
}

/// Head and body of an HTTP message.
pub fn read(stream: &TcpStream) -> (String, String) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let from = head.len();
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        if let Some(value) = head[from..].to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

pub struct Proxy {
    pub child: Child,
    pub address: String,
    pub log: BufReader<ChildStderr>,
    pub dir: Arc<TempDir>,
}

impl Proxy {
    pub fn start(upstream: &str, policy: &str) -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        std::fs::write(dir.path().join("cape.toml"), policy).unwrap();
        Self::start_in(dir, upstream)
    }

    /// With the settings and the ledger of this folder.
    pub fn start_in(dir: Arc<TempDir>, upstream: &str) -> Self {
        Self::start_by(Command::new(env!("CARGO_BIN_EXE_cape")), dir, &["--upstream", upstream])
    }

    /// The same by another command, which must end in the program, and with these arguments.
    pub fn start_by(mut command: Command, dir: Arc<TempDir>, arguments: &[&str]) -> Self {
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
        command.current_dir(dir.path()).env("XDG_DATA_HOME", dir.path());
        command.env("RUST_LOG", "trace").stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut proxy = Self { child, address: String::new(), log, dir };
        let listening = proxy.event("listening");
        listening["address"].as_str().unwrap().clone_into(&mut proxy.address);
        proxy
    }

    /// The next event of this name in the log.
    pub fn event(&mut self, name: &str) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.log.read_line(&mut line).unwrap(), 0, "no {name}");
            assert!(!line.contains("canary") && !line.contains("secret-key"), "{line}");
            let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
            if event["message"] == name {
                return event;
            }
        }
    }

    pub fn post(&self, path: &str, body: &Value) -> (String, String) {
        self.post_with(path, "", body)
    }

    /// With further lines in the head.
    pub fn post_with(&self, path: &str, headers: &str, body: &Value) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer secret-key\r\n\
             user-agent: zqcanary\r\n{headers}content-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        read(&stream)
    }

    /// The status of a message of one user.
    pub fn say(&self, text: &str) -> u16 {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": text}]});
        status(&self.post("/v1/chat/completions", &body).0)
    }

    pub fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let (head, body) = read(&stream);
        (status(&head), body)
    }

    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status of an answer.
pub fn status(head: &str) -> u16 {
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

pub fn chat(role: &str) -> Value {
    json!({"model": "m", "messages": [{"role": role, "content": CANARY}]})
}
