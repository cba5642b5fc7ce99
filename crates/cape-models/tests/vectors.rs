//! Word vectors: every format gives the same ones, and whatever is wrong with a file is named.

use std::io::Write;
use std::path::{Path, PathBuf};

use cape_models::{Error, SkippedWords, Vectors};
use half::f16;
use proptest::prelude::*;
use tempfile::TempDir;

/// Numbers that f16 can hold.
const ROWS: [(&str, [f32; 3]); 4] = [
    ("the", [0.5, -1.25, 3.0]),
    ("7", [0.0, 0.125, -0.0625]),
    ("naïve", [1.0, 2.0, -4.0]),
    (".", [-0.75, 100.0, 0.25]),
];

fn load(path: &Path) -> cape_models::Result<Vectors> {
    Vectors::load(path, &mut |_| ())
}

fn put(dir: &TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn text(header: bool, end: &str) -> String {
    let mut text = if header { format!("4 3{end}") } else { String::new() };
    for (word, row) in ROWS {
        text += &[word, " ", &row.map(|x| x.to_string()).join(" "), end].concat();
    }
    text
}

fn binary(end: &str) -> Vec<u8> {
    let mut bytes = b"4 3\n".to_vec();
    for (word, row) in ROWS {
        bytes.extend(format!("{word} ").as_bytes());
        bytes.extend(row.iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend(end.as_bytes());
    }
    bytes
}

fn npy(version: u8, descr: &str, shape: &str, numbers: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}   \n");
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((dict.len() as u16).to_le_bytes()),
        _ => bytes.extend((dict.len() as u32).to_le_bytes()),
    }
    bytes.extend(dict.as_bytes());
    bytes.extend(numbers);
    bytes
}

/// The same array, column by column.
fn fortran(array: &[u8]) -> Vec<u8> {
    let at = array.windows(5).position(|w| w == b"False").unwrap();
    [&array[..at], b"True ", &array[at + 5..]].concat()
}

fn numbers<const N: usize>(bytes: impl Fn(f32) -> [u8; N]) -> Vec<u8> {
    ROWS.iter().flat_map(|(_, row)| row).flat_map(|&x| bytes(x)).collect()
}

fn list() -> String {
    ROWS.map(|(word, _)| word).join("\n")
}

#[track_caller]
fn is_rows(vectors: &Vectors) {
    assert!(vectors.words.iter().eq(ROWS.iter().map(|row| row.0)));
    assert_eq!(vectors.rows.data(), ROWS.map(|row| row.1).concat());
    assert_eq!((vectors.rows.dim(), vectors.skipped), (3, SkippedWords::default()));
    assert_eq!(vectors.words.find("naïve"), Some(2));
}

/// The message about a file.
#[track_caller]
fn why(path: &Path) -> String {
    match load(path) {
        Err(Error::Vectors { path: named, why }) => {
            assert_eq!(named, path);
            assert!(!path.with_file_name("x.cape").exists());
            why
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was taken"),
    }
}

#[test]
fn every_format_gives_the_same_vectors() {
    let dir = tempfile::tempdir().unwrap();
    let f32s = numbers(f32::to_le_bytes);
    let f16s = numbers(|x| f16::from_f32(x).to_le_bytes());
    let f64s = numbers(|x| f64::from(x).to_le_bytes());
    let columns: Vec<u8> =
        (0..3).flat_map(|i| ROWS.iter().flat_map(move |(_, row)| row[i].to_le_bytes())).collect();
    let mut sums = Vec::new();
    for (at, bytes) in [
        text(false, "\n").into_bytes(),
        text(false, "\r\n").into_bytes(),
        text(true, "\n").into_bytes(),
        text(true, " \n").into_bytes(),
        text(true, "\r\n").into_bytes(),
        text(false, "\n").replace(' ', "\t").into_bytes(),
        text(false, "\n").trim_end().into(),
        text(false, "\n\n").into_bytes(),
        format!("\u{feff}{}", text(false, "\n")).into_bytes(),
        format!("\u{feff}{}", text(true, "\n")).into_bytes(),
        binary(""),
        binary("\n"),
        npy(1, "<f4", "(4, 3)", &f32s),
        npy(2, "<f2", "(4, 3)", &f16s),
        npy(3, "<f8", "(4, 3)", &f64s),
        fortran(&npy(1, "<f4", "(4, 3)", &columns)),
    ]
    .into_iter()
    .enumerate()
    {
        // the name says nothing
        let path = put(&dir, &format!("{at}.bin"), bytes);
        put(&dir, &format!("{at}.txt"), list());
        let vectors = load(&path).unwrap_or_else(|error| panic!("{at}: {error}"));
        is_rows(&vectors);
        sums.push(vectors.checksum);
    }
    assert!(sums.iter().all(|sum| *sum == sums[0]));
    let other = load(&put(&dir, "other", text(false, "\n").replace("the", "The"))).unwrap();
    assert_ne!(other.checksum, sums[0]);
}

#[test]
fn lists_of_words_may_end_in_any_way() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = npy(1, "<f4", "(4, 3)", &numbers(f32::to_le_bytes));
    for (at, list) in
        [list() + "\n", list().replace('\n', "\r\n"), list().replace('\n', "\r\n") + "\r\n"]
            .into_iter()
            .enumerate()
    {
        put(&dir, &format!("{at}.txt"), list);
        is_rows(&load(&put(&dir, &format!("{at}.npy"), &bytes)).unwrap());
    }
}

