//! `cape eval`

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::Path;

use cape::context::Context;
use cape::mechanism::cape::{Buckets, Settings};
use cape::privacy::Epsilon;
use cape::utility::Utility;
use cape::vocab::Candidates;
use cape_eval::asked::Chat;
use cape_eval::chat::Client;
use cape_eval::data::{Columns, Data, Item};
use cape_eval::grid::{Grid, Refused};
use cape_eval::measure::{Meaning, Tools};
use cape_eval::portrait;
use cape_eval::report::{Ablation, Extras, Report};
use cape_eval::subject::Subject;
use cape_eval::summary::{Point, summarise};
use cape_models::baselines::{self, Kind, Prepared, Source};
use cape_models::sentence::SentenceEncoder;
use cape_models::{Device, Options};

use crate::args::{EvalArgs, EvalMechanismArg};
use crate::failure::{Done, Failure, io};
use crate::{output, settings};

/// Public sentences written for this purpose.
const TEXT: &str = include_str!("bench/text.txt");

/// The paper's values of ε, and a few of them.
const EPSILONS: [f64; 7] = [1.0, 2.0, 3.0, 6.0, 10.0, 14.0, 20.0];
const QUICK_EPSILONS: [f64; 3] = [2.0, 6.0, 12.0];

/// How many prompts a quick run has, and how many of them Bayes tries.
const QUICK: usize = 24;
const QUICK_BAYES: usize = 4;
const BAYES: usize = 25;

/// How many tokens the Bayes attack looks at for a position.
const BAYES_MOST: usize = 2000;

/// How many prompts ablations are run on.
const ABLATED: usize = 100;

/// How many prompts are shown with their releases.
const EXAMPLES: usize = 3;

const ALL: [EvalMechanismArg; 7] = [
    EvalMechanismArg::Cape,
    EvalMechanismArg::CapePaper,
    EvalMechanismArg::Santext,
    EvalMechanismArg::SantextPlus,
    EvalMechanismArg::Custext,
    EvalMechanismArg::CustextPlus,
    EvalMechanismArg::Inferdpt,
];

