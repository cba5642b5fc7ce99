#![doc = include_str!("cape.md")]
#![allow(rustdoc::broken_intra_doc_links, reason = "P[y] is a probability, not a link")]

use std::collections::HashMap;
use std::sync::Arc;

use crate::keep::KeepList;
use crate::kinds::{self, Kind};
use crate::law::{Law, Shape};
use crate::levels::{Key, Levels, Profile};
use crate::lexicon::{Flags, Lexicon, Listed};
use crate::privacy::{Epsilon, Evidence, Guarantee, Notion, Reach, round_up};
use crate::rank::{nth_best, ranking};
use crate::rng::{CryptoRng, Secret};
use crate::sample::Share;
use crate::text::{Level, Why};
use crate::units::{self, Unit};
use crate::{Error, Result};

/// The margin of ε₂ over ln n unless told otherwise: one ordinary word in a million is replaced.
const ORDINARY_MARGIN: f64 = 13.8;

/// How many values a value of a grid becomes most of the time: the nearest ones, the true one among them.
fn near_values(kind: Kind) -> usize {
    match kind {
        // any of them, which gives nothing away
        Kind::Month | Kind::Weekday => kinds::grid_len(kind),
        // a month on either side
        Kind::Day => 60,
        // a year on either side
        Kind::MonthOfYear => 24,
        // about a quarter of a year on either side
        Kind::Date => 200,
        // an hour and a half on either side
        Kind::Time => 36,
        _ => 20,
    }
}

/// The ε of a grid of `n` values, k of them near. On a small grid a smaller one than ε₁ keeps as large a share of the draws
/// near as words have it, and tells two values apart less surely.
fn grid_epsilon(epsilon: Epsilon, near: f64, n: usize, k: usize) -> Result<Epsilon> {
    let most = epsilon.get();
    let least = LEAST_EPSILON.min(most);
    if n <= k {
        // the law is uniform, whatever ε is
        return Epsilon::new(least);
    }
    let far_values = (n - k) as f64 / k as f64;
    Epsilon::new((near / (1.0 - near) * far_values).ln().clamp(least, most))
}

/// As good as 0, which no ε may be.
const LEAST_EPSILON: f64 = 1e-6;

/// All that defines the mechanism beside the lexicon.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Which words are ordinary.
    pub profile: Profile,
    /// ε₁, between protected words.
    pub epsilon: Epsilon,
    /// How the law of protected words falls.
    pub shape: Shape,
    /// ε₂ of ordinary words; ln n + 13.8 without one.
    pub epsilon_ordinary: Option<Epsilon>,
    /// Words that are protected, whatever their case.
    pub protect: Vec<String>,
    /// Words that are ordinary, whatever their case.
    pub ordinary: Vec<String>,
    /// Words and phrases that are sent as they are.
    pub keep: Vec<String>,
    /// How texts are cut.
    pub cut: units::Options,
    /// Whether texts in other scripts than the list's are perturbed, too, and not refused.
    pub any_script: bool,
}

/// ε₁ unless told otherwise.
pub const EPSILON: f64 = 8.0;

/// The shape of the law of protected words unless told otherwise.
pub const SHAPE: Shape = Shape { k: 100, alpha: None };

impl Default for Settings {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            epsilon: Epsilon::new(EPSILON).expect("a positive number"),
            shape: SHAPE,
            epsilon_ordinary: None,
            protect: Vec::new(),
            ordinary: Vec::new(),
            keep: Vec::new(),
            cut: units::Options::default(),
            any_script: false,
        }
    }
}

/// The mechanism.
pub struct Cape {
    lexicon: Arc<Lexicon>,
    settings: Settings,
    levels: Levels,
    keep: KeepList,
    protected: Law,
    ordinary: Law,
    /// The laws of the kinds whose values lie on a grid.
    grids: HashMap<Kind, Law>,
    /// How many listed words are at most the same to a reader, but for case.
    alike: usize,
    /// The mark that parts this mechanism's draws from those of others with the same secret.
    tag: Vec<u8>,
}

/// A text before any draw: its units, their levels, and which of them are drawn together.
pub struct Plan {
    /// The units, in order.
    pub places: Vec<Place>,
    /// The keys that are drawn for, in order of first occurrence.
    pub keys: Vec<Key>,
}

/// A unit of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where it stands.
    pub unit: Unit,
    /// Its level.
    pub level: Level,
    /// Why it has that level.
    pub why: Why,
    /// The number of its key; none where it is kept.
    pub key: Option<usize>,
}

