//! Products with coded weights by AVX2 and by AVX-512 with VNNI.

use std::arch::x86_64::{
    __m256, __m256i, __m512, __m512i, _mm256_add_epi16, _mm256_add_epi32, _mm256_add_ps,
    _mm256_cvtepi32_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_maddubs_epi16, _mm256_mul_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_si256,
    _mm256_storeu_ps, _mm256_sub_ps, _mm512_add_epi32, _mm512_add_ps, _mm512_cvtepi32_ps,
    _mm512_dpbusd_epi32, _mm512_dpwssd_epi32, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mul_ps,
    _mm512_mullo_epi32, _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_si512, _mm512_srai_epi32,
    _mm512_storeu_ps, _mm512_sub_ps,
};

use crate::blocks::{BLOCK, CodedRows, Coding, Panel, SIDE, sums_of_blocks_plain};
use crate::kernel::{Kernel, Path};

/// For some rows and each output of a panel the sum of products.
pub(crate) fn sums_of_blocks(
    kernel: Kernel,
    panel: Panel<'_>,
    rows: &CodedRows,
    first: usize,
    sums: &mut [[f32; SIDE]],
) {
    let (blocks, parts) = (rows.inputs / BLOCK, panel.coding.parts());
    assert!(first + sums.len() <= rows.len(), "rows that there are");
    assert_eq!(panel.codes.len(), blocks * BLOCK * SIDE, "the codes of each block");
    assert_eq!(panel.scales.len(), blocks * parts * 2 * SIDE, "the scales of each part");
    assert_eq!(panel.offsets.len(), blocks * parts * SIDE, "the offsets of each part");
    assert_eq!(panel.floats.len(), blocks * 2 * SIDE, "the scales of each block");
    match (kernel.0, panel.coding) {
        (Path::Portable, _) => sums_of_blocks_plain(panel, rows, first, sums),
        // SAFETY: the kernel exists, so the machine has the instructions; the lengths were checked, and those of `CodedRows`
        // agree by its construction.
        (Path::Amx | Path::Vnni, Coding::Four) => unsafe {
            vnni_rows::<8, 8>(panel, rows, first, sums);
        },
        // SAFETY: as above.
        (Path::Amx | Path::Vnni, Coding::Six) => unsafe {
            vnni_rows::<16, 12>(panel, rows, first, sums);
        },
        // SAFETY: as above.
        (Path::Avx2, Coding::Four) => unsafe { avx2_rows::<8, 8>(panel, rows, first, sums) },
        // SAFETY: as above.
        (Path::Avx2, Coding::Six) => unsafe { avx2_rows::<16, 2>(panel, rows, first, sums) },
    }
}

/// A block of the panel meets all rows while it is near, `N` of them at a time where there are as many.
///
/// # Safety
/// AVX-512 with VNNI; else as [`avx2_rows`].
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn vnni_rows<const PARTS: usize, const N: usize>(
    panel: Panel<'_>,
    rows: &CodedRows,
    first: usize,
    sums: &mut [[f32; SIDE]],
) {
    sums.fill([0.0; SIDE]);
    for at in 0..rows.inputs / BLOCK {
        // SAFETY: the caller's promise, for each row.
        unsafe {
            let (row, rest) = vnni_together::<PARTS, N, 1>(panel, rows, (at, first), sums);
            let (row, rest) = vnni_together::<PARTS, 3, 2>(panel, rows, (at, row), rest);
            vnni_together::<PARTS, 1, 4>(panel, rows, (at, row), rest);
        }
    }
}

/// Block `at` of the rows from `first` on, `N` at a time; gives those that are left.
///
/// # Safety
/// As [`vnni_rows`], for a block of its rows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn vnni_together<'a, const PARTS: usize, const N: usize, const RUNS: usize>(
    panel: Panel<'_>,
    rows: &CodedRows,
    (at, first): (usize, usize),
    sums: &'a mut [[f32; SIDE]],
) -> (usize, &'a mut [[f32; SIDE]]) {
    let (whole, rest) = sums.as_chunks_mut::<N>();
    let left = first + N * whole.len();
    for (row, sums) in (first..).step_by(N).zip(whole) {
        // SAFETY: the caller's promise, for these rows.
        unsafe { vnni::<PARTS, N, RUNS>(panel, rows, (at, row), sums) };
    }
    (left, rest)
}

