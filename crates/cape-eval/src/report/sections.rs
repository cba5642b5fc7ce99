//! In which order is it told, and what is said about each chart?

use super::chart::{Body, Chart};
use super::curves::{self, Set, proven};
use super::style::Styles;
use super::table::{Cell, NONE, Table, percent, short};
use super::{
    Ablation, Efficiency, Report, Tail, ablations, distributions, examples, findings, paper, spans,
};
use crate::method::is_reference;
use crate::summary::{Point, measures};

/// A part of the report.
pub(super) struct Section {
    /// Where links point.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) text: Vec<String>,
    /// Names and styles that all its charts have.
    pub(super) legend: Vec<(String, usize)>,
    /// Whether the paper's numbers are in its charts.
    pub(super) paper: bool,
    pub(super) groups: Vec<Group>,
}

/// A part of a section, of one set of data or one setting.
#[derive(Default)]
pub(super) struct Group {
    pub(super) title: String,
    pub(super) items: Vec<String>,
    pub(super) charts: Vec<Chart>,
    pub(super) tables: Vec<Table>,
}

impl Group {
    fn is_empty(&self) -> bool {
        self.items.is_empty() && self.charts.is_empty() && self.tables.is_empty()
    }

    fn charts(title: impl Into<String>, charts: Vec<Chart>) -> Self {
        Self { title: title.into(), charts, ..Self::default() }
    }

    fn tables(title: impl Into<String>, tables: Vec<Table>) -> Self {
        Self { title: title.into(), tables, ..Self::default() }
    }
}

/// All sections that have something to show.
pub(super) fn all(report: &Report) -> Vec<Section> {
    let extras = &report.extras;
    let (styles, sets) = (Styles::of(report), curves::sets(&report.points, &extras.floors));
    let mut all = vec![in_short(&sets)];
    all.extend(by_data(&sets, &styles));
    all.push(section(
        "mapping",
        "Where tokens go",
        MAPPING,
        [
            Group::charts(
                "S_t: outputs of a token",
                distributions::sizes(&extras.mapping, &styles),
            ),
            Group::charts(
                "N_t: tokens that stay the same",
                distributions::kept(&extras.mapping, &styles),
            ),
        ],
    ));
    all.push(section(
        "book",
        "The paper’s example",
        BOOK,
        [Group::charts("", distributions::book(&extras.book))],
    ));
    all.push(section(
        "tail",
        "The long tail",
        TAIL,
        [Group {
            charts: distributions::tails(&extras.tails),
            tables: tail_table(&extras.tails).into_iter().collect(),
            ..Group::default()
        }],
    ));
    let ablated = ablations::charts(&extras.ablations);
    let ablated = ablated.into_iter().map(|(title, charts)| Group::charts(title, charts));
    let tables = Group::tables("", ablation_table(&extras.ablations).into_iter().collect());
    all.push(section("settings", "What one setting does", ABLATIONS, ablated.chain([tables])));
    all.push(section(
        "points",
        "All points",
        POINTS,
        sets.iter().map(|set| Group::tables("", vec![point_table(set)])),
    ));
    let beside = |set: &Set| Group::tables("", paper_table(set, &styles).into_iter().collect());
    all.push(section("paper", "Beside the paper", PAPER, sets.iter().map(beside)));
    let shown = extras.examples.iter().map(examples::table).collect();
    all.push(section("examples", "Examples", EXAMPLES, [Group::tables("", shown)]));
    let costs = cost_table(&extras.efficiency).into_iter().collect();
    all.push(section("costs", "Time and memory", COSTS, [Group::tables("", costs)]));
    all.retain(|section| !section.groups.is_empty());
    if let Some(guide) = guide(&all, &report.points) {
        let after = all.iter().take_while(|section| section.id == "summary").count();
        all.insert(after, guide);
    }
    if !extras.notes.is_empty() {
        let notes = Group { items: extras.notes.clone(), ..Group::default() };
        all.push(section("notes", "Notes", "", [notes]));
    }
    all
}

fn section(
    id: &'static str,
    title: &'static str,
    text: &str,
    groups: impl IntoIterator<Item = Group>,
) -> Section {
    let groups = groups.into_iter().filter(|group| !group.is_empty()).collect();
    let text = text.split("\n\n").filter(|text| !text.is_empty()).map(String::from).collect();
    Section { id, title, text, legend: Vec::new(), paper: false, groups }
}

