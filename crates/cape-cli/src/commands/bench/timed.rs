//! Timing a model from outside, so that the mathematics holds no clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cape::tokens::{Calibration, Embeddings, LanguageModel, TokenId, View, Vocab};

/// A model that adds up the time it takes.
pub(super) struct Timed {
    model: Arc<dyn LanguageModel>,
    logits: AtomicU64,
    distances: AtomicU64,
}

impl Timed {
    pub(super) fn new(model: &Arc<dyn LanguageModel>) -> Self {
        Self { model: Arc::clone(model), logits: AtomicU64::new(0), distances: AtomicU64::new(0) }
    }

    /// The milliseconds spent on logits and on distances since this was asked last.
    pub(super) fn spent(&self) -> (f64, f64) {
        let ms = |sum: &AtomicU64| sum.swap(0, Ordering::Relaxed) as f64 / 1e6;
        (ms(&self.logits), ms(&self.distances))
    }
}

/// Does it, and adds what it took in nanoseconds.
fn timed<T>(sum: &AtomicU64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    sum.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    done
}

impl LanguageModel for Timed {
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

    fn logits(&self, views: &mut [View<'_>]) -> cape::Result<Vec<Vec<f32>>> {
        timed(&self.logits, || self.model.logits(views))
    }

    fn distances(&self, t: TokenId) -> Vec<f32> {
        timed(&self.distances, || self.model.distances(t))
    }
}
