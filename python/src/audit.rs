//! `cape_dp.audit`: does the stated guarantee hold?

use cape::audit::keys::{KeyAudit, KeyExtremes};
use cape::audit::sample::{self, Claim, Draws, Run, WordDistribution};
use cape::audit::texts::{Different, compare};
use cape::audit::{Extreme, Findings};
use cape::lexicon::Listed;
use cape::sample::Share;
use cape::{Kind, Level, Sanitizer, Secret};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::engine::Cape;
use crate::errors;
use crate::record::record;
use crate::threads::compute;

/// How many words that cannot be drawn are tried beside all that can.
const UNLISTED: usize = 2000;

record! {
    /// The two words that one release tells apart best.
    WorstPair {
        /// The loss that is stated.
        stated: f64,
        /// The exact loss: the logarithm of the largest quotient of two probabilities of the same release.
        loss: f64,
        /// That release.
        released: String,
        /// The word for which it is most probable.
        most: String,
        /// The word for which it is least probable.
        least: String,
    }
}

impl WorstPair {
    fn shown(&self) -> String {
        format!("WorstPair(stated={}, loss={})", self.stated, self.loss)
    }
}

record! {
    /// The exact loss of one draw.
    ExactAudit {
        /// How many words were tried in the place of the one.
        inputs: usize,
        /// How many of them are ordinary there.
        ordinary: usize,
        /// How many words can be drawn.
        outputs: usize,
        /// The worst of any two words.
        any: Option<WorstPair>,
        /// The worst of any two protected words.
        protected: Option<WorstPair>,
        /// Whether no loss is larger than what is stated.
        holds: bool,
    }
}

impl ExactAudit {
    fn shown(&self) -> String {
        format!(
            "ExactAudit(inputs={}, outputs={}, holds={})",
            self.inputs, self.outputs, self.holds
        )
    }
}

/// The exact loss of the draw of one word: every listed word and 2,000 others, or a sample of them, in its place.
#[pyfunction]
#[pyo3(signature = (cape, text, word, *, sample=None))]
pub(crate) fn exact(
    py: Python<'_>,
    cape: &Bound<'_, Cape>,
    text: &str,
    word: usize,
    sample: Option<usize>,
) -> PyResult<ExactAudit> {
    let cape = cape.get().cape();
    let plan = cape.plan(text).map_err(|error| errors::cape(&error))?;
    let place = plan.places.get(word).ok_or_else(|| {
        errors::no_word(format!("the text has {} words, counted from 0", plan.places.len()))
    })?;
    if place.key.is_none() || place.unit.kind != Kind::Word {
        return Err(errors::setting("only words that are drawn for can be audited like this"));
    }
    let own = place.unit.of(text);
    compute(py, || {
        let all: Vec<&str> = KeyAudit::of_lexicon(cape.lexicon(), UNLISTED).collect();
        let count = sample.unwrap_or(all.len()).min(all.len());
        let tried = (0..count).map(|i| all[i * all.len() / count]).chain([own]);
        let keys = KeyAudit::new(cape, tried, place.unit.first);
        let exact = (0..keys.inputs().len() as u32)
            .into_par_iter()
            .fold(|| keys.start(), |exact, input| keys.add(exact, input))
            .reduce(|| keys.start(), KeyExtremes::merge);
        exact_audit(cape, &keys, &exact)
    })
}

fn exact_audit(cape: &cape::Cape, keys: &KeyAudit<'_>, exact: &KeyExtremes) -> ExactAudit {
    let guarantee = cape.guarantee_for(&[Kind::Word]);
    let input = |Extreme { input, .. }: Extreme<Share>| keys.inputs()[input as usize].word.clone();
    let worst = |findings: Findings<Share>, stated: f64| WorstPair {
        stated,
        loss: findings.loss(),
        released: cape.lexicon().word(Listed(findings.output as u32)).to_owned(),
        most: input(findings.span.most),
        least: input(findings.span.least),
    };
    let any = exact.any().map(|findings| worst(findings, guarantee.bound));
    let protected = exact.protected().map(|findings| worst(findings, guarantee.protected));
    let ordinary = keys.inputs().iter().filter(|input| input.key.level == Level::Ordinary);
    ExactAudit {
        inputs: keys.inputs().len(),
        ordinary: ordinary.count(),
        outputs: cape.lexicon().len(),
        holds: any.iter().chain(&protected).all(|pair| pair.loss <= pair.stated),
        any,
        protected,
    }
}

