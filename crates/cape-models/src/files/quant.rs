//! The ways in which files store numbers, widened to f32.
//!
//! In a GGUF file a block of 32 or 256 numbers has one or two scales, and a few bits for each number. The layouts are
//! those of llama.cpp.

use cape_kernels::{BLOCK, Coded, Coding};
use half::{bf16, f16};

/// How a tensor is stored: those of safetensors as floats, those of GGUF in any of these ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the names by which everyone knows them")]
pub(crate) enum NumberType {
    F32,
    F16,
    BF16,
    Q8_0,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q4_K,
    Q5_K,
    Q6_K,
}

/// Reads a block as it is coded.
type Read = fn(&[u8]) -> Coded;

impl NumberType {
    /// By its number in a GGUF file.
    pub(crate) fn of(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::F32,
            1 => Self::F16,
            2 => Self::Q4_0,
            3 => Self::Q4_1,
            6 => Self::Q5_0,
            7 => Self::Q5_1,
            8 => Self::Q8_0,
            12 => Self::Q4_K,
            13 => Self::Q5_K,
            14 => Self::Q6_K,
            30 => Self::BF16,
            _ => return None,
        })
    }

    /// The numbers and the bytes of one block.
    pub(crate) fn block(self) -> (usize, usize) {
        match self {
            Self::F32 => (1, 4),
            Self::F16 | Self::BF16 => (1, 2),
            Self::Q8_0 => (32, 34),
            Self::Q4_0 => (32, 18),
            Self::Q4_1 => (32, 20),
            Self::Q5_0 => (32, 22),
            Self::Q5_1 => (32, 24),
            Self::Q4_K => (256, 144),
            Self::Q5_K => (256, 176),
            Self::Q6_K => (256, 210),
        }
    }

    /// How the kernels read a block as it is, where they know it.
    pub(crate) fn coding(self) -> Option<(Coding, Read)> {
        match self {
            Self::Q4_K => Some((Coding::Four, q4_k_coded)),
            Self::Q6_K => Some((Coding::Six, q6_k_coded)),
            _ => None,
        }
    }

    /// The numbers of whole blocks.
    pub(crate) fn widen(self, bytes: &[u8]) -> Vec<f32> {
        match self {
            Self::F32 => widen(bytes, f32::from_le_bytes),
            Self::F16 => widen(bytes, half),
            Self::BF16 => widen(bytes, |number| bf16::from_le_bytes(number).to_f32()),
            Self::Q8_0 => blocks::<34>(bytes, q8_0),
            Self::Q4_0 => blocks::<18>(bytes, q4_0),
            Self::Q4_1 => blocks::<20>(bytes, q4_1),
            Self::Q5_0 => blocks::<22>(bytes, q5_0),
            Self::Q5_1 => blocks::<24>(bytes, q5_1),
            Self::Q4_K => blocks::<144>(bytes, q4_k),
            Self::Q5_K => blocks::<176>(bytes, q5_k),
            Self::Q6_K => blocks::<210>(bytes, q6_k),
        }
    }
}

/// Numbers of `N` bytes each.
fn widen<const N: usize>(bytes: &[u8], number: fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&bytes| number(bytes)).collect()
}

fn blocks<const N: usize>(bytes: &[u8], widen: fn(&[u8; N], &mut Vec<f32>)) -> Vec<f32> {
    let mut out = Vec::new();
    for block in bytes.as_chunks().0 {
        widen(block, &mut out);
    }
    out
}

fn half(bytes: [u8; 2]) -> f32 {
    f16::from_le_bytes(bytes).to_f32()
}

/// A part of a block.
fn part<const N: usize, const LEN: usize>(block: &[u8; N], at: usize) -> [u8; LEN] {
    std::array::from_fn(|i| block[at + i])
}

/// The low halves of all bytes, then the high ones, each with its place among them.
fn nibbles(bytes: &[u8]) -> impl Iterator<Item = (usize, u8)> {
    bytes.iter().map(|b| b & 15).chain(bytes.iter().map(|b| b >> 4)).enumerate()
}

fn q8_0(block: &[u8; 34], out: &mut Vec<f32>) {
    let scale = half(part(block, 0));
    out.extend(block[2..].iter().map(|&b| f32::from(b.cast_signed()) * scale));
}

fn q4_0(block: &[u8; 18], out: &mut Vec<f32>) {
    let scale = half(part(block, 0));
    out.extend(nibbles(&block[2..]).map(|(_, q)| (f32::from(q) - 8.0) * scale));
}