/// Block `at` of `N` rows, of `PARTS` parts. The sum of a part is added up in `RUNS` runs side by side: each step of a run waits
/// for the one before it, and few rows alone would not fill that time.
///
/// Not inlined: LLVM would move the loads of all codes out of the loop over rows, to the stack, and a row alone took 1.5 times
/// as long.
///
/// # Safety
/// As [`vnni_rows`], for `N` rows from `first` on and a block of theirs.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn vnni<const PARTS: usize, const N: usize, const RUNS: usize>(
    panel: Panel<'_>,
    rows: &CodedRows,
    (at, first): (usize, usize),
    sums: &mut [[f32; SIDE]; N],
) {
    let inputs = rows.inputs;
    let blocks = inputs / BLOCK;
    let steps = BLOCK / 4 / PARTS / RUNS;
    // the sums of parts of 32 come first in a row's sums, then those of parts of 16
    let part_sums = if PARTS == 8 { 0 } else { 8 };
    // SAFETY: as in `avx2`; a row of sums is 16 numbers.
    unsafe {
        let mut codes = panel.codes.as_ptr().add(at * BLOCK * SIDE);
        let scales = panel.scales.as_ptr().add(at * PARTS * 2 * SIDE);
        let offsets = panel.offsets.as_ptr().add(at * PARTS * SIDE);
        let floats = panel.floats.as_ptr().add(at * 2 * SIDE);
        let mut x = rows.bytes.as_ptr().add(first * inputs + at * BLOCK);
        let mut coded = [_mm512_setzero_si512(); N];
        for part in 0..PARTS {
            let mut own = [[_mm512_setzero_si512(); RUNS]; N];
            for _ in 0..steps {
                for run in 0..RUNS {
                    let w = load_wide(codes.add(run * 4 * SIDE));
                    for (n, own) in own.iter_mut().enumerate() {
                        let x = broadcast_wide(x.add(n * inputs + run * 4));
                        own[run] = _mm512_dpbusd_epi32(own[run], w, x);
                    }
                }
                codes = codes.add(RUNS * 4 * SIDE);
                x = x.add(RUNS * 4);
            }
            // the upper of two words that are the same, with its sign
            let scale = _mm512_srai_epi32::<16>(load_wide(scales.add(part * 2 * SIDE)));
            for (coded, runs) in coded.iter_mut().zip(own) {
                let own = runs.into_iter().reduce(|a, b| _mm512_add_epi32(a, b));
                let own = own.unwrap_or(_mm512_setzero_si512());
                *coded = _mm512_add_epi32(*coded, _mm512_mullo_epi32(own, scale));
            }
        }
        let row = first * blocks + at;
        let mut offset = [_mm512_setzero_si512(); N];
        for pair in 0..PARTS / 2 {
            let both = load_wide(offsets.add(pair * 2 * SIDE));
            for (n, offset) in offset.iter_mut().enumerate() {
                let own = rows.sums.as_ptr().add(row + n * blocks).cast::<i16>();
                let two = broadcast_wide(own.add(part_sums + 2 * pair));
                *offset = _mm512_dpwssd_epi32(*offset, two, both);
            }
        }
        let (steps, offs) = (_mm512_loadu_ps(floats), _mm512_loadu_ps(floats.add(SIDE)));
        for (n, sums) in sums.iter_mut().enumerate() {
            let scale = _mm512_set1_ps(*rows.scales.as_ptr().add(row + n * blocks));
            let step = times_wide(_mm512_mul_ps(steps, scale), coded[n]);
            let off = times_wide(_mm512_mul_ps(offs, scale), offset[n]);
            let to = sums.as_mut_ptr();
            let sum = _mm512_add_ps(_mm512_loadu_ps(to), step);
            _mm512_storeu_ps(to, _mm512_sub_ps(sum, off));
        }
    }
}

/// A block of the panel meets all rows while it is near.
///
/// # Safety
/// AVX2; the panel has as many blocks as the rows, with `PARTS` parts each, and there is a row for each row of sums, from
/// `first` on.
#[target_feature(enable = "avx2")]
unsafe fn avx2_rows<const PARTS: usize, const RUN: usize>(
    panel: Panel<'_>,
    rows: &CodedRows,
    first: usize,
    sums: &mut [[f32; SIDE]],
) {
    sums.fill([0.0; SIDE]);
    for at in 0..rows.inputs / BLOCK {
        let (threes, rest) = sums.as_chunks_mut::<3>();
        // SAFETY: the caller's promise, for each row.
        unsafe {
            for (row, sums) in (first..).step_by(3).zip(threes.iter_mut()) {
                avx2::<PARTS, RUN, 3>(panel, rows, (at, row), sums);
            }
            for (row, sums) in (first + 3 * threes.len()..).zip(rest) {
                avx2::<PARTS, RUN, 1>(panel, rows, (at, row), std::array::from_mut(sums));
            }
        }
    }
}

