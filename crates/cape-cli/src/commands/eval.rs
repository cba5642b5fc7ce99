//! `cape eval`

mod beside;
mod conduct;
mod paper;
mod subjects;
mod table;

use std::net::IpAddr;

use cape::{Epsilon, Profile, Shape};
use cape_eval::data::{Columns, Data, Item};
use cape_eval::floor::floors;
use cape_eval::grid::Grid;
use cape_eval::portrait;
use cape_eval::report::Report;
use cape_eval::summary::summarise;
use cape_eval::{Method, Reference, Tools};
use cape_models::BaselineKind;

use self::beside::{Ablations, middle};
use self::conduct::{
    EPSILONS, ONE_MODEL, chat, command, conduct, make_folder, meaning, notes, write,
};
use self::subjects::{BAYES_MOST, BUCKETS, LAMBDA_L, Made, Model, WordFiles};
use self::table::table;
use crate::args::{EvalArgs, EvalCommand, EvalMechanismArg};
use crate::failure::{Done, Failure};
use crate::output;

/// Public sentences written for this purpose.
const TEXT: &str = include_str!("bench/text.txt");

/// The values of ε of a quick run.
const QUICK_EPSILONS: [f64; 3] = [2.0, 6.0, 12.0];

/// How many prompts a quick run has, and how many of them Bayes tries.
const QUICK: usize = 12;
const QUICK_BAYES: usize = 2;
const BAYES: usize = 25;
/// How many tokens it then looks at for a position of the paper's form.
const QUICK_MOST: usize = 100;

/// How many prompts ablations are run on, and with which values of λ_L and N_b.
const ABLATED: usize = 100;
const LAMBDAS: [f64; 5] = [0.0, 0.25, 0.5, 1.0, 2.0];
const COUNTS: [u32; 6] = [5, 10, 25, 50, 100, 200];

/// Of how many tokens it is shown where they go.
const TOKENS: usize = 40;
const QUICK_TOKENS: usize = 8;

/// A note for --corpus with inferdpt.
const PIECES: &str = "inferdpt draws from the pieces of the device model in their own order: the corpus has no part \
    in it.";

/// How many prompts are shown with their releases.
const EXAMPLES: usize = 3;

const ALL: [EvalMechanismArg; 8] = [
    EvalMechanismArg::Cape,
    EvalMechanismArg::CapeEverything,
    EvalMechanismArg::CapePaper,
    EvalMechanismArg::Santext,
    EvalMechanismArg::SantextPlus,
    EvalMechanismArg::Custext,
    EvalMechanismArg::CustextPlus,
    EvalMechanismArg::Inferdpt,
];

pub(crate) fn run(args: &EvalArgs) -> Done {
    match &args.command {
        Some(EvalCommand::Paper(args)) => paper::run(args),
        None => on_prompts(args),
    }
}

