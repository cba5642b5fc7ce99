//! `cape explain`

use std::fmt::Write;

use cape::mechanism::Mechanism;
use cape::mechanism::cape_paper::{CapePaper, Explanation};
use cape::tokens::TokenId;
use cape_models::{Chosen, Device};
use serde::Serialize;

use crate::args::ExplainArgs;
use crate::failure::Done;
use crate::mechanism::Loaded;
use crate::{input, output, position};

mod baseline;
pub(crate) mod words;

/// How many candidates are shown without `--all`.
const SHOWN: usize = 20;

pub(crate) fn run(args: &ExplainArgs) -> Done {
    let text = input::text(args.text.as_deref())?;
    let ready = match Loaded::new(&args.settings)? {
        Loaded::Cape(cape) => return words::run(args, &cape, &text),
        Loaded::Tokens(ready) => ready,
    };
    let tokens = ready.tokenizer.tokenize(&text, &ready.keep)?;
    let i = position::sensitive(&tokens, args.word)?;
    let token = &tokens.as_slice()[i];
    let original = &text[token.start..token.end];
    let (cape, device) = match &ready.chosen {
        Chosen::CapePaper(cape, device) => (cape, device),
        Chosen::Baseline(baseline, kind, about) => {
            let report = baseline::BaselineExplanation::new(
                args, &ready, baseline, *kind, original, token.id, about,
            )?;
            return output::print_report(&report, args.json);
        }
    };
    let vocab = ready.tokenizer.vocab();
    let drawn = position::drawn(&text, &tokens, args.released.as_deref(), i, vocab)?;
    let explanation = cape.explain(&tokens, &drawn, i)?;
    let report = PaperExplanation::new(args, cape, device, original, token.id, &explanation);
    if args.json {
        output::print(&output::json_pretty(&report))
    } else {
        output::print(&table(cape, device, &report, &explanation, token.id))
    }
}

#[derive(Serialize)]
struct PaperExplanation<'a> {
    token: usize,
    original: &'a str,
    original_id: u32,
    position: usize,
    input_ids: Vec<u32>,
    mechanism: &'static str,
    context: &'static str,
    epsilon: f64,
    lambda_l: f64,
    lambda_d: f64,
    bucket_count: usize,
    calibration: [f32; 2],
    total_weight: String,
    candidates: Vec<Candidate>,
}

#[derive(Serialize)]
struct Candidate {
    id: u32,
    token: String,
    logit: f32,
    distance: f32,
    utility: f32,
    rank: usize,
    bucket: u32,
    weight: String,
}

impl<'a> PaperExplanation<'a> {
    fn new(
        args: &ExplainArgs,
        cape: &CapePaper,
        device: &Device,
        original: &'a str,
        original_id: TokenId,
        explanation: &Explanation<'_>,
    ) -> Self {
        let settings = cape.settings();
        let calibration = device.model.calibration();
        let (scores, distribution) = (&explanation.scores, &explanation.distribution);
        let shown = if args.all { usize::MAX } else { SHOWN };
        let candidates = distribution.order.iter().take(shown).zip(1..).map(|(&c, rank)| {
            let c = c as usize;
            let id = scores.candidates[c];
            Candidate {
                id: id.0,
                token: device.model.vocab().token(id),
                logit: scores.logits[c],
                distance: scores.distances[c],
                utility: scores.utilities[c],
                rank,
                bucket: distribution.buckets[c],
                weight: distribution.weights[c].to_string(),
            }
        });
        Self {
            token: args.word,
            original,
            original_id: original_id.0,
            position: explanation.position,
            input_ids: explanation.input.iter().map(|id| id.0).collect(),
            mechanism: "cape-paper",
            context: settings.context.as_str(),
            epsilon: settings.epsilon.get(),
            lambda_l: settings.utility.context_weight(),
            lambda_d: settings.utility.distance_weight(),
            bucket_count: settings.bucket_count,
            calibration: [calibration.lo(), calibration.hi()],
            total_weight: distribution.total.to_string(),
            candidates: candidates.collect(),
        }
    }
}

/// The report as a person reads it.
fn table(
    cape: &CapePaper,
    device: &Device,
    report: &PaperExplanation<'_>,
    explanation: &Explanation<'_>,
    own: TokenId,
) -> String {
    let vocab = device.model.vocab();
    let distribution = &explanation.distribution;
    let n = distribution.order.len();
    let probability = |c: u32| distribution.weights[c as usize] as f64 / distribution.total as f64;
    let seen: Vec<String> = explanation.input.iter().map(|&id| vocab.token(id)).collect();
    let mut out = String::new();
    let _ = writeln!(out, "token {}: {}", report.token, report.original);
    let _ = writeln!(out, "the model saw: {}", seen.join(" "));
    let PaperExplanation { mechanism, context, epsilon, .. } = report;
    let _ = writeln!(out, "{mechanism}, {context} context, ε = {epsilon}, {n} candidates");
    let _ = writeln!(
        out,
        "proven for any input: at most {:.2}. The paper would say ε + ε′ = {:.2} from this row's\n\
         buckets: that is neither a bound nor public, a diagnostic only.",
        cape.guarantee().bound,
        epsilon + distribution.paper_epsilon_prime
    );
    let _ = writeln!(
        out,
        "\n{:>6}  {:18} {:>8} {:>9} {:>8} {:>7} {:>12}",
        "rank", "candidate", "logit", "distance", "utility", "bucket", "probability"
    );
    let row = |out: &mut String, rank: usize, c: u32| {
        let (i, scores) = (c as usize, &explanation.scores);
        let bucket = distribution.buckets[i];
        let _ = writeln!(
            out,
            "{rank:>6}  {:18} {:>8.3} {:>9.3} {:>8.4} {bucket:>7} {:>12.3e}{}",
            vocab.token(scores.candidates[i]),
            scores.logits[i],
            scores.distances[i],
            scores.utilities[i],
            probability(c),
            if scores.candidates[i] == own { "  the token itself" } else { "" },
        );
    };
    let shown = report.candidates.len();
    for (rank, &c) in (1..).zip(&distribution.order).take(shown) {
        row(&mut out, rank, c);
    }
    let is_own = |&(_, &c): &(usize, &u32)| explanation.scores.candidates[c as usize] == own;
    if let Some((rank, &c)) = (1..).zip(&distribution.order).skip(shown).find(is_own) {
        let _ = writeln!(out, "   ...");
        row(&mut out, rank, c);
    }
    shares(&mut out, distribution.order.iter().map(|&c| probability(c)));
    out
}

/// How much of the probability the best candidate has, the best ten, and so on.
fn shares(out: &mut String, mut probabilities: impl ExactSizeIterator<Item = f64>) {
    let n = probabilities.len();
    let _ = writeln!(out, "\nshare of probability by rank");
    let (mut from, mut to) = (1, 1);
    while from <= n {
        let share: f64 = probabilities.by_ref().take(to - from + 1).sum();
        let label = if from == to { format!("{from}") } else { format!("{from} to {}", to.min(n)) };
        let dots = "#".repeat((share * 50.0).round() as usize);
        let _ = writeln!(out, "{label:>16}  {:>6.2}%  {dots}", share * 100.0);
        (from, to) = (to + 1, to * 10);
    }
}
