//! Extras of a report: where tokens go, and the effect of one setting.

use std::path::Path;

use cape_eval::Method;
use cape_eval::grid::Grid;
use cape_eval::portrait;
use cape_eval::report::{Ablation, Extras};
use cape_eval::summary::summarise;

use super::conduct::conduct;
use super::subjects::{self, BUCKETS, LAMBDA_L, Model};
use crate::failure::Done;

/// How many tokens InferDPT is asked about: averaging over its radii takes its time.
const INFERDPT_TOKENS: usize = 4;

/// Where the first tokens of the data go, at some ε, and what the paper's example looks like to the model.
pub(super) fn portraits(
    grid: &Grid<'_>,
    model: &Model,
    epsilons: &[f64],
    tokens: usize,
) -> Done<Extras> {
    let mut mapping = Vec::new();
    for subject in grid.methods.iter().filter(|subject| !subject.is_reference()) {
        let tokens = if subject.name == "inferdpt" { INFERDPT_TOKENS } else { tokens };
        for &epsilon in epsilons {
            // an ε that was refused is said elsewhere
            mapping.extend(portrait::mapping(subject, grid.data, epsilon, tokens).ok());
        }
    }
    let form = subjects::form()?;
    Ok(Extras {
        mapping,
        book: portrait::book(&model.device, form)?,
        tails: portrait::tails(&model.device, form, middle(grid.epsilons))?,
        ..Extras::default()
    })
}

/// The ε in the middle.
pub(super) fn middle(epsilons: &[f64]) -> f64 {
    epsilons[epsilons.len() / 2]
}

/// The paper's form with one setting changed.
pub(super) struct Ablations {
    changed: Vec<(&'static str, f64)>,
    pub(super) subjects: Vec<Method>,
}

impl Ablations {
    /// These values of λ_L, and of N_b.
    pub(super) fn new(model: &Model, lambdas: &[f64], counts: &[u32]) -> Done<Self> {
        let (mut changed, mut subjects) = (Vec::new(), Vec::new());
        let mut add = |name: &'static str, value: f64, count: usize, lambda_l: f64| {
            let mut subject =
                subjects::papers(&format!("{name} = {value}"), model, count, lambda_l, 0)?;
            changed.push((name, value));
            subject.bayes = None;
            subjects.push(subject);
            Done::Ok(())
        };
        for &lambda_l in lambdas {
            add("λ_L", lambda_l, BUCKETS, lambda_l)?;
        }
        for &count in counts {
            add("N_b", f64::from(count), count as usize, LAMBDA_L)?;
        }
        Ok(Self { changed, subjects })
    }

    /// Runs them in the place of this grid's mechanisms; the points are of `mechanism`.
    pub(super) fn run(&self, grid: &Grid<'_>, path: &Path, mechanism: &str) -> Done<Vec<Ablation>> {
        let grid = Grid { methods: &self.subjects, ..*grid };
        let (records, _) = conduct(&grid, path, "releases with one setting changed")?;
        let mut all = Vec::new();
        for mut point in summarise(&records) {
            let own = self.subjects.iter().position(|subject| subject.name == point.mechanism);
            let Some((name, value)) = own.map(|at| self.changed[at]) else { continue };
            mechanism.clone_into(&mut point.mechanism);
            all.push(Ablation { name: name.to_owned(), value, point });
        }
        Ok(all)
    }
}