/// The result of a key's draw.
#[derive(Clone, PartialEq, Eq)]
pub enum Drawn {
    /// A listed word.
    Word(Listed),
    /// A value of its kind, as text.
    Value(String),
}

impl std::fmt::Debug for Drawn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Drawn")
    }
}

impl Cape {
    /// The mechanism with these settings.
    pub fn new(lexicon: Arc<Lexicon>, settings: Settings) -> Result<Self> {
        single_words(&settings.protect, "protect", settings.cut)?;
        single_words(&settings.ordinary, "treat as ordinary", settings.cut)?;
        let lexicon = if settings.ordinary.is_empty() {
            lexicon
        } else {
            Arc::new(lexicon.with_words(&settings.ordinary)?)
        };
        let (n, substitutes) = (lexicon.len(), lexicon.substitutes());
        if settings.shape.k > substitutes {
            let range = "no more than the words of the list that are substitutes";
            let value = settings.shape.k as f64;
            return Err(Error::Setting { name: "k", range, value });
        }
        let ordinary = match settings.epsilon_ordinary {
            Some(epsilon) => epsilon,
            None => Epsilon::new((n as f64).ln() + ORDINARY_MARGIN)?,
        };
        // as improbable as that an ordinary word becomes one of them: less would make ε_any larger, and more would make far words
        let protected = Law::new(substitutes, settings.epsilon, settings.shape)?
            .with_rest(n - substitutes, (-ordinary.get()).exp())?;
        let near = protected.first(settings.shape.k);
        let grid = |kind: Kind| {
            let (n, k) = (kinds::grid_len(kind), near_values(kind));
            let shape = Shape { k, alpha: settings.shape.alpha };
            Ok((kind, Law::new(n, grid_epsilon(settings.epsilon, near, n, k)?, shape)?))
        };
        let grids = Kind::ALL.into_iter().filter(|kind| kind.is_near()).map(grid);
        let mut keep = KeepList::none();
        for phrase in &settings.keep {
            let units = units::cut(phrase, settings.cut)?;
            let words: Vec<&str> = units.iter().map(|unit| unit.of(phrase)).collect();
            keep.add(&words);
        }
        // the same numbers under two laws would be two draws that depend on each other
        let alpha = settings.shape.alpha.map(|alpha| format!("Some({alpha:?})"));
        let tag = format!(
            "{} {} {} {} {:016x}",
            settings.epsilon.get(),
            alpha.as_deref().unwrap_or("None"),
            settings.shape.k,
            ordinary.get(),
            lexicon.checksum()
        );
        Ok(Self {
            tag: ring::digest::digest(&ring::digest::SHA256, tag.as_bytes()).as_ref().to_vec(),
            protected,
            ordinary: Law::new(n, ordinary, Shape { k: 1, alpha: None })?,
            grids: grids.collect::<Result<_>>()?,
            levels: Levels::new(settings.profile, &settings.protect, &settings.ordinary),
            keep,
            alike: lexicon.alike(),
            lexicon,
            settings,
        })
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The lexicon, with the words that the settings add to it.
    #[must_use]
    pub fn lexicon(&self) -> &Arc<Lexicon> {
        &self.lexicon
    }

    /// All that a release depends on beside the text and the secret, written out.
    pub(crate) fn fingerprint(&self) -> String {
        let Settings {
            profile,
            epsilon,
            shape,
            epsilon_ordinary,
            protect,
            ordinary,
            keep,
            cut,
            ..
        } = &self.settings;
        let list = |words: &[String]| words.join("\u{1f}");
        let number = |given: Option<f64>| given.map_or_else(|| "none".into(), |x| x.to_string());
        format!(
            "cape profile={} epsilon={} k={} alpha={} epsilon-ordinary={} protect={} ordinary={} \
             keep={} cut={} lexicon={:016x}",
            profile.as_str(),
            epsilon.get(),
            shape.k,
            number(shape.alpha),
            number(epsilon_ordinary.map(Epsilon::get)),
            list(protect),
            list(ordinary),
            list(keep),
            cut.as_str(),
            self.lexicon.checksum(),
        )
    }

    /// The law of the words of a level.
    ///
    /// # Panics
    /// For what is kept: it is not drawn.
    #[must_use]
    pub fn law(&self, level: Level) -> &Law {
        match level {
            Level::Protected => &self.protected,
            Level::Ordinary => &self.ordinary,
            Level::Kept => unreachable!("what is kept has no law"),
        }
    }

    /// The law of a key; none where its kind is drawn uniformly.
    #[must_use]
    pub fn law_of(&self, key: &Key) -> Option<&Law> {
        if key.kind == Kind::Word { Some(self.law(key.level)) } else { self.grids.get(&key.kind) }
    }

    /// The guarantee of any release.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        self.guarantee_for(&Kind::ALL)
    }

