//! The kernels of x86-64: the only unsafe code of the project.
//!
//! It is sound for two reasons: a [`Kernel`] other than the portable one exists only where the processor and
//! the operating system have its instructions ([`Kernel::named`]), and each function here checks the
//! lengths of its slices before it reads or writes through a pointer.

#![allow(unsafe_code, reason = "vector and tile instructions; see above")]

mod blocks;

use std::arch::asm;
use std::arch::x86_64::{
    __cpuid, __cpuid_count, __m128i, __m256i, __m512i, _mm_loadu_si128, _mm256_add_epi32,
    _mm256_cvtepi8_epi16, _mm256_hadd_epi32, _mm256_madd_epi16, _mm256_permute4x64_epi64,
    _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_storeu_si256, _mm512_dpbusd_epi32,
    _mm512_loadu_si512, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_storeu_si512,
};
use std::sync::LazyLock;

pub(crate) use blocks::sums_of_blocks;

use crate::blocks::round_block_plain;
use crate::head::{Head, attend_plain};
use crate::kernel::{Kernel, Path};
use crate::last_row::{LastRow, attend_row_plain};
use crate::packing::{DEEP, WIDE};
use crate::plain::{
    Bits, Block, Row, dots_plain, exact_dots_plain, finish_plain, round_row_plain,
    sums_of_bytes_plain, sums_plain,
};

pub(crate) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
}

pub(crate) fn has_vnni() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni")
}

/// Tiles of bytes, with the system's leave to use them, and right by a trial.
pub(crate) fn has_amx() -> bool {
    static HAS: LazyLock<bool> =
        LazyLock::new(|| has_vnni() && amx_in_cpuid() && amx_permitted() && amx_is_right());
    *HAS
}

fn amx_in_cpuid() -> bool {
    const TILES: u32 = 1 << 24;
    const BYTES: u32 = 1 << 25;
    if __cpuid(0).eax < 7 {
        return false;
    }
    let features = __cpuid_count(7, 0).edx;
    features & TILES != 0 && features & BYTES != 0
}

/// Asks Linux for the tile registers, which it gives on request only.
#[cfg(target_os = "linux")]
fn amx_permitted() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: i64 = 0x1023;
    const XFEATURE_XTILEDATA: i64 = 18;
    let result: i64;
    // SAFETY: this system call takes two numbers, touches no memory of ours, and clobbers the three
    // registers named.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => result,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") XFEATURE_XTILEDATA,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result == 0
}

#[cfg(not(target_os = "linux"))]
fn amx_permitted() -> bool {
    false
}

/// A small product by tiles against the definition. Machines with tiles are rare, and a
/// mistake would be silent.
fn amx_is_right() -> bool {
    const ROWS: usize = 32;
    let stride = 2 * DEEP;
    let byte = |i: usize| (i * 89 + i / 7 * 31 + 5) as u8;
    let bytes: Vec<u8> = (0..ROWS * stride).map(byte).collect();
    let panel: Vec<i8> = (0..WIDE * stride).map(|i| byte(i + 3).cast_signed()).collect();
    let (mut got, mut want) = ([[0; WIDE]; ROWS], [[0; WIDE]; ROWS]);
    // SAFETY: `has_amx` asks this only where the processor and the system have tiles.
    unsafe { amx(&bytes, stride, &panel, &mut got) };
    sums_of_bytes_plain(&bytes, stride, &panel, &mut want);
    got == want
}

/// For each row of bytes and each output of the panel the sum of products.
pub(crate) fn sums_of_bytes(
    kernel: Kernel,
    bytes: &[u8],
    stride: usize,
    panel: &[i8],
    sums: &mut [[i32; WIDE]],
) {
    check(bytes, stride, panel, sums);
    match kernel.0 {
        Path::Amx if bytes.len() >= 32 * stride => {
            let mut whole = [[0; WIDE]; 32];
            // SAFETY: the kernel exists, so the machine has tiles; 32 rows of bytes were checked.
            unsafe { amx(bytes, stride, panel, &mut whole) };
            sums.copy_from_slice(&whole[..sums.len()]);
        }
        // SAFETY: the kernel exists, so the machine has the instructions; lengths were checked.
        Path::Amx | Path::Vnni => unsafe { vnni_rows(bytes, stride, panel, sums) },
        Path::Avx2 | Path::Portable => sums_of_bytes_plain(bytes, stride, panel, sums),
    }
}

/// For each row of words and each output of the panel the sum of products.
pub(crate) fn sums_of_words(
    kernel: Kernel,
    words: &[i16],
    stride: usize,
    panel: &[i8],
    sums: &mut [[i32; WIDE]],
) {
    check(words, stride, panel, sums);
    match kernel.0 {
        // SAFETY: the kernel exists, so the machine has the instructions; lengths were checked.
        Path::Amx | Path::Vnni | Path::Avx2 => unsafe { avx2_rows(words, stride, panel, sums) },
        Path::Portable => sums_plain(words, stride, panel, sums),
    }
}

