//! Models by their names on the Hugging Face hub, as they lie in its cache. Nothing here touches the
//! network: `pull.rs` fetches them.
//!
//! The cache is the one that all of the hub's programs share: `models--ORG--NAME` with `refs`,
//! `snapshots` and `blobs`.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::names::{CAPE_JSON, CONFIG, INDEX, WEIGHTS};

/// The revision that is used where none is named.
const MAIN: &str = "main";

/// A model's name on the hub: `NAME`, `ORG/NAME`, `ORG/NAME@REVISION`, `ORG/NAME:FILE.gguf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubName {
    repo: String,
    revision: Option<String>,
    file: Option<String>,
}

impl HubName {
    /// The name in a text, if it can be one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (text, file) = match text.split_once(':') {
            Some((text, file)) => (text, Some(file)),
            None => (text, None),
        };
        let (repo, revision) = match text.split_once('@') {
            Some((repo, revision)) => (repo, Some(revision)),
            None => (text, None),
        };
        let known = repo.split('/').count() <= 2
            && path(repo)
            && !repo.contains("--")
            && revision.is_none_or(path)
            && file.is_none_or(|file| path(file) && is_gguf(file));
        known.then(|| Self {
            repo: repo.to_owned(),
            revision: revision.map(str::to_owned),
            file: file.map(str::to_owned),
        })
    }

    /// The name of the repository.
    #[must_use]
    pub fn repo(&self) -> &str {
        &self.repo
    }

    /// The branch, tag or commit.
    #[must_use]
    pub fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or(MAIN)
    }

    /// The file that is named, if there is one.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }
}

impl fmt::Display for HubName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.repo)?;
        if let Some(revision) = &self.revision {
            write!(f, "@{revision}")?;
        }
        self.file.as_ref().map_or(Ok(()), |file| write!(f, ":{file}"))
    }
}

/// Whether a text is a path that stays inside the folder it is joined to, made of characters without
/// meaning in a URL or a file system.
pub(super) fn path(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let part =
        |part: &str| !part.is_empty() && !part.starts_with(['.', '-']) && part.chars().all(plain);
    text.len() <= 256 && text.split('/').all(part)
}

fn is_gguf(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|end| end == "gguf")
}

/// Whether a text is a commit.
pub(super) fn commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

/// The cache of the hub on this machine.
#[derive(Clone, Debug)]
pub struct Hub {
    cache: PathBuf,
}

/// A model that lies in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// Its name.
    pub name: String,
    /// The folder of its files.
    pub dir: PathBuf,
    /// Whether it has a calibration.
    pub calibrated: bool,
}

impl Hub {
    /// The cache where the environment says: `HF_HUB_CACHE`, or `hub` in `HF_HOME`, which is
    /// `huggingface` in `XDG_CACHE_HOME` or in `~/.cache`. None where there is no home either.
    #[must_use]
    pub fn from_env() -> Option<Self> {
        set("HF_HUB_CACHE").map(PathBuf::from).or_else(|| Some(home()?.join("hub"))).map(Self::at)
    }

    /// The cache in this folder.
    #[must_use]
    pub fn at(cache: PathBuf) -> Self {
        Self { cache }
    }

    /// The folder of the cache.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.cache
    }

    /// The folder of a model's files, if they are all there.
    #[must_use]
    pub fn find(&self, name: &HubName) -> Option<PathBuf> {
        let repo = self.cache.join(format!("models--{}", name.repo.replace('/', "--")));
        let revision = name.revision();
        let named = std::fs::read_to_string(repo.join("refs").join(revision)).ok();
        let commit = named.as_deref().map_or(revision, str::trim);
        let dir = repo.join("snapshots").join(self::commit(commit).then_some(commit)?);
        let there = match &name.file {
            Some(file) => dir.join(file).is_file(),
            None => complete(&dir),
        };
        there.then_some(dir)
    }

    /// The models that are there, by name.
    #[must_use]
    pub fn list(&self) -> Vec<Pulled> {
        let mut found = Vec::new();
        for folder in names(&self.cache) {
            let Some(repo) = folder.strip_prefix("models--") else { continue };
            let (repo, dir) = (repo.replace("--", "/"), self.cache.join(&folder));
            let mut known = Vec::new();
            let refs = names(&dir.join("refs"));
            let commits = names(&dir.join("snapshots"));
            for revision in refs.into_iter().chain(commits) {
                let main = revision == MAIN;
                let name = if main { repo.clone() } else { format!("{repo}@{revision}") };
                let dir = HubName::parse(&name).and_then(|name| self.find(&name));
                // a commit that goes by a name already is listed once
                let Some(dir) = dir.filter(|dir| !known.contains(dir)) else { continue };
                let calibrated = dir.join(CAPE_JSON).is_file();
                known.push(dir.clone());
                found.push(Pulled { name, dir, calibrated });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }
}

/// Whether a folder has the files that a model cannot do without.
fn complete(dir: &Path) -> bool {
    let has = |name| dir.join(name).is_file();
    has(CONFIG) && (has(WEIGHTS) || has(INDEX))
}

/// The names in a folder, sorted; none where there is no such folder.
fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The folder of the hub's programs.
pub(super) fn home() -> Option<PathBuf> {
    let cache = || set("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = || cache().or_else(|| Some(std::env::home_dir()?.join(".cache")));
    set("HF_HOME").map(PathBuf::from).or_else(|| Some(cache()?.join("huggingface")))
}

/// A variable that is set to something.
pub(super) fn set(variable: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(variable).filter(|value| !value.is_empty())
}