#[test]
fn words_that_cannot_be_drawn_are_left_out_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = text(false, "\n").into_bytes();
    bytes.extend(b"the 9 9 9\n. . . 1 2 3\nat name@domain.com 1 2 3\n 1 2 3\n");
    bytes.extend("a\u{a0}b 1 2 3\nc\u{85}d 1 2 3\ne\u{7}f 1 2 3\n".as_bytes());
    bytes.extend(b"\xff\xfe 1 2 3\n\xc3 1 2 3\n7 1 2 3\nend 1 2 3\n");
    for again in [false, true] {
        let vectors = load(&put(&dir, "x", &bytes)).unwrap();
        assert_eq!(vectors.words.len(), 5, "{again}");
        assert_eq!(vectors.words.get(4), "end");
        assert_eq!(vectors.rows.data()[..3], ROWS[0].1);
        assert_eq!(vectors.rows.data()[12..], [1.0, 2.0, 3.0]);
        assert_eq!(vectors.skipped, SkippedWords { duplicates: 2, unfit: 6, not_utf8: 2 });
    }
}

#[test]
fn what_is_wrong_with_a_text_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let long = format!("{}{}\n", text(false, "\n"), "x".repeat(2 << 20));
    let wide = |dim: usize| format!("a{}\n", " 1".repeat(dim));
    for (bytes, wanted) in [
        ("", "it is empty"),
        ("\n\r\n \n", "it has no words"),
        ("Some text\nof two lines\n", "line 1 is not a word"),
        ("\nword\n", "line 2 is not a word"),
        ("a 1 2\nb 1\n", "line 2 has fewer than 2 numbers"),
        ("a 1 2\nb 1 2\nc 1 2 3\n", "line 3 has more than 2 numbers"),
        ("a 1 2\n\nb 1 x\n", "line 3: field 2 after the word is not a number"),
        ("a 1 2\nb nan 1\n", "line 2: the number at place 1 is not finite"),
        ("a 1 2\nb 1 -inf\n", "line 2: the number at place 2 is not finite"),
        ("a 1 2\nb 1 1e39\n", "line 2: the number at place 2 is not finite"),
        ("a 1 2\nb 1 2\nc 1", "line 3 has fewer than 2 numbers"),
        (&long, "line 5 is longer than"),
        (&wide(Vectors::LARGEST_DIM + 1), "4097 numbers"),
        (" 1 2\n  1 2\n", "no word that could be used"),
        ("3 2\na 1 2\nb 1 2\n", "3 words, but it ends after 2"),
        ("1 2\na 1 2\nb 1 2\n", "1 words, but there are more"),
        ("2 3\na 1 2\nb 1 2\n", "line 2 has fewer than 3 numbers"),
        ("0 3\n", "promises no words"),
        ("3 0\na\nb\nc\n", "promises no words"),
        ("3 5000\na 1 2\n", "promises more than"),
        ("16000001 2\na 1 2\n", "promises more than"),
        ("99999999999999999999999 2\na 1 2\n", "promises more than"),
        ("16000000 4096\na 1 2\n", "bytes cannot hold"),
        ("2 300\n", "bytes cannot hold"),
    ] {
        let said = why(&put(&dir, "x", bytes));
        assert!(said.contains(wanted), "{said}, not {wanted}");
    }
    assert_eq!(
        load(&put(&dir, "x", wide(Vectors::LARGEST_DIM))).unwrap().rows.dim(),
        Vectors::LARGEST_DIM
    );
}

#[test]
fn a_wrong_line_is_numbered_however_far_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let row = " -0.123456".repeat(100);
    // more than one block, and many pieces
    for line in 1..=12_000 {
        let row = if line == 11_111 { &row[1..] } else { &row };
        writeln!(file, "w{line}{row}").unwrap();
    }
    file.into_inner().unwrap();
    assert_eq!(why(&path), "line 11111 has fewer than 100 numbers");
}

#[test]
fn a_text_of_many_blocks_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let count = 30_000;
    for word in 0..count {
        write!(file, "w{word}").unwrap();
        for place in 0..100 {
            write!(file, " {}", f64::from(word * 100 + place) / 64.0).unwrap();
        }
        writeln!(file).unwrap();
    }
    file.into_inner().unwrap();
    assert!(path.metadata().unwrap().len() > 3 * (8 << 20));
    for _ in 0..2 {
        let vectors = load(&path).unwrap();
        assert_eq!(vectors.words.len(), count as usize);
        assert!(vectors.words.iter().enumerate().all(|(at, word)| word == format!("w{at}")));
        assert!((0..).zip(vectors.rows.data()).all(|(at, &x)| x == (f64::from(at) / 64.0) as f32));
    }
}

