//! The nearest to a word among the words that are left.
//!
//! Products in f32 choose a few candidates for each of many words, which are then ordered in f64. A word
//! that f32 did not choose is known to be no nearer than a bound, so the list is right down to that
//! bound, where it ends.

use std::cmp::Ordering;
use std::sync::Mutex;

use cape::tokens::{Embeddings, TokenId};
use rayon::prelude::*;
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_tensor::NdTensorView;

/// How the work is divided. It changes how long the work takes, and nothing else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// How many founders meet the words at once, at most: with more, a product is no faster, and more
    /// of the founders are in a group before it is their turn.
    pub(super) founders: usize,
    /// Founders that meet the words at once give groups to no more than one in so many of them, so
    /// that few lists run out.
    pub(super) share: usize,
    /// A founder's list has room for twice as many words as are wanted, and so many more.
    pub(super) spare: usize,
    /// How many words meet the founders in one product: few enough to stay in a core's cache.
    pub(super) block: usize,
}

/// The words that had no group when they were last packed.
pub(super) struct Left<'a> {
    unit: &'a Embeddings,
    plan: Plan,
    blocks: Vec<Block>,
    /// How many words are packed.
    packed: usize,
    /// How far a product in f32 can be from the one in f64.
    slack: f64,
}

struct Block {
    words: Vec<u32>,
    rows: PackedBMatrix<f32>,
}

impl<'a> Left<'a> {
    /// Nothing is packed before [`Left::forget`].
    pub(super) fn new(unit: &'a Embeddings, plan: Plan) -> Self {
        let width = unit.dim() as f64;
        let square = |row: &[f32]| dot(row, row);
        let longest = unit.data().par_chunks(unit.dim()).map(square).reduce(|| 0.0, f64::max);
        // the rounding of `width` products and sums, in any order; and what underflow adds
        let rounding = width * f64::from(f32::EPSILON) / 2.0;
        let slack = rounding / (1.0 - rounding) * longest + width * f64::from(f32::MIN_POSITIVE);
        Self { unit, plan, blocks: Vec::new(), packed: 0, slack }
    }

    /// Packs the `free` words that are not taken, if this saves more than it costs.
    pub(super) fn forget(&mut self, taken: &[bool], free: usize) {
        if self.packed > 0 && free > self.packed - self.packed / 6 {
            return;
        }
        self.blocks.clear(); // before the new ones are made: there is room for one copy
        let words = (0..taken.len() as u32).filter(|&word| !taken[word as usize]);
        let words: Vec<u32> = words.collect();
        let block = |words: &[u32]| {
            let rows = self.gather(words);
            let rows = NdTensorView::from_data([words.len(), self.unit.dim()], &rows[..]);
            let rows = GemmExecutor::new().prepack_b(rows.transposed());
            Block { words: words.to_vec(), rows }
        };
        self.blocks = words.par_chunks(self.plan.block).map(block).collect();
        self.packed = free;
    }

    /// For each founder, the words nearest to it that are not taken, nearest first: `wanted` of them
    /// and some more, unless they are too much alike.
    pub(super) fn nearest(&self, founders: &[u32], wanted: usize, taken: &[bool]) -> Vec<Vec<u32>> {
        if wanted == 0 {
            return vec![Vec::new(); founders.len()];
        }
        let rows = self.gather(founders);
        let rows = NdTensorView::from_data([founders.len(), self.unit.dim()], &rows[..]);
        let least = 2 * wanted + self.plan.spare;
        let lists: Vec<Mutex<Top>> = founders.iter().map(|_| Mutex::new(Top::new(least))).collect();
        self.blocks.par_iter().for_each_init(Vec::new, |products, block| {
            products.resize(founders.len() * block.words.len(), 0.0);
            GemmExecutor::new()
                .gemm(
                    products,
                    GemmInputA::Unpacked(rows),
                    GemmInputB::Packed(&block.rows),
                    GemmOptions::default(),
                )
                .expect("the sizes agree by construction");
            for (list, products) in lists.iter().zip(products.chunks(block.words.len())) {
                let mut list = list.lock().expect("no holder panics");
                list.offer(products, &block.words, taken);
            }
        });
        let certain = |(founder, list): (&u32, Mutex<Top>)| {
            let Top { kept, floor, .. } = list.into_inner().expect("no holder panics");
            let mut near = self.scores(*founder, kept.iter().map(|&(_, word)| word));
            near.retain(|(score, _)| *score > f64::from(floor) + self.slack);
            near.sort_unstable_by(nearer);
            near.into_iter().map(|(_, word)| word).collect()
        };
        founders.par_iter().zip(lists).map(certain).collect()
    }

