//! `cape serve` as a process: what it sends, logs and obeys.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::proxied::{CANARY, Proxy, chat, upstream};
use serde_json::{Value, json};

/// The bound of one draw.
fn bound() -> f64 {
    let lexicon = cape::Lexicon::embedded();
    let settings = cape::mechanism::cape::Settings::default();
    cape::Cape::new(lexicon, settings).unwrap().guarantee().bound
}

/// What it costs in the ledger, which counts millionths and rounds up.
fn one_draw() -> f64 {
    cape_ledger::Cost::new(1, bound()).epsilon.epsilon()
}

/// How much ε the ledger of a folder holds.
fn booked(dir: &Path) -> f64 {
    let ledger = dir.join("cape/ledger.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let book = cape_ledger::Book::open(ledger.to_str().unwrap()).await.unwrap();
        let spending = book.spending().await.unwrap();
        spending.iter().map(|spent| spent.cost.epsilon.epsilon()).sum()
    })
}

#[test]
fn it_serves_logs_numbers_and_ends_when_told() {
    let (url, seen) = upstream();
    let mut proxy = Proxy::start(&url, "");
    let (head, _) = proxy.post("/v1/chat/completions", &chat("user"));
    let cost = format!("x-cape-epsilon: {}\r\n", one_draw());
    assert!(head.starts_with("HTTP/1.1 200") && head.contains(&cost), "{head}");
    let event = proxy.event("request");
    assert_eq!((&event["route"], &event["draws"]), (&json!("chat/completions"), &json!(1)));
    let (head, _) = proxy.post("/v1/zqcanary", &chat("user"));
    assert!(head.starts_with("HTTP/1.1 404"));
    assert_eq!(proxy.event("request")["route"], "other");
    let (_, body) = proxy.post("/perturb", &json!({ "text": CANARY }));
    let release: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(release["privacy"]["epsilon_any"], bound());
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

/// A preset is a settings file: what it prints can be copied into cape.toml, and does the same there.
#[test]
fn a_preset_is_shown_and_obeyed() {
    let cape = || Command::new(env!("CARGO_BIN_EXE_cape"));
    for preset in cape_proxy::Preset::ALL {
        let shown = cape().args(["serve", "--preset", preset.name(), "--show"]).output().unwrap();
        assert!(shown.status.success());
        assert_eq!(String::from_utf8(shown.stdout).unwrap(), preset.toml());
        let (url, seen) = upstream();
        // the file names the preset, and changes one thing of it
        let settings =
            format!("[proxy]\npreset = {:?}\n[proxy.policy]\nuser = \"block\"\n", preset.name());
        for settings in [settings.as_str(), preset.toml()] {
            let mut proxy = Proxy::start(&url, settings);
            let system = chat("system");
            let (head, body) = proxy.post("/v1/chat/completions", &system);
            assert!(head.starts_with("HTTP/1.1 200"), "{body}");
            assert_eq!(proxy.event("request")["status"], 200);
            let (head, _) = proxy.post("/v1/chat/completions", &chat("user"));
            let blocked = head.starts_with("HTTP/1.1 400");
            assert_eq!(blocked, settings.contains("block"), "{head}");
        }
        let passes = preset != cape_proxy::Preset::OpenWebUi;
        assert_eq!(seen.lock().unwrap().contains(CANARY), passes, "{}", preset.name());
    }
    // with a list of lines, prompts do not pass as a whole
    let (url, seen) = upstream();
    let settings = "[proxy]\npreset = \"codex\"\nallow-system = \"sums\"\n";
    let dir = Arc::new(tempfile::tempdir().unwrap());
    std::fs::write(dir.path().join("cape.toml"), settings).unwrap();
    std::fs::write(dir.path().join("sums"), "# none\n").unwrap();
    let proxy = Proxy::start_in(dir, &url);
    let (head, _) = proxy.post("/v1/chat/completions", &chat("system"));
    assert!(head.starts_with("HTTP/1.1 200") && !seen.lock().unwrap().contains(CANARY), "{head}");
    let alone = cape().args(["serve", "--show"]).output().unwrap();
    assert_eq!(alone.status.code(), Some(2));
}

#[test]
fn what_it_cannot_serve_with_it_refuses() {
    let run = |args: &[&str], settings: &str| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("cape.toml"), settings).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_cape"))
            .arg("serve")
            .args(args)
            .current_dir(dir.path())
            .env("XDG_DATA_HOME", dir.path())
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let url = "http://127.0.0.1:9/v1";
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bert-tiny");
    let model = model.to_str().unwrap();
    for (args, want) in [
        (&["--upstream", url, "--seed", "1"][..], "an argument was not understood"),
        (&["--upstream", url, "--listen", "8787"], "hint: it takes an address with a port"),
        (&[], "there is no upstream"),
        (&["--upstream", "ftp://x"], "must be an http or https address"),
        (&["--upstream", url, "--mechanism", "cape-paper"], "an argument was not understood"),
        (&["--upstream", url, "--tls-key", "k"], "a certificate and its key"),
        (&["--preset", "emacs"], "it takes one of: claude-code, codex, cursor, openwebui"),
        (&["--upstream", url, "--allow-system", "none"], "the list of lines of system prompts"),
        (&["--upstream", url, "--learn-system", "l"], "`system` must be"),
    ] {
        let (code, error) = run(args, "");
        assert!(code == Some(2) && error.contains(want), "{args:?}: {error}");
    }
    // the file may name another mechanism, but none that proves too little
    let settings = format!("mechanism = \"inferdpt\"\nmodel = {model:?}\n");
    let (code, error) = run(&["--upstream", url], &settings);
    assert!(code == Some(2) && error.contains("a proven privacy loss"), "{error}");
}

