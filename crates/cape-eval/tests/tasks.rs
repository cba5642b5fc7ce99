//! The tasks ask what they should, and read what they get.

use cape::Lexicon;
use cape::mechanism::cape::Settings;
use cape_eval::asked::Chat;
use cape_eval::chat::{Client, Options};
use cape_eval::data::{Columns, Data};
use cape_eval::grid::Grid;
use cape_eval::tasks::labels::{Entailed, Sentiment};
use cape_eval::tasks::{Case, extraction, generation, preferred, restore};
use cape_eval::{Attack, Method, Reference, Score, Tools};
use serde_json::{Value, json};

use crate::server::{Reply, Server};

const OPTIONS: Options = Options { temperature: 0.0, max_tokens: 8, seed: None };

fn client(server: &Server) -> Client {
    Client::new(&server.url, "small", None).unwrap()
}

#[test]
fn tasks_ask_and_read() {
    let say = |text: &str| Server::new([Reply::content(&json!(text).to_string())]);
    let sst2 = Case::Sst2 { content: "a charming journey", is: Sentiment::Positive };
    let qnli = Case::Qnli { question: "Who?", sentence: "He did.", is: Entailed::Yes };
    for (case, answer, correct) in [
        (sst2, "Positive.", Some(true)),
        (sst2, "negative", Some(false)),
        (sst2, "It is positive.", None),
        (qnli, "Yes, he did.", Some(true)),
        (qnli, "No.", Some(false)),
    ] {
        let server = say(answer);
        assert_eq!(
            case.correct(&client(&server).complete(&case.messages(), &OPTIONS).unwrap().text),
            correct
        );
        let body: Value = serde_json::from_str(&server.requests()[0].body).unwrap();
        assert_eq!(body["messages"][1]["content"], case.messages()[1].text);
    }
    let server = say("and so on");
    let client = client(&server);
    assert_eq!(generation(&client, "prefix", &OPTIONS).unwrap(), "and so on");
    assert_eq!(extraction(&client, "prefix", "noise", &OPTIONS).unwrap(), "and so on");
    assert_eq!(restore::guess(&client, "released", &OPTIONS).unwrap(), "and so on");
    let bodies = server.requests().into_iter().map(|request| request.body).collect::<Vec<_>>();
    for (body, words) in bodies.iter().zip([["prefix"; 2], ["prefix", "noise"], ["released"; 2]]) {
        assert!(words.iter().all(|word| body.contains(word)));
    }
}

/// Judges that like one answer wherever it stands, that like a place whatever stands there, that like a place and an
/// answer, and one that does not tell.
#[test]
fn answers_are_compared_in_both_orders() {
    /// How likely such a judge says A and B where the second answer is A, and where it is B.
    type Likes = [[f64; 2]; 2];
    let judge = |likes: Likes| {
        Server::answering(move |request| {
            let body: Value = serde_json::from_str(&request.body).unwrap();
            assert_eq!((&body["logprobs"], &body["top_logprobs"]), (&json!(true), &json!(20)));
            let swapped = request.body.contains("Answer A\\\": two");
            let [a, b] = likes[usize::from(!swapped)];
            Reply::logprobs(
                &json!([{ "token": "A", "logprob": a }, { "token": "B", "logprob": b }]),
            )
        })
    };
    for (judge, score) in [
        (judge([[-0.1, -3.0], [-3.0, -0.1]]), 1.0),
        (judge([[-3.0, -0.1], [-0.1, -3.0]]), 0.0),
        (judge([[-0.1, -3.0], [-0.1, -3.0]]), 0.5),
        (judge([[-0.1, -3.0], [-0.2, -2.0]]), 1.0),
        (judge([[-0.2, -2.0], [-0.1, -3.0]]), 0.0),
        (Server::answering(|_| Reply::content("\"A\"")), 0.5),
    ] {
        let client = client(&judge);
        assert_eq!(preferred(&client, "request", ["one", "two"]).unwrap(), score);
        let asked = judge.requests().len();
        assert!((1..=2).contains(&asked));
        // the same answer twice is not asked about
        assert_eq!(preferred(&client, "request", ["one", "one"]).unwrap(), 0.5);
        assert_eq!(judge.requests().len(), asked);
    }
}

