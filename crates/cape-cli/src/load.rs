//! Device models and word vectors, loaded with a bar and with what a person should know about them.

use std::path::Path;

use cape_models::{CompactFile, Device, Kernel, LoadPhase, Options, PreparedBaseline, Vectors};

use crate::failure::{Done, Failure};
use crate::output::{self, note};

/// Says if lists will have to be made again the next time.
pub(crate) fn warn_of_lists(prepared: &PreparedBaseline) {
    if let Some(why) = &prepared.not_stored {
        note(&format!("warning: the lists of words were not stored beside the vectors: {why}\n"));
    }
}

/// Loads word vectors with a bar, and says what is worth knowing about the file.
pub(crate) fn word_vectors(path: &Path) -> Done<Vectors> {
    let bar = output::download(0, "reading the vectors");
    let loaded = Vectors::load(path, &mut |progress| {
        bar.set_message(match progress.phase {
            LoadPhase::Reading => "reading the vectors",
            LoadPhase::Checking => "checking the vectors",
            LoadPhase::Comparing => "comparing the vectors with their source",
            LoadPhase::Writing => "writing the vectors",
        });
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    });
    bar.finish_and_clear();
    let loaded = loaded?;
    let skipped = loaded.skipped.duplicates + loaded.skipped.unfit + loaded.skipped.not_utf8;
    if loaded.compact == CompactFile::Made && skipped > 0 {
        note(&format!(
            "note: {skipped} entries of the vectors were left out: they occur twice, have white space \
             in them, or are not UTF-8\n"
        ));
    }
    if let CompactFile::NotWritten(why) = &loaded.compact {
        note(&format!("warning: the vectors were not stored compactly: {why}\n"));
    }
    Ok(loaded)
}

/// Loads a model and warns where it has no calibration.
pub(crate) fn device(name_or_dir: &str, options: Options) -> Done<Device> {
    let device = cape_models::load_with(name_or_dir, options)?;
    if !device.calibrated {
        let (lo, hi) = (device.model.calibration().lo(), device.model.calibration().hi());
        note(&format!(
            "warning: this model has no cape.json; its logits are taken to lie between {lo} and {hi}\n\
             hint: `cape calibrate --model {name_or_dir} FILE` finds their range on public text\n"
        ));
    }
    Ok(device)
}

/// The kernel of this name, or the best.
pub(crate) fn kernel(name: Option<&str>) -> Done<Kernel> {
    let Some(name) = name else { return Ok(Kernel::best()) };
    Kernel::named(name).ok_or_else(|| {
        let here: Vec<&str> = Kernel::available().map(Kernel::name).collect();
        Failure::usage(
            "this machine has no such kernel",
            format!("it has: {}; without --kernel the first is used", here.join(", ")),
        )
    })
}
