//! Fetching models from a hub: what is fetched, what is checked, what is continued, and who gets to
//! see the token.

use std::path::{Path, PathBuf};

use crate::mirror::{COMMIT, Mirror, Request, sum};
use cape_models::{
    Error, Files, Hub, HubError, HubName, Options, PullProgress, Pulled, Remote, SentenceEncoder,
    pull,
};
use tempfile::TempDir;

const REPO: &str = "org/tiny";
const TOKEN: &str = "hf_a-secret-that-nobody-may-see";
const WEIGHTS: &str = "model.safetensors";

/// A mirror, and an empty cache.
struct Bench {
    mirror: Mirror,
    cache: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { mirror: Mirror::new(REPO), cache: tempfile::tempdir().unwrap() }
    }

    fn hub(&self) -> Hub {
        Hub::at(self.cache.path().join("hub"))
    }

    fn remote(&self) -> Remote {
        Remote::new(Some(self.mirror.endpoint.clone()), None)
    }

    fn pull(&self, name: &str) -> Result<Pulled, Error> {
        self.pull_from(&self.remote(), name)
    }

    fn pull_from(&self, remote: &Remote, name: &str) -> Result<Pulled, Error> {
        pull(&self.hub(), remote, &HubName::parse(name).unwrap(), &mut |_| {})
    }

    /// The error of a pull, after which the name must stand for nothing.
    fn refusal(&self, name: &str) -> HubError {
        let error = self.pull(name).unwrap_err();
        assert_eq!(self.hub().find(&HubName::parse(name).unwrap()), None);
        assert_eq!(self.hub().list(), []);
        match error {
            Error::Hub(error) => error,
            other => panic!("{other}"),
        }
    }

    fn repo(&self) -> PathBuf {
        self.hub().path().join("models--org--tiny")
    }

    /// The names in a folder of the cached repository.
    fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.repo().join(folder)) else { return Vec::new() };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn file(&self, name: &str) -> Vec<u8> {
        self.mirror.site.lock().unwrap().files[name].clone()
    }

    /// Where a file of the mirror is kept.
    fn blob(&self, name: &str) -> PathBuf {
        self.repo().join("blobs").join(sum(name, &self.file(name)))
    }

    fn part(&self, name: &str) -> PathBuf {
        let mut path = self.blob(name).into_os_string();
        path.push(".incomplete");
        path.into()
    }
}

/// The files that were fetched, not only asked about.
fn fetched(requests: &[Request]) -> Vec<String> {
    let bodies = requests.iter().filter(|request| {
        request.method == "GET" && !request.path.starts_with("/api/") && !request.elsewhere
    });
    bodies.map(|request| request.path.rsplit('/').next().unwrap().to_owned()).collect()
}

