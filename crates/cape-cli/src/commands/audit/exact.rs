//! `cape audit exact`

mod report;
mod words;

use cape::audit::baseline::BaselineAudit;
use cape::audit::position::{BucketRanges, PositionExtremes};
use cape::audit::{Extreme, Span};
use cape::mechanism::cape_paper::{CapePaper, Position};
use cape::sample::Share;
use cape::tokens::{Context, TokenId, Vocab};
use cape_models::{BaselineKind, Chosen};
use rayon::prelude::*;

use self::report::{Found, Metric, Pair, Paper, PerOutput, Side, TokenAudit};
use super::wanting;
use crate::args::ExactAuditArgs;
use crate::failure::{Done, Failure};
use crate::mechanism::Loaded;
use crate::{input, output, position};

pub(super) fn run(args: &ExactAuditArgs) -> Done {
    if args.sample.is_some_and(|sample| sample < 2) {
        return Err(Failure::usage("--sample is too small", "it takes two tokens to compare"));
    }
    let text = input::line(args.text.as_deref())?;
    let ready = match Loaded::new(&args.settings)? {
        Loaded::Cape(cape) => return words::run(args, &cape, &text),
        Loaded::Tokens(ready) => ready,
    };
    let sees_releases = match &ready.chosen {
        Chosen::CapePaper(cape, _) => cape.settings().context == Context::Released,
        Chosen::Baseline(..) => false,
    };
    if args.released.is_some() && !sees_releases {
        return Err(Failure::usage(
            "--released changes nothing here",
            "it goes with --context released",
        ));
    }
    let tokens = ready.tokenizer.tokenize(&text, &ready.keep)?;
    let i = position::sensitive(&tokens, args.word)?;
    let (vocab, own) = (ready.tokenizer.vocab(), tokens.as_slice()[i].id);
    let found = match &ready.chosen {
        Chosen::CapePaper(cape, _) => {
            let drawn = position::drawn(&text, &tokens, args.released.as_deref(), i, vocab)?;
            let position = cape.position(&tokens, &drawn, i)?;
            of_cape(args, cape, &position, &position.inputs(), own, vocab)?
        }
        Chosen::Baseline(baseline, kind, _) => {
            let words = BaselineAudit::new(baseline, vocab, own);
            of_words(args, &words, *kind, words.inputs(), own, vocab)?
        }
    };
    let report = TokenAudit::new(args.word, &ready, found);
    output::print_report(&report, args.json)?;
    match report.wanting() {
        None => Ok(()),
        Some(what) => Err(wanting(&what)),
    }
}

/// The tokens to try: all of them, or so many at equal distances, with the prompt's own among them if it
/// is one of them.
fn sampled(inputs: &[TokenId], own: TokenId, sample: Option<usize>) -> Vec<TokenId> {
    let Some(sample) = sample.filter(|&sample| sample < inputs.len()) else {
        return inputs.to_vec();
    };
    let mut some: Vec<TokenId> = (0..sample).map(|k| inputs[k * inputs.len() / sample]).collect();
    if let (Ok(_), Err(at)) = (inputs.binary_search(&own), some.binary_search(&own)) {
        // in the place of its neighbour: in order, and as many
        some[at.min(sample - 1)] = own;
    }
    some
}

