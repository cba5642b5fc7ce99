//! Facts about words: common or not, a name, sensitive in itself.

/// The topic of a word, where that is sensitive in itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Illness, symptoms, treatment, drugs.
    Illness,
    /// The body.
    Body,
    /// Religion.
    Religion,
    /// Politics.
    Politics,
    /// Sexuality, gender identity, pregnancy.
    Sexuality,
    /// Crime and violence.
    Crime,
    /// A person's money.
    Money,
}

impl Class {
    /// All of them, with the letter of each in the data.
    const LETTERS: [(char, Self); 7] = [
        ('I', Self::Illness),
        ('B', Self::Body),
        ('R', Self::Religion),
        ('P', Self::Politics),
        ('X', Self::Sexuality),
        ('C', Self::Crime),
        ('M', Self::Money),
    ];

    /// The name in output.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Illness => "illness",
            Self::Body => "body",
            Self::Religion => "religion",
            Self::Politics => "politics",
            Self::Sexuality => "sexuality",
            Self::Crime => "crime",
            Self::Money => "money",
        }
    }
}

/// The facts about a word, a letter each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    pub(super) bits: u128,
}

impl Flags {
    /// The letter of words that can be drawn.
    pub(super) const LISTED: char = 'l';

    pub(super) fn parse(letters: &str) -> Option<Self> {
        letters.chars().try_fold(Self::default(), |flags, letter| {
            letter.is_ascii_alphanumeric().then(|| flags.with(letter))
        })
    }

    fn bit(letter: char) -> u128 {
        1 << (letter as u32 - '0' as u32)
    }

    pub(super) fn has(self, letter: char) -> bool {
        self.bits & Self::bit(letter) != 0
    }

    pub(super) fn with(self, letter: char) -> Self {
        Self { bits: self.bits | Self::bit(letter) }
    }

    /// A common word that is ordinary where it is written as it is here.
    pub(crate) fn is_common(self) -> bool {
        self.has('o')
    }

    /// Protected words are ranked among the listed words that have this not: it is one of the rest.
    pub(super) fn is_of_the_rest(self) -> bool {
        self.has('r')
    }

    /// Written with a capital it is more often a name.
    pub(crate) fn is_rather_a_name(self) -> bool {
        self.has('n')
    }

    /// It is no name even with a capital, wherever it stands: The, My, Please.
    pub(crate) fn is_never_a_name(self) -> bool {
        self.has('c')
    }

    /// A language, a programming language, a file format or well-known software.
    pub(crate) fn is_software(self) -> bool {
        self.has('k')
    }

    /// A given name or a family name.
    pub(crate) fn is_person(self) -> bool {
        ['f', 'm', 's'].iter().any(|&letter| self.has(letter))
    }

    /// Any name: of a person, a place or an organisation.
    #[must_use]
    pub fn is_name(self) -> bool {
        self.is_person() || self.has('p') || self.has('g')
    }

    /// The sensitive class, if any; the first of several.
    pub(crate) fn class(self) -> Option<Class> {
        Class::LETTERS.iter().find(|(letter, _)| self.has(*letter)).map(|&(_, class)| class)
    }
}
