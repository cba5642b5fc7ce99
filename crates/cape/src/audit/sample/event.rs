//! Events that tell the one prompt from the other: chosen on the first run, tested on the second.
//!
//! An event is that a score of the release reaches a threshold. The score is a sum over words.

use super::binomial::{lower, upper};
use super::columns::{Column, Columns, Place};
use super::fit::WordDistribution;

/// How many events are tested: the more, the wider each one's bounds.
pub(super) const MOST_EVENTS: usize = 8;

/// How many words of an event are named.
const NAMED: usize = 3;

/// An event with what was seen of it in the second run.
pub struct Event {
    /// Where it looks.
    pub place: Place,
    /// The words that make it up, the most frequent first and not all of them, where it looks at
    /// one place.
    pub words: Vec<String>,
    /// How many different words make it up, of those that were seen.
    pub count: usize,
    /// Whether it is the other prompt that it is more probable for.
    pub reversed: bool,
    /// How often it was seen in the releases of the prompt, and of the other.
    pub hits: [u64; 2],
    /// The number of releases of each.
    pub draws: u64,
    /// By this event ε is at least this.
    pub epsilon: f64,
}

/// A score for each word of some places.
#[derive(Clone)]
struct Score<'a> {
    place: Place,
    terms: Vec<(&'a Column<'a>, Vec<f64>)>,
}

impl<'a> Score<'a> {
    /// How much each word speaks for the prompt: ln of the ratio of its counts in the first half of
    /// the first run. The other half sets the threshold, else words seen once would look like
    /// evidence.
    fn by_counts(column: &'a Column<'a>) -> Self {
        let half = |codes: &Vec<u32>| column.counts(&codes[..codes.len() / 2]);
        let [one, other] = column.codes[0].each_ref().map(half);
        let ratio = |(&a, &b): (&u32, &u32)| ((f64::from(a) + 0.5) / (f64::from(b) + 0.5)).ln();
        let term = one.iter().zip(&other).map(ratio).collect();
        Self { place: column.place, terms: vec![(column, term)] }
    }

    /// A score from the stated distributions.
    fn by_distribution(column: &'a Column<'a>, [one, other]: &[WordDistribution; 2]) -> Self {
        let ratio = |word: &&str| match (one.probability(word), other.probability(word)) {
            (p, q) if p > 0.0 && q > 0.0 => (p / q).ln(),
            _ => 0.0,
        };
        Self {
            place: column.place,
            terms: vec![(column, column.words.iter().map(ratio).collect())],
        }
    }

    fn of(&self, run: usize, prompt: usize, i: usize) -> f64 {
        self.terms.iter().map(|(at, term)| term[at.codes[run][prompt][i] as usize]).sum()
    }
}

/// An event before it is tested.
pub(super) struct Chosen<'a> {
    score: Score<'a>,
    threshold: f64,
    reversed: bool,
    /// An estimate of its bound.
    promise: f64,
}

/// The events that the first run speaks for; nothing of the second is looked at.
pub(super) fn choose<'a>(
    columns: &'a Columns<'a>,
    distributions: Option<&[WordDistribution; 2]>,
) -> Vec<Chosen<'a>> {
    let mut columns: Vec<&'a Column<'a>> =
        columns.columns.iter().filter(|column| column.varies_at_first()).collect();
    let places = columns.iter().filter(|column| column.place != Place::Whole).count();
    // with one place that varies the whole tells nothing more
    columns.retain(|column| places != 1 || column.place != Place::Whole);
    let mut scores: Vec<Score<'a>> = columns.iter().map(|c| Score::by_counts(c)).collect();
    let words: Vec<_> = scores
        .iter()
        .filter(|score| score.place != Place::Whole)
        .flat_map(|s| s.terms.clone())
        .collect();
    if words.len() > 1 {
        scores.push(Score { place: Place::Words, terms: words });
    }
    if let Some(distributions) = distributions {
        let at = columns.iter().find(|column| column.place == distributions[0].place());
        scores.extend(at.map(|column| Score::by_distribution(column, distributions)));
    }
    let mut chosen: Vec<Chosen<'a>> = Vec::new();
    for reversed in [false, true] {
        chosen.extend(scores.iter().filter_map(|score| Chosen::new(score.clone(), reversed)));
        chosen.extend(columns.iter().filter_map(|column| Chosen::one_word(column, reversed)));
    }
    chosen.sort_by(|a, b| b.promise.total_cmp(&a.promise));
    chosen.truncate(MOST_EVENTS);
    chosen
}

