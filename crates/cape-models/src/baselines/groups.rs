//! CUSTEXT's groups: which words stand together.
//!
//! Words come by falling frequency. One that has no group yet founds one, and takes the nearest of the
//! words without a group into it, until the group has K words.
//!
//! The result is the definition's, as dot products in f64 give it, though nearly all work is done in
//! f32: several founders at once meet all words that are left (`nearest.rs`), and then found their
//! groups one after the other, each from its own list of near words. Where a list has been emptied
//! by the founders before, that one founder looks again at all words that are left.

mod cache;
mod nearest;

use cape::tokens::Embeddings;

pub(super) use self::cache::{GroupsFrom, load_or_make};
use self::nearest::{Left, Plan};

/// Measured on GloVe's vectors, 33,860 of width 300 and 400,000 of width 50: near these values no
/// choice is better by more than two runs of one choice differ.
const PLAN: Plan = Plan { founders: 256, share: 16, spare: 32, block: 512 };

/// The groups, in the order in which they are founded: the founder first, then the others from the
/// nearest on, the smaller index first where two are equally near.
///
/// `unit` has a row of length one for each word, or of zeros; `order` names words by falling
/// frequency. Groups have `k` words, the last ones fewer where no more are left; a word that is not
/// reached is in none. `progress` is told how many of the words in `order` have a group, and how many
/// there are.
///
/// # Panics
/// If `order` names a word that has no row.
pub fn word_groups(
    unit: &Embeddings,
    order: &[u32],
    k: usize,
    progress: &mut dyn FnMut(u64, u64),
) -> Vec<Vec<u32>> {
    planned(unit, order, k, PLAN, progress)
}

fn planned(
    unit: &Embeddings,
    order: &[u32],
    k: usize,
    plan: Plan,
    progress: &mut dyn FnMut(u64, u64),
) -> Vec<Vec<u32>> {
    let mut words = Grouped::new(unit.data().len() / unit.dim(), order);
    let mut groups = Vec::new();
    if k == 0 {
        return groups; // not even the founder has room
    }
    let mut left = Left::new(unit, plan);
    let mut order = order.iter().copied();
    loop {
        let most = (words.free / plan.share.saturating_mul(k)).clamp(1, plan.founders);
        let founders: Vec<u32> =
            order.by_ref().filter(|&word| words.is_free(word)).take(most).collect();
        if founders.is_empty() {
            return groups;
        }
        let others = k.min(words.free) - 1;
        left.forget(&words.taken, words.free);
        for (founder, near) in founders.iter().zip(left.nearest(&founders, others, &words.taken)) {
            if !words.is_free(*founder) {
                continue;
            }
            words.take(*founder);
            let wanted = others.min(words.free);
            let free = |near: Vec<u32>| near.into_iter().filter(|&word| words.is_free(word));
            let mut group = vec![*founder];
            group.extend(free(near).take(wanted));
            if group.len() <= wanted {
                group.truncate(1);
                group.extend(left.nearest_of_all(*founder, wanted, &words.taken));
            }
            for &word in &group[1..] {
                words.take(word);
            }
            groups.push(group);
        }
        progress(words.done, words.asked);
    }
}

/// Which words have a group.
struct Grouped {
    taken: Vec<bool>,
    free: usize,
    /// Whether `order` names the word.
    named: Vec<bool>,
    /// How many it names,
    asked: u64,
    /// and how many of these have a group.
    done: u64,
}

impl Grouped {
    fn new(n: usize, order: &[u32]) -> Self {
        let mut named = vec![false; n];
        for &word in order {
            named[word as usize] = true;
        }
        let asked = named.iter().filter(|&&named| named).count() as u64;
        Self { taken: vec![false; n], free: n, named, asked, done: 0 }
    }

    fn is_free(&self, word: u32) -> bool {
        !self.taken[word as usize]
    }

    fn take(&mut self, word: u32) {
        self.taken[word as usize] = true;
        self.free -= 1;
        self.done += u64::from(self.named[word as usize]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, word by word. The rows' numbers are few bits wide, so that sums are exact
    /// in any order.
    fn defined(unit: &Embeddings, order: &[u32], k: usize) -> Vec<Vec<u32>> {
        let rows: Vec<&[f32]> = unit.data().chunks(unit.dim()).collect();
        let dot = |a: u32, b: u32| -> f64 {
            let (a, b) = (rows[a as usize], rows[b as usize]);
            a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
        };
        let mut free: Vec<u32> = (0..rows.len() as u32).collect();
        let mut groups = Vec::new();
        for &founder in order {
            if !free.contains(&founder) {
                continue;
            }
            let mut near: Vec<(f64, u32)> = free.iter().map(|&w| (dot(founder, w), w)).collect();
            near.iter_mut().find(|(_, word)| *word == founder).unwrap().0 = f64::INFINITY;
            near.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap().then(a.1.cmp(&b.1)));
            let group: Vec<u32> = near.iter().take(k).map(|&(_, word)| word).collect();
            free.retain(|word| !group.contains(word));
            groups.push(group);
        }
        groups
    }

    fn quiet(unit: &Embeddings, order: &[u32], k: usize) -> Vec<Vec<u32>> {
        word_groups(unit, order, k, &mut |_, _| {})
    }

    /// Numbers of 12 bits around a middle, `scale` times as large, by a simple rule.
    fn grid(words: usize, width: usize, middle: f32, scale: f32) -> Embeddings {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            middle + scale * ((state >> 52) as f32 - 2048.0)
        };
        Embeddings::new((0..words * width).map(|_| next()).collect(), width)
    }