    /// The guarantee of a release that has units of these kinds alone.
    #[must_use]
    pub fn guarantee_for(&self, kinds: &[Kind]) -> Guarantee {
        let grids: Vec<&Law> = kinds.iter().filter_map(|kind| self.grids.get(kind)).collect();
        let most = |of: &dyn Fn(&Law) -> f64| {
            grids.iter().map(|law| of(law)).fold(of(&self.protected), f64::max)
        };
        let protected = most(&Law::epsilon);
        let between = self.protected.loss(&self.ordinary).max(self.ordinary.epsilon());
        let k = self.settings.shape.k;
        Guarantee {
            nominal: self.settings.epsilon,
            bound: round_up(between.max(protected)),
            protected: round_up(protected),
            // a word stays itself, too, if it becomes one that differs in case
            most_kept: self.protected.first(self.alike),
            most_kept_value: grids.iter().map(|law| law.probability(1)).reduce(f64::max),
            near: Some((k, self.protected.first(k))),
            most_guessed: most(&Law::most_guessed),
            notion: Notion::Ldp,
            evidence: Evidence::Proof,
            reach: Reach::OwnDraw,
        }
    }

    /// Cuts a text and gives every unit its level and its key. Nothing is drawn.
    pub fn plan(&self, text: &str) -> Result<Plan> {
        let units = units::cut(text, self.settings.cut)?;
        let words: Vec<&str> = units.iter().map(|unit| unit.of(text)).collect();
        if !self.settings.any_script && words.iter().map(|word| foreign(word)).sum::<i64>() > 0 {
            return Err(Error::Script);
        }
        let kept = self.keep.judge(&words);
        let (mut keys, mut numbers) = (Vec::new(), HashMap::new());
        let mut place = |(unit, kept): (Unit, Option<Why>)| {
            if let Some(why) = kept {
                return Place { unit, level: Level::Kept, why, key: None };
            }
            let (key, why) = self.key(unit.kind, unit.of(text), unit.first);
            let level = key.level;
            let number = *numbers.entry(key).or_insert_with_key(|key| {
                keys.push(key.clone());
                keys.len() - 1
            });
            Place { unit, level, why, key: Some(number) }
        };
        let places = units.into_iter().zip(kept).map(&mut place).collect();
        Ok(Plan { places, keys })
    }

    /// The key of a unit, and why it has its level.
    #[must_use]
    pub fn key(&self, kind: Kind, text: &str, first: bool) -> (Key, Why) {
        let (level, why) = match kind {
            Kind::Word => self.levels.word(&self.lexicon, text, first),
            _ => (Level::Protected, Why::Kind),
        };
        (self.levels.key(&self.lexicon, kind, text, level), why)
    }

    /// Draws for every key of a plan.
    #[must_use]
    pub fn draw(&self, plan: &Plan, secret: &Secret) -> Vec<Drawn> {
        plan.keys.iter().map(|key| self.draw_one(key, secret)).collect()
    }

    /// Draws for one key.
    #[must_use]
    pub fn draw_one(&self, key: &Key, secret: &Secret) -> Drawn {
        self.draw_key(key, &mut secret.generator(&self.drawn_from(key)))
    }

    /// All that a draw comes from beside the secret, in bytes: the same bytes and the same secret are one
    /// draw, whatever other settings there are.
    #[must_use]
    pub fn drawn_from(&self, key: &Key) -> Vec<u8> {
        [&self.tag[..], &key.bytes()].concat()
    }

