//! Which methods are evaluated: mechanisms at any ε, and references to compare them with.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use cape::attack::bayes::{BaselineBayes, PaperBayes};
use cape::attack::{Knn, Space};
use cape::mechanism::cape as words;
use cape::mechanism::cape_paper::{CapePaper, Settings};
use cape::mechanism::{Baseline, Mechanism};
use cape::rng::CryptoRng;
use cape::tokens::{KeepList, Outcome, Piece, Token, Tokenizer, Tokens};
use cape::{Cape, Epsilon, Evidence, Guarantee, Lexicon, Notion, Shape, Why};
use cape_models::{Device, PreparedBaseline};
use serde_json::{Value, json};

use crate::Result;
use crate::data::Item;
use crate::draft::{self, Draft};
use crate::listing::{Guessing, Listing};

/// Something to compare mechanisms with, which draws nothing: ε changes nothing there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The prompts are sent as they are, to see what they are worth then.
    NonPrivate,
    /// The labelled spans are masked.
    MaskedSpans,
    /// Nothing is sent: what the local chat model can do without the service.
    LocalAlone,
}

impl Reference {
    /// The name in tables, charts and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NonPrivate => "non-private",
            Self::MaskedSpans => "masked spans",
            Self::LocalAlone => "local model alone",
        }
    }
}

/// Whether a name is that of a reference and not of a mechanism.
#[must_use]
pub fn is_reference(name: &str) -> bool {
    let all = [Reference::NonPrivate, Reference::MaskedSpans, Reference::LocalAlone];
    all.iter().any(|reference| reference.name() == name)
}

/// A method that is evaluated: a mechanism without its ε, or a reference.
///
/// It is no [`Sanitizer`](cape::Sanitizer): attacks need the ids that were drawn and the exact distributions
/// behind them, which a release does not tell.
pub struct Method {
    /// The name in tables and charts.
    pub name: String,
    /// The source of its numbers: a model or vectors, by a name that changes with them.
    pub model: String,
    /// Its settings, for the record.
    pub settings: BTreeMap<String, Value>,
    /// The nearest tokens of each; none for words, which the lexicon itself has.
    pub knn: Option<Knn>,
    /// The attack of who knows the mechanism, where the attacker has its vocabulary.
    pub bayes: Option<PaperBayes>,
    kind: Kind,
}

enum Kind {
    Cape(Arc<Listing>, words::Settings, Instructions),
    CapePaper(Device, Settings),
    Baseline(Box<UntunedBaseline>),
    Reference(Reference, Device),
}

/// The treatment of a prompt's instruction, where the data says which part that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    /// It is perturbed as all else is.
    Perturbed,
    /// It is sent as it is, as `--instruction` does it.
    Sent,
}

/// A baseline without its ε.
struct UntunedBaseline {
    prepared: PreparedBaseline,
    /// How many words the Bayes attack looks at for a position.
    most: usize,
    /// Where each word stands among those that an attacker has logits for.
    entries: OnceLock<Vec<Option<usize>>>,
}

/// A method at one ε.
pub enum AtEpsilon {
    /// Cape on words, and the Bayes attack on it.
    Cape(Box<Cape>, Arc<Guessing>),
    /// The paper's.
    CapePaper(Box<CapePaper>),
    /// One of the baselines, and the Bayes attack on it.
    Baseline(Box<Baseline>, BaselineBayes),
    /// The prompt as it is, with masks, or nothing of it.
    Reference(ReferenceAt),
}

/// A reference at an ε, which changes nothing.
pub struct ReferenceAt {
    reference: Reference,
    epsilon: Epsilon,
}

impl Mechanism for ReferenceAt {
    fn guarantee(&self) -> Guarantee {
        let (bound, kept, notion, evidence) = match self.reference {
            Reference::LocalAlone => (0.0, 0.0, Notion::Ldp, Evidence::Proof),
            _ => (f64::INFINITY, 1.0, Notion::None, Evidence::None),
        };
        Guarantee::uniform(self.epsilon, bound, kept, notion, evidence)
    }

    fn perturb(&self, tokens: &Tokens, _: &mut dyn CryptoRng) -> cape::Result<Vec<Outcome>> {
        let outcome = |token: &Token| match self.reference {
            Reference::LocalAlone => Outcome::Dropped,
            _ => Outcome::Kept(token.kept.unwrap_or(Why::Listed)),
        };
        Ok(tokens.as_slice().iter().map(outcome).collect())
    }
}

/// The largest k of the nearest-neighbour attack.
const NEAREST: usize = 10;

/// The name, among the settings, of the bound between any two words, whatever their levels.
pub(crate) const EPSILON_ANY: &str = "epsilon_any";

