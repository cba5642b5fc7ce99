//! `cape models`

use cape::text::Piece;
use cape::vocab::Candidates;
use cape_models::{DEFAULT, Files, Precision};

use crate::args::{ModelsArgs, ModelsCommand, PrecisionArg};
use crate::failure::Done;
use crate::output;

pub(crate) fn run(args: &ModelsArgs) -> Done {
    match &args.command {
        None => list(),
        Some(ModelsCommand::Pack { model, to, precision }) => {
            let precision = match precision {
                PrecisionArg::F32 => Precision::F32,
                PrecisionArg::Bf16 => Precision::Bf16,
                PrecisionArg::Int8 => Precision::Int8,
            };
            cape_models::pack(&Files::find(model)?, precision, to)?;
            output::print(&format!("written to {}", to.display()))
        }
    }
}

fn list() -> Done {
    let device = cape_models::load(DEFAULT)?;
    let vocab = device.model.vocab();
    let count = |piece| vocab.candidates(piece, Candidates::Typed).len();
    let calibration = device.model.calibration();
    output::print(&format!(
        "{DEFAULT}  (embedded)
  masked, BERT-shaped: {}
  vocabulary {}: {} word beginnings and {} continuations can be drawn
  sees {} tokens at once; longer prompts in windows
  logits calibrated from {} to {}

Any folder with config.json, tokenizer.json and model.safetensors of a BERT-shaped
masked model can be given to --model as well.",
        device.shape,
        vocab.len(),
        count(Piece::Start),
        count(Piece::Continuation),
        device.model.window(),
        calibration.lo(),
        calibration.hi(),
    ))
}
