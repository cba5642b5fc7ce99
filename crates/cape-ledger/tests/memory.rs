//! A message is sent again in the same words, and nobody else can read it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use cape_ledger::{Book, Cost, Day, Error, Key, Ledger, Limits};
use common::{Trial, day, fresh, in_total, place, trials};

#[tokio::test]
async fn a_conversation_that_grows_costs_what_is_new() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let who = ledger.spender(b"alice");
        let said = ["my dog has asthma", "he is nine", "what now?"];
        let mut sent: Vec<String> = Vec::new();
        for turn in 1..=said.len() {
            let mut conversation = ledger.conversation(&who, "ε 1.5");
            let (mut texts, mut new) = (Vec::new(), Vec::new());
            for (n, text) in said[..turn].iter().enumerate() {
                let place = conversation.next("user", text);
                match ledger.recall(&place, day(1)).await.unwrap() {
                    Some(text) => texts.push(text),
                    None => new.push(fresh(place, &format!("draw {turn}.{n}"), 4)),
                }
                conversation.next("assistant", &format!("answer {n}"));
            }
            let receipt = ledger.release(&who, new, &Limits::default(), day(1)).await.unwrap();
            assert_eq!(receipt.spent, Cost::new(4, 1.5));
            texts.extend(receipt.texts);
            assert_eq!(texts[..turn - 1], sent);
            sent = texts;
        }
        assert_eq!(sent, ["draw 1.0", "draw 2.1", "draw 3.2"]);
        assert_eq!(trial.recorded().await, 3 * 6_000_000);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_draws_for_one_message_one_is_sent() {
    for trial in trials().await {
        for round in 0..10 {
            let message = format!("message {round}");
            let mut tasks = Vec::new();
            for n in 0..4 {
                let ledger = Arc::new(trial.open().await);
                let place = place(&ledger, "alice", &message);
                tasks.push(tokio::spawn(async move {
                    let who = ledger.spender(b"alice");
                    let drawn = vec![fresh(place, &format!("draw {n}"), 2)];
                    ledger.release(&who, drawn, &in_total(30.0), day(1)).await.unwrap()
                }));
            }
            let mut receipts = Vec::new();
            for task in tasks {
                receipts.push(task.await.unwrap());
            }
            assert!(receipts.iter().all(|receipt| receipt.texts == receipts[0].texts));
            let paid = receipts.iter().filter(|receipt| receipt.spent == Cost::new(2, 1.5));
            assert_eq!(paid.count(), 1);
            let free = receipts.iter().filter(|receipt| receipt.spent == Cost::default());
            assert_eq!(free.count(), 3);
        }
        // all of the budget, and none of it twice
        assert_eq!(trial.recorded().await, 30_000_000);
    }
}

#[tokio::test]
async fn what_is_remembered_may_be_sent_when_nothing_is_left() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let who = ledger.spender(b"alice");
        let here = place(&ledger, "alice", "hello");
        let send = async |text| {
            ledger.release(&who, vec![fresh(here, text, 2)], &in_total(3.0), day(1)).await.unwrap()
        };
        assert_eq!(send("first").await.texts, ["first"]);
        assert_eq!(send("second").await.texts, ["first"]);
        assert_eq!(trial.recorded().await, 3_000_000);
    }
}

#[tokio::test]
async fn keys_do_not_see_what_others_said() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let (alice, bob) = (place(&ledger, "alice", "hello"), place(&ledger, "bob", "hello"));
        let who = ledger.spender(b"alice");
        let said = vec![fresh(alice, "bonjour", 1)];
        ledger.release(&who, said, &Limits::default(), day(1)).await.unwrap();
        assert_eq!(ledger.recall(&alice, day(1)).await.unwrap().as_deref(), Some("bonjour"));
        assert_eq!(ledger.recall(&bob, day(1)).await.unwrap(), None);
    }
}

#[tokio::test]
async fn what_is_not_used_is_forgotten_and_costs_again() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let who = ledger.spender(b"alice");
        let (used, unused) = (place(&ledger, "alice", "used"), place(&ledger, "alice", "unused"));
        let send = async |place, text, today| {
            let said = vec![fresh(place, text, 1)];
            let sent = ledger.release(&who, said, &Limits::default(), day(today)).await;
            sent.unwrap().texts.remove(0)
        };
        send(used, "a", 100).await;
        send(unused, "b", 100).await;
        assert!(ledger.recall(&used, day(120)).await.unwrap().is_some());
        assert_eq!(ledger.forget(Day::of(day(130)).before(30)).await.unwrap(), 0);
        assert_eq!(ledger.forget(Day::of(day(131)).before(30)).await.unwrap(), 1);
        assert_eq!(ledger.recall(&used, day(131)).await.unwrap().as_deref(), Some("a"));
        assert_eq!(ledger.recall(&unused, day(131)).await.unwrap(), None);
        assert_eq!(send(unused, "c", 131).await, "c");
        assert_eq!(trial.recorded().await, 3 * 1_500_000);
    }
}

