use std::thread;

use super::*;

fn open(template: Option<&str>) -> Result<Chat> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.gguf");
    std::fs::write(&path, made::gguf(template)).unwrap();
    Chat::open(&path, Options::default())
}

fn user(content: &str) -> Said<'_> {
    Said { role: "user", content }
}

#[test]
fn what_was_said_becomes_the_tokens_of_the_template() {
    let chat = open(Some(made::TEMPLATE)).unwrap();
    let ids = chat.ids(&[Said { role: "system", content: "Hé" }, user("a b")]).unwrap();
    let [start, end, _] = made::SPECIAL.map(|token| chat.tokenizer.vocab().id(token).unwrap());
    let mut want = Vec::new();
    for (role, content) in [("system", "Hé"), ("user", "a b")] {
        want.push(start);
        want.extend(format!("{role}\n{content}").bytes().map(|byte| TokenId(byte.into())));
        want.extend([end, TokenId(10)]);
    }
    want.push(start);
    want.extend(b"assistant\n".map(|byte| TokenId(byte.into())));
    assert_eq!(ids, want);
    // the template's own instruction, where there is none
    let ids = chat.ids(&[user("a")]).unwrap();
    assert_eq!(chat.tokenizer.vocab().bytes(ids[8]).unwrap(), b"B");
}

#[test]
fn answers_are_the_same_alone_and_beside_others() {
    let chat = &open(Some(made::TEMPLATE)).unwrap();
    let prompts: Vec<String> =
        (0..40).map(|i| "what is it? ".repeat(i % 4) + &i.to_string()).collect();
    let ask = |prompt: &str, most: usize| {
        let answer = chat.complete(&[user(prompt)], most).unwrap();
        assert!(answer.tokens.1 <= most && (answer.whole || answer.tokens.1 == most));
        answer.text
    };
    let most = |i: usize| 1 + i % 7;
    let beside: Vec<String> = thread::scope(|scope| {
        let asked: Vec<_> = prompts
            .iter()
            .enumerate()
            .map(|(i, prompt)| scope.spawn(move || ask(prompt, most(i))))
            .collect();
        asked.into_iter().map(|answer| answer.join().unwrap()).collect()
    });
    // by a model that has computed nothing before
    let chat = &open(Some(made::TEMPLATE)).unwrap();
    let mut seen = std::collections::HashSet::new();
    for (i, (prompt, beside)) in prompts.iter().zip(&beside).enumerate().rev() {
        let answer = chat.complete(&[user(prompt)], most(i)).unwrap().text;
        assert_eq!(&answer, beside, "{i}");
        seen.insert(answer);
    }
    assert!(seen.len() > 10, "answers depend on questions: {}", seen.len());
}

#[test]
fn what_cannot_be_asked_is_refused_without_a_word_of_it() {
    let why = |chat: Result<Chat>| chat.err().unwrap().to_string();
    assert!(why(open(None)).contains("no template"));
    assert!(why(open(Some("{% for"))).contains("not supported"));
    let chat = open(Some(made::TEMPLATE)).unwrap();
    let long = "canary ".repeat(20);
    assert!(matches!(chat.complete(&[user(&long)], 8), Err(Error::TooLong { most: 128, .. })));
    let failing = open(Some("{{ messages[0].content.nothing.there }}")).unwrap();
    let why = failing.complete(&[user("canary")], 8).err().unwrap();
    assert!(!format!("{why} {why:?}").contains("canary"));
}
