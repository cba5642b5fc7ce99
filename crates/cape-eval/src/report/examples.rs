//! Prompts beside their releases.

use super::Example;
use super::table::{Cell, Table, short};

/// The releases of one prompt by ε, with the words marked that are new.
pub(super) fn table(example: &Example) -> Table {
    let mut table = Table::new(&example.original, ["ε", "mechanism", "released"]);
    let mut rows: Vec<_> = example.rows.iter().collect();
    rows.sort_by(|a, b| a.epsilon.total_cmp(&b.epsilon));
    table.rows.extend(rows.into_iter().map(|row| {
        let words = Cell::Words(marked(&example.original, &row.released));
        vec![Cell::Number(short(row.epsilon)), Cell::text(&row.mechanism), words]
    }));
    table
}

/// The released text in pieces, each with the white space after it, and whether it is outside the
/// longest common subsequence of both texts' words.
fn marked(original: &str, released: &str) -> Vec<(String, bool)> {
    let plain = |word: &str| {
        let trimmed = word.trim_matches(|c: char| !c.is_alphanumeric());
        if trimmed.is_empty() { word.trim().to_lowercase() } else { trimmed.to_lowercase() }
    };
    let pieces: Vec<&str> = released.split_inclusive(char::is_whitespace).collect();
    let a: Vec<String> = original.split_whitespace().map(plain).collect();
    let b: Vec<String> = pieces.iter().map(|piece| plain(piece)).collect();
    let mut lengths = vec![vec![0_u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i][j] = if a[i] == b[j] {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    let mut i = 0;
    let mut is_new = |j: usize| {
        while i < a.len()
            && a[i] != b[j]
            && lengths[i + 1][j] >= lengths[i][j + 1]
            && lengths[i][j] > 0
        {
            i += 1;
        }
        let same = i < a.len() && a[i] == b[j];
        i += usize::from(same);
        !same
    };
    pieces.iter().enumerate().map(|(j, piece)| ((*piece).into(), is_new(j))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_words_are_marked() {
        let new = |original, released| {
            let words = marked(original, released).into_iter();
            words.filter(|word| word.1).map(|word| word.0.trim().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            new("My daughter Alice, was ill.", "my son alice was bored."),
            ["son", "bored."]
        );
        assert_eq!(new("a b c", "a b c"), [""; 0]);
        assert_eq!(new("", "x y"), ["x", "y"]);
        assert_eq!(new("one two three", "zero one three"), ["zero"]);
        let text: String = marked("a", "b  c\n d").into_iter().map(|word| word.0).collect();
        assert_eq!(text, "b  c\n d");
    }
}
