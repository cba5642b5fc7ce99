//! The paper's whole protocol on tiny models: pulled from a mirror of the hub, with chat models that
//! say what they are told, and a run that is killed.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{self, Home, Ran};
use crate::mirror::Mirror;
use crate::server::{self, Reply, Server};
use serde_json::Value;

const WORDS: [&str; 24] = [
    "the", "a", "of", "in", "was", "to", "good", "slow", "book", "story", "river", "london",
    "doctor", "page", "fever", "film", "man", "woman", "city", "old", "new", "long", "water",
    "road",
];

const SST2: &str = "sentence\tlabel\nthe slow story of a good book\t1\na good river in london\t0\n";
const QNLI: &str = "index\tquestion\tsentence\tlabel\n\
                    0\tWho was the doctor?\tThe old man was a doctor.\tentailment\n\
                    1\tWhere was the book?\tThe road was long.\tnot_entailment\n";
const WIKITEXT: &str = " = London = \n\n the old city of london was a long road to the river and the \
                        water was slow in the new book of a good man \n a short one \n the doctor of the \
                        city was a good woman and the film of the story was a long page of the old book \n";

const MODELS: &str = "tiny/bert-tiny,tiny/gpt2-tiny,tiny/distilbert-tiny";
const CAPES: [&str; 3] =
    ["cape-paper, bert-tiny", "cape-paper, gpt2-tiny", "cape-paper, distilbert-tiny"];
const OURS: [&str; 2] = ["cape-everything", "cape"];
const BASELINES: [&str; 5] = ["santext", "santext+", "custext", "custext+", "inferdpt"];

/// A folder with small data and vectors, and a hub on this machine.
struct Place {
    home: Home,
    mirror: Mirror,
    llm: Server,
    local: Server,
}

/// A chat model that finds everything positive, and repeats a prompt's last words.
fn says(request: &server::Request) -> Reply {
    let asked = |words: &str| request.body.contains(words);
    let text = if asked("\"local\"") {
        if asked("Perturbed Generation") { "the long road of london" } else { "a fever" }
    } else if asked("positive or negative") {
        "positive"
    } else if asked("context sentence") {
        "Yes."
    } else {
        "the old river of the city"
    };
    Reply::content(&Value::from(text).to_string())
}

impl Place {
    fn new() -> Self {
        let home = Home::new();
        for (folder, file, text) in [
            ("SST-2", "dev.tsv", SST2),
            ("QNLI", "dev.tsv", QNLI),
            ("wikitext-103-raw", "wiki.test.raw", WIKITEXT),
        ] {
            std::fs::create_dir_all(home.path("data").join(folder)).unwrap();
            home.write(&format!("data/{folder}/{file}"), text);
        }
        // numbers without an order
        let mut vectors = String::new();
        for (i, word) in WORDS.iter().enumerate() {
            let number = |j: usize| ((i * 37 + j * 101) * 7919 % 1000) as f64 / 250.0;
            let row: Vec<String> = (0..4).map(|j| number(j).to_string()).collect();
            writeln!(vectors, "{word} {}", row.join(" ")).unwrap();
        }
        home.write("words.vec", vectors);
        let mirror = Mirror::new("tiny/bert-tiny");
        mirror.also("tiny/gpt2-tiny", "gpt2-tiny");
        mirror.also("tiny/distilbert-tiny", "distilbert-tiny");
        mirror.also("tiny/sentence-tiny", "sentence-tiny");
        Self { home, mirror, llm: Server::answering(says), local: Server::answering(says) }
    }

    /// The protocol with these flags besides.
    fn args<'a>(more: &[&'a str]) -> Vec<&'a str> {
        let models = ["--models", MODELS, "--encoder", "tiny/sentence-tiny"];
        [&["eval", "paper", "--data", "data", "--vectors", "words.vec"], &models[..], more].concat()
    }

    fn run(&self, more: &[&str]) -> Ran {
        let mut command = self.home.cape(&Self::args(more));
        common::finish(command.env("HF_ENDPOINT", &self.mirror.endpoint))
    }

    /// With the chat models.
    fn asking<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let service = ["--llm-url", &self.llm.url, "--llm-model", "small"];
        let local = ["--local-url", &self.local.url, "--local-model", "local"];
        [more, &service, &local].concat()
    }

    fn report(&self, out: &str) -> Value {
        let text = std::fs::read_to_string(self.home.path(out).join("report.json")).unwrap();
        common::parse(&text)
    }
}

/// The measures of a point.
fn measures<'a>(report: &'a Value, data: &str, mechanism: &str, epsilon: f64) -> &'a Value {
    let points = report["points"].as_array().unwrap();
    let same = |point: &&Value| {
        point["data"] == data && point["mechanism"] == mechanism && point["epsilon"] == epsilon
    };
    &points.iter().find(same).unwrap_or_else(|| panic!("{data}, {mechanism}, {epsilon}"))["measures"]
}

