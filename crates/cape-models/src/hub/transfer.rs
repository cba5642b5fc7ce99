//! One file from the hub into the cache: continued where it was cut off, and kept only if its
//! checksum is the one that the hub announced.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use ureq::config::RedirectAuthHeaders;
use ureq::http::{HeaderMap, Response, Uri};
use ureq::typestate::WithoutBody;
use ureq::{Agent, Body, RequestBuilder};

use super::cache;
use crate::error::{Error, HubError, Result};
use crate::files;

/// How often a transfer is taken up again within one call.
const ATTEMPTS: u32 = 3;
/// How often the hub may redirect to another of its own addresses, as for a renamed model.
const MOVES: usize = 5;
const PATIENCE: Duration = Duration::from_mins(1);

/// A step of a transfer, for whoever waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullProgress<'a> {
    /// A file begins; `have` of its bytes are here already.
    Start {
        /// Its name.
        file: &'a str,
        /// Its size.
        size: u64,
        /// How much of it is here.
        have: u64,
    },
    /// So many bytes arrived.
    Bytes(u64),
    /// The file is here, and its checksum is right.
    Done,
}

/// Fetches files into two folders of the cache.
pub(super) struct Transfer<'a> {
    token: Option<&'a str>,
    blobs: PathBuf,
    snapshot: PathBuf,
}

/// The hub's announcement of a file.
struct Announced {
    /// Where it is, at the hub itself.
    url: String,
    size: u64,
    /// The SHA-256 of a large file, or git's name for a small one, in hexadecimal.
    sum: String,
}

impl<'a> Transfer<'a> {
    /// Into these folders of the cache, with this token.
    pub(super) fn new(token: Option<&'a str>, blobs: PathBuf, snapshot: PathBuf) -> Self {
        Self { token, blobs, snapshot }
    }

