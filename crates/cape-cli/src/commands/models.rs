//! `cape models`

use cape::model::LanguageModel;
use cape::text::Piece;
use cape::vocab::Candidates;
use cape_models::{DEFAULT, Files, Precision};

use crate::args::{ModelsArgs, ModelsCommand, PrecisionArg};
use crate::failure::Done;

pub(crate) fn run(args: &ModelsArgs) -> Done {
    match &args.command {
        None => list(),
        Some(ModelsCommand::Pack {
            model,
            to,
            precision,
        }) => {
            let precision = match precision {
                PrecisionArg::F32 => Precision::F32,
                PrecisionArg::Bf16 => Precision::Bf16,
                PrecisionArg::Int8 => Precision::Int8,
            };
            cape_models::pack(&Files::find(model)?, precision, to)?;
            println!("written to {}", to.display());
            Ok(())
        }
    }
}

fn list() -> Done {
    let device = cape_models::load(DEFAULT)?;
    let vocab = device.model.vocab();
    let count = |piece| vocab.candidates(piece, Candidates::Typed).len();
    let calibration = device.model.calibration();
    println!("{DEFAULT}  (embedded)");
    println!("  masked, BERT-shaped: {}", device.model.shape());
    println!(
        "  vocabulary {}: {} word beginnings and {} continuations can be drawn",
        vocab.len(),
        count(Piece::Start),
        count(Piece::Continuation),
    );
    println!(
        "  sees {} tokens at once; longer prompts in windows",
        device.model.window()
    );
    println!(
        "  logits calibrated from {} to {}",
        calibration.lo, calibration.hi
    );
    println!();
    println!("Any folder with config.json, tokenizer.json and model.safetensors of a BERT-shaped");
    println!("masked model can be given to --model as well.");
    Ok(())
}
