//! The words that Cape knows: which of them can be drawn, which are ordinary, what they are, and a
//! vector for any string.
//!
//! The data lie in `crates/cape/lexicon`, made by the script in `lexicon/`, whose README says where
//! they come from. All of it is public.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use crate::writing::capitalised;
use crate::{Error, Result};

/// A known word that can be drawn, by its place on the list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Listed(pub u32);

impl Listed {
    /// As an index into rows.
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

/// What a word is about, where that is sensitive in itself.
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

    /// As it appears in output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
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

/// What is known of a word: a letter each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u128);

impl Flags {
    fn parse(letters: &str) -> Option<Self> {
        letters.chars().try_fold(Self(0), |flags, letter| {
            letter.is_ascii_alphanumeric().then(|| Self(flags.0 | Self::bit(letter)))
        })
    }

    fn bit(letter: char) -> u128 {
        1 << (letter as u32 - '0' as u32)
    }

    fn has(self, letter: char) -> bool {
        self.0 & Self::bit(letter) != 0
    }

    /// A common word that is ordinary where it is written as it is here.
    #[must_use]
    pub fn is_common(self) -> bool {
        self.has('o')
    }

    /// Written with a capital it is more often a name.
    #[must_use]
    pub fn is_rather_a_name(self) -> bool {
        self.has('n')
    }

    /// It is no name even with a capital, wherever it stands: The, My, Please.
    #[must_use]
    pub fn is_never_a_name(self) -> bool {
        self.has('c')
    }

    /// A language, a programming language, a file format or well-known software.
    #[must_use]
    pub fn is_software(self) -> bool {
        self.has('k')
    }

    /// A given name or a family name.
    #[must_use]
    pub fn is_person(self) -> bool {
        ['f', 'm', 's'].iter().any(|&letter| self.has(letter))
    }

    /// Any name: of a person, a place or an organisation.
    #[must_use]
    pub fn is_name(self) -> bool {
        self.is_person() || self.has('p') || self.has('g')
    }

    /// The sensitive class, if any; the first of several.
    #[must_use]
    pub fn class(self) -> Option<Class> {
        Class::LETTERS.iter().find(|(letter, _)| self.has(*letter)).map(|&(_, class)| class)
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

/// Rows of small integers.
#[derive(Clone)]
struct Table {
    data: Vec<i8>,
    dim: usize,
}

impl Table {
    /// From a file: eight letters, the numbers of rows and columns, and the rows.
    fn parse(bytes: &[u8], magic: [u8; 8]) -> Result<Self> {
        let bad = || Error::Lexicon("a table of vectors is not whole");
        let header = bytes.first_chunk::<16>().ok_or_else(bad)?;
        let number = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
                as usize
        };
        let (rows, dim) = (number(8), number(12));
        let data = &bytes[16..];
        if header[..8] != magic || dim == 0 || rows.checked_mul(dim) != Some(data.len()) {
            return Err(bad());
        }
        Ok(Self { data: data.iter().map(|&byte| byte.cast_signed()).collect(), dim })
    }

    fn rows(&self) -> usize {
        self.data.len() / self.dim
    }

    fn row(&self, i: usize) -> &[i8] {
        &self.data[i * self.dim..][..self.dim]
    }
}

/// The known words with their vectors.
#[derive(Clone)]
pub struct Lexicon {
    /// The words one after the other, as `entries` point into them.
    text: String,
    /// In order of their bytes.
    entries: Vec<Entry>,
    /// The entries in order of their folded form; of equal ones, capitals first.
    folded: Vec<(Box<str>, u32)>,
    /// The entry of each listed word.
    list: Vec<u32>,
    vectors: Table,
    ngrams: Table,
    /// The vectors of the listed words.
    candidates: Table,
    /// How long each of them is.
    lengths: Vec<f32>,
}

static EMBEDDED: LazyLock<Arc<Lexicon>> = LazyLock::new(|| {
    let files: [&[u8]; 3] = [
        include_bytes!("../lexicon/words.tsv"),
        include_bytes!("../lexicon/vectors.bin"),
        include_bytes!("../lexicon/ngrams.bin"),
    ];
    let words = std::str::from_utf8(files[0]).expect("the embedded words are UTF-8");
    Arc::new(Lexicon::new(words, files[1], files[2]).expect("the embedded lexicon is whole"))
});

impl Lexicon {
    /// The one in the binary.
    #[must_use]
    pub fn embedded() -> Arc<Self> {
        Arc::clone(&EMBEDDED)
    }

