//! The words that Cape knows: which of them can be drawn, which are ordinary, what they are, and a
//! vector for any string.
//!
//! The data lie in `crates/cape/lexicon`, made by the script in `lexicon/`, whose README says where
//! they come from. All of it is public.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, LazyLock, OnceLock};

use crate::writing::{capitalised, is_article};
use crate::{Error, Result};

mod flags;
#[cfg(test)]
pub(crate) mod small;
#[cfg(test)]
mod tests;
mod vectors;

pub use flags::{Class, Flags};
use vectors::Vectors;

/// A known word that can be drawn, by its place on the list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Listed(pub u32);

impl Listed {
    /// The index into rows.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Debug for Listed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listed")
    }
}

/// One known word.
#[derive(Clone)]
struct Entry {
    start: u32,
    end: u32,
    flags: Flags,
    /// The row of its vector.
    row: u32,
    /// Its place on the list, if it can be drawn.
    listed: Option<Listed>,
}

/// The known words with their vectors.
#[derive(Clone)]
pub struct Lexicon {
    /// The words one after the other, as `entries` point into them.
    text: String,
    /// Sorted by their bytes.
    entries: Vec<Entry>,
    /// The folded forms of the entries, one after the other.
    folded: String,
    /// The entries in order of their folded form, which they come with; of equal ones, capitals first.
    by_form: Vec<(Range<u32>, u32)>,
    /// The entry of each listed word: the substitutes, then the rest.
    list: Vec<u32>,
    /// How many of them are substitutes.
    substitutes: usize,
    vectors: Vectors,
    checksum: OnceLock<u64>,
}

static EMBEDDED: LazyLock<Arc<Lexicon>> = LazyLock::new(|| {
    let words = include_str!("../lexicon/words.tsv");
    let vectors: &[u8] = include_bytes!("../lexicon/vectors.bin");
    let ngrams: &[u8] = include_bytes!("../lexicon/ngrams.bin");
    Arc::new(Lexicon::new(words, vectors, ngrams).expect("the embedded lexicon is whole"))
});

impl Lexicon {
    /// The one in the binary.
    #[must_use]
    pub fn embedded() -> Arc<Self> {
        Arc::clone(&EMBEDDED)
    }

    /// Reads the three files: words with their letters, a line each and in order; their vectors; and the
    /// vectors of letter groups, for all other strings.
    pub fn new(
        words: &str,
        vectors: impl Into<Cow<'static, [u8]>>,
        ngrams: impl Into<Cow<'static, [u8]>>,
    ) -> Result<Self> {
        let vectors = Vectors::parse(vectors.into(), ngrams.into())?;
        let mut text = String::with_capacity(words.len());
        let mut entries: Vec<Entry> = Vec::with_capacity(vectors.rows());
        for line in words.lines() {
            let (word, letters) =
                line.split_once('\t').ok_or(Error::Lexicon("a line of the words has no tab"))?;
            let flags = Flags::parse(letters)
                .ok_or(Error::Lexicon("a word has flags that are no letters"))?;
            if entries.last().is_some_and(|last| &text[last.start as usize..] >= word) {
                return Err(Error::Lexicon("the words are not in order"));
            }
            let row = entries.len() as u32;
            let start = text.len() as u32;
            text.push_str(word);
            entries.push(Entry { start, end: text.len() as u32, flags, row, listed: None });
        }
        if entries.len() != vectors.rows() {
            return Err(Error::Lexicon("words and vectors do not fit together"));
        }
        if entries.iter().any(|entry| entry.flags.is_common() && !entry.flags.has(Flags::LISTED)) {
            return Err(Error::Lexicon("an ordinary word is not on the list"));
        }
        Self {
            text,
            entries,
            folded: String::new(),
            by_form: Vec::new(),
            list: Vec::new(),
            substitutes: 0,
            vectors,
            checksum: OnceLock::new(),
        }
        .indexed()
    }

    /// A lexicon with these words on the list, as they are written here. Those that can be drawn already,
    /// in some case, change nothing.
    pub(crate) fn with_words(&self, words: &[String]) -> Result<Self> {
        let mut more = self.clone();
        for word in words {
            if more.listed_folded(&fold(word)).is_none() {
                more.add(&plain(word));
                more = more.indexed()?;
            }
        }
        Ok(more)
    }

