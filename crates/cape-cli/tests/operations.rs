//! What an operator does to `cape serve`, and what happens to it: no room, a corrupted file, other
//! settings, other machines, clients that stop half-way.

#![cfg(unix)]

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::proxied::{CANARY, Proxy, chat, status, upstream};
use serde_json::json;

const CAPE: &str = env!("CARGO_BIN_EXE_cape");
const CHAT: &str = "/v1/chat/completions";

/// How a disk becomes full in a test that need not be root.
#[derive(Clone, Copy, Debug)]
enum Disk {
    /// A file system of 2 MB of its own, in a name space of its own.
    Small,
    /// A limit on the size of files, which fails as a quota does.
    Quota,
}

impl Disk {
    /// The program, started on that disk.
    fn command(self) -> Command {
        let small = "mkdir -p \"$XDG_DATA_HOME/cape\" && \
             mount -t tmpfs -o size=2m none \"$XDG_DATA_HOME/cape\" && exec \"$0\" \"$@\"";
        let mut command = match self {
            Self::Small => Command::new("unshare"),
            Self::Quota => Command::new("sh"),
        };
        match self {
            Self::Small => command.args(["-rm", "sh", "-c", small, CAPE]),
            Self::Quota => command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", CAPE]),
        };
        command
    }

    /// Whether this machine lets a user have one.
    fn is_there(self) -> bool {
        let try_out = match self {
            Self::Small => "unshare -rm mount -t tmpfs none /mnt",
            Self::Quota => "prlimit --version",
        };
        Command::new("sh").args(["-c", try_out]).output().is_ok_and(|it| it.status.success())
    }

    fn fill(self, proxy: &Proxy) {
        match self {
            Self::Small => {
                let mut filler = File::create(filler(proxy)).unwrap();
                while filler.write_all(&[1; 512]).is_ok() {}
            }
            Self::Quota => limit(proxy, "4096:"),
        }
    }

    fn make_room(self, proxy: &Proxy) {
        match self {
            Self::Small => std::fs::remove_file(filler(proxy)).unwrap(),
            Self::Quota => limit(proxy, "unlimited:"),
        }
    }
}

/// A file on the proxy's own disk, which only its name space shows.
fn filler(proxy: &Proxy) -> PathBuf {
    let root = PathBuf::from(format!("/proc/{}/root", proxy.child.id()));
    let folder = proxy.dir.path().join("cape/filler");
    root.join(folder.strip_prefix("/").unwrap())
}

fn limit(proxy: &Proxy, size: &str) {
    let (id, size) = (format!("--pid={}", proxy.child.id()), format!("--fsize={size}"));
    assert!(Command::new("prlimit").args([id, size]).status().unwrap().success());
}