impl Method {
    /// Cape on words; the ε₁ of these settings does not matter.
    #[must_use]
    pub fn cape(name: &str, lexicon: Arc<Lexicon>, settings: words::Settings) -> Self {
        Self::listed(name, Arc::new(Listing::new(lexicon)), settings)
    }

    /// The same method with instructions sent as they are.
    #[must_use]
    pub fn instructed(mut self) -> Self {
        if let Kind::Cape(_, _, instructions) = &mut self.kind {
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
            kind: Kind::Cape(listing, settings, Instructions::Perturbed),
        }
    }

    /// The paper's mechanism; the ε of these settings does not matter. The Bayes attack, if it is wanted,
    /// looks at `bayes` tokens for a position.
    #[must_use]
    pub fn cape_paper(
        name: &str,
        model: &str,
        device: &Device,
        settings: Settings,
        bayes: Option<usize>,
    ) -> Self {
        let all = BTreeMap::from([
            ("bucket_count".to_owned(), json!(settings.bucket_count)),
            ("context".to_owned(), json!(settings.context.as_str())),
            ("lambda_l".to_owned(), json!(settings.utility.context_weight())),
            ("lambda_d".to_owned(), json!(settings.utility.distance_weight())),
            ("arithmetic".to_owned(), json!(device.arithmetic.name())),
            ("logits_from".to_owned(), json!(device.model.calibration().lo())),
            ("logits_to".to_owned(), json!(device.model.calibration().hi())),
        ]);
        Self {
            name: name.to_owned(),
            model: model.to_owned(),
            settings: all,
            knn: Some(Knn::new(Space::Model(Arc::clone(&device.model)), NEAREST)),
            bayes: bayes.map(|most| PaperBayes::new(Arc::clone(&device.model), most)),
            kind: Kind::CapePaper(device.clone(), settings),
        }
    }

    /// A baseline. The Bayes attack looks at `most` words for a position.
    #[must_use]
    pub fn baseline(model: &str, prepared: PreparedBaseline, most: usize) -> Self {
        Self {
            name: prepared.kind.name().to_owned(),
            model: model.to_owned(),
            settings: BTreeMap::from([("words".to_owned(), json!(prepared.about))]),
            knn: Some(Knn::new(Space::Words(Arc::clone(&prepared.words)), NEAREST)),
            bayes: None,
            kind: Kind::Baseline(Box::new(UntunedBaseline {
                prepared,
                most,
                entries: OnceLock::new(),
            })),
        }
    }

    /// A reference. Prompts are counted in the pieces of this model.
    #[must_use]
    pub fn reference(reference: Reference, model: &str, device: &Device) -> Self {
        Self {
            name: reference.name().to_owned(),
            model: model.to_owned(),
            settings: BTreeMap::new(),
            knn: Some(Knn::new(Space::Model(Arc::clone(&device.model)), NEAREST)),
            bayes: None,
            kind: Kind::Reference(reference, device.clone()),
        }
    }

    /// A line about it: its settings, and the source of its numbers.
    #[must_use]
    pub fn about(&self) -> String {
        let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let given = self.settings.iter().filter(|(_, value)| !value.is_null());
        let given = given.map(|(name, one)| format!("{} {}", name.replace('_', " "), value(one)));
        given.chain([self.model.clone()]).collect::<Vec<String>>().join(", ")
    }

    /// Whether it is a reference and no mechanism.
    #[must_use]
    pub fn is_reference(&self) -> bool {
        matches!(self.kind, Kind::Reference(..))
    }

    /// Its tokenizer and what it keeps; none for Cape on words, which cuts texts itself.
    pub(crate) fn cutting(&self) -> Option<(&Tokenizer, KeepList)> {
        match &self.kind {
            Kind::Cape(..) => None,
            Kind::CapePaper(device, _) | Kind::Reference(_, device) => {
                Some((&device.tokenizer, KeepList::default()))
            }
            Kind::Baseline(words) => Some((&words.prepared.tokenizer, words.prepared.keep.clone())),
        }
    }

    /// Releases prompts. The draws of each are those of its number and the seed.
    pub(crate) fn drafts(
        &self,
        at: &AtEpsilon,
        seed: u64,
        prompts: &[(usize, &Item)],
    ) -> Result<Vec<Draft>> {
        match (at.mechanism(), self.cutting()) {
            (_, Some((tokenizer, _)))
                if matches!(self.kind, Kind::Reference(Reference::MaskedSpans, _)) =>
            {
                draft::masked(tokenizer, prompts)
            }
            (Ok(mechanism), Some((tokenizer, keep))) => {
                draft::on_tokens((tokenizer, &keep), mechanism, seed, prompts)
            }
            (Err(cape), _) => {
                let sent = matches!(self.kind, Kind::Cape(_, _, Instructions::Sent));
                draft::on_words(cape, sent, seed, prompts)
            }
            (Ok(_), None) => unreachable!("what works on tokens has a tokenizer"),
        }
    }

