//! Fetching a model from the hub into its cache: the one place that uses the network, and only when
//! it is called.
//!
//! `hf-hub` knows the hub's addresses, its listing and the layout of its cache. The files themselves
//! are fetched by `transfer.rs`: `hf-hub` checks no sum, takes file names from the server, and
//! sends the token on to the host that the hub redirects to.

use std::fmt;
use std::path::Path;

use hf_hub::api::RepoInfo;
use hf_hub::api::sync::{Api, ApiBuilder, ApiError};
use hf_hub::{Cache, Repo, RepoType};

use super::cache::{self, Hub, HubName, Pulled};
use super::transfer::{PullProgress, Transfer, connection};
use crate::error::{Error, HubError, Result};
use crate::files::{Index, LARGEST_JSON, read};
use crate::names::{
    CAPE_JSON, CONFIG, ENCODER_CONFIG, INDEX, MERGES, MODULES, POOLING, SENTENCE_CONFIG, TOKENIZER,
    TOKENIZER_CONFIG, VOCAB_JSON, VOCAB_TXT, WEIGHTS,
};

/// Where and as whom to fetch.
#[derive(Clone, Default)]
pub struct Remote {
    endpoint: Option<String>,
    token: Option<String>,
    offline: bool,
}

impl Remote {
    /// From the environment: `HF_ENDPOINT`, `HF_TOKEN` (or the token that the hub's login left
    /// in `HF_TOKEN_PATH` or `HF_HOME/token`), and `HF_HUB_OFFLINE`.
    #[must_use]
    pub fn from_env() -> Self {
        let text = |variable| cache::set(variable).and_then(|value| value.into_string().ok());
        let file = || {
            let path = cache::set("HF_TOKEN_PATH").map(Into::into);
            std::fs::read_to_string(path.or_else(|| Some(cache::home()?.join("token")))?).ok()
        };
        let offline = text("HF_HUB_OFFLINE").map(|value| value.to_ascii_lowercase());
        Self::new(text("HF_ENDPOINT"), text("HF_TOKEN").or_else(file))
            .offline(matches!(offline.as_deref(), Some("1" | "on" | "yes" | "true")))
    }

    /// A hub at this address, or the public one; asked with a token, or without.
    #[must_use]
    pub fn new(endpoint: Option<String>, token: Option<String>) -> Self {
        let token = token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
        Self { endpoint, token, offline: false }
    }

    /// Whether to leave the network alone.
    #[must_use]
    pub fn offline(self, offline: bool) -> Self {
        Self { offline, ..self }
    }
}

impl fmt::Debug for Remote {
    /// Without the token, and without an address that may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("offline", &self.offline).finish_non_exhaustive()
    }
}