/// What was measured, to as many digits as records keep.
fn measured(report: &Value) -> Vec<String> {
    let ablated = report["extras"]["ablations"].as_array().unwrap().iter().map(|one| &one["point"]);
    let points = report["points"].as_array().unwrap().iter().chain(ablated);
    let lines = points.flat_map(|point| {
        let (data, mechanism, epsilon) = (&point["data"], &point["mechanism"], &point["epsilon"]);
        let measures = point["measures"].as_object().unwrap().iter();
        measures.map(move |(name, of)| {
            let mean = of["mean"].as_f64().unwrap();
            format!("{data} {mechanism} {epsilon} {name}: {mean:.9} of {}", of["n"])
        })
    });
    lines.collect()
}

#[test]
fn the_whole_protocol_runs() {
    let place = Place::new();
    let ran = place.run(&place.asking(&["--pull", "--out", "out"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    // 2 prompts a task; 10 mechanisms at 7 values of ε, the prompts as they are at one, and 2 by the
    // local model alone; 11 ablations
    let all = 2 * (3 * (10 * 7 + 1) + 1 + 11 * 7);
    assert!(ran.err.contains("prompts: 2 of SST-2, 2 of QNLI, 2 of WikiText\n"), "{}", ran.err);
    assert!(ran.err.contains(&format!("{all} releases; about ")), "{}", ran.err);
    assert!(ran.err.contains(&format!("{all} records and the report are in out")), "{}", ran.err);
    let report = place.report("out");
    let classified =
        ["accuracy", "similarity", "rouge_l", "privacy knn-10", "privacy mti", "privacy llm"];
    let continued =
        ["coherence", "alignment", "coherence without extraction", "privacy knn-10", "privacy llm"];
    for mechanism in CAPES.iter().chain(&OURS).chain(&BASELINES) {
        for epsilon in [1.0, 2.0, 3.0, 6.0, 10.0, 14.0, 20.0] {
            for (data, names) in
                [("SST-2", &classified[..]), ("QNLI", &classified), ("WikiText", &continued)]
            {
                let measures = measures(&report, data, mechanism, epsilon);
                for name in names {
                    assert!(measures[name]["mean"].is_f64(), "{data}, {mechanism}: {name}");
                }
            }
        }
    }
    // one of two is positive, one of two is answered
    for data in ["SST-2", "QNLI"] {
        assert_eq!(measures(&report, data, "non-private", 1.0)["accuracy"]["mean"], 0.5);
    }
    let alone = measures(&report, "WikiText", "local model alone", 1.0);
    assert_eq!(alone["privacy knn-10"]["mean"], 1.0);
    assert_eq!(alone["privacy mti"]["mean"], 1.0);
    // what it writes is like neither the prompt nor what is expected
    let score = |of: &Value, name: &str| of[name]["mean"].as_f64().unwrap();
    let open = measures(&report, "WikiText", "non-private", 1.0);
    assert!(score(alone, "alignment") < 0.99 && score(open, "alignment without extraction") > 0.99);
    assert!(alone["coherence without extraction"].is_null());
    // only the local model is shown a prompt beside what was made of its release
    let raw = |server: &Server, task: &str| {
        let requests = server.requests();
        let prompts =
            ["the old city of london was a long road", "the doctor of the city was a good woman"];
        let is_raw = |body: &str| prompts.iter().any(|prompt| body.contains(prompt));
        requests
            .iter()
            .filter(|request| request.body.contains(task) && is_raw(&request.body))
            .count()
    };
    assert!(raw(&place.local, "extend Prefix Text") >= 2);
    assert!(
        raw(&place.local, "Perturbed Generation") > 2
            && raw(&place.llm, "Perturbed Generation") == 0
    );
    let extras = &report["extras"];
    let ablated: Vec<&str> = extras["ablations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!((ablated.len(), ablated.iter().filter(|name| **name == "N_b").count()), (77, 35));
    assert_eq!(extras["mapping"].as_array().unwrap().len(), 10 * 7);
    let page = std::fs::read_to_string(place.home.path("out/report.md")).unwrap();
    for row in [
        "| cape-paper, bert-tiny | Cape (BERT) | accuracy |",
        "| cape-paper, gpt2-tiny | Cape (GPT2) | ROUGE-L |",
        "| cape-paper, distilbert-tiny | Cape (DistilBERT) | privacy against knn-10 |",
        "| custext+ | CUSTEXT+ | alignment |",
        "| non-private | Non-private | coherence |",
        "| local model alone | – | 0 | 2 |",
        // the paper's Cape on BERT: 37.91 s, 150 ms and 1370 MB
        " | 37.91 | 150 | 1370 |",
    ] {
        assert!(page.contains(row), "{row}");
    }
    let costs = extras["efficiency"].as_array().unwrap();
    assert_eq!(costs.len(), 10);
    for cost in costs {
        let number = |name: &str| cost[name].as_f64().unwrap();
        assert!(number("set_up_s") > 0.0 && number("memory_mb") >= 0.0, "{cost}");
        assert!(number("prompt_ms") > number("token_ms") && number("token_ms") > 0.0, "{cost}");
    }
    let html = std::fs::read_to_string(place.home.path("out/report.html")).unwrap();
    assert!(html.contains("<h3>λ_L of cape-paper, bert-tiny on SST-2</h3>"));
    assert!(!page.contains("no chat model"));
}

#[test]
fn a_killed_run_goes_on() {
    let place = Place::new();
    for name in MODELS.split(',').chain(["tiny/sentence-tiny"]) {
        let mut pull = place.home.cape(&["models", "pull", name]);
        let ran = common::finish(pull.env("HF_ENDPOINT", &place.mirror.endpoint));
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let flags = |out| place.asking(&["--out", out, "--epsilons", "2,14"]);
    let whole = place.run(&flags("whole"));
    assert_eq!(whole.code, 0, "{}", whole.err);

    let mut killed = Command::new(env!("CARGO_BIN_EXE_cape"));
    killed.current_dir(place.home.0.path()).env("HF_HOME", place.home.path("hf"));
    let quiet =
        killed.args(Place::args(&flags("killed"))).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = quiet.spawn().unwrap();
    let records = |task: &str| {
        let path = place.home.path("killed").join(task).join("records.jsonl");
        std::fs::read_to_string(path).unwrap_or_default().lines().count()
    };
    let start = Instant::now();
    while records("QNLI") == 0 && start.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "it was done before it was killed");
    assert_eq!(records("WikiText"), 0);

    let again = place.run(&flags("killed"));
    assert_eq!((again.code, &again.out), (0, &whole.out), "{}", again.err);
    assert!(again.err.contains(" of them done; about "), "{}", again.err);
    assert_eq!(measured(&place.report("killed")), measured(&place.report("whole")));
    // nothing is asked again of who has answered
    let asked = place.llm.requests().len();
    let last = place.run(&flags("killed"));
    assert_eq!((last.code, &last.out, place.llm.requests().len()), (0, &whole.out, asked));
}

#[test]
fn what_cannot_be_run_is_left_out_and_said() {
    let place = Place::new();
    let missing = place.run(&["--out", "out"]);
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("tiny/gpt2-tiny, "), "{}", missing.err);
    assert!(missing.err.contains("cape models pull tiny/sentence-tiny"), "{}", missing.err);

    std::fs::remove_dir_all(place.home.path("data/QNLI")).unwrap();
    let few = ["--out", "out", "--pull", "--epsilons", "6", "--limit", "1"];
    let ran = place.run(&few);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let left_out = "QNLI was left out: data/QNLI/dev.tsv is not there";
    assert!(ran.err.contains(left_out) && ran.err.contains("QNLIv2.zip"), "{}", ran.err);
    let page = std::fs::read_to_string(place.home.path("out/report.md")).unwrap();
    assert!(page.contains(left_out) && page.contains("There was no chat model"), "{page}");
    let report = place.report("out");
    assert!(measures(&report, "SST-2", "santext", 6.0)["accuracy"].is_null());
    // with a chat model, what was released before is asked about
    let ran = place.run(&place.asking(&few));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report = place.report("out");
    assert!(measures(&report, "SST-2", "santext", 6.0)["accuracy"]["mean"].is_f64());
    assert!(measures(&report, "WikiText", "santext", 6.0)["coherence"]["mean"].is_f64());

    let none = place.home.run(&["eval", "paper", "--data", "model"]);
    assert_eq!(none.code, 2);
    assert!(none.err.contains("model holds none of SST-2/dev.tsv"), "{}", none.err);
    let twice = place.home.run(&["eval", "paper", "--data", "data", "--models", "model,model"]);
    assert_eq!(twice.code, 2);
}

#[test]
fn prompts_may_lie_in_a_file_of_that_name() {
    let home = Home::new();
    home.write("paper", "the slow story of a good book\n");
    let flags = ["--model", "model", "-m", "none", "-e", "1", "--out", "out"];
    for file in [&["./paper"][..], &["--", "paper"]] {
        let ran = home.run(&[&["eval"], &flags[..], file].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.contains("non-private"), "{}", ran.out);
    }
    let mixed = home.run(&["eval", "prompts.tsv", "paper", "--data", "data"]);
    assert_eq!((mixed.code, mixed.out.as_str()), (2, ""));
    assert!(mixed.err.contains("./paper"), "{}", mixed.err);
}
