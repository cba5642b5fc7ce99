//! Upstream's answers are sent again in the same words, and nobody else can read them.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{LASTING, Trial, day, draws, pay, place, trials};
use cape_ledger::{Answer, Book, Day, Error, Forget, Key, Ledger, Limits};

async fn remember(ledger: &Ledger, place: cape_ledger::Place, text: &str, today: u64) {
    let answer = Answer { place, text: text.to_owned() };
    ledger.remember(&[answer], day(today)).await.unwrap();
}

#[tokio::test]
async fn an_answer_is_recalled_at_its_place_and_stays_as_it_is() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let here = place(&ledger, "alice", "hello");
        assert_eq!(ledger.recall(&here, day(1)).await.unwrap(), None);
        remember(&ledger, here, "bonjour", 1).await;
        remember(&ledger, here, "salut", 1).await;
        // of another account, of another proxy
        let other = place(&ledger, "bob", "hello");
        let ledger = trial.open().await;
        assert_eq!(ledger.recall(&here, day(1)).await.unwrap().as_deref(), Some("bonjour"));
        assert_eq!(ledger.recall(&other, day(1)).await.unwrap(), None);
        assert_eq!(
            (trial.recorded().await, trial.book().await.remembered().await.unwrap()),
            (0, 1)
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_not_used_is_forgotten() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let (used, unused) = (place(&ledger, "alice", "used"), place(&ledger, "alice", "unused"));
        remember(&ledger, used, "a", 100).await;
        remember(&ledger, unused, "b", 100).await;
        assert!(ledger.recall(&used, day(120)).await.unwrap().is_some());
        assert_eq!(ledger.forget_answers(Day::of(day(130)).before(30)).await.unwrap(), 0);
        assert_eq!(ledger.forget_answers(Day::of(day(131)).before(30)).await.unwrap(), 1);
        assert_eq!(ledger.recall(&used, day(131)).await.unwrap().as_deref(), Some("a"));
        assert_eq!(ledger.recall(&unused, day(131)).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_row_that_was_tampered_with_is_refused() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let (one, other) = (place(&ledger, "alice", "one"), place(&ledger, "alice", "other"));
        remember(&ledger, one, "un", 1).await;
        remember(&ledger, other, "autre", 1).await;
        let refused =
            async |place| matches!(ledger.recall(&place, day(1)).await, Err(Error::Damaged(_)));
        assert!(!refused(one).await && !refused(other).await);
        // one gets the text of the other, which keeps its own
        let moved = "UPDATE cape_memory SET sealed = (SELECT sealed FROM cape_memory ORDER BY place LIMIT 1)";
        trial.tamper(moved).await;
        assert_ne!(refused(one).await, refused(other).await);
        trial.tamper("UPDATE cape_memory SET sealed = place").await;
        assert!(refused(one).await && refused(other).await);
    }
}

#[tokio::test]
async fn a_ledger_wants_its_own_key() {
    for trial in trials().await {
        trial.open().await;
        let other = Key::open(&trial.dir.path().join("other")).unwrap();
        let refused = Ledger::open(&trial.url, other).await;
        assert!(matches!(refused, Err(Error::WrongKey)), "{refused:?}");
        trial.open().await;
    }
}

#[tokio::test]
async fn a_ledger_of_another_version_is_left_alone() {
    for trial in trials().await {
        trial.open().await;
        trial.tamper("UPDATE cape_ledger SET version = 4").await;
        assert!(matches!(Ledger::open(&trial.url, trial.key()).await, Err(Error::Newer(4))));
        assert!(matches!(Book::open(&trial.url).await, Err(Error::Newer(4))));
        trial.tamper("UPDATE cape_ledger SET version = 2").await;
        assert!(matches!(Ledger::open(&trial.url, trial.key()).await, Err(Error::Older(2))));
        let refused = Book::open(&trial.url).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the ledger has version 2, which this program does not read any more"
        );
    }
}

