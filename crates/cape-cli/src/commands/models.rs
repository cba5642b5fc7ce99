//! `cape models`

use cape::tokens::Piece;
use cape_models::{
    DEFAULT, Files, Hub, HubError, HubName, Options, PullProgress, Remote, SentenceEncoder, pull,
};
use indicatif::ProgressBar;

use crate::args::{ModelsArgs, ModelsCommand};
use crate::failure::{Done, Failure};
use crate::output;

pub(crate) fn run(args: &ModelsArgs) -> Done {
    match &args.command {
        None => list(),
        Some(ModelsCommand::Pull { name }) => fetch(name),
        Some(ModelsCommand::Pack { model, to, precision }) => {
            cape_models::pack(&Files::find(model)?, *precision, to)?;
            output::print(&format!("written to {}", to.display()))
        }
    }
}

/// Fetches a model from the hub.
pub(crate) fn fetch(text: &str) -> Done {
    let name = HubName::parse(text).ok_or_else(|| HubError::Name(text.to_owned()))?;
    let hub = Hub::from_env().ok_or(HubError::NoHome)?;
    let mut bar = ProgressBar::hidden();
    let pulled = pull(&hub, &Remote::from_env(), &name, &mut |progress| match progress {
        PullProgress::Start { file, size, have } => {
            bar = output::download(size, file).with_position(have);
        }
        PullProgress::Bytes(bytes) => bar.inc(bytes),
        PullProgress::Done => bar.finish(),
    })?;
    output::print(&format!("{name} is in {}", pulled.dir.display()))?;
    if name.file().is_some() {
        return Ok(());
    }
    // whatever keeps it from being used is better known now than with a prompt at hand
    if let Err(error) = Files::read(&pulled.dir).and_then(|files| files.load_uncalibrated()) {
        if SentenceEncoder::load(text, Options::default()).is_ok() {
            return output::print("it is no device model, but a sentence encoder, for --encoder");
        }
        return Err(Failure::from(error).during(format!("{name} was pulled, but cannot be used")));
    }
    if pulled.calibrated {
        return output::print("it has a calibration (cape.json)");
    }
    output::print("it has no calibration (cape.json) yet")?;
    output::note(&format!(
        "hint: `cape calibrate --model {name} FILE` finds the range of its logits on public text\n"
    ));
    Ok(())
}

fn list() -> Done {
    let device = cape_models::load(DEFAULT)?;
    let vocab = device.model.vocab();
    let count = |piece| vocab.of_kind(piece).len();
    let calibration = device.model.calibration();
    let pulled = Hub::from_env().map(|hub| hub.list()).unwrap_or_default();
    let pulled = pulled.iter().fold(String::new(), |list, model| {
        let calibrated = if model.calibrated { "calibrated" } else { "not calibrated" };
        let dir = model.dir.display();
        format!("{list}{}  (pulled, {calibrated})\n  {dir}\n\n", model.name)
    });
    output::print(&format!(
        "{DEFAULT}  (embedded)
  masked: {}
  vocabulary {}: {} word beginnings and {} continuations can be drawn
  sees {} tokens at once; longer prompts in windows
  logits calibrated from {} to {}

{pulled}`cape models pull NAME` fetches a model from the Hugging Face hub. A folder with
config.json, tokenizer.json and model.safetensors can be given to --model as well, or a
GGUF file.",
        device.shape,
        vocab.len(),
        count(Piece::Start),
        count(Piece::Continuation),
        device.model.window(),
        calibration.lo(),
        calibration.hi(),
    ))
}