pub(crate) fn run(args: &EvalArgs) -> Done {
    if args.generation.is_some() && !args.public && !args.llm_url.as_deref().is_some_and(is_here) {
        return Err(Failure::usage(
            "--generation shows the prompts themselves to the chat model, which is elsewhere",
            "take one on this machine; or say --public if the prompts are",
        ));
    }
    let data = data(args)?;
    let epsilons = match args.epsilons.as_slice() {
        [] if args.quick => QUICK_EPSILONS.to_vec(),
        [] => EPSILONS.to_vec(),
        given => given.to_vec(),
    };
    for &epsilon in &epsilons {
        Epsilon::new(epsilon)?;
    }
    let device = settings::load(&args.model, Options::default())?;
    let bayes = args.bayes.unwrap_or(if args.quick { QUICK_BAYES } else { BAYES });
    let mechanisms = if args.mechanisms.is_empty() { &ALL[..] } else { &args.mechanisms };
    let mut subjects: Vec<Subject> = mechanisms
        .iter()
        .map(|&mechanism| subject(mechanism, args, &device))
        .collect::<Done<_>>()?;
    subjects.extend(varied(args, &device)?);
    std::fs::create_dir_all(&args.out)
        .map_err(|error| io(format!("cannot make the folder {}", args.out.display()), &error))?;
    let seeds: Vec<u64> = (0..args.seeds).collect();
    let meaning = match &args.encoder {
        Some(name) => Some(Meaning::new(SentenceEncoder::load(name, Options::default())?, &data)?),
        None => None,
    };
    let chat = match (&args.llm_url, &args.llm_model) {
        (Some(url), Some(model)) => {
            let key = std::env::var("OPENAI_API_KEY").ok();
            let chat = Chat::new(Client::new(url, model, key).map_err(cape_eval::Error::from)?);
            Some(if args.generation.is_some() { chat.continuing(&data) } else { chat })
        }
        _ => None,
    };
    let tools =
        Tools { attacker: Some(device), bayes_prompts: bayes, examples: EXAMPLES, meaning, chat };
    let grid = Grid {
        data: &data,
        subjects: &subjects,
        epsilons: &epsilons,
        seeds: &seeds,
        tools: &tools,
    };
    let bar = output::bar(grid.len() as u64, "releases");
    let ran = grid.run(&args.out.join("records.jsonl"), &|done| bar.set_position(done as u64));
    bar.finish_and_clear();
    let (records, refused) = ran?;
    let points = summarise(&records);
    output::print(&table(&points, &refused))?;
    let mut extras = extras(&grid, args)?;
    extras.examples = portrait::examples(&records, &data);
    extras.notes = notes(&refused, args);
    let command: Vec<String> = std::env::args().skip(1).collect();
    let about = [
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("data", format!("{}, {} prompts", data.name, data.items.len())),
        ("device model", subjects.first().map_or(String::new(), |subject| subject.model.clone())),
        ("seeds", args.seeds.to_string()),
        ("command", format!("cape {}", command.join(" "))),
    ];
    let report = Report {
        title: format!("Privacy and utility on {}", data.name),
        about: about.map(|(name, value)| (name.to_owned(), value)).into(),
        points,
        extras,
    };
    for (name, content) in [
        ("report.html", report.html()),
        ("report.md", report.markdown()),
        ("report.csv", report.csv()),
        ("report.json", report.json()),
    ] {
        let path = args.out.join(name);
        std::fs::write(&path, content)
            .map_err(|error| io(format!("cannot write {}", path.display()), &error))?;
    }
    output::note(&format!(
        "{} records and the report are in {}: open report.html\n\
         they hold prompts and what attacks find, and draws were seeded: for you, and not to be sent\n",
        records.len(),
        args.out.display()
    ));
    Ok(())
}

/// What is shown beside the points.
fn extras(grid: &Grid<'_>, args: &EvalArgs) -> Done<Extras> {
    let Some(device) = &grid.tools.attacker else { return Ok(Extras::default()) };
    let settings = settings_of(Buckets::Ranked { alpha: None }, Context::Raw, Candidates::All)?;
    let middle = grid.epsilons[grid.epsilons.len() / 2];
    let mut mapping = Vec::new();
    for subject in grid.subjects {
        // averaging over InferDPT's radii takes its time
        let tokens = match (subject.name.as_str(), args.quick) {
            ("inferdpt", _) => 4,
            (_, true) => 12,
            (_, false) => 40,
        };
        for &epsilon in &[grid.epsilons[0], middle, grid.epsilons[grid.epsilons.len() - 1]] {
            // an ε that was refused is said elsewhere
            if let Ok(one) = portrait::mapping(subject, grid.data, epsilon, tokens) {
                mapping.push(one);
            }
        }
    }
    mapping.dedup_by(|a, b| (&a.mechanism, a.epsilon) == (&b.mechanism, b.epsilon));
    Ok(Extras {
        mapping,
        book: portrait::book(device, settings)?,
        tails: portrait::tails(device, settings, middle)?,
        ablations: if args.ablations { ablations(grid, args, device, middle)? } else { Vec::new() },
        ..Extras::default()
    })
}

/// Cape with another law or another utility.
fn varied(args: &EvalArgs, device: &Device) -> Done<Vec<Subject>> {
    let ranked =
        |alpha| settings_of(Buckets::Ranked { alpha }, Context::Released, Candidates::default());
    let mut varied = Vec::new();
    for &alpha in &args.alphas {
        varied.push((format!("cape, α = {alpha}"), ranked(Some(alpha))?));
    }
    for &(form, lambda_l) in &args.utilities {
        let utility = Utility::of(form).with(lambda_l, 1.0)?;
        let name = format!("cape, {} {lambda_l}", form.as_str());
        varied.push((name, Settings { utility, ..ranked(None)? }));
    }
    let model = model_name(args, device);
    let subject =
        |(name, form): &(String, _)| Subject::cape(name, &model, device, *form, Some(BAYES_MOST));
    Ok(varied.iter().map(subject).collect())
}

