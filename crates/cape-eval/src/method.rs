//! A mechanism to be evaluated, at any ε.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use cape::attack::bayes::cape_paper::Bayes;
use cape::attack::knn::{Knn, Space};
use cape::attack::bayes::baseline::WordBayes;
use cape::keep::KeepList;
use cape::law::Shape;
use cape::lexicon::Lexicon;
use cape::mechanism::cape::{self as words, Cape};
use cape::mechanism::cape_paper::{CapePaper, Settings};
use cape::mechanism::{Baseline, Mechanism};
use cape::privacy::{Epsilon, Evidence, Guarantee, Notion};
use cape::rng::CryptoRng;
use cape::text::{Outcome, Piece, Token, Tokens, Why};
use cape::tokenizer::Tokenizer;
use cape_models::Device;
use cape_models::baselines::Prepared;
use serde_json::{Value, json};

use crate::Result;
use crate::data::Item;
use crate::draft::{self, Draft};
use crate::listing::{Guessing, Listing};

/// What sends prompts as they are is called.
pub const NON_PRIVATE: &str = "non-private";

/// What sends nothing, and has the local chat model do it all, is called.
pub const LOCAL_ALONE: &str = "local model alone";

/// What masks the labelled spans is called.
pub const MASKED: &str = "masked spans";

/// Whether a name is of something to compare with and not of a mechanism: ε changes nothing there.
#[must_use]
pub fn is_reference(name: &str) -> bool {
    [NON_PRIVATE, LOCAL_ALONE, MASKED].contains(&name)
}

/// A mechanism without its ε.
pub struct Subject {
    /// What it is called in tables and charts.
    pub name: String,
    /// What its numbers come from: a model or vectors, by a name that changes with them.
    pub model: String,
    /// Its settings, for the record.
    pub settings: BTreeMap<String, Value>,
    /// The nearest tokens of each; none for words, which the lexicon itself has.
    pub knn: Option<Knn>,
    /// The attack of who knows the mechanism, where the attacker has its vocabulary.
    pub bayes: Option<Bayes>,
    form: Form,
}

enum Form {
    Cape(Arc<Listing>, words::Settings, Instructions),
    CapePaper(Device, Settings),
    Words(Box<Words>),
    Nothing(Device),
    Masked(Device),
    Alone(Device),
}

/// What becomes of the instruction of a prompt, where the data says which part that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    /// It is perturbed as all else is.
    Perturbed,
    /// It is sent as it is, as `--instruction` does it.
    Sent,
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
    /// Cape on words, and the Bayes attack on it.
    Cape(Box<Cape>, Arc<Guessing>),
    /// The paper's.
    CapePaper(Box<CapePaper>),
    /// What it is compared with, and the Bayes attack on it.
    Baseline(Box<Baseline>, WordBayes),
    /// The prompt as it is, or with masks: nothing is drawn.
    Nothing(Nothing),
    /// Nothing of the prompt.
    Alone(Alone),
}

/// Nothing is sent: what the local chat model can do without the service.
pub struct Alone(Epsilon);

impl Mechanism for Alone {
    fn guarantee(&self) -> Guarantee {
        Guarantee::uniform(self.0, 0.0, 0.0, Notion::Ldp, Evidence::Proof)
    }

    fn perturb(&self, tokens: &Tokens, _: &mut dyn CryptoRng) -> cape::Result<Vec<Outcome>> {
        Ok(vec![Outcome::Dropped; tokens.as_slice().len()])
    }
}

/// No mechanism: the prompt is sent as it is, to see what it is worth then.
pub struct Nothing(Epsilon);

impl Mechanism for Nothing {
    fn guarantee(&self) -> Guarantee {
        Guarantee::uniform(self.0, f64::INFINITY, 1.0, Notion::None, Evidence::None)
    }

    fn perturb(&self, tokens: &Tokens, _: &mut dyn CryptoRng) -> cape::Result<Vec<Outcome>> {
        let kept = |token: &Token| Outcome::Kept(token.kept.unwrap_or(Why::Listed));
        Ok(tokens.as_slice().iter().map(kept).collect())
    }
}

/// The largest k of the nearest-neighbour attack.
const NEAREST: usize = 10;

/// What the bound between any two words, whatever their levels, is called among the settings.
pub(crate) const EPSILON_ANY: &str = "epsilon_any";

