//! Measures of how much of a prompt is left.

/// ROUGE-L F1 between two texts, from 0 to 1: the longest common subsequence of their words, which
/// are runs of letters and digits in lower case.
#[must_use]
pub fn rouge_l(original: &str, released: &str) -> f64 {
    let (a, b) = (words(original), words(released));
    if a.is_empty() || b.is_empty() {
        return f64::from(u8::from(a.is_empty() && b.is_empty()));
    }
    2.0 * common(&a, &b) as f64 / (a.len() + b.len()) as f64
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The length of the longest common subsequence.
fn common(a: &[String], b: &[String]) -> usize {
    let mut row = vec![0; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if x == y { diagonal + 1 } else { above.max(row[j]) };
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::rouge_l;

    #[test]
    fn rouge_l_by_hand() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(
            rouge_l("The police killed the gunman", "the gunman police killed"),
            6.0 / 9.0
        ));
        assert!(near(rouge_l("police killed the gunman", "police kill the gunman"), 0.75));
        assert!(near(rouge_l("It's good.", "it 's GOOD !"), 1.0));
        assert!(near(rouge_l("", "..."), 1.0));
        assert!(near(rouge_l("a b", ""), 0.0));
    }
}
