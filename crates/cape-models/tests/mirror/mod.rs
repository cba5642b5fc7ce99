//! A small hub on this machine, with the routes, headers and redirections of the real one; and with
//! its faults, on request.

#![allow(dead_code, unreachable_pub, reason = "each test takes what it needs")]

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use ring::digest::{Algorithm, Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Files by name.
type Files = BTreeMap<String, Vec<u8>>;

/// The files that the mirror serves, and its faults.
#[derive(Default)]
pub struct Site {
    /// The model's name; by any other it is moved here.
    pub repo: String,
    pub files: Files,
    /// Other models, by name.
    pub others: BTreeMap<String, Files>,
    /// The token to ask for.
    pub token: Option<&'static str>,
    /// After how many bytes each of the next large files is cut off.
    pub cuts: VecDeque<usize>,
    /// A file whose first byte is wrong on the way.
    pub spoilt: Option<&'static str>,
    /// Whether a part asked for is answered by the whole.
    pub no_ranges: bool,
    /// Whether files are moved to where they were.
    pub circle: bool,
    /// Headers in the place of the right ones; an empty one is left out.
    pub headers: BTreeMap<&'static str, String>,
    /// The commit that the listing names.
    pub commit: Option<&'static str>,
    pub requests: Vec<Request>,
}

impl Site {
    /// The model that a path is of: where its large files lie, its files, and the rest of the path.
    fn model<'a>(&'a self, path: &'a str) -> Option<(String, &'a Files, &'a str)> {
        let of = |repo: &str| path.strip_prefix(repo)?.strip_prefix('/');
        if let Some(rest) = of(&self.repo) {
            return Some((String::new(), &self.files, rest));
        }
        let other = |(repo, files): (&'a String, _)| Some((format!("{repo}/"), files, of(repo)?));
        self.others.iter().find_map(other)
    }

    /// A large file.
    fn stored<'a>(&'a self, path: &'a str) -> Option<&'a Vec<u8>> {
        self.files
            .get(path)
            .or_else(|| self.model(path).and_then(|(_, files, file)| files.get(file)))
    }
}

/// A request as it came in.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub range: Option<String>,
    pub authorization: Option<String>,
    /// Whether it came to where large files lie, which is another host.
    pub elsewhere: bool,
}

pub struct Mirror {
    pub site: Arc<Mutex<Site>>,
    pub endpoint: String,
}

impl Mirror {
    /// A mirror with the files of `fixtures/bert-tiny` under this name.
    pub fn new(repo: &str) -> Self {
        let mut site = Site { repo: repo.into(), ..Site::default() };
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bert-tiny");
        for name in ["config.json", "tokenizer.json", "model.safetensors"] {
            site.files.insert(name.into(), std::fs::read(from.join(name)).unwrap());
        }
        // what a model has beside what is needed
        for name in ["README.md", "pytorch_model.bin", "onnx/model.onnx"] {
            site.files.insert(name.into(), b"not needed".to_vec());
        }
        let site = Arc::new(Mutex::new(site));
        let hub = TcpListener::bind("127.0.0.1:0").unwrap();
        let store = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", hub.local_addr().unwrap());
        let elsewhere = format!("http://{}", store.local_addr().unwrap());
        for (listener, at_store) in [(hub, false), (store, true)] {
            let (site, elsewhere) = (Arc::clone(&site), elsewhere.clone());
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    // whoever asked may be gone
                    let _ = serve(&stream, &mut site.lock().unwrap(), at_store, &elsewhere);
                }
            });
        }
        Self { site, endpoint }
    }

    /// Adds the files of a fixture under this name.
    pub fn also(&self, repo: &str, fixture: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(fixture);
        let mut files = BTreeMap::new();
        for folder in ["", "1_Pooling"] {
            let Ok(entries) = std::fs::read_dir(from.join(folder)) else { continue };
            for path in entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
                let name = path.strip_prefix(&from).unwrap().to_str().unwrap().to_owned();
                files.insert(name, std::fs::read(path).unwrap());
            }
        }
        self.edit(|site| drop(site.others.insert(repo.into(), files)));
    }

    pub fn edit(&self, edit: impl FnOnce(&mut Site)) {
        edit(&mut self.site.lock().unwrap());
    }

    /// The requests since the last time.
    pub fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.site.lock().unwrap().requests)
    }
}

/// Whether the hub keeps such a file apart, under its SHA-256.
fn large(file: &str) -> bool {
    [".safetensors", ".gguf", ".bin"].iter().any(|end| file.ends_with(end))
}

