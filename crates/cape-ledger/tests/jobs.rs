//! Jobs reserve their draws before they start, and give back what they never drew.

use std::collections::HashSet;
use std::sync::Arc;

use crate::common::{EACH, Trial, day, in_total, pay, trials};
use cape_ledger::{Cost, Each, Error, Ledger, Limits, Reservation};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

async fn reserve(
    ledger: &Ledger,
    who: &str,
    job: &str,
    draws: u64,
    limits: &Limits,
) -> Result<Reservation, Error> {
    let account = ledger.account(who.as_bytes(), "");
    ledger.reserve(&account, job, draws, EACH, limits, day(1)).await
}

fn cost(draws: u64, maps: u64) -> Cost {
    Cost { maps, ..Cost::new(draws, EACH) }
}

/// Draws and maps of all keys and days.
async fn counted(trial: &Trial) -> (i64, i64) {
    let of = async |column: &str| {
        let all = "FROM cape_account WHERE spender = '' AND day = -1";
        trial.number(&format!("SELECT {column} {all}")).await
    };
    (of("draws").await, of("maps").await)
}

#[tokio::test]
async fn a_job_is_reserved_once_and_settled_once() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let none = Limits::default();
        let first = reserve(&ledger, "alice", "job", 100, &none).await.unwrap();
        assert_eq!(first.spent, cost(100, 1));
        // it goes on after a crash, in another process
        let again = reserve(&trial.open().await, "alice", "job", 100, &none).await.unwrap();
        assert_eq!((again.secret, again.spent), (first.secret, Cost::default()));
        assert_eq!(again.name, first.name);
        assert_eq!(trial.recorded().await, 150_000_000);
        // another job has another map, though it be the same account's
        let other = reserve(&ledger, "alice", "another job", 5, &none).await.unwrap();
        assert_ne!(other.secret, first.secret);
        assert_eq!(counted(&trial).await, (105, 2));

        let jobs = trial.book().await.jobs().await.unwrap();
        let seen: HashSet<_> =
            jobs.iter().map(|job| (job.name.as_str(), job.reserved.draws)).collect();
        assert_eq!(seen, [(first.name.as_str(), 100), (other.name.as_str(), 5)].into());
        assert!(jobs.iter().any(|job| job.reserved == cost(100, 1)));
        // the day of the reservation gets back what was never drawn, whenever that is
        assert_eq!(ledger.settle("job", 40).await.unwrap(), cost(60, 0));
        assert_eq!((trial.recorded().await, counted(&trial).await), (67_500_000, (45, 2)));
        // a second settlement gives nothing back, and cannot tell another number
        assert_eq!(ledger.settle("job", 40).await.unwrap(), Cost::default());
        for wrong in [0, 39, 41, 100, 101] {
            assert!(matches!(ledger.settle("job", wrong).await, Err(Error::Settled)), "{wrong}");
        }
        // and there is nothing to draw from any more
        assert!(matches!(reserve(&ledger, "alice", "job", 100, &none).await, Err(Error::Settled)));
        let maps = "SELECT count(*) FROM cape_job WHERE length(map) > 0";
        assert_eq!((trial.number(maps).await, trial.recorded().await), (1, 67_500_000));
        assert_eq!(trial.book().await.jobs().await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn what_is_no_such_job_is_refused_and_changes_nothing() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let none = Limits::default();
        reserve(&ledger, "alice", "job", 10, &none).await.unwrap();
        let (alice, bob) = (ledger.account(b"alice", ""), ledger.account(b"bob", ""));
        let also_alice = ledger.account(b"alice", "a user");
        for (account, draws, each) in [
            (&bob, 10, EACH),
            (&also_alice, 10, EACH),
            (&alice, 9, EACH),
            (&alice, 11, EACH),
            (&alice, 10, 2.0),
        ] {
            let refused = ledger.reserve(account, "job", draws, each, &none, day(1)).await;
            assert!(matches!(refused, Err(Error::OtherJob)), "{refused:?}");
        }
        // more than was reserved, or what was never reserved
        assert!(matches!(ledger.settle("job", 11).await, Err(Error::Overdrawn)));
        assert!(matches!(ledger.settle("jo", 1).await, Err(Error::NotFound("job"))));
        // a loss that cannot be counted
        let refused = ledger.reserve(&alice, "x", 1, f64::INFINITY, &none, day(1)).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
        let refused = ledger.reserve(&alice, "x", u64::MAX, 0.0, &none, day(1)).await;
        assert!(matches!(refused, Err(Error::Overdrawn)), "{refused:?}");
        assert_eq!((trial.recorded().await, counted(&trial).await), (15_000_000, (10, 1)));
        assert_eq!(trial.number("SELECT count(*) FROM cape_job").await, 1);
    }
}

