//! A mechanism on tokens at one ε, with the tokenizer that cuts texts for it.

use std::sync::Arc;

use cape::mechanism::cape_paper::{self, CapePaper};
use cape::mechanism::{Baseline, Mechanism};
use cape::tokens::{KeepList, Tokenizer};
use cape::{About, Epsilon, Guarantee, Sanitizer};

use crate::baselines::{BaselineKind, PreparedBaseline};
use crate::checksum::short;
use crate::device::Device;
use crate::error::Result;

/// The paper's mechanism, or one that it is compared with.
pub struct OnTokens {
    /// The tokenizer.
    pub tokenizer: Arc<Tokenizer>,
    /// The tokens that are kept.
    pub keep: KeepList,
    /// Which mechanism it is.
    pub chosen: Chosen,
    /// The user's own list of words to keep.
    listed: Vec<String>,
}

/// One of these mechanisms.
pub enum Chosen {
    /// The paper's, on a device model.
    CapePaper(CapePaper, Device),
    /// A baseline, which one, and where its words come from.
    Baseline(Baseline, BaselineKind, String),
}

impl OnTokens {
    /// ε unless told otherwise: the paper's usual.
    pub const EPSILON: f64 = 6.0;

    /// The paper's mechanism.
    pub fn paper(device: Device, settings: cape_paper::Settings) -> cape::Result<Self> {
        let cape = CapePaper::new(Arc::clone(&device.model), settings)?;
        let (tokenizer, keep) = (Arc::clone(&device.tokenizer), KeepList::default());
        Ok(Self { tokenizer, keep, chosen: Chosen::CapePaper(cape, device), listed: Vec::new() })
    }

    /// A baseline.
    pub fn baseline(prepared: PreparedBaseline, epsilon: Epsilon) -> Result<Self> {
        let baseline = prepared.mechanism(epsilon)?;
        let PreparedBaseline { kind, tokenizer, keep, about, .. } = prepared;
        let chosen = Chosen::Baseline(baseline, kind, about);
        Ok(Self { tokenizer, keep, chosen, listed: Vec::new() })
    }

    /// The same with the user's own words and phrases kept.
    pub fn keeping(mut self, listed: Vec<String>) -> cape::Result<Self> {
        self.tokenizer.keep(&listed.join("\n"), &mut self.keep)?;
        self.listed = listed;
        Ok(self)
    }

    /// What perturbs texts by it.
    #[must_use]
    pub fn into_sanitizer(self) -> Sanitizer {
        let name = self.name();
        let listed = self.listed.join("\u{1f}");
        let epsilon = self.guarantee().nominal.get();
        let (mechanism, words, what): (Box<dyn Mechanism>, _, _) = match self.chosen {
            Chosen::CapePaper(cape, device) => {
                let cape_paper::Settings { context, utility, bucket_count, .. } = *cape.settings();
                let (l, d, model) =
                    (utility.context_weight(), utility.distance_weight(), device.checksum());
                let what = format!(
                    "context={} lambda-l={l} lambda-d={d} buckets={bucket_count} model={}",
                    context.as_str(),
                    short(&model),
                );
                (Box::new(cape), None, what)
            }
            Chosen::Baseline(baseline, _, about) => {
                (Box::new(baseline), Some(about.clone()), about)
            }
        };
        let fingerprint = format!("{name} epsilon={epsilon} {what} keep={listed}");
        let about = About { mechanism: name, words, fingerprint };
        Sanitizer::tokens(self.tokenizer, self.keep, mechanism, about)
    }

    /// Its privacy statement.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        match &self.chosen {
            Chosen::CapePaper(cape, _) => cape.guarantee(),
            Chosen::Baseline(baseline, ..) => baseline.guarantee(),
        }
    }

    /// The mechanism's name, as users write it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.chosen {
            Chosen::CapePaper(..) => "cape-paper",
            Chosen::Baseline(_, kind, _) => kind.name(),
        }
    }
}