    /// From its three files: words with their letters, a line each and in order; their vectors; and the
    /// vectors of letter groups, for all other strings.
    pub fn new(words: &str, vectors: &[u8], ngrams: &[u8]) -> Result<Self> {
        let (vectors, ngrams) =
            (Table::parse(vectors, *b"CAPEVEC1")?, Table::parse(ngrams, *b"CAPENGR1")?);
        let mut text = String::with_capacity(words.len());
        let mut entries: Vec<Entry> = Vec::with_capacity(vectors.rows());
        let mut list = Vec::new();
        for line in words.lines() {
            let (word, letters) =
                line.split_once('\t').ok_or(Error::Lexicon("a line of the words has no tab"))?;
            let flags = Flags::parse(letters)
                .ok_or(Error::Lexicon("a word has flags that are no letters"))?;
            if entries.last().is_some_and(|last| &text[last.start as usize..] >= word) {
                return Err(Error::Lexicon("the words are not in order"));
            }
            let row = entries.len() as u32;
            let listed = flags.has('l').then_some(Listed(list.len() as u32));
            list.extend(listed.map(|_| row));
            let start = text.len() as u32;
            text.push_str(word);
            entries.push(Entry { start, end: text.len() as u32, flags, row, listed });
        }
        if entries.len() != vectors.rows() || vectors.dim != ngrams.dim || ngrams.rows() == 0 {
            return Err(Error::Lexicon("words and vectors do not fit together"));
        }
        if entries.iter().any(|entry| entry.flags.is_common() && entry.listed.is_none()) {
            return Err(Error::Lexicon("an ordinary word is not on the list"));
        }
        let empty = Table { data: Vec::new(), dim: vectors.dim };
        let lexicon = Self {
            text,
            entries,
            folded: Vec::new(),
            list,
            vectors,
            ngrams,
            candidates: empty,
            lengths: Vec::new(),
        };
        lexicon.indexed()
    }

    /// The same with these words on the list, as they are written here. Those that can be drawn already,
    /// in some case, change nothing.
    pub fn with_words(&self, words: &[String]) -> Result<Self> {
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
            Ok(i) => self.entries[i].flags.0 |= Flags::bit('l'),
            Err(i) => {
                let start = self.text.len() as u32;
                self.text.push_str(word);
                let row = self.vectors.rows() as u32;
                let vector = small(&self.letters(word));
                self.vectors.data.extend(vector);
                let flags = Flags(Flags::bit('l'));
                let end = self.text.len() as u32;
                self.entries.insert(i, Entry { start, end, flags, row, listed: None });
            }
        }
    }

    /// Makes what is derived from the entries.
    fn indexed(mut self) -> Result<Self> {
        self.list.clear();
        for (i, entry) in self.entries.iter_mut().enumerate() {
            entry.listed = entry.flags.has('l').then_some(Listed(self.list.len() as u32));
            self.list.extend(entry.listed.map(|_| i as u32));
        }
        let fold = |i: u32| (fold(self.text_of(&self.entries[i as usize])).into_boxed_str(), i);
        let mut folded: Vec<(Box<str>, u32)> = (0..self.entries.len() as u32).map(fold).collect();
        folded.sort();
        let rows = self.list.iter().map(|&i| self.entries[i as usize].row as usize);
        let data: Vec<i8> = rows.flat_map(|row| self.vectors.row(row)).copied().collect();
        let length = |row: &[i8]| dot(row, row).max(1.0).sqrt() as f32;
        self.lengths = data.chunks_exact(self.vectors.dim).map(length).collect();
        self.candidates = Table { data, dim: self.vectors.dim };
        self.folded = folded;
        crate::sample::check_candidates(self.list.len())?;
        Ok(self)
    }

