//! A draw is paid for once in each map, and comes from the same secret wherever it is asked for.

use std::collections::HashSet;
use std::sync::Arc;

use crate::common::{EACH, LASTING, day, draws, epsilon, trials};
use cape_ledger::{
    Account, Cost, Each, Error, Forget, Lasts, Ledger, Limit, Limits, Map, Over, Receipt, Whose,
};

async fn charge(ledger: &Ledger, account: &Account, map: Map, words: &[&str]) -> Receipt {
    let limits = Limits::default();
    ledger.charge(account, &draws(map, words), EACH, &limits, day(1)).await.unwrap()
}

fn cost(draws: u64, maps: u64) -> Cost {
    Cost { maps, ..Cost::new(draws, EACH) }
}

#[tokio::test]
async fn a_word_is_paid_for_once_in_the_life_of_an_account() {
    for trial in trials().await {
        let mut secrets = HashSet::new();
        for (words, new) in [
            (&["Alice", "has", "asthma", "Alice"][..], cost(3, 1)),
            (&["asthma"], cost(0, 0)),
            (&["has", "Bob"], cost(1, 0)),
        ] {
            // proxies come and go, and have one key file
            let ledger = trial.open().await;
            let receipt = charge(&ledger, &ledger.account(b"k", "u"), LASTING, words).await;
            assert_eq!((receipt.spent, receipt.secrets.len()), (new, words.len()));
            secrets.extend(receipt.secrets);
        }
        assert_eq!(secrets.len(), 1);
        assert_eq!(trial.recorded().await, 4 * 1_500_000);
    }
}

#[tokio::test]
async fn each_map_has_its_own_secret_and_its_own_draws() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let begin = |who: &Account, text: &str| {
            Lasts::Conversation(ledger.conversation(who).next("user", text))
        };
        let (one, two) = (ledger.account(b"k", "one"), ledger.account(b"k", "two"));
        let key = ledger.account(b"l", "one");
        let mut secrets = HashSet::new();
        for (account, lasts) in [
            (&one, Lasts::Account),
            (&one, begin(&one, "hello")),
            (&one, begin(&one, "hi")),
            (&two, Lasts::Account),
            (&two, begin(&two, "hello")),
            (&key, Lasts::Account),
        ] {
            for whose in [Whose::User, Whose::Known] {
                let map = Map { whose, lasts };
                let first = charge(&ledger, account, map, &["Alice"]).await;
                assert_eq!(first.spent, cost(1, 1), "{map:?}");
                let again = charge(&ledger, account, map, &["Alice"]).await;
                assert_eq!((again.spent, &again.secrets), (cost(0, 0), &first.secrets), "{map:?}");
                assert!(secrets.insert(first.secrets[0]), "{map:?}");
            }
        }
        // a map for a request is another one each time; both kinds of text have their own
        for _ in 0..2 {
            let mut asked = Vec::new();
            for whose in [Whose::User, Whose::Known] {
                let words = ["Alice", "Bob", "Alice"];
                asked.extend(draws(Map { whose, lasts: Lasts::Request }, &words));
            }
            let limits = Limits::default();
            let receipt = ledger.charge(&one, &asked, EACH, &limits, day(1)).await.unwrap();
            assert_eq!(receipt.spent, cost(4, 2));
            let own: HashSet<[u8; 32]> = receipt.secrets.iter().copied().collect();
            assert_eq!((own.len(), receipt.secrets[0]), (2, receipt.secrets[2]));
            assert!(own.into_iter().all(|secret| secrets.insert(secret)));
        }
        assert_eq!(trial.recorded().await, (12 + 8) * 1_500_000);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn proxies_that_ask_at_once_pay_once() {
    for trial in trials().await {
        for round in 0..10 {
            let words = [format!("Alice {round}"), format!("asthma {round}")];
            let mut tasks = Vec::new();
            for _ in 0..4 {
                let ledger = Arc::new(trial.open().await);
                let words = words.clone();
                tasks.push(tokio::spawn(async move {
                    let words = words.each_ref().map(String::as_str);
                    charge(&ledger, &ledger.account(b"k", ""), LASTING, &words).await
                }));
            }
            let (mut spent, mut secrets) = (Cost::default(), HashSet::new());
            for task in tasks {
                let receipt = task.await.unwrap();
                spent = spent.plus(receipt.spent);
                secrets.extend(receipt.secrets);
            }
            assert_eq!((spent, secrets.len()), (cost(2, u64::from(round == 0)), 1));
        }
        assert_eq!(trial.recorded().await, 30_000_000);
    }
}

#[tokio::test]
async fn more_words_than_one_statement_takes_are_counted() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let account = ledger.account(b"k", "");
        let words: Vec<String> = (0..1201).map(|n| n.to_string()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(charge(&ledger, &account, LASTING, &words[..700]).await.spent, cost(700, 1));
        assert_eq!(charge(&ledger, &account, LASTING, &words).await.spent, cost(501, 0));
        assert_eq!(charge(&ledger, &account, LASTING, &words).await.spent, cost(0, 0));
    }
}