/// Block `at` of `N` rows, of `PARTS` parts. Products of bytes are added in words, `RUN` times two of them before they are
/// widened: 8 · 2 · 15 · 127 and 2 · 2 · 63 · 127 fit.
///
/// # Safety
/// As [`avx2_rows`], for `N` rows from `first` on and a block of theirs.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn avx2<const PARTS: usize, const RUN: usize, const N: usize>(
    panel: Panel<'_>,
    rows: &CodedRows,
    (at, first): (usize, usize),
    sums: &mut [[f32; SIDE]; N],
) {
    let inputs = rows.inputs;
    let blocks = inputs / BLOCK;
    let runs = BLOCK / 4 / PARTS / RUN;
    // the sums of parts of 32 come first in a row's sums, then those of parts of 16
    let part_sums = if PARTS == 8 { 0 } else { 8 };
    // SAFETY: all reads are within the lengths that the caller promises: a block has 64 groups of 64 codes, 64 bytes of scales
    // for each part, 64 bytes of offsets for each pair of parts, and 128 bytes of floats; a block of a row has 256 bytes, one
    // scale and 24 sums; a row of sums is 2 × 8 numbers.
    unsafe {
        let mut codes = panel.codes.as_ptr().add(at * BLOCK * SIDE);
        let mut scales = panel.scales.as_ptr().add(at * PARTS * 2 * SIDE);
        let offsets = panel.offsets.as_ptr().add(at * PARTS * SIDE);
        let floats = panel.floats.as_ptr().add(at * 2 * SIDE);
        let mut x = rows.bytes.as_ptr().add(first * inputs + at * BLOCK);
        let mut coded = [[_mm256_setzero_si256(); 2]; N];
        for _ in 0..PARTS {
            for _ in 0..runs {
                let mut words = [[_mm256_setzero_si256(); 2]; N];
                for step in 0..RUN {
                    let (w0, w1) = (load(codes.add(step * 64)), load(codes.add(step * 64 + 32)));
                    for (n, words) in words.iter_mut().enumerate() {
                        let x = broadcast(x.add(n * inputs + step * 4));
                        let (p0, p1) = (_mm256_maddubs_epi16(w0, x), _mm256_maddubs_epi16(w1, x));
                        words[0] = _mm256_add_epi16(words[0], p0);
                        words[1] = _mm256_add_epi16(words[1], p1);
                    }
                }
                let (s0, s1) = (load(scales), load(scales.add(16)));
                for (coded, words) in coded.iter_mut().zip(words) {
                    coded[0] = _mm256_add_epi32(coded[0], _mm256_madd_epi16(words[0], s0));
                    coded[1] = _mm256_add_epi32(coded[1], _mm256_madd_epi16(words[1], s1));
                }
                codes = codes.add(RUN * 64);
                x = x.add(RUN * 4);
            }
            scales = scales.add(32);
        }
        for (n, sums) in sums.iter_mut().enumerate() {
            let row = (first + n) * blocks + at;
            let own = rows.sums.as_ptr().add(row).cast::<i16>().add(part_sums);
            let scale = _mm256_set1_ps(*rows.scales.as_ptr().add(row));
            for (v, &coded) in coded[n].iter().enumerate() {
                let mut offset = _mm256_setzero_si256();
                for pair in 0..PARTS / 2 {
                    let two = broadcast(own.add(2 * pair));
                    let both = load(offsets.add(pair * 32 + v * 16));
                    offset = _mm256_add_epi32(offset, _mm256_madd_epi16(two, both));
                }
                let step = _mm256_mul_ps(_mm256_loadu_ps(floats.add(v * 8)), scale);
                let off = _mm256_mul_ps(_mm256_loadu_ps(floats.add(SIDE + v * 8)), scale);
                let to = sums.as_mut_ptr().add(v * 8);
                let sum = _mm256_add_ps(_mm256_loadu_ps(to), times(step, coded));
                _mm256_storeu_ps(to, _mm256_sub_ps(sum, times(off, offset)));
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn times(scale: __m256, integers: __m256i) -> __m256 {
    _mm256_mul_ps(scale, _mm256_cvtepi32_ps(integers))
}

/// # Safety
/// There are 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load<T>(from: *const T) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { _mm256_loadu_si256(from.cast::<__m256i>()) }
}

/// # Safety
/// There are 4 bytes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn broadcast<T>(from: *const T) -> __m256i {
    // SAFETY: the caller's promise.
    _mm256_set1_epi32(unsafe { from.cast::<i32>().read_unaligned() })
}

#[inline]
#[target_feature(enable = "avx512f")]
fn times_wide(scale: __m512, integers: __m512i) -> __m512 {
    _mm512_mul_ps(scale, _mm512_cvtepi32_ps(integers))
}

/// # Safety
/// There are 64 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load_wide<T>(from: *const T) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe { _mm512_loadu_si512(from.cast::<__m512i>()) }
}

/// # Safety
/// There are 4 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn broadcast_wide<T>(from: *const T) -> __m512i {
    // SAFETY: the caller's promise.
    _mm512_set1_epi32(unsafe { from.cast::<i32>().read_unaligned() })
}