    /// A number that changes with the words and their vectors.
    #[must_use]
    pub fn checksum(&self) -> u64 {
        let mut sum = ring::digest::Context::new(&ring::digest::SHA256);
        sum.update(self.text.as_bytes());
        for table in [&self.vectors, &self.ngrams] {
            sum.update(&table.data.iter().map(|v| v.cast_unsigned()).collect::<Vec<u8>>());
        }
        for entry in &self.entries {
            sum.update(&entry.flags.0.to_le_bytes());
        }
        sum.finish().as_ref()[..8].iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
    }

    /// How many words can be drawn.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it has two words at least")]
    pub fn len(&self) -> usize {
        self.list.len()
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

    /// What is known of a listed word.
    ///
    /// # Panics
    /// If there is no such word.
    #[must_use]
    pub fn flags_of(&self, listed: Listed) -> Flags {
        self.entries[self.list[listed.index()] as usize].flags
    }

    /// What is known of a word that is written exactly so.
    #[must_use]
    pub fn flags(&self, word: &str) -> Option<Flags> {
        self.find(word).ok().map(|i| self.entries[i].flags)
    }

    /// What is known of the words that differ from this folded form in case alone.
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
    #[must_use]
    pub fn listed_folded(&self, folded: &str) -> Option<Listed> {
        self.listed(folded).or_else(|| self.forms(folded).find_map(|entry| entry.listed))
    }

    /// One spelling for all strings that differ in case alone, but that with a capital anywhere and without
    /// may be two: the known word that it stands for, a listed one before others; else its lower case, with
    /// a capital at the beginning where it has any. Strings that nobody knows are mostly names, and a name
    /// is told by its capital.
    #[must_use]
    pub fn canonical(&self, word: &str) -> String {
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
        let query: Vec<i32> = match self.entry(word) {
            Some(entry) => {
                self.vectors.row(entry.row as usize).iter().map(|&v| i32::from(v)).collect()
            }
            None => self.letters(word),
        };
        let own: i64 = query.iter().map(|&v| i64::from(v).pow(2)).sum();
        let own = (own.max(1) as f64).sqrt() as f32;
        let rows = self.candidates.data.chunks_exact(self.candidates.dim).zip(&self.lengths);
        rows.map(|(row, length)| {
            // at most 64 letters with three groups each, and the shape: 200 rows below 2^7, and so below 2^29
            // with 128 dimensions of 2^7: exact in 32 bits
            let dot: i32 = row.iter().zip(&query).map(|(&a, &b)| i32::from(a) * b).sum();
            dot as f32 / (own * length)
        })
        .collect()
    }

    /// The sum of the vectors of a string's groups of letters and of its shape. It reads 64 bytes.
    fn letters(&self, word: &str) -> Vec<i32> {
        let mut sum = vec![0; self.ngrams.dim];
        let mut add = |group: &[u8]| {
            let row = self.ngrams.row(fnv(group) as usize % self.ngrams.rows());
            for (sum, &v) in sum.iter_mut().zip(row) {
                *sum += i32::from(v);
            }
        };
        let word = &word[..word.floor_char_boundary(MOST_BYTES)];
        let marked = format!("<{}>", word.to_lowercase());
        let starts: Vec<usize> =
            marked.char_indices().map(|(at, _)| at).chain([marked.len()]).collect();
        for n in 3..=5 {
            for ends in starts.windows(n + 1) {
                add(&marked.as_bytes()[ends[0]..ends[n]]);
            }
        }
        for _ in 0..SHAPE {
            add(shape(word).as_bytes());
        }
        sum
    }

    fn text_of(&self, entry: &Entry) -> &str {
        &self.text[entry.start as usize..entry.end as usize]
    }

    fn find(&self, word: &str) -> std::result::Result<usize, usize> {
        self.entries.binary_search_by(|entry| self.text_of(entry).cmp(word))
    }

    fn forms(&self, folded: &str) -> impl Iterator<Item = &Entry> {
        let from =
            self.folded.partition_point(|(form, _)| form.as_ref().cmp(folded) == Ordering::Less);
        let same = self.folded[from..].iter().take_while(move |(form, _)| form.as_ref() == folded);
        same.map(|&(_, i)| &self.entries[i as usize])
    }
}

/// How often a string's shape counts beside its groups of letters.
const SHAPE: usize = 8;

/// How many bytes of a string its vector is made of.
const MOST_BYTES: usize = 64;

/// A word without its case, with the plain apostrophe.
#[must_use]
pub fn fold(word: &str) -> String {
    plain(word).to_lowercase()
}

/// A word with the plain apostrophe.
pub(crate) fn plain(word: &str) -> String {
    word.replace('’', "'")
}

/// What is to be seen of a string that is known by its letters alone.
fn shape(word: &str) -> &'static str {
    let letters = || word.chars().filter(|c| c.is_alphabetic());
    if word.bytes().any(|b| b.is_ascii_digit()) {
        "^0"
    } else if letters().count() >= 2 && letters().all(char::is_uppercase) {
        "^AA"
    } else if word.chars().next().is_some_and(char::is_uppercase) {
        "^Aa"
    } else {
        "^aa"
    }
}

/// FNV-1a of 32 bits.
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn dot(a: &[i8], b: &[i8]) -> f64 {
    let sum: i32 = a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
    f64::from(sum)
}

/// A vector in the range of the stored ones.
fn small(vector: &[i32]) -> Vec<i8> {
    let most = vector.iter().map(|v| v.unsigned_abs()).max().unwrap_or(0).max(1);
    vector.iter().map(|&v| (i64::from(v) * 127 / i64::from(most)) as i8).collect()
}

/// Small lexicons for tests.
#[cfg(test)]
pub(crate) mod small {
    use std::sync::Arc;

