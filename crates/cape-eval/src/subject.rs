//! A mechanism to be evaluated, at any ε.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use cape::attack::bayes::Bayes;
use cape::attack::knn::{Knn, Space};
use cape::attack::words::WordBayes;
use cape::keep::KeepList;
use cape::mechanism::cape::{Buckets, Cape, Settings};
use cape::mechanism::{Baseline, Mechanism};
use cape::privacy::{Epsilon, Evidence, Guarantee, Notion, Reach};
use cape::rng::CryptoRng;
use cape::text::{Kinds, Outcome, Piece, Token, Tokens, Why};
use cape::tokenizer::Tokenizer;
use cape::vocab::Candidates;
use cape_models::Device;
use cape_models::baselines::Prepared;
use serde_json::{Value, json};

use crate::Result;

/// What sends prompts as they are is called.
pub const NON_PRIVATE: &str = "non-private";

/// What sends nothing, and has the local chat model do it all, is called.
pub const LOCAL_ALONE: &str = "local model alone";

/// Whether a name is of something to compare with and not of a mechanism: ε changes nothing there.
#[must_use]
pub fn is_reference(name: &str) -> bool {
    [NON_PRIVATE, LOCAL_ALONE].contains(&name)
}

/// A mechanism without its ε.
pub struct Subject {
    /// What it is called in tables and charts.
    pub name: String,
    /// What its numbers come from: a model or vectors, by a name that changes with them.
    pub model: String,
    /// Its settings, for the record.
    pub settings: BTreeMap<String, Value>,
    /// The nearest tokens of each.
    pub knn: Knn,
    /// The attack of who knows the mechanism, where the attacker has its vocabulary.
    pub bayes: Option<Bayes>,
    form: Form,
}

enum Form {
    Cape(Device, Settings),
    Words(Box<Words>),
    Nothing(Device),
    Alone(Device),
}

/// A baseline without its ε.
struct Words {
    prepared: Prepared,
    /// How many words the Bayes attack looks at for a position.
    most: usize,
    /// Where each word stands among those that an attacker has logits for.
    entries: OnceLock<Vec<Option<usize>>>,
}

/// A mechanism at one ε.
pub enum At {
    /// Ours.
    Cape(Box<Cape>),
    /// What it is compared with, and the Bayes attack on it.
    Baseline(Box<Baseline>, WordBayes),
    /// The prompt as it is.
    Nothing(Nothing),
    /// Nothing of the prompt.
    Alone(Alone),
}

/// Nothing is sent: what the local chat model can do without the service.
pub struct Alone(Epsilon);

impl Mechanism for Alone {
    fn guarantee(&self) -> Guarantee {
        Guarantee {
            nominal: self.0,
            bound: 0.0,
            most_kept: Kinds { start: 0.0, continuation: 0.0 },
            notion: Notion::Ldp,
            evidence: Evidence::Proof,
            reach: Reach::OwnDraw,
        }
    }

    fn perturb(&self, tokens: &Tokens, _: &mut dyn CryptoRng) -> cape::Result<Vec<Outcome>> {
        Ok(vec![Outcome::Dropped; tokens.as_slice().len()])
    }
}

/// No mechanism: the prompt is sent as it is, to see what it is worth then.
pub struct Nothing(Epsilon);

impl Mechanism for Nothing {
    fn guarantee(&self) -> Guarantee {
        Guarantee {
            nominal: self.0,
            bound: f64::INFINITY,
            most_kept: Kinds { start: 1.0, continuation: 1.0 },
            notion: Notion::None,
            evidence: Evidence::None,
            reach: Reach::OwnDraw,
        }
    }

    fn perturb(&self, tokens: &Tokens, _: &mut dyn CryptoRng) -> cape::Result<Vec<Outcome>> {
        let kept = |token: &Token| Outcome::Kept(token.kept.unwrap_or(Why::Listed));
        Ok(tokens.as_slice().iter().map(kept).collect())
    }
}

/// The largest k of the nearest-neighbour attack.
const NEAREST: usize = 10;

impl Subject {
    /// Cape in some form; the ε of these settings does not matter. The Bayes attack, if it is wanted,
    /// looks at so many tokens for a position.
    #[must_use]
    pub fn cape(
        name: &str,
        model: &str,
        device: &Device,
        settings: Settings,
        bayes: Option<usize>,
    ) -> Self {
        let mut all = BTreeMap::from([
            ("buckets".to_owned(), json!(settings.buckets.as_str())),
            ("context".to_owned(), json!(settings.context.as_str())),
            ("candidates".to_owned(), json!(format!("{:?}", settings.candidates).to_lowercase())),
            ("utility".to_owned(), json!(settings.utility.form().as_str())),
            ("distance".to_owned(), json!(settings.utility.distance().as_str())),
            ("lambda_l".to_owned(), json!(settings.utility.l())),
            ("lambda_d".to_owned(), json!(settings.utility.d())),
            ("arithmetic".to_owned(), json!(device.arithmetic.name())),
            ("logits_from".to_owned(), json!(device.model.calibration().lo())),
            ("logits_to".to_owned(), json!(device.model.calibration().hi())),
        ]);
        match settings.buckets {
            Buckets::Ranked { alpha } => all.insert("alpha".to_owned(), json!(alpha)),
            Buckets::EqualWidth { count } => all.insert("bucket_count".to_owned(), json!(count)),
        };
        Self {
            name: name.to_owned(),
            model: model.to_owned(),
            settings: all,
            knn: Knn::new(Space::Model(Arc::clone(&device.model)), NEAREST),
            bayes: bayes.map(|most| Bayes::new(Arc::clone(&device.model), most)),
            form: Form::Cape(device.clone(), settings),
        }
    }

