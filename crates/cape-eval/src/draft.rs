//! Prompts released, whatever a mechanism cuts them into.

use std::sync::Arc;

use cape::levels::Key;
use cape::lexicon::fold;
use cape::mechanism::Mechanism;
use cape::mechanism::cape::{Drawn, Place, Settings};
use cape::rng::{CryptoRng, Generator, seeded};
use cape::sanitizer::written;
use cape::tokens::{
    self, KeepList, Outcome, Piece, ReleasedToken, Token, TokenId, Tokenizer, Tokens, assemble,
};
use cape::units::Unit;
use cape::{Cape, Kind, Level, Restorer, Secret, Wanted, Why};

use crate::Result;
use crate::data::Item;

/// A prompt and what became of it.
pub(crate) struct Draft {
    /// The release.
    pub(crate) text: String,
    /// The tokens of the prompt; for words, its words and punctuation marks.
    pub(crate) tokens: Tokens,
    /// The outcome of each.
    pub(crate) released: Vec<ReleasedToken>,
    /// Which of them attacks count.
    pub(crate) counted: Vec<usize>,
    /// For a mechanism on words: what each of them is; none for a stopword or a mark.
    pub(crate) words: Option<Vec<Option<Word>>>,
    /// How an answer gets the user's own words back.
    pub(crate) back: Back,
}

/// The way from an answer to a release to the user's own words.
pub(crate) enum Back {
    /// There is none.
    Nowhere,
    /// Words are put back: names and identifiers, as by default, or all that can be.
    Words { usual: Restorer, all: Restorer },
    /// Masks, and what they stand for.
    Masks(Vec<(String, String)>),
}

impl Back {
    /// The answer as the user reads it.
    pub(crate) fn restore(&self, answer: &str) -> String {
        match self {
            Self::Nowhere => answer.to_owned(),
            Self::Words { usual, .. } => usual.restore(answer).0,
            Self::Masks(masks) => {
                let undo =
                    |answer: String, (mask, own): &(String, String)| answer.replace(mask, own);
                masks.iter().fold(answer.to_owned(), undo)
            }
        }
    }

    /// The answer with all put back that can be, where that may be more.
    pub(crate) fn restore_all(&self, answer: &str) -> Option<String> {
        match self {
            Self::Words { all, .. } => Some(all.restore(answer).0),
            Self::Nowhere | Self::Masks(_) => None,
        }
    }
}

/// A word, number or address of a prompt.
pub(crate) struct Word {
    /// The key of its draw; none where it is kept.
    pub(crate) key: Option<Key>,
    /// Whether it stands first.
    pub(crate) first: bool,
    /// Whether words have a capital there.
    pub(crate) capital: bool,
}

impl Word {
    pub(crate) fn is_protected(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.level == Level::Protected)
    }
}

/// Releases prompts by a mechanism on tokens, side by side. The draws of a prompt are those of its number
/// and the seed.
pub(crate) fn on_tokens(
    (tokenizer, keep): (&Tokenizer, &KeepList),
    mechanism: &dyn Mechanism,
    seed: u64,
    prompts: &[(usize, &Item)],
) -> Result<Vec<Draft>> {
    let tokens: Vec<Tokens> = prompts
        .iter()
        .map(|(_, item)| tokenizer.tokenize(&item.text, keep))
        .collect::<cape::Result<_>>()?;
    let mut rngs: Vec<Generator> =
        prompts.iter().map(|&(number, _)| seeded(seed, number as u64)).collect();
    let mut drawn: Vec<(&Tokens, &mut dyn CryptoRng)> =
        tokens.iter().zip(rngs.iter_mut()).map(|(tokens, rng)| (tokens, rng as _)).collect();
    let outcomes = mechanism.perturb_all(&mut drawn)?;
    let each = prompts.iter().zip(tokens).zip(outcomes);
    each.map(|((&(_, item), tokens), outcomes)| {
        let (text, released) = assemble(&item.text, &tokens, &outcomes, tokenizer.vocab());
        let counted = tokenizer.tokenize(&item.text, &KeepList::default())?.sensitive().collect();
        Ok(Draft { text, tokens, released, counted, words: None, back: Back::Nowhere })
    })
    .collect()
}

