//! The whole report, from a few made-up points.

use std::collections::BTreeMap;

use super::*;
use crate::measure::{Attack, Measure};
use crate::summary::Estimate;

const HOSTILE: &str = "</script><img src=x onerror=alert(1)> & \"it's\" | `a` *b* \u{2028}\r\nend";

fn share(mean: f64) -> Estimate {
    Estimate { mean, low: mean - 0.01, high: mean + 0.01, n: 100 }
}

fn point(mechanism: &str, epsilon: f64, proven: Option<f64>, privacy: f64, rouge_l: f64) -> Point {
    let on_person = Measure::PrivacyOn(Attack::Knn10, "PERSON".into());
    let knn = Measure::Privacy(Attack::Knn10);
    let measures = [(Measure::RougeL, rouge_l), (knn, privacy), (on_person, privacy)];
    let measures = measures.map(|(measure, mean)| (measure, share(mean)));
    Point {
        data: "sst2".into(),
        mechanism: mechanism.into(),
        epsilon,
        proven,
        releases: 100,
        measures: BTreeMap::from(measures),
        seconds: 0.06,
    }
}

fn small() -> Report {
    let points = vec![
        point("cape", 6.0, Some(6.0), 0.9, 0.5),
        point("cape", 14.0, Some(14.0), 0.5, 0.8),
        point("santext", 1.0, Some(15.0), 0.97, 0.02),
        point("santext", 3.0, Some(45.0), 0.3, 0.8),
        point("inferdpt", 6.0, None, 0.95, 0.15),
    ];
    let about = vec![("model".into(), "tiny".into()), ("data".into(), "sst2, 10 prompts".into())];
    Report { title: "A small report".into(), about, points, extras: Extras::default() }
}

fn full() -> Report {
    let mut report = small();
    report.extras = Extras {
        mapping: vec![Mapping {
            mechanism: "cape".into(),
            epsilon: 6.0,
            sizes: vec![300.0, 500.0, f64::NAN],
            kept: vec![0.1, 0.2, 0.3],
        }],
        book: vec![BookToken {
            token: "book".into(),
            logits: vec![-1.0, 2.0, f32::INFINITY],
            distances: vec![0.0, 1.0],
        }],
        tails: vec![Tail {
            name: "ranks".into(),
            epsilon: 6.0,
            cumulative: vec![(1.0, 0.2), (10.0, 0.7), (20.0, 1.0)],
        }],
        ablations: vec![
            Ablation {
                name: "λ_L".into(),
                value: 0.5,
                point: point("cape", 6.0, Some(6.0), 0.9, 0.5),
            },
            Ablation {
                name: "λ_L".into(),
                value: 1.0,
                point: point("cape", 6.0, Some(6.0), 0.8, 0.4),
            },
        ],
        examples: vec![Example {
            original: "This is a good book.".into(),
            rows: vec![ExampleRow {
                mechanism: "cape".into(),
                epsilon: 6.0,
                released: "this is a bad book.".into(),
            }],
        }],
        efficiency: vec![Efficiency {
            mechanism: "cape".into(),
            set_up_s: 0.08,
            prompt_ms: 61.0,
            token_ms: 2.5,
            memory_mb: 125.0,
        }],
        floors: vec![Floor {
            data: "sst2".into(),
            measure: Measure::RougeL,
            name: "stopwords alone kept".into(),
            value: 0.4,
        }],
        notes: vec!["Made up.".into()],
    };
    report
}

#[test]
fn markdown_reads_well() {
    insta::assert_snapshot!(full().markdown());
}

#[test]
fn sections_without_data_are_left_out() {
    let ids = |report: &Report| sections::all(report).iter().map(|one| one.id).collect::<Vec<_>>();
    let base = ["summary", "reading", "trade-off", "nominal", "proven", "spans", "points", "paper"];
    assert_eq!(ids(&small()), base);
    for id in ["mapping", "book", "tail", "settings", "examples", "costs", "notes"] {
        assert!(ids(&full()).contains(&id), "{id}");
        assert!(!small().html().contains(&format!("id=\"{id}\"")), "{id}");
    }
    let empty = Report { title: "Nothing".into(), ..Report::default() };
    assert!(ids(&empty).is_empty());
    assert!(empty.html().contains("<h1>Nothing</h1>") && !empty.html().contains("<script"));
    assert_eq!(empty.markdown(), "# Nothing\n");
    assert_eq!(empty.csv().lines().count(), 1);
    let mut unproven = small();
    unproven.points.iter_mut().for_each(|point| point.proven = None);
    assert!(!ids(&unproven).contains(&"proven"));
    assert!(!unproven.markdown().contains("proven ε = 6"));
}