    /// The `wanted` words nearest to a founder of all that are not taken, nearest first.
    pub(super) fn nearest_of_all(&self, founder: u32, wanted: usize, taken: &[bool]) -> Vec<u32> {
        let scores = |block: &Block| {
            let free = block.words.iter().copied().filter(|&word| !taken[word as usize]);
            self.scores(founder, free)
        };
        let mut near: Vec<_> = self.blocks.par_iter().flat_map_iter(scores).collect();
        if wanted < near.len() {
            near.select_nth_unstable_by(wanted, nearer);
            near.truncate(wanted);
        }
        near.sort_unstable_by(nearer);
        near.into_iter().map(|(_, word)| word).collect()
    }

    /// How near words are to the founder; itself left out.
    fn scores(&self, founder: u32, words: impl Iterator<Item = u32>) -> Vec<(f64, u32)> {
        let row = self.row(founder);
        let others = words.filter(|&word| word != founder);
        others.map(|word| (dot(row, self.row(word)), word)).collect()
    }

    fn gather(&self, words: &[u32]) -> Vec<f32> {
        let mut rows = Vec::with_capacity(words.len() * self.unit.dim());
        for &word in words {
            rows.extend_from_slice(self.row(word));
        }
        rows
    }

    fn row(&self, word: u32) -> &[f32] {
        self.unit.row(TokenId(word))
    }
}

/// The words with the largest products of those met so far.
struct Top {
    kept: Vec<(f32, u32)>,
    /// No word above this was dropped.
    floor: f32,
    least: usize,
}

impl Top {
    /// Keeps at least so many.
    fn new(least: usize) -> Self {
        Self { kept: Vec::with_capacity(2 * least), floor: f32::NEG_INFINITY, least }
    }

    fn offer(&mut self, products: &[f32], words: &[u32], taken: &[bool]) {
        // nearly all are below the floor, and a few instructions count 32 of them
        for (products, words) in products.chunks(32).zip(words.chunks(32)) {
            let above = products.iter().map(|&product| u32::from(product > self.floor));
            if above.sum::<u32>() == 0 {
                continue;
            }
            for (&product, &word) in products.iter().zip(words) {
                if product > self.floor && !taken[word as usize] {
                    self.kept.push((product, word));
                    if self.kept.len() == 2 * self.least {
                        self.drop_half();
                    }
                }
            }
        }
    }

    fn drop_half(&mut self) {
        let falling = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0);
        // what is dropped is at the new floor or below it
        self.floor = self.kept.select_nth_unstable_by(self.least - 1, falling).1.0;
        self.kept.truncate(self.least);
    }
}

/// Nearest first; of two that are equally near the one with the smaller index.
fn nearer(a: &(f64, u32), b: &(f64, u32)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// The dot product in f64. It is the same for equal rows, and never a negative zero.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a.remainder().iter().zip(b.remainder());
    let rest = rest.fold(0.0, |sum, (&a, &b)| sum + f64::from(a) * f64::from(b));
    for (a, b) in a.zip(b) {
        for i in 0..8 {
            sums[i] += f64::from(a[i]) * f64::from(b[i]);
        }
    }
    sums.iter().fold(rest, |sum, part| sum + part)
}
