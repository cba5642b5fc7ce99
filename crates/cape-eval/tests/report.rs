//! Plausible numbers for a report that nobody measured.

use std::collections::BTreeMap;

use cape_eval::report::{
    Ablation, BookToken, Efficiency, Example, ExampleRow, Extras, Mapping, Report, Tail,
};
use cape_eval::summary::{Estimate, Point};

const EPSILONS: [f64; 7] = [1.0, 2.0, 3.0, 6.0, 10.0, 14.0, 20.0];
const NAMES: [&str; 7] =
    ["cape", "cape-paper", "santext", "santext+", "custext", "custext+", "inferdpt"];

/// All sections filled.
pub(crate) fn report() -> Report {
    let mut points = Vec::new();
    for name in NAMES {
        for epsilon in EPSILONS {
            points.push(point("sst2", name, epsilon));
        }
    }
    for name in ["cape", "cape-paper", "custext+"] {
        for epsilon in [6.0, 10.0, 14.0] {
            let mut point = point("pii", name, epsilon);
            let (_, privacy, _) = shape(name, epsilon);
            for (label, ease) in
                [("PERSON", 0.5), ("LOCATION", 0.8), ("DATE", 1.1), ("ORGANISATION", 0.7)]
            {
                for (attack, power) in [("knn-10", 1.0), ("llm", 0.6)] {
                    let found = ((1.0 - privacy) * ease * power).clamp(0.0, 1.0);
                    let share =
                        Estimate::share((found * 180.0) as u64, 180).map(Estimate::complement);
                    point
                        .measures
                        .extend(share.map(|share| (format!("privacy {attack} on {label}"), share)));
                }
            }
            points.push(point);
        }
    }
    let about = [
        ("numbers", "made up, to look at the report"),
        ("version", env!("CARGO_PKG_VERSION")),
        ("model", "the default model, 8 layers, int8"),
        ("data", "sst2 (872 prompts), pii (180 prompts)"),
        ("command", "cargo run --example report -- --demo FOLDER"),
    ];
    Report {
        title: "Cape: what is released, recovered and left (made-up numbers)".into(),
        about: about.map(|(name, value)| (name.into(), value.into())).into(),
        points,
        extras: extras(),
    }
}

/// Proven ε, privacy and utility.
fn shape(name: &str, epsilon: f64) -> (Option<f64>, f64, f64) {
    let fall = |middle: f64, width: f64| 1.0 / (1.0 + ((epsilon - middle) / width).exp());
    match name {
        "cape" => {
            (Some(epsilon * 0.9999), 0.97 * fall(14.5, 3.4), 0.38 + 0.57 * (1.0 - fall(11.0, 3.2)))
        }
        "cape-paper" => (
            Some(epsilon * 1.35 + 8.0),
            0.95 * fall(13.0, 3.4),
            0.37 + 0.58 * (1.0 - fall(10.8, 3.6)),
        ),
        "santext" => (Some(epsilon * 15.0), 0.98 * fall(2.7, 0.35), 1.0 - 0.99 * fall(2.5, 0.35)),
        "santext+" => (None, 0.15 + 0.5 * fall(2.7, 0.5), 0.52 + 0.25 * (1.0 - fall(2.5, 0.6))),
        "custext" => (None, 0.66 * fall(7.5, 2.4), 0.12 + 0.88 * (1.0 - fall(6.6, 1.8))),
        "custext+" => (None, 0.62 * fall(7.3, 2.4), 0.5 + 0.5 * (1.0 - fall(6.9, 1.9))),
        _ => (None, 0.97 * fall(17.5, 2.6), 0.13 + 0.6 * (1.0 - fall(16.8, 2.6))),
    }
}

fn point(data: &str, name: &str, epsilon: f64) -> Point {
    let (proven, privacy, rouge) = shape(name, epsilon);
    let share = |share: f64, n: u64| Estimate::share((share.clamp(0.0, 1.0) * n as f64) as u64, n);
    let similarity = 0.3 + 0.7 * rouge.powf(0.8);
    let measures = [
        ("rouge_l", share(rouge, 872)),
        ("similarity", share(similarity, 872)),
        ("unchanged", share((1.0 - privacy) * 0.9, 6_000)),
        ("accuracy", share(0.5 + 0.43 * rouge.powf(1.6), 872)),
        ("privacy knn-10", share(privacy, 6_000)),
        ("privacy knn-1", share(privacy + (1.0 - privacy) * 0.15, 6_000)),
        ("privacy mti", share(0.55 + 0.43 * privacy, 6_000)),
        ("privacy llm", share(0.4 + 0.58 * privacy, 300)),
        ("guessed llm", share(0.25 + 0.7 * (1.0 - privacy), 200)),
    ];
    let measures = measures.into_iter().filter_map(|(name, share)| Some((name.to_owned(), share?)));
    Point {
        data: data.into(),
        mechanism: name.into(),
        epsilon,
        proven,
        releases: 872,
        measures: measures.collect::<BTreeMap<_, _>>(),
        seconds: if name.starts_with("cape") { 0.061 } else { 0.003 },
    }
}

/// Numbers from 0 to 1 that look like chance.
fn noise(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    })
}

/// Roughly normal.
fn bell(seed: u64) -> impl Iterator<Item = f64> {
    let mut noise = noise(seed);
    std::iter::repeat_with(move || noise.by_ref().take(12).sum::<f64>() - 6.0)
}