#[test]
fn what_is_wrong_with_a_binary_file_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let right = binary("\n");
    let mut infinite = right.clone();
    infinite[8 + 4..8 + 8].copy_from_slice(&f32::INFINITY.to_le_bytes());
    let no_space = [&b"1 2\n\x01"[..], &b"x".repeat(3 << 20)].concat();
    for (bytes, wanted) in [
        (&right[..right.len() - 2], "it ends within word 4 of 4"),
        (&right[..30], "bytes cannot hold"),
        (&infinite, "word 1: the number at place 2 is not finite"),
        (&[&right[..], b"x"].concat(), "4 words, but there are more"),
        (&no_space, "word 1 is longer than"),
        (&[b"1000000 300\n", &right[4..]].concat(), "bytes cannot hold"),
    ] {
        let said = why(&put(&dir, "x", bytes));
        assert!(said.contains(wanted), "{said}, not {wanted}");
    }
    // an empty word is none, and shifts nothing
    let mut empty = binary("\n");
    empty[0] = b'5';
    empty.extend(b" ");
    empty.extend([0; 12]);
    let vectors = load(&put(&dir, "x", empty)).unwrap();
    assert_eq!((vectors.words.len(), vectors.skipped.unfit), (4, 1));
}

#[test]
fn what_is_wrong_with_an_array_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let f32s = numbers(f32::to_le_bytes);
    let right = npy(1, "<f4", "(4, 3)", &f32s);
    let path = put(&dir, "x", &right);
    assert_eq!(why(&path), "its words should be in x.txt beside it, one a line");
    put(&dir, "x.txt", "a\nb\nc\n");
    assert_eq!(why(&path), "it has 4 rows, but its list has 3 words");
    put(&dir, "x.txt", list());
    let nan = [&f32s[..20], &f32::NAN.to_le_bytes(), &f32s[24..]].concat();
    let vast = 1e300_f64.to_le_bytes().repeat(12);
    for (bytes, wanted) in [
        (&right[..right.len() - 1], "should have"),
        (&[&right[..], b"\n"].concat(), "should have"),
        (&right[..20], "header is broken"),
        (&right[..7], "version"),
        (&npy(4, "<f4", "(4, 3)", &f32s), "version"),
        (&npy(1, ">f4", "(4, 3)", &f32s), "none of"),
        (&npy(1, "<f4", "(12,)", &f32s), "rows and columns"),
        (&npy(1, "<f4", "(16000000, 4096)", &f32s), "should have"),
        (&npy(1, "<f4", "(4, 3)", &nan), "row 2: the number at place 3 is not finite"),
        (&npy(1, "<f8", "(4, 3)", &vast), "row 1: the number at place 1 is not finite"),
    ] {
        let said = why(&put(&dir, "x", bytes));
        assert!(said.contains(wanted), "{said}, not {wanted}");
    }
}

#[test]
fn packed_files_and_no_files_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    for magic in [&b"\x1f\x8b\x08\0"[..], b"PK\x03\x04", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"] {
        assert!(why(&put(&dir, "x", magic)).contains("unpack it first"));
    }
    assert!(matches!(load(&dir.path().join("none")), Err(Error::Io { .. })));
    assert!(matches!(load(dir.path()), Err(Error::Io { .. })));
}

/// Bytes that get past the first look: a beginning of some format, with anything behind it.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let start = prop_oneof![
        Just(Vec::new()),
        Just(b"2 2\n".to_vec()),
        Just(b"1 1\n\x01 ".to_vec()),
        Just(b"a 1 2\n".to_vec()),
        Just(b"\x93NUMPY\x01\0".to_vec()),
        Just(b"CAPEVEC\x01".to_vec()),
        Just(npy(1, "<f2", "(1, 2)", &[])),
        Just(text(true, "\n").into_bytes()),
        Just(binary("\n")),
    ];
    let rest = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..300),
        "[ab 0-9.e\n\r\t-]{0,100}".prop_map(String::into_bytes),
        "\\PC{0,50}".prop_map(String::into_bytes),
    ];
    (start, rest, any::<proptest::sample::Index>(), any::<bool>()).prop_map(
        |(start, rest, at, cut)| {
            let mut bytes = [start, rest].concat();
            if cut && !bytes.is_empty() {
                bytes.truncate(at.index(bytes.len()));
            }
            bytes
        },
    )
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in bytes(), list in proptest::option::of("[ab\n]{0,4}")) {
        let dir = tempfile::tempdir().unwrap();
        let path = put(&dir, "x.npy", bytes);
        if let Some(list) = list {
            put(&dir, "x.txt", list);
        }
        if let Ok(first) = load(&path) {
            let second = load(&path).unwrap();
            prop_assert_eq!(first.checksum, second.checksum);
            prop_assert_eq!(first.skipped, second.skipped);
            prop_assert_eq!(first.rows.data(), second.rows.data());
            prop_assert!(first.words.iter().eq(second.words.iter()));
            prop_assert_eq!(first.rows.data().len(), first.words.len() * first.rows.dim());
        }
    }
}
