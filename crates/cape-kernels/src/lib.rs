//! Integer matrix products for device models: `y = x·Wᵀ + b` with weights of 8 bits and activations
//! of 8 or 16 bits.
//!
//! Weights have one scale per output, activations one scale per row, found when the row is rounded.
//! Products and sums are integers, so each path through the code (AMX, AVX-512 VNNI, AVX2, portable)
//! gives the same bits, and a row gives the same bits alone as in a batch.
//!
//! ```
//! use cape_kernels::{Bits, Kernel, Rows, Weights};
//!
//! let weights = Weights::rounded(&[1.0, 2.0, -3.0, 0.5], 2); // two outputs of two inputs
//! let rows = Rows::new(&[10.0, 20.0], 2, Bits::Sixteen, Kernel::best());
//! let mut y = [0.0; 2];
//! weights.product(&rows, &[0.0, 100.0], Kernel::best(), &mut y, &|_| {});
//! assert!((y[0] - 50.0).abs() < 0.2 && (y[1] - 80.0).abs() < 0.2);
//! ```

mod attention;
mod dots;
mod kernel;
mod product;
mod rows;
mod weights;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use attention::{Attention, Bias};
pub use dots::dots;
pub use kernel::Kernel;
pub use rows::{Bits, Rows};
pub use weights::{Weights, rounded};

/// How many outputs stand side by side in packed weights.
const WIDE: usize = 32;

/// Inputs are padded with zeros to a multiple of this: the bytes of a row of an AMX tile.
const DEEP: usize = 64;

/// Zeros whose first one lies on a border of 64 bytes.
struct Aligned<T> {
    data: Vec<T>,
    start: usize,
}

impl<T: Copy + Default> Aligned<T> {
    fn zeros(len: usize) -> Self {
        let data = vec![T::default(); len + 64 / size_of::<T>()];
        // an offset that cannot be found costs speed only
        let start = data.as_ptr().align_offset(64).min(data.len() - len);
        Self { data, start }
    }

    fn get(&self, len: usize) -> &[T] {
        &self.data[self.start..][..len]
    }

    fn get_mut(&mut self, len: usize) -> &mut [T] {
        &mut self.data[self.start..][..len]
    }
}
