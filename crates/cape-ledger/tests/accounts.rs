//! Spending is counted exactly, whoever else spends.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use cape_ledger::{Cost, Each, Error, Ledger, Limit, Limits, Micros};
use common::{day, epsilon, fresh, in_total, place, trials};

/// Spends ε = 3 at a time until it is refused, and says how much that was.
async fn drain(ledger: Arc<Ledger>, who: String, limits: Limits) -> i64 {
    let who = ledger.spender(who.as_bytes());
    let mut spent = 0;
    loop {
        match ledger.spend(&who, Cost::new(2, 1.5), &limits, day(9)).await {
            Ok(receipt) => {
                assert_eq!(receipt.spent, Cost { draws: 2, epsilon: epsilon(3.0) });
                spent += 3_000_000;
            }
            Err(Error::Refused(refusal)) => {
                assert!(refusal.left < epsilon(3.0) && refusal.asked == epsilon(3.0));
                return spent;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn spenders_at_once_reach_a_limit_exactly() {
    // 40 is 13 times 3 and a rest that no spend fits in
    let most = Some(epsilon(40.0));
    let none = Limits::default();
    for (limits, keys, reached) in [
        (Limits { total: most, ..none }, 3, 39_000_000),
        (Limits { day: most, ..none }, 3, 39_000_000),
        (Limits { key: most, ..none }, 3, 3 * 39_000_000),
        (Limits { key_day: most, ..none }, 3, 3 * 39_000_000),
    ] {
        for trial in trials().await {
            // some share a ledger, as requests in one proxy; others have their own, as proxies do
            let mut tasks = Vec::new();
            for _ in 0..3 {
                let ledger = Arc::new(trial.open().await);
                for n in 0..4 {
                    let who = format!("key {}", n % keys);
                    tasks.push(tokio::spawn(drain(Arc::clone(&ledger), who, limits)));
                }
            }
            let mut reported = 0;
            for task in tasks {
                reported += task.await.unwrap();
            }
            assert_eq!((reported, trial.recorded().await), (reached, reached));
        }
    }
}

#[tokio::test]
async fn keys_and_days_have_accounts_of_their_own() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let (alice, bob) = (ledger.spender(b"alice"), ledger.spender(b"bob"));
        let some = |most| Some(epsilon(most));
        let limits =
            Limits { key_day: some(10.0), key: some(15.0), day: some(18.0), total: some(30.0) };
        let spend = async |who, tokens, today| {
            let spent = ledger.spend(who, Cost::new(tokens, 1.0), &limits, day(today)).await;
            match spent {
                Ok(receipt) => Ok(receipt.left),
                Err(Error::Refused(refusal)) => Err((refusal.limit, refusal.left)),
                Err(other) => panic!("{other:?}"),
            }
        };
        let left = |key_day, key, day, total| {
            Ok(Each { key_day: some(key_day), key: some(key), day: some(day), total: some(total) })
        };
        assert_eq!(spend(&alice, 9, 1).await, left(1.0, 6.0, 9.0, 21.0));
        assert_eq!(spend(&alice, 2, 1).await, Err((Limit::KeyDay, epsilon(1.0))));
        assert_eq!(spend(&bob, 9, 1).await, left(1.0, 6.0, 0.0, 12.0));
        assert_eq!(spend(&bob, 1, 1).await, Err((Limit::Day, Micros::ZERO)));
        assert_eq!(spend(&alice, 7, 2).await, Err((Limit::Key, epsilon(6.0))));
        assert_eq!(spend(&alice, 6, 2).await, left(4.0, 0.0, 12.0, 6.0));
        assert_eq!(spend(&bob, 6, 2).await, left(4.0, 0.0, 6.0, 0.0));
        let carol = ledger.spender(b"carol");
        assert_eq!(spend(&carol, 1, 3).await, Err((Limit::Total, Micros::ZERO)));
        assert_eq!(ledger.left(&carol, &limits, day(3)).await.map_err(drop), {
            left(10.0, 15.0, 18.0, 0.0).map_err(|(_, _): (Limit, Micros)| ())
        });

        let rows = trial.book().await.accounts().await.unwrap();
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (row.spender.as_str(), row.day.to_string(), row.releases, row.epsilon))
            .collect();
        let (alice, bob) = (alice.as_str(), bob.as_str());
        let row = |who, day: &str, spent| (who, day.to_owned(), 1, epsilon(spent));
        let mut wanted = vec![
            row(alice, "1970-01-02", 9.0),
            row(bob, "1970-01-02", 9.0),
            row(alice, "1970-01-03", 6.0),
            row(bob, "1970-01-03", 6.0),
        ];
        wanted.sort_by(|a, b| (&a.1, a.0).cmp(&(&b.1, b.0)));
        assert_eq!(rows, wanted);
    }
}

#[tokio::test]
async fn what_is_refused_leaves_no_trace() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let who = ledger.spender(b"alice");
        let (small, large) = (place(&ledger, "alice", "small"), place(&ledger, "alice", "large"));
        let both = vec![fresh(small, "petit", 1), fresh(large, "grand", 9)];
        let refused = ledger.release(&who, both, &in_total(10.0), day(1)).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
        assert_eq!(trial.recorded().await, 0);
        assert_eq!(trial.book().await.remembered().await.unwrap(), 0);
        let again = vec![fresh(small, "petit", 1)];
        let receipt = ledger.release(&who, again, &in_total(10.0), day(1)).await.unwrap();
        assert_eq!(receipt.texts, ["petit"]);
    }
}