impl Subject {
    /// Cape on words; the ε₁ of these settings does not matter.
    #[must_use]
    pub fn words(name: &str, lexicon: Arc<Lexicon>, settings: words::Settings) -> Self {
        Self::listed(name, Arc::new(Listing::new(lexicon)), settings)
    }

    /// The same with instructions sent as they are.
    #[must_use]
    pub fn instructed(mut self) -> Self {
        if let Form::Cape(_, _, instructions) = &mut self.form {
            *instructions = Instructions::Sent;
            self.settings.insert("instruction".to_owned(), json!("sent as it is"));
        }
        self
    }

    /// Cape on words with laws of several shapes, each by its own name. What attackers work out is shared.
    #[must_use]
    pub fn laws(
        lexicon: Arc<Lexicon>,
        settings: &words::Settings,
        laws: &[(String, Shape)],
    ) -> Vec<Self> {
        let listing = Arc::new(Listing::new(lexicon));
        let with = |(name, shape): &(String, Shape)| {
            let settings = words::Settings { shape: *shape, ..settings.clone() };
            Self::listed(name, Arc::clone(&listing), settings)
        };
        laws.iter().map(with).collect()
    }

    fn listed(name: &str, listing: Arc<Listing>, settings: words::Settings) -> Self {
        let lexicon = &listing.lexicon;
        let all = BTreeMap::from([
            ("profile".to_owned(), json!(settings.profile.as_str())),
            ("k".to_owned(), json!(settings.shape.k)),
            ("alpha".to_owned(), json!(settings.shape.alpha)),
            ("listed_words".to_owned(), json!(lexicon.len())),
        ]);
        Self {
            name: name.to_owned(),
            model: format!("lexicon {:016x}", lexicon.checksum()),
            settings: all,
            knn: None,
            bayes: None,
            form: Form::Cape(listing, settings, Instructions::Perturbed),
        }
    }

    /// The paper's mechanism; the ε of these settings does not matter. The Bayes attack, if it is wanted,
    /// looks at so many tokens for a position.
    #[must_use]
    pub fn cape(
        name: &str,
        model: &str,
        device: &Device,
        settings: Settings,
        bayes: Option<usize>,
    ) -> Self {
        let all = BTreeMap::from([
            ("bucket_count".to_owned(), json!(settings.bucket_count)),
            ("context".to_owned(), json!(settings.context.as_str())),
            ("lambda_l".to_owned(), json!(settings.utility.l())),
            ("lambda_d".to_owned(), json!(settings.utility.d())),
            ("arithmetic".to_owned(), json!(device.arithmetic.name())),
            ("logits_from".to_owned(), json!(device.model.calibration().lo())),
            ("logits_to".to_owned(), json!(device.model.calibration().hi())),
        ]);
        Self {
            name: name.to_owned(),
            model: model.to_owned(),
            settings: all,
            knn: Some(Knn::new(Space::Model(Arc::clone(&device.model)), NEAREST)),
            bayes: bayes.map(|most| Bayes::new(Arc::clone(&device.model), most)),
            form: Form::CapePaper(device.clone(), settings),
        }
    }

    /// A baseline. The Bayes attack looks at so many words for a position.
    #[must_use]
    pub fn baseline(model: &str, prepared: Prepared, most: usize) -> Self {
        Self {
            name: prepared.kind().name().to_owned(),
            model: model.to_owned(),
            settings: BTreeMap::from([("words".to_owned(), json!(prepared.about))]),
            knn: Some(Knn::new(Space::Words(Arc::clone(prepared.words())), NEAREST)),
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
            knn: Some(Knn::new(Space::Model(Arc::clone(&device.model)), NEAREST)),
            bayes: None,
            form: Form::Nothing(device.clone()),
        }
    }

