//! The stages wired: text in, release out.

use std::sync::Arc;

use rayon::prelude::*;

use crate::assemble::assemble;
use crate::keep::KeepList;
use crate::kinds::Kind;
use crate::mechanism::Mechanism;
use crate::mechanism::cape::{Cape, Drawn, Plan};
use crate::privacy::{Guarantee, Notion, Privacy};
use crate::rng::{self, CryptoRng, Generator, Secret};
use crate::text::{Level, Outcome, Release, ReleasedToken, ReleasedWord, Tokens, Why};
use crate::tokenizer::Tokenizer;
use crate::writing::{after_number, article, before_number, capitalised, is_article};
use crate::{Error, Result};

/// Perturbs texts.
pub struct Sanitizer {
    engine: Engine,
    about: About,
}

/// The mechanism, and how it cuts texts.
enum Engine {
    Words(Box<Cape>),
    Tokens { tokenizer: Arc<Tokenizer>, keep: KeepList, mechanism: Box<dyn Mechanism> },
}

/// A description of a sanitizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The mechanism's name, as users write it.
    pub mechanism: &'static str,
    /// Where the words of a mechanism on tokens come from, if that is worth saying.
    pub words: Option<String>,
    /// All that a release depends on: under another fingerprint it is another release.
    pub fingerprint: String,
}

impl Sanitizer {
    /// Cape on words.
    #[must_use]
    pub fn words(cape: Cape) -> Self {
        let fingerprint = cape.fingerprint();
        let about = About { mechanism: "cape", words: None, fingerprint };
        Self { engine: Engine::Words(Box::new(cape)), about }
    }

    /// The paper's mechanism, or one of those that Cape is compared with.
    #[must_use]
    pub fn tokens(
        tokenizer: Arc<Tokenizer>,
        keep: KeepList,
        mechanism: Box<dyn Mechanism>,
        about: About,
    ) -> Self {
        Self { engine: Engine::Tokens { tokenizer, keep, mechanism }, about }
    }

    /// Its description.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Cape, if that is what draws.
    #[must_use]
    pub fn cape(&self) -> Option<&Cape> {
        match &self.engine {
            Engine::Words(cape) => Some(cape),
            Engine::Tokens { .. } => None,
        }
    }

    /// The privacy statement, known before any prompt is.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        match &self.engine {
            Engine::Words(cape) => cape.guarantee(),
            Engine::Tokens { mechanism, .. } => mechanism.guarantee(),
        }
    }

    /// Perturbs one text. What a word becomes is drawn from the secret: the same word becomes the same
    /// in all texts that are perturbed with it. (A mechanism on tokens draws for each token anew.)
    pub fn release(&self, text: &str, secret: &Secret) -> Result<Release> {
        self.releases(&[text], &[secret]).map_err(|(_, error)| error)?.pop().ok_or(Error::Nothing)
    }

    /// Perturbs several texts side by side, which may be faster than one by one; what a text becomes
    /// does not depend on the others. Where one of them cannot be perturbed there is no release at
    /// all; the error comes with the index of the first such text.
    ///
    /// # Panics
    /// If there is not one secret per text.
    pub fn releases(
        &self,
        texts: &[&str],
        secrets: &[&Secret],
    ) -> std::result::Result<Vec<Release>, (usize, Error)> {
        assert_eq!(texts.len(), secrets.len(), "one secret per text");
        match &self.engine {
            Engine::Words(cape) => {
                let release = |(text, secret): (&&str, &&Secret)| {
                    let plan = cape.plan(text)?;
                    let drawn = cape.draw(&plan, secret);
                    Ok(written(cape, text, &plan, &drawn, secret.is_seeded()))
                };
                let releases: Vec<Result<Release>> =
                    texts.par_iter().zip(secrets).map(release).collect();
                let first = |(i, release): (usize, Result<Release>)| release.map_err(|e| (i, e));
                releases.into_iter().enumerate().map(first).collect()
            }
            Engine::Tokens { tokenizer, keep, mechanism } => {
                tokens(texts, secrets, tokenizer, keep, &**mechanism)
            }
        }
    }
}

