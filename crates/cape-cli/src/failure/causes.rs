//! Errors of the libraries as failures: what can be done about each?

use cape_models::HubError;

use super::Failure;

impl From<cape::Error> for Failure {
    fn from(error: cape::Error) -> Self {
        use cape::Error as E;
        let (hint, usage) = match &error {
            E::Epsilon(_) => ("leave it out for the default; smaller is more private", true),
            E::Setting { .. } => ("`cape perturb --help` explains every setting", true),
            E::Underflow { .. } => ("take a smaller --epsilon", true),
            E::ControlCharacter { code: 0x80.., .. } => {
                ("remove it first, for example with: perl -CSD -pe 's/[\\x{80}-\\x{9f}]//g'", false)
            }
            E::ControlCharacter { .. } => (
                "remove it first, for example with: tr -d '\\000-\\010\\013\\014\\016-\\037\\177'",
                false,
            ),
            E::Script => (
                "--any-script perturbs it all the same: every run of letters becomes an English word",
                false,
            ),
            E::Phrase(_) => (
                "give one word at a time, and no number, address, weekday or month; --keep takes phrases",
                true,
            ),
            E::Entropy(_) => ("nothing was released; try again when the system has entropy", false),
            E::Tokenizer(_) => ("a tokenizer of WordPiece or byte-level BPE is needed", false),
            _ => ("nothing was released", false),
        };
        Self { code: if usage { 2 } else { 1 }, ..Self::of(&error, Some(hint)) }
    }
}

impl From<cape_models::Error> for Failure {
    fn from(error: cape_models::Error) -> Self {
        use cape_models::Error as E;
        let hint = match error {
            E::Cape(inner) => return inner.into(),
            E::Hub(error) => return error.into(),
            E::NotPulled(ref name) => {
                let hint = format!(
                    "run cape models pull {name}, or give a folder; `cape models` lists what is here"
                );
                return Self { code: 2, ..Self::of(&error, Some(&hint)) };
            }
            E::NotEmbedded => {
                let hint = "give --model: a folder, or a name after `cape models pull`; packages of \
                            crates.io are too small for the embedded one, a clone has it";
                return Self { code: 2, ..Self::of(&error, Some(hint)) };
            }
            E::Unknown(_) => {
                let hint = "`cape models` lists the names; a folder needs config.json, \
                            tokenizer.json and model.safetensors";
                return Self { code: 2, ..Self::of(&error, Some(hint)) };
            }
            E::Io { .. } => {
                "check the path; a model folder needs config.json, tokenizer.json and \
                 model.safetensors"
            }
            E::Vectors { .. } => {
                "vectors come as text of GloVe, word2vec or fastText, as word2vec's binary, or as \
                 NumPy's .npy with the words in a .txt beside it"
            }
            E::Corpus(_) => "it takes public text, one passage a line",
            E::Gguf(_) => {
                "a Llama-shaped model is needed, with a byte-level BPE tokenizer in the file"
            }
            E::Index(_) | E::Shard { .. } => "the shards may be damaged: fetch or copy them again",
            E::TooLarge { .. } => "it is not a file of a model that a device could run",
            E::Json { file: "cape.json", .. } => "it holds lo, hi and, if you like, window",
            E::Json { .. } => "the file may be damaged: fetch or copy it again",
            E::Config(_) => {
                "masked models like BERT, RoBERTa and MPNet are supported, and causal ones like GPT-2, \
                 Llama and Qwen2"
            }
            E::Weights(_) => "the file may be cut short: fetch or copy it again",
            E::NotFinite(_) => "the file is damaged: fetch or copy it again",
            E::Missing(_) | E::Shape { .. } | E::Dtype { .. } => {
                "the weights are not those of a model with this config.json"
            }
            E::Vocabulary { .. } | E::SpecialToken(_) => {
                "take tokenizer.json and config.json from the same model"
            }
            E::Calibration => "run `cape calibrate` to write cape.json anew",
            E::Chat(_) => "take the GGUF file of a model that was trained to chat",
            E::TooLong { .. } => "take a model with a longer context, or shorter prompts",
            E::NothingToCalibrate => "give a file of public text, one passage a line",
            _ => "try --model default",
        };
        Self::of(&error, Some(hint))
    }
}

#[cfg(feature = "eval")]
impl From<cape_eval::Error> for Failure {
    fn from(error: cape_eval::Error) -> Self {
        use cape_eval::Error as E;
        use cape_eval::chat::ChatError;
        let hint = match error {
            E::Cape(inner) => return inner.into(),
            E::Models(inner) | E::Chat(ChatError::Here(inner)) => return inner.into(),
            E::Io { .. } => "check the path, the permissions and the space that is left",
            E::Data { .. } => {
                "name the columns with --text-column, --second-column, --label-column"
            }
            E::Chat(_) => "check --llm-url (it ends in /v1), --llm-model and OPENAI_API_KEY",
            E::Records { .. } => "give another --out, or remove the file",
            _ => "`cape eval --help` explains every setting",
        };
        Self::of(&error, Some(hint))
    }
}