#[tokio::test]
async fn a_job_over_a_limit_does_not_start() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let limits = in_total(30.0);
        pay(&ledger, &ledger.account(b"alice", ""), &["a", "b"], &limits, day(1)).await.unwrap();
        let refused = reserve(&ledger, "bob", "job", 19, &limits).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
        assert_eq!(trial.number("SELECT count(*) FROM cape_job").await, 0);
        reserve(&ledger, "bob", "job", 18, &limits).await.unwrap();
        // while it is open nothing is left for anybody, and it goes on though nothing is left
        let account = ledger.account(b"alice", "");
        assert!(pay(&ledger, &account, &["c"], &limits, day(1)).await.is_err());
        assert_eq!(
            reserve(&ledger, "bob", "job", 18, &limits).await.unwrap().spent,
            Cost::default()
        );
        ledger.settle("job", 17).await.unwrap();
        pay(&ledger, &account, &["c"], &limits, day(1)).await.unwrap();
        assert!(pay(&ledger, &account, &["d"], &limits, day(1)).await.is_err());
        // the map of a job counts, and is not given back
        let maps = Limits { maps: Each { key: Some(1), ..Each::default() }, ..Limits::default() };
        ledger.settle("job", 17).await.unwrap();
        let refused = reserve(&ledger, "bob", "second", 0, &maps).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn an_administrator_settles_what_crashed() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let none = Limits::default();
        let names: Vec<String> = {
            let mut names = Vec::new();
            for job in ["one", "two", "three"] {
                names.push(reserve(&ledger, "alice", job, 10, &none).await.unwrap().name);
            }
            names
        };
        let named = async |name: &str, draws| ledger.settle_named(name, draws).await;
        // nobody knows how far it came: all of it stays spent
        assert_eq!(named(&names[0][..12], None).await.unwrap(), Cost::default());
        assert_eq!(named(&names[1], Some(0)).await.unwrap(), cost(10, 0));
        assert!(matches!(named(&names[2], Some(11)).await, Err(Error::Overdrawn)));
        assert!(matches!(named(&names[0], None).await, Err(Error::NotFound(_))));
        for wrong in ["", "1234567", "%%%%%%%%"] {
            assert!(matches!(named(wrong, None).await, Err(Error::Name)), "{wrong}");
        }
        assert_eq!(counted(&trial).await, (20, 3));
        let open = trial.book().await.jobs().await.unwrap();
        assert_eq!(open.iter().map(|job| &job.name).collect::<Vec<_>>(), [&names[2]]);
        // what was settled by hand is settled for the job as well
        assert!(matches!(ledger.settle("one", 3).await, Err(Error::Settled)));
    }
}

#[tokio::test]
async fn a_job_that_was_tampered_with_is_noticed() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let again = async || reserve(&ledger, "alice", "job", 10, &Limits::default()).await;
        again().await.unwrap();
        trial.tamper("UPDATE cape_job SET map = substr(map, 1, 5)").await;
        assert!(matches!(again().await, Err(Error::Damaged(_))));
        trial.tamper("DELETE FROM cape_account WHERE spender <> '' AND day = -1").await;
        assert!(matches!(ledger.settle("job", 3).await, Err(Error::Damaged(_))));
    }
}

