use super::*;

#[test]
fn words_are_found_by_case_and_without() {
    let lexicon =
        small::lexicon(&[("will", "lo"), ("Will", "lm"), ("US", "lp"), ("us", "lo"), ("rare", "")]);
    assert_eq!(lexicon.len(), 4);
    let listed = |word| lexicon.listed(word).map(|at| lexicon.word(at).to_owned());
    assert_eq!(listed("Will").as_deref(), Some("Will"));
    assert_eq!((listed("WILL"), listed("rare")), (None, None));
    let folded = |word| lexicon.listed_folded(word).map(|at| lexicon.word(at).to_owned());
    assert_eq!((folded("will").as_deref(), folded("us").as_deref()), (Some("will"), Some("us")));
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
    assert!(Lexicon::new("a\tl\nb\tl\n", vectors.clone(), ngrams.clone()).is_ok());
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
        assert!(Lexicon::new(words, vectors.clone(), ngrams.clone()).is_err(), "{words}");
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