    /// Rows of few different numbers, so that many words are equally near and some are equal; an
    /// order that names some of the words; and plans under which lists run out.
    fn cases() -> impl Strategy<Value = ((Vec<f32>, usize), Vec<u32>, usize, Plan)> {
        let sizes = (1..60_usize, 1..11_usize, 1..4_i8);
        sizes.prop_flat_map(|(n, width, most)| {
            let row = prop::collection::vec(-most..=most, width);
            let rows = prop::collection::vec(row, n);
            let order = Just((0..n as u32).collect::<Vec<_>>()).prop_shuffle();
            let plan = (1..9_usize, 1..4_usize, 1..4_usize, 1..30_usize);
            (rows, order, 0..=n, 1..n + 4, plan).prop_map(move |(rows, order, some, k, plan)| {
                let data = rows.concat().into_iter().map(|v| f32::from(v) / 8.0).collect();
                let (founders, share, spare, block) = plan;
                let plan = Plan { founders, share, spare, block };
                ((data, width), order[..some].to_vec(), k, plan)
            })
        })
    }

    proptest! {
        #[test]
        fn groups_are_the_definition_s(((data, width), order, k, plan) in cases()) {
            let unit = Embeddings::new(data, width);
            let defined = defined(&unit, &order, k);
            prop_assert_eq!(&quiet(&unit, &order, k), &defined);
            prop_assert_eq!(&planned(&unit, &order, k, plan, &mut |_, _| {}), &defined);
        }
    }

    #[test]
    fn many_words_are_the_definition_s() {
        let unit = grid(3000, 40, 0.0, 2.0_f32.powi(-14));
        let order: Vec<u32> = (0..3000).map(|i| i * 1201 % 3000).collect();
        for k in [2, 20] {
            let defined = defined(&unit, &order, k);
            assert_eq!(quiet(&unit, &order, k), defined);
            let plan = Plan { founders: 100, share: 1, spare: 1, block: 77 };
            assert_eq!(planned(&unit, &order, k, plan, &mut |_, _| {}), defined);
        }
    }

    #[test]
    fn words_that_f32_confuses_are_told_apart() {
        let order: Vec<u32> = (0..1000).collect();
        let tight = Plan { founders: 50, share: 1, spare: 1, block: 64 };
        for bits in [25, 29, 33] {
            let unit = grid(1000, 16, 0.375, 2.0_f32.powi(-bits));
            let defined = defined(&unit, &order, 5);
            assert_eq!(quiet(&unit, &order, 5), defined);
            assert_eq!(planned(&unit, &order, 5, tight, &mut |_, _| {}), defined);
        }
    }

    #[test]
    fn the_last_group_takes_what_is_left() {
        // 1 is equal to 4, 5 is zero
        let data = vec![1.0, 0.0, 0.6, 0.8, 0.0, 1.0, 0.8, 0.6, 0.6, 0.8, 0.0, 0.0, -1.0, 0.0];
        let unit = Embeddings::new(data, 2);
        let of = |order: &[u32], k| quiet(&unit, order, k);
        assert_eq!(of(&[0, 1, 2, 3, 4, 5, 6], 3), [vec![0, 3, 1], vec![2, 4, 5], vec![6]]);
        assert_eq!(of(&[4], 2), [[4, 1]]);
        assert_eq!(of(&[5], 3), [[5, 0, 1]]);
        assert_eq!(of(&[6, 0], 100), [[6, 2, 5, 1, 4, 3, 0]]);
        assert_eq!(of(&[3, 3, 1], 1), [[3], [1]]);
        assert_eq!(of(&[0, 1], usize::MAX).len(), 1);
        assert!(of(&[], 3).is_empty() && of(&[0, 1], 0).is_empty());
        assert!(quiet(&Embeddings::new(Vec::new(), 2), &[], 3).is_empty());
    }

    #[test]
    fn progress_ends_with_the_words_of_the_order() {
        let unit = grid(500, 8, 0.0, 1e-4);
        let order: Vec<u32> = (0..500).step_by(3).collect();
        let mut told = Vec::new();
        word_groups(&unit, &order, 5, &mut |done, total| told.push((done, total)));
        assert!(told.is_sorted() && told.len() > 1 && told[0].0 > 0);
        assert_eq!(told.last(), Some(&(167, 167)));
    }
}