/// The release of a text whose keys became this.
///
/// # Panics
/// If there is not one draw per key.
#[must_use]
pub fn written(cape: &Cape, text: &str, plan: &Plan, drawn: &[Drawn], seeded: bool) -> Release {
    assert_eq!(plan.keys.len(), drawn.len(), "one draw per key");
    let mut words: Vec<ReleasedWord> = Vec::with_capacity(plan.places.len());
    for place in &plan.places {
        let unit = place.unit;
        let released = match place.key.map(|key| &drawn[key]) {
            None => unit.of(text).to_owned(),
            Some(Drawn::Value(value)) => value.clone(),
            Some(Drawn::Word(word)) => {
                let word = cape.lexicon().word(*word);
                if unit.capital && !cape.settings().cut.is_data() {
                    capitalised(word)
                } else {
                    word.to_owned()
                }
            }
        };
        let (level, why, kind) = (place.level, place.why, unit.kind);
        words.push(ReleasedWord { start: unit.start, end: unit.end, released, level, kind, why });
    }
    for i in 1..words.len() {
        let (before, after) = words.split_at_mut(i);
        let (word, next) = (&mut before[i - 1], &mut after[0]);
        let gap = &text[word.end..next.start];
        let apart = gap.chars().all(char::is_whitespace);
        if apart && word.level != Level::Kept && is_article(&word.released) {
            word.released = article(&word.released, &next.released).into_owned();
        }
        // a word that would be read as a part of the number beside it
        let drawn = |word: &ReleasedWord| word.kind == Kind::Word && word.level != Level::Kept;
        if gap == " " && next.kind == Kind::Number && drawn(word) {
            before_number(&mut word.released);
        }
        if gap == " " && matches!(word.kind, Kind::Number | Kind::Time) && drawn(next) {
            after_number(&mut next.released);
        }
    }
    let (mut out, mut at) = (String::with_capacity(text.len() + 16), 0);
    for word in &words {
        out.push_str(&text[at..word.start]);
        out.push_str(&word.released);
        at = word.end;
    }
    out.push_str(&text[at..]);
    let count = |of: &dyn Fn(Level) -> bool| words.iter().filter(|word| of(word.level)).count();
    let mut kinds: Vec<Kind> = plan.keys.iter().map(|key| key.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let privacy = Privacy {
        guarantee: cape.guarantee_for(&kinds),
        seeded,
        words: count(&|level| level != Level::Kept),
        draws: plan.keys.len(),
        protected: count(&|level| level == Level::Protected),
        uncovered: 0,
    };
    Release { text: out, words, privacy }
}

/// The releases of texts by a mechanism on tokens.
fn tokens(
    texts: &[&str],
    secrets: &[&Secret],
    tokenizer: &Tokenizer,
    keep: &KeepList,
    mechanism: &dyn Mechanism,
) -> std::result::Result<Vec<Release>, (usize, Error)> {
    let tokens: Vec<Tokens> = texts
        .iter()
        .enumerate()
        .map(|(i, text)| tokenizer.tokenize(text, keep).map_err(|error| (i, error)))
        .collect::<std::result::Result<_, _>>()?;
    // one secret may be that of many texts, and tokens have no keys: each text needs numbers of its own
    let generator = |(i, secret): (usize, &&Secret)| {
        if secret.is_seeded() { Ok(secret.generator(b"tokens")) } else { rng::secure() }
            .map_err(|error| (i, error))
    };
    let mut rngs: Vec<Generator> =
        secrets.iter().enumerate().map(generator).collect::<std::result::Result<_, _>>()?;
    let mut prompts: Vec<(&Tokens, &mut dyn CryptoRng)> =
        tokens.iter().zip(rngs.iter_mut()).map(|(tokens, rng)| (tokens, rng as _)).collect();
    let all = mechanism.perturb_all(&mut prompts).map_err(|error| {
        // whose error it was shows when they are perturbed one by one
        let fails = |(tokens, rng): &mut (&Tokens, &mut dyn CryptoRng)| {
            mechanism.perturb(tokens, *rng).is_err()
        };
        (prompts.iter_mut().position(fails).unwrap_or(0), error)
    })?;
    let releases = texts.iter().zip(&tokens).zip(all).zip(secrets);
    Ok(releases
        .map(|(((text, tokens), outcomes), secret)| {
            let privacy = Privacy::of_tokens(mechanism.guarantee(), &outcomes, secret.is_seeded());
            let (text, tokens) = assemble(text, tokens, &outcomes, tokenizer.vocab());
            Release { text, words: tokens.into_iter().filter_map(as_word).collect(), privacy }
        })
        .collect())
}

impl Privacy {
    /// The statement of a release of tokens, from the outcome of each.
    #[must_use]
    pub fn of_tokens(guarantee: Guarantee, outcomes: &[Outcome], seeded: bool) -> Self {
        let lists = guarantee.notion == Notion::WithinList;
        let is_covered = |outcome: &Outcome| match *outcome {
            // a uniform word in the place of one that is on no list
            Outcome::Drawn { retention, .. } => !(lists && retention == 0.0),
            Outcome::Kept(why) => !matches!(why, Why::Frequent | Why::Unknown),
            Outcome::Shifted(_) | Outcome::Dropped => false,
            Outcome::Number(_) => true,
        };
        let (covered, uncovered): (Vec<Outcome>, Vec<Outcome>) =
            outcomes.iter().copied().partition(is_covered);
        let draws = covered.iter().filter(|outcome| outcome.retention().is_some()).count();
        let uncovered = uncovered.len();
        Self { guarantee, seeded, words: draws + uncovered, draws, protected: draws, uncovered }
    }
}

/// A token as a word of a release. The space before a word is none to a reader: it has no text.
fn as_word(token: ReleasedToken) -> Option<ReleasedWord> {
    let ReleasedToken { start, end, released, outcome } = token;
    let (level, why) = match outcome {
        Outcome::Kept(Why::Space) => return None,
        Outcome::Kept(why) => (Level::Kept, why),
        _ => (Level::Protected, Why::Sensitive),
    };
    Some(ReleasedWord { start, end, released, level, kind: Kind::Word, why })
}