/// What the kernels rely on.
fn check<T>(integers: &[T], stride: usize, panel: &[i8], sums: &[[i32; WIDE]]) {
    assert!(stride > 0 && stride.is_multiple_of(DEEP), "whole groups of inputs");
    assert!(panel.len() == stride * WIDE, "a whole panel");
    assert!(integers.len() >= sums.len() * stride, "a row of integers per row of sums");
}

/// # Safety
/// AVX-512 with VNNI; `bytes` has a row of `stride` bytes per row of sums; `panel` has `stride` times
/// `WIDE` weights.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn vnni_rows(bytes: &[u8], stride: usize, panel: &[i8], sums: &mut [[i32; WIDE]]) {
    let (mut bytes, mut sums) = (bytes.as_ptr(), sums);
    while !sums.is_empty() {
        macro_rules! take {
            ($n:literal) => {{
                let (now, later) = sums.split_at_mut($n);
                // SAFETY: what the caller promises, less the rows that are done.
                unsafe {
                    vnni::<$n>(bytes, stride, panel, now);
                    bytes = bytes.add($n * stride);
                }
                sums = later;
            }};
        }
        match sums.len() {
            12.. => take!(12),
            10..12 => take!(10),
            8..10 => take!(8),
            6..8 => take!(6),
            4..6 => take!(4),
            2..4 => take!(2),
            _ => take!(1),
        }
    }
}

/// # Safety
/// As [`vnni_rows`], for `N` rows.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn vnni<const N: usize>(
    bytes: *const u8,
    stride: usize,
    panel: &[i8],
    sums: &mut [[i32; WIDE]],
) {
    let mut c = [[_mm512_setzero_si512(); 2]; N];
    let panel = panel.as_ptr();
    for group in 0..stride / 4 {
        // SAFETY: a group has 2 × 64 weights, a row of bytes 4 bytes per group.
        unsafe {
            let w = panel.add(group * 4 * WIDE);
            let w0 = _mm512_loadu_si512(w.cast::<__m512i>());
            let w1 = _mm512_loadu_si512(w.add(64).cast::<__m512i>());
            for (row, c) in c.iter_mut().enumerate() {
                let four = bytes.add(row * stride + group * 4).cast::<i32>().read_unaligned();
                let x = _mm512_set1_epi32(four);
                c[0] = _mm512_dpbusd_epi32(c[0], x, w0);
                c[1] = _mm512_dpbusd_epi32(c[1], x, w1);
            }
        }
    }
    for (c, sums) in c.iter().zip(sums) {
        // SAFETY: a row of sums is 2 × 16 integers.
        unsafe {
            _mm512_storeu_si512(sums.as_mut_ptr().cast::<__m512i>(), c[0]);
            _mm512_storeu_si512(sums.as_mut_ptr().add(16).cast::<__m512i>(), c[1]);
        }
    }
}

/// Without instructions for bytes: words, whose products are summed in pairs.
///
/// # Safety
/// AVX2; `words` has a row of `stride` words per row of sums; `panel` has `stride` times `WIDE` weights.
#[target_feature(enable = "avx2")]
unsafe fn avx2_rows(words: &[i16], stride: usize, panel: &[i8], sums: &mut [[i32; WIDE]]) {
    let (mut words, mut sums) = (words.as_ptr(), sums);
    while !sums.is_empty() {
        macro_rules! take {
            ($n:literal) => {{
                let (now, later) = sums.split_at_mut($n);
                // SAFETY: what the caller promises, less the rows that are done.
                unsafe {
                    avx2::<$n>(words, stride, panel, now);
                    words = words.add($n * stride);
                }
                sums = later;
            }};
        }
        match sums.len() {
            6.. => take!(6),
            4..6 => take!(4),
            2..4 => take!(2),
            _ => take!(1),
        }
    }
}

/// # Safety
/// As [`avx2_rows`], for `N` rows.
#[target_feature(enable = "avx2")]
unsafe fn avx2<const N: usize>(
    words: *const i16,
    stride: usize,
    panel: &[i8],
    sums: &mut [[i32; WIDE]],
) {
    // 8 outputs of each row at a time, in 2 registers that hold two half sums of 4 outputs each: with 6 rows that leaves
    // room for the weights and for the row's four inputs
    for eighth in 0..WIDE / 8 {
        let mut c = [[_mm256_setzero_si256(); 2]; N];
        for group in 0..stride / 4 {
            // SAFETY: a group has 4 × 32 weights, a row 4 words per group.
            unsafe {
                let w = panel.as_ptr().add(group * 4 * WIDE + eighth * 32);
                let w0 = _mm256_cvtepi8_epi16(_mm_loadu_si128(w.cast::<__m128i>()));
                let w1 = _mm256_cvtepi8_epi16(_mm_loadu_si128(w.add(16).cast::<__m128i>()));
                for (row, c) in c.iter_mut().enumerate() {
                    let four = words.add(row * stride + group * 4).cast::<i64>().read_unaligned();
                    let x = _mm256_set1_epi64x(four);
                    c[0] = _mm256_add_epi32(c[0], _mm256_madd_epi16(x, w0));
                    c[1] = _mm256_add_epi32(c[1], _mm256_madd_epi16(x, w1));
                }
            }
        }
        for (c, sums) in c.iter().zip(sums.iter_mut()) {
            // the half sums added; they come out as outputs 0 1 4 5 2 3 6 7
            let both = _mm256_hadd_epi32(c[0], c[1]);
            let eight = _mm256_permute4x64_epi64::<0b11_01_10_00>(both);
            // SAFETY: a row of sums has 32 integers.
            unsafe {
                let to = sums.as_mut_ptr().add(eighth * 8);
                _mm256_storeu_si256(to.cast::<__m256i>(), eight);
            }
        }
    }
}

