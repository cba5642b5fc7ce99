/// An error. No message carries a word of the prompt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// ε is not a positive finite number.
    #[error("epsilon must be a positive, finite number, not {0}")]
    Epsilon(f64),
    /// A setting is outside its range.
    #[error("{name} must be {range}, not {value}")]
    Setting {
        /// The setting's name, as the user writes it.
        name: &'static str,
        /// The range it must lie in, in words.
        range: &'static str,
        /// The value that was given.
        value: f64,
    },
    /// The integer weights of a draw cannot hold so large an ε.
    #[error(
        "epsilon {epsilon} is too large for {what} over {candidates} candidates: the smallest weight \
         would be lost in rounding (the largest epsilon here is {largest:.1})"
    )]
    Underflow {
        /// The name of the candidates.
        what: &'static str,
        /// The ε asked for.
        epsilon: f64,
        /// How many candidates there are.
        candidates: usize,
        /// The largest ε that the weights can hold.
        largest: f64,
    },
    /// The prompt has a control character, which no tokenizer would carry through.
    #[error("the text has the control character U+{code:04X} at byte {offset}")]
    ControlCharacter {
        /// The character's code point.
        code: u32,
        /// Where it is, in bytes.
        offset: usize,
    },
    /// The tokenizer is not one that this crate can use.
    #[error("the tokenizer cannot be used: {0}")]
    Tokenizer(String),
    /// The device model failed.
    #[error("the device model failed")]
    Model(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A utility is not a number.
    #[error("a utility is not finite")]
    NotFinite,
    /// A position has too few or too many candidates to draw from.
    #[error("a position has {0} candidates; it takes 2 to 1048575 to draw from")]
    Candidates(usize),
    /// The files of the lexicon do not fit together.
    #[error("the lexicon cannot be used: {0}")]
    Lexicon(&'static str),
    /// A list of single words has something else on it.
    #[error(
        "the words to {0} must be single words: a phrase would make one word's level depend on another"
    )]
    Phrase(&'static str),
    /// The text is not written in the script of the list.
    #[error("most letters of the text are of a script that the word list does not have")]
    Script,
    /// There is no release where there should be one.
    #[error("nothing was released")]
    Nothing,
    /// Nobody waits for the release any more.
    #[error("the release was not wanted any more")]
    Unwanted,
    /// The operating system has no randomness to give.
    #[error("the operating system gave no randomness")]
    Entropy(#[source] rand::rngs::SysError),
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;