/// The question that a section answers, by its id.
const GUIDE: [(&str, &str); 11] = [
    (
        "trade-off",
        "which mechanism leaves most use at the same privacy? The upper right corner is best.",
    ),
    ("nominal", "what does a user get who asks for this ε?"),
    ("proven", "what does a mechanism give for the ε that is proven of it?"),
    ("spans", "how often are names, places and the like found? To the left is better."),
    ("mapping", "how many outputs does a token have, and how often does it stay the same?"),
    ("book", "what do the candidates of one sentence look like to the model?"),
    ("tail", "how much of the probability goes to good candidates?"),
    ("settings", "what changes when one setting is turned?"),
    ("points", "every number behind the charts."),
    ("examples", "what would have been sent?"),
    ("costs", "how long does it take, and how much memory?"),
];

const IN_SHORT: &str = "A mechanism replaces words of a prompt before it leaves the device. The more it \
    replaces, the less an attacker can recover, and the less the prompt is of use. ε says how much is asked \
    for: a small ε is more private. Since the mechanisms do not mean the same by ε, they are compared where an \
    attack has the same success, and where the same ε is proven.";
const TRADE_OFF: &str = "How much use is left at how much privacy? Each point is a mechanism at one ε, which is \
    written beside it. To the right fewer tokens are recovered by the attack, upwards more of the prompt is \
    left: of two curves the one nearer to the upper right corner is better. Thin bars are 95 % intervals.";
const NOMINAL: &str = "What a user gets who asks for an ε. The same number does not promise the same: compare \
    mechanisms in the sections around this one.";
const PROVEN: &str = "The same measures by the ε that is proven for any two tokens in plain local differential \
    privacy. This is the fair comparison of promises.";
const SPANS: &str = "How often an attack finds the tokens of labelled spans, such as names or places. To the left \
    is better.";
const MAPPING: &str = "Each token was drawn for 1,000 times. S_t counts its different outputs: with few of them \
    (to the left) a release is easy to trace back. N_t is the share of draws in which it stayed the same: to \
    the left is more private. A row is an ε, its height the share of tokens, the stroke below it runs over the \
    middle half of the tokens and the tick is the median.";
const BOOK: &str = "“This is a good book.”: for each token, the model’s logits of all candidates in its place, and \
    their distances from the token itself. The few candidates to the right of the logits and to the left of \
    the distances are the ones worth drawing.";
const TAIL: &str = "How much probability the best candidates have together. There are so many poor candidates \
    that they win together although each of them is unlikely: a curve that stays low until the last ranks \
    mostly draws noise. Buckets and ranks lift it.";
const ABLATIONS: &str = "One setting is changed and the others stay.";
const POINTS: &str = "Shares in percent with their 95 % intervals.";
const PAPER: &str = "Measured here and given in the paper, at the same ε, in percent. Models, data splits and \
    attack code are not the same: compare shapes before levels.";
const EXAMPLES: &str =
    "Prompts and what would have been sent. Marked words are not the original’s.";
const COSTS: &str = "Set-up is what happens once: loading the model or the vectors, distances and lists (those of \
    CUSTEXT come from the disk where they were made before). Prompts were released one after another with nothing \
    beside them. Memory is by how much the process’s peak (VmHWM) rose above what it held before (VmRSS), from \
    set-up to the last of these prompts, and what the device model took where it is used. The paper’s machine is \
    another one, and its memory that of a graphics card.";

fn in_short(sets: &[Set]) -> Section {
    let group = |set: &Set| {
        let found = findings::of(set);
        let title = if sets.len() > 1 { set.data.into() } else { String::new() };
        Group {
            title,
            items: found.sentences,
            tables: found.table.into_iter().collect(),
            ..Group::default()
        }
    };
    section("summary", "In short", IN_SHORT, sets.iter().map(group))
}

