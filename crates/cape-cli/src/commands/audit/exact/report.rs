//! The findings of `cape audit exact` on tokens, for people and machines.

use std::fmt;

use cape::audit::{Findings, baseline};
use cape_models::{Chosen, OnTokens};
use serde::Serialize;

use super::super::up;

/// The findings, whichever the mechanism.
#[derive(Serialize)]
pub(super) struct Found {
    /// How many tokens could stand there, and how many of them were tried.
    pub(super) inputs: usize,
    pub(super) inputs_tried: usize,
    pub(super) outputs: usize,
    /// The largest loss between any two of them; at least this, where it is known between bounds only.
    pub(super) loss: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) loss_at_most: Option<f64>,
    pub(super) pair: Pair,
    pub(super) per_output: PerOutput,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) paper: Option<Paper>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metric: Option<Metric>,
    /// Pairs that the promise does not cover.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outside: Option<&'static str>,
    /// Whether it covers the prompt's own token.
    pub(super) own_covered: bool,
}

/// The output with the largest loss, and the two inputs that it is between.
#[derive(Serialize)]
pub(super) struct Pair {
    pub(super) output: String,
    pub(super) likely: Side,
    pub(super) unlikely: Side,
}

/// One of two inputs: how probable the output is for it.
#[derive(Serialize)]
pub(super) struct Side {
    pub(super) input: String,
    pub(super) probability: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bucket_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weight: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_weight: Option<String>,
}

#[derive(Serialize)]
pub(super) struct PerOutput {
    median: f64,
    p90: f64,
    max: f64,
}

impl PerOutput {
    pub(super) fn of<S>(found: &Findings<S>) -> Self {
        Self { median: found.quantile(0.5), p90: found.quantile(0.9), max: found.loss() }
    }
}

/// The paper's formula on the same rows.
#[derive(Serialize)]
pub(super) struct Paper {
    pub(super) epsilon_prime: f64,
    pub(super) epsilon: f64,
    pub(super) fewest_buckets: usize,
    pub(super) most_buckets: usize,
    pub(super) exceeded: bool,
}

/// SANTEXT's promise by distance, between the prompt's word and all others.
#[derive(Serialize)]
pub(super) struct Metric {
    pairs: usize,
    epsilon_per_distance: f64,
    holds: bool,
}

impl Metric {
    pub(super) fn of(metric: baseline::Metric) -> Self {
        let baseline::Metric { pairs, epsilon, excess } = metric;
        Self { pairs, epsilon_per_distance: epsilon, holds: excess <= 0.0 }
    }
}

#[derive(Serialize)]
pub(super) struct TokenAudit {
    mechanism: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<String>,
    token: usize,
    epsilon_nominal: f64,
    /// Null where nothing is stated.
    epsilon_stated: f64,
    notion: String,
    evidence: String,
    #[serde(flatten)]
    found: Found,
    /// Null where nothing is stated.
    holds: Option<bool>,
}

/// Whether what was found is within what is stated; none where nothing is.
fn holds(found: &Found, stated: f64) -> Option<bool> {
    let by_distance = found.metric.as_ref().is_none_or(|metric| metric.holds);
    stated.is_finite().then_some(found.loss <= stated && by_distance)
}

impl TokenAudit {
    pub(super) fn new(token: usize, ready: &OnTokens, found: Found) -> Self {
        let guarantee = ready.guarantee();
        let (context, words) = match &ready.chosen {
            Chosen::CapePaper(cape, _) => (Some(cape.settings().context.as_str()), None),
            Chosen::Baseline(.., about) => (None, Some(about.clone())),
        };
        Self {
            mechanism: ready.name(),
            context,
            words,
            token,
            epsilon_nominal: guarantee.nominal.get(),
            epsilon_stated: guarantee.bound,
            notion: guarantee.notion.to_string(),
            evidence: guarantee.evidence.to_string(),
            holds: holds(&found, guarantee.bound),
            found,
        }
    }

    /// The statement that does not hold, if any.
    pub(super) fn wanting(&self) -> Option<String> {
        let (loss, stated) = (self.found.loss, self.epsilon_stated);
        (self.holds == Some(false)).then(|| {
            if loss > stated {
                format!("the loss is {}, and {} is stated", up(loss), up(stated))
            } else {
                "a loss is larger than ε times the distance".into()
            }
        })
    }
}