fn q4_1(block: &[u8; 20], out: &mut Vec<f32>) {
    let (scale, least) = (half(part(block, 0)), half(part(block, 2)));
    out.extend(nibbles(&block[4..]).map(|(_, q)| f32::from(q) * scale + least));
}

/// The low four bits of each number lie as in the types of four bits, the fifth ones side by side.
fn fifth(q: u8, high: u32, i: usize) -> f32 {
    f32::from(q | ((high >> i & 1) as u8) << 4)
}

fn q5_0(block: &[u8; 22], out: &mut Vec<f32>) {
    let (scale, high) = (half(part(block, 0)), u32::from_le_bytes(part(block, 2)));
    out.extend(nibbles(&block[6..]).map(|(i, q)| (fifth(q, high, i) - 16.0) * scale));
}

fn q5_1(block: &[u8; 24], out: &mut Vec<f32>) {
    let (scale, least) = (half(part(block, 0)), half(part(block, 2)));
    let high = u32::from_le_bytes(part(block, 4));
    out.extend(nibbles(&block[8..]).map(|(i, q)| fifth(q, high, i) * scale + least));
}

/// The scale and the offset of the eight parts of 32 numbers in a block of 256: six bits each, the
/// first four of both whole, the high bits of the last four packed into the first.
fn part_scales(block: &[u8]) -> [(u8, u8); 8] {
    let s = &block[4..16];
    std::array::from_fn(|i| {
        if i < 4 {
            (s[i] & 63, s[i + 4] & 63)
        } else {
            (s[i + 4] & 15 | s[i - 4] >> 6 << 4, s[i + 4] >> 4 | s[i] >> 6 << 4)
        }
    })
}

/// The same, times those of the block.
fn scales(block: &[u8]) -> [(f32, f32); 8] {
    let (scale, offset) = (half([block[0], block[1]]), half([block[2], block[3]]));
    part_scales(block).map(|(a, b)| (scale * f32::from(a), offset * f32::from(b)))
}

fn q4_k(block: &[u8; 144], out: &mut Vec<f32>) {
    let scales = scales(block);
    for (i, bytes) in block[16..].chunks_exact(32).enumerate() {
        out.extend(nibbles(bytes).map(|(j, q)| {
            let (scale, offset) = scales[2 * i + j / 32];
            scale * f32::from(q) - offset
        }));
    }
}

fn q5_k(block: &[u8; 176], out: &mut Vec<f32>) {
    let scales = scales(block);
    let high = &block[16..48];
    for (i, bytes) in block[48..].chunks_exact(32).enumerate() {
        out.extend(nibbles(bytes).map(|(j, q)| {
            let part = 2 * i + j / 32;
            let (scale, offset) = scales[part];
            scale * fifth(q, high[j % 32].into(), part) - offset
        }));
    }
}

fn q4_k_coded(block: &[u8]) -> Coded {
    let parts = part_scales(block);
    let mut codes = [0; BLOCK];
    for (codes, bytes) in codes.chunks_exact_mut(64).zip(block[16..].chunks_exact(32)) {
        for (j, q) in nibbles(bytes) {
            codes[j] = q;
        }
    }
    let of = |i: usize| parts.get(i).copied().unwrap_or_default();
    Coded {
        codes,
        scales: std::array::from_fn(|i| of(i).0.cast_signed()),
        offsets: std::array::from_fn(|i| of(i).1.into()),
        scale: half([block[0], block[1]]),
        offset: half([block[2], block[3]]),
    }
}

/// The code of number `i` in a block.
fn q6_k_code(block: &[u8], i: usize) -> u8 {
    // two halves; in each, four runs of 32 whose low bits share 64 bytes and high bits 32
    let (hundred, run, at) = (i / 128, i % 128 / 32, i % 32);
    let low = block[64 * hundred + 32 * (run % 2) + at];
    let low = if run < 2 { low & 15 } else { low >> 4 };
    let high = block[128 + 32 * hundred + at] >> (2 * run) & 3;
    low | high << 4
}

fn q6_k(block: &[u8; 210], out: &mut Vec<f32>) {
    let scale = half(part(block, 208));
    for i in 0..256 {
        let own = block[192 + i / 16].cast_signed();
        out.push(scale * f32::from(own) * (f32::from(q6_k_code(block, i)) - 32.0));
    }
}

fn q6_k_coded(block: &[u8]) -> Coded {
    let scales = std::array::from_fn(|part| block[192 + part].cast_signed());
    let scale = half([block[208], block[209]]);
    Coded {
        codes: std::array::from_fn(|i| q6_k_code(block, i)),
        scales,
        // codes are 32 too large
        offsets: scales.map(|scale| 32 * i16::from(scale)),
        scale,
        offset: scale,
    }
}
