//! Which settings are there? Each is declared once, and is a flag, a `CAPE_*` variable and a key of
//! cape.toml: flags come before variables, variables before the file, and the file before defaults.

use std::path::PathBuf;

use cape::Profile;
use cape::mechanism::Unknown;
use cape::tokens::{Context, Split};
use cape_models::Arithmetic;
use cape_models::BaselineKind;
use clap::Args;
use serde::Deserialize;

use crate::failure::{Done, Failure};

mod choices;
mod file;
mod listed;
mod proxy;
mod save;

pub(crate) use choices::{MechanismName, arithmetics, contexts, one_of, profiles};
pub(crate) use file::{File, file_name};
pub(crate) use listed::words;
pub(crate) use proxy::{LEDGER, LedgerPlace, LimitSettings, ProxySettings};
pub(crate) use save::save;

use choices::Format;
use listed::{WordOrFile, one_or_several};

/// A value that flags may leave to the file.
pub(crate) trait Setting: Sized {
    fn is_given(&self) -> bool;

    fn or(self, file: Self) -> Self {
        if self.is_given() { self } else { file }
    }
}

impl<T> Setting for Option<T> {
    fn is_given(&self) -> bool {
        self.is_some()
    }
}

impl<T> Setting for Vec<T> {
    fn is_given(&self) -> bool {
        !self.is_empty()
    }
}

impl Setting for bool {
    fn is_given(&self) -> bool {
        *self
    }
}