/// The paper's form with one setting changed.
fn ablations(
    grid: &Grid<'_>,
    args: &EvalArgs,
    device: &Device,
    epsilon: f64,
) -> Done<Vec<Ablation>> {
    let form = |count, lambda_l| -> Done<Settings> {
        let buckets = Buckets::EqualWidth { count };
        let utility = Utility::PAPER.with(lambda_l, Utility::PAPER.d())?;
        Ok(Settings { utility, ..settings_of(buckets, Context::Raw, Candidates::All)? })
    };
    let mut changed = Vec::new();
    for lambda_l in [0.0, 0.25, 0.5, 1.0, 2.0] {
        changed.push(("λ_L", lambda_l, form(50, lambda_l)?));
    }
    for count in [5_u32, 10, 25, 50, 100, 200] {
        changed.push(("N_b", f64::from(count), form(count as usize, 0.5)?));
    }
    let model = model_name(args, device);
    let subjects: Vec<Subject> = changed
        .iter()
        .map(|(name, value, settings)| {
            Subject::cape(&format!("{name} = {value}"), &model, device, *settings, None)
        })
        .collect();
    let items = grid.data.items.iter().take(ABLATED).cloned().collect();
    let data = Data { name: grid.data.name.clone(), items };
    let grid = Grid {
        data: &data,
        subjects: &subjects,
        epsilons: &[epsilon],
        seeds: &[0],
        tools: grid.tools,
    };
    let bar = output::bar(grid.len() as u64, "releases with one setting changed");
    let ran = grid.run(&args.out.join("ablations.jsonl"), &|done| bar.set_position(done as u64));
    bar.finish_and_clear();
    let points = summarise(&ran?.0);
    let of = |((name, value, _), point): (&(&str, f64, Settings), Point)| Ablation {
        name: (*name).to_owned(),
        value: *value,
        point,
    };
    Ok(changed.iter().zip(points).map(of).collect())
}

/// What a reader should know.
fn notes(refused: &[Refused], args: &EvalArgs) -> Vec<String> {
    let mut notes = vec![
        "Attacks count the words that are neither stopwords nor punctuation, for every mechanism; a word \
         that a mechanism keeps as it is counts as found."
            .to_owned(),
        "Bayes knows the mechanism and uses the device model as its prior. For the paper's form, whose \
         draws see the true neighbours, the released ones stand in for them; InferDPT's radius is averaged \
         over 64 values."
            .to_owned(),
    ];
    if args.vectors.is_none() {
        notes.push(
            "The mechanisms on word vectors use the embeddings of the device model here, not GloVe: \
             distances, and so what their ε does, differ from the paper's."
                .to_owned(),
        );
    }
    for refused in refused {
        notes.push(format!(
            "{} at ε = {} was refused: {}",
            refused.mechanism, refused.epsilon, refused.why
        ));
    }
    notes
}