/// All mechanisms on prompts of any kind.
fn on_prompts(args: &EvalArgs) -> Done {
    let data = data(args)?;
    check(args, &data)?;
    let epsilons = match args.epsilons.as_slice() {
        [] if args.quick => QUICK_EPSILONS.to_vec(),
        [] => EPSILONS.to_vec(),
        given => given.to_vec(),
    };
    for &epsilon in &epsilons {
        Epsilon::new(epsilon)?;
    }
    let model = Model::load(&args.model)?;
    let bayes = args.bayes.unwrap_or(if args.quick { QUICK_BAYES } else { BAYES });
    let made = made(args, &model, &data, middle(&epsilons))?;
    make_folder(&args.out)?;
    let seeds: Vec<u64> = (0..args.seeds).collect();
    let tools = Tools {
        attacker: Some(model.device.clone()),
        masked_prompts: args.masks.unwrap_or(usize::MAX),
        bayes_prompts: bayes,
        examples: EXAMPLES,
        meaning: args.encoder.as_deref().map(|name| meaning(name, &data)).transpose()?,
        chat: chat(&args.chat)?.map(|chat| match args.originals.generation {
            Some(_) => chat.continuing(&data),
            None if args.originals.compare => chat.comparing(&data),
            None => chat,
        }),
    };
    let grid = Grid {
        data: &data,
        methods: &made.subjects,
        epsilons: &epsilons,
        seeds: &seeds,
        tools: &tools,
    };
    let (records, refused) = conduct(&grid, &args.out.join("records.jsonl"), "releases")?;
    let points = summarise(&records);
    output::print(&table(&points, &refused))?;
    let mut shown = vec![epsilons[0], middle(&epsilons), epsilons[epsilons.len() - 1]];
    shown.dedup();
    let tokens = if args.quick { QUICK_TOKENS } else { TOKENS };
    let mut extras = beside::portraits(&grid, &model, &shown, tokens)?;
    if args.ablations {
        let ablations = Ablations::new(&model, &LAMBDAS, &COUNTS)?;
        let items = data.items.iter().take(ABLATED).cloned().collect();
        let first = Data { name: data.name.clone(), items };
        let grid = Grid { data: &first, epsilons: &[middle(&epsilons)], seeds: &[0], ..grid };
        let path = args.out.join("ablations.jsonl");
        extras.ablations = ablations.run(&grid, &path, "cape-paper")?;
    }
    extras.examples = portrait::examples(&records, &data);
    extras.floors = floors(&data);
    extras.efficiency = made.costs;
    extras.notes = notes(&refused, args.vectors.is_some());
    let inferdpt =
        made.subjects.iter().any(|subject| subject.name == BaselineKind::Inferdpt.name());
    if inferdpt && args.corpus.is_some() && args.vectors.is_none() {
        output::note(&format!("note: {PIECES}\n"));
        extras.notes.push(PIECES.to_owned());
    }
    if args.originals.generation.is_some() && args.chat.local_model.is_none() {
        extras.notes.push(ONE_MODEL.to_owned());
    }
    let mut about = vec![
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("data", format!("{}, {} prompts", data.name, data.items.len())),
        ("device model", model.id.clone()),
        ("seeds", args.seeds.to_string()),
        ("command", command()),
    ];
    about.extend(made.subjects.iter().map(|subject| (subject.name.as_str(), subject.about())));
    let report = Report {
        title: format!("Privacy and utility on {}", data.name),
        about: about.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        points,
        extras,
    };
    write(&report, &args.out, records.len())
}

/// Refuses what cannot be measured, or would show prompts to somebody else.
fn check(args: &EvalArgs, data: &Data) -> Done {
    let mut urls = args.chat.llm_url.iter().chain(&args.chat.local_url);
    let shown = if args.originals.compare { "--compare" } else { "--generation" };
    let shows = args.originals.compare || args.originals.generation.is_some();
    if shows && !args.originals.public && !urls.all(|url| is_here(url)) {
        return Err(Failure::usage(
            format!("{shown} shows the prompts themselves to the chat model, which is elsewhere"),
            "take one on this machine; or say --public if the prompts are",
        ));
    }
    if args.chat.local_model.is_some() && !shows {
        return Err(Failure::usage(
            "--local-model has no meaning without --generation or --compare",
            "add --generation 50 to have prompts continued",
        ));
    }
    if args.originals.compare && data.items.iter().all(|item| item.rules.is_none()) {
        return Err(Failure::usage(
            "--compare has nothing to ask: the file says of no prompt what an answer must hold",
            "give .jsonl with the field facts, as crates/cape-eval/data/README.md describes it",
        ));
    }
    if args.mechanisms.contains(&EvalMechanismArg::CapeInstructed)
        && data.items.iter().all(|item| item.instruction.is_none())
    {
        return Err(Failure::usage(
            "cape-instructed has no instruction to send: no prompt of the file has one",
            "give .jsonl with the field instruction: the part of the text that is not private",
        ));
    }
    if args.mechanisms.contains(&EvalMechanismArg::Masked)
        && data.items.iter().all(|item| item.spans.is_empty())
    {
        return Err(Failure::usage(
            "nothing can be masked: no prompt of the file has labelled spans",
            "give .jsonl with the field spans: label, start and end of each, in characters",
        ));
    }
    Ok(())
}

