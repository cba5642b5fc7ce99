//! The true token is among the k nearest to what was released.

use std::sync::Arc;

use crate::model::LanguageModel;
use crate::recent::Recent;
use crate::text::TokenId;
use crate::vectors::WordVectors;

/// Where distances are measured.
pub enum Space {
    /// Between the input embeddings of a model.
    Model(Arc<dyn LanguageModel>),
    /// Between word vectors.
    Words(Arc<WordVectors>),
}

/// The attack, for every k up to a largest.
pub struct Knn {
    space: Space,
    k: usize,
    /// The nearest entries of what was released, and how many are nearer than each.
    near: Recent<TokenId, [(TokenId, u32)]>,
}

/// How many released tokens are remembered with what is near them.
const REMEMBERED: usize = 1 << 16;

impl Knn {
    /// For k up to this.
    #[must_use]
    pub fn new(space: Space, k: usize) -> Self {
        Self { space, k, near: Recent::new(REMEMBERED) }
    }

    /// How many tokens are nearer to `y` than `t` is, if fewer than k are; `y` itself is one of them.
    /// So the attack of any k′ ≤ k finds `t` if this is less than k′.
    #[must_use]
    pub fn rank(&self, y: TokenId, t: TokenId) -> Option<u32> {
        let near = self.near.get_or(y, || self.nearest(y).into());
        near.iter().find(|(id, _)| *id == t).map(|&(_, nearer)| nearer)
    }

    fn nearest(&self, y: TokenId) -> Vec<(TokenId, u32)> {
        let (ids, distances) = match &self.space {
            Space::Model(model) => (model.vocab().drawable(), model.distances(y)),
            Space::Words(words) => {
                let Some(row) = words.row_of(y) else { return Vec::new() };
                let distances = (0..words.len()).map(|other| words.distance(row, other)).collect();
                (words.ids(), distances)
            }
        };
        let mut sorted = distances.clone();
        let last = self.k.min(sorted.len()) - 1;
        let (_, &mut farthest, _) = sorted.select_nth_unstable_by(last, f32::total_cmp);
        let mut near: Vec<(f32, TokenId)> = distances
            .into_iter()
            .zip(ids)
            .filter(|(d, _)| *d <= farthest)
            .map(|(d, &id)| (d, id))
            .collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        let nearer = |d: f32| near.partition_point(|other| other.0 < d) as u32;
        near.iter().map(|&(d, id)| (id, nearer(d))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embeddings::Embeddings;

    #[test]
    fn the_nearest_are_found_and_ties_count_for_both() {
        let vectors = Embeddings::new(vec![0.0, 1.0, -1.0, 3.0, 10.0], 1);
        let words = WordVectors::new((0..5).map(TokenId).collect(), vectors).unwrap();
        let knn = Knn::new(Space::Words(Arc::new(words)), 2);
        let ranks: Vec<Option<u32>> = (0..5).map(|t| knn.rank(TokenId(0), TokenId(t))).collect();
        assert_eq!(ranks, [Some(0), Some(1), Some(1), None, None]);
        assert_eq!(knn.rank(TokenId(7), TokenId(0)), None);
    }
}
