//! `cape eval paper`: the protocol of the paper's experiments, over the same grid as any evaluation.

mod tasks;

use std::path::{Path, PathBuf};
use std::time::Duration;

use cape::mechanism::cape::SHAPE;
use cape::{Epsilon, Profile};
use cape_eval::floor::floors;
use cape_eval::grid::{Grid, Refused};
use cape_eval::portrait;
use cape_eval::report::Report;
use cape_eval::summary::summarise;
use cape_eval::{Method, Reference, Tools};
use cape_models::BaselineKind;
use cape_models::DEFAULT;
use indicatif::{HumanCount, HumanDuration};

use self::tasks::Task;
use super::beside::{self, Ablations, middle};
use super::conduct::{
    EPSILONS, ONE_MODEL, chat, command, conduct, make_folder, meaning, notes, write,
};
use super::subjects::{self, BAYES_MOST, BUCKETS, LAMBDA_L, Made, Model, WordFiles};
use super::table::table;
use crate::args::PaperArgs;
use crate::commands::models;
use crate::failure::{Done, Failure};
use crate::output;

/// The paper's ablations.
const LAMBDAS: [f64; 6] = [0.0, 0.2, 0.5, 1.0, 1.2, 1.5];
const COUNTS: [u32; 5] = [20, 50, 100, 150, 200];

/// Of how many tokens it is shown where they go.
const TOKENS: usize = 100;

/// How many prompts of each task are shown with their releases, which are many.
const EXAMPLES: usize = 1;

/// Names of a task's files.
const RECORDS: &str = "records.jsonl";
const ABLATIONS: &str = "ablations.jsonl";

const DIFFERENT: &str = "SANTEXT's words, and the order of CUSTEXT's, are those of the data. The paper cuts \
    CUSTEXT's words to a list of 76,855, and gives InferDPT pieces of cl100k with the vectors of \
    text-embedding-ada-002; here both have the word vectors that were given. Chat models are asked at \
    temperature 0, the paper's at 0.5, and its sentences are embedded by SimCSE.";

/// A device model and what it is called in tables.
type Labelled = (String, Model);

/// Everything that the runs share.
struct Protocol<'a> {
    args: &'a PaperArgs,
    tasks: Vec<Task>,
    /// The measuring tools of each task.
    tools: Vec<Tools>,
    models: Vec<Labelled>,
    epsilons: Vec<f64>,
    seeds: Vec<u64>,
}

pub(super) fn run(args: &PaperArgs) -> Done {
    let epsilons = if args.epsilons.is_empty() { EPSILONS.to_vec() } else { args.epsilons.clone() };
    for &epsilon in &epsilons {
        Epsilon::new(epsilon)?;
    }
    let (tasks, missing) = tasks::find(&args.data, args.limit)?;
    for one in &missing {
        output::note(&format!("note: {one}\n"));
    }
    have(args)?;
    let models = load(&args.models)?;
    let tools = tasks.iter().map(|task| tools(args, task, &models[0].1)).collect::<Done<_>>()?;
    let seeds = (0..args.seeds).collect();
    Protocol { args, tasks, tools, models, epsilons, seeds }.run(missing)
}

