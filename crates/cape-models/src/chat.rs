//! A chat model in a GGUF file, asked on this machine.
//!
//! Answers are the most likely ones, token by token. Questions that are asked at the same time are computed together,
//! and each answer is the same as alone.

#[cfg(test)]
pub(crate) mod made;
mod marks;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use cape::tokens::{TokenId, Tokenizer};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Value, context};

use self::marks::Marks;
use crate::error::{Error, Result};
use crate::files::{Files, Gguf, gguf_tokenizer};
use crate::network::{Generator, Sequence};
use crate::options::Options;

/// The most answers that grow at the same time.
const AT_ONCE: usize = 64;

/// Tokens computed in one step; the last prompt admitted may exceed it.
const TOGETHER: usize = 384;

/// The name of the template among templates.
const TEMPLATE: &str = "chat";

/// The most steps of a template: far more than one needs, and few enough to end.
const FUEL: u64 = 1 << 20;

/// A chat model.
pub struct Chat {
    tokenizer: Tokenizer,
    marks: Marks,
    template: Environment<'static>,
    positions: usize,
    questions: Sender<Question>,
}

/// Something said.
#[derive(Clone, Copy)]
pub struct Said<'a> {
    /// By whom: `system`, `user` or `assistant`.
    pub role: &'a str,
    /// The text. What looks like a control token of the model in it is one, as it is for servers.
    pub content: &'a str,
}

/// An answer.
pub struct Completion {
    /// The text.
    pub text: String,
    /// Whether the model ended it, and not the greatest number of tokens.
    pub whole: bool,
    /// How many tokens the question has, and how many the answer.
    pub tokens: (usize, usize),
}

/// A question under way.
struct Question {
    ids: Vec<TokenId>,
    most: usize,
    /// Tokens that the answer could begin with, whose logits are wanted.
    weighed: Vec<TokenId>,
    answer: Sender<Found>,
}

/// What the network says to a question.
struct Found {
    /// The tokens of the answer, with the one that ends it.
    ids: Vec<TokenId>,
    /// The logits that were wanted.
    logits: Vec<f32>,
}

impl Chat {
    /// From a GGUF file, or a folder with one, with its own template.
    pub fn open(path: &Path, options: Options) -> Result<Self> {
        let files = if path.is_file() { Files::read_gguf(path) } else { Files::read(path) }?;
        let bytes = files.gguf().ok_or_else(|| bad("it is not in a GGUF file"))?;
        let file = Gguf::new(bytes)?;
        let (tokenizer, generator) =
            rayon::join(|| gguf_tokenizer(&file), || Generator::new(&file, options));
        let (tokenizer, generator) = (tokenizer?, generator?);
        let vocab = tokenizer.vocab().len();
        if vocab > generator.vocab() {
            return Err(Error::Vocabulary { tokenizer: vocab, model: generator.vocab() });
        }
        let marks = Marks::new(&file, tokenizer.vocab())?;
        let (questions, asked) = channel();
        let positions = generator.positions;
        let ends = marks.clone();
        // the caller may be in a pool whose threads all wait
        let pool = rayon::ThreadPoolBuilder::new().build();
        let pool = pool.map_err(|error| bad(error.to_string()))?;
        let step = move |texts: &mut [Sequence]| pool.install(|| generator.step(texts, vocab));
        thread::Builder::new()
            .spawn(move || answer(&step, &ends, &asked))
            .map_err(|error| bad(error.to_string()))?;
        let template = template(&file)?;
        let this = Self { tokenizer, marks, template, positions, questions };
        // a template that cannot be used is found here
        this.ids(&[Said { role: "user", content: "" }])?;
        Ok(this)
    }

