//! How is a grid run, and how is its report written? The same for any prompts and for the paper's protocol.

use std::path::Path;

use cape_eval::Meaning;
use cape_eval::asked::Chat;
use cape_eval::chat::Client;
use cape_eval::data::Data;
use cape_eval::grid::{Grid, Refused};
use cape_eval::record::Record;
use cape_eval::report::Report;
use cape_models::Options;
use cape_models::SentenceEncoder;

use crate::args::ChatArgs;
use crate::failure::{Done, Failure, io};
use crate::output;

/// The paper's values of ε.
pub(super) const EPSILONS: [f64; 7] = [1.0, 2.0, 3.0, 6.0, 10.0, 14.0, 20.0];

/// A note for runs where the local model is no other model.
pub(super) const ONE_MODEL: &str = "One chat model is both the service and the local model here: alone it writes what is \
    expected, so its alignment says nothing. --local-model gives another.";

/// Runs a grid with a bar.
pub(super) fn conduct(
    grid: &Grid<'_>,
    path: &Path,
    what: &str,
) -> Done<(Vec<Record>, Vec<Refused>)> {
    let progress = output::Progress::new(grid.releases(), what);
    let ran = grid.run(path, &|done| progress.at(done));
    progress.finish();
    Ok(ran?)
}

/// The comparison of meanings, on this data.
pub(super) fn meaning(encoder: &str, data: &Data) -> Done<Meaning> {
    Ok(Meaning::new(SentenceEncoder::load(encoder, Options::default())?, data)?)
}

/// The chat model, if there is one, and the other one on this machine.
pub(super) fn chat(args: &ChatArgs) -> Done<Option<Chat>> {
    let Some(model) = &args.llm_model else { return Ok(None) };
    let key = std::env::var("OPENAI_API_KEY").ok();
    let client = client(args.llm_url.as_deref(), model, key)?;
    let chat = Chat::new(client, args.llm_attack).at_once(args.llm_at_once.into());
    let Some(model) = &args.local_model else { return Ok(Some(chat)) };
    // the key is not for this one
    Ok(Some(chat.with_local(self::client(args.local_url.as_deref(), model, None)?)))
}

/// A chat model at an address, or in a file.
fn client(url: Option<&str>, model: &str, key: Option<String>) -> Done<Client> {
    let Some(url) = url else {
        return if Path::new(model).exists() {
            Ok(Client::open(Path::new(model))?)
        } else {
            Err(Failure::usage(
                "there is no file of that name for the chat model",
                "give a GGUF file, or the address of a server (--llm-url, --local-url)",
            ))
        };
    };
    Ok(Client::new(url, model, key).map_err(cape_eval::Error::from)?)
}

/// The command line, which says what was measured.
pub(super) fn command() -> String {
    let words: Vec<String> = std::env::args().skip(1).collect();
    format!("cape {}", words.join(" "))
}

pub(super) fn make_folder(path: &Path) -> Done {
    std::fs::create_dir_all(path)
        .map_err(|error| io(format!("cannot make the folder {}", path.display()), &error))
}

/// The report in all its forms.
pub(super) fn write(report: &Report, out: &Path, records: usize) -> Done {
    for (name, content) in [
        ("report.html", report.html()),
        ("report.md", report.markdown()),
        ("report.csv", report.csv()),
        ("report.json", report.json()),
    ] {
        let path = out.join(name);
        std::fs::write(&path, content)
            .map_err(|error| io(format!("cannot write {}", path.display()), &error))?;
    }
    output::note(&format!(
        "{records} records and the report are in {}: open report.html\n\
         they hold prompts and what attacks find, and draws were seeded: for you, and not to be sent\n",
        out.display()
    ));
    Ok(())
}

/// Notes for readers of the report.
pub(super) fn notes(refused: &[Refused], vectors: bool) -> Vec<String> {
    let mut notes = vec![
        "Attacks count the words that are neither stopwords nor punctuation, for every mechanism; a word \
         that a mechanism keeps as it is counts as found."
            .to_owned(),
        "Bayes knows the mechanism and uses the device model as its prior. For the paper's form, whose \
         draws see the true neighbours, the released ones stand in for them. For SANTEXT and InferDPT it \
         looks at the 100 most promising words, and averages InferDPT's radius over 64 values."
            .to_owned(),
    ];
    if !vectors {
        notes.push(
            "The mechanisms on word vectors use the embeddings of the device model here, not GloVe: \
             distances, and so what their ε does, differ from the paper's."
                .to_owned(),
        );
    }
    for refused in refused {
        notes.push(format!(
            "{} at ε = {} was refused: {}",
            refused.mechanism, refused.epsilon, refused.why
        ));
    }
    notes
}