/// The questions of all sections, before the first of them.
fn guide(all: &[Section], points: &[Point]) -> Option<Section> {
    let item = |section: &Section| {
        let (_, hint) = GUIDE.iter().find(|(id, _)| *id == section.id)?;
        Some(format!("{}: {hint}", section.title))
    };
    let items: Vec<String> = all.iter().filter_map(item).collect();
    let text = "The measures are shares in percent. Privacy against an attack is the share of words that it fails \
                to find, among those that are neither stopwords nor punctuation; what was sent as it is counts as found.";
    let mut meanings: Vec<String> = Vec::new();
    for measure in measures(points) {
        let meaning = measure.meaning().map(str::to_owned);
        meanings.extend(meaning.filter(|meaning| !meanings.contains(meaning)));
    }
    let items = meanings.into_iter().chain(items).collect();
    let group = Group { items, ..Group::default() };
    (!group.is_empty()).then(|| section("reading", "How to read this", text, [group]))
}

/// The sections whose charts have a line or a mark for each mechanism.
fn by_data(sets: &[Set], styles: &Styles) -> Vec<Section> {
    let charts = |of: fn(&Set, &Styles) -> Vec<Chart>| {
        let group = |set: &Set| Group::charts(set.data, of(set, styles));
        sets.iter().map(group).collect::<Vec<Group>>()
    };
    let mut proven = charts(curves::by_proven);
    for (group, set) in proven.iter_mut().zip(sets) {
        let none = set.unproven();
        if !none.is_empty() && !group.charts.is_empty() {
            group.items.push(format!("Nothing is proven, hence not shown: {}.", none.join(", ")));
        }
    }
    let mut all = vec![
        section("trade-off", "Privacy and utility", TRADE_OFF, charts(curves::trade_offs)),
        section("nominal", "By the ε that is asked for", NOMINAL, charts(curves::by_nominal)),
        section("proven", "By the ε that is proven", PROVEN, proven),
        section("spans", "Names, places, numbers", SPANS, charts(spans::charts)),
    ];
    for section in &mut all {
        let mut used = Vec::new();
        for chart in section.groups.iter().flat_map(|group| &group.charts) {
            match &chart.body {
                Body::Curves { series, levels, .. } => {
                    used.extend(series.iter().filter(|one| !one.paper).map(|one| one.style));
                    section.paper |= series.iter().any(|one| one.paper) || !levels.is_empty();
                }
                Body::Dots { dots, .. } => used.extend(dots.iter().map(|dot| dot.style)),
                Body::Histograms { .. } => {}
            }
        }
        let names = styles.names().iter().enumerate();
        section.legend = names
            .filter(|(style, _)| used.contains(style))
            .map(|(style, name)| (name.clone(), style))
            .collect();
    }
    all
}

/// Every point with all measures but those of spans.
fn point_table(set: &Set) -> Table {
    let measures = measures(set.points.iter().copied());
    let mut heads: Vec<String> =
        ["mechanism", "ε", "proven ε", "releases"].map(String::from).into();
    heads.extend(measures.iter().map(|measure| measure.label()));
    heads.push("ms a prompt".into());
    let mut table = Table::new(&format!("On {}", set.data), heads.iter().map(String::as_str));
    for (name, points) in set.mechanisms() {
        for point in points {
            let mut row = vec![Cell::text(name)];
            row.extend(start(point));
            row.extend(measures.iter().map(|measure| Cell::share(point.measures.get(*measure))));
            row.push(Cell::number(1e3 * point.seconds));
            table.rows.push(row);
        }
    }
    table
}

fn start(point: &Point) -> [Cell; 3] {
    let proven = proven(point).map_or_else(|| NONE.into(), short);
    let epsilon = if is_reference(&point.mechanism) { f64::NAN } else { point.epsilon };
    [Cell::number(epsilon), Cell::Number(proven), Cell::number(point.releases as f64)]
}

