//! A real chat model, small and on this machine: `scripts/llm-server` starts one, and `CAPE_TEST_LLM`
//! is its address; `CAPE_TEST_LLM_FILE` is the file of the same model. Nothing here depends on what the model knows.

use cape_eval::chat::{Client, Options};
use cape_eval::tasks::labels::{Entailed, Sentiment};
use cape_eval::tasks::{Case, extraction, generation, preferred, prompts, restore};

const OPTIONS: Options = Options { temperature: 0.0, max_tokens: 12, seed: Some(7) };

/// The model, if there is one.
fn client() -> Option<Client> {
    let Ok(url) = std::env::var("CAPE_TEST_LLM") else {
        eprintln!("skipped: CAPE_TEST_LLM is not set (see scripts/llm-server)");
        return None;
    };
    Some(Client::new(&url, "default", None).unwrap())
}

#[test]
fn sentences_are_classified() {
    let Some(client) = client() else { return };
    let mut read = 0;
    let cases = [
        Case::Sst2 {
            content: "it 's a charming and often affecting journey .",
            is: Sentiment::Positive,
        },
        Case::Sst2 { content: "it 's slow -- very , very slow .", is: Sentiment::Negative },
        Case::Sst2 { content: "a masterpiece !", is: Sentiment::Positive },
        Case::Qnli {
            question: "When did the war end?",
            sentence: "The war ended in 1945.",
            is: Entailed::Yes,
        },
        Case::Qnli {
            question: "When did the war end?",
            sentence: "The bridge is made of steel.",
            is: Entailed::No,
        },
    ];
    for case in &cases {
        let start = std::time::Instant::now();
        let correct = case.correct(&client.complete(&case.messages(), &OPTIONS).unwrap().text);
        eprintln!("{}: {correct:?} in {:.2} s", case.task(), start.elapsed().as_secs_f64());
        read += usize::from(correct.is_some());
    }
    eprintln!("{read} of {} answers read", cases.len());
}

#[test]
fn texts_are_continued_extracted_and_restored() {
    let Some(client) = client() else { return };
    let prefix = "The tower was built in 1889 and is visited by";
    let continued = generation(&client, prefix, &OPTIONS).unwrap();
    assert!(!continued.trim().is_empty());
    assert!(!extraction(&client, prefix, &continued, &OPTIONS).unwrap().trim().is_empty());
    let guess = restore::guess(&client, "The tower was eaten in 1889", &OPTIONS).unwrap();
    assert!(!guess.trim().is_empty());
}

/// llama.cpp rounds activations to 8 bits, and this program only where weights are coded in blocks of 256: answers agree
/// until two tokens are about as likely.
#[test]
fn the_file_of_the_model_answers_as_its_server_does() {
    let (Some(server), Ok(file)) = (client(), std::env::var("CAPE_TEST_LLM_FILE")) else { return };
    let here = Client::open(file.as_ref()).unwrap();
    let prefixes = [
        "The tower was built in 1889 and is visited by",
        "A recipe for bread:",
        "The capital of France is",
        "She opened the letter and",
        "Water boils at",
        "The first president of the United States was",
    ];
    let mut same = 0;
    for prefix in prefixes {
        let messages = prompts::generation(prefix);
        let ask = |client: &Client| client.complete(&messages, &OPTIONS).unwrap();
        let (there, here) = (ask(&server), ask(&here));
        assert_eq!(there.usage.unwrap().prompt, here.usage.unwrap().prompt, "{prefix}");
        let words = |text: &str| text.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        same += usize::from(words(&there.text) == words(&here.text));
    }
    assert!(same >= 5, "{same} of {} begin alike", prefixes.len());
}

/// A server tells how likely words are, and so does the file.
#[test]
fn answers_are_weighed() {
    let (Some(server), Ok(file)) = (client(), std::env::var("CAPE_TEST_LLM_FILE")) else { return };
    let here = Client::open(file.as_ref()).unwrap();
    let answers = [["Paris.", "I like trains."], ["Rome.", "Paris."], ["No idea.", "It is Paris."]];
    let decides = |client: &Client| {
        let decided = |pair: &&[&str; 2]| {
            preferred(client, "What is the capital of France?", **pair).unwrap() != 0.5
        };
        answers.iter().filter(decided).count()
    };
    // a server tells of twenty words alone
    assert_eq!(decides(&here), 3);
    assert!(decides(&server) >= 1);
}

#[test]
fn a_cold_model_says_the_same_again() {
    let Some(client) = client() else { return };
    let messages = prompts::generation("The tower was built in 1889 and");
    let first = client.complete(&messages, &OPTIONS).unwrap();
    assert!(first.usage.is_some_and(|usage| usage.completion > 0 && usage.completion <= 12));
    // something else in between, so that nothing kept of it can help
    generation(&client, "A recipe for bread:", &OPTIONS).unwrap();
    assert_eq!(client.complete(&messages, &OPTIONS).unwrap().text, first.text);
}