/// Prompts with a mask for each labelled value, as tools that find personal data send them: `<PERSON_1>`, with a
/// number for each of a label.
pub(crate) fn masked(tokenizer: &Tokenizer, prompts: &[(usize, &Item)]) -> Result<Vec<Draft>> {
    prompts
        .iter()
        .map(|(_, item)| {
            let mut masks: Vec<(String, String)> = Vec::new();
            let (mut text, mut at) = (String::new(), 0);
            for span in item.spans.iter().filter(|span| !span.label.is_empty()) {
                let Some(before) = item.text.get(at..span.start) else { continue };
                let own = &item.text[span.start..span.end];
                let known = masks.iter().find(|(_, original)| original == own);
                let mask = if let Some((mask, _)) = known {
                    mask.clone()
                } else {
                    let label = format!("<{}_", span.label);
                    let of_label = masks.iter().filter(|(mask, _)| mask.starts_with(&label));
                    let mask = format!("{label}{}>", of_label.count() + 1);
                    masks.push((mask.clone(), own.to_owned()));
                    mask
                };
                text = text + before + &mask;
                at = span.end;
            }
            text += &item.text[at..];
            let tokens = tokenizer.tokenize(&item.text, &KeepList::default())?;
            let inside = |token: &Token| {
                item.spans.iter().any(|span| token.start < span.end && span.start < token.end)
            };
            let released = tokens.as_slice().iter().map(|token| {
                let (start, end) = (token.start, token.end);
                let (released, outcome) = if inside(token) {
                    (String::new(), Outcome::Dropped)
                } else {
                    let kept = Outcome::Kept(token.kept.unwrap_or(Why::Listed));
                    (item.text[start..end].to_owned(), kept)
                };
                ReleasedToken { start, end, released, outcome }
            });
            let (released, counted) = (released.collect(), tokens.sensitive().collect());
            Ok(Draft { text, tokens, released, counted, words: None, back: Back::Masks(masks) })
        })
        .collect()
}

/// The id of a word that is not listed.
const UNLISTED: TokenId = TokenId(u32::MAX);

/// Releases prompts by Cape on words. The id of a token is its place on the list. Instructions may be sent as
/// they are.
pub(crate) fn on_words(
    cape: &Cape,
    instructed: bool,
    seed: u64,
    prompts: &[(usize, &Item)],
) -> Result<Vec<Draft>> {
    prompts
        .iter()
        .map(|&(number, item)| {
            let secret = Secret::seeded(seed, number as u64);
            let keeping = match &item.instruction {
                Some(instruction) if instructed => {
                    let keep = vec![instruction.clone()];
                    let settings = Settings { keep, ..cape.settings().clone() };
                    Some(Cape::new(Arc::clone(cape.lexicon()), settings)?)
                }
                _ => None,
            };
            let cape = keeping.as_ref().unwrap_or(cape);
            let plan = cape.plan(&item.text)?;
            let drawn = cape.draw(&plan, &secret);
            let release = written(cape, &item.text, &plan, &drawn, true);
            let learned = |wanted: &[Wanted]| {
                let mut restorer = Restorer::default();
                restorer.learn(cape, &item.text, &release.text, wanted);
                restorer
            };
            let back = Back::Words { usual: learned(&Wanted::DEFAULT), all: learned(&Wanted::ALL) };
            let mut draft = Draft {
                text: release.text,
                tokens: Tokens::default(),
                released: Vec::new(),
                counted: Vec::new(),
                words: None,
                back,
            };
            let (mut tokens, mut words, mut at) = (Vec::new(), Vec::new(), 0);
            for (place, word) in plan.places.iter().zip(release.words) {
                draft.marks(&item.text, at..place.unit.start, &mut tokens, &mut words);
                at = place.unit.end;
                let stopword = is_stopword(place, &item.text);
                let key = place.key.map(|key| (&plan.keys[key], &drawn[key]));
                let own = key.and_then(|(key, _)| cape.own(key));
                let is_unchanged = fold(place.unit.of(&item.text)) == fold(&word.released);
                let outcome = match key {
                    None => Outcome::Kept(place.why),
                    // as with the others: nothing is looked for there
                    Some(_) if stopword => Outcome::Kept(Why::Stopword),
                    // whoever reads it knows it
                    Some((key, _)) if key.level == Level::Ordinary && is_unchanged => {
                        Outcome::Kept(place.why)
                    }
                    Some((key, Drawn::Word(y))) => {
                        let law = cape.law(key.level);
                        let retention = own.map_or(0.0, |_| law.probability(1));
                        Outcome::Drawn { id: TokenId(y.0), retention }
                    }
                    Some((_, Drawn::Value(_))) => Outcome::Number(0),
                };
                if place.unit.kind == Kind::Word && !stopword {
                    draft.counted.push(tokens.len());
                }
                tokens.push(Token {
                    id: own.map_or(UNLISTED, |own| TokenId(own.0)),
                    start: place.unit.start,
                    end: place.unit.end,
                    piece: Piece::Start,
                    kept: None,
                });
                let key = key.map(|(key, _)| key.clone());
                words.push((!stopword).then_some({
                    let Unit { first, capital, .. } = place.unit;
                    Word { key, first, capital }
                }));
                let (start, end, released) = (word.start, word.end, word.released);
                draft.released.push(ReleasedToken { start, end, released, outcome });
            }
            draft.marks(&item.text, at..item.text.len(), &mut tokens, &mut words);
            draft.tokens = Tokens::from(tokens);
            draft.words = Some(words);
            Ok(draft)
        })
        .collect()
}

