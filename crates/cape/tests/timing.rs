//! The work for a prompt does not depend on the prompts before it: a cache that requests share would let the time of one
//! tell the words of another. `benches/proxy/timing.py` tries it with clocks, on a running proxy.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{HashModel, prompt, settings};
use cape::Result;
use cape::mechanism::Mechanism;
use cape::mechanism::cape_paper::CapePaper;
use cape::rng::seeded;
use cape::tokens::{Calibration, Context, Embeddings, LanguageModel, TokenId, View, Vocab};

/// A model that counts the rows of distances that it is asked for.
struct Counting {
    model: HashModel,
    rows: AtomicUsize,
}

impl LanguageModel for Counting {
    fn vocab(&self) -> &Vocab {
        self.model.vocab()
    }
    fn embeddings(&self) -> &Embeddings {
        self.model.embeddings()
    }
    fn calibration(&self) -> Calibration {
        self.model.calibration()
    }
    fn mask(&self) -> TokenId {
        self.model.mask()
    }
    fn window(&self) -> usize {
        self.model.window()
    }
    fn at_once(&self) -> usize {
        self.model.at_once()
    }
    fn input(&self, ids: &[TokenId], position: usize) -> (Vec<TokenId>, usize) {
        self.model.input(ids, position)
    }
    fn logits(&self, views: &mut [View<'_>]) -> Result<Vec<Vec<f32>>> {
        self.model.logits(views)
    }
    fn distances(&self, t: TokenId) -> Vec<f32> {
        self.rows.fetch_add(1, Ordering::Relaxed);
        self.model.distances(t)
    }
}

#[test]
fn the_same_words_before_save_no_work() {
    for context in [Context::Raw, Context::Released] {
        let rows_after = |before: &[u32]| {
            let model = Counting { model: HashModel::new(20, 0, 8, 1), rows: AtomicUsize::new(0) };
            let model = Arc::new(model);
            let cape = CapePaper::new(Arc::clone(&model) as Arc<_>, settings(2.0, 5, context));
            let cape = cape.unwrap();
            cape.perturb(&prompt(before), &mut seeded(1, 0)).unwrap();
            let then = model.rows.load(Ordering::Relaxed);
            cape.perturb(&prompt(&[3, 0, 7, 9, 7]), &mut seeded(1, 1)).unwrap();
            model.rows.load(Ordering::Relaxed) - then
        };
        // four draws: the second word is kept
        assert_eq!(rows_after(&[3, 0, 7, 9, 7]), 4, "the victim said the same");
        assert_eq!(rows_after(&[4, 0, 8, 2, 1]), 4, "the victim said something else");
    }
}