/// Declares a group of settings that clap and serde both fill.
macro_rules! settings {
    ($(#[$about:meta])* $name:ident { $($(#[$flag:meta])* $field:ident: $type:ty,)* }) => {
        #[derive(Args, Clone, Default, Deserialize)]
        #[serde(default, rename_all = "kebab-case")]
        $(#[$about])*
        pub(crate) struct $name {
            $($(#[$flag])* pub(crate) $field: $type,)*
        }

        impl $crate::settings::Setting for $name {
            fn is_given(&self) -> bool {
                self.fields().iter().any(|(_, given)| *given)
            }

            fn or(self, file: Self) -> Self {
                Self { $($field: $crate::settings::Setting::or(self.$field, file.$field),)* }
            }
        }

        impl $name {
            /// The names of all of them, and which were given.
            pub(crate) fn fields(&self) -> Vec<(String, bool)> {
                let given = [$((
                    stringify!($field),
                    $crate::settings::Setting::is_given(&self.$field),
                ),)*];
                given.map(|(name, given)| (name.replace('_', "-"), given)).into()
            }
        }
    };
}
use settings;

/// Headings of `--help`; what is under them is no part of `-h`.
const MORE: &str = "More settings";
const OTHERS: &str = "Other mechanisms, for comparison";
pub(crate) const PAPER: &str = "With --mechanism cape-paper";
const BASELINES: &str = "With --mechanism santext, custext or inferdpt";

settings! {
    /// The settings of Cape; ε and the words to keep are those of any mechanism.
    CapeSettings {
        /// Privacy budget ε₁ between any two protected words [default: 8]
        ///
        /// Smaller is more private and less useful. Another mechanism takes it as its own ε, which means
        /// something else [default: 6].
        #[arg(short, long, env = "CAPE_EPSILON")]
        epsilon: Option<f64>,

        /// Which words are protected [default: personal]
        #[arg(short, long, env = "CAPE_PROFILE", value_parser = profiles())]
        profile: Option<Profile>,

        /// Protect a word, or the words in a file; may be repeated
        ///
        /// Upper and lower case do not matter. A file has one word a line.
        #[arg(long, env = "CAPE_PROTECT", value_name = "WORD|FILE")]
        #[serde(deserialize_with = "one_or_several")]
        protect: Vec<WordOrFile>,

        /// Send a word or phrase unchanged, or those in a file; may be repeated
        ///
        /// No ε covers them. A file has one phrase a line.
        #[arg(long, env = "CAPE_KEEP", value_name = "PHRASE|FILE")]
        #[serde(deserialize_with = "one_or_several")]
        keep: Vec<WordOrFile>,

        /// Treat a word as ordinary, or the words in a file; may be repeated
        #[arg(long, env = "CAPE_ORDINARY", value_name = "WORD|FILE", help_heading = MORE)]
        #[serde(deserialize_with = "one_or_several")]
        ordinary: Vec<WordOrFile>,

        /// A protected word mostly becomes one of its K nearest words [default: 100]
        #[arg(short, long, env = "CAPE_K", help_heading = MORE)]
        k: Option<usize>,

        /// How fast the probability falls after the K nearest words [default: it drops at once]
        ///
        /// The probability of rank r is (r/K)^−ALPHA times that of the first rank, and never less than
        /// e^−ε times it. With --k 1 this is the power law. Without it, all words after the K nearest
        /// are equally probable.
        #[arg(long, env = "CAPE_ALPHA", help_heading = MORE)]
        alpha: Option<f64>,

        /// ε₂ of ordinary words [default: ln n + 13.8, which replaces one in a million]
        #[arg(long, env = "CAPE_EPSILON_ORDINARY", value_name = "EPSILON", help_heading = MORE)]
        epsilon_ordinary: Option<f64>,

        /// Kind of text, which decides how it is cut into words [default: prose]
        #[arg(long, env = "CAPE_FORMAT", help_heading = MORE, value_parser = one_of(
            Format::ALL,
            Format::as_str,
            ["Text as people write it", "Source code", "A JSON document"],
        ))]
        format: Option<Format>,

        /// Perturb text in other scripts than Latin, too: all of it becomes English words
        #[arg(long, env = "CAPE_ANY_SCRIPT", help_heading = MORE)]
        any_script: bool,
    }
}

settings! {
    /// Another mechanism than Cape, and the device model that the others use.
    OtherSettings {
        /// Cape, or a mechanism that it is compared with [default: cape]
        #[arg(long, env = "CAPE_MECHANISM", help_heading = OTHERS, value_parser = one_of(
            MechanismName::ALL,
            MechanismName::as_str,
            [
                "Whole words by a law over ranks; ε is proven for every word",
                "The paper's: pieces of words by context and meaning; the proven bound is larger than ε",
                "Any word, the nearer the more probable; ε per unit of distance",
                "The same for rare words; frequent ones are mostly kept",
                "A word of the same list of 20; everybody can see which list it is",
                "The same, with stopwords kept",
                "A token within a random radius; nothing is proven",
            ],
        ))]
        mechanism: Option<MechanismName>,

        /// Device model: a name that `cape models` lists, or a folder [default: default]
        #[arg(short, long, env = "CAPE_MODEL", value_name = "NAME|DIR", help_heading = OTHERS)]
        model: Option<String>,

        /// Numbers that the device model computes in [default: auto]
        ///
        /// They change the released words a little, and never the guarantee.
        #[arg(long, env = "CAPE_ARITHMETIC", value_parser = arithmetics(), help_heading = OTHERS)]
        arithmetic: Option<Arithmetic>,

        /// Instructions for a model of integers: amx, vnni, avx2 or portable [default: the fastest
        /// that this machine has]
        #[arg(long, env = "CAPE_KERNEL", value_name = "NAME", help_heading = OTHERS)]
        kernel: Option<String>,
    }
}

settings! {
    /// The settings of the paper's mechanism.
    PaperSettings {
        /// What the device model sees around a token [default: raw]
        #[arg(long, env = "CAPE_CONTEXT", value_parser = contexts(), help_heading = PAPER)]
        context: Option<Context>,

        /// Weight λ_L of the context in the utility [default: 0.5]
        #[arg(long, env = "CAPE_LAMBDA_L", value_name = "LAMBDA", help_heading = PAPER)]
        lambda_l: Option<f64>,

        /// Weight λ_D of similar meaning in the utility [default: 1]
        #[arg(long, env = "CAPE_LAMBDA_D", value_name = "LAMBDA", help_heading = PAPER)]
        lambda_d: Option<f64>,

        /// Number N_b of buckets [default: 50]
        #[arg(long, env = "CAPE_BUCKET_COUNT", value_name = "N", help_heading = PAPER)]
        bucket_count: Option<usize>,
    }
}

