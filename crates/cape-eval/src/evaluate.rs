//! Some prompts released once, and everything that is measured of them.
//!
//! Attacks count the same positions for all mechanisms: the words that are neither stopwords nor
//! punctuation. What a mechanism keeps of them is found by every attack.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use cape::attack::mask::{MaskedUnit, best, scores};
use cape::lexicon::Listed;
use cape::metric::rouge_l;
use cape::tokens::{KeepList, Outcome, Piece, ReleasedToken, Token, Tokens};
use cape_models::Device;
use rayon::prelude::*;

use crate::Result;
use crate::asked::{Chat, Sent};
use crate::data::{Item, Span};
use crate::draft::{Draft, Word};
use crate::meaning::Meaning;
use crate::measure::Attack;
use crate::method::{AtEpsilon, Method};
use crate::record::{Cell, Hits, LABELLED_SPANS, PROTECTED_WORDS, Protected, Record};

/// The tools that measure.
#[derive(Default)]
pub struct Tools {
    /// The masked model of the attack by masks.
    pub attacker: Option<Device>,
    /// How many prompts, from the first, it attacks by masks.
    pub masked_prompts: usize,
    /// How many prompts, from the first, the Bayes attack is tried on.
    pub bayes_prompts: usize,
    /// How many prompts, from the first, are recorded with their release.
    pub examples: usize,
    /// The sentence encoder that compares meanings, with the vectors of the original prompts.
    pub meaning: Option<Meaning>,
    /// A chat model that does the data's task and attacks.
    pub chat: Option<Chat>,
}

impl Tools {
    /// Whether a release was asked all that these tools ask; one of an earlier run may not have been.
    pub(crate) fn measured(&self, record: &Record) -> bool {
        (self.meaning.is_none() || record.similarity.is_some())
            && self.chat.as_ref().is_none_or(|chat| chat.asked(record))
    }
}

/// One position that counts.
struct Position {
    /// Its token.
    at: usize,
    /// The attacks that found it.
    found: BTreeMap<Attack, bool>,
}

/// Releases prompts side by side, and measures. The draws of a prompt are those of its number and the
/// seed.
pub(crate) fn evaluate(
    method: &Method,
    at: &AtEpsilon,
    cell: &Cell,
    seed: u64,
    prompts: &[(usize, &Item)],
    tools: &Tools,
) -> Result<Vec<Record>> {
    let start = Instant::now();
    let drafts = method.drafts(at, seed, prompts)?;
    let seconds = start.elapsed().as_secs_f64() / prompts.len() as f64;
    let records = prompts.par_iter().zip(drafts).map(|(&(number, item), draft)| {
        let Draft { text, tokens, released, counted, words, back } = draft;
        let positions = counted.iter().map(|&at| Position { at, found: BTreeMap::new() }).collect();
        let (tokens, released) = (&tokens, &released[..]);
        let words = words.as_deref();
        let mut release = Attacked { method, at, item, tokens, released, words, positions };
        release.knn();
        let bayes = number < tools.bayes_prompts;
        let attacker = tools.attacker.as_ref().filter(|_| bayes || number < tools.masked_prompts);
        let guessed = match (attacker, at) {
            (Some(_), at) if at.sends_nothing() => release.nothing(Attack::Mti),
            (Some(attacker), _) => Some(release.mask(attacker, bayes)?),
            (None, _) => None,
        };
        if bayes {
            release.bayes()?;
        }
        let positions = &release.positions;
        let mut record = Record {
            cell: cell.clone(),
            prompt: number,
            seed,
            tokens: tokens.as_slice().len(),
            sensitive: positions.len(),
            unchanged: positions.iter().filter(|position| release.same(position.at)).count(),
            rouge_l: rouge_l(&item.text, &text),
            similarity: None,
            attacks: hits(positions.iter()),
            guessed: guessed
                .map(|text| (Attack::Mti, rouge_l(&item.text, &text)))
                .into_iter()
                .collect(),
            spans: release.spans(),
            protected: words.map(|words| protected(item, tokens, &counted, words)),
            scores: BTreeMap::new(),
            unread: BTreeMap::new(),
            asked: tools.chat.is_some(),
            seconds,
            released: (number < tools.examples).then(|| text.clone()),
        };
        if let Some(chat) = &tools.chat {
            let meaning = tools.meaning.as_ref();
            if at.sends_nothing() {
                chat.ask_local(item, meaning, &mut record)?;
            } else {
                let sent = Sent { text: &text, tokens: released, back: &back };
                chat.ask(item, sent, meaning, &mut record)?;
            }
        }
        Ok((record, text))
    });
    let records: Vec<(Record, String)> = records.collect::<Result<_>>()?;
    let (mut records, texts): (Vec<Record>, Vec<String>) = records.into_iter().unzip();
    if let Some(meaning) = &tools.meaning {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for (record, vector) in records.iter_mut().zip(meaning.vectors(&texts)?) {
            record.similarity = Some(meaning.similarity(record.prompt, &vector));
        }
    }
    Ok(records)
}