#[tokio::test]
async fn a_row_that_was_tampered_with_is_refused() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let who = ledger.spender(b"alice");
        let (one, other) = (place(&ledger, "alice", "one"), place(&ledger, "alice", "other"));
        let said = vec![fresh(one, "un", 1), fresh(other, "autre", 1)];
        ledger.release(&who, said, &Limits::default(), day(1)).await.unwrap();
        let spent = trial.recorded().await;
        let refused = async |place| {
            let recalled = ledger.recall(&place, day(1)).await;
            let again = vec![fresh(place, "neuf", 1)];
            let released = ledger.release(&who, again, &Limits::default(), day(1)).await;
            let damaged = matches!(recalled, Err(Error::Damaged(_)));
            assert_eq!(matches!(released, Err(Error::Damaged(_))), damaged, "{released:?}");
            damaged
        };
        assert!(!refused(one).await && !refused(other).await);
        // one gets the text of the other, which keeps its own
        let moved = "UPDATE cape_memory SET sealed = (SELECT sealed FROM cape_memory ORDER BY place LIMIT 1)";
        trial.tamper(moved).await;
        assert_ne!(refused(one).await, refused(other).await);
        trial.tamper("UPDATE cape_memory SET sealed = place").await;
        assert!(refused(one).await && refused(other).await);
        assert_eq!(trial.recorded().await, spent);
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
async fn a_ledger_of_the_future_is_left_alone() {
    for trial in trials().await {
        trial.open().await;
        trial.tamper("UPDATE cape_ledger SET version = 2").await;
        assert!(matches!(Ledger::open(&trial.url, trial.key()).await, Err(Error::Newer(2))));
        assert!(matches!(Book::open(&trial.url).await, Err(Error::Newer(2))));
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
            .map(|_| {
                let trial = Arc::clone(&trial);
                tokio::spawn(async move {
                    let ledger = trial.open().await;
                    let who = ledger.spender(b"alice");
                    let cost = Cost::new(1, 1.0);
                    ledger.spend(&who, cost, &Limits::default(), day(1)).await.unwrap();
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(trial.recorded().await, 8_000_000);
    }
}

#[tokio::test]
async fn a_request_that_is_given_up_is_spent_and_remembered_or_neither() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let who = ledger.spender(b"alice");
        let mut sent = 0;
        for n in 0..60 {
            let here = place(&ledger, "alice", &n.to_string());
            let said = vec![fresh(here, "bonjour", 2)];
            let limits = Limits::default();
            let release = ledger.release(&who, said, &limits, day(1));
            // given up at another moment each time, the last ones hardly ever
            let patience = Duration::from_micros(100 * n * (1 + n / 20));
            sent += i64::from(matches!(tokio::time::timeout(patience, release).await, Ok(Ok(_))));
        }
        // it goes on, and whoever was given up is through by then
        let here = place(&ledger, "alice", "last");
        let said = vec![fresh(here, "fin", 2)];
        ledger.release(&who, said, &Limits::default(), day(1)).await.unwrap();
        let recorded = trial.recorded().await;
        let remembered = trial.book().await.remembered().await.unwrap();
        assert_eq!(recorded, i64::try_from(remembered).unwrap() * 3_000_000);
        assert!(recorded >= (sent + 1) * 3_000_000, "{recorded}, {sent} sent");
    }
}

#[tokio::test]
async fn neither_text_nor_api_key_is_in_the_files() {
    let trial = Trial::sqlite();
    let ledger = trial.open().await;
    let who = ledger.spender(b"sk-canary");
    let here = place(&ledger, "sk-canary", "the original canary");
    let said = vec![fresh(here, "the released canary", 1)];
    let receipt = ledger.release(&who, said, &Limits::default(), day(1)).await.unwrap();
    let shown = format!("{who:?} {here:?} {receipt:?} {ledger:?} {:?}", fresh(here, "canary", 1));
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
}
