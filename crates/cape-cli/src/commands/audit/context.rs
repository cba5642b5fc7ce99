//! `cape audit context`

use std::fmt;
use std::sync::Arc;

use cape::audit::prompts::{Loss, changed, replaced, rows};
use cape::mechanism::Mechanism;
use cape::mechanism::cape_paper::{CapePaper, Settings};
use cape::rng;
use cape::tokens::{Bucketed, Context, Outcome, TokenId, Tokens};
use cape_models::Chosen;
use rayon::prelude::*;
use serde::Serialize;

use super::{up, wanting};
use crate::args::ContextAuditArgs;
use crate::failure::{Done, Failure};
use crate::mechanism::Loaded;
use crate::{input, output, position};

pub(super) mod words;

pub(super) fn run(args: &ContextAuditArgs) -> Done {
    let text = input::line(args.text.as_deref())?;
    let ready = match Loaded::new(&args.settings())? {
        Loaded::Cape(cape) => return words::run(args, &cape, &text),
        Loaded::Tokens(ready) => ready,
    };
    let Chosen::CapePaper(cape, device) = &ready.chosen else {
        return Err(Failure::usage(
            "this mechanism has no context: it looks at each word by itself",
            "what a word costs there: cape audit exact",
        ));
    };
    let in_context = |context| {
        let settings = Settings { context, ..*cape.settings() };
        CapePaper::new(Arc::clone(&device.model), settings)
    };
    let (raw, released) = (in_context(Context::Raw)?, in_context(Context::Released)?);
    let tokens = ready.tokenizer.tokenize(&text, &ready.keep)?;
    let none = vec![None; tokens.as_slice().len()];
    let own = rows(&raw, &tokens, &none)?;
    let other = match other_text(args, &text, &tokens)? {
        Some(other) => {
            let others = ready.tokenizer.tokenize(&other, &ready.keep)?;
            let at = changed((&text, &tokens), (&other, &others)).map_err(not_neighbours)?;
            Other { at, losses: compare(&own, &rows(&raw, &others, &none)?), tokens: others }
        }
        None => worst(args, &raw, &tokens, &own)?,
    };
    let along = release(&released, &tokens)?;
    let released_losses =
        compare(&rows(&released, &tokens, &along)?, &rows(&released, &other.tokens, &along)?);
    let vocab = ready.tokenizer.vocab();
    let (raw_sum, released_sum) = (Loss::sum(&other.losses), Loss::sum(&released_losses));
    let n = own.len();
    let entry = |tokens: &Tokens| vocab.token(tokens.as_slice()[other.at].id);
    let direction: fn(&Loss) -> f64 =
        if raw_sum.forth >= raw_sum.back { |loss| loss.forth } else { |loss| loss.back };
    let positions = tokens.sensitive().zip(other.losses.iter().zip(&released_losses)).enumerate();
    let report = PaperLosses {
        mechanism: ready.name(),
        epsilon_nominal: cape.settings().epsilon.get(),
        from: entry(&tokens),
        to: entry(&other.tokens),
        sensitive_tokens: n,
        positions: positions
            .map(|(k, (i, (raw, released)))| PositionLoss {
                token: k + 1,
                original: text[tokens.as_slice()[i].start..tokens.as_slice()[i].end].to_owned(),
                changed: i == other.at,
                raw: direction(raw),
                released: released.worst(),
            })
            .collect(),
        raw: Sum::new(raw_sum.worst(), raw.guarantee().one_token(n)),
        released: Sum::new(released_sum.worst(), released.guarantee().one_token(n)),
    };
    output::print_report(&report, args.json)?;
    for (context, sum) in [("raw", &report.raw), ("released", &report.released)] {
        if !sum.holds {
            return Err(wanting(&format!(
                "in the {context} context the loss is {}, and {} is stated",
                up(sum.loss),
                up(sum.stated)
            )));
        }
    }
    Ok(())
}

/// The other prompt with its losses in the raw context.
struct Other {
    at: usize,
    tokens: Tokens,
    losses: Vec<Loss>,
}

/// The other prompt, where its text is given.
fn other_text(args: &ContextAuditArgs, text: &str, tokens: &Tokens) -> Done<Option<String>> {
    if args.other.is_some() {
        return Ok(args.other.clone());
    }
    let (Some(word), Some(k)) = (&args.replace, args.word) else { return Ok(None) };
    let token = tokens.as_slice()[position::sensitive(tokens, k)?];
    Ok(Some([&text[..token.start], word, &text[token.end..]].concat()))
}

fn not_neighbours(why: cape::audit::prompts::NoNeighbours) -> Failure {
    Failure::usage(
        why.to_string(),
        "take two prompts that differ in one sensitive token and in nothing else: the same kept words \
         and spaces, and words of as many pieces (`cape explain` shows the pieces)",
    )
}

