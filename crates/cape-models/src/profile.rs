//! Where a pass through a network spends its time. Nothing is measured until somebody asks; then one measures at a time.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A part of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Rows are rounded to integers.
    Rounding,
    /// Rows are multiplied with weights.
    Products,
    /// GELU and its like.
    Activation,
    /// Rows attend to each other.
    Attention,
    /// Rows are normalised.
    Normalisation,
    /// The logits of all entries of the vocabulary.
    Decoder,
}

impl Stage {
    /// All stages.
    pub const ALL: [Self; 6] = [
        Self::Rounding,
        Self::Products,
        Self::Activation,
        Self::Attention,
        Self::Normalisation,
        Self::Decoder,
    ];

    /// The stage in a word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rounding => "rounding",
            Self::Products => "products",
            Self::Activation => "activation",
            Self::Attention => "attention",
            Self::Normalisation => "normalisation",
            Self::Decoder => "decoder",
        }
    }
}

/// Layers beyond this are counted as the last one.
const MOST_LAYERS: usize = 128;

static IS_ON: AtomicBool = AtomicBool::new(false);
/// The layer that is computed, from 1; 0 outside of layers.
static LAYER: AtomicUsize = AtomicUsize::new(0);
static NANOS: [[AtomicU64; Stage::ALL.len()]; MOST_LAYERS + 1] =
    [const { [const { AtomicU64::new(0) }; Stage::ALL.len()] }; MOST_LAYERS + 1];

/// The time of each stage of [`Stage::ALL`]: outside of layers first, then in each layer.
pub type Spent = Vec<[Duration; Stage::ALL.len()]>;

/// Does the work, and says where the passes of networks in it spent their time.
pub fn profiled<T>(work: impl FnOnce() -> T) -> (T, Spent) {
    let take = || NANOS.each_ref().map(|layer| layer.each_ref().map(|sum| sum.swap(0, Relaxed)));
    take();
    IS_ON.store(true, Relaxed);
    let done = work();
    IS_ON.store(false, Relaxed);
    let spent = take().map(|layer| layer.map(Duration::from_nanos));
    let layers = spent.iter().rposition(|layer| layer.iter().any(|time| !time.is_zero()));
    (done, spent[..layers.map_or(0, |last| last + 1)].to_vec())
}

/// Says that the layer of this number, from 1, begins, or with 0 that layers are over.
pub(crate) fn layer(number: usize) {
    LAYER.store(number.min(MOST_LAYERS), Relaxed);
}

/// Does a part of a pass.
pub(crate) fn timed<T>(stage: Stage, work: impl FnOnce() -> T) -> T {
    if !IS_ON.load(Relaxed) {
        return work();
    }
    let start = Instant::now();
    let done = work();
    add(stage, start.elapsed());
    done
}

/// Does a product that calls what it is given on all threads, which is not part of the product.
pub(crate) fn product(
    then: impl Fn(&mut [f32]) + Sync + Send,
    work: impl FnOnce(&(dyn Fn(&mut [f32]) + Sync + Send)),
) {
    if !IS_ON.load(Relaxed) {
        return work(&then);
    }
    let (start, inside) = (Instant::now(), AtomicU64::new(0));
    work(&|rows| {
        let start = Instant::now();
        then(rows);
        inside.fetch_add(start.elapsed().as_nanos() as u64, Relaxed);
    });
    let whole = start.elapsed();
    let inside = inside.into_inner() / rayon::current_num_threads() as u64;
    let inside = Duration::from_nanos(inside);
    add(Stage::Activation, inside);
    add(Stage::Products, whole.saturating_sub(inside));
}

fn add(stage: Stage, time: Duration) {
    NANOS[LAYER.load(Relaxed)][stage as usize].fetch_add(time.as_nanos() as u64, Relaxed);
}