fn of_cape(
    args: &ExactAuditArgs,
    cape: &CapePaper,
    position: &Position<'_>,
    inputs: &[TokenId],
    own: TokenId,
    vocab: &Vocab,
) -> Done<Found> {
    let tried = sampled(inputs, own, args.sample);
    let bar = output::bar(tried.len() as u64, "tokens");
    let exact = tried
        .par_iter()
        .enumerate()
        .try_fold(
            || PositionExtremes::new(position),
            |exact, (i, &t)| {
                let row = position.row(t)?;
                bar.inc(1);
                Ok::<_, cape::Error>(exact.add(i as u32, &row))
            },
        )
        .try_reduce(|| PositionExtremes::new(position), |a, b| Ok(a.merge(b)));
    bar.finish_and_clear();
    let exact = exact?;
    let found = exact.findings().ok_or_else(nothing)?;
    let side = |Extreme { share, input }: Extreme<Share>| -> Done<Side> {
        let t = tried[input as usize];
        let row = position.row(t)?;
        Ok(Side {
            input: vocab.token(t),
            probability: share.probability(),
            bucket_size: Some(row.sizes[row.bucket[found.output] as usize]),
            weight: Some(share.weight.to_string()),
            total_weight: Some(share.total.to_string()),
        })
    };
    let Span { most, least } = found.span;
    let pair = Pair {
        output: vocab.token(position.candidates()[found.output]),
        likely: side(most)?,
        unlikely: side(least)?,
    };
    let paper = exact.buckets().map(|buckets| paper(cape, buckets, found.loss()));
    Ok(Found {
        inputs: inputs.len(),
        inputs_tried: tried.len(),
        outputs: found.losses.len(),
        loss: found.loss(),
        loss_at_most: None,
        pair,
        per_output: PerOutput::of(&found),
        paper,
        metric: None,
        outside: None,
        own_covered: true,
    })
}

fn paper(cape: &CapePaper, buckets: &BucketRanges, loss: f64) -> Paper {
    let epsilon_prime = buckets.epsilon_prime();
    let epsilon = cape.settings().epsilon.get() + epsilon_prime;
    let (fewest_buckets, most_buckets) = buckets.filled.clone().into_inner();
    Paper { epsilon_prime, epsilon, fewest_buckets, most_buckets, exceeded: loss > epsilon }
}

/// No token could stand there and be drawn for.
fn nothing() -> Failure {
    Failure::new(
        "no token is drawn for there with these settings",
        "nothing is promised, and nothing can be compared",
    )
}

/// A mechanism that looks at the word alone: every position is like every other.
fn of_words(
    args: &ExactAuditArgs,
    words: &BaselineAudit<'_>,
    kind: BaselineKind,
    inputs: &[TokenId],
    own: TokenId,
    vocab: &Vocab,
) -> Done<Found> {
    let tried = sampled(inputs, own, args.sample);
    let bar = output::bar(tried.len() as u64, "words");
    let exact = tried
        .par_iter()
        .enumerate()
        .fold(
            || words.start(),
            |exact, (i, &t)| {
                let exact = words.add(exact, i as u32, t);
                bar.inc(1);
                exact
            },
        )
        .reduce(|| words.start(), cape::audit::baseline::BaselineExtremes::merge);
    bar.finish_and_clear();
    let (found, at_most) = words.findings(&exact).ok_or_else(nothing)?;
    let name = |id: TokenId| {
        if id == vocab.unknown() { "an unknown word".to_owned() } else { vocab.token(id) }
    };
    let side = |Extreme { share: probability, input }: Extreme<f64>| Side {
        input: name(tried[input as usize]),
        probability,
        bucket_size: None,
        weight: None,
        total_weight: None,
    };
    let Span { most, least } = found.span;
    Ok(Found {
        inputs: inputs.len(),
        inputs_tried: tried.len(),
        outputs: found.losses.len(),
        loss: found.loss(),
        // of a part of them it would be no upper bound of anything
        loss_at_most: (kind == BaselineKind::Inferdpt && tried.len() == inputs.len())
            .then_some(at_most),
        pair: Pair {
            output: name(words.outputs()[found.output]),
            likely: side(most),
            unlikely: side(least),
        },
        per_output: PerOutput::of(&found),
        paper: None,
        metric: exact.metric().map(Metric::of),
        own_covered: inputs.binary_search(&own).is_ok(),
        outside: match kind {
            BaselineKind::Santext => None,
            BaselineKind::SantextPlus => {
                Some("a frequent word and any other: ∞, as it is mostly kept")
            }
            BaselineKind::Custext | BaselineKind::CustextPlus => {
                Some("two words of different lists: ∞")
            }
            BaselineKind::Inferdpt => Some("a number and any other token: ∞"),
        },
    })
}