    /// The answer to what was said, of at most so many tokens and at least one.
    pub fn complete(&self, said: &[Said<'_>], most: usize) -> Result<Completion> {
        let ids = self.ids(said)?;
        let asked = ids.len();
        let mut ids = self.answer(ids, most.max(1), Vec::new())?.ids;
        let tokens = (asked, ids.len());
        let whole = ids.pop_if(|id| self.marks.ends(*id)).is_some();
        let vocab = self.tokenizer.vocab();
        let bytes = |&id| vocab.bytes(id).unwrap_or_else(|| self.marks.text(id).into());
        let mut bytes: Vec<u8> = ids.iter().flat_map(bytes).collect();
        // a character may be cut where the answer is
        if let Err(error) = std::str::from_utf8(&bytes)
            && error.error_len().is_none()
        {
            bytes.truncate(error.valid_up_to());
        }
        Ok(Completion { text: String::from_utf8_lossy(&bytes).into_owned(), whole, tokens })
    }

    /// By how much more likely the answer begins with one word than with another: the logarithm of the quotient.
    pub fn margin(&self, said: &[Said<'_>], words: [&str; 2]) -> Result<f32> {
        let first = |word| self.tokenizer.encode(word).map(|ids| ids.first().copied());
        let [Some(a), Some(b)] = [first(words[0])?, first(words[1])?] else {
            return Err(bad("it has no token for a word"));
        };
        let logits = self.answer(self.ids(said)?, 1, vec![a, b])?.logits;
        let [a, b] = logits[..] else { return Err(bad("it stopped")) };
        Ok(a - b)
    }

    /// What the network says after these tokens.
    fn answer(&self, ids: Vec<TokenId>, most: usize, weighed: Vec<TokenId>) -> Result<Found> {
        if ids.len().saturating_add(most) > self.positions {
            return Err(Error::TooLong { tokens: ids.len(), most: self.positions });
        }
        let (send, receive) = channel();
        let stopped = || bad("it stopped");
        let question = Question { ids, most, weighed, answer: send };
        self.questions.send(question).map_err(|_| stopped())?;
        receive.recv().map_err(|_| stopped())
    }

    /// The tokens of what was said, as the model was trained on them.
    fn ids(&self, said: &[Said<'_>]) -> Result<Vec<TokenId>> {
        // without the template's own error, which may quote what was said
        let failed = |_| bad("its template failed");
        let template = self.template.get_template(TEMPLATE).map_err(failed)?;
        let message = |said: &Said<'_>| context! { role => said.role, content => said.content };
        let messages: Value = said.iter().map(message).collect();
        let context = context! { messages, add_generation_prompt => true };
        let text = template.render(context).map_err(failed)?;
        let mut ids = Vec::new();
        for (text, mark) in self.marks.split(&text) {
            ids.extend(self.tokenizer.encode(text)?);
            ids.extend(mark);
        }
        if ids.is_empty() { Err(bad("its template gives nothing")) } else { Ok(ids) }
    }
}

fn bad(why: impl Into<String>) -> Error {
    Error::Chat(why.into())
}

/// The template of a file.
fn template(file: &Gguf<'_>) -> Result<Environment<'static>> {
    let source = file.text("tokenizer.chat_template")?.ok_or_else(|| bad("it has no template"))?;
    let mut template = Environment::new();
    let unsupported = |error| bad(format!("its template is not supported: {error}"));
    // as the models' publishers render them
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    template.set_syntax(syntax.map_err(unsupported)?);
    template.set_fuel(Some(FUEL));
    for name in ["bos", "eos"] {
        if let Some(token) = marks::named(file, name)? {
            template.add_global(format!("{name}_token"), token);
        }
    }
    template.add_template_owned(TEMPLATE, source.to_owned()).map_err(unsupported)?;
    Ok(template)
}

/// Answers questions until nobody can ask any more.
fn answer(step: &dyn Fn(&mut [Sequence]), marks: &Marks, asked: &Receiver<Question>) {
    let (mut texts, mut open) = (Vec::<Sequence>::new(), Vec::<(usize, Question)>::new());
    let mut before = None;
    loop {
        let mut rows: usize = texts.iter().map(Sequence::new_rows).sum();
        let old = texts.len();
        while texts.len() < AT_ONCE && (rows < TOGETHER || texts.is_empty()) {
            let next = if texts.is_empty() { asked.recv().ok() } else { asked.try_recv().ok() };
            let Some(mut question) = next else { break };
            let ids = std::mem::take(&mut question.ids);
            let start = ids.len();
            texts.push(Sequence::new(ids, before.as_ref()).weighing(&question.weighed));
            open.push((start, question));
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
            if ids.len() >= *most || ids.last().is_some_and(|&id| marks.ends(id)) {
                // who asked may be gone
                let _ = answer.send(Found { ids: ids.to_vec(), logits: texts[i].weighed() });
                texts.swap_remove(i);
                open.swap_remove(i);
            }
        }
    }
}