impl From<cape_proxy::Error> for Failure {
    fn from(error: cape_proxy::Error) -> Self {
        use cape_proxy::Error as E;
        let (hint, usage) = match error {
            E::Address(_) => ("an address looks like https://api.openai.com/v1", true),
            E::ExtractorElsewhere => ("--extractor-elsewhere allows it, if you trust it", true),
            E::PlainHttp => (
                "use https, or allow it with --plain-http where you trust the network in between",
                true,
            ),
            E::ListenPlain => (
                "give --tls-certificate and --tls-key, listen on 127.0.0.1, or allow it with \
                 --listen-plain where something before cape has TLS",
                true,
            ),
            E::ListenAnyone => {
                ("give --token-file, listen on 127.0.0.1, or allow it with --listen-anyone", true)
            }
            E::Token => ("make one: openssl rand -hex 32 > token", true),
            E::BrokenOff => ("what they cost is spent; once more is enough to end in order", false),
            E::Unproven => ("remove `mechanism` from cape.toml", true),
            E::Pem | E::Tls(_) => ("give --tls-certificate and --tls-key, files of PEM", true),
            E::SystemFile { .. } | E::SystemSum { .. } => {
                ("`cape serve --learn-system FILE` writes such a list", true)
            }
            E::LearnBlocked | E::AllowPassed => {
                ("`system` is a key of [proxy.policy] in cape.toml, or of the preset", true)
            }
            E::Io { .. } => ("choose another --listen; 127.0.0.1:0 finds a free port", false),
            _ => ("`cape serve --help` explains every setting", false),
        };
        Self { code: if usage { 2 } else { 1 }, ..Self::of(&error, Some(hint)) }
    }
}

impl From<cape_ledger::Error> for Failure {
    fn from(error: cape_ledger::Error) -> Self {
        use cape_ledger::Error as E;
        let hint = match &error {
            E::Scheme => {
                let hint = "give --ledger FILE, or --ledger postgres://USER:PASSWORD@HOST/DATABASE";
                return Self { code: 2, ..Self::of(&error, Some(hint)) };
            }
            E::NoPostgres => {
                let hint = "give --ledger FILE, or build cape with its feature `postgres`";
                return Self { code: 2, ..Self::of(&error, Some(hint)) };
            }
            E::NoFile(_) | E::NoLedger => "name it with --ledger, or with CAPE_LEDGER",
            E::File { .. } => "check the path, the permissions and the space that is left",
            E::Newer(_) => "use the version of cape that wrote it, or a newer one",
            E::Older(_) => {
                "name a new ledger with --ledger; what the old one counts must be added by hand"
            }
            E::NotFound(_) | E::Ambiguous | E::Name => {
                "accounts are named by the header X-Cape-Account, keys by `cape ledger show`, jobs by \
                 `cape ledger jobs`"
            }
            E::Refused(_) => "`cape ledger show` has what is left; nothing was reserved or drawn",
            E::Settled | E::OtherJob | E::Overdrawn => "`cape ledger jobs` lists the open jobs",
            E::WrongKey => "give the key file that it was made with",
            E::Key(_) => {
                "a key file holds 32 bytes and is its owner's alone (chmod 600), or root's and a group's to read (440)"
            }
            E::Corrupted(_) => {
                "keep a copy of it, then restore a backup, or try `sqlite3 ledger.db .recover`"
            }
            E::Damaged(_) => "restore it from a backup; until then nothing can be spent",
            _ => "check that the database can be reached, and that it is a ledger's",
        };
        Self::of(&error, Some(hint))
    }
}

impl From<HubError> for Failure {
    fn from(error: HubError) -> Self {
        use HubError as E;
        let hint = match &error {
            E::Name(_) => {
                let hint = "names are like bert-base-uncased, org/name, org/name@revision, \
                            org/name:file.gguf";
                return Self { code: 2, ..Self::of(&error, Some(hint)) };
            }
            E::NoHome => "set HF_HOME to a folder",
            E::Offline(_) => "unset HF_HUB_OFFLINE to fetch it",
            E::Endpoint => "it looks like https://host; unset it for the public hub",
            E::NoModel(_) => "check the name; for a private model, set HF_TOKEN",
            E::Denied(_) => "accept the model's terms on the hub, and set HF_TOKEN",
            E::Connection { .. } => {
                "check the network, HF_ENDPOINT and HTTPS_PROXY; run it again, and it goes on \
                 where it stopped"
            }
            E::Checksum(_) => "the file was not kept; run it again",
            E::NoFile { .. } => {
                "a model needs config.json, tokenizer.json and model.safetensors or its shards"
            }
            E::Pickle(_) => {
                "look for a model of the same kind with model.safetensors, or convert it: \
                 save_pretrained(DIR) of transformers"
            }
            E::Busy(_) => "wait for it, and run this again",
            _ => "try again later, or another HF_ENDPOINT",
        };
        Self::of(&error, Some(hint))
    }
}
