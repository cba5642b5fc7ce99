//! Finding a model's lo and hi on public text.

use std::path::{Path, PathBuf};

use cape::keep::KeepList;
use cape::model::LanguageModel;
use cape::utility::Calibration;
use cape::vocab::Candidates;
use rayon::prelude::*;

use crate::files::{CapeJson, write_cape_json};
use crate::{Device, Error, Files, Result};

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
                for (i, token) in part.iter().enumerate().filter(|(_, t)| t.kept.is_none()) {
                    let logits = device.model.logits(&ids, &[i])?;
                    let candidates = device.model.vocab().candidates(token.piece, Candidates::All);
                    for id in candidates {
                        lo = lo.min(logits.row(0)[id.index()]);
                        hi = hi.max(logits.row(0)[id.index()]);
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

/// Writes a calibration beside the model, in `cape.json`; what else stands there is kept.
pub fn save_calibration(dir: &Path, calibration: Calibration) -> Result<PathBuf> {
    let window = Files::read(dir)?.window();
    write_cape_json(dir, &CapeJson { lo: calibration.lo(), hi: calibration.hi(), window })
}
