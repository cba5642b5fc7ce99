//! Which instructions compute the products, chosen when the program runs.

use std::sync::LazyLock;

/// A way to compute that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(pub(crate) Path);

/// Values other than `Portable` exist only inside a [`Kernel`] that was found to work here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    #[cfg(target_arch = "x86_64")]
    Amx,
    #[cfg(target_arch = "x86_64")]
    Vnni,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Kernel {
    /// Code that runs everywhere.
    pub const PORTABLE: Self = Self(Path::Portable);

    /// The names that [`Kernel::named`] knows, the fastest first.
    pub const NAMES: [&str; 4] = ["amx", "vnni", "avx2", "portable"];

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

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Path::Amx => "amx",
            #[cfg(target_arch = "x86_64")]
            Path::Vnni => "vnni",
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => "avx2",
            Path::Portable => "portable",
        }
    }

    /// Whether integers are faster than f32 on it, in 16 bits too.
    #[must_use]
    pub fn is_fast(self) -> bool {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Path::Amx | Path::Vnni => true,
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => false,
            Path::Portable => false,
        }
    }
}