fn digest(algorithm: &'static Algorithm, parts: &[&[u8]]) -> String {
    let mut context = Context::new(algorithm);
    for part in parts {
        context.update(part);
    }
    context.finish().as_ref().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

/// The name that the hub gives a file: its SHA-256, or git's name for it.
pub fn sum(file: &str, bytes: &[u8]) -> String {
    if large(file) {
        return digest(&SHA256, &[bytes]);
    }
    digest(&SHA1_FOR_LEGACY_USE_ONLY, &[format!("blob {}\0", bytes.len()).as_bytes(), bytes])
}

fn read(stream: &TcpStream) -> std::io::Result<Request> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let mut words = first.split(' ').map(str::to_owned);
    let mut request = Request {
        method: words.next().unwrap_or_default(),
        path: words.next().unwrap_or_default(),
        ..Request::default()
    };
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "range" => request.range = Some(value.into()),
            "authorization" => request.authorization = Some(value.into()),
            _ => {}
        }
    }
    Ok(request)
}

fn serve(
    stream: &TcpStream,
    site: &mut Site,
    at_store: bool,
    elsewhere: &str,
) -> std::io::Result<()> {
    let request = Request { elsewhere: at_store, ..read(stream)? };
    site.requests.push(request.clone());
    let token = site.token.map(|token| format!("Bearer {token}"));
    let (listing, path) = match request.path.strip_prefix("/api/models/") {
        Some(path) => (true, path),
        None => (false, request.path.trim_start_matches('/')),
    };
    let mut headers = BTreeMap::new();
    let plain = |status| (status, b"{}".to_vec());
    let (status, mut body) = if at_store {
        let file = site.stored(path).cloned();
        file.map_or_else(|| plain(404), |bytes| (200, bytes))
    } else if token.is_some() && request.authorization != token {
        plain(401)
    } else if let Some((at, files, path)) = site.model(path) {
        let (kind, path) = path.split_once('/').unwrap_or_default();
        let (revision, file) = path.split_once('/').unwrap_or((path, ""));
        let known = ["main", "v1", "refs%2Fpr%2F1", COMMIT].contains(&revision);
        match files.get(file) {
            None if listing && kind == "revision" && known => {
                let files: Vec<String> =
                    files.keys().map(|name| format!(r#"{{"rfilename": "{name}"}}"#)).collect();
                let (sha, files) = (site.commit.unwrap_or(COMMIT), files.join(", "));
                (200, format!(r#"{{"sha": "{sha}", "siblings": [{files}]}}"#).into_bytes())
            }
            Some(_) if !listing && site.circle => {
                headers.insert("location", request.path.clone());
                plain(307)
            }
            Some(bytes) if !listing && kind == "resolve" && known => {
                headers.insert("x-repo-commit", COMMIT.to_owned());
                if large(file) {
                    headers.insert("etag", "\"of the redirection\"".into());
                    headers.insert("x-linked-etag", format!("\"{}\"", sum(file, bytes)));
                    headers.insert("x-linked-size", bytes.len().to_string());
                    headers.insert("location", format!("{elsewhere}/{at}{file}"));
                    (302, b"Found. Redirecting".to_vec())
                } else {
                    headers.insert("etag", format!("\"{}\"", sum(file, bytes)));
                    (200, bytes.clone())
                }
            }
            _ => plain(404),
        }
    } else if let Some((_, rest)) = path.split_once('/').filter(|(name, _)| *name == "old") {
        // moved, as legacy names are; the path is all that is said
        let api = if listing { "/api/models" } else { "" };
        headers.insert("location", format!("{api}/{}/{rest}", site.repo));
        plain(307)
    } else {
        plain(404)
    };
    if status == 200 && site.spoilt.is_some_and(|file| path.ends_with(file)) && !body.is_empty() {
        body[0] ^= 1;
    }
    let mut status = status;
    let from = request
        .range
        .as_deref()
        .and_then(|range| range.strip_prefix("bytes=")?.split('-').next()?.parse::<usize>().ok());
    if let Some(from) = from.filter(|&from| status == 200 && !site.no_ranges && from < body.len()) {
        headers.insert("content-range", format!("bytes {from}-{}/{}", body.len() - 1, body.len()));
        body.drain(..from);
        status = 206;
    }
    headers.insert("content-length", body.len().to_string());
    headers.insert("connection", "close".into());
    if !at_store && !listing {
        headers.extend(site.headers.iter().map(|(name, value)| (*name, value.clone())));
    }
    let mut answer = format!("HTTP/1.1 {status} Some Reason\r\n");
    for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
        write!(answer, "{name}: {value}\r\n").unwrap();
    }
    answer += "\r\n";
    let cut = if at_store { site.cuts.pop_front() } else { None };
    let body = if request.method == "HEAD" {
        &[]
    } else {
        &body[..body.len().min(cut.unwrap_or(usize::MAX))]
    };
    let mut stream = stream;
    stream.write_all(answer.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}