impl Protocol<'_> {
    fn run(&self, missing: Vec<String>) -> Done {
        let (label, first) = &self.models[0];
        let ablations = Ablations::new(first, &LAMBDAS, &COUNTS)?;
        // the mechanisms of the first task do for a trial on all of them
        let Made { mut subjects, costs, .. } = self.made(0)?;
        self.announce(&subjects, &ablations.subjects)?;
        let mut report =
            Report { title: "Cape: the paper’s protocol".into(), ..Report::default() };
        let (mut count, mut refused) = (0, Vec::new());
        for (at, task) in self.tasks.iter().enumerate() {
            if at > 0 {
                // one task's words at a time are in memory
                subjects.clear();
                subjects = self.made(at)?.subjects;
            }
            let grid = self.grid(at, &subjects);
            let what = format!("releases of {}", task.data.name);
            let (records, here) = conduct(&grid, &self.file(at, RECORDS), &what)?;
            let points = summarise(&records);
            output::print(&format!("{}\n\n{}", task.data.name, table(&points, &here)))?;
            let extras = &mut report.extras;
            if at == 0 {
                *extras = beside::portraits(&grid, first, &self.epsilons, TOKENS)?;
                let path = self.file(0, ABLATIONS);
                extras.ablations = ablations.run(&grid, &path, &papers_name(label))?;
                count += extras.ablations.iter().map(|one| one.point.releases).sum::<usize>();
            }
            count += records.len();
            extras.examples.extend(portrait::examples(&records, &task.data));
            extras.floors.extend(floors(&task.data));
            report.points.extend(points);
            refused.extend(here);
        }
        report.about = self.about();
        report.extras.efficiency = costs;
        report.extras.notes = self.notes(missing, &refused);
        write(&report, &self.args.out, count)
    }

    fn grid<'a>(&'a self, at: usize, subjects: &'a [Method]) -> Grid<'a> {
        Grid {
            data: &self.tasks[at].data,
            methods: subjects,
            epsilons: &self.epsilons,
            seeds: &self.seeds,
            tools: &self.tools[at],
        }
    }

    /// Whether the prompts of a task are continued, by the local model alone as well.
    fn is_continued(&self, at: usize) -> bool {
        self.tasks[at].generation && self.args.chat.llm_model.is_some()
    }

    fn file(&self, at: usize, name: &str) -> PathBuf {
        self.tasks[at].folder(&self.args.out).join(name)
    }

    /// Cape on words, the paper's mechanism on each device model, the baselines, and what there is to compare
    /// with.
    fn made(&self, at: usize) -> Done<Made<'_>> {
        let (_, first) = &self.models[0];
        let corpus = self.tasks[at].store_corpus(&self.args.out)?;
        let mut made = Made::new(&self.tasks[at].data, middle(&self.epsilons));
        for profile in [Profile::Everything, Profile::Personal] {
            made.add(None, || subjects::words(profile, SHAPE))?;
        }
        for (label, model) in &self.models {
            let papers =
                || subjects::papers(&papers_name(label), model, BUCKETS, LAMBDA_L, BAYES_MOST);
            made.add(Some(model), papers)?;
        }
        for kind in BaselineKind::ALL {
            // InferDPT's words are the first of its vectors, whatever the data
            let corpus = (kind != BaselineKind::Inferdpt).then_some(corpus.as_path());
            let words = WordFiles { vectors: self.args.vectors.as_deref(), corpus };
            made.add(words.model(first), || subjects::baseline(kind, first, words))?;
        }
        made.subjects.push(Method::reference(Reference::NonPrivate, &first.id, &first.device));
        if self.is_continued(at) {
            made.subjects.push(Method::reference(Reference::LocalAlone, &first.id, &first.device));
        }
        Ok(made)
    }

    /// Says what will be done, and about how long it takes.
    fn announce(&self, subjects: &[Method], ablated: &[Method]) -> Done {
        let mut grids = vec![(self.grid(0, ablated), self.file(0, ABLATIONS))];
        grids.extend(
            (0..self.tasks.len()).map(|at| (self.grid(at, subjects), self.file(at, RECORDS))),
        );
        let (_, first) = &self.models[0];
        let alone = [Method::reference(Reference::LocalAlone, &first.id, &first.device)];
        for at in (1..self.tasks.len()).filter(|&at| self.is_continued(at)) {
            grids.push((self.grid(at, &alone), self.file(at, RECORDS)));
        }
        let (mut all, mut done, mut seconds) = (0, 0, 0.0);
        for (grid, path) in &grids {
            let outlook = grid.outlook(path)?;
            all += outlook.done + outlook.left;
            done += outlook.done;
            seconds += outlook.seconds;
        }
        let done = match done {
            0 => String::new(),
            done => format!(", {} of them done", HumanCount(done as u64)),
        };
        let prompts = |task: &Task| {
            format!("{} of {}", HumanCount(task.data.items.len() as u64), task.data.name)
        };
        let prompts: Vec<String> = self.tasks.iter().map(prompts).collect();
        output::note(&format!(
            "prompts: {}\n{} releases{done}; about {}, by a trial of a few\n\
             a run that is stopped goes on where it was, by the same command\n",
            prompts.join(", "),
            HumanCount(all as u64),
            HumanDuration(Duration::from_secs_f64(seconds)),
        ));
        Ok(())
    }

    fn about(&self) -> Vec<(String, String)> {
        let args = self.args;
        let data = |task: &Task| format!("{}, {} prompts", task.data.name, task.data.items.len());
        let data: Vec<String> = self.tasks.iter().map(data).collect();
        let models: Vec<&str> = self.models.iter().map(|(_, model)| model.id.as_str()).collect();
        let file =
            |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let vectors = args.vectors.as_deref().map_or("those of the first model".into(), file);
        let mut about = vec![
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("data", data.join("; ")),
            ("device models", models.join("; ")),
            ("word vectors", vectors),
            ("sentence encoder", args.encoder.clone()),
        ];
        about.extend(args.chat.llm_model.iter().map(|model| ("chat model", model.clone())));
        about.extend(args.chat.local_model.iter().map(|model| ("local chat model", model.clone())));
        about.extend([("seeds", args.seeds.to_string()), ("command", command())]);
        about.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Notes on what was left out, and on what differs from the paper.
    fn notes(&self, mut all: Vec<String>, refused: &[Refused]) -> Vec<String> {
        if self.args.chat.llm_model.is_none() {
            all.push(
                "There was no chat model (--llm-model): accuracy, coherence, alignment and \
                 the attack by a chat model were left out."
                    .to_owned(),
            );
        } else if self.args.chat.local_model.is_none() {
            all.push(ONE_MODEL.to_owned());
        }
        for (label, model) in self.models.iter().filter(|(_, model)| !model.device.calibrated) {
            let range = model.device.model.calibration();
            all.push(format!(
                "{label} has no calibration of its own: its logits are taken to lie between {} and {}; \
                 `cape calibrate` finds their range.",
                range.lo(),
                range.hi()
            ));
        }
        all.push(DIFFERENT.to_owned());
        all.extend(notes(refused, self.args.vectors.is_some()));
        all
    }
}