    /// The expectation of an attacker at a place, word by word of a baseline, from its logits of all entries
    /// that begin a word. Words that it has no entry for are as improbable as the last of those that it
    /// has. Nothing for other mechanisms.
    pub(crate) fn prior(&self, attacker: &Device, row: &[f32]) -> Vec<f32> {
        let Kind::Baseline(words) = &self.kind else { return Vec::new() };
        let entries = words.entries.get_or_init(|| {
            let (vocab, own) = (attacker.model.vocab(), words.prepared.tokenizer.vocab());
            let entries = vocab.of_kind(Piece::Start);
            let entry = |&t| {
                let entry = vocab.piece_id(&own.surface(t).to_lowercase(), Piece::Start)?;
                entries.binary_search(&entry).ok()
            };
            words.prepared.words.ids().iter().map(entry).collect()
        });
        let least = row.iter().copied().fold(f32::INFINITY, f32::min);
        entries.iter().map(|entry| entry.map_or(least, |at| row[at])).collect()
    }

    /// The device model that it perturbs with, if any.
    pub(crate) fn device(&self) -> Option<&Device> {
        match &self.kind {
            Kind::CapePaper(device, _) | Kind::Reference(_, device) => Some(device),
            Kind::Cape(..) | Kind::Baseline(_) => None,
        }
    }

    /// The listed words, of Cape on words.
    pub(crate) fn listing(&self) -> Option<&Listing> {
        match &self.kind {
            Kind::Cape(listing, ..) => Some(listing),
            _ => None,
        }
    }

    /// The mechanism at this ε.
    pub(crate) fn at(&self, epsilon: f64) -> Result<AtEpsilon> {
        let epsilon = Epsilon::new(epsilon)?;
        Ok(match &self.kind {
            Kind::Cape(listing, settings, _) => {
                let settings = words::Settings { epsilon, ..settings.clone() };
                let cape = Cape::new(Arc::clone(&listing.lexicon), settings)?;
                let guessing = listing.guessing(&cape);
                AtEpsilon::Cape(Box::new(cape), guessing)
            }
            Kind::CapePaper(device, settings) => {
                let settings = Settings { epsilon, ..*settings };
                AtEpsilon::CapePaper(Box::new(CapePaper::new(Arc::clone(&device.model), settings)?))
            }
            Kind::Baseline(words) => {
                let attack = BaselineBayes::new(words.prepared.words.len(), words.most);
                AtEpsilon::Baseline(Box::new(words.prepared.mechanism(epsilon)?), attack)
            }
            Kind::Reference(reference, _) => {
                AtEpsilon::Reference(ReferenceAt { reference: *reference, epsilon })
            }
        })
    }
}

impl AtEpsilon {
    /// The mechanism on tokens; an error holds Cape, which works on words.
    fn mechanism(&self) -> std::result::Result<&dyn Mechanism, &Cape> {
        match self {
            Self::Cape(cape, _) => Err(cape),
            Self::CapePaper(cape) => Ok(&**cape),
            Self::Baseline(baseline, _) => Ok(&**baseline),
            Self::Reference(reference) => Ok(reference),
        }
    }

    /// Whether nothing of a prompt is sent.
    pub(crate) fn sends_nothing(&self) -> bool {
        matches!(self, Self::Reference(at) if at.reference == Reference::LocalAlone)
    }

    /// The guarantee.
    pub(crate) fn guarantee(&self) -> Guarantee {
        self.mechanism().map_or_else(Cape::guarantee, Mechanism::guarantee)
    }

    /// The ε that is proven in plain local differential privacy: for any two tokens, and of words for any two
    /// that are protected.
    pub(crate) fn proven(&self) -> Option<f64> {
        let guarantee = self.guarantee();
        let proven = matches!(guarantee.notion, Notion::Ldp | Notion::MetricLdp)
            && guarantee.evidence != Evidence::None;
        Some(guarantee.protected).filter(|_| proven)
    }

    /// Settings that follow from ε.
    pub(crate) fn settings(&self) -> BTreeMap<String, Value> {
        match self {
            Self::Cape(cape, _) => {
                BTreeMap::from([(EPSILON_ANY.to_owned(), json!(cape.guarantee().bound))])
            }
            _ => BTreeMap::new(),
        }
    }
}