#[tokio::test]
async fn what_cannot_be_counted_is_refused_without_any_limit() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let who = ledger.spender(b"alice");
        let spend = async |tokens, per_token| {
            ledger.spend(&who, Cost::new(tokens, per_token), &Limits::default(), day(1)).await
        };
        for (tokens, per_token) in
            [(1, f64::INFINITY), (1, f64::NAN), (u64::MAX, 1e-9), (1 << 40, 1e9), (1, -1.0)]
        {
            let refused = spend(tokens, per_token).await;
            assert!(matches!(refused, Err(Error::Refused(_))), "{tokens} × {per_token}");
        }
        assert_eq!(trial.recorded().await, 0);
        // an account that is nearly full takes what fits, and no more
        spend(9_000_000, 1e6).await.unwrap();
        assert!(matches!(spend(1_000_000, 1e6).await, Err(Error::Refused(_))));
        spend(1, 1.0).await.unwrap();
        assert_eq!(trial.recorded().await, 9_000_000_000_001_000_000);
    }
}

#[tokio::test]
async fn an_account_that_was_spoilt_stops_everything() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let who = ledger.spender(b"alice");
        let spend =
            async || ledger.spend(&who, Cost::new(1, 1.0), &Limits::default(), day(1)).await;
        spend().await.unwrap();
        trial.tamper(&format!("UPDATE cape_account SET micros = {}", i64::MAX)).await;
        assert!(matches!(spend().await, Err(Error::Damaged(_))));
        trial.tamper("DELETE FROM cape_account").await;
        assert!(matches!(spend().await, Err(Error::Damaged(_))));
    }
}

/// Writes to a file that is no longer there would be lost at the next start.
#[cfg(unix)]
#[tokio::test]
async fn a_file_that_was_taken_away_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ledger.db");
    let key = cape_ledger::Key::open(&dir.path().join("key")).unwrap();
    let ledger = Ledger::open(file.to_str().unwrap(), key).await.unwrap();
    let who = ledger.spender(b"alice");
    let spend = async || ledger.spend(&who, Cost::new(1, 1.0), &Limits::default(), day(1)).await;
    assert!(spend().await.is_ok());
    std::fs::rename(&file, dir.path().join("away")).unwrap();
    assert!(matches!(spend().await, Err(Error::Damaged(_))));
    std::fs::write(&file, "").unwrap();
    assert!(matches!(spend().await, Err(Error::Damaged(_))));
}