/// A prompt and what became of it.
struct Attacked<'a> {
    method: &'a Method,
    at: &'a AtEpsilon,
    item: &'a Item,
    tokens: &'a Tokens,
    released: &'a [ReleasedToken],
    /// Where a mechanism works on words.
    words: Option<&'a [Option<Word>]>,
    positions: Vec<Position>,
}

impl Attacked<'_> {
    fn original(&self, at: usize) -> &str {
        &self.item.text[self.released[at].start..self.released[at].end]
    }

    /// Whether a token came out as it was.
    fn same(&self, at: usize) -> bool {
        let token = &self.released[at];
        matches!(token.outcome, Outcome::Kept(_))
            || self.original(at).to_lowercase() == token.released.to_lowercase()
    }

    fn knn(&mut self) {
        for i in 0..self.positions.len() {
            let at = self.positions[i].at;
            let t = self.tokens.as_slice()[at].id;
            let drawn = match self.released[at].outcome {
                Outcome::Drawn { id, .. } => Some(id),
                _ => None,
            };
            let nearer = match (drawn, self.method.listing(), &self.method.knn) {
                (Some(id), Some(listing), _) if !self.same(at) => {
                    Some(listing.nearest.rank(Listed(id.0), self.original(at)) as u32)
                }
                (Some(id), None, Some(knn)) => knn.rank(id, t),
                _ => self.same(at).then_some(0),
            };
            let found = &mut self.positions[i].found;
            found.insert(Attack::Knn1, nearer.is_some_and(|nearer| nearer < 1));
            found.insert(Attack::Knn10, nearer.is_some_and(|nearer| nearer < 10));
        }
    }

    /// Masks each position in turn; the text that the attacker reads then. Where a position was kept,
    /// it is found without. What it expects there is the prior of the Bayes attack on words, if that is
    /// wanted.
    fn mask(&mut self, attacker: &Device, bayes: bool) -> Result<String> {
        let vocab = attacker.model.vocab();
        let device = self.method.device();
        let same_pieces = device.is_some_and(|own| Arc::ptr_eq(&own.model, &attacker.model));
        // words begin where they are; pieces of another model are what the attacker has of that kind
        let kind = |token: &Token| if device.is_some() { token.piece } else { Piece::Start };
        let asked: Vec<bool> = (0..self.released.len())
            .map(|at| {
                self.positions.iter().any(|position| position.at == at)
                    && !matches!(self.released[at].outcome, Outcome::Kept(_))
            })
            .collect();
        let mut units = Vec::with_capacity(self.released.len());
        for ((token, released), &asked) in
            self.tokens.as_slice().iter().zip(self.released).zip(&asked)
        {
            let (ids, piece) = if same_pieces {
                let ids = match released.outcome {
                    Outcome::Drawn { id, .. } => vec![id],
                    Outcome::Dropped => Vec::new(),
                    _ => vec![token.id],
                };
                (ids, token.piece)
            } else if let Some(id) = vocab.piece_id(&released.released.to_lowercase(), kind(token))
            {
                (vec![id], kind(token))
            } else {
                let pieces = attacker.tokenizer.tokenize(&released.released, &KeepList::none())?;
                (pieces.as_slice().iter().map(|piece| piece.id).collect(), kind(token))
            };
            units.push(MaskedUnit { ids, asked: asked.then_some(piece) });
        }
        let rows = scores(&*attacker.model, &units)?;
        let mut words: Vec<Option<String>> = vec![None; self.released.len()];
        let places = (0..asked.len()).filter(|&at| asked[at]);
        for ((at, unit), row) in places.map(|at| (at, &units[at])).zip(&rows) {
            let guess = best(&*attacker.model, unit.asked.unwrap_or(Piece::Start), row);
            let target = if same_pieces {
                Some(self.tokens.as_slice()[at].id)
            } else {
                let kind = kind(&self.tokens.as_slice()[at]);
                vocab.piece_id(&self.original(at).to_lowercase(), kind)
            };
            self.found(at, Attack::Mti, target == Some(guess));
            if let (true, AtEpsilon::Baseline(baseline, attack), Outcome::Drawn { id, .. }) =
                (bayes, self.at, self.released[at].outcome)
            {
                let guess = attack.guess(baseline, id, &self.method.prior(attacker, row));
                let t = self.tokens.as_slice()[at].id;
                self.found(at, Attack::Bayes, guess.is_some_and(|guess| guess.id == t));
            }
            if let (true, AtEpsilon::Cape(cape, guessing), Some(listing)) =
                (bayes, self.at, self.method.listing())
            {
                let word = self.words.and_then(|words| words[at].as_ref());
                let found = word.is_some_and(|word| {
                    let prior = listing.prior(attacker, row);
                    guessing.finds(cape, listing, word, &self.released[at].released, &prior)
                });
                self.found(at, Attack::Bayes, found);
            }
            words[at] = Some(vocab.surface(guess).to_owned());
        }
        let bayes = bayes && matches!(self.at, AtEpsilon::Baseline(..) | AtEpsilon::Cape(..));
        for position in &mut self.positions {
            let kept = !asked[position.at];
            position.found.entry(Attack::Mti).or_insert(kept);
            if bayes {
                // a number that was moved is not found
                position.found.entry(Attack::Bayes).or_insert(kept);
            }
        }
        Ok(self.with(&words))
    }

    /// An attack on nothing finds nothing.
    fn nothing(&mut self, attack: Attack) -> Option<String> {
        for position in &mut self.positions {
            position.found.insert(attack, false);
        }
        None
    }

    /// Whether an attack was right about a token.
    fn found(&mut self, at: usize, attack: Attack, found: bool) {
        if let Some(position) = self.positions.iter_mut().find(|position| position.at == at) {
            position.found.insert(attack, found);
        }
    }

    /// The text with other words in some places.
    fn with(&self, words: &[Option<String>]) -> String {
        let (mut text, mut at) = (String::new(), 0);
        for (token, word) in self.released.iter().zip(words) {
            text.push_str(&self.item.text[at..token.start]);
            text.push_str(word.as_ref().unwrap_or(&token.released));
            at = token.end;
        }
        text + &self.item.text[at..]
    }

    fn bayes(&mut self) -> Result<()> {
        let (AtEpsilon::CapePaper(cape), Some(bayes)) = (self.at, &self.method.bayes) else {
            return Ok(());
        };
        let drawn: Vec<_> = self
            .released
            .iter()
            .map(|token| match token.outcome {
                Outcome::Drawn { id, .. } => Some(id),
                _ => None,
            })
            .collect();
        let guesses = bayes.guesses(cape, self.tokens, &drawn)?;
        for (at, guess) in self.tokens.sensitive().zip(guesses) {
            self.found(at, Attack::Bayes, guess.id == self.tokens.as_slice()[at].id);
        }
        Ok(())
    }

    fn spans(&self) -> BTreeMap<String, BTreeMap<Attack, Hits>> {
        let mut labels: BTreeMap<String, Vec<&Position>> = BTreeMap::new();
        let within = |position: &Position, span: &Span| {
            let token = &self.released[position.at];
            token.start < span.end && span.start < token.end
        };
        for span in &self.item.spans {
            let positions = self.positions.iter().filter(|position| within(position, span));
            labels.entry(span.label.clone()).or_default().extend(positions);
        }
        if !labels.is_empty() {
            let any =
                |position: &&Position| self.item.spans.iter().any(|span| within(position, span));
            labels.insert(LABELLED_SPANS.to_owned(), self.positions.iter().filter(any).collect());
        }
        if let Some(words) = self.words {
            let is_protected =
                |position: &&Position| words[position.at].as_ref().is_some_and(Word::is_protected);
            let protected: Vec<&Position> = self.positions.iter().filter(is_protected).collect();
            labels.insert(PROTECTED_WORDS.to_owned(), protected);
        }
        labels.into_iter().map(|(label, positions)| (label, hits(positions.into_iter()))).collect()
    }
}

/// How many words are protected, by where they stand.
fn protected(item: &Item, tokens: &Tokens, counted: &[usize], words: &[Option<Word>]) -> Protected {
    let mut found = Protected::default();
    for (at, (token, word)) in tokens.as_slice().iter().zip(words).enumerate() {
        let Some(word) = word else { continue };
        let hit = Hits { found: word.is_protected().into(), of: 1 };
        let is_counted = counted.binary_search(&at).is_ok();
        let within: Vec<&Span> = item
            .spans
            .iter()
            .filter(|span| token.start < span.end && span.start < token.end)
            .collect();
        for span in &within {
            *found.spans.entry(span.label.clone()).or_default() += hit;
        }
        if is_counted {
            found.words += hit;
            if within.is_empty() {
                found.elsewhere += hit;
            }
        }
    }
    found
}

/// How often each attack was right.
fn hits<'a>(positions: impl Iterator<Item = &'a Position>) -> BTreeMap<Attack, Hits> {
    let mut all: BTreeMap<Attack, Hits> = BTreeMap::new();
    for position in positions {
        for (&attack, &found) in &position.found {
            *all.entry(attack).or_default() += Hits { found: found.into(), of: 1 };
        }
    }
    all
}