fn snapshot(pulled: &Pulled) -> Vec<String> {
    let entries = std::fs::read_dir(&pulled.dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_model_is_fetched_with_what_it_needs_and_nothing_else() {
    let bench = Bench::new();
    let pulled = bench.pull(REPO).unwrap();
    assert_eq!(pulled.name, REPO);
    assert!(!pulled.calibrated);
    let needed = ["config.json", WEIGHTS, "tokenizer.json"];
    assert_eq!(snapshot(&pulled), needed);
    for name in needed {
        assert!(std::fs::read(pulled.dir.join(name)).unwrap() == bench.file(name), "{name}");
    }
    // the layout that the hub's other programs expect
    assert_eq!(pulled.dir, bench.repo().join("snapshots").join(COMMIT));
    assert_eq!(std::fs::read_to_string(bench.repo().join("refs/main")).unwrap(), COMMIT);
    let link = std::fs::read_link(pulled.dir.join(WEIGHTS)).unwrap();
    let blob = sum(WEIGHTS, &bench.file(WEIGHTS));
    assert_eq!(link, Path::new("../../blobs").join(blob));
    assert_eq!(bench.names("blobs").len(), 3, "no part is left");
    // all of it at the one commit that the listing named
    let requests = bench.mirror.requests();
    assert_eq!(requests[0].path, "/api/models/org/tiny/revision/main");
    let others = requests[1..].iter().filter(|request| !request.elsewhere);
    for request in others {
        assert!(request.path.starts_with(&format!("/org/tiny/resolve/{COMMIT}/")), "{request:?}");
        assert_eq!(request.authorization, None);
    }
    assert!(Files::read(&pulled.dir).unwrap().load().is_ok());
}

#[test]
fn what_is_there_is_checked_and_not_fetched_again() {
    let bench = Bench::new();
    let first = bench.pull(REPO).unwrap();
    assert_eq!(fetched(&bench.mirror.requests()).len(), 3);
    assert_eq!(bench.pull(REPO).unwrap(), first);
    assert_eq!(fetched(&bench.mirror.requests()), [""; 0]);
    // damaged meanwhile
    std::fs::write(bench.blob(WEIGHTS), "damaged").unwrap();
    bench.pull(REPO).unwrap();
    assert_eq!(fetched(&bench.mirror.requests()), [WEIGHTS]);
    assert!(std::fs::read(first.dir.join(WEIGHTS)).unwrap() == bench.file(WEIGHTS));
}

#[test]
fn progress_adds_up_to_the_size() {
    let bench = Bench::new();
    let (mut files, mut done) = (Vec::new(), 0);
    let name = HubName::parse(REPO).unwrap();
    pull(&bench.hub(), &bench.remote(), &name, &mut |progress| match progress {
        PullProgress::Start { file, size, have } => files.push((file.to_owned(), size, have)),
        PullProgress::Bytes(bytes) => files.last_mut().unwrap().2 += bytes,
        PullProgress::Done => done += 1,
    })
    .unwrap();
    assert_eq!((files.len(), done), (3, 3));
    for (file, size, have) in files {
        assert_eq!((size, have), (bench.file(&file).len() as u64, size), "{file}");
    }
}

#[test]
fn the_token_goes_to_the_hub_and_nowhere_else() {
    let bench = Bench::new();
    bench.mirror.edit(|site| site.token = Some(TOKEN));
    // without it, or with another, the hub does not know the model
    assert!(matches!(bench.refusal(REPO), HubError::NoModel(name) if name == REPO));
    let remote = |token: &str| Remote::new(Some(bench.mirror.endpoint.clone()), Some(token.into()));
    let wrong = bench.pull_from(&remote("hf_wrong"), REPO).unwrap_err();
    assert!(matches!(wrong, Error::Hub(HubError::NoModel(_))));
    bench.mirror.requests();

    let remote = remote(&format!(" {TOKEN}\n"));
    bench.pull_from(&remote, REPO).unwrap();
    let requests = bench.mirror.requests();
    assert!(requests.iter().any(|request| request.elsewhere));
    for request in requests {
        let bearer = Some(format!("Bearer {TOKEN}")).filter(|_| !request.elsewhere);
        assert_eq!(request.authorization, bearer, "{request:?}");
    }
    assert!(!format!("{remote:?}").contains(TOKEN));
}

#[test]
fn no_error_holds_the_token() {
    let bench = Bench::new();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let unclean = format!("{TOKEN}\u{1}\u{7f}");
    for (endpoint, token) in [
        (bench.mirror.endpoint.clone(), unclean.as_str()),
        (format!("http://user:{TOKEN}@{closed}"), TOKEN),
        (format!("nonsense {TOKEN}"), TOKEN),
    ] {
        let error = bench.pull_from(&Remote::new(Some(endpoint), Some(token.into())), REPO);
        let mut error: &dyn std::error::Error = &error.unwrap_err();
        loop {
            assert!(!format!("{error} {error:?}").contains(TOKEN), "{error}");
            let Some(source) = error.source() else { break };
            error = source;
        }
    }
}

#[test]
fn a_model_that_moved_is_found() {
    let bench = Bench::new();
    let remote = Remote::new(Some(format!("{}/", bench.mirror.endpoint)), Some(TOKEN.into()));
    let pulled = bench.pull_from(&remote, "old").unwrap();
    assert!(pulled.dir.starts_with(bench.hub().path().join("models--old")));
    assert!(Files::read(&pulled.dir).unwrap().load().is_ok());
    // at its new address the hub is still the hub
    let requests = bench.mirror.requests();
    let moved = requests.iter().filter(|request| request.path.starts_with("/org/tiny/resolve/"));
    assert_eq!(moved.clone().count(), 6, "each file is asked about and fetched");
    for request in moved {
        assert_eq!(request.authorization, Some(format!("Bearer {TOKEN}")));
    }
}

#[test]
fn a_transfer_that_is_cut_off_goes_on_where_it_stopped() {
    let bench = Bench::new();
    bench.mirror.edit(|site| site.cuts = [1000, 500].into());
    let pulled = bench.pull(REPO).unwrap();
    let requests = bench.mirror.requests();
    let ranges = requests.iter().filter(|request| request.elsewhere).map(|r| r.range.as_deref());
    assert_eq!(ranges.collect::<Vec<_>>(), [None, Some("bytes=1000-"), Some("bytes=1500-")]);
    assert!(std::fs::read(pulled.dir.join(WEIGHTS)).unwrap() == bench.file(WEIGHTS));
}

#[test]
fn a_pull_that_fails_is_continued_by_the_next() {
    let bench = Bench::new();
    bench.mirror.edit(|site| site.cuts = [700, 0, 0].into());
    assert!(matches!(bench.refusal(REPO), HubError::Connection { what, .. } if what == WEIGHTS));
    assert_eq!(std::fs::metadata(bench.part(WEIGHTS)).unwrap().len(), 700);
    bench.mirror.requests();
    let pulled = bench.pull(REPO).unwrap();
    let requests = bench.mirror.requests();
    assert_eq!(fetched(&requests), [WEIGHTS]);
    let last = requests.last().unwrap();
    assert_eq!((last.elsewhere, last.range.as_deref()), (true, Some("bytes=700-")));
    assert!(std::fs::read(pulled.dir.join(WEIGHTS)).unwrap() == bench.file(WEIGHTS));
    assert!(!bench.part(WEIGHTS).exists());
}

#[test]
fn a_hub_without_ranges_is_asked_for_the_whole() {
    let bench = Bench::new();
    bench.mirror.edit(|site| (site.cuts, site.no_ranges) = ([1000].into(), true));
    let pulled = bench.pull(REPO).unwrap();
    assert!(std::fs::read(pulled.dir.join(WEIGHTS)).unwrap() == bench.file(WEIGHTS));
}

#[test]
fn a_file_with_the_wrong_checksum_is_not_kept() {
    // a large one by its SHA-256, a small one by git's name
    for spoilt in [WEIGHTS, "config.json"] {
        let bench = Bench::new();
        bench.mirror.edit(|site| site.spoilt = Some(spoilt));
        assert!(matches!(bench.refusal(REPO), HubError::Checksum(file) if file == spoilt));
        assert!(!bench.blob(spoilt).exists() && !bench.part(spoilt).exists());
        // nothing stands in the way of the next
        bench.mirror.edit(|site| site.spoilt = None);
        bench.pull(REPO).unwrap();
    }
}

#[test]
fn a_damaged_beginning_is_found_by_the_checksum() {
    let bench = Bench::new();
    let len = bench.file(WEIGHTS).len();
    for bytes in [vec![7; 300], vec![7; len], vec![7; len + 1]] {
        std::fs::create_dir_all(bench.repo().join("blobs")).unwrap();
        let too_long = bytes.len() > len;
        std::fs::write(bench.part(WEIGHTS), bytes).unwrap();
        if !too_long {
            assert!(matches!(bench.refusal(REPO), HubError::Checksum(file) if file == WEIGHTS));
            assert!(!bench.part(WEIGHTS).exists());
        }
    }
    // what is longer than the file is no beginning of it
    bench.pull(REPO).unwrap();
}

#[test]
fn shards_are_fetched_by_their_index() {
    let bench = Bench::new();
    let index = br#"{"metadata": {}, "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}"#;
    bench.mirror.edit(|site| {
        site.files.remove(WEIGHTS);
        site.files.insert("model.safetensors.index.json".into(), index.to_vec());
        site.files.insert("model-1.safetensors".into(), vec![1; 64]);
    });
    let missing = bench.pull(REPO).unwrap_err();
    assert!(
        matches!(&missing, Error::Hub(HubError::NoFile { file, .. }) if file == "model-2.safetensors"),
        "{missing}"
    );
    bench.mirror.edit(|site| {
        site.files.insert("model-2.safetensors".into(), vec![2; 32]);
        site.files.insert("model-3.safetensors".into(), vec![3; 32]);
    });
    let pulled = bench.pull(REPO).unwrap();
    let names = ["config.json", "model-1.safetensors", "model-2.safetensors"];
    let rest = ["model.safetensors.index.json", "tokenizer.json"];
    assert_eq!(snapshot(&pulled), [&names[..], &rest].concat());
}

#[test]
fn an_index_that_points_elsewhere_is_refused() {
    for file in ["../../../x.safetensors", "/tmp/x.safetensors", "a/b.safetensors", "x.bin"] {
        let bench = Bench::new();
        let index = format!(r#"{{"weight_map": {{"a": "{file}"}}}}"#);
        bench.mirror.edit(|site| {
            site.files.remove(WEIGHTS);
            site.files.insert("model.safetensors.index.json".into(), index.into_bytes());
            site.files.insert(file.into(), b"planted".to_vec());
        });
        let error = bench.pull(REPO).unwrap_err();
        assert!(matches!(error, Error::Index(_)), "{file}: {error}");
        assert_eq!(bench.names("blobs").len(), 3, "config, tokenizer and index");
    }
}

#[test]
fn a_model_without_a_file_it_needs_says_which() {
    let without = |file: &str| {
        let bench = Bench::new();
        bench.mirror.edit(|site| drop(site.files.remove(file)));
        let error = bench.refusal(REPO);
        assert_eq!(fetched(&bench.mirror.requests()), [""; 0], "seen from the listing alone");
        error
    };
    assert!(matches!(without(WEIGHTS), HubError::Pickle(name) if name == REPO));
    for missing in ["config.json", "tokenizer.json"] {
        assert!(
            matches!(without(missing), HubError::NoFile { name, file } if name == REPO && file == missing)
        );
    }
    let bench = Bench::new();
    assert!(matches!(bench.refusal("org/other"), HubError::NoModel(name) if name == "org/other"));
    assert!(matches!(bench.refusal("org/tiny@gone"), HubError::NoModel(_)));
}

#[test]
fn a_vocabulary_stands_in_for_the_tokenizer() {
    let bench = Bench::new();
    bench.mirror.edit(|site| {
        site.files.remove("tokenizer.json");
        for name in ["vocab.json", "merges.txt", "tokenizer_config.json"] {
            site.files.insert(name.into(), b"{}".to_vec());
        }
    });
    let pulled = bench.pull(REPO).unwrap();
    let names = ["config.json", "merges.txt", WEIGHTS, "tokenizer_config.json", "vocab.json"];
    assert_eq!(snapshot(&pulled), names);
    bench.mirror.edit(|site| drop(site.files.insert("vocab.txt".into(), b"[PAD]".to_vec())));
    bench.mirror.requests();
    bench.pull(REPO).unwrap();
    assert_eq!(fetched(&bench.mirror.requests()), ["vocab.txt"]);
}

#[test]
fn a_sentence_encoder_comes_with_its_pooling() {
    let bench = Bench::new();
    let more = [
        "1_Pooling/config.json",
        "config_sentence_transformers.json",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer_config.json",
    ];
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sentence-tiny");
    bench.mirror.edit(|site| {
        for name in more.into_iter().chain(["config.json", "tokenizer.json", WEIGHTS]) {
            let bytes = std::fs::read(here.join(name)).unwrap_or_else(|_| b"{}".to_vec());
            site.files.insert(name.into(), bytes);
        }
    });
    let pulled = bench.pull(REPO).unwrap();
    for name in more {
        assert!(pulled.dir.join(name).is_file(), "{name}");
    }
    let load =
        |dir: &Path| SentenceEncoder::load(dir.to_str().unwrap(), Options::default()).unwrap();
    let texts = ["good book", ""];
    assert!(load(&pulled.dir).encode(&texts).unwrap() == load(&here).encode(&texts).unwrap());
    // of a model of another kind none of this is needed
    let bench = Bench::new();
    bench.mirror.edit(|site| drop(site.files.insert(more[3].into(), b"{}".to_vec())));
    assert!(!bench.pull(REPO).unwrap().dir.join(more[3]).exists());
}

#[test]
fn one_gguf_file_by_name() {
    let bench = Bench::new();
    for name in ["tiny.gguf", "q4/tiny.gguf"] {
        bench.mirror.edit(|site| drop(site.files.insert(name.into(), name.as_bytes().to_vec())));
        let pulled = bench.pull(&format!("{REPO}:{name}")).unwrap();
        assert_eq!(std::fs::read(pulled.dir.join(name)).unwrap(), name.as_bytes());
        assert_eq!(fetched(&bench.mirror.requests()), [name.rsplit('/').next().unwrap()]);
        let found = bench.hub().find(&HubName::parse(&format!("{REPO}:{name}")).unwrap());
        assert_eq!(found, Some(pulled.dir));
    }
    assert_eq!(
        bench.hub().find(&HubName::parse(REPO).unwrap()),
        None,
        "the model itself is not there"
    );
    assert!(matches!(bench.refusal("org/tiny:no.gguf"), HubError::NoFile { .. }));
}

#[test]
fn revisions_are_kept_apart() {
    let bench = Bench::new();
    for revision in ["v1", "refs/pr/1", COMMIT] {
        let name = format!("{REPO}@{revision}");
        let pulled = bench.pull(&name).unwrap();
        assert_eq!(pulled.name, name);
        assert_eq!(bench.hub().find(&HubName::parse(&name).unwrap()), Some(pulled.dir));
    }
    assert_eq!(bench.hub().find(&HubName::parse(REPO).unwrap()), None);
    assert_eq!(std::fs::read_to_string(bench.repo().join("refs/refs/pr/1")).unwrap(), COMMIT);
    assert_eq!(bench.names("refs"), ["refs", "v1"], "a commit needs no name");
}

#[test]
fn a_hub_that_answers_nonsense_cannot_write_anywhere_else() {
    let bench = Bench::new();
    let outside = bench.cache.path().join("outside");
    let outside = outside.to_str().unwrap().to_owned();
    let up = "../../../../outside".to_owned();
    let sums = [String::new(), up.clone(), outside.clone(), "\"abc\"".into(), "A".repeat(64)];
    for sum in sums {
        bench.mirror.edit(|site| site.headers = [("etag", sum.clone())].into());
        let error = bench.refusal(REPO);
        assert!(matches!(error, HubError::Answer { lacks: "a checksum", .. }), "{sum}: {error}");
    }
    for commit in ["", "main", "../../../../outside", "0123456789ABCDEF0123456789ABCDEF01234567"] {
        bench.mirror.edit(|site| (site.headers, site.commit) = ([].into(), Some(commit)));
        let error = bench.refusal(REPO);
        assert!(matches!(error, HubError::Answer { lacks: "a commit", .. }), "{commit}: {error}");
    }
    bench.mirror.edit(|site| {
        site.commit = None;
        site.headers = [("x-linked-size", "many".into())].into();
    });
    assert!(matches!(bench.refusal(REPO), HubError::Answer { lacks: "its size", .. }));
    // less than announced, and more: neither is the file
    let len = bench.file("config.json").len();
    for size in [len - 1, len + 1] {
        let size = size.to_string();
        bench.mirror.edit(|site| site.headers = [("x-linked-size", size)].into());
        let error = bench.refusal(REPO);
        assert!(matches!(error, HubError::Checksum(_) | HubError::Connection { .. }), "{error}");
    }
    assert!(!Path::new(&outside).exists());
}

#[test]
fn a_hub_that_sends_us_in_circles_is_left() {
    let bench = Bench::new();
    bench.mirror.edit(|site| site.circle = true);
    let error = bench.refusal(REPO);
    assert!(matches!(error, HubError::Answer { lacks: "an end of redirections", .. }), "{error}");
    assert!(bench.mirror.requests().len() < 10);
}

#[test]
fn offline_means_that_nobody_is_asked() {
    let bench = Bench::new();
    let offline = bench.remote().offline(true);
    let error = bench.pull_from(&offline, REPO).unwrap_err();
    assert!(matches!(error, Error::Hub(HubError::Offline(name)) if name == REPO));
    let pulled = bench.pull(REPO).unwrap();
    bench.mirror.requests();
    assert_eq!(bench.pull_from(&offline, REPO).unwrap(), pulled);
    assert_eq!(bench.mirror.requests().len(), 0);
}

#[test]
fn an_address_that_is_none_is_refused() {
    let bench = Bench::new();
    for endpoint in ["", "hub", "ftp://127.0.0.1", "http://", "http://a b", "http://a?b=c", "/x"] {
        let error = bench.pull_from(&Remote::new(Some(endpoint.into()), None), REPO).unwrap_err();
        assert!(matches!(error, Error::Hub(HubError::Endpoint)), "{endpoint}: {error}");
    }
    // nobody listens here any more
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let remote = Remote::new(Some(format!("http://{closed}")), None);
    let error = bench.pull_from(&remote, REPO).unwrap_err();
    assert!(matches!(error, Error::Hub(HubError::Connection { .. })), "{error}");
}

#[test]
fn two_pulls_do_not_write_to_one_file() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.repo().join("blobs")).unwrap();
    let other = std::fs::File::create(bench.part(WEIGHTS)).unwrap();
    other.lock().unwrap();
    assert!(matches!(bench.refusal(REPO), HubError::Busy(file) if file == WEIGHTS));
    drop(other);
    bench.pull(REPO).unwrap();
}