#[test]
fn what_was_booked_before_a_kill_is_sent_for_nothing_afterwards() {
    // it takes connections and never shakes hands: the proxy has paid, and cannot send
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = Proxy::start(&format!("https://{}/v1", silent.local_addr().unwrap()), "");
    let dir = Arc::clone(&proxy.dir);
    let address = proxy.address.clone();
    let asking = std::thread::spawn(move || {
        let body = chat("user").to_string();
        let mut stream = TcpStream::connect(address).unwrap();
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer secret-key";
        write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    });
    let (mut wire, _) = silent.accept().unwrap();
    let mut hello = [0; 3];
    wire.read_exact(&mut hello).unwrap();
    // a handshake begins, in whatever version: no word of HTTP
    assert_eq!(hello[..2], [22, 3]);
    assert_eq!(booked(dir.path()), one_draw(), "paid before anything is sent");
    proxy.signal("-KILL");
    assert_eq!(asking.join().unwrap(), "");
    drop(proxy);
    assert_eq!(booked(dir.path()), one_draw());
    // the next one sends what was drawn then
    let (url, seen) = upstream();
    let proxy = Proxy::start_in(Arc::clone(&dir), &url);
    let (head, _) = proxy.post("/v1/chat/completions", &chat("user"));
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("x-cape-epsilon: 0\r\n"), "{head}");
    assert!(seen.lock().unwrap().contains("messages"));
    assert_eq!(booked(dir.path()), one_draw());
}

/// An upstream that counts the requests of which anything came after the head.
fn counting() -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                while line != "\r\n" {
                    line.clear();
                    if reader.read_line(&mut line).is_ok_and(|n| n == 0) {
                        return;
                    }
                }
                if reader.read(&mut [0; 1]).is_ok_and(|n| n == 1) {
                    counted.fetch_add(1, Ordering::SeqCst);
                }
                let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
                let _ = stream.write_all(answer.as_bytes());
            });
        }
    });
    (url, count)
}

#[test]
fn a_killed_proxy_never_sent_more_than_was_booked() {
    let (url, count) = counting();
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let mut last = 0;
    // many more with CAPE_TEST_KILLS, once
    let kills = std::env::var("CAPE_TEST_KILLS").map_or(6, |kills| kills.parse().unwrap());
    for round in 0..kills {
        let proxy = Proxy::start_in(Arc::clone(&dir), &url);
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let address = proxy.address.clone();
                std::thread::spawn(move || {
                    for n in 0.. {
                        // one draw each, and never the same: a word of letters for each number
                        let number = (1_000_000 * round + 10_000 * client + n).to_string();
                        let letters = number.bytes().map(|b| char::from(b - b'0' + b'a'));
                        let text: String = "zq".chars().chain(letters).collect();
                        let body =
                            json!({"model": "m", "messages": [{"role": "user", "content": text}]})
                                .to_string();
                        let Ok(mut stream) = TcpStream::connect(&address) else { return };
                        let head =
                            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close";
                        let length = body.len();
                        let asked =
                            write!(stream, "{head}\r\ncontent-length: {length}\r\n\r\n{body}");
                        let mut answer = String::new();
                        if asked.is_err()
                            || !stream.read_to_string(&mut answer).is_ok_and(|n| n > 0)
                        {
                            return;
                        }
                    }
                })
            })
            .collect();
        while count.load(Ordering::SeqCst) < last + 5 {
            std::thread::sleep(Duration::from_millis(1));
        }
        // another moment each time
        std::thread::sleep(Duration::from_micros(round * 7919 % 131 * 100));
        proxy.signal("-KILL");
        for client in clients {
            client.join().unwrap();
        }
        drop(proxy);
        // what the dead one wrote to the wire may still be on its way
        std::thread::sleep(Duration::from_millis(100));
        last = count.load(Ordering::SeqCst);
        let booked = booked(dir.path());
        let sent = f64::from(last) * one_draw();
        assert!(sent <= booked + 1e-6, "{last} sent, ε = {booked} booked");
        // each client of each round may have paid for one request that was never sent
        let unsent = (4 * (round + 1)) as f64 * one_draw();
        assert!(booked <= sent + unsent + 1e-6, "{last} sent, ε = {booked} booked");
    }
    println!("{kills} kills, {last} requests upstream, ε = {} booked", booked(dir.path()));
}