    fn add(&mut self, word: &str) {
        match self.find(word) {
            Ok(i) => self.entries[i].flags = self.entries[i].flags.with(Flags::LISTED),
            Err(i) => {
                let start = self.text.len() as u32;
                self.text.push_str(word);
                let row = self.vectors.push(word) as u32;
                let flags = Flags::default().with(Flags::LISTED);
                let end = self.text.len() as u32;
                self.entries.insert(i, Entry { start, end, flags, row, listed: None });
            }
        }
    }

    /// Derives the list and the indices from the entries.
    fn indexed(mut self) -> Result<Self> {
        let listed =
            (0_u32..).zip(&self.entries).filter(|(_, entry)| entry.flags.has(Flags::LISTED));
        let (rest, substitutes): (Vec<_>, Vec<_>) =
            listed.map(|(i, _)| i).partition(|&i| self.entries[i as usize].flags.is_of_the_rest());
        self.substitutes = substitutes.len();
        self.list = [substitutes, rest].concat();
        for (listed, &i) in (0..).zip(&self.list) {
            self.entries[i as usize].listed = Some(Listed(listed));
        }
        let mut folded = String::with_capacity(self.text.len());
        let mut form = |i: u32| {
            let start = folded.len() as u32;
            folded.push_str(&fold(self.text_of(&self.entries[i as usize])));
            (start..folded.len() as u32, i)
        };
        let mut by_form: Vec<_> = (0..self.entries.len() as u32).map(&mut form).collect();
        let form = |range: &Range<u32>| &folded[range.start as usize..range.end as usize];
        by_form.sort_by_key(|(range, _)| form(range));
        self.vectors.list(self.list.iter().map(|&i| self.entries[i as usize].row as usize));
        (self.folded, self.by_form) = (folded, by_form);
        self.checksum = OnceLock::new();
        crate::sample::check_candidates(self.list.len())?;
        crate::sample::check_candidates(self.substitutes)?;
        Ok(self)
    }

    /// A number that changes with the words and their vectors.
    #[must_use]
    pub fn checksum(&self) -> u64 {
        *self.checksum.get_or_init(|| {
            let mut sum = ring::digest::Context::new(&ring::digest::SHA256);
            sum.update(self.text.as_bytes());
            for bytes in self.vectors.bytes() {
                sum.update(bytes);
            }
            for entry in &self.entries {
                sum.update(&entry.flags.bits.to_le_bytes());
            }
            sum.finish().as_ref()[..8].iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
        })
    }

    /// The largest number of listed words that differ in case alone. At first places they are written alike, and
    /// "a" and "an" are written by what follows.
    pub(crate) fn alike(&self) -> usize {
        let (mut most, mut articles) = (1, 0);
        for forms in self.by_form.chunk_by(|(a, _), (b, _)| self.form(a) == self.form(b)) {
            let listed = |(_, i): &&(_, u32)| self.entries[*i as usize].listed.is_some();
            let count = forms.iter().filter(listed).count();
            if is_article(self.form(&forms[0].0)) {
                articles += count;
            }
            most = most.max(count);
        }
        most.max(articles)
    }

    /// How many words can be drawn.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it has two words at least")]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// How many of these are substitutes, which protected words are ranked among. They have the first places on the list.
    #[must_use]
    pub fn substitutes(&self) -> usize {
        self.substitutes
    }