/// Fetches the files of a model at one commit. Those in the cache already are checked, not fetched
/// again; a transfer that was cut off is continued.
pub fn pull(
    hub: &Hub,
    remote: &Remote,
    name: &HubName,
    progress: &mut dyn FnMut(PullProgress<'_>),
) -> Result<Pulled> {
    if remote.offline {
        let dir = hub.find(name).ok_or_else(|| HubError::Offline(name.to_string()))?;
        return Ok(pulled(name, &dir));
    }
    let api = api(hub, remote)?;
    let repo = |revision: &str| {
        Repo::with_revision(name.repo().to_owned(), RepoType::Model, revision.to_owned())
    };
    let info = api.repo(repo(name.revision())).info().map_err(|error| refusal(name, error))?;
    if !cache::commit(&info.sha) {
        return Err(HubError::Answer { what: name.to_string(), lacks: "a commit" }.into());
    }
    let at_commit = api.repo(repo(&info.sha));
    let cache = Cache::new(hub.path().into()).repo(repo(name.revision()));
    let dir = cache.pointer_path(&info.sha);
    let transfer = Transfer::new(remote.token.as_deref(), cache.blob_path(""), dir.clone());
    for file in wanted(name, &info)? {
        let path = transfer.fetch(&at_commit.url(&file), &file, progress)?;
        if file == INDEX {
            for shard in Index::parse(&read(&path, LARGEST_JSON)?)?.files() {
                expect(name, &info, shard)?;
                transfer.fetch(&at_commit.url(shard), shard, progress)?;
            }
        }
    }
    // last, so that the name stands for all of the files
    if name.revision() != info.sha {
        cache.create_ref(&info.sha).map_err(Error::io(&dir))?;
    }
    Ok(pulled(name, &dir))
}

fn pulled(name: &HubName, dir: &Path) -> Pulled {
    let calibrated = dir.join(CAPE_JSON).is_file();
    Pulled { name: name.to_string(), dir: dir.into(), calibrated }
}

fn api(hub: &Hub, remote: &Remote) -> Result<Api> {
    let mut api = ApiBuilder::from_cache(Cache::new(hub.path().into()))
        .with_progress(false)
        .with_token(remote.token.clone());
    if let Some(endpoint) = &remote.endpoint {
        // `hf-hub` would panic on something that is no address
        let uri: ureq::http::Uri = endpoint.parse().map_err(|_| HubError::Endpoint)?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.query().is_some() {
            return Err(HubError::Endpoint.into());
        }
        api = api.with_endpoint(endpoint.trim_end_matches('/').to_owned());
    }
    api.build().map_err(|source| connection("the model's list of files", source).into())
}

/// The files to fetch, the weights last, so that a refusal comes early.
fn wanted(name: &HubName, info: &RepoInfo) -> Result<Vec<String>> {
    if let Some(file) = name.file() {
        expect(name, info, file)?;
        return Ok(vec![file.to_owned()]);
    }
    let has = |file: &str| info.siblings.iter().any(|sibling| sibling.rfilename == file);
    let tokenizer: &[&str] = match () {
        () if has(TOKENIZER) => &[TOKENIZER],
        () if has(VOCAB_TXT) => &[VOCAB_TXT],
        () if has(VOCAB_JSON) && has(MERGES) => &[VOCAB_JSON, MERGES],
        () => &[TOKENIZER],
    };
    let weights = if !has(WEIGHTS) && has(INDEX) { INDEX } else { WEIGHTS };
    let pickle = |file: &str| file.starts_with("pytorch_model") && file.contains(".bin");
    if !has(weights) && info.siblings.iter().any(|sibling| pickle(&sibling.rfilename)) {
        return Err(HubError::Pickle(name.to_string()).into());
    }
    let files: Vec<&str> = [&[CONFIG], tokenizer, &[weights]].concat();
    files.iter().try_for_each(|file| expect(name, info, file))?;
    // how the vocabulary is to be read, where the tokenizer does not say it itself; and how sentences
    // are pooled and cut, where it is a sentence encoder
    let sentences = has(MODULES);
    let more =
        [MODULES, POOLING, SENTENCE_CONFIG, ENCODER_CONFIG].into_iter().filter(|_| sentences);
    let settings = [TOKENIZER_CONFIG].into_iter().filter(|_| sentences || !has(TOKENIZER));
    let more = more.chain(settings).filter(|file| has(file));
    Ok(more.chain(files).map(str::to_owned).collect())
}

fn expect(name: &HubName, info: &RepoInfo, file: &str) -> Result<()> {
    if info.siblings.iter().any(|sibling| sibling.rfilename == file) {
        return Ok(());
    }
    Err(HubError::NoFile { name: name.to_string(), file: file.to_owned() }.into())
}

fn refusal(name: &HubName, error: ApiError) -> HubError {
    let what = name.to_string();
    match error {
        ApiError::RequestError(error) => match *error {
            // the hub answers 401 for models that do not exist, so as not to give away those that do
            ureq::Error::StatusCode(401 | 404) => HubError::NoModel(what),
            ureq::Error::StatusCode(403) => HubError::Denied(what),
            ureq::Error::StatusCode(status) => HubError::Status { what, status },
            error => connection(&what, error),
        },
        error => connection(&what, error),
    }
}
