//! A report of made-up numbers with all sections filled. It is written to `target/tmp/report`, to look at.

use std::fs;
use std::path::Path;

use cape_eval::report::{
    Ablation, BookToken, Efficiency, Example, ExampleRow, Extras, Mapping, Report, Tail,
};
use cape_eval::summary::{Estimate, Point};
use cape_eval::{Attack, Measure, Score};

const NAMES: [&str; 4] = ["cape", "cape-paper", "santext", "custext+"];

#[test]
fn all_sections_are_written_in_every_format() {
    let report = report();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    fs::create_dir_all(&folder).unwrap();
    let [html, markdown] = [report.html(), report.markdown()];
    for (format, text) in
        [("html", &html), ("md", &markdown), ("csv", &report.csv()), ("json", &report.json())]
    {
        assert!(report.points.iter().all(|point| text.contains(&point.mechanism)), "{format}");
        fs::write(folder.join(format!("report.{format}")), text).unwrap();
    }
    let titles: Vec<&str> = markdown.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert!(titles.len() > 10 && titles.iter().all(|title| html.contains(title)), "{titles:?}");
}

fn report() -> Report {
    let points = NAMES.iter().flat_map(|name| {
        [1.0, 2.0, 3.0, 6.0, 10.0, 14.0, 20.0].map(|epsilon| point("sst2", name, epsilon))
    });
    let spans = [6.0, 10.0, 14.0].map(|epsilon| {
        let mut point = point("pii", "cape", epsilon);
        for (label, found) in [("PERSON", 0.02), ("LOCATION", 0.03), ("DATE", 0.05)] {
            let on = Measure::PrivacyOn(Attack::Knn10, label.into());
            point.measures.insert(on, share(1.0 - found * epsilon));
        }
        point
    });
    Report {
        title: "Cape: what is released, recovered and left (made-up numbers)".into(),
        about: vec![("numbers".into(), "made up, to look at the report".into())],
        points: points.chain(spans).collect(),
        extras: extras(),
    }
}

fn share(share: f64) -> Estimate {
    Estimate::share((share.clamp(0.0, 1.0) * 900.0) as u64, 900).expect("some prompts")
}

fn point(data: &str, name: &str, epsilon: f64) -> Point {
    let fall = |middle: f64, width: f64| 1.0 / (1.0 + ((epsilon - middle) / width).exp());
    let (proven, privacy) = match name {
        "cape" => (Some(epsilon), 0.97 * fall(14.5, 3.4)),
        "cape-paper" => (Some(epsilon * 1.35 + 8.0), 0.95 * fall(13.0, 3.4)),
        "santext" => (Some(epsilon * 15.0), 0.98 * fall(2.7, 0.35)),
        _ => (None, 0.62 * fall(7.3, 2.4)),
    };
    let rouge_l = 0.38 + 0.6 * (1.0 - privacy).powi(2);
    let measures = [
        (Measure::RougeL, rouge_l),
        (Measure::Similarity, 0.3 + 0.7 * rouge_l),
        (Measure::Score(Score::Accuracy), 0.5 + 0.43 * rouge_l),
        (Measure::Privacy(Attack::Knn10), privacy),
        (Measure::Privacy(Attack::Llm), 0.4 + 0.58 * privacy),
        (Measure::Unchanged, (1.0 - privacy) * 0.9),
        (Measure::Guessed(Attack::Llm), 0.25 + 0.7 * (1.0 - privacy)),
    ];
    Point {
        data: data.into(),
        mechanism: name.into(),
        epsilon,
        proven,
        releases: 872,
        measures: measures.into_iter().map(|(measure, mean)| (measure, share(mean))).collect(),
        seconds: 0.06,
    }
}

/// Numbers around a middle that look like chance.
fn bell(middle: f64, width: f64) -> Vec<f64> {
    let noise = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
    (0..600).map(|i| middle + width * ((6 * i..6 * i + 6).map(noise).sum::<f64>() - 3.0)).collect()
}

fn extras() -> Extras {
    let mapping = |mechanism: &&str| Mapping {
        mechanism: (*mechanism).to_owned(),
        epsilon: 6.0,
        sizes: bell(600.0, 80.0),
        kept: bell(0.3, 0.08),
    };
    let numbers = |middle: f64| bell(middle, 1.0).iter().map(|&x| x as f32).collect();
    let book = ["this", "is", "a", "good", "book", "."].map(|token| BookToken {
        token: token.into(),
        logits: numbers(-4.0),
        distances: numbers(9.0),
    });
    let tail = |epsilon: f64| {
        let weights = (1..=3_000).map(|rank| f64::from(rank).powf(-epsilon / 8.0));
        let mut sum = 0.0;
        let sums: Vec<f64> = weights
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        let cumulative = (1..).map(f64::from).zip(sums.iter().map(|part| part / sum)).collect();
        Tail { name: "ranks".into(), epsilon, cumulative }
    };
    let ablation = |(name, value): (&str, f64)| Ablation {
        name: name.into(),
        value,
        point: point("sst2", "cape-paper", 10.0 - value / 50.0),
    };
    let settings = [("λ_L", 0.2), ("λ_L", 1.0), ("N_b", 20.0), ("N_b", 100.0)];
    let released = "</script><img src=x onerror=alert(1)> & <i>thin</i> | pipes".to_owned();
    let row = ExampleRow { mechanism: "cape".into(), epsilon: 10.0, released };
    let efficiency = Efficiency { mechanism: "cape".into(), prompt_ms: 0.8, ..Default::default() };
    Extras {
        mapping: NAMES.iter().map(mapping).collect(),
        book: book.into(),
        tails: [2.0, 6.0, 14.0].map(tail).into(),
        ablations: settings.map(ablation).into(),
        examples: vec![Example { original: "<b>bold</b> | pipes".into(), rows: vec![row] }],
        efficiency: vec![efficiency],
        floors: Vec::new(),
        notes: vec!["All numbers of this page are made up, to look at its layout.".into()],
    }
}
