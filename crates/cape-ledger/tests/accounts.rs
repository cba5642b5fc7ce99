//! Spending is counted exactly, whoever else spends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{LASTING, day, draws, epsilon, in_total, pay, trials};
use cape_ledger::{Account, Cost, Each, Error, Ledger, Limit, Limits, Micros, Over, Receipt};

/// Pays for so many draws that nobody has paid for, at the same loss each.
async fn spend(
    ledger: &Ledger,
    account: &Account,
    count: u64,
    per_draw: f64,
    limits: &Limits,
    today: u64,
) -> Result<Receipt, Error> {
    static SAID: AtomicU64 = AtomicU64::new(0);
    let words: Vec<String> =
        (0..count).map(|_| SAID.fetch_add(1, Ordering::Relaxed).to_string()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    ledger.charge(account, &draws(LASTING, &words), per_draw, limits, day(today)).await
}

/// Spends ε = 3 at a time until it is refused, and says how much that was.
async fn drain(ledger: Arc<Ledger>, who: String, limits: Limits) -> i64 {
    let account = ledger.account(who.as_bytes(), "");
    let mut spent = 0;
    loop {
        match spend(&ledger, &account, 2, 1.5, &limits, 9).await {
            Ok(receipt) => {
                assert_eq!((receipt.spent.draws, receipt.spent.epsilon), (2, epsilon(3.0)));
                spent += 3_000_000;
            }
            Err(Error::Refused(refusal)) => {
                let Over::Epsilon { draws, asked, left } = refusal.over else { panic!() };
                assert!(left < epsilon(3.0) && asked == epsilon(3.0) && draws == 2);
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
async fn keys_and_days_are_counted_apart_and_users_are_not() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let (alice, bob) = (ledger.account(b"alice", ""), ledger.account(b"bob", ""));
        let also_alice = ledger.account(b"alice", "another user of that key");
        let some = |most| Some(epsilon(most));
        let limits = Limits {
            key_day: some(10.0),
            key: some(15.0),
            day: some(18.0),
            total: some(30.0),
            maps: Each::default(),
        };
        let spend = async |who: &Account, count, today| match spend(
            &ledger, who, count, 1.0, &limits, today,
        )
        .await
        {
            Ok(_) => Ok(ledger.left(who.spender(), &limits, day(today)).await.unwrap()),
            Err(Error::Refused(refusal)) => {
                let Over::Epsilon { left, .. } = refusal.over else { panic!() };
                Err((refusal.limit, left))
            }
            Err(other) => panic!("{other:?}"),
        };
        let left = |key_day, key, day, total| {
            let (key_day, key, day, total) = (some(key_day), some(key), some(day), some(total));
            Ok(Limits { key_day, key, day, total, maps: Each::default() })
        };
        assert_eq!(spend(&alice, 5, 1).await, left(5.0, 10.0, 13.0, 25.0));
        assert_eq!(spend(&also_alice, 4, 1).await, left(1.0, 6.0, 9.0, 21.0));
        assert_eq!(spend(&also_alice, 2, 1).await, Err((Limit::KeyDay, epsilon(1.0))));
        assert_eq!(spend(&bob, 9, 1).await, left(1.0, 6.0, 0.0, 12.0));
        assert_eq!(spend(&bob, 1, 1).await, Err((Limit::Day, Micros::ZERO)));
        assert_eq!(spend(&alice, 7, 2).await, Err((Limit::Key, epsilon(6.0))));
        assert_eq!(spend(&alice, 6, 2).await, left(4.0, 0.0, 12.0, 6.0));
        assert_eq!(spend(&bob, 6, 2).await, left(4.0, 0.0, 6.0, 0.0));
        let carol = ledger.account(b"carol", "");
        assert_eq!(spend(&carol, 1, 3).await, Err((Limit::Total, Micros::ZERO)));

        let rows = trial.book().await.spending().await.unwrap();
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (row.spender.as_str(), row.day.to_string(), row.releases, row.cost))
            .collect();
        let (alice, bob) = (alice.spender().as_str(), bob.spender().as_str());
        let row = |who, day: &str, releases, draws, maps| {
            (who, day.to_owned(), releases, Cost { maps, ..Cost::new(draws, 1.0) })
        };
        let mut wanted = vec![
            row(alice, "1970-01-02", 2, 9, 2),
            row(bob, "1970-01-02", 1, 9, 1),
            row(alice, "1970-01-03", 1, 6, 0),
            row(bob, "1970-01-03", 1, 6, 0),
        ];
        wanted.sort_by(|a, b| (&a.1, a.0).cmp(&(&b.1, b.0)));
        assert_eq!(rows, wanted);
    }
}

#[tokio::test]
async fn what_is_refused_leaves_no_trace() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let account = ledger.account(b"alice", "");
        let many = ["a", "b", "c", "d", "e", "f", "g"];
        let refused = pay(&ledger, &account, &many, &in_total(10.0), day(1)).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
        assert_eq!(trial.recorded().await, 0);
        assert_eq!(trial.number("SELECT count(*) FROM cape_draw").await, 0);
        assert_eq!(trial.number("SELECT count(*) FROM cape_generation").await, 0);
        let spent = pay(&ledger, &account, &many[..6], &in_total(10.0), day(1)).await.unwrap();
        assert_eq!(spent, Cost { maps: 1, ..Cost::new(6, 1.5) });
    }
}

#[tokio::test]
async fn what_cannot_be_counted_is_refused_without_any_limit() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let account = ledger.account(b"alice", "");
        let spend = async |count, per_draw| {
            spend(&ledger, &account, count, per_draw, &Limits::default(), 1).await
        };
        for (count, per_draw) in
            [(1, f64::INFINITY), (1, f64::NAN), (1, 1e12), (10_000, 1e9), (1, -1.0)]
        {
            let refused = spend(count, per_draw).await;
            assert!(matches!(refused, Err(Error::Refused(_))), "{count} × {per_draw}");
        }
        assert_eq!(trial.recorded().await, 0);
        // an account that is nearly full takes what fits, and no more
        spend(9_000, 1e9).await.unwrap();
        assert!(matches!(spend(1_000, 1e9).await, Err(Error::Refused(_))));
        spend(1, 1.0).await.unwrap();
        assert_eq!(trial.recorded().await, 9_000_000_000_001_000_000);
    }
}

#[tokio::test]
async fn an_account_that_was_spoilt_stops_everything() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let account = ledger.account(b"alice", "");
        let spend = async || spend(&ledger, &account, 1, 1.0, &Limits::default(), 1).await;
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
    let account = ledger.account(b"alice", "");
    let spend = async || spend(&ledger, &account, 1, 1.0, &Limits::default(), 1).await;
    assert!(spend().await.is_ok());
    std::fs::rename(&file, dir.path().join("away")).unwrap();
    assert!(matches!(spend().await, Err(Error::Damaged(_))));
    std::fs::write(&file, "").unwrap();
    assert!(matches!(spend().await, Err(Error::Damaged(_))));
}
