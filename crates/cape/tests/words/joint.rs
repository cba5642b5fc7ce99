//! The exact law of whole releases: every draw of every key, and what is written for it.

use std::collections::{BTreeMap, HashMap};

use cape::kinds;
use cape::levels::Key;
use cape::mechanism::cape::Drawn;
use cape::{Cape, Kind, Level};
use num_bigint::BigUint;

use super::faults::{self, Fault};

/// All releases with their weights, of a total.
pub(crate) struct Joint {
    pub(crate) weights: BTreeMap<String, BigUint>,
    pub(crate) total: BigUint,
}

/// The possible results of a key's draw, with integer weights.
pub(crate) type Row = Vec<(Drawn, u64)>;

/// The public structure of some texts.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Structure(Vec<Seen>);

/// The public structure of a unit, and of the end of a text.
#[derive(PartialEq, Eq, Debug)]
enum Seen {
    Unit { before: String, kind: Kind, first: bool, kept: Option<String>, key: Option<usize> },
    End(String),
}

/// Texts, drawn for with one secret: their structure and their keys, by the mechanism as it is.
pub(crate) struct Input {
    pub(crate) texts: Vec<String>,
    pub(crate) structure: Structure,
    pub(crate) keys: Vec<Key>,
}

impl Input {
    pub(crate) fn new(cape: &Cape, texts: &[&str]) -> Self {
        let (mut units, mut keys) = (Vec::new(), Vec::new());
        let mut numbers: HashMap<Key, usize> = HashMap::new();
        for text in texts {
            let plan = cape.plan(text).unwrap();
            let mut at = 0;
            for place in &plan.places {
                let unit = place.unit;
                let number = place.key.map(|key| {
                    let key = &plan.keys[key];
                    *numbers.entry(key.clone()).or_insert_with(|| {
                        keys.push(key.clone());
                        keys.len() - 1
                    })
                });
                let kept = number.is_none().then(|| unit.of(text).to_owned());
                let before = text[at..unit.start].to_owned();
                let (kind, first) = (unit.kind, unit.first);
                units.push(Seen::Unit { before, kind, first, kept, key: number });
                at = unit.end;
            }
            units.push(Seen::End(text[at..].to_owned()));
        }
        let texts = texts.iter().map(|&text| text.to_owned()).collect();
        Self { texts, structure: Structure(units), keys }
    }
}

/// The value that a key of a near kind stands for.
fn value(key: &Key) -> usize {
    key.form.parse().unwrap()
}

/// The distribution of a key: for a word, every listed word by the order and the law; for a value on a grid
/// every value. A uniform kind does not look at what it replaces, so that one outcome stands for all.
pub(crate) fn row(cape: &Cape, key: &Key) -> Row {
    let Some(law) = cape.law_of(key) else {
        return vec![(Drawn::Value(format!("<{}>", key.kind.as_str())), 1)];
    };
    let weighted = |(i, drawn)| (drawn, law.weight(i + 1));
    if key.kind == Kind::Word {
        cape.order(key).into_iter().map(Drawn::Word).enumerate().map(weighted).collect()
    } else {
        let text = |rank| kinds::grid_text(key.kind, kinds::grid_nth(key.kind, value(key), rank));
        (1..=law.len()).map(text).map(Drawn::Value).enumerate().map(weighted).collect()
    }
}

/// The law of the releases of some texts that share a secret, by the mechanism or by one with a fault.
pub(crate) fn joint(cape: &Cape, fault: Option<Fault>, texts: &[&str]) -> Joint {
    let mut plans: Vec<_> = texts.iter().map(|text| cape.plan(text).unwrap()).collect();
    if let Some(fault) = fault {
        for (plan, text) in plans.iter_mut().zip(texts) {
            faults::replan(fault, cape, text, plan);
        }
    }
    // one draw for each key of all texts
    let mut keys: Vec<Key> = Vec::new();
    let mut numbers: HashMap<Key, usize> = HashMap::new();
    let of: Vec<Vec<usize>> = plans
        .iter()
        .map(|plan| {
            let mut number = |key: &Key| {
                *numbers.entry(key.clone()).or_insert_with(|| {
                    keys.push(key.clone());
                    keys.len() - 1
                })
            };
            plan.keys.iter().map(&mut number).collect()
        })
        .collect();
    let mut order: Vec<usize> = (0..keys.len()).collect();
    if fault == Some(Fault::OrderByLevels) {
        order.sort_by_key(|&key| keys[key].level != Level::Ordinary);
    }
    let mut found = Joint { weights: BTreeMap::new(), total: BigUint::from(1_u8) };
    for key in &keys {
        let sum: u64 = faults::row(fault, cape, key, &[]).iter().map(|(_, weight)| weight).sum();
        found.total *= sum;
    }
    let mut drawn: Vec<Option<Drawn>> = vec![None; keys.len()];
    let mut write = |drawn: &[Option<Drawn>], weight: &BigUint| {
        let mut out = String::new();
        for ((text, plan), of) in texts.iter().zip(&plans).zip(&of) {
            let drawn: Vec<Drawn> = of.iter().map(|&key| drawn[key].clone().unwrap()).collect();
            out.push_str(&faults::written(fault, cape, text, plan, &drawn));
            out.push('\u{1}');
        }
        *found.weights.entry(out).or_default() += weight;
    };
    each(cape, fault, &keys, &order, &mut drawn, &BigUint::from(1_u8), &mut write);
    found
}

