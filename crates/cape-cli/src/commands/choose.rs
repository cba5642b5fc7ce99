//! `cape choose`

use std::fmt::Write as _;

use cape::mechanism::cape::{EPSILON, SHAPE, Settings};
use cape::{Cape, Epsilon, Level, Lexicon, Profile, Shape};
use cape_eval::choice::{Choice, Nearness, best};
use cape_eval::data::{Columns, Data};
use cape_eval::grid::Grid;
use cape_eval::record::PROTECTED_WORDS;
use cape_eval::summary::{Estimate, summarise};
use cape_eval::{Attack, Measure, Method, Tools};
use serde_json::{Value, json};

use crate::args::ChooseArgs;
use crate::failure::{Done, Failure};
use crate::output;

/// The laws that are tried.
const EPSILONS: [f64; 5] = [4.0, 6.0, 8.0, 10.0, 12.0];
const KS: [usize; 3] = [100, 30, 10];

/// More prompts than these tell little more, and take long.
const PROMPTS: usize = 30;
/// So many draws of protected words tell enough of a law; a prompt is drawn no more often than that.
const DRAWS: usize = 240;
const SEEDS: usize = 12;

pub(crate) fn run(args: &ChooseArgs) -> Done {
    if !(args.at_most > 0.0 && args.at_most <= 100.0) {
        return Err(Failure::usage("--at-most is no share", "it takes a number from 0 to 100"));
    }
    let mut data = Data::read(&args.file, &Columns::default())?;
    if data.items.len() > PROMPTS {
        output::note(&format!(
            "note: of {} prompts the first {PROMPTS} are used\n",
            data.items.len()
        ));
        data.items.truncate(PROMPTS);
    }
    let profile = args.profile;
    let nearness = Nearness::new(&cape(profile, EPSILON, SHAPE.k)?, &data)?;
    if nearness.words == 0 {
        return Err(Failure::new(
            "these prompts have no protected words",
            "numbers and addresses do not count here; --profile everything protects every word",
        ));
    }
    let choices = tried(&data, profile, &nearness)?;
    let best = best(&choices, args.at_most / 100.0);
    if args.json {
        let all: Vec<Value> = choices.iter().map(value).collect();
        return output::print(&output::json_pretty(&json!({
            "at_most": args.at_most / 100.0,
            "protected_words": nearness.words,
            "best": best.as_ref().map(value),
            "laws": all,
        })));
    }
    output::print(&table(&choices, best))?;
    output::note(&said(args, profile, best));
    Ok(())
}

fn cape(profile: Profile, epsilon: f64, k: usize) -> Done<Cape> {
    let shape = Shape { k, alpha: None };
    let epsilon = Epsilon::new(epsilon)?;
    Ok(Cape::new(Lexicon::embedded(), Settings { profile, epsilon, shape, ..Settings::default() })?)
}

/// All laws on these prompts. Draws are seeded: nothing of them is sent or kept.
fn tried(data: &Data, profile: Profile, nearness: &Nearness) -> Done<Vec<Choice>> {
    let seeds: Vec<u64> = (0..DRAWS.div_ceil(nearness.words).min(SEEDS) as u64).collect();
    // from the largest k on, of which the others are a part
    let laws = KS.map(|k| (k.to_string(), Shape { k, alpha: None }));
    let settings = Settings { profile, ..Settings::default() };
    let subjects = Method::laws(Lexicon::embedded(), &settings, &laws);
    let tools = Tools {
        attacker: Some(cape_models::load(cape_models::DEFAULT)?),
        masked_prompts: 0,
        bayes_prompts: usize::MAX,
        examples: 0,
        meaning: None,
        chat: None,
    };
    let grid = Grid { data, methods: &subjects, epsilons: &EPSILONS, seeds: &seeds, tools: &tools };
    let progress = output::Progress::new(grid.releases(), "releases");
    let ran = grid.run_unwritten(&|done| progress.at(done));
    progress.finish();
    let attacked = Measure::PrivacyOn(Attack::Bayes, PROTECTED_WORDS.to_owned());
    let mut choices = Vec::new();
    for point in summarise(&ran?.0) {
        let k = point.mechanism.parse().unwrap_or_default();
        let law = cape(profile, point.epsilon, k)?;
        choices.extend(point.measures.get(&attacked).map(|privacy| Choice {
            epsilon: point.epsilon,
            k,
            guessed: privacy.complement(),
            closeness: nearness.under(law.law(Level::Protected)),
        }));
    }
    choices.sort_by(|a, b| a.epsilon.total_cmp(&b.epsilon).then(b.k.cmp(&a.k)));
    Ok(choices)
}

fn value(choice: &Choice) -> Value {
    let Choice { epsilon, k, guessed, closeness } = choice;
    let Estimate { mean, low, high, n } = guessed;
    json!({
        "epsilon": epsilon,
        "k": k,
        "guessed": { "mean": mean, "low": low, "high": high, "n": n },
        "closeness": closeness,
    })
}

/// A line for each law, and a mark at the best.
fn table(choices: &[Choice], best: Option<Choice>) -> String {
    let mut out = format!("{:>4} {:>5}  {:<22} {:>9}", "ε₁", "k", "guessed (95 %)", "closeness");
    for choice in choices {
        let Estimate { mean, low, high, .. } = choice.guessed;
        let guessed = format!("{:.1} % ({:.1} to {:.1})", 100.0 * mean, 100.0 * low, 100.0 * high);
        let mark = if best == Some(*choice) { "  <" } else { "" };
        let _ = write!(
            out,
            "\n{:>4} {:>5}  {guessed:<22} {:>9.0}{mark}",
            choice.epsilon,
            choice.k,
            100.0 * choice.closeness
        );
    }
    out
}

/// The table explained, and the command to run.
fn said(args: &ChooseArgs, profile: Profile, best: Option<Choice>) -> String {
    let mut said = "\nguessed: protected words that the best guess of an attacker finds who knows the list, the law and all\n\
         ordinary words, and expects what a masked language model expects. closeness: how near a drawn word\n\
         is to the one that was written, 100 for the word itself and 0 for any word of the list.\n\n"
        .to_owned();
    match best {
        Some(Choice { epsilon, k, .. }) => {
            let profile = match profile {
                Profile::Personal => String::new(),
                other => format!(" --profile {}", other.as_str()),
            };
            let _ = writeln!(
                said,
                "for at most {} % (the upper end of the interval counts): cape perturb --epsilon {epsilon} --k {k}{profile}\n\
                 ε₁ = {epsilon} is what is proven; what is guessed was measured, on these prompts. Choose once, for all\n\
                 prompts of a kind: a law that follows each prompt would tell of it.",
                args.at_most
            );
        }
        None => {
            let _ = writeln!(
                said,
                "no law that was tried is sure to leave at most {} % (the upper end of the interval counts): give more\n\
                 prompts, or allow more.",
                args.at_most
            );
        }
    }
    said
}