/// The shapes of the eight tile registers: 16 rows of 64 bytes each.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

static TILES: TileConfig = TileConfig {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    row_bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

/// 32 rows of bytes times a panel of 32 outputs: two tiles by two.
///
/// # Safety
/// The processor has AMX tiles of bytes and the system permits them; `bytes` has 32 rows of `stride`
/// bytes, a positive multiple of 64; `panel` has `stride` times `WIDE` weights.
unsafe fn amx(bytes: &[u8], stride: usize, panel: &[i8], sums: &mut [[i32; WIDE]; 32]) {
    const { assert!(WIDE == 32 && DEEP == 64) };
    let above = bytes.as_ptr();
    // SAFETY: the caller's promise: each step reads 64 bytes of 32 rows and 16 groups of 128 weights,
    // and there are stride / 64 steps; at the end 32 rows of 128 bytes are stored to `sums`. The tile
    // registers are set up and released within the block.
    unsafe {
        asm!(
            "ldtilecfg [{config}]",
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "2:",
            "tileloadd tmm6, [{w} + {wide}*1]",
            "tileloadd tmm7, [{w} + {wide}*1 + 64]",
            "tileloadd tmm4, [{above} + {stride}*1]",
            "tdpbusd tmm0, tmm4, tmm6",
            "tdpbusd tmm1, tmm4, tmm7",
            "tileloadd tmm5, [{below} + {stride}*1]",
            "tdpbusd tmm2, tmm5, tmm6",
            "tdpbusd tmm3, tmm5, tmm7",
            "add {above}, 64",
            "add {below}, 64",
            "add {w}, 2048",
            "dec {steps}",
            "jnz 2b",
            "tilestored [{sums} + {wide}*1], tmm0",
            "tilestored [{sums} + {wide}*1 + 64], tmm1",
            "tilestored [{sums} + {wide}*1 + 2048], tmm2",
            "tilestored [{sums} + {wide}*1 + 2112], tmm3",
            "tilerelease",
            config = in(reg) &raw const TILES,
            above = inout(reg) above => _,
            below = inout(reg) above.add(16 * stride) => _,
            stride = in(reg) stride,
            w = inout(reg) panel.as_ptr() => _,
            wide = in(reg) 4 * WIDE,
            steps = inout(reg) stride / DEEP => _,
            sums = in(reg) sums.as_mut_ptr(),
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}

/// Compiles a plain function for each width of registers, and calls the one that the kernel has.
macro_rules! widths {
    ($name:ident, $plain:path, ($($arg:ident: $type:ty),*) -> $result:ty) => {
        pub(crate) fn $name(kernel: Kernel, $($arg: $type),*) -> $result {
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            fn avx512($($arg: $type),*) -> $result {
                $plain($($arg),*)
            }
            #[target_feature(enable = "avx2")]
            fn avx2($($arg: $type),*) -> $result {
                $plain($($arg),*)
            }
            match kernel.0 {
                // SAFETY: the kernel exists, so the machine has the instructions.
                Path::Amx | Path::Vnni => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                Path::Avx2 => unsafe { avx2($($arg),*) },
                Path::Portable => $plain($($arg),*),
            }
        }
    };
}

widths!(round_row, round_row_plain, (x: &[f32], bits: Bits, row: Row<'_>) -> f32);
widths!(finish, finish_plain, (block: &Block<'_>, lines: &mut [&mut [f32]]) -> ());
widths!(attend, attend_plain, (head: &mut Head<'_>) -> ());
widths!(exact_dots, exact_dots_plain, (x: &[i16], rows: &[i8], dots: &mut [i32]) -> ());
widths!(dots, dots_plain, (x: &[f32], rows: [&[f32]; 4]) -> [f32; 4]);
widths!(round_block, round_block_plain, (x: &[f32], bytes: &mut [i8], sums: &mut [i16; 24]) -> f32);
widths!(attend_row, attend_row_plain, (row: &mut LastRow<'_>) -> ());
