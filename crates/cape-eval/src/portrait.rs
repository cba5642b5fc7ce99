//! The behaviour of a mechanism on single tokens: where a token goes, how often it stays, and how long the
//! tail of its candidates is. Exact, from the distributions; no draws.

use std::collections::BTreeMap;

use cape::levels::Key;
use cape::mechanism::cape_paper::{CapePaper, Settings};
use cape::tokens::{TokenId, Tokens};
use cape::{Cape, Epsilon, Kind, Level};
use cape_models::Device;

use crate::Result;
use crate::data::{Data, Item};
use crate::method::{AtEpsilon, Method, is_reference};
use crate::record::Record;
use crate::report::{BookToken, Example, ExampleRow, Mapping, Tail};

/// How many draws a mapping set is counted over.
const DRAWS: f64 = 1000.0;

/// The paper's example.
const BOOK: &str = "This is a good book.";

/// S_t and N_t of the first tokens of the data: how many different outputs 1,000 draws have on average,
/// and in which share of them the token stays.
pub fn mapping(method: &Method, data: &Data, epsilon: f64, tokens: usize) -> Result<Mapping> {
    let at = method.at(epsilon)?;
    let mut mapping =
        Mapping { mechanism: method.name.clone(), epsilon, sizes: Vec::new(), kept: Vec::new() };
    let Some((tokenizer, keep)) = method.cutting() else {
        if let AtEpsilon::Cape(cape, _) = &at {
            of_words(cape, data, tokens, &mut mapping)?;
        }
        return Ok(mapping);
    };
    let mut seen: Vec<TokenId> = Vec::new();
    for Item { text, .. } in &data.items {
        let prompt = tokenizer.tokenize(text, &keep)?;
        for i in prompt.sensitive() {
            if seen.len() == tokens {
                return Ok(mapping);
            }
            let t = prompt.as_slice()[i].id;
            if seen.contains(&t) {
                continue;
            }
            let Some((probabilities, own)) = distribution(&at, &prompt, i)? else { continue };
            seen.push(t);
            mapping.sizes.push(probabilities.iter().map(|&p| comes(p)).sum());
            mapping.kept.push(own);
        }
    }
    Ok(mapping)
}

/// The probability that an output of probability p comes at least once in all draws.
fn comes(p: f64) -> f64 {
    1.0 - (DRAWS * (-p).ln_1p()).exp()
}

/// S_t and N_t of the first protected words.
fn of_words(cape: &Cape, data: &Data, words: usize, mapping: &mut Mapping) -> Result<()> {
    let mut seen: Vec<Key> = Vec::new();
    for Item { text, .. } in &data.items {
        for key in cape.plan(text)?.keys {
            let law = cape.law_of(&key).filter(|_| key.kind == Kind::Word);
            let Some(law) = law.filter(|_| key.level == Level::Protected) else { continue };
            if seen.len() == words {
                return Ok(());
            }
            if !seen.contains(&key) {
                let ranks = (1..=law.len()).map(|rank| comes(law.probability(rank)));
                mapping.sizes.push(ranks.sum());
                mapping.kept.push(cape.own(&key).map_or(0.0, |_| law.probability(1)));
                seen.push(key);
            }
        }
    }
    Ok(())
}

/// The probabilities of a token's candidates, and that it stays; none where it is not drawn for.
fn distribution(at: &AtEpsilon, prompt: &Tokens, i: usize) -> Result<Option<(Vec<f64>, f64)>> {
    let t = prompt.as_slice()[i].id;
    Ok(match at {
        AtEpsilon::CapePaper(cape) => {
            let nothing = vec![None; prompt.as_slice().len()];
            let explanation = cape.explain(prompt, &nothing, i)?;
            let (weights, total) =
                (&explanation.distribution.weights, explanation.distribution.total as f64);
            let own = explanation.scores.candidates.binary_search(&t);
            let own = own.map_or(0.0, |own| weights[own] as f64 / total);
            Some((weights.iter().map(|&weight| weight as f64 / total).collect(), own))
        }
        AtEpsilon::Cape(..) | AtEpsilon::Reference(_) => None,
        AtEpsilon::Baseline(baseline, _) => baseline.odds(t).map(|odds| {
            let drawn = 1.0 - odds.kept;
            let probability = |odd: &cape::mechanism::Odd| odd.probability * drawn;
            let own = odds.candidates.iter().find(|odd| odd.id == t).map_or(0.0, probability);
            (odds.candidates.iter().map(probability).collect(), own + odds.kept)
        }),
    })
}