    use super::Lexicon;

    /// The files of these words, with vectors that are made from their letters.
    pub(crate) fn lexicon(words: &[(&str, &str)]) -> Arc<Lexicon> {
        let mut words = words.to_vec();
        words.sort_unstable();
        let lines: String =
            words.iter().flat_map(|(word, flags)| [*word, "\t", *flags, "\n"]).collect();
        let number = |i: u8, word: &str| super::fnv(format!("{i}{word}").as_bytes()) as u8;
        let numbers = |word: &str| [0, 1, 2, 3].map(|i| number(i, word));
        let vectors = words.iter().flat_map(|(word, _)| numbers(word)).collect();
        let ngrams = (0..7).flat_map(|i: u8| numbers(&i.to_string())).collect();
        let file = |magic: &[u8], rows: usize, data: Vec<u8>| {
            let sizes = [rows as u32, 4].map(u32::to_le_bytes).concat();
            [magic.to_vec(), sizes, data].concat()
        };
        let vectors = file(b"CAPEVEC1", words.len(), vectors);
        Arc::new(Lexicon::new(&lines, &vectors, &file(b"CAPENGR1", 7, ngrams)).unwrap())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_by_case_and_without() {
        let lexicon = small::lexicon(&[
            ("will", "lo"),
            ("Will", "lm"),
            ("US", "lp"),
            ("us", "lo"),
            ("rare", ""),
        ]);
        assert_eq!(lexicon.len(), 4);
        let listed = |word| lexicon.listed(word).map(|at| lexicon.word(at).to_owned());
        assert_eq!(listed("Will").as_deref(), Some("Will"));
        assert_eq!((listed("WILL"), listed("rare")), (None, None));
        let folded = |word| lexicon.listed_folded(word).map(|at| lexicon.word(at).to_owned());
        assert_eq!(
            (folded("will").as_deref(), folded("us").as_deref()),
            (Some("will"), Some("us"))
        );
        // listed words before others, then those that have a capital as the string has
        for (word, canonical) in [
            ("WILL", "Will"),
            ("will", "will"),
            ("Us", "US"),
            ("RARE", "rare"),
            ("wills", "wills"),
            ("WILLS", "Wills"),
        ] {
            assert_eq!(lexicon.canonical(word), canonical);
        }
        assert_eq!(folded("rare"), None);
        let forms: Vec<&str> = lexicon.case_forms("us").map(|(form, _)| form).collect();
        assert_eq!(forms, ["US", "us"]);
        assert!(lexicon.flags("us").unwrap().is_common() && lexicon.flags("Us").is_none());
    }

    #[test]
    fn any_string_has_a_vector_and_long_ones_are_cut() {
        let lexicon = small::lexicon(&[("a", "lo"), ("b", "lo"), ("c", "l")]);
        let finite = |word: &str| lexicon.similarities(word).iter().all(|s| s.is_finite());
        for word in ["", "x", "Krzysztof", "😀", "ß", "İ", "e\u{301}", &"é".repeat(900)] {
            assert!(finite(word));
        }
        let long = "x".repeat(64);
        assert_eq!(lexicon.similarities(&long), lexicon.similarities(&format!("{long}yz")));
        // one is as near to itself as can be
        let own = lexicon.similarities("b")[1];
        assert!((own - 1.0).abs() < 1e-6);
    }

    #[test]
    fn words_can_be_added_once() {
        let lexicon = small::lexicon(&[("a", "lo"), ("b", "lo"), ("rare", "I")]);
        let words = ["Kubernetes", "A", "rare", "kubernetes"].map(str::to_owned);
        let more = lexicon.with_words(&words).unwrap();
        let all: Vec<&str> = (0..more.len() as u32).map(|i| more.word(Listed(i))).collect();
        assert_eq!(all, ["Kubernetes", "a", "b", "rare"]);
        assert!((more.similarities("Kubernetes")[0] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn broken_files_are_refused() {
        let table = |magic: &[u8], rows: u32, data: &[u8]| {
            [magic, &rows.to_le_bytes(), &1_u32.to_le_bytes(), data].concat()
        };
        let (vectors, ngrams) = (table(b"CAPEVEC1", 2, &[1, 2]), table(b"CAPENGR1", 1, &[1]));
        assert!(Lexicon::new("a\tl\nb\tl\n", &vectors, &ngrams).is_ok());
        for (words, vectors, ngrams) in [
            ("a\tl\n", &vectors, &ngrams),
            ("b\tl\na\tl\n", &vectors, &ngrams),
            ("a\tl\na\tl\n", &vectors, &ngrams),
            ("a l\nb\tl\n", &vectors, &ngrams),
            ("a\tl!\nb\tl\n", &vectors, &ngrams),
            ("a\to\nb\tl\n", &vectors, &ngrams),
            ("a\tl\nb\t\n", &vectors, &ngrams),
            ("a\tl\nb\tl\n", &table(b"CAPEVEC1", 3, &[1, 2]), &ngrams),
            ("a\tl\nb\tl\n", &table(b"CAPEVEC2", 2, &[1, 2]), &ngrams),
            ("a\tl\nb\tl\n", &vectors, &table(b"CAPENGR1", 0, &[])),
            ("a\tl\nb\tl\n", &vectors, &vec![0; 3]),
        ] {
            assert!(Lexicon::new(words, vectors, ngrams).is_err(), "{words}");
        }
    }

    #[test]
    fn the_embedded_lexicon_is_whole() {
        let lexicon = Lexicon::embedded();
        for i in 0..lexicon.len() as u32 {
            let word = lexicon.word(Listed(i));
            assert_eq!(lexicon.listed(word), Some(Listed(i)));
            let letters = |c: char| c.is_ascii_alphabetic() || c == '\'' || c == '-';
            assert!(word.chars().all(letters) && !word.to_lowercase().ends_with("'s"), "{word}");
            // after an apostrophe they would be read as what is left of "is" or "are"
            assert!(!["s", "n't", "re", "ve", "ll", "d", "m", "t"].contains(&word), "{word}");
        }
    }
}
