//! The same secret gives the same words, for as long as it lasts.

use crate::words::small::{Small, Vectors, WORDS};
use crate::words::{opposite_cape, opposites, settings};
use cape::mechanism::cape::Drawn;
use cape::{Cape, Level, Sanitizer, Secret};

/// The same word under two laws is drawn twice: ranks that rise together would tell it.
#[test]
fn another_law_or_lexicon_draws_anew() {
    let plan = |cape: &Cape| cape.plan("Alice").unwrap();
    let of = |epsilon: f64| Cape::new(opposites(), settings(epsilon, 1, None, 5.0)).unwrap();
    let (one, other) = (of(1.5), of(1.0));
    let altered = [1, 2].map(|last| {
        let words = ["the", "Alice", "London", "asthma"];
        let listed = WORDS.into_iter().filter(|(word, _)| words.contains(word)).collect();
        let vectors: Vectors = (0..5).map(|i| [100, i, -i]).chain([[100, last, 0]]).collect();
        let settings = settings(1.5, 1, None, 5.0);
        Small { listed, vectors, groups: vec![[1, 2, 3]], settings }.cape()
    });
    let [third, fourth] = &altered;
    for (a, b, p, q) in [
        (&one, &other, one.law(Level::Protected), other.law(Level::Protected)),
        (third, fourth, third.law(Level::Protected), fourth.law(Level::Protected)),
    ] {
        let n = 20_000;
        let own = |cape: &Cape, secret: &Secret| {
            let plan = plan(cape);
            cape.draw(&plan, secret)[0] == Drawn::Word(cape.own(&plan.keys[0]).unwrap())
        };
        let both = (0..n)
            .map(|stream| Secret::seeded(11, stream))
            .filter(|secret| own(a, secret) && own(b, secret))
            .count();
        let expected = p.probability(1) * q.probability(1) * n as f64;
        assert!((both as f64 - expected).abs() < 6.0 * expected.sqrt(), "{both} for {expected}");
    }
}

/// With the same settings the map is the same, whoever makes the mechanism.
#[test]
fn the_same_secret_is_the_same_map() {
    let text = "Alice, the asthma. Krzysztof";
    let secret = Secret::seeded(4, 4);
    let release = |cape: Cape| Sanitizer::words(cape).release(text, &secret).unwrap().text;
    assert_eq!(release(opposite_cape()), release(opposite_cape()));
}