/// The measured numbers beside the paper's, at each ε of the paper.
fn paper_table(set: &Set, styles: &Styles) -> Option<Table> {
    let all = paper::on(set.data);
    let epsilons: Vec<f64> = all.first()?.points.iter().map(|point| point.0).collect();
    let heads: Vec<String> =
        epsilons.iter().map(|epsilon| format!("ε = {}", short(*epsilon))).collect();
    let heads = ["mechanism", "in the paper", "measure"]
        .into_iter()
        .chain(heads.iter().map(String::as_str));
    let mut table = Table::new(&format!("On {}, here / in the paper (%)", set.data), heads);
    for theirs in all {
        let Some(ours) = paper::ours(theirs.mechanism, styles.names()) else { continue };
        let here = |epsilon: f64| {
            let same = |point: &&&Point| {
                point.mechanism == *ours && (is_reference(ours) || point.epsilon == epsilon)
            };
            set.points.iter().find(same)?.measures.get(&theirs.measure)
        };
        if epsilons.iter().all(|epsilon| here(*epsilon).is_none()) {
            continue;
        }
        let mut row = vec![
            Cell::text(ours),
            Cell::text(theirs.mechanism),
            Cell::text(theirs.measure.label()),
        ];
        row.extend(epsilons.iter().map(|epsilon| {
            let value = theirs.points.iter().find(|point| point.0 == *epsilon).map(|point| point.1);
            let [here, value] = [here(*epsilon).map(|here| here.mean), value]
                .map(|share| share.map_or_else(|| NONE.into(), percent));
            Cell::Number(format!("{here} / {value}"))
        }));
        table.rows.push(row);
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Cumulative probability at some ranks.
fn tail_table(tails: &[Tail]) -> Option<Table> {
    const RANKS: [f64; 5] = [1.0, 10.0, 100.0, 1_000.0, 10_000.0];
    let heads: Vec<String> = RANKS.iter().map(|rank| format!("best {}", short(*rank))).collect();
    let heads = ["", "ε"].into_iter().chain(heads.iter().map(String::as_str));
    let mut table = Table::new("Probability of the best candidates together (%)", heads);
    for tail in tails {
        let share = |rank: &f64| {
            // as of the last rank that is given and not above it
            let below = tail.cumulative.iter().filter(|at| at.0 <= *rank);
            let share = below.max_by(|a, b| a.0.total_cmp(&b.0)).map(|at| at.1);
            Cell::Number(share.map_or_else(|| NONE.into(), |share| short(100.0 * share)))
        };
        let mut row = vec![Cell::text(&tail.name), Cell::number(tail.epsilon)];
        row.extend(RANKS.iter().map(share));
        table.rows.push(row);
    }
    (!tails.is_empty()).then_some(table)
}

fn ablation_table(all: &[Ablation]) -> Option<Table> {
    let measures = measures(all.iter().map(|one| &one.point));
    let mut heads: Vec<String> =
        ["setting", "value", "ε", "proven ε", "releases"].map(String::from).into();
    heads.extend(measures.iter().map(|measure| measure.label()));
    let mut table = Table::new("All values", heads.iter().map(String::as_str));
    for one in all {
        let mut row = vec![Cell::text(&one.name), Cell::number(one.value)];
        row.extend(start(&one.point));
        row.extend(measures.iter().map(|measure| Cell::share(one.point.measures.get(*measure))));
        table.rows.push(row);
    }
    (!all.is_empty()).then_some(table)
}

/// Ours and the paper's, and those that only the paper has.
fn cost_table(all: &[Efficiency]) -> Option<Table> {
    let heads = [
        "mechanism",
        "set-up (s)",
        "a prompt (ms)",
        "a token (ms)",
        "memory (MB)",
        "paper: set-up (s)",
        "an input (ms)",
        "memory (MB)",
    ];
    let mut table = Table::new("Here, and in the paper", heads);
    let names: Vec<String> = all.iter().map(|one| one.mechanism.clone()).collect();
    let (with, without): (Vec<_>, Vec<_>) =
        paper::costs().into_iter().partition(|cost| paper::ours(cost.mechanism, &names).is_some());
    for one in all {
        let theirs =
            with.iter().find(|cost| paper::ours(cost.mechanism, &names) == Some(&one.mechanism));
        let theirs =
            theirs.map_or([f64::NAN; 3], |cost| [cost.set_up_s, cost.prompt_ms, cost.memory_mb]);
        let mut row = vec![Cell::text(&one.mechanism)];
        row.extend([one.set_up_s, one.prompt_ms, one.token_ms, one.memory_mb].map(Cell::number));
        row.extend(theirs.map(Cell::number));
        table.rows.push(row);
    }
    table.rows.extend(without.into_iter().map(|cost| {
        let mut row = vec![Cell::text(format!("{}, in the paper only", cost.mechanism))];
        row.extend([f64::NAN; 4].map(Cell::number));
        row.extend([cost.set_up_s, cost.prompt_ms, cost.memory_mb].map(Cell::number));
        row
    }));
    (!all.is_empty()).then_some(table)
}