/// The mechanisms that were asked for.
fn made<'a>(args: &EvalArgs, model: &Model, data: &'a Data, epsilon: f64) -> Done<Made<'a>> {
    use EvalMechanismArg as M;
    let words = WordFiles { vectors: args.vectors.as_deref(), corpus: args.corpus.as_deref() };
    let mechanisms = if args.mechanisms.is_empty() { &ALL[..] } else { &args.mechanisms };
    let most = if args.quick { QUICK_MOST } else { BAYES_MOST };
    let mut made = Made::new(data, epsilon);
    for mechanism in mechanisms {
        let kind = match mechanism {
            M::Cape | M::CapeInstructed | M::CapeEverything => {
                for shape in shapes(args) {
                    made.add(None, || match mechanism {
                        M::Cape => subjects::words(Profile::Personal, shape),
                        M::CapeInstructed => subjects::instructed(shape),
                        _ => subjects::words(Profile::Everything, shape),
                    })?;
                }
                continue;
            }
            M::CapePaper => {
                let papers = || subjects::papers("cape-paper", model, BUCKETS, LAMBDA_L, most);
                made.add(Some(model), papers)?;
                continue;
            }
            M::Masked => {
                made.subjects.push(Method::reference(
                    Reference::MaskedSpans,
                    &model.id,
                    &model.device,
                ));
                continue;
            }
            M::None => {
                made.subjects.push(Method::reference(
                    Reference::NonPrivate,
                    &model.id,
                    &model.device,
                ));
                continue;
            }
            M::Santext => BaselineKind::Santext,
            M::SantextPlus => BaselineKind::SantextPlus,
            M::Custext => BaselineKind::Custext,
            M::CustextPlus => BaselineKind::CustextPlus,
            M::Inferdpt => BaselineKind::Inferdpt,
        };
        made.add(words.model(model), || subjects::baseline(kind, model, words))?;
    }
    if args.originals.generation.is_some() {
        made.subjects.push(Method::reference(Reference::LocalAlone, &model.id, &model.device));
    }
    Ok(made)
}

/// The laws of Cape on words that were asked for, as they differ from one another in all but ε.
fn shapes(args: &EvalArgs) -> Vec<Shape> {
    let alphas: Vec<Option<f64>> = match &args.alpha[..] {
        [] => vec![None],
        given => given.iter().copied().map(Some).collect(),
    };
    let with = |&k: &usize| alphas.iter().map(move |&alpha| Shape { k, alpha });
    args.k.iter().flat_map(with).collect()
}

fn data(args: &EvalArgs) -> Done<Data> {
    let columns = Columns {
        text: args.text_column.clone(),
        second: args.second_column.clone(),
        label: args.label_column.clone(),
    };
    let mut data = match &args.file {
        Some(file) => Data::read(file, &columns)?,
        None => built_in(),
    };
    let limit = args.limit.or(args.quick.then_some(QUICK));
    shorten(&mut data, limit)?;
    if let Some(words) = args.originals.generation {
        data.shorten(words);
    }
    Ok(data)
}

/// The first so many prompts.
fn shorten(data: &mut Data, limit: Option<usize>) -> Done {
    if limit == Some(0) {
        return Err(Failure::usage("--limit is 0", "it takes 1 or more"));
    }
    data.items.truncate(limit.unwrap_or(usize::MAX));
    Ok(())
}

/// Whether an address is one of this machine.
fn is_here(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    // what looks like an address before an @ is a user's name
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The sentences that are built in.
fn built_in() -> Data {
    let sentences = TEXT.split_inclusive(['.', '?', '!']).map(str::trim);
    let sentences = sentences.filter(|sentence| sentence.split_whitespace().count() > 4);
    let item = |text: &str| Item { text: text.to_owned(), ..Item::default() };
    Data { name: "built-in sentences".into(), items: sentences.map(item).collect() }
}
