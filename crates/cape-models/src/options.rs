//! How a model computes.

use cape_kernels::{Bits, Kernel};
use serde::Deserialize;

/// In which numbers a model computes its logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// `Int16` for a model stored as integers on a machine that is fast at them, else `F32`.
    #[default]
    Auto,
    /// Floats of 32 bits.
    F32,
    /// Weights of 8 bits and activations of 16. For a model stored as integers about as exact as
    /// floats; others have their weights rounded.
    Int16,
    /// Weights and activations of 8 bits: the fastest, and the least exact.
    Int8,
}

impl Arithmetic {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::F32, Self::Int16, Self::Int8];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::F32 => "f32",
            Self::Int16 => "int16",
            Self::Int8 => "int8",
        }
    }

    /// The arithmetic of this name: `auto`, `f32`, `int16` or `int8`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|arithmetic| arithmetic.name() == name)
    }
}

/// How a model computes: it changes logits in their last digits, or more, and never a guarantee.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The numbers.
    pub arithmetic: Arithmetic,
    /// The instructions.
    pub kernel: Kernel,
}

impl Default for Options {
    fn default() -> Self {
        Self { arithmetic: Arithmetic::Auto, kernel: Kernel::best() }
    }
}

impl Options {
    /// The arithmetic for a model stored as integers or not.
    pub(crate) fn math(self, stored_as_integers: bool) -> Math {
        let integers = match self.arithmetic {
            Arithmetic::Auto => {
                (stored_as_integers && self.kernel.is_fast()).then_some(Bits::Sixteen)
            }
            Arithmetic::F32 => None,
            Arithmetic::Int16 => Some(Bits::Sixteen),
            Arithmetic::Int8 => Some(Bits::Eight),
        };
        Math { integers, kernel: self.kernel }
    }
}

/// How a network computes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Math {
    /// Weights of 8 bits and activations of so many; none for floats.
    pub(crate) integers: Option<Bits>,
    pub(crate) kernel: Kernel,
}

impl Math {
    pub(crate) fn arithmetic(self) -> Arithmetic {
        match self.integers {
            None => Arithmetic::F32,
            Some(Bits::Sixteen) => Arithmetic::Int16,
            Some(Bits::Eight) => Arithmetic::Int8,
        }
    }
}