/// The report as a person reads it.
impl fmt::Display for TokenAudit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found { inputs, inputs_tried, outputs, loss, pair, per_output, .. } = &self.found;
        let form = match self.context {
            Some(context) => format!("{}, {context} context", self.mechanism),
            None => self.mechanism.to_owned(),
        };
        let epsilon = self.epsilon_nominal;
        writeln!(f, "token {}: {form}, ε = {epsilon}, {outputs} outputs", self.token)?;
        let all = inputs_tried == inputs;
        let tried =
            if all { format!("all {inputs}") } else { format!("{inputs_tried} of {inputs}") };
        let other = match self.mechanism {
            "custext" | "custext+" => "every other of its list",
            _ => "every other",
        };
        writeln!(f, "compared: {tried} tokens that could stand there, each with {other}\n")?;
        let mut line = |name: &str, loss: f64, remark: &str| {
            writeln!(f, "{}", format!("{name:18} {:>11}  {remark}", up(loss)).trim_end())
        };
        let promise = match self.holds {
            Some(_) => format!("{}: {}", self.evidence, self.notion),
            None => "nothing is promised".into(),
        };
        line("stated", self.epsilon_stated, &promise)?;
        let verdict = match self.holds {
            Some(true) if all => "it holds",
            Some(true) => "not exceeded",
            Some(false) => "IT DOES NOT HOLD",
            None => "",
        };
        let exact = all && self.found.loss_at_most.is_none();
        line(if exact { "exact loss" } else { "loss, at least" }, *loss, verdict)?;
        if let Some(most) = self.found.loss_at_most {
            line("loss, at most", most, "by its radius' law, a numerical one")?;
        }
        if let Some(paper) = &self.found.paper {
            let exceeded = if paper.exceeded { "EXCEEDED" } else { "not exceeded here" };
            let Paper { fewest_buckets: few, most_buckets: many, .. } = paper;
            let remark = format!("{exceeded}; rows have {few} to {many} buckets");
            line("the paper's ε + ε′", paper.epsilon, &remark)?;
        }
        if let Some(metric) = &self.found.metric {
            let remark = format!("between this word and {} others", metric.pairs);
            line("per distance", metric.epsilon_per_distance, &remark)?;
        }
        line("median output", per_output.median, &format!("nine of ten: {}", up(per_output.p90)))?;
        if let Some(outside) = self.found.outside {
            writeln!(f, "not spoken of: {outside}")?;
        }
        if !self.found.own_covered {
            writeln!(f, "NOT COVERED: the prompt's own token is none of them; its loss is ∞")?;
        }
        if self.context == Some("raw") {
            writeln!(
                f,
                "one draw of many: in the raw context a changed token changes all of them (cape audit context)"
            )?;
        }
        writeln!(f, "\nthe worst output is {}", pair.output)?;
        for (side, which) in [(&pair.likely, "most"), (&pair.unlikely, "least")] {
            write!(f, "{which:>7} probable where {} stood: ", side.input)?;
            match (&side.weight, &side.total_weight) {
                (Some(weight), Some(total)) => write!(f, "{weight} of {total}")?,
                _ => write!(f, "{:.3e}", side.probability)?,
            }
            match side.bucket_size {
                Some(size) => writeln!(f, ", in a bucket of {size}")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(loss: f64, stated: f64, metric: Option<bool>) -> TokenAudit {
        let side = || Side {
            input: "a".into(),
            probability: 0.5,
            bucket_size: None,
            weight: None,
            total_weight: None,
        };
        let found = Found {
            inputs: 2,
            inputs_tried: 2,
            outputs: 2,
            loss,
            loss_at_most: None,
            pair: Pair { output: "a".into(), likely: side(), unlikely: side() },
            per_output: PerOutput { median: loss, p90: loss, max: loss },
            paper: None,
            metric: metric.map(|holds| Metric { pairs: 1, epsilon_per_distance: 1.0, holds }),
            outside: None,
            own_covered: true,
        };
        TokenAudit {
            mechanism: "santext",
            context: None,
            words: None,
            token: 1,
            epsilon_nominal: 1.0,
            epsilon_stated: stated,
            notion: "metric LDP".into(),
            evidence: "proof".into(),
            holds: holds(&found, stated),
            found,
        }
    }

    #[test]
    fn what_exceeds_its_statement_is_found_wanting() {
        assert_eq!(report(1.0, 1.0, None).wanting(), None);
        assert_eq!(report(1.0, 1.0, Some(true)).wanting(), None);
        let above = report(1.2, 1.0, None);
        assert!(above.wanting().is_some_and(|what| what.contains("1.200000")));
        assert!(above.to_string().contains("IT DOES NOT HOLD"));
        assert!(report(0.5, 1.0, Some(false)).wanting().is_some());
        // where nothing is stated, nothing can be wanting
        assert_eq!(report(9.0, f64::INFINITY, None).wanting(), None);
    }
}