impl Draft {
    /// The marks between two words, which are sent as they are.
    fn marks(
        &mut self,
        text: &str,
        gap: std::ops::Range<usize>,
        tokens: &mut Vec<Token>,
        words: &mut Vec<Option<Word>>,
    ) {
        let marks = text[gap.clone()].char_indices().filter(|(_, c)| !c.is_whitespace());
        for (at, c) in marks {
            let (start, end) = (gap.start + at, gap.start + at + c.len_utf8());
            let kept = Some(Why::Punctuation);
            tokens.push(Token { id: UNLISTED, start, end, piece: Piece::Start, kept });
            let outcome = Outcome::Kept(Why::Punctuation);
            self.released.push(ReleasedToken { start, end, released: c.to_string(), outcome });
            words.push(None);
        }
    }
}

fn is_stopword(place: &Place, text: &str) -> bool {
    place.unit.kind == Kind::Word && tokens::is_stopword(&fold(place.unit.of(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Span;

    #[test]
    fn a_mask_stands_for_a_value_wherever_it_is() {
        let text = "Ann met Bo in Rome; Bo left.".to_owned();
        let span = |label: &str, start, end| Span { label: label.into(), start, end };
        let spans = vec![
            span("PERSON", 0, 3),
            span("PERSON", 8, 10),
            span("PLACE", 14, 18),
            span("PERSON", 20, 22),
        ];
        let item = Item { text, spans, ..Item::default() };
        let device = cape_models::load(cape_models::DEFAULT).unwrap();
        let draft = &masked(&device.tokenizer, &[(0, &item)]).unwrap()[0];
        assert_eq!(draft.text, "<PERSON_1> met <PERSON_2> in <PLACE_1>; <PERSON_2> left.");
        let answer = "Ask <PERSON_2> in <PLACE_1>, <PERSON_3>";
        assert_eq!(draft.back.restore(answer), "Ask Bo in Rome, <PERSON_3>");
        let hidden = draft.released.iter().filter(|token| token.outcome == Outcome::Dropped);
        assert!(
            hidden.clone().count() >= 4 && hidden.clone().all(|token| token.released.is_empty())
        );
    }

    #[test]
    fn an_instruction_may_be_sent_as_it_is() {
        let text = "Is Zoltan in Ghent? Answer Ja or Nee.".to_owned();
        let instruction = Some("Answer Ja or Nee.".to_owned());
        let item = Item { text, instruction, ..Item::default() };
        let cape = Cape::new(cape::Lexicon::embedded(), Settings::default()).unwrap();
        let ends = |instructed: bool, seed: u64| {
            let draft = &on_words(&cape, instructed, seed, &[(0, &item)]).unwrap()[0];
            draft.text.ends_with("Answer Ja or Nee.")
        };
        assert!((0..20).all(|seed| ends(true, seed)));
        assert!(!(0..20).all(|seed| ends(false, seed)));
    }
}