    /// The file's place in the snapshot, once it is there and right.
    pub(super) fn fetch(
        &self,
        url: &str,
        file: &str,
        progress: &mut dyn FnMut(PullProgress<'_>),
    ) -> Result<PathBuf> {
        if !cache::path(file) {
            return Err(HubError::Answer { what: file.into(), lacks: "a usable name" }.into());
        }
        let announced = self.announced(url, file)?;
        make(&self.blobs)?;
        let blob = self.blobs.join(&announced.sum);
        if !right(&blob, &announced)? {
            let part = self.blobs.join(format!("{}.incomplete", announced.sum));
            self.download(&announced, file, &part, progress)?;
            std::fs::rename(&part, &blob).map_err(Error::io(&blob))?;
            progress(PullProgress::Done);
        }
        self.link(&blob, file)
    }

    /// Asks for the announcement of a file, without following redirections to another host: only the hub
    /// itself may state the checksum.
    fn announced(&self, url: &str, file: &str) -> Result<Announced> {
        let agent = agent(0, url);
        let mut url = url.to_owned();
        for _ in 0..MOVES {
            let asked = self.authorize(agent.head(&url)).call();
            let answer = asked.map_err(|error| connection(file, error))?;
            let (status, headers) = (answer.status(), answer.headers());
            let location = header(headers, "location").unwrap_or_default();
            if status.is_redirection() && location.starts_with('/') && !location.starts_with("//") {
                url = beside(&url, location)
                    .ok_or(HubError::Answer { what: file.into(), lacks: "a usable address" })?;
                continue;
            }
            if !status.is_success() && !status.is_redirection() {
                return Err(refusal(file, status.as_u16()).into());
            }
            let first = |a, b| header(headers, a).or_else(|| header(headers, b));
            let lacks = |lacks| HubError::Answer { what: file.into(), lacks };
            let size = first("x-linked-size", "content-length").and_then(|size| size.parse().ok());
            let sum = first("x-linked-etag", "etag").unwrap_or_default();
            let sum = sum.trim_start_matches("W/").trim_matches('"').to_owned();
            let hex = sum.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
            // the sum names a file of the cache: it must be one
            if !hex || !matches!(sum.len(), 40 | 64) {
                return Err(lacks("a checksum").into());
            }
            return Ok(Announced { url, size: size.ok_or(lacks("its size"))?, sum });
        }
        Err(HubError::Answer { what: file.into(), lacks: "an end of redirections" }.into())
    }

    fn download(
        &self,
        announced: &Announced,
        file: &str,
        path: &Path,
        progress: &mut dyn FnMut(PullProgress<'_>),
    ) -> Result<()> {
        let open = OpenOptions::new().read(true).append(true).create(true).open(path);
        let mut part = open.map_err(Error::io(path))?;
        match part.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(HubError::Busy(file.into()).into()),
            // some file systems have no locks
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let mut told = false;
        for attempt in 1.. {
            let (mut sum, mut have) = Sum::of(&mut part, path, announced)?;
            if have > announced.size {
                part.set_len(0).map_err(Error::io(path))?;
                (sum, have) = (Sum::new(announced), 0);
            }
            if !told {
                progress(PullProgress::Start { file, size: announced.size, have });
                told = true;
            }
            let ended = self.stream(announced, file, (&mut part, path), (&mut sum, have), progress);
            match ended {
                Ok(()) if sum.is(announced) => return Ok(()),
                Ok(()) => {
                    std::fs::remove_file(path).map_err(Error::io(path))?;
                    return Err(HubError::Checksum(file.into()).into());
                }
                Err(Error::Hub(HubError::Connection { .. })) if attempt < ATTEMPTS => {
                    std::thread::sleep(Duration::from_millis(200) * attempt);
                }
                Err(error) => return Err(error),
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Fetches the rest of a file. An interruption is an error that leaves the bytes that have arrived.
    fn stream(
        &self,
        announced: &Announced,
        file: &str,
        (part, path): (&mut File, &Path),
        (sum, mut have): (&mut Sum, u64),
        progress: &mut dyn FnMut(PullProgress<'_>),
    ) -> Result<()> {
        if have == announced.size {
            return Ok(());
        }
        let ask = self.authorize(agent(10, &announced.url).get(&announced.url));
        let ask = if have > 0 { ask.header("range", format!("bytes={have}-")) } else { ask };
        let answer: Response<Body> = ask.call().map_err(|error| connection(file, error))?;
        match answer.status().as_u16() {
            206 if starts_at(answer.headers(), have) => {}
            // the whole file, though a part was asked for
            200 => {
                part.set_len(0).map_err(Error::io(path))?;
                (*sum, have) = (Sum::new(announced), 0);
            }
            206 => return Err(HubError::Answer { what: file.into(), lacks: "the part" }.into()),
            status => return Err(refusal(file, status).into()),
        }
        // one byte more than announced is enough to see that it is too long
        let mut body =
            answer.into_body().into_reader().take((announced.size - have).saturating_add(1));
        let mut bytes = vec![0; 1 << 16];
        loop {
            let read = match body.read(&mut bytes) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(connection(file, error).into()),
            };
            part.write_all(&bytes[..read]).map_err(Error::io(path))?;
            sum.update(&bytes[..read]);
            have += read as u64;
            progress(PullProgress::Bytes(read as u64));
        }
        if have < announced.size {
            let early = std::io::Error::from(ErrorKind::UnexpectedEof);
            return Err(connection(file, early).into());
        }
        Ok(())
    }

    /// The token goes to the hub itself and nowhere else: redirections lose it.
    fn authorize(&self, ask: RequestBuilder<WithoutBody>) -> RequestBuilder<WithoutBody> {
        // sizes and sums are those of the plain bytes
        let ask = ask.header("accept-encoding", "identity");
        match self.token {
            Some(token) => ask.header("authorization", format!("Bearer {token}")),
            None => ask,
        }
    }

    /// Puts a file of `blobs` into the snapshot.
    fn link(&self, blob: &Path, file: &str) -> Result<PathBuf> {
        let pointer = self.snapshot.join(file);
        make(pointer.parent().unwrap_or(&self.snapshot))?;
        if pointer.symlink_metadata().is_ok() {
            std::fs::remove_file(&pointer).map_err(Error::io(&pointer))?;
        }
        #[cfg(unix)]
        let linked = {
            // from snapshots/COMMIT, and from as many folders deeper as the name has
            let up = "../".repeat(2 + file.matches('/').count());
            let name = blob.file_name().unwrap_or_default();
            std::os::unix::fs::symlink(Path::new(&up).join("blobs").join(name), &pointer)
        };
        #[cfg(not(unix))]
        let linked = std::fs::hard_link(blob, &pointer);
        linked.map_err(Error::io(&pointer))?;
        Ok(pointer)
    }
}

/// A running checksum of either kind.
struct Sum(Context);

impl Sum {
    fn new(announced: &Announced) -> Self {
        if announced.sum.len() == 64 {
            return Self(Context::new(&SHA256));
        }
        let mut git = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
        git.update(format!("blob {}\0", announced.size).as_bytes());
        Self(git)
    }

    /// The checksum of a file's bytes so far, and how many they are.
    fn of(file: &mut File, path: &Path, announced: &Announced) -> Result<(Self, u64)> {
        let (mut sum, mut have, mut bytes) = (Self::new(announced), 0, vec![0; 1 << 16]);
        file.rewind().map_err(Error::io(path))?;
        loop {
            match file.read(&mut bytes).map_err(Error::io(path))? {
                0 => return Ok((sum, have)),
                read => {
                    sum.update(&bytes[..read]);
                    have += read as u64;
                }
            }
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn is(self, announced: &Announced) -> bool {
        let found = self.0.finish();
        let digits = found.as_ref().iter().flat_map(|byte| [byte >> 4, byte & 15]);
        digits.map(|digit| char::from_digit(digit.into(), 16)).eq(announced.sum.chars().map(Some))
    }
}

/// Whether a file is there and is the one announced.
fn right(path: &Path, announced: &Announced) -> Result<bool> {
    if !path.is_file() {
        return Ok(false);
    }
    let (mut file, _) = files::open(path, u64::MAX)?;
    Ok(Sum::of(&mut file, path, announced)?.0.is(announced))
}

fn agent(redirects: u32, url: &str) -> Agent {
    Agent::config_builder()
        .max_redirects(redirects)
        .redirect_auth_headers(RedirectAuthHeaders::Never)
        .http_status_as_error(false)
        // a hub asked over https must not redirect to plain http
        .https_only(url.starts_with("https:"))
        .timeout_connect(Some(PATIENCE))
        .timeout_recv_response(Some(PATIENCE))
        .timeout_per_read(Some(PATIENCE))
        .build()
        .into()
}

/// Another path at the same host.
fn beside(url: &str, path: &str) -> Option<String> {
    let mut parts = url.parse::<Uri>().ok()?.into_parts();
    parts.path_and_query = Some(path.parse().ok()?);
    Uri::from_parts(parts).ok().map(|uri| uri.to_string())
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn starts_at(headers: &HeaderMap, at: u64) -> bool {
    header(headers, "content-range").is_some_and(|range| range.starts_with(&format!("bytes {at}-")))
}

fn refusal(file: &str, status: u16) -> HubError {
    match status {
        401 | 403 => HubError::Denied(file.into()),
        _ => HubError::Status { what: file.into(), status },
    }
}

/// The error of a connection that failed while `what` was fetched.
pub(super) fn connection(
    what: &str,
    source: impl std::error::Error + Send + Sync + 'static,
) -> HubError {
    HubError::Connection { what: what.to_owned(), source: source.into() }
}

fn make(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(Error::io(dir))
}