#[tokio::test]
async fn a_reader_makes_no_ledger() {
    for trial in trials().await {
        let refused = Book::open(&trial.url).await;
        if trial.is_sqlite() {
            assert!(matches!(refused, Err(Error::NoFile(_))), "{refused:?}");
            std::fs::write(&trial.url, "").unwrap();
        }
        assert!(matches!(Book::open(&trial.url).await, Err(Error::NoLedger)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn proxies_that_start_together_make_one_ledger() {
    for trial in trials().await {
        let trial = Arc::new(trial);
        let tasks: Vec<_> = (0..8)
            .map(|n| {
                let trial = Arc::clone(&trial);
                tokio::spawn(async move {
                    let ledger = trial.open().await;
                    let (account, word) = (ledger.account(b"alice", ""), n.to_string());
                    pay(&ledger, &account, &[&word], &Limits::default(), day(1)).await.unwrap();
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(trial.recorded().await, 8 * 1_500_000);
    }
}

#[tokio::test]
async fn a_request_that_is_given_up_is_spent_and_written_down_or_neither() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let (account, limits) = (ledger.account(b"alice", ""), Limits::default());
        let mut sent = 0;
        for n in 0..60 {
            let words = [n.to_string(), format!("and {n}")];
            let words = words.each_ref().map(String::as_str);
            let paid = pay(&ledger, &account, &words, &limits, day(1));
            // given up at another moment each time, the last ones hardly ever
            let patience = Duration::from_micros(100 * n * (1 + n / 20));
            sent += i64::from(matches!(tokio::time::timeout(patience, paid).await, Ok(Ok(_))));
        }
        // it goes on, and whoever was given up is through by then
        pay(&ledger, &account, &["fin", "end"], &limits, day(1)).await.unwrap();
        let recorded = trial.recorded().await;
        // one row is that of the map
        let written = trial.number("SELECT count(*) FROM cape_draw").await - 1;
        assert_eq!(recorded, written * 1_500_000);
        assert!(recorded >= (sent + 1) * 3_000_000, "{recorded}, {sent} sent");
    }
}

#[tokio::test]
async fn neither_text_nor_api_key_is_in_the_files() {
    let trial = Trial::sqlite();
    let ledger = trial.open().await;
    let account = ledger.account(b"sk-canary", "canary@example.org");
    let who = account.spender().clone();
    let here = place(&ledger, "sk-canary", "the original canary");
    remember(&ledger, here, "the answer's canary", 1).await;
    let asked = draws(LASTING, &["canary"]);
    let receipt = ledger.charge(&account, &asked, 1.0, &Limits::default(), day(1)).await.unwrap();
    let word = [b"canary".to_vec()];
    ledger.forget(account.name(), Forget::Words(&word)).await.unwrap();
    let answer = Answer { place: here, text: "canary".into() };
    let shown = format!(
        "{who:?} {account:?} {here:?} {receipt:?} {ledger:?} {answer:?} {asked:?} {:?}",
        Forget::Words(&word)
    );
    assert!(!shown.contains("canary"), "{shown}");
    let mut seen = 0;
    for file in std::fs::read_dir(trial.dir.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(6).any(|bytes| bytes == b"canary"));
        seen += usize::from(bytes.windows(12).any(|bytes| bytes == &who.as_str().as_bytes()[..12]));
    }
    assert!(seen > 0, "what is in the files was looked at");
}

#[cfg(unix)]
#[tokio::test]
async fn files_have_any_name_and_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let key = || Key::open(&dir.path().join("key")).unwrap();
    for (scheme, name) in
        [("", "a b"), ("", "50%20?mode=ro&x#y"), ("sqlite:", "größe"), ("sqlite://", "'; --")]
    {
        let path = dir.path().join(name);
        let url = format!("{scheme}{}", path.to_str().unwrap());
        Ledger::open(&url, key()).await.unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let elsewhere = Ledger::open("mysql://me:canary@127.0.0.1/x", key()).await.unwrap_err();
    assert!(matches!(elsewhere, Error::Scheme) && !format!("{elsewhere:?}").contains("canary"));
    #[cfg(not(feature = "postgres"))]
    for scheme in ["postgres", "postgresql"] {
        let url = format!("{scheme}://me:canary@127.0.0.1/x");
        let without = Ledger::open(&url, key()).await.unwrap_err();
        assert!(matches!(without, Error::NoPostgres) && !format!("{without:?}").contains("canary"));
    }
}
