//! Which code computes: this machine's instructions, or plain loops.

use std::sync::LazyLock;

use crate::blocks::{CodedRows, Panel, SIDE};
use crate::head::Head;
use crate::kernel::{Kernel, Path};
use crate::last_row::LastRow;
use crate::packing::WIDE;
use crate::plain::{Bits, Block, Row};

/// Calls the function of this name for x86-64, which looks at the kernel; elsewhere the plain one.
macro_rules! dispatch {
    ($kernel:expr, $name:ident, $plain:path, $($arg:expr),*) => {{
        #[cfg(target_arch = "x86_64")]
        return crate::x86::$name($kernel, $($arg),*);
        #[cfg(not(target_arch = "x86_64"))]
        return $plain($($arg),*);
    }};
}

impl Kernel {
    /// The kernel of this name, if the machine has what it needs.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let path = match name {
            #[cfg(target_arch = "x86_64")]
            "amx" if crate::x86::has_amx() => Path::Amx,
            #[cfg(target_arch = "x86_64")]
            "vnni" if crate::x86::has_vnni() => Path::Vnni,
            #[cfg(target_arch = "x86_64")]
            "avx2" if crate::x86::has_avx2() => Path::Avx2,
            "portable" => Path::Portable,
            _ => return None,
        };
        Some(Self(path))
    }

    /// All kernels of this machine, the fastest first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::NAMES.into_iter().filter_map(Self::named)
    }

    /// The fastest kernel of this machine.
    #[must_use]
    pub fn best() -> Self {
        static BEST: LazyLock<Kernel> =
            LazyLock::new(|| Kernel::available().next().unwrap_or(Kernel::PORTABLE));
        *BEST
    }

    /// The products of `x` with four rows of the same length. They do not depend on how many such
    /// products are asked for, or by how many threads: a product of matrices is rounded differently in
    /// batches of different sizes.
    #[must_use]
    pub fn dots(self, x: &[f32], rows: [&[f32]; 4]) -> [f32; 4] {
        dispatch!(self, dots, crate::plain::dots_plain, x, rows)
    }

    /// The products of `x` with rows of its length that lie one after the other, exact.
    ///
    /// # Panics
    /// If there are not as many rows as products, or if a product might not fit 32 bits.
    pub fn exact_dots(self, x: &[i16], rows: &[i8], dots: &mut [i32]) {
        assert!(!x.is_empty() && rows.len() == dots.len() * x.len(), "a product per row");
        let most: u32 = x.iter().map(|&v| u32::from(v.unsigned_abs())).sum();
        assert!(most < 1 << 24, "products must fit 32 bits");
        dispatch!(self, exact_dots, crate::plain::exact_dots_plain, x, rows, dots);
    }

    /// Writes the integers of a row and gives its scale.
    pub(crate) fn round_row(self, x: &[f32], bits: Bits, row: Row<'_>) -> f32 {
        dispatch!(self, round_row, crate::plain::round_row_plain, x, bits, row)
    }

    /// For each row of words and each output of the panel the sum of products; there are as many rows as sums, `stride`
    /// apart.
    pub(crate) fn sums_of_words(
        self,
        words: &[i16],
        stride: usize,
        panel: &[i8],
        sums: &mut [[i32; WIDE]],
    ) {
        dispatch!(self, sums_of_words, crate::plain::sums_plain, words, stride, panel, sums);
    }

    /// The same for rows of bytes, for kernels that have instructions for them.
    pub(crate) fn sums_of_bytes(
        self,
        bytes: &[u8],
        stride: usize,
        panel: &[i8],
        sums: &mut [[i32; WIDE]],
    ) {
        dispatch!(
            self,
            sums_of_bytes,
            crate::plain::sums_of_bytes_plain,
            bytes,
            stride,
            panel,
            sums
        );
    }

    /// The sums of some rows made into numbers of the result.
    pub(crate) fn finish(self, block: &Block<'_>, lines: &mut [&mut [f32]]) {
        dispatch!(self, finish, crate::plain::finish_plain, block, lines);
    }

    /// Writes the integers of a block and the sums of its parts, and gives its scale.
    pub(crate) fn round_block(self, x: &[f32], bytes: &mut [i8], sums: &mut [i16; 24]) -> f32 {
        dispatch!(self, round_block, crate::blocks::round_block_plain, x, bytes, sums)
    }

    /// For some rows and each output of a panel of coded weights the sum of products.
    pub(crate) fn sums_of_blocks(
        self,
        panel: Panel<'_>,
        rows: &CodedRows,
        first: usize,
        sums: &mut [[f32; SIDE]],
    ) {
        dispatch!(
            self,
            sums_of_blocks,
            crate::blocks::sums_of_blocks_plain,
            panel,
            rows,
            first,
            sums
        );
    }

    /// Attention of one row to the rows before it; see [`crate::LastRow`].
    pub(crate) fn attend_row(self, row: &mut LastRow<'_>) {
        dispatch!(self, attend_row, crate::last_row::attend_row_plain, row);
    }

    /// The attention of one head.
    pub(crate) fn attend(self, head: &mut Head<'_>) {
        dispatch!(self, attend, crate::head::attend_plain, head);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_up_to_the_largest() {
        for (len, largest) in
            [(1, i16::MIN), (3, 7), (128, i16::MAX), (200, -1000), (511, i16::MAX)]
        {
            let x: Vec<i16> =
                (0..len).map(|i| if i % 5 == 0 { largest / 3 } else { largest }).collect();
            let rows: Vec<i8> =
                (0..7 * len).map(|i| if i < len { i8::MIN } else { (i * 37) as i8 }).collect();
            let want: Vec<i64> = rows
                .chunks(len)
                .map(|row| row.iter().zip(&x).map(|(&w, &x)| i64::from(w) * i64::from(x)).sum())
                .collect();
            for kernel in Kernel::available() {
                let mut got = [0; 7];
                kernel.exact_dots(&x, &rows, &mut got);
                assert!(got.iter().map(|&dot| i64::from(dot)).eq(want.iter().copied()), "{len}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "32 bits")]
    fn products_that_might_not_fit_are_refused() {
        Kernel::best().exact_dots(&[i16::MAX; 600], &[i8::MIN; 600], &mut [0]);
    }

    #[test]
    fn follows_the_definition_and_gives_the_same_bits_everywhere() {
        for len in [1, 5, 16, 33, 100] {
            let numbers = |by: f32| (0..len).map(|i| (i as f32 * by).sin()).collect::<Vec<f32>>();
            let (x, rows) = (numbers(0.3), [0.5, 0.7, 1.1, 1.3].map(numbers));
            let rows = rows.each_ref().map(Vec::as_slice);
            let plain = Kernel::PORTABLE.dots(&x, rows);
            for (row, got) in rows.iter().zip(plain) {
                let want: f64 =
                    x.iter().zip(*row).map(|(&x, &w)| f64::from(x) * f64::from(w)).sum();
                assert!((f64::from(got) - want).abs() < 1e-5, "{got} {want}");
            }
            for kernel in Kernel::available() {
                assert!(kernel.dots(&x, rows) == plain);
            }
        }
    }
}