    /// A baseline. The Bayes attack looks at so many words for a position.
    #[must_use]
    pub fn baseline(model: &str, prepared: Prepared, most: usize) -> Self {
        Self {
            name: prepared.kind().name().to_owned(),
            model: model.to_owned(),
            settings: BTreeMap::from([("words".to_owned(), json!(prepared.about))]),
            knn: Knn::new(Space::Words(Arc::clone(prepared.words())), NEAREST),
            bayes: None,
            form: Form::Words(Box::new(Words { prepared, most, entries: OnceLock::new() })),
        }
    }

    /// The prompts as they are.
    #[must_use]
    pub fn nothing(model: &str, device: &Device) -> Self {
        Self {
            name: NON_PRIVATE.to_owned(),
            model: model.to_owned(),
            settings: BTreeMap::new(),
            knn: Knn::new(Space::Model(Arc::clone(&device.model)), NEAREST),
            bayes: None,
            form: Form::Nothing(device.clone()),
        }
    }

    /// The local chat model without the service; prompts are counted in the pieces of this model.
    #[must_use]
    pub fn alone(model: &str, device: &Device) -> Self {
        Self {
            name: LOCAL_ALONE.to_owned(),
            form: Form::Alone(device.clone()),
            ..Self::nothing(model, device)
        }
    }

    /// Whether it is something to compare with and no mechanism.
    #[must_use]
    pub fn is_reference(&self) -> bool {
        is_reference(&self.name)
    }

    /// Its tokenizer.
    #[must_use]
    pub fn tokenizer(&self) -> &Tokenizer {
        match &self.form {
            Form::Cape(device, _) | Form::Nothing(device) | Form::Alone(device) => {
                &device.tokenizer
            }
            Form::Words(words) => &words.prepared.tokenizer,
        }
    }

    /// What it keeps.
    #[must_use]
    pub fn keep(&self) -> KeepList {
        match &self.form {
            Form::Cape(..) | Form::Nothing(_) | Form::Alone(_) => KeepList::default(),
            Form::Words(words) => words.prepared.keep.clone(),
        }
    }

    /// What an attacker expects at a place, word by word of a baseline, from its logits of all entries
    /// that begin a word. Words that it has no entry for are as improbable as the last of those that it
    /// has. Nothing for other mechanisms.
    #[must_use]
    pub(crate) fn prior(&self, attacker: &Device, row: &[f32]) -> Vec<f32> {
        let Form::Words(words) = &self.form else { return Vec::new() };
        let entries = words.entries.get_or_init(|| {
            let (vocab, own) = (attacker.model.vocab(), words.prepared.tokenizer.vocab());
            let entries = vocab.candidates(Piece::Start, Candidates::Typed);
            let entry = |&t| {
                let entry = vocab.piece_id(&own.surface(t).to_lowercase(), Piece::Start)?;
                entries.binary_search(&entry).ok()
            };
            words.prepared.words().ids().iter().map(entry).collect()
        });
        let least = row.iter().copied().fold(f32::INFINITY, f32::min);
        entries.iter().map(|entry| entry.map_or(least, |at| row[at])).collect()
    }

    /// The device model that it perturbs with, if any.
    #[must_use]
    pub fn device(&self) -> Option<&Device> {
        match &self.form {
            Form::Cape(device, _) | Form::Nothing(device) | Form::Alone(device) => Some(device),
            Form::Words(_) => None,
        }
    }

    /// The mechanism at this ε.
    pub fn at(&self, epsilon: f64) -> Result<At> {
        let epsilon = Epsilon::new(epsilon)?;
        Ok(match &self.form {
            Form::Cape(device, settings) => {
                let settings = Settings { epsilon, ..*settings };
                At::Cape(Box::new(Cape::new(Arc::clone(&device.model), settings)?))
            }
            Form::Words(words) => {
                let attack = WordBayes::new(words.prepared.words().len(), words.most);
                At::Baseline(Box::new(words.prepared.mechanism(epsilon)?), attack)
            }
            Form::Nothing(_) => At::Nothing(Nothing(epsilon)),
            Form::Alone(_) => At::Alone(Alone(epsilon)),
        })
    }
}

impl At {
    /// As any mechanism.
    #[must_use]
    pub fn mechanism(&self) -> &dyn Mechanism {
        match self {
            Self::Cape(cape) => &**cape,
            Self::Baseline(baseline, _) => &**baseline,
            Self::Nothing(nothing) => nothing,
            Self::Alone(alone) => alone,
        }
    }

    /// What is proven for any two tokens in plain local differential privacy.
    #[must_use]
    pub fn proven(&self) -> Option<f64> {
        let guarantee = self.mechanism().guarantee();
        let proven = matches!(guarantee.notion, Notion::Ldp | Notion::MetricLdp)
            && guarantee.evidence != Evidence::None;
        Some(guarantee.bound).filter(|_| proven)
    }
}