/// One step of some jobs and of a proxy beside them.
#[derive(Clone, Copy, Debug)]
enum Step {
    Reserve { job: usize, draws: u64 },
    Settle { job: usize, draws: u64 },
    Pay { word: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (job, draws) = (0..4_usize, 0..12_u64);
    let step = prop_oneof![
        (job.clone(), draws.clone()).prop_map(|(job, draws)| Step::Reserve { job, draws }),
        (job, draws).prop_map(|(job, draws)| Step::Settle { job, draws }),
        (0..30_usize).prop_map(|word| Step::Pay { word }),
    ];
    proptest::collection::vec(step, 0..24)
}

/// The accounts hold what a few lines of arithmetic say, whatever the order of steps.
#[test]
fn accounts_are_the_sum_of_open_jobs_settled_draws_and_words() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config { cases: 40, ..Config::default() });
    runner
        .run(&steps(), |steps| {
            runtime.block_on(async {
                let trial = Trial::sqlite();
                let ledger = trial.open().await;
                let limits = in_total(40.0 * EACH);
                // (reserved, made) of each job; the words that were paid for
                let mut jobs = [None::<(u64, Option<u64>)>; 4];
                let mut words = HashSet::new();
                let account = ledger.account(b"alice", "");
                for step in steps {
                    let spent: u64 = words.len() as u64
                        + jobs
                            .iter()
                            .flatten()
                            .map(|(all, made)| made.unwrap_or(*all))
                            .sum::<u64>();
                    let fits = |draws| spent + draws <= 40;
                    let (done, expected) = match step {
                        Step::Reserve { job, draws } => {
                            let expected = match jobs[job] {
                                None => fits(draws),
                                Some((all, made)) => made.is_none() && all == draws,
                            };
                            if expected && jobs[job].is_none() {
                                jobs[job] = Some((draws, None));
                            }
                            let id = format!("job {job}");
                            let now = day(job as u64);
                            let done =
                                ledger.reserve(&account, &id, draws, EACH, &limits, now).await;
                            (done.is_ok(), expected)
                        }
                        Step::Settle { job, draws } => {
                            let expected = jobs[job].is_some_and(|(all, made)| {
                                made.map_or(draws <= all, |made| made == draws)
                            });
                            if expected && let Some((_, made)) = &mut jobs[job] {
                                *made = Some(draws);
                            }
                            (ledger.settle(&format!("job {job}"), draws).await.is_ok(), expected)
                        }
                        Step::Pay { word } => {
                            let expected = words.contains(&word) || fits(1);
                            if expected {
                                words.insert(word);
                            }
                            let text = word.to_string();
                            (
                                pay(&ledger, &account, &[&text], &limits, day(9)).await.is_ok(),
                                expected,
                            )
                        }
                    };
                    prop_assert_eq!(done, expected, "{:?}", step);
                }
                let spent: u64 = words.len() as u64
                    + jobs.iter().flatten().map(|(all, made)| made.unwrap_or(*all)).sum::<u64>();
                prop_assert_eq!(trial.recorded().await, 1_500_000 * spent.cast_signed());
                let maps = jobs.iter().flatten().count() + usize::from(!words.is_empty());
                prop_assert_eq!(
                    counted(&trial).await,
                    (spent.cast_signed(), maps.cast_signed() as i64)
                );
                Ok(())
            })
        })
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn workers_that_start_one_job_together_reserve_it_once() {
    for trial in trials().await {
        let mut tasks = Vec::new();
        for n in 0..12 {
            let ledger = Arc::new(trial.open().await);
            tasks.push(tokio::spawn(async move {
                let limits = in_total(100.0);
                let job = format!("job {}", n % 3);
                let reserved = reserve(&ledger, "alice", &job, 20, &limits).await.unwrap();
                (job, reserved.secret, reserved.spent.draws)
            }));
        }
        let (mut secrets, mut paid) = (HashSet::new(), 0);
        for task in tasks {
            let (job, secret, draws) = task.await.unwrap();
            secrets.insert((job, secret));
            paid += draws;
        }
        assert_eq!((secrets.len(), paid), (3, 60));
        assert_eq!(counted(&trial).await, (60, 3));
    }
}

/// The connection is lost at any packet of a reservation and of a settlement: a second try ends as if nothing
/// had been lost.
#[cfg(unix)]
#[tokio::test]
async fn a_connection_may_be_lost_while_a_job_is_reserved_or_settled() {
    use crate::common::{database, server};
    use crate::relay::{Fault, Relay};

    let Some(server) = server() else { return };
    for fault in [Fault::Before, Fault::After] {
        let trial = Trial { dir: tempfile::tempdir().unwrap(), url: database(&server).await };
        let (user, place) = trial.url.split_once('@').unwrap();
        let (address, name) = place.split_once('/').unwrap();
        let relay = Relay::to(address.to_owned(), fault).await;
        let url = format!("{user}@127.0.0.1:{}/{name}?sslmode=disable", relay.port);
        let ledger = Ledger::open(&url, trial.key()).await.unwrap();
        let (mut jobs, mut failed, mut whole) = (0, [0, 0], [false, false]);
        for packets in 0.. {
            let job = format!("job {packets}");
            relay.fail_after(packets);
            let first = reserve(&ledger, "alice", &job, 10, &Limits::default()).await;
            relay.fail_after(i64::MAX);
            let second = reserve(&ledger, "alice", &job, 10, &Limits::default()).await.unwrap();
            jobs += 1;
            match first {
                Ok(first) => whole[0] = first.secret == second.secret,
                Err(Error::Database(_)) => failed[0] += 1,
                Err(other) => panic!("{other:?}"),
            }
            assert_eq!(counted(&trial).await, (10 + 4 * (jobs - 1), jobs));
            relay.fail_after(packets);
            let first = ledger.settle(&job, 4).await;
            relay.fail_after(i64::MAX);
            ledger.settle(&job, 4).await.unwrap();
            match first {
                Ok(_) => whole[1] = true,
                Err(Error::Database(_)) => failed[1] += 1,
                Err(other) => panic!("{other:?}"),
            }
            assert_eq!(counted(&trial).await, (4 * jobs, jobs));
            if whole == [true, true] {
                break;
            }
        }
        assert!(failed.iter().all(|&failed| failed >= 5), "{failed:?}");
    }
}