    /// The prompts with their labelled spans masked.
    #[must_use]
    pub fn masked(model: &str, device: &Device) -> Self {
        Self {
            name: MASKED.to_owned(),
            form: Form::Masked(device.clone()),
            ..Self::nothing(model, device)
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

    /// What it is, in a line: its settings, and what its numbers come from.
    #[must_use]
    pub fn about(&self) -> String {
        let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let given = self.settings.iter().filter(|(_, value)| !value.is_null());
        let given = given.map(|(name, one)| format!("{} {}", name.replace('_', " "), value(one)));
        given.chain([self.model.clone()]).collect::<Vec<String>>().join(", ")
    }

    /// Whether it is something to compare with and no mechanism.
    #[must_use]
    pub fn is_reference(&self) -> bool {
        is_reference(&self.name)
    }

    /// Its tokenizer and what it keeps; none for Cape on words, which cuts texts itself.
    #[must_use]
    pub fn cutting(&self) -> Option<(&Tokenizer, KeepList)> {
        match &self.form {
            Form::Cape(..) => None,
            Form::CapePaper(device, _)
            | Form::Nothing(device)
            | Form::Masked(device)
            | Form::Alone(device) => Some((&device.tokenizer, KeepList::default())),
            Form::Words(words) => Some((&words.prepared.tokenizer, words.prepared.keep.clone())),
        }
    }

    /// Releases prompts. The draws of each are those of its number and the seed.
    pub(crate) fn drafts(
        &self,
        at: &At,
        seed: u64,
        prompts: &[(usize, &Item)],
    ) -> Result<Vec<Draft>> {
        match (at.mechanism(), self.cutting()) {
            (_, Some((tokenizer, _))) if matches!(self.form, Form::Masked(_)) => {
                draft::masked(tokenizer, prompts)
            }
            (Ok(mechanism), Some((tokenizer, keep))) => {
                draft::on_tokens((tokenizer, &keep), mechanism, seed, prompts)
            }
            (Err(cape), _) => {
                let sent = matches!(self.form, Form::Cape(_, _, Instructions::Sent));
                draft::on_words(cape, sent, seed, prompts)
            }
            (Ok(_), None) => unreachable!("what works on tokens has a tokenizer"),
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
            let entries = vocab.of_kind(Piece::Start);
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
            Form::CapePaper(device, _)
            | Form::Nothing(device)
            | Form::Masked(device)
            | Form::Alone(device) => Some(device),
            Form::Cape(..) | Form::Words(_) => None,
        }
    }

    /// The listed words, of Cape on words.
    pub(crate) fn listing(&self) -> Option<&Listing> {
        match &self.form {
            Form::Cape(listing, ..) => Some(listing),
            _ => None,
        }
    }

    /// The mechanism at this ε.
    pub fn at(&self, epsilon: f64) -> Result<At> {
        let epsilon = Epsilon::new(epsilon)?;
        Ok(match &self.form {
            Form::Cape(listing, settings, _) => {
                let settings = words::Settings { epsilon, ..settings.clone() };
                let cape = Cape::new(Arc::clone(&listing.lexicon), settings)?;
                let guessing = listing.guessing(&cape);
                At::Cape(Box::new(cape), guessing)
            }
            Form::CapePaper(device, settings) => {
                let settings = Settings { epsilon, ..*settings };
                At::CapePaper(Box::new(CapePaper::new(Arc::clone(&device.model), settings)?))
            }
            Form::Words(words) => {
                let attack = WordBayes::new(words.prepared.words().len(), words.most);
                At::Baseline(Box::new(words.prepared.mechanism(epsilon)?), attack)
            }
            Form::Nothing(_) | Form::Masked(_) => At::Nothing(Nothing(epsilon)),
            Form::Alone(_) => At::Alone(Alone(epsilon)),
        })
    }
}

impl At {
    /// As any mechanism on tokens; Cape where it works on words.
    fn mechanism(&self) -> std::result::Result<&dyn Mechanism, &Cape> {
        match self {
            Self::Cape(cape, _) => Err(cape),
            Self::CapePaper(cape) => Ok(&**cape),
            Self::Baseline(baseline, _) => Ok(&**baseline),
            Self::Nothing(nothing) => Ok(nothing),
            Self::Alone(alone) => Ok(alone),
        }
    }

    /// What it guarantees.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        self.mechanism().map_or_else(Cape::guarantee, Mechanism::guarantee)
    }

    /// What is proven in plain local differential privacy: for any two tokens, and of words for any two
    /// that are protected.
    #[must_use]
    pub fn proven(&self) -> Option<f64> {
        let guarantee = self.guarantee();
        let proven = matches!(guarantee.notion, Notion::Ldp | Notion::MetricLdp)
            && guarantee.evidence != Evidence::None;
        Some(guarantee.protected).filter(|_| proven)
    }

    /// Settings that follow from ε.
    #[must_use]
    pub fn settings(&self) -> BTreeMap<String, Value> {
        match self {
            Self::Cape(cape, _) => {
                BTreeMap::from([(EPSILON_ANY.to_owned(), json!(cape.guarantee().bound))])
            }
            _ => BTreeMap::new(),
        }
    }
}
