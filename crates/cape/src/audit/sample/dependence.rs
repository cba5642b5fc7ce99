//! Whether releases depend on each other: the same random numbers used twice.
//!
//! Two pairs of releases, (a, b) and (a′, b′), are as good as (a, b′) and (a′, b) if all four were
//! drawn independently. So it is a fair coin whether more of the first two or of the last two are
//! *alike*, whatever alike means: here that they are equal, or were a pair in the part of the
//! releases that is looked at first.

use std::collections::HashSet;

use super::binomial::sign_test;
use super::columns::{Column, Columns, Place};

/// Which releases were put side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// One of the prompt and one of the other, drawn one after the other.
    Prompts,
    /// Two of the same prompt, drawn one after the other.
    Repetitions,
    /// Two of the same prompt, in the same place of two runs.
    Runs,
    /// Two of the same prompt in one run, against two of different runs.
    WithinRuns,
}

/// Releases that depend on each other.
pub struct Dependence {
    /// Which ones.
    pub pairing: Pairing,
    /// Where it shows.
    pub place: Place,
    /// How often pairs as they were drawn were alike, when they were not so crossed.
    pub straight: u64,
    /// How often crossed pairs were.
    pub crossed: u64,
    /// The probability of this or more, times the number of tests.
    pub p: f64,
}

/// The clearest dependence, if there is one at the level `alpha`; and how many tests there were.
pub(super) fn test(columns: &Columns<'_>, alpha: f64) -> (Option<Dependence>, usize) {
    let counted: Vec<(Place, Pairing, u64, u64)> = columns
        .columns
        .iter()
        .flat_map(|column| {
            pairs(column)
                .into_iter()
                .map(|(pairing, straight, crossed)| (column.place, pairing, straight, crossed))
        })
        .collect();
    let tests = counted.len();
    let found = counted.into_iter().map(|(place, pairing, straight, crossed)| {
        let p = sign_test(straight, straight + crossed) * tests as f64;
        Dependence { pairing, place, straight, crossed, p }
    });
    let clearest = found.min_by(|a, b| a.p.total_cmp(&b.p));
    (clearest.filter(|found| found.p <= alpha), tests)
}

/// Every pairing at one place, with how often straight and crossed pairs were alike.
fn pairs(column: &Column<'_>) -> Vec<(Pairing, u64, u64)> {
    let [first, second] = &column.codes;
    let prompts = |[one, other]: &[Vec<u32>; 2]| zip(one, other);
    let mut all = vec![(Pairing::Prompts, crossing(&[prompts(first), prompts(second)]))];
    for prompt in 0..2 {
        let (first, second) = (&first[prompt], &second[prompt]);
        let after = [first, second].map(|codes| -> Vec<(u32, u32)> {
            codes.as_chunks().0.iter().map(|&[a, b]| (a, b)).collect()
        });
        all.push((Pairing::Repetitions, crossing(&after)));
        all.push((Pairing::Runs, crossing(&[zip(first, second)])));
        all.push((Pairing::WithinRuns, within(&after)));
    }
    all.into_iter().map(|(pairing, (straight, crossed))| (pairing, straight, crossed)).collect()
}

fn zip(one: &[u32], other: &[u32]) -> Vec<(u32, u32)> {
    one.iter().copied().zip(other.iter().copied()).collect()
}

/// Of two pairs at a time: how often straight ones were alike more than crossed ones, and less. The
/// first half of each list says which pairs are alike, the second half is counted.
fn crossing(lists: &[Vec<(u32, u32)>]) -> (u64, u64) {
    let halves = || lists.iter().map(|list| list.split_at(list.len() / 2));
    let seen: HashSet<(u32, u32)> = halves().flat_map(|(early, _)| early).copied().collect();
    let alike = |a, b| u8::from(a == b || seen.contains(&(a, b)));
    let late = halves().flat_map(|(_, late)| late.as_chunks().0);
    more(late.map(|&[(a, b), (c, d)]| (alike(a, b) + alike(c, d), alike(a, d) + alike(c, b))))
}

/// Two releases of the one run and two of the other: equal within a run, or between them.
fn within([first, second]: &[Vec<(u32, u32)>; 2]) -> (u64, u64) {
    more(first.iter().zip(second).map(|(&(a, b), &(c, d))| {
        (u8::from(a == b) + u8::from(c == d), u8::from(a == c) + u8::from(b == d))
    }))
}

fn more(pairs: impl Iterator<Item = (u8, u8)>) -> (u64, u64) {
    pairs.fold((0, 0), |(straight, crossed), (s, c)| {
        (straight + u64::from(s > c), crossed + u64::from(c > s))
    })
}