record! {
    /// What one draw of two texts gives away.
    DrawLoss {
        /// The numbers of the words that are written from it.
        words: Vec<usize>,
        /// Whether it is for another word in the other text.
        changed: bool,
        /// The exact loss between the two.
        loss: f64,
        /// The largest loss between any two words of these levels.
        stated: f64,
    }
}

impl DrawLoss {
    fn shown(&self) -> String {
        format!("DrawLoss(changed={}, loss={}, stated={})", self.changed, self.loss, self.stated)
    }
}

/// What each draw of two texts of equal structure gives away: exactly.
#[pyfunction]
pub(crate) fn context(
    py: Python<'_>,
    cape: &Bound<'_, Cape>,
    text: &str,
    other: &str,
) -> PyResult<Vec<DrawLoss>> {
    let cape = cape.get().cape();
    let draws = py.detach(|| compare(cape, text, other)).map_err(different)?;
    let draw = |draw: &cape::audit::texts::Draw| DrawLoss {
        words: draw.units.iter().map(|unit| unit - 1).collect(),
        changed: draw.differs(),
        loss: draw.loss.worst(),
        stated: draw.most,
    };
    Ok(draws.iter().map(draw).collect())
}

fn different(why: Different) -> PyErr {
    match why {
        Different::Text(error) => errors::cape(&error),
        why => errors::setting(why.to_string()),
    }
}

record! {
    /// What was seen in many releases of two texts.
    SampleAudit {
        /// How many releases of each text there were.
        draws: u64,
        /// The loss that is stated for these two texts.
        claimed: f64,
        /// The loss is at least this, with the confidence that was asked for.
        epsilon: f64,
        /// The smallest true loss that would likely be found; None if nothing could be.
        visible: Option<f64>,
        /// Whether releases depend on each other.
        dependent: bool,
        /// Whether a word does not follow its law.
        departed: bool,
        /// Whether the statement was found wanting.
        refuted: bool,
    }
}

impl SampleAudit {
    fn shown(&self) -> String {
        format!(
            "SampleAudit(draws={}, claimed={}, epsilon={:.4}, refuted={})",
            self.draws, self.claimed, self.epsilon, self.refuted
        )
    }
}

/// Tests the statement on many releases of two texts, seen from outside. Finding nothing is no proof.
#[pyfunction]
#[pyo3(name = "sample", signature = (cape, text, other, *, draws=10_000, confidence=0.999))]
pub(crate) fn sampled(
    py: Python<'_>,
    cape: &Bound<'_, Cape>,
    text: &str,
    other: &str,
    draws: usize,
    confidence: f64,
) -> PyResult<SampleAudit> {
    if !(confidence > 0.0 && confidence < 1.0) || draws < 4 {
        return Err(errors::setting(
            "a confidence lies between 0 and 1, and it takes 4 draws or more",
        ));
    }
    let sanitizer = &cape.get().sanitizer;
    let cape = cape.get().cape();
    let compared = compare(cape, text, other).map_err(different)?;
    if !compared.iter().any(cape::audit::texts::Draw::differs) {
        return Err(errors::setting("the texts are the same"));
    }
    let found = compute(py, || -> cape::Result<SampleAudit> {
        let claimed = compared.iter().map(|draw| draw.most).sum();
        let laws =
            (WordDistribution::of_text(cape, text)?, WordDistribution::of_text(cape, other)?);
        let distributions = match laws {
            (Some(one), Some(other)) => Some([one, other]),
            _ => None,
        };
        let claim = Claim { epsilon: claimed, distributions };
        let length = draws.div_ceil(2);
        let runs = [run(sanitizer, [text, other], length)?, run(sanitizer, [text, other], length)?];
        let found = sample::audit(&Draws { runs }, &claim, confidence);
        Ok(SampleAudit {
            draws: found.draws,
            claimed,
            epsilon: found.epsilon,
            visible: found.power.visible,
            dependent: found.dependence.is_some(),
            departed: found.departure.is_some(),
            refuted: found.refutes(&claim),
        })
    })?;
    found.map_err(|error| errors::cape(&error))
}

/// Releases of the one text and of the other in turn, each with a map of its own.
fn run(sanitizer: &Sanitizer, texts: [&str; 2], length: usize) -> cape::Result<Run> {
    let release = |i: usize| Ok(sanitizer.release(texts[i % 2], &Secret::fresh()?)?.text);
    let all: Vec<String> =
        (0..2 * length).into_par_iter().map(release).collect::<cape::Result<_>>()?;
    let mut run = Run::default();
    for (i, release) in all.into_iter().enumerate() {
        run.of[i % 2].push(release);
    }
    Ok(run)
}
