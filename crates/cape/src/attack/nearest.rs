//! The true word is among the k nearest to the listed word that was released, by the lexicon's own vectors.

use std::sync::Arc;

use crate::lexicon::{Lexicon, Listed};
use crate::recent::Recent;

/// The attack, for every k.
pub struct Nearest {
    lexicon: Arc<Lexicon>,
    /// How similar each listed word is to what was released.
    near: Recent<Listed, [f32]>,
}

/// How many numbers the rows that are kept may have together: 256 MB.
const RECENT: usize = 1 << 26;

impl Nearest {
    /// Among the listed words of a lexicon.
    #[must_use]
    pub fn new(lexicon: Arc<Lexicon>) -> Self {
        let near = Recent::new((RECENT / lexicon.len()).min(lexicon.len()));
        Self { lexicon, near }
    }

    /// How many listed words are nearer to `y` than `t` is; `y` itself is one of them where `t` is another
    /// word. So the attack of any k finds `t` if this is less than k. A `t` that is not on the list counts by
    /// the similarity of its own vector.
    #[must_use]
    pub fn rank(&self, y: Listed, t: &str) -> usize {
        let near = self.near.get_or(y, || self.lexicon.similarities(self.lexicon.word(y)).into());
        // in the spelling that the draw saw
        let t = self.lexicon.canonical(t);
        let own = self.lexicon.listed(&t).map_or_else(
            || self.lexicon.similarities(&t)[y.index()],
            |listed| near[listed.index()],
        );
        near.iter().filter(|&&other| other > own).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::small::lexicon;

    #[test]
    fn ranks_count_the_nearer_words() {
        let lexicon =
            lexicon(&[("a", "lo"), ("b", "l"), ("C", "l"), ("d", "l"), ("e", "l"), ("rare", "")]);
        let nearest = Nearest::new(Arc::clone(&lexicon));
        for y in (0..5).map(Listed) {
            let word = lexicon.word(y);
            assert_eq!(nearest.rank(y, word), 0);
            for t in ["a", "b", "c", "d", "e", "rare", "unknown"] {
                let to_y = lexicon.similarities(t)[y.index()];
                let nearer = (0..5)
                    .map(|i| lexicon.word(Listed(i)))
                    .filter(|other| lexicon.similarities(other)[y.index()] > to_y);
                assert_eq!(nearest.rank(y, t), nearer.count(), "{word} {t}");
            }
        }
    }
}
