//! The words in which a chat model is asked: the four prompts of the paper's appendix, and our own for
//! an attack and for comparing two answers.
//!
//! The paper prints a prompt as one text. Here its instruction is the system's message and the rest,
//! from the first field on, the user's; the two joined by a line break are the paper's text. Its
//! typographic quotes are straight here, as they are where its source has them so.

use crate::chat::Message;

const SST2: &str = "You are a helpful assistant. Classify if the sentence is positive or negative sentiment. \
     Just gives the answer in positive, negative.";

const QNLI: &str = "You are a helpful assistant trained to determine whether a given context sentence contains \
     the information needed to answer the given question. If the context answers the question, \
     respond \"Yes\". Otherwise, respond \"No\".";

const GENERATION: &str = "Your task is to extend Prefix Text.";

const EXTRACTION: &str = r#"Your task is to extend the "Prefix Text".
Use the "Perturbed Generation" as your primary writing material for your extension.
Extract coherent and consistent text from the "Perturbed Generation" and integrate them into your continuation.
Ensure a seamless alignment with the context established by the "Prefix Text".
Provide only your "Extended Text"."#;

const RESTORATION: &str = "To protect the privacy of its author, words of the following text were replaced at \
     random by other words. Restore the most likely original: keep what fits, and put what most \
     likely stood there in the place of what does not. Answer with the restored text alone.";

const COMPARISON: &str = "Two assistants answered the same request. Decide which answer does better what the request \
     asks for: correct, complete, and in the form that was asked for. Answer with A or B alone.";

/// Is a sentence of SST-2 positive or negative?
pub(crate) fn sst2(content: &str) -> [Message; 2] {
    ask(SST2, format!("----\"Content\": {content}"))
}

/// Does a sentence of QNLI answer a question?
pub(crate) fn qnli(question: &str, sentence: &str) -> [Message; 2] {
    ask(QNLI, format!("----\"Question\": {question}\n----\"Context\": {sentence}"))
}

/// How does a text go on?
#[must_use]
pub fn generation(prefix: &str) -> [Message; 2] {
    let fields = format!(
        "----\"Prefix Text\": {prefix}\nProvide only your Continuation.\n----\"Continuation\":"
    );
    ask(GENERATION, fields)
}

/// How does a text go on, given how another one like it went on?
pub(crate) fn extraction(prefix: &str, noisy: &str) -> [Message; 2] {
    let fields = format!(
        "----\"Prefix Text\": {prefix}\n----\"Perturbed Generation\": {noisy}\n----\"Extended Text\":"
    );
    ask(EXTRACTION, fields)
}

/// Asks for a text as it was before it was released.
pub(crate) fn restoration(released: &str) -> [Message; 2] {
    ask(RESTORATION, format!("----\"Text\": {released}"))
}

/// Which of two answers to a request is better?
pub(crate) fn comparison(request: &str, a: &str, b: &str) -> [Message; 2] {
    let fields = format!(
        "----\"Request\": {request}\n----\"Answer A\": {a}\n----\"Answer B\": {b}\n----\"Better answer\":"
    );
    ask(COMPARISON, fields)
}

fn ask(instruction: &str, fields: String) -> [Message; 2] {
    [Message::system(instruction), Message::user(fields)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(messages: &[Message; 2]) -> String {
        let said = |message: &Message| format!("[{}]\n{}", message.role.as_str(), message.text);
        messages.each_ref().map(said).join("\n")
    }

    #[test]
    fn the_prompts_are_the_papers() {
        insta::assert_snapshot!("sst2", shown(&sst2("{input}")));
        insta::assert_snapshot!("qnli", shown(&qnli("{question}", "{sentence}")));
        insta::assert_snapshot!("generation", shown(&generation("{prompt}")));
        insta::assert_snapshot!("extraction", shown(&extraction("{prompt}", "{noisy_response}")));
    }

    #[test]
    fn the_attack_and_the_comparison_are_our_own() {
        insta::assert_snapshot!("comparison", shown(&comparison("{request}", "{a}", "{b}")));
        insta::assert_snapshot!("restoration", shown(&restoration("{released}")));
    }
}