/// Every string of a report is one that tries to break out.
fn hostile() -> Report {
    let mut report = full();
    let text = || HOSTILE.to_owned();
    report.title = text();
    report.about = vec![(text(), text())];
    for point in &mut report.points {
        (point.data, point.mechanism) = (text(), text());
        point.measures.insert(Measure::ProtectedOn(text()), share(0.5));
        point.measures.insert(Measure::PrivacyOn(Attack::Llm, text()), share(0.5));
    }
    let extras = &mut report.extras;
    extras.mapping[0].mechanism = text();
    extras.book[0].token = text();
    extras.tails[0].name = text();
    for one in &mut extras.ablations {
        (one.name, one.point.mechanism, one.point.data) = (text(), text(), text());
    }
    extras.examples[0].original = text();
    (extras.examples[0].rows[0].mechanism, extras.examples[0].rows[0].released) = (text(), text());
    extras.efficiency[0].mechanism = text();
    (extras.floors[0].data, extras.floors[0].name) = (text(), text());
    extras.notes = vec![text()];
    report
}

#[test]
fn hostile_text_stays_text_in_the_page() {
    let (page, tame) = (hostile().html(), full().html());
    assert!(!page.contains("<img") && page.contains("&lt;img src=x onerror=alert(1)&gt;"));
    let scripts = |page: &str| (page.matches("<script").count(), page.matches("</script").count());
    assert_eq!(scripts(&page), (4, 4));
    assert_eq!(scripts(&page), scripts(&tame));
    let start = page.find("id=\"charts\">").unwrap() + "id=\"charts\">".len();
    let data = &page[start..start + page[start..].find("</script").unwrap()];
    let charts: serde_json::Value = serde_json::from_str(data).unwrap();
    assert!(
        charts
            .as_array()
            .unwrap()
            .iter()
            .any(|chart| { chart["title"].as_str().unwrap().contains("</script><img src=x") })
    );
}

#[test]
fn hostile_text_stays_text_in_markdown_and_csv() {
    let text = hostile().markdown();
    assert!(!text.contains("<img") && !text.contains("</script") && !text.contains('\u{2028}'));
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert!(!rows.is_empty() && rows.iter().all(|row| row.ends_with('|')));
    // a table's lines have the same number of cells
    let cells = |row: &str| row.replace("\\|", "").matches('|').count();
    for pair in text.lines().collect::<Vec<_>>().windows(2) {
        if pair.iter().all(|line| line.starts_with('|')) {
            assert_eq!(cells(pair[0]), cells(pair[1]), "{pair:?}");
        }
    }
    let mut report = small();
    report.points.truncate(1);
    report.points[0].mechanism = "cape, \"paper\"".into();
    report.points[0].measures.retain(|measure, _| *measure == Measure::RougeL);
    report.points[0].proven = None;
    assert_eq!(
        report.csv().lines().nth(1).unwrap(),
        "sst2,\"cape, \"\"paper\"\"\",6,,100,0.06,rouge_l,0.5,0.49,0.51,100,,"
    );
    assert!(full().csv().contains(",λ_L,0.5\n"));
    assert!(full().csv().ends_with(",cape,,,,,memory (MB),125,,,,,\n"));
    let columns = |line: &str| line.matches(',').count();
    let full = full().csv();
    assert!(full.lines().all(|line| columns(line) == columns(full.lines().next().unwrap())));
}

#[test]
fn numbers_that_are_none_do_no_harm() {
    let mut report = full();
    for (at, point) in report.points.iter_mut().enumerate() {
        let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][at % 3];
        let nothing = Estimate { mean: bad, low: bad, high: bad, n: 0 };
        point.measures.insert(Measure::RougeL, nothing);
        (point.proven, point.seconds) = (Some(bad), bad);
    }
    report.points[0].epsilon = f64::NAN;
    report.extras.mapping[0].kept = vec![f64::NAN];
    report.extras.tails[0].cumulative = vec![(0.0, f64::NAN), (f64::INFINITY, 1.0)];
    report.extras.efficiency[0].memory_mb = f64::NAN;
    report.extras.ablations[0].value = f64::NAN;
    for text in [report.html(), report.markdown(), report.csv()] {
        // the libraries have these words of their own
        let own = text.split("<script>").next().unwrap();
        assert!(!own.contains("NaN") && !own.contains(",inf,") && !own.contains(">inf<"));
    }
    assert!(serde_json::from_str::<serde_json::Value>(&report.json()).is_ok());
}

#[test]
fn json_holds_everything() {
    let mut report = full();
    report.extras.mapping[0].sizes.pop();
    report.extras.book[0].logits.pop();
    // numbers that JSON gives back to the last bit
    let ablated = report.extras.ablations.iter_mut().map(|one| &mut one.point);
    for point in report.points.iter_mut().chain(ablated) {
        point.measures.values_mut().for_each(|of| *of = Estimate { low: 0.25, high: 1.0, ..*of });
    }
    assert_eq!(serde_json::from_str::<Report>(&report.json()).unwrap(), report);
}

#[test]
fn the_page_needs_no_network() {
    let page = full().html();
    let own = page.split("<script>").next().unwrap();
    assert!(!own.contains("http:") && !own.contains("https:") && !own.contains(" src="));
    assert!(own.contains("default-src 'none'"));
    // each chart has a table
    assert_eq!(page.matches("data-chart=").count(), page.matches("<details>").count());
}
