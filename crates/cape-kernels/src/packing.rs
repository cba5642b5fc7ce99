//! How packed numbers lie in memory: the sizes that all kernels agree on.

/// How many outputs stand side by side in packed weights.
pub(crate) const WIDE: usize = 32;

/// Inputs are padded with zeros to a multiple of this: the bytes of a row of an AMX tile.
pub(crate) const DEEP: usize = 64;

/// Zeros whose first one lies on a border of 64 bytes.
pub(crate) struct Aligned<T> {
    data: Vec<T>,
    start: usize,
}

impl<T: Copy + Default> Aligned<T> {
    pub(crate) fn zeros(len: usize) -> Self {
        let data = vec![T::default(); len + 64 / size_of::<T>()];
        // an offset that cannot be found costs speed only
        let start = data.as_ptr().align_offset(64).min(data.len() - len);
        Self { data, start }
    }

    pub(crate) fn get(&self, len: usize) -> &[T] {
        &self.data[self.start..][..len]
    }

    pub(crate) fn get_mut(&mut self, len: usize) -> &mut [T] {
        &mut self.data[self.start..][..len]
    }
}