fn extras() -> Extras {
    let mut mapping = Vec::new();
    for (seed, name) in NAMES.into_iter().enumerate() {
        for epsilon in [1.0, 6.0, 14.0] {
            let (_, privacy, _) = shape(name, epsilon);
            let most: f64 = if name.starts_with("custext") { 20.0 } else { 960.0 };
            let size = |z: f64| {
                (most.powf(0.25 + 0.75 * privacy) * (0.2 * z).exp()).clamp(1.0, most).round()
            };
            mapping.push(Mapping {
                mechanism: name.into(),
                epsilon,
                sizes: bell(seed as u64 + 1).take(600).map(size).collect(),
                kept: bell(seed as u64 + 9)
                    .take(600)
                    .map(|z| (0.9 * (1.0 - privacy) + 0.08 * z).clamp(0.0, 1.0))
                    .collect(),
            });
        }
    }
    let tokens = ["this", "is", "a", "good", "book", "."];
    let book = tokens.iter().enumerate().map(|(at, token)| BookToken {
        token: (*token).into(),
        logits: bell(at as u64 + 30)
            .take(4_000)
            .map(|z| (-4.0 + 2.2 * z + at as f64 * 0.4) as f32)
            .collect(),
        distances: bell(at as u64 + 50)
            .take(4_000)
            .map(|z| (1.3 + 0.12 * z) as f32)
            .chain([0.0])
            .collect(),
    });
    let mut tails = Vec::new();
    for epsilon in [2.0, 6.0, 14.0] {
        let way = |name: &str, weight: &dyn Fn(f64) -> f64| {
            let weights: Vec<f64> = (1..=30_000).map(|rank| weight(f64::from(rank))).collect();
            let total: f64 = weights.iter().sum();
            let mut sum = 0.0;
            let cumulative = weights.iter().enumerate().map(|(at, weight)| {
                sum += weight / total;
                ((at + 1) as f64, sum)
            });
            Tail { name: name.into(), epsilon, cumulative: cumulative.collect() }
        };
        tails.push(way("exponential mechanism", &|rank| (epsilon / 2.0 / rank.powf(0.2)).exp()));
        tails.push(way("buckets, as in the paper", &|rank| {
            let bucket = (rank / 30_000.0).powf(0.3) * 50.0;
            (-epsilon * bucket.floor() / 50.0).exp() / (1.0 + rank.powf(0.7))
        }));
        tails.push(way("ranks", &|rank| {
            rank.powf(-epsilon / 30_000_f64.ln()).max((-epsilon).exp())
        }));
    }
    let mut ablations = Vec::new();
    for (name, values) in
        [("λ_L", [0.0, 0.2, 0.5, 1.0, 1.5]), ("N_b", [20.0, 50.0, 100.0, 150.0, 200.0])]
    {
        for (at, value) in values.into_iter().enumerate() {
            for epsilon in [2.0, 6.0, 10.0, 14.0] {
                let mut point = point("sst2", "cape-paper", epsilon);
                let change = -0.03 * (at as f64 - 2.0).powi(2);
                point.measures.retain(|name, _| {
                    ["rouge_l", "similarity", "privacy knn-10"].contains(&name.as_str())
                });
                for (name, estimate) in &mut point.measures {
                    let change =
                        if name.starts_with("privacy") { 0.01 * at as f64 } else { change };
                    *estimate = Estimate {
                        mean: estimate.mean + change,
                        low: estimate.low + change,
                        high: estimate.high + change,
                        n: estimate.n,
                    };
                }
                ablations.push(Ablation { name: name.into(), value, point });
            }
        }
    }
    Extras {
        mapping,
        book: book.collect(),
        tails,
        ablations,
        examples: examples(),
        efficiency: [
            ("cape", 0.08, 61.0, 125.0),
            ("santext", 41.0, 3.1, 810.0),
            ("custext", 12.4, 1.2, 160.0),
        ]
        .map(|(name, set_up_s, prompt_ms, memory_mb)| Efficiency {
            mechanism: name.into(),
            set_up_s,
            prompt_ms,
            token_ms: prompt_ms / 24.0,
            memory_mb,
        })
        .into(),
        floors: Vec::new(),
        notes: notes(),
    }
}

fn notes() -> Vec<String> {
    vec![
        "All numbers of this page are made up, to look at its layout.".into(),
        "The paper measures with BERT and GPT-2; its attack takes the ten words nearest to a released one in the \
         embeddings of BERT."
            .into(),
    ]
}

fn examples() -> Vec<Example> {
    let row = |mechanism: &str, epsilon: f64, released: &str| ExampleRow {
        mechanism: mechanism.into(),
        epsilon,
        released: released.into(),
    };
    vec![
        Example {
            original: "My daughter Alice was diagnosed with asthma in London last Tuesday.".into(),
            rows: vec![
                row("cape", 6.0, "My thousand 33 was bored with this in centuries 18 monday."),
                row("cape", 14.0, "My daughter anna was diagnosed with illness in london last week."),
                row("santext+", 6.0, "My daughter Alice was diagnosed with asthma in London last Tuesday."),
                row("custext+", 6.0, "My son Emily was treated with diabetes in Paris last Monday."),
            ],
        },
        Example {
            original: "</script><script>alert(\"1\")</script> & <b>bold</b> | pipes, `ticks` and \"quotes\"".into(),
            rows: vec![row("cape", 10.0, "</script><img src=x onerror=alert(1)> & <i>thin</i> | pipes")],
        },
    ]
}