impl<'a> Chosen<'a> {
    /// The threshold at which the score tells the two prompts apart best.
    fn new(score: Score<'a>, reversed: bool) -> Option<Self> {
        let n = score.terms[0].0.codes[0][0].len();
        let sign = if reversed { -1.0 } else { 1.0 };
        let mut scores: Vec<(f64, usize)> = [0, 1]
            .into_iter()
            .flat_map(|prompt| (n / 2..n).map(move |i| (prompt, i)))
            .map(|(prompt, i)| (sign * score.of(0, prompt, i), prompt))
            .collect();
        scores.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (mut hits, mut best) = ([0_u64; 2], None);
        for (i, &(at, prompt)) in scores.iter().enumerate() {
            hits[prompt] += 1;
            if scores.get(i + 1).is_none_or(|&(next, _)| next < at) {
                let promise = promise(hits, reversed, (n - n / 2) as f64, n as f64);
                if best.is_none_or(|(most, _)| promise > most) {
                    best = Some((promise, at));
                }
            }
        }
        best.map(|(promise, threshold)| Self { score, threshold, reversed, promise })
    }

    /// The one word that tells them apart best.
    fn one_word(column: &'a Column<'a>, reversed: bool) -> Option<Self> {
        let n = column.codes[0][0].len() as f64;
        let [one, other] = column.codes[0].each_ref().map(|codes| column.counts(codes));
        let promises = one
            .iter()
            .zip(&other)
            .map(|(&a, &b)| promise([u64::from(a), u64::from(b)], reversed, n, n));
        let (best, promise) = promises.enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let mut term = vec![0.0; column.words.len()];
        term[best] = if reversed { -1.0 } else { 1.0 };
        let score = Score { place: column.place, terms: vec![(column, term)] };
        Some(Self { score, threshold: 1.0, reversed, promise })
    }

    fn holds(&self, score: f64) -> bool {
        (if self.reversed { -score } else { score }) >= self.threshold
    }

    /// The event on the second run, with the chance `alpha` of being wrong shared by its two bounds.
    pub(super) fn test(self, columns: &Columns<'_>, alpha: f64) -> Event {
        let n = columns.columns.first().map_or(0, |column| column.codes[1][0].len());
        let count = |prompt| (0..n).filter(|&i| self.holds(self.score.of(1, prompt, i))).count();
        let hits = [count(0) as u64, count(1) as u64];
        let (more, less) = if self.reversed { (hits[1], hits[0]) } else { (hits[0], hits[1]) };
        let draws = n as u64;
        let epsilon = (lower(more, draws, alpha / 2.0) / upper(less, draws, alpha / 2.0)).ln();
        let (words, count) = self.words();
        let (place, reversed) = (self.score.place, self.reversed);
        Event { place, words, count, reversed, hits, draws, epsilon }
    }

    /// The most frequent words of an event at one place, and how many there are.
    fn words(&self) -> (Vec<String>, usize) {
        let [(column, term)] = &self.score.terms[..] else { return (Vec::new(), 0) };
        let counts = column.codes[1].each_ref().map(|codes| column.counts(codes));
        let seen = |&i: &usize| counts[0][i] + counts[1][i];
        let mut words: Vec<usize> =
            (0..term.len()).filter(|&i| self.holds(term[i])).filter(|i| seen(i) > 0).collect();
        words.sort_by_key(|i| std::cmp::Reverse(seen(i)));
        let named = words.iter().take(NAMED).map(|&i| column.words[i].to_owned()).collect();
        (named, words.len())
    }
}

/// About what the bound on ε will be for an event that was seen so often in `m` draws of each, once
/// it is tested on `n`: which event is chosen needs no exactness.
fn promise(hits: [u64; 2], reversed: bool, m: f64, n: f64) -> f64 {
    let z = 4.0;
    let [one, other] = hits.map(|hits| hits as f64 * n / m);
    let (more, less) = if reversed { (other, one) } else { (one, other) };
    let spread = |count: f64| z * (count * (1.0 - count / n) + z * z / 4.0).sqrt();
    let least = more + z * z / 2.0 - spread(more);
    let most = (less + z * z / 2.0 + spread(less)).min(n);
    if least > 0.0 { (least / most).ln() } else { f64::NEG_INFINITY }
}
