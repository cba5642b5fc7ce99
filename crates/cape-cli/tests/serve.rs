//! `cape serve` as a process: what it sends, logs and obeys.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

/// No vocabulary has it: no draw can fall on it.
const CANARY: &str = "zq🂡canary";

/// An upstream that writes down what it gets.
fn upstream() -> (String, Arc<Mutex<String>>) {
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
fn read(stream: &TcpStream) -> (String, String) {
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

struct Proxy {
    child: Child,
    address: String,
    log: BufReader<ChildStderr>,
    dir: TempDir,
}

impl Proxy {
    fn start(upstream: &str, policy: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("cape.toml"), policy).unwrap();
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bert-tiny");
        let mut command = Command::new(env!("CARGO_BIN_EXE_cape"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--upstream", upstream, "--model"]);
        command.arg(model).current_dir(dir.path()).env("RUST_LOG", "trace").stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut proxy = Self { child, address: String::new(), log, dir };
        let listening = proxy.event("listening");
        listening["address"].as_str().unwrap().clone_into(&mut proxy.address);
        proxy
    }

    /// The next event of this name in the log.
    fn event(&mut self, name: &str) -> Value {
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

    fn post(&self, path: &str, body: &Value) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer secret-key\r\n\
             user-agent: zqcanary\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        read(&stream)
    }

    fn signal(&self, signal: &str) {
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

fn chat(role: &str) -> Value {
    json!({"model": "m", "messages": [{"role": role, "content": CANARY}]})
}

#[test]
fn it_serves_logs_numbers_and_ends_when_told() {
    let (url, seen) = upstream();
    let mut proxy = Proxy::start(&url, "");
    let (head, _) = proxy.post("/v1/chat/completions", &chat("user"));
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("x-cape-epsilon: 12"), "{head}");
    let event = proxy.event("request");
    assert_eq!((&event["route"], &event["tokens"]), (&json!("chat/completions"), &json!(1)));
    let (head, _) = proxy.post("/v1/zqcanary", &chat("user"));
    assert!(head.starts_with("HTTP/1.1 404"));
    assert_eq!(proxy.event("request")["route"], "other");
    let (_, body) = proxy.post("/perturb", &json!({ "text": CANARY }));
    let release: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(release["privacy"]["epsilon_per_token"], 12.0);
    assert!(!release["text"].as_str().unwrap().contains("canary"));
    let seen = seen.lock().unwrap().clone();
    assert!(
        seen.contains("authorization: Bearer secret-key") && !seen.contains("canary"),
        "{seen}"
    );
    proxy.signal("-TERM");
    proxy.event("ending");
    assert!(proxy.child.wait().unwrap().success());
}

#[test]
fn the_policy_is_read_again_on_sighup() {
    let (url, seen) = upstream();
    let mut proxy = Proxy::start(&url, "");
    let config = proxy.dir.path().join("cape.toml");
    let (head, body) = proxy.post("/v1/chat/completions", &chat("system"));
    assert!(head.starts_with("HTTP/1.1 400") && body.contains("cape_blocked"), "{body}");
    // a file that is wrong changes nothing
    std::fs::write(&config, "[proxy.policy]\nsytem = \"pass\"\n").unwrap();
    proxy.signal("-HUP");
    assert_eq!(proxy.event("policy read again")["changed"], false);
    assert!(proxy.post("/v1/chat/completions", &chat("system")).0.starts_with("HTTP/1.1 400"));
    assert_eq!(*seen.lock().unwrap(), "");
    std::fs::write(&config, "[proxy.policy]\nsystem = \"pass\"\n").unwrap();
    proxy.signal("-HUP");
    assert_eq!(proxy.event("policy read again")["changed"], true);
    assert!(proxy.post("/v1/chat/completions", &chat("system")).0.starts_with("HTTP/1.1 200"));
}

#[test]
fn what_it_cannot_serve_with_it_refuses() {
    let run = |args: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_cape"))
            .arg("serve")
            .args(args)
            .current_dir(dir.path())
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let url = "http://127.0.0.1:9/v1";
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bert-tiny");
    let model = model.to_str().unwrap();
    for (args, want) in [
        (&["--upstream", url, "--seed", "1"][..], "an argument was not understood"),
        (&[], "there is no upstream"),
        (&["--upstream", "ftp://x", "--model", model], "must be an http or https address"),
        (
            &["--upstream", url, "--model", model, "--mechanism", "inferdpt"],
            "a proven privacy loss",
        ),
        (&["--upstream", url, "--model", model, "--tls-key", "k"], "a certificate and its key"),
    ] {
        let (code, error) = run(args);
        assert!(code == Some(2) && error.contains(want), "{args:?}: {error}");
    }
}