/// The logits and distances of all candidates at the sensitive tokens of the paper's example.
pub fn book(device: &Device, settings: Settings) -> Result<Vec<BookToken>> {
    let (cape, prompt) = example(device, settings)?;
    let nothing = vec![None; prompt.as_slice().len()];
    prompt
        .sensitive()
        .map(|i| {
            let scores = cape.explain(&prompt, &nothing, i)?.scores;
            let token = device.model.vocab().surface(prompt.as_slice()[i].id).to_owned();
            Ok(BookToken { token, logits: scores.logits, distances: scores.distances })
        })
        .collect()
}

/// How much probability the best candidates of the example's last word have together: by the plain
/// exponential mechanism over all candidates, and by the paper's buckets.
pub fn tails(device: &Device, settings: Settings, epsilon: f64) -> Result<Vec<Tail>> {
    let settings = Settings { epsilon: Epsilon::new(epsilon)?, ..settings };
    let (cape, prompt) = example(device, settings)?;
    let nothing = vec![None; prompt.as_slice().len()];
    let Some(last) = prompt.sensitive().last() else { return Ok(Vec::new()) };
    let explanation = cape.explain(&prompt, &nothing, last)?;
    let distribution = &explanation.distribution;
    let by_rank = distribution
        .order
        .iter()
        .map(|&c| distribution.weights[c as usize] as f64 / distribution.total as f64);
    let utilities = &explanation.scores.utilities;
    let sorted = distribution.order.iter().map(|&c| f64::from(utilities[c as usize]));
    let sorted: Vec<f64> = sorted.collect();
    let range = sorted.first().zip(sorted.last()).map_or(1.0, |(a, b)| (a - b).max(1e-12));
    let weight = |u: &f64| (epsilon / 2.0 * (u - sorted[0]) / range).exp();
    let total: f64 = sorted.iter().map(weight).sum();
    let tail = |name: &str, cumulative| Tail { name: name.to_owned(), epsilon, cumulative };
    Ok(vec![
        tail("equal-width buckets", cumulative(by_rank)),
        tail("without buckets", cumulative(sorted.iter().map(|u| weight(u) / total))),
    ])
}

fn example(device: &Device, settings: Settings) -> Result<(CapePaper, Tokens)> {
    let prompt = device.tokenizer.tokenize(BOOK, &cape::tokens::KeepList::default())?;
    Ok((CapePaper::new(device.model.clone(), settings)?, prompt))
}

/// The sums up to some ranks, closer together where ranks are small.
fn cumulative(probabilities: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    let (mut sum, mut next, mut points) = (0.0, 1.0, Vec::new());
    let mut last = (0.0, 0.0);
    for (rank, probability) in (1_u32..).zip(probabilities) {
        sum += probability;
        last = (f64::from(rank), sum);
        if last.0 >= next {
            points.push(last);
            next = (next * 1.15).max(next + 1.0);
        }
    }
    if points.last() != Some(&last) {
        points.push(last);
    }
    points
}

/// The releases that the records hold, prompt by prompt.
#[must_use]
pub fn examples(records: &[Record], data: &Data) -> Vec<Example> {
    let mut examples: BTreeMap<usize, Vec<ExampleRow>> = BTreeMap::new();
    let shown = |record: &&Record| record.seed == 0 && !is_reference(&record.cell.mechanism);
    for record in records.iter().filter(shown) {
        if let Some(released) = &record.released {
            examples.entry(record.prompt).or_default().push(ExampleRow {
                mechanism: record.cell.mechanism.clone(),
                epsilon: record.cell.epsilon,
                released: released.clone(),
            });
        }
    }
    let original = |prompt: usize| data.items.get(prompt).map(|item| item.text.clone());
    examples
        .into_iter()
        .filter_map(|(prompt, rows)| Some(Example { original: original(prompt)?, rows }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::cumulative;

    #[test]
    fn sums_reach_the_last_rank() {
        let points = cumulative(std::iter::repeat_n(0.001, 1000));
        assert_eq!(points[0], (1.0, 0.001));
        let (rank, sum) = points[points.len() - 1];
        assert!(rank == 1000.0 && (sum - 1.0).abs() < 1e-9 && points.len() < 100);
        assert!(points.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
    }
}