#[tokio::test]
async fn what_is_forgotten_is_drawn_and_paid_for_anew() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let (one, two) = (ledger.account(b"k", "one"), ledger.account(b"k", "two"));
        let words = ["Alice", "Bob"];
        let secrets = async |account: &Account, new: Cost| {
            let receipt = charge(&ledger, account, LASTING, &words).await;
            assert_eq!(receipt.spent, new);
            receipt.secrets
        };
        let (first, other) = (secrets(&one, cost(2, 1)).await, secrets(&two, cost(2, 1)).await);
        // the account, by its name or the beginning of it
        assert_eq!(ledger.forget(&one.name()[..16], Forget::Maps).await.unwrap(), 1);
        let second = secrets(&one, cost(2, 1)).await;
        assert_ne!(first[0], second[0]);
        assert_eq!(secrets(&one, cost(0, 0)).await, second);
        assert_eq!(secrets(&two, cost(0, 0)).await, other);
        // a word, which has a map of its own from then on
        let alice = [b"Alice".to_vec()];
        ledger.forget(one.name(), Forget::Words(&alice)).await.unwrap();
        let third = secrets(&one, cost(1, 1)).await;
        assert!(third[0] != second[0] && third[1] == second[1]);
        assert_eq!(secrets(&one, cost(0, 0)).await, third);
        assert_eq!(secrets(&two, cost(0, 0)).await, other);
        ledger.forget(one.name(), Forget::Words(&alice)).await.unwrap();
        let fourth = secrets(&one, cost(1, 1)).await;
        assert!(fourth[0] != third[0] && fourth[0] != second[0] && fourth[1] == second[1]);
        // a key: all of its accounts. A forget that is not followed by a use opens nothing
        for _ in 0..3 {
            let spender = one.spender().as_str();
            assert_eq!(ledger.forget(&spender[..12], Forget::Maps).await.unwrap(), 2);
        }
        assert!(secrets(&one, cost(2, 2)).await.iter().all(|new| !fourth.contains(new)));
        assert!(secrets(&two, cost(2, 1)).await.iter().all(|new| !other.contains(new)));
        // what was spent stays spent
        assert_eq!(trial.recorded().await, (4 + 2 + 1 + 1 + 4) * 1_500_000);
        let maps = "SELECT maps FROM cape_account WHERE spender = '' AND day = -1";
        assert_eq!(trial.number(maps).await, 2 + 1 + 1 + 1 + 3);
    }
}

#[tokio::test]
async fn a_conversation_is_forgotten_by_its_name() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let account = ledger.account(b"k", "");
        let place = |text: &str| ledger.conversation(&account).next("user", text);
        let map = |text: &str| Map { lasts: Lasts::Conversation(place(text)), ..LASTING };
        let secret =
            async |text: &str| charge(&ledger, &account, map(text), &["Alice"]).await.secrets[0];
        let (hello, hi) = (secret("hello").await, secret("hi").await);
        let name = place("hello").name();
        ledger.forget(account.name(), Forget::Conversation(&name[..16])).await.unwrap();
        assert_ne!(secret("hello").await, hello);
        assert_eq!(secret("hi").await, hi);
        // the account's name is none of a conversation, and an unknown name forgets nothing
        let own = Forget::Conversation(account.name());
        assert!(matches!(
            ledger.forget(account.name(), own).await,
            Err(Error::NotFound("conversation"))
        ));
        ledger.forget(account.name(), Forget::Maps).await.unwrap();
        assert_ne!(secret("hi").await, hi);
        for (wrong, name) in [(true, "0123456789abcdef"), (false, "abc"), (false, "%%%%%%%%%%%%")] {
            let refused = ledger.forget(name, Forget::Maps).await.unwrap_err();
            assert_eq!(matches!(refused, Error::NotFound(_)), wrong, "{name}");
            assert_eq!(matches!(refused, Error::Name), !wrong, "{name}");
        }
    }
}

#[tokio::test]
async fn maps_have_limits_of_their_own() {
    for trial in trials().await {
        let ledger = trial.open().await;
        let maps = Each { key: Some(2), total: Some(3), ..Each::default() };
        let limits = Limits { maps, ..Limits::default() };
        let pay = async |key: &str, user: &str| {
            let account = ledger.account(key.as_bytes(), user);
            let paid =
                ledger.charge(&account, &draws(LASTING, &["a"]), EACH, &limits, day(1)).await;
            paid.map(|receipt| receipt.spent).map_err(|error| match error {
                Error::Refused(refusal) => (refusal.limit, refusal.over),
                other => panic!("{other:?}"),
            })
        };
        let none = Over::Maps { asked: 1, left: 0 };
        assert_eq!(pay("k", "one").await, Ok(cost(1, 1)));
        assert_eq!(pay("k", "two").await, Ok(cost(1, 1)));
        assert_eq!(pay("k", "three").await, Err((Limit::Key, none)));
        assert_eq!(pay("l", "one").await, Ok(cost(1, 1)));
        assert_eq!(pay("m", "one").await, Err((Limit::Total, none)));
        // what is open is used, and what is forgotten cannot be opened again
        assert_eq!(pay("k", "one").await, Ok(cost(0, 0)));
        ledger.forget(ledger.account(b"k", "one").name(), Forget::Maps).await.unwrap();
        assert_eq!(pay("k", "one").await.unwrap_err().1, none);
        assert_eq!(trial.recorded().await, 3 * 1_500_000);
        let left = ledger.left(ledger.account(b"l", "").spender(), &limits, day(1)).await.unwrap();
        assert_eq!(left.maps, Each { key: Some(1), total: Some(0), ..Each::default() });
        assert_eq!(epsilon(4.5), cost(3, 0).epsilon);
    }
}