fn settings_of(buckets: Buckets, context: Context, candidates: Candidates) -> Done<Settings> {
    let utility = match buckets {
        Buckets::Ranked { .. } => Utility::default(),
        Buckets::EqualWidth { .. } => Utility::PAPER,
    };
    Ok(Settings { epsilon: Epsilon::new(1.0)?, buckets, context, candidates, utility })
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
    let limit = args.limit.or(args.quick.then_some(QUICK)).unwrap_or(usize::MAX);
    if limit == 0 {
        return Err(Failure::usage("--limit is 0", "it takes 1 or more"));
    }
    data.items.truncate(limit);
    if let Some(words) = args.generation {
        data.shorten(words);
    }
    Ok(data)
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

fn subject(mechanism: EvalMechanismArg, args: &EvalArgs, device: &Device) -> Done<Subject> {
    use EvalMechanismArg as M;
    let cape = |name, buckets, context, candidates| {
        let settings = settings_of(buckets, context, candidates)?;
        let model = model_name(args, device);
        Ok(Subject::cape(name, &model, device, settings, Some(BAYES_MOST)))
    };
    let kind = match mechanism {
        M::Cape => {
            let ranked = Buckets::Ranked { alpha: None };
            return cape("cape", ranked, Context::Released, Candidates::default());
        }
        M::CapePaper => {
            let buckets = Buckets::EqualWidth { count: 50 };
            return cape("cape, paper", buckets, Context::Raw, Candidates::All);
        }
        M::None => {
            let model = model_name(args, device);
            return Ok(Subject::nothing(&model, device));
        }
        M::Santext => Kind::Santext,
        M::SantextPlus => Kind::SantextPlus,
        M::Custext => Kind::Custext,
        M::CustextPlus => Kind::CustextPlus,
        M::Inferdpt => Kind::Inferdpt,
    };
    let settings =
        baselines::Settings { corpus: args.corpus.clone(), ..baselines::Settings::new(kind) };
    let nothing = &mut |_, _| {};
    let (model, source) = if let Some(path) = &args.vectors {
        let vectors = Box::new(settings::load_vectors(path)?);
        (vectors_name(path, vectors.checksum), Source::Vectors(vectors, path))
    } else {
        (model_name(args, device), Source::Device(device))
    };
    Ok(Subject::baseline(&model, Prepared::new(&settings, source, nothing)?, BAYES_MOST))
}

/// A name of the device model that changes with it.
fn model_name(args: &EvalArgs, device: &Device) -> String {
    format!("{} {}", args.model, cape_models::short(&device.checksum()))
}

/// The same of word vectors.
fn vectors_name(path: &Path, checksum: [u8; 32]) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{name} {}", cape_models::short(&checksum))
}

/// The points as a person reads them.
fn table(points: &[Point], refused: &[Refused]) -> String {
    let columns = [
        ("rouge_l", "ROUGE-L"),
        ("similarity", "cosine"),
        ("accuracy", "accuracy"),
        ("unread answers", "unread"),
        ("coherence", "coherent"),
        ("alignment", "aligned"),
        ("unchanged", "kept"),
        ("privacy knn-1", "KNN-1"),
        ("privacy knn-10", "KNN-10"),
        ("privacy mti", "MTI"),
        ("privacy bayes", "Bayes"),
        ("privacy llm", "LLM"),
    ];
    let measured = |name: &str| points.iter().any(|point| point.measures.contains_key(name));
    let columns: Vec<_> = columns.into_iter().filter(|(name, _)| measured(name)).collect();
    let mut out = format!("{:14} {:>6} {:>8}", "mechanism", "ε", "proven");
    for (_, title) in &columns {
        let _ = write!(out, " {title:>8}");
    }
    out.push('\n');
    for point in points {
        let proven = point.proven.map_or("-".into(), |proven| format!("{proven:.1}"));
        let _ = write!(out, "{:14} {:>6} {proven:>8}", point.mechanism, point.epsilon);
        for (name, _) in &columns {
            let shown = point.measures.get(*name);
            let shown = shown.map_or("-".into(), |e| format!("{:.1}", 100.0 * e.mean));
            let _ = write!(out, " {shown:>8}");
        }
        out.push('\n');
    }
    let _ =
        writeln!(out, "\nper cent; KNN, MTI, Bayes, LLM: positions that the attack does not find");
    for refused in refused {
        let _ = writeln!(out, "{} at ε = {}: {}", refused.mechanism, refused.epsilon, refused.why);
    }
    out
}
