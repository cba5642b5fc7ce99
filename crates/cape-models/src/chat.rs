//! A chat model in a GGUF file, asked on this machine.
//!
//! Answers are the most likely ones, token by token. Questions that are asked at the same time are computed together,
//! and each answer is the same as alone.

#[cfg(test)]
pub(crate) mod made;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use cape::tokens::{TokenId, Tokenizer};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Value, context};

use crate::error::{Error, Result};
use crate::files::{Files, Gguf, gguf_tokenizer};
use crate::network::{Generator, Sequence};
use crate::options::Options;

/// So many answers grow at the same time.
const AT_ONCE: usize = 64;

/// So many tokens are computed at the same time, and a prompt more.
const TOGETHER: usize = 384;

/// The name of the template among templates.
const TEMPLATE: &str = "chat";

/// A chat model.
pub struct Chat {
    tokenizer: Tokenizer,
    template: Environment<'static>,
    positions: usize,
    questions: Sender<Question>,
}

/// Something said.
#[derive(Clone, Copy)]
pub struct Said<'a> {
    /// By whom: `system`, `user` or `assistant`.
    pub role: &'a str,
    /// The text.
    pub content: &'a str,
}

/// An answer.
pub struct Completion {
    /// The text.
    pub text: String,
    /// Whether it ends because the model had said all.
    pub whole: bool,
    /// How many tokens the question has, and how many the answer.
    pub tokens: (usize, usize),
}

/// A question under way.
struct Question {
    ids: Vec<TokenId>,
    most: usize,
    /// Gets the tokens of the answer.
    answer: Sender<Vec<TokenId>>,
}

impl Chat {
    /// From a GGUF file, or a folder with one, with its own template.
    pub fn open(path: &Path, options: Options) -> Result<Self> {
        let files = Files::read(path)?;
        let bytes = files.gguf().ok_or_else(|| Error::Chat("it is not in a GGUF file".into()))?;
        let file = Gguf::new(bytes)?;
        let source = file.text("tokenizer.chat_template")?;
        let source = source.ok_or_else(|| Error::Chat("it has no template".into()))?;
        let mut template = Environment::new();
        // as the models' publishers render them
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        let unsupported = |error| Error::Chat(format!("its template is not supported: {error}"));
        template.set_syntax(syntax.map_err(unsupported)?);
        template.add_template_owned(TEMPLATE, source.to_owned()).map_err(unsupported)?;
        let (tokenizer, generator) =
            rayon::join(|| gguf_tokenizer(&file), || Generator::new(&file, options));
        let (tokenizer, generator) = (tokenizer?, generator?);
        let (positions, special) = (generator.positions, tokenizer.vocab().special().to_vec());
        let vocab = tokenizer.vocab().len();
        let (questions, asked) = channel();
        // who asks may be in a pool of threads of his own, all of which wait
        let pool = rayon::ThreadPoolBuilder::new().build();
        let pool = pool.map_err(|error| Error::Chat(error.to_string()))?;
        let step = move |texts: &mut [Sequence]| pool.install(|| generator.step(texts, vocab));
        thread::spawn(move || answer(&step, &special, &asked));
        Ok(Self { tokenizer, template, positions, questions })
    }

    /// The answer to what was said, of at most so many tokens.
    pub fn complete(&self, said: &[Said<'_>], most: usize) -> Result<Completion> {
        let ids = self.ids(said)?;
        let asked = ids.len();
        if asked == 0 || asked + most > self.positions {
            return Err(Error::TooLong { tokens: asked, most: self.positions });
        }
        let (send, receive) = channel();
        let stopped = || Error::Chat("it stopped".into());
        self.questions.send(Question { ids, most, answer: send }).map_err(|_| stopped())?;
        let ids = receive.recv().map_err(|_| stopped())?;
        let vocab = self.tokenizer.vocab();
        let bytes: Vec<u8> = ids.iter().filter_map(|&id| vocab.bytes(id)).flatten().collect();
        let whole = ids.last().is_some_and(|id| vocab.special().contains(id));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Completion { text, whole, tokens: (asked, ids.len()) })
    }

    /// The tokens of what was said, as the model was trained on them.
    fn ids(&self, said: &[Said<'_>]) -> Result<Vec<TokenId>> {
        // without the template's own error, which may quote what was said
        let failed = |_| Error::Chat("its template failed".into());
        let template = self.template.get_template(TEMPLATE).map_err(failed)?;
        let message = |said: &Said<'_>| context! { role => said.role, content => said.content };
        let messages: Value = said.iter().map(message).collect();
        let text = template
            .render(context! { messages, add_generation_prompt => true })
            .map_err(failed)?;
        let vocab = self.tokenizer.vocab();
        let (mut ids, mut rest) = (Vec::new(), &text[..]);
        let special: Vec<(TokenId, String)> =
            vocab.special().iter().map(|&id| (id, vocab.token(id))).collect();
        while !rest.is_empty() {
            let next = special
                .iter()
                .filter_map(|(id, token)| Some((rest.find(token)?, *id, token.len())))
                .min_by_key(|&(at, _, len)| (at, usize::MAX - len));
            let (end, after) = next.map_or((rest.len(), rest.len()), |(at, _, len)| (at, at + len));
            ids.extend(self.tokenizer.encode(&rest[..end])?);
            ids.extend(next.map(|(_, id, _)| id));
            rest = &rest[after..];
        }
        Ok(ids)
    }
}

/// Answers questions until nobody can ask any more.
fn answer(step: &dyn Fn(&mut [Sequence]), special: &[TokenId], asked: &Receiver<Question>) {
    let (mut texts, mut open) = (Vec::<Sequence>::new(), Vec::<(usize, Question)>::new());
    let mut before = None;
    loop {
        let mut rows: usize = texts.iter().map(Sequence::new_rows).sum();
        let old = texts.len();
        while texts.len() < AT_ONCE && (rows < TOGETHER || texts.is_empty()) {
            let next = if texts.is_empty() { asked.recv().ok() } else { asked.try_recv().ok() };
            let Some(mut question) = next else { break };
            let ids = std::mem::take(&mut question.ids);
            open.push((ids.len(), question));
            texts.push(Sequence::new(ids, before.as_ref()));
            rows += texts.last().map_or(0, Sequence::new_rows);
        }
        if texts.is_empty() {
            return;
        }
        step(&mut texts);
        if let Some(new) = texts[old..].last() {
            before = Some(new.computed());
        }
        for i in (0..texts.len()).rev() {
            let (start, Question { most, answer, .. }) = &open[i];
            let ids = &texts[i].ids()[*start..];
            if ids.len() >= *most || ids.last().is_some_and(|id| special.contains(id)) {
                // who asked may be gone
                let _ = answer.send(ids.to_vec());
                texts.swap_remove(i);
                open.swap_remove(i);
            }
        }
    }
}