    fn draw_key(&self, key: &Key, rng: &mut dyn CryptoRng) -> Drawn {
        let Some(law) = self.law_of(key) else {
            return Drawn::Value(kinds::uniform(key.kind, rng));
        };
        let rank = law.draw(rng);
        match (key.kind, self.own(key)) {
            // The first is the word itself, whatever the order of the others. A protected word takes the long way,
            // so that the time of a draw does not tell whether it stayed.
            (Kind::Word, Some(own)) if rank == 1 && key.level == Level::Ordinary => {
                Drawn::Word(own)
            }
            (Kind::Word, _) => {
                let utilities = self.utilities(key);
                // the rest is not ranked, and stands in the order of the list; which it is takes the same time
                let nth = nth_best(&utilities, rank.min(utilities.len()));
                Drawn::Word(Listed(if rank > utilities.len() { rank - 1 } else { nth } as u32))
            }
            (kind, _) => {
                let value = kinds::grid_nth(kind, grid_value(key), rank);
                Drawn::Value(kinds::grid_text(kind, value))
            }
        }
    }

    /// The listed word that a key ranks first: itself in some case, if it is among the words that the key ranks.
    #[must_use]
    pub fn own(&self, key: &Key) -> Option<Listed> {
        self.itself(key).filter(|own| own.index() < self.ranked(key))
    }

    /// The listed word that a key is itself in some case.
    pub(crate) fn itself(&self, key: &Key) -> Option<Listed> {
        if key.kind != Kind::Word {
            return None;
        }
        let lower = key.form.to_lowercase();
        let is_software = self.lexicon.flags(&key.form).is_some_and(Flags::is_software);
        let through_lower = key.level == Level::Ordinary
            && !is_software
            && self.lexicon.flags(&lower).is_some_and(Flags::is_common);
        let lower_entry = through_lower.then(|| self.lexicon.listed(&lower)).flatten();
        lower_entry
            .or_else(|| self.lexicon.listed(&key.form))
            .or_else(|| self.lexicon.listed_folded(&lower))
    }

    /// How many listed words a key of kind word ranks: all for an ordinary word, the substitutes for a protected one.
    fn ranked(&self, key: &Key) -> usize {
        self.law(key.level).ranked()
    }

    /// How good each of the words that a key ranks is in its place: the order of the draw.
    pub(crate) fn utilities(&self, key: &Key) -> Vec<f32> {
        let mut utilities = self.lexicon.fitness(self.ranked(key), &key.form);
        if let Some(own) = self.own(key) {
            utilities[own.index()] = f32::INFINITY;
        }
        utilities
    }

    /// The listed words from the first rank to the last, for a key of kind word: those that it ranks, then the rest in the order
    /// of the list.
    #[must_use]
    pub fn order(&self, key: &Key) -> Vec<Listed> {
        let ranking = ranking(&self.utilities(key));
        let rest = ranking.len() as u32..self.lexicon.len() as u32;
        ranking.into_iter().chain(rest).map(Listed).collect()
    }

    /// The exact distribution of a key's draw: a share for each listed word, or for each value of its grid.
    /// None where its kind is drawn uniformly, and does not look at the key.
    #[must_use]
    pub fn row(&self, key: &Key) -> Option<Vec<Share>> {
        let law = self.law_of(key)?;
        let mut row = vec![Share { weight: 0, total: law.total() }; law.len()];
        if key.kind == Kind::Word {
            for (rank, word) in (1..).zip(self.order(key)) {
                row[word.index()].weight = law.weight(rank);
            }
        } else {
            for (value, share) in row.iter_mut().enumerate() {
                share.weight = law.weight(kinds::grid_rank(key.kind, grid_value(key), value));
            }
        }
        Some(row)
    }
}

/// How many letters of a word are of other scripts than Latin, less those that are not.
fn foreign(word: &str) -> i64 {
    let is_latin = |c: char| {
        c.is_ascii()
            || ('\u{c0}'..='\u{24f}').contains(&c)
            || ('\u{1e00}'..='\u{1eff}').contains(&c)
    };
    let letters = word.chars().filter(|c| c.is_alphabetic());
    letters.map(|c| if is_latin(c) { -1 } else { 1 }).sum()
}

/// A level may depend on nothing but the word itself, so lists of words have no phrases.
fn single_words(words: &[String], to: &'static str, cut: units::Options) -> Result<()> {
    for word in words {
        let units = units::cut(word, cut)?;
        let whole = |unit: &Unit| unit.kind == Kind::Word && unit.of(word) == word;
        if units.len() != 1 || !units.iter().all(whole) {
            return Err(Error::Phrase(to));
        }
    }
    Ok(())
}

/// The value that a key of a near kind stands for.
fn grid_value(key: &Key) -> usize {
    key.form.parse().unwrap_or(0)
}