    /// All known words, listed or not, in order.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| self.text_of(entry))
    }

    /// A listed word, as it is written.
    ///
    /// # Panics
    /// If there is no such word.
    #[must_use]
    pub fn word(&self, listed: Listed) -> &str {
        self.text_of(&self.entries[self.list[listed.index()] as usize])
    }

    /// The facts about a listed word.
    ///
    /// # Panics
    /// If there is no such word.
    #[must_use]
    pub fn flags_of(&self, listed: Listed) -> Flags {
        self.entries[self.list[listed.index()] as usize].flags
    }

    /// The facts about a word that is written exactly so.
    #[must_use]
    pub fn flags(&self, word: &str) -> Option<Flags> {
        self.find(word).ok().map(|i| self.entries[i].flags)
    }

    /// The words that differ from this folded form in case alone, with the facts about them.
    pub fn case_forms(&self, folded: &str) -> impl Iterator<Item = (&str, Flags)> {
        self.forms(folded).map(|entry| (self.text_of(entry), entry.flags))
    }

    /// The place on the list of a word that is written exactly so.
    #[must_use]
    pub fn listed(&self, word: &str) -> Option<Listed> {
        self.find(word).ok().and_then(|i| self.entries[i].listed)
    }

    /// The place on the list of a word that differs from this folded form in case alone: the one in
    /// lower case if there is one, else the first.
    pub(crate) fn listed_folded(&self, folded: &str) -> Option<Listed> {
        self.listed(folded).or_else(|| self.forms(folded).find_map(|entry| entry.listed))
    }

    /// One spelling for all strings that differ in case alone, but that with a capital anywhere and without
    /// may be two: the known word that it stands for, a listed one before others; else its lower case, with
    /// a capital at the beginning where it has any. Strings that nobody knows are mostly names, and a name
    /// is told by its capital.
    pub(crate) fn canonical(&self, word: &str) -> String {
        let has_capital = |word: &str| word.chars().any(char::is_uppercase);
        let (folded, capital) = (fold(word), has_capital(word));
        let fit =
            |entry: &&Entry| (entry.listed.is_none(), has_capital(self.text_of(entry)) != capital);
        match self.forms(&folded).min_by_key(fit) {
            Some(entry) => self.text_of(entry).to_owned(),
            None if capital => capitalised(&folded),
            None => folded,
        }
    }

    /// The known word that a string stands for: the same, or one that differs in case alone, in lower
    /// case if there is one.
    fn entry(&self, word: &str) -> Option<&Entry> {
        let exactly = |word: &str| self.find(word).ok().map(|i| &self.entries[i]);
        let folded = fold(word);
        exactly(word).or_else(|| exactly(&folded)).or_else(|| self.forms(&folded).next())
    }

    /// How similar each listed word is to a string: cosines, from exact integers. The string counts as
    /// the word that it stands for, if there is one, and else by its letters.
    #[must_use]
    pub fn similarities(&self, word: &str) -> Vec<f32> {
        let query = match self.entry(word) {
            Some(entry) => self.vectors.of_row(entry.row as usize),
            None => self.vectors.of_letters(word),
        };
        self.vectors.cosines(&query, self.len())
    }

    /// How well each of the first `count` listed words stands in the place of a string. That is how similar they are, but the tone of a
    /// known word counts more unless it is sensitive in itself: of "dull" a reader wants to know that it is no praise, of an
    /// illness that it is an illness.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    pub fn fitness(&self, count: usize, word: &str) -> Vec<f32> {
        let query = match self.entry(word) {
            Some(entry) if entry.flags.class().is_none() => {
                self.vectors.of_row_with_tone(entry.row as usize)
            }
            Some(entry) => self.vectors.of_row(entry.row as usize),
            None => self.vectors.of_letters(word),
        };
        self.vectors.cosines(&query, count)
    }

    fn text_of(&self, entry: &Entry) -> &str {
        &self.text[entry.start as usize..entry.end as usize]
    }

    fn find(&self, word: &str) -> std::result::Result<usize, usize> {
        self.entries.binary_search_by(|entry| self.text_of(entry).cmp(word))
    }

    fn forms(&self, folded: &str) -> impl Iterator<Item = &Entry> {
        let from = self.by_form.partition_point(|(form, _)| self.form(form) < folded);
        let same =
            self.by_form[from..].iter().take_while(move |(form, _)| self.form(form) == folded);
        same.map(|&(_, i)| &self.entries[i as usize])
    }

    fn form(&self, range: &Range<u32>) -> &str {
        &self.folded[range.start as usize..range.end as usize]
    }
}

/// A word without its case, with the plain apostrophe.
#[must_use]
pub fn fold(word: &str) -> String {
    if word.is_ascii() { word.to_ascii_lowercase() } else { plain(word).to_lowercase() }
}

/// A word with the plain apostrophe.
pub(crate) fn plain(word: &str) -> String {
    word.replace('’', "'")
}