/// Waits until /ready says so.
fn wait_for_ready(proxy: &Proxy, wanted: u16) {
    let until = Instant::now() + Duration::from_secs(20);
    while proxy.get("/ready").0 != wanted {
        assert!(Instant::now() < until, "/ready never says {wanted}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A text of 500 words that no other number has: each of them is written down.
fn new_words(number: usize) -> String {
    let letter = |digit: usize| char::from(b'a' + (digit % 26) as u8);
    let word =
        |n: usize| "Q".chars().chain((0..4).map(move |place| letter(n / 26_usize.pow(place))));
    let words = (500 * number..500 * (number + 1)).map(|n| word(n).collect::<String>());
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_full_disk_refuses_and_goes_on_when_there_is_room() {
    let disks = [Disk::Small, Disk::Quota].into_iter().filter(|disk| disk.is_there());
    let mut tried = 0;
    for disk in disks {
        tried += 1;
        let (url, seen) = upstream();
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let mut proxy = Proxy::start_by(disk.command(), dir, &["--upstream", &url]);
        assert_eq!((proxy.say("Alice"), proxy.get("/ready").0), (200, 200), "{disk:?}");
        // more than once: what SQLite leaves behind differs from time to time
        for round in 0..3 {
            disk.fill(&proxy);
            // SQLite may have room left in its own files: that is used up first
            let refused = (0..100).map(|n| new_words(100 * round + n)).find(|long| {
                let before = seen.lock().unwrap().len();
                let refused = proxy.say(long) == 503;
                assert_eq!(seen.lock().unwrap().len() == before, refused, "nothing was sent");
                refused && proxy.get("/ready").0 == 503
            });
            let long = refused.expect("the disk is full");
            assert_eq!((proxy.get("/health").0, proxy.say(&long)), (200, 503), "{disk:?}, {round}");
            let event = proxy.event("the ledger failed");
            let why = event["why"].as_str().unwrap();
            // later on there may not even be room to open the database again
            let named = why.contains("disk") || why.contains("full") || why.is_empty() && round > 0;
            assert!(named, "{disk:?}, {round}: {event}");
            disk.make_room(&proxy);
            wait_for_ready(&proxy, 200);
            assert_eq!(proxy.say(&long), 200, "{disk:?}, {round}");
        }
    }
    assert!(tried > 0, "this machine has neither name spaces nor prlimit");
}

/// A ledger in which a message was released, and nobody has it open.
fn used(url: &str) -> Arc<tempfile::TempDir> {
    let mut proxy = Proxy::start(url, "");
    assert_eq!(proxy.say("Alice"), 200);
    proxy.signal("-TERM");
    assert!(proxy.child.wait().unwrap().success());
    Arc::clone(&proxy.dir)
}

/// Runs the program in a folder: its exit code and what it says.
fn run(dir: &Path, args: &[&str]) -> (i32, String) {
    let output =
        Command::new(CAPE).args(args).current_dir(dir).env("XDG_DATA_HOME", dir).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

#[test]
fn a_corrupted_page_is_refused_from_then_on() {
    let (url, seen) = upstream();
    let dir = used(&url);
    let file = dir.path().join("cape/ledger.db");
    let whole = std::fs::read(&file).unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--upstream", &url];
    let check = ["check", "--upstream", &url];
    assert_eq!(run(dir.path(), &check).0, 0);
    // the first pages hold the schema and the accounts: it does not even start
    let mut corrupted = whole.clone();
    corrupted[4096..3 * 4096].fill(0x5a);
    std::fs::write(&file, &corrupted).unwrap();
    let (code, said) = run(dir.path(), &serve);
    assert!(
        code == 1 && said.contains("corrupted") && said.contains("hint: keep a copy"),
        "{said}"
    );
    // in the pages of messages it is found when they are read
    let mut corrupted = whole.clone();
    corrupted[4 * 4096..].fill(0x5a);
    std::fs::write(&file, &corrupted).unwrap();
    let (code, said) = run(dir.path(), &check);
    assert!(code == 1 && said.contains("would not start") && said.contains("corrupted"), "{said}");
    let mut proxy = Proxy::start_in(Arc::clone(&dir), &url);
    let before = seen.lock().unwrap().len();
    assert_eq!(proxy.say("Alice"), 503);
    let event = proxy.event("the ledger failed");
    assert!(event["error"].as_str().unwrap().contains("restore a backup"), "{event}");
    assert_eq!((proxy.get("/ready").0, proxy.get("/health").0), (503, 200));
    assert_eq!(proxy.say("Bob"), 503);
    assert_eq!(seen.lock().unwrap().len(), before, "nothing was sent");
    drop(proxy);
    // a backup is put in its place
    for name in ["ledger.db-wal", "ledger.db-shm"] {
        let _ = std::fs::remove_file(dir.path().join("cape").join(name));
    }
    std::fs::write(&file, &whole).unwrap();
    let proxy = Proxy::start_in(Arc::clone(&dir), &url);
    assert_eq!((proxy.say("Alice"), proxy.get("/ready").0), (200, 200));
}

#[test]
fn settings_are_read_again_on_sighup() {
    let ((one, seen_by_one), (other, seen_by_other)) = (upstream(), upstream());
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let write = |text: &str| std::fs::write(dir.path().join("cape.toml"), text).unwrap();
    write(&format!("[proxy]\nupstream = \"{one}\"\n"));
    let mut proxy = Proxy::start_by(Command::new(CAPE), Arc::clone(&dir), &[]);
    let (head, body) = proxy.post(CHAT, &chat("system"));
    assert!(status(&head) == 400 && body.contains("cape_blocked"), "{body}");
    // a file that is wrong changes nothing, and the log says why
    for (wrong, why) in [
        (
            "[proxy.policy]\nsytem = \"pass\"\n".to_owned(),
            "cape.toml, line 2: unknown field `sytem`",
        ),
        (format!("[proxy]\nupstream = \"{one}\"\nmax-body = \"big\"\n"), "line 3: invalid type"),
        ("[proxy]\nupstream = \"http://example.com/v1\"\n".into(), "over plain http"),
        ("[proxy]\n".into(), "there is no upstream"),
        (format!("protect = [\"breast cancer\"]\n[proxy]\nupstream = \"{one}\"\n"), "single words"),
    ] {
        write(&wrong);
        proxy.signal("-HUP");
        let event = proxy.event("settings stay as they were");
        assert!(event["why"].as_str().unwrap().contains(why), "{event}");
        assert_eq!(status(&proxy.post(CHAT, &chat("system")).0), 400);
    }
    assert_eq!(*seen_by_one.lock().unwrap(), "");
    // what can change does, and what cannot is named
    write(&format!(
        "epsilon = 4\n[proxy]\nupstream = \"{other}\"\nlisten = \"127.0.0.1:1\"\ngrace = 1\n\
         [proxy.limits]\ntotal = 30\n[proxy.policy]\nsystem = \"pass\"\n"
    ));
    proxy.signal("-HUP");
    let event = proxy.event("settings read again");
    assert_eq!(event["changed"], "upstream, limits, policy");
    // a flag goes before the file, so the address to listen on does not change
    assert_eq!(event["needs_restart"], "grace, settings of the mechanism");
    assert_eq!(status(&proxy.post(CHAT, &chat("system")).0), 200);
    assert_eq!(*seen_by_one.lock().unwrap(), "");
    assert!(seen_by_other.lock().unwrap().contains("canary"), "a system prompt passes now");
    assert_eq!((proxy.say("Alice"), proxy.say("Bob")), (200, 429));
    // nothing new: only what still needs a restart
    proxy.signal("-HUP");
    let event = proxy.event("settings read again");
    assert_eq!(
        (&event["changed"], &event["needs_restart"]),
        (&json!(""), &json!("grace, settings of the mechanism"))
    );
}

#[test]
fn other_machines_are_refused_unless_they_are_wanted() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("token"), "0123456789abcdef\n").unwrap();
    std::fs::write(dir.path().join("short"), "0123\n").unwrap();
    let here = ["--upstream", "http://127.0.0.1:9/v1"];
    let public = [&here[..], &["--listen", "0.0.0.0:8787"]].concat();
    for (args, want) in [
        (vec!["--upstream", "http://example.com/v1"], Some("--plain-http")),
        (vec!["--upstream", "http://example.com/v1", "--plain-http"], None),
        (vec!["--upstream", "http://localhost:9/v1"], None),
        (vec!["--upstream", "https://example.com/v1"], None),
        (public.clone(), Some("--tls-certificate")),
        ([&public[..], &["--listen-plain"]].concat(), Some("--token-file")),
        ([&public[..], &["--token-file", "token"]].concat(), Some("--listen-plain")),
        ([&public[..], &["--listen-plain", "--token-file", "token"]].concat(), None),
        ([&public[..], &["--listen-plain", "--listen-anyone"]].concat(), None),
        ([&here[..], &["--token-file", "short"]].concat(), Some("openssl rand")),
        ([&here[..], &["--token-file", "none"]].concat(), Some("token file cannot be read")),
        ([&here[..], &["--listen", "[::1]:8787"]].concat(), None),
    ] {
        let checked = run(dir.path(), &[&["check"], &args[..]].concat());
        assert_eq!(checked.0, i32::from(want.is_some()), "{args:?}: {}", checked.1);
        let Some(want) = want else { continue };
        let (code, said) = run(dir.path(), &[&["serve"], &args[..]].concat());
        assert!(code > 0 && said.contains(want), "{args:?}: {said}");
        assert!(checked.1.contains(want), "{}", checked.1);
    }
}

#[test]
fn a_token_is_asked_for_and_goes_nowhere() {
    let (url, seen) = upstream();
    let dir = Arc::new(tempfile::tempdir().unwrap());
    std::fs::write(dir.path().join("token"), "0123456789secret-key\n").unwrap();
    let toml = format!("[proxy]\nupstream = \"{url}\"\ntoken-file = \"token\"\n");
    std::fs::write(dir.path().join("cape.toml"), toml).unwrap();
    let mut proxy = Proxy::start_by(Command::new(CAPE), Arc::clone(&dir), &[]);
    let right = "x-cape-token: 0123456789secret-key\r\n";
    for wrong in
        ["", "x-cape-token: 0123456789secret-kez\r\n", "authorization: 0123456789secret-key\r\n"]
    {
        for path in [CHAT, "/v1/messages", "/perturb", "/nowhere"] {
            let (head, body) = proxy.post_with(path, wrong, &chat("user"));
            assert!(status(&head) == 401 && body.contains("x-cape-token"), "{path}: {body}");
        }
    }
    // LiteLLM sends a request on where a guardrail fails
    let (head, body) = proxy.post("/beta/litellm_basic_guardrail_api", &json!({"texts": ["x"]}));
    assert!(status(&head) == 200 && body.contains("BLOCKED"), "{body}");
    assert_eq!(
        (proxy.get("/health").0, proxy.get("/ready").0, proxy.get("/metrics").0),
        (200, 200, 401)
    );
    assert_eq!(*seen.lock().unwrap(), "");
    assert_eq!(status(&proxy.post_with(CHAT, right, &chat("user")).0), 200);
    assert!(!seen.lock().unwrap().contains("0123456789"), "it is not for upstream");
    assert_eq!(proxy.event("request")["fault"], "cape_token");
    // another one, without a restart
    std::fs::write(dir.path().join("token"), "another-secret-key\n").unwrap();
    proxy.signal("-HUP");
    proxy.event("settings read again");
    assert_eq!(status(&proxy.post_with(CHAT, right, &chat("user")).0), 401);
}

#[test]
fn half_sent_bodies_take_no_place() {
    let (url, _) = upstream();
    let proxy = Proxy::start(&url, "[proxy]\nmax-requests = 2\n");
    let half = |_| {
        let mut stream = TcpStream::connect(&proxy.address).unwrap();
        let head =
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json";
        write!(stream, "{head}\r\ncontent-length: 100\r\n\r\n{{\"model\"").unwrap();
        stream
    };
    let waiting: Vec<TcpStream> = (0..16).map(half).collect();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!((proxy.say("Alice"), proxy.get("/ready").0), (200, 200));
    drop(waiting);
}

/// A proxy with a request under way that never ends, and its client.
fn under_way() -> (Proxy, TcpStream, TcpStream) {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = Proxy::start(&format!("http://{}/v1", silent.local_addr().unwrap()), "");
    let mut client = TcpStream::connect(&proxy.address).unwrap();
    let body = chat("user").to_string();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json";
    write!(client, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let wire = silent.accept().unwrap().0;
    (proxy, client, wire)
}

#[test]
fn told_twice_it_ends_at_once() {
    let (mut proxy, mut client, _wire) = under_way();
    proxy.signal("-INT");
    proxy.event("ending");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(proxy.child.try_wait().unwrap(), None, "a request is under way");
    let asked = Instant::now();
    proxy.signal("-INT");
    assert_eq!(proxy.child.wait().unwrap().code(), Some(1));
    assert!(asked.elapsed() < Duration::from_secs(10), "it did not wait for the grace of 30 s");
    let mut answer = String::new();
    let _ = client.read_to_string(&mut answer);
    assert_eq!(answer, "");
}

#[test]
fn a_long_text_is_given_up_when_its_client_is_gone() {
    let (url, seen) = upstream();
    let proxy = Proxy::start(&url, "");
    // names that no list has, each another: as long as a text can take
    let word = |n: u32| format!("{CANARY}{n:x}");
    let long: Vec<String> = (0..12_000).map(word).collect();
    let body = json!({"model": "m", "messages": [{"role": "user", "content": long.join(" ")}]})
        .to_string();
    let mut client = TcpStream::connect(&proxy.address).unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json";
    write!(client, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let in_flight = || {
        let metrics = proxy.get("/metrics").1;
        metrics.lines().find_map(|line| line.strip_prefix("cape_requests_in_flight ")?.parse().ok())
    };
    assert_eq!(in_flight(), Some(1_u32));
    drop(client);
    // the next long one has the thread for itself: the whole of the first would take it for long
    let next: Vec<String> = (0..500).map(word).collect();
    let asked = Instant::now();
    assert_eq!(proxy.say(&next.join(" ")), 200);
    println!("the next one took {:?}", asked.elapsed());
    assert_eq!(in_flight(), Some(0));
    assert_eq!(seen.lock().unwrap().matches("POST").count(), 1, "the first one was never sent");
}