fn compare(a: &[Bucketed], b: &[Bucketed]) -> Vec<Loss> {
    a.iter().zip(b).map(|(a, b)| Loss::between(&a.shares(), &b.shares())).collect()
}

/// The prompt that is farthest off in the raw context, of those with another token in the place of one:
/// a few at each position, spread over all that could stand there.
fn worst(
    args: &ContextAuditArgs,
    raw: &CapePaper,
    tokens: &Tokens,
    own: &[Bucketed],
) -> Done<Other> {
    if args.tries == 0 {
        return Err(Failure::usage("--tries is zero", "it takes one word at least"));
    }
    let places: Vec<usize> = match args.word {
        Some(k) => vec![position::sensitive(tokens, k)?],
        None => tokens.sensitive().collect(),
    };
    let none = vec![None; tokens.as_slice().len()];
    let mut pairs: Vec<(usize, TokenId)> = Vec::new();
    for &i in &places {
        let mut inputs = raw.position(tokens, &none, i)?.inputs();
        inputs.retain(|&id| id != tokens.as_slice()[i].id);
        let tries = args.tries.min(inputs.len());
        // from the middle of as many equal parts
        let spread = |k: usize| inputs[(2 * k + 1) * inputs.len() / (2 * tries)];
        pairs.extend((0..tries).map(|k| (i, spread(k))));
    }
    let bar = output::bar(pairs.len() as u64, "prompts");
    let tried: Result<Vec<Other>, cape::Error> = pairs
        .par_iter()
        .map(|&(at, id)| {
            let tokens = replaced(tokens, at, id);
            let losses = compare(own, &rows(raw, &tokens, &none)?);
            bar.inc(1);
            Ok(Other { at, tokens, losses })
        })
        .collect();
    bar.finish_and_clear();
    let loss = |other: &Other| Loss::sum(&other.losses).worst();
    tried?.into_iter().max_by(|a, b| loss(a).total_cmp(&loss(b))).ok_or_else(|| {
        Failure::new("the prompt has no sensitive token", "all of it is kept: nothing is drawn")
    })
}

/// The draws at the sensitive positions of one release. It goes nowhere, so that it may be seeded: the
/// same audit finds the same.
fn release(released: &CapePaper, tokens: &Tokens) -> Done<Vec<Option<TokenId>>> {
    let outcomes = released.perturb(tokens, &mut rng::seeded(0, 0))?;
    let drawn = outcomes.iter().map(|outcome| match outcome {
        Outcome::Drawn { id, .. } => Some(*id),
        _ => None,
    });
    Ok(drawn.collect())
}

#[derive(Serialize)]
struct PaperLosses {
    mechanism: &'static str,
    epsilon_nominal: f64,
    from: String,
    to: String,
    sensitive_tokens: usize,
    positions: Vec<PositionLoss>,
    raw: Sum,
    released: Sum,
}

#[derive(Serialize)]
struct PositionLoss {
    token: usize,
    original: String,
    changed: bool,
    raw: f64,
    released: f64,
}

#[derive(Serialize)]
struct Sum {
    loss: f64,
    stated: f64,
    holds: bool,
}

impl Sum {
    fn new(loss: f64, stated: f64) -> Self {
        Self { loss, stated, holds: loss <= stated }
    }
}

/// The report as a person reads it.
impl fmt::Display for PaperLosses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mechanism, epsilon_nominal, from, to, sensitive_tokens, .. } = self;
        writeln!(f, "two prompts: {from} in one, {to} in the other")?;
        writeln!(f, "{mechanism}, ε = {epsilon_nominal}, {sensitive_tokens} sensitive tokens\n")?;
        writeln!(f, "{:>5}  {:24} {:>12} {:>12}", "token", "", "raw", "released")?;
        // a loss of zero is exact, and worth seeing as such
        let shown = |loss: f64| if loss == 0.0 { "0".to_owned() } else { up(loss) };
        for at in &self.positions {
            let name = format!("{}{}", at.original, if at.changed { " (changed)" } else { "" });
            let (raw, released) = (shown(at.raw), shown(at.released));
            writeln!(f, "{:>5}  {name:24} {raw:>12} {released:>12}", at.token)?;
        }
        let line = |f: &mut fmt::Formatter<'_>, name: &str, of: fn(&Sum) -> f64| {
            let (raw, released) = (shown(of(&self.raw)), shown(of(&self.released)));
            writeln!(f, "{:5}  {name:24} {raw:>12} {released:>12}", "")
        };
        line(f, "exact loss", |sum| sum.loss)?;
        line(f, "stated", |sum| sum.stated)?;
        writeln!(
            f,
            "\nIn the raw context every position gives the changed token away, and the losses add up. In\n\
             the released context the others draw from the same integers for both prompts, whatever was\n\
             drawn before (here: one release)."
        )
    }
}
