//! Finding a model's lo and hi on public text.

use std::path::{Path, PathBuf};

use cape::tokens::{Calibration, KeepList, Memory, View};
use rayon::prelude::*;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::files::{CapeJson, Files};

/// How many positions go to the model at once.
const BATCH: usize = 16;

/// The smallest and the largest logit that the model gives any candidate at the sensitive
/// positions of these texts, each position masked in turn. `done` is told after every text.
pub fn calibrate(device: &Device, texts: &[&str], done: &(dyn Fn() + Sync)) -> Result<Calibration> {
    let keep = KeepList::default();
    let extremes = texts
        .par_iter()
        .map(|text| -> Result<(f32, f32)> {
            let tokens = device.tokenizer.tokenize(text, &keep)?;
            let (mut lo, mut hi) = (f32::INFINITY, f32::NEG_INFINITY);
            // a text longer than the model is seen in pieces
            for part in tokens.as_slice().chunks(device.model.window()) {
                let ids: Vec<_> = part.iter().map(|token| token.id).collect();
                let sensitive = part.iter().enumerate().filter(|(_, token)| token.kept.is_none());
                let positions: Vec<usize> = sensitive.map(|(i, _)| i).collect();
                let mut memory = Memory::default();
                for positions in positions.chunks(BATCH) {
                    let view = View { ids: &ids, positions, memory: &mut memory };
                    for row in device.model.logits(&mut [view])? {
                        lo = row.iter().fold(lo, |lo, &logit| lo.min(logit));
                        hi = row.iter().fold(hi, |hi, &logit| hi.max(logit));
                    }
                }
            }
            done();
            Ok((lo, hi))
        })
        .try_reduce(
            || (f32::INFINITY, f32::NEG_INFINITY),
            |a, b| Ok((a.0.min(b.0), a.1.max(b.1))),
        )?;
    Calibration::new(extremes.0, extremes.1).ok_or(Error::NothingToCalibrate)
}

/// Writes a calibration to `cape.json` beside the model, and keeps the window that stands there.
pub fn save_calibration(dir: &Path, calibration: Calibration) -> Result<PathBuf> {
    let window = Files::read(dir)?.window();
    // a file's calibration stands beside it
    let dir = if dir.is_file() { dir.parent().unwrap_or(dir) } else { dir };
    CapeJson { lo: calibration.lo(), hi: calibration.hi(), window }.write(dir)
}
