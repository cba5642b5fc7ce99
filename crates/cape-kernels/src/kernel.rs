//! The kernels: which instructions compute.

/// A way to compute that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(pub(crate) Path);

/// Values other than `Portable` exist only inside a [`Kernel`] that was found to work here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "the others are of x86-64"))]
pub(crate) enum Path {
    Amx,
    Vnni,
    Avx2,
    Portable,
}

impl Kernel {
    /// Code that runs everywhere.
    pub const PORTABLE: Self = Self(Path::Portable);

    /// The names that [`Kernel::named`] knows, the fastest first.
    pub const NAMES: [&str; 4] = ["amx", "vnni", "avx2", "portable"];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Path::Amx => "amx",
            Path::Vnni => "vnni",
            Path::Avx2 => "avx2",
            Path::Portable => "portable",
        }
    }

    /// Whether integers are faster than f32 on it, in 16 bits too.
    #[must_use]
    pub fn is_fast(self) -> bool {
        matches!(self.0, Path::Amx | Path::Vnni | Path::Avx2)
    }
}