settings! {
    /// The settings of the mechanisms on word vectors.
    VectorSettings {
        /// Word vectors: GloVe, word2vec, fastText, or NumPy's .npy with the words in a .txt beside it
        /// [default: the embeddings of the device model]
        ///
        /// They are read once into a compact file beside them, FILE.cape.
        #[arg(long, env = "CAPE_VECTORS", value_name = "FILE", help_heading = BASELINES)]
        vectors: Option<PathBuf>,

        /// Public text, one passage a line, that shows how frequent words are; for santext, also which
        /// words there are [default: the order of the vectors]
        #[arg(long, env = "CAPE_CORPUS", value_name = "FILE", help_heading = BASELINES)]
        corpus: Option<PathBuf>,

        /// What becomes of words without a vector [default: replace; custext: keep]
        #[arg(long, env = "CAPE_UNKNOWN", help_heading = BASELINES, value_parser = one_of(
            Unknown::ALL,
            Unknown::as_str,
            ["Any word takes its place", "It is sent unchanged", "It is left out, as in InferDPT's code"],
        ))]
        unknown: Option<Unknown>,

        /// Where text is cut into words [default: punctuation]
        #[arg(long, env = "CAPE_WORDS", help_heading = BASELINES, value_parser = one_of(
            Split::ALL,
            Split::as_str,
            ["At white space and punctuation", "At white space only, as in CUSTEXT's code"],
        ))]
        words: Option<Split>,

        /// Length K of custext's lists [default: 20]
        #[arg(long, env = "CAPE_LIST_SIZE", value_name = "K", help_heading = BASELINES)]
        list_size: Option<usize>,

        /// Share w of the words that are sensitive to santext+: the rarest [default: 0.5]
        #[arg(long, env = "CAPE_SENSITIVE_SHARE", value_name = "W", help_heading = BASELINES)]
        sensitive_share: Option<f64>,

        /// Probability p that santext+ draws for a word that is not sensitive [default: 0.2]
        #[arg(long, env = "CAPE_FREQUENT_DRAWN", value_name = "P", help_heading = BASELINES)]
        frequent_drawn: Option<f64>,
    }
}

/// The settings of all mechanisms.
#[derive(Args, Clone, Default)]
pub(crate) struct Settings {
    #[command(flatten)]
    pub(crate) cape: CapeSettings,
    #[command(flatten)]
    pub(crate) file: SettingsFile,
    #[command(flatten)]
    pub(crate) other: OtherSettings,
    #[command(flatten)]
    pub(crate) paper: PaperSettings,
    #[command(flatten)]
    pub(crate) baseline: VectorSettings,
}

/// Where the other settings are.
#[derive(Args, Clone, Default)]
pub(crate) struct SettingsFile {
    /// Settings file [default: cape.toml, if there is one]
    #[arg(long, env = "CAPE_CONFIG", value_name = "FILE", help_heading = MORE)]
    pub(crate) config: Option<PathBuf>,
}

impl Settings {
    /// These, and those of the file where they are not given.
    pub(crate) fn or(self, file: Self) -> Self {
        Self {
            cape: self.cape.or(file.cape),
            file: self.file,
            other: self.other.or(file.other),
            paper: self.paper.or(file.paper),
            baseline: self.baseline.or(file.baseline),
        }
    }

    /// A flag or a variable that has no meaning for a mechanism was given in error.
    pub(crate) fn fit(&self, mechanism: MechanismName) -> Done {
        let is = |kinds: &[BaselineKind]| {
            kinds.iter().any(|&kind| mechanism == MechanismName::Baseline(kind))
        };
        let (cape, paper) =
            (mechanism == MechanismName::Cape, mechanism == MechanismName::CapePaper);
        let groups = [
            (self.cape.fields(), cape),
            (self.other.fields(), !cape),
            (self.paper.fields(), paper),
            (self.baseline.fields(), !cape && !paper),
        ];
        for (fields, group_fits) in groups {
            for (name, given) in fields {
                let fits = match name.as_str() {
                    "epsilon" | "keep" | "mechanism" => true,
                    "list-size" => is(&[BaselineKind::Custext, BaselineKind::CustextPlus]),
                    "sensitive-share" | "frequent-drawn" => is(&[BaselineKind::SantextPlus]),
                    _ => group_fits,
                };
                if given && !fits {
                    return Err(Failure::usage(
                        format!("--{name} has no meaning for {}", mechanism.as_str()),
                        "`cape perturb --help` shows which settings go with which --mechanism",
                    ));
                }
            }
        }
        Ok(())
    }

    /// The names of all of them, and which were given.
    fn fields(&self) -> Vec<(String, bool)> {
        let (cape, other) = (self.cape.fields(), self.other.fields());
        [cape, other, self.paper.fields(), self.baseline.fields()].concat()
    }
}