/// The measuring tools of a task; makes the folder for its records.
fn tools(args: &PaperArgs, task: &Task, first: &Model) -> Done<Tools> {
    make_folder(&task.folder(&args.out))?;
    Ok(Tools {
        attacker: Some(first.device.clone()),
        masked_prompts: usize::MAX,
        bayes_prompts: args.bayes,
        examples: EXAMPLES,
        meaning: Some(meaning(&args.encoder, &task.data)?),
        chat: chat(&args.chat)?
            .map(|chat| if task.generation { chat.continuing(&task.data) } else { chat }),
    })
}

/// The models are here, or are fetched, or are named.
fn have(args: &PaperArgs) -> Done {
    let names = args.models.iter().chain([&args.encoder]);
    let absent = |name: &&String| {
        *name != DEFAULT
            && matches!(cape_models::folder(name), Err(cape_models::Error::NotPulled(_)))
    };
    let absent: Vec<&str> = names.filter(absent).map(String::as_str).collect();
    if args.pull {
        return absent.into_iter().try_for_each(models::fetch);
    }
    if absent.is_empty() {
        return Ok(());
    }
    let pulls: Vec<String> = absent.iter().map(|name| format!("cape models pull {name}")).collect();
    Err(Failure::usage(
        format!("models that were not pulled: {}", absent.join(", ")),
        format!("give --pull, or run {}", pulls.join("; ")),
    ))
}

/// Each is called by the last part of its name, or by all of it where two would be called the same.
fn load(names: &[String]) -> Done<Vec<Labelled>> {
    let short = |name: &String| name.rsplit('/').next().unwrap_or(name).to_owned();
    let label = |name: &String| {
        let same = names.iter().filter(|other| short(other) == short(name)).count();
        if same > 1 { name.clone() } else { short(name) }
    };
    let mut labels: Vec<String> = names.iter().map(label).collect();
    labels.sort();
    if labels.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Failure::usage("--models has a model twice", "name each of them once"));
    }
    names.iter().map(|name| Ok((label(name), Model::load(name)?))).collect()
}

fn papers_name(label: &str) -> String {
    format!("cape-paper, {label}")
}