fn each(
    cape: &Cape,
    fault: Option<Fault>,
    keys: &[Key],
    order: &[usize],
    drawn: &mut Vec<Option<Drawn>>,
    weight: &BigUint,
    write: &mut dyn FnMut(&[Option<Drawn>], &BigUint),
) {
    let Some((&key, rest)) = order.split_first() else {
        return write(drawn, weight);
    };
    let seen: Vec<(&Key, &Drawn)> =
        keys.iter().zip(drawn.iter()).filter_map(|(k, d)| Some((k, d.as_ref()?))).collect();
    for (outcome, w) in faults::row(fault, cape, &keys[key], &seen) {
        drawn[key] = Some(outcome);
        each(cape, fault, keys, rest, drawn, &(weight * w), write);
    }
    drawn[key] = None;
}

/// A quotient of integers.
struct Ratio(BigUint, BigUint);

/// The largest quotient of the probabilities of an output that is allowed between two keys of the same
/// kind: from the laws' integers.
fn allowed(cape: &Cape, a: &Key, b: &Key) -> Ratio {
    let of = |most: u128, least: u128| Ratio(most.into(), least.into());
    let Some(law) = cape.law_of(a) else { return of(1, 1) };
    if a.kind != Kind::Word || (a.level, b.level) == (Level::Protected, Level::Protected) {
        // the rest has one weight for all protected words
        return of(law.weight(1).into(), law.weight(law.ranked()).into());
    }
    let levels = [Level::Protected, Level::Ordinary].map(|level| cape.law(level));
    let pairs = levels.iter().flat_map(|a| levels.iter().map(move |b| (a, b)));
    let quotients = pairs.map(|(a, b)| {
        let most = u128::from(a.weight(1)) * u128::from(b.total());
        (most, u128::from(b.weight(b.len())) * u128::from(a.total()))
    });
    let largest =
        quotients.max_by(|a, b| (BigUint::from(a.0) * b.1).cmp(&(BigUint::from(b.0) * a.1)));
    let (most, least) = largest.unwrap();
    of(most, least)
}

/// The findings between texts.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// How many pairs have the same structure and differ.
    pub(crate) pairs: usize,
    /// The first pair whose loss is more than what is allowed.
    pub(crate) broken: Option<(Vec<String>, Vec<String>)>,
    /// The largest loss between texts that differ in one key.
    pub(crate) worst: f64,
    /// The same where it is protected in both.
    pub(crate) worst_protected: f64,
}

/// Every pair of these, in both directions, over all releases.
pub(crate) fn compare(cape: &Cape, fault: Option<Fault>, all: &[Vec<&str>]) -> Found {
    let law = |texts: &Vec<&str>| (Input::new(cape, texts), joint(cape, fault, texts));
    let laws: Vec<(Input, Joint)> = all.iter().map(law).collect();
    let guarantee = cape.guarantee();
    let mut found = Found::default();
    for (a, p) in &laws {
        for (b, q) in &laws {
            if a.structure != b.structure || a.keys == b.keys {
                continue;
            }
            found.pairs += 1;
            let differing = || a.keys.iter().zip(&b.keys).filter(|(a, b)| a != b);
            let mut bound = Ratio(1_u8.into(), 1_u8.into());
            for (a, b) in differing() {
                let Ratio(most, least) = allowed(cape, a, b);
                bound = Ratio(bound.0 * most, bound.1 * least);
            }
            let protected = differing()
                .all(|(a, b)| (a.level, b.level) == (Level::Protected, Level::Protected));
            let j = differing().count();
            let stated = if protected { guarantee.protected } else { guarantee.bound };
            assert!(ln_ratio(&bound.0, &bound.1) <= stated * j as f64 + 1e-12, "stated too little");
            let none = BigUint::default();
            let mut worst = 0.0_f64;
            for (release, p_weight) in &p.weights {
                let q_weight = q.weights.get(release).unwrap_or(&none);
                let (more, less) = (p_weight * &q.total, q_weight * &p.total);
                if &more * &bound.1 > &less * &bound.0 && found.broken.is_none() {
                    found.broken = Some((a.texts.clone(), b.texts.clone()));
                }
                worst = worst.max(ln_ratio(&more, &less));
            }
            if j == 1 {
                found.worst = found.worst.max(worst);
                if protected {
                    found.worst_protected = found.worst_protected.max(worst);
                }
            }
        }
    }
    found
}

/// ln(a/b) for numbers of any size, to float precision.
pub(crate) fn ln_ratio(a: &BigUint, b: &BigUint) -> f64 {
    let ln = |x: &BigUint| {
        let shift = x.bits().saturating_sub(64);
        let top: u64 = (x >> shift).try_into().unwrap();
        (top as f64).ln() + shift as f64 * std::f64::consts::LN_2
    };
    if b.bits() == 0 { f64::INFINITY } else { ln(a) - ln(b) }
}