/// A service that says what it was told: whoever it speaks of, the user reads the own names.
#[test]
fn answers_to_releases_get_the_users_words_back() {
    let echo = Server::answering(|request| {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let asked = body["messages"][0]["role"] == "user";
        Reply::content(
            &if asked { body["messages"][0]["content"].clone() } else { json!("A") }.to_string(),
        )
    });
    let dir = tempfile::tempdir().unwrap();
    let prompts = dir.path().join("prompts.jsonl");
    let line = json!({
        "text": "Thank Alice and Krzysztof in one line.",
        "spans": [{"label": "PERSON", "start": 6, "end": 11}, {"label": "PERSON", "start": 16, "end": 25}],
        "facts": [["thank"]],
        "details": ["Alice", "Krzysztof"],
    });
    std::fs::write(&prompts, line.to_string()).unwrap();
    let data = Data::read(&prompts, &Columns::default()).unwrap();
    let device = cape_models::load(cape_models::DEFAULT).unwrap();
    let methods = [
        Method::reference(Reference::NonPrivate, "m", &device),
        Method::reference(Reference::MaskedSpans, "m", &device),
        Method::cape("cape", Lexicon::embedded(), Settings::default()),
    ];
    let tools = Tools {
        attacker: Some(device.clone()),
        masked_prompts: usize::MAX,
        bayes_prompts: 0,
        examples: 1,
        meaning: None,
        chat: Some(Chat::new(client(&echo), 1).comparing(&data)),
    };
    let seeds: Vec<u64> = (0..8).collect();
    let grid =
        Grid { data: &data, methods: &methods, epsilons: &[8.0], seeds: &seeds, tools: &tools };
    let (records, refused) = grid.run(&dir.path().join("records.jsonl"), &|_| ()).unwrap();
    assert!(refused.is_empty() && records.len() == 24);
    for record in &records {
        let scores = &record.scores;
        assert_eq!((scores[&Score::Task], scores[&Score::Preferred]), (1.0, 0.5));
        let spans = &record.spans["labelled spans"];
        // Krzysztof has several pieces where a mechanism has pieces
        assert!(spans[&Attack::Knn10].of >= 2 && spans[&Attack::Llm].of == 2);
        // a far word that is no name is not put back
        let is_cape = record.cell.mechanism == "cape";
        assert!(scores[&Score::Details] == 1.0 || is_cape, "{}", record.cell.mechanism);
        // putting more back takes nothing away
        assert_eq!(scores.contains_key(&Score::TaskAllBack), is_cape);
        let all_back = scores.get(&Score::DetailsAllBack);
        assert!(all_back.is_none_or(|&details| details >= scores[&Score::Details]));
        let released = record.released.as_ref().unwrap();
        if record.cell.mechanism == Reference::MaskedSpans.name() {
            assert_eq!(released, "Thank <PERSON_1> and <PERSON_2> in one line.");
            assert_eq!((spans[&Attack::Knn10].found, record.cell.proven), (0, None));
        }
    }
    let cape = records.iter().filter(|record| record.cell.mechanism == "cape");
    let details: f64 = cape.map(|record| record.scores[&Score::Details]).sum();
    assert!(details >= 4.0, "names come back: {details} of 8");
}

/// What a chat model answered before it went away is not asked again.
#[test]
fn answers_are_written_down_as_they_come() {
    let mut left = 6;
    let server = Server::answering(move |_| {
        left -= 1;
        if left < 0 { Reply::status(401, "{}") } else { Reply::content("\"positive\"") }
    });
    let dir = tempfile::tempdir().unwrap();
    let prompts = dir.path().join("prompts.tsv");
    // ordinary words, which are sent as they are: releases that are equal would be asked once
    let words = "good bad long short big small old new high low early late";
    let lines: Vec<String> = words.split(' ').map(|word| format!("a {word} film\t1")).collect();
    std::fs::write(&prompts, format!("sentence\tlabel\n{}\n", lines.join("\n"))).unwrap();
    let data = Data::read(&prompts, &Columns::default()).unwrap();
    let methods = [Method::cape("cape", Lexicon::embedded(), Settings::default())];
    let tools = Tools {
        attacker: None,
        masked_prompts: 0,
        bayes_prompts: 0,
        examples: 0,
        meaning: None,
        chat: Some(Chat::new(client(&server), 0).at_once(4)),
    };
    let grid =
        Grid { data: &data, methods: &methods, epsilons: &[8.0], seeds: &[0], tools: &tools };
    let records = dir.path().join("records.jsonl");
    assert!(grid.run(&records, &|_| ()).is_err());
    let written = std::fs::read_to_string(&records).unwrap();
    let accurate = written.matches("\"accuracy\":1").count();
    assert_eq!((written.lines().count(), accurate), (6, 6));
}
