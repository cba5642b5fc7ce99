//! Rotary positions.

use serde::Deserialize;

use crate::error::{Error, Result};

/// The angle by which each pair of columns of a head is turned from one place to the next.
pub(crate) struct Rope {
    angles: Vec<f32>,
}

/// The scaling in `config.json`: `rope_scaling`, or `rope_parameters` of newer files.
#[derive(Deserialize, Default)]
pub(crate) struct Scaling {
    pub(crate) rope_theta: Option<f32>,
    #[serde(alias = "type")]
    rope_type: Option<String>,
    factor: Option<f32>,
    low_freq_factor: Option<f32>,
    high_freq_factor: Option<f32>,
    original_max_position_embeddings: Option<f32>,
}

impl Rope {
    /// For heads of this width.
    pub(crate) fn new(theta: f32, width: usize) -> Result<Self> {
        if !(theta.is_finite() && theta >= 1.0) {
            return Err(Error::Config("rope_theta must be at least 1, and finite".into()));
        }
        let pairs = (0..width / 2).map(|i| 1.0 / theta.powf((2 * i) as f32 / width as f32));
        Ok(Self { angles: pairs.collect() })
    }

    /// Scaled as the file says.
    pub(crate) fn scale(mut self, scaling: &Scaling) -> Result<Self> {
        match scaling.rope_type.as_deref().unwrap_or("default") {
            "default" => Ok(self),
            "llama3" => {
                let of = |name: &str, value: Option<f32>| match value {
                    Some(value) if value.is_finite() && value > 0.0 => Ok(value),
                    _ => Err(Error::Config(format!("rope_scaling: {name} must be positive"))),
                };
                let factor = of("factor", scaling.factor)?;
                let low = of("low_freq_factor", scaling.low_freq_factor)?;
                let high = of("high_freq_factor", scaling.high_freq_factor)?;
                let original = of(
                    "original_max_position_embeddings",
                    scaling.original_max_position_embeddings,
                )?;
                if low >= high {
                    let why = "rope_scaling: low_freq_factor must be below high_freq_factor";
                    return Err(Error::Config(why.into()));
                }
                for angle in &mut self.angles {
                    // by the full turns within the length of the first training: angles with many
                    // turns stay, those with few are slowed down, others are mixed
                    let turns = original * *angle / std::f32::consts::TAU;
                    let kept = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                    *angle = (1.0 - kept) * *angle / factor + kept * *angle;
                }
                Ok(self)
            }
            other => Err(Error::Config(format!("rope_scaling of type `{other}` is not supported"))),
        }
    }

    /// Slowed down by a factor for each pair.
    pub(crate) fn divide(mut self, factors: &[f32]) -> Self {
        for (angle, factor) in self.angles.iter_mut().zip(factors) {
            *angle /= factor;
        }
        self
    }

    /// The turns of rows at these places.
    pub(crate) fn turns(&self, places: &[usize]) -> Turns {
        let turn = |place: usize, angle: &f32| (place as f32 * angle).sin_cos();
        let turns = places.iter().flat_map(|&at| self.angles.iter().map(move |a| turn(at, a)));
        Turns { pairs: self.angles.len(), turns: turns.collect() }
    }
}

/// Sine and cosine for each pair of each row.
pub(crate) struct Turns {
    pairs: usize,
    turns: Vec<(f32, f32)>,
}

impl Turns {
    /// Turns every head of every row: column j of a head pairs with the one half a head further.
    pub(crate) fn apply(&self, x: &mut [f32], heads: usize) {
        let rows = x.chunks_exact_mut(heads * 2 * self.pairs);
        for (row, turns) in rows.zip(self.turns.chunks_exact(self.pairs)) {
            for head in row.chunks_exact_mut(2 * self.pairs) {
                let (left, right) = head.split_at_mut(self.pairs);
                for ((a, b), (sin, cos)) in left.iter_mut().zip(right).zip(turns) {
                    (*a, *b) = (*a * cos - *b * sin, *b * cos + *a * sin);
                }
            }
        }
    }
}
