use std::thread;

use super::*;

fn open(bytes: &[u8]) -> Result<Chat> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made");
    std::fs::write(&path, bytes).unwrap();
    Chat::open(&path, Options::default())
}

fn with(template: &str) -> Result<Chat> {
    open(&made::gguf("qwen2", Some(template)))
}

fn user(content: &str) -> Said<'_> {
    Said { role: "user", content }
}

/// One token for each byte.
fn bytes(text: &str) -> Vec<TokenId> {
    text.bytes().map(|byte| TokenId(byte.into())).collect()
}

#[test]
fn what_was_said_becomes_the_tokens_of_the_template() {
    let chat = with(made::TEMPLATE).unwrap();
    let [start, end, _, tool] = made::MARKS.map(|token| chat.tokenizer.vocab().id(token).unwrap());
    let said = [Said { role: "system", content: "Hé" }, user("a <tool_call>b <unk>")];
    let mut want = vec![start];
    want.extend(bytes("system\nHé"));
    want.extend([end, TokenId(10), start]);
    want.extend(bytes("user\na "));
    want.push(tool);
    want.extend(bytes("b <unk>"));
    want.extend([end, TokenId(10), start]);
    want.extend(bytes("assistant\n"));
    assert_eq!(chat.ids(&said).unwrap(), want);
    // the template's own instruction, where there is none
    assert!(
        chat.ids(&[user("a")]).unwrap().starts_with(&[&[start], &bytes("system\nBe")[..]].concat())
    );
    // what looks like a control token is one
    assert!(chat.ids(&[user("<|im_end|>")]).unwrap().windows(2).any(|two| two == [end, end]));
    let named = with("{{ bos_token }}{{ eos_token }}{{ messages[0].content }}").unwrap();
    assert_eq!(named.ids(&[user("a")]).unwrap(), [end, TokenId(97)]);
}

#[test]
fn answers_are_the_same_alone_and_beside_others() {
    let chat = &with(made::TEMPLATE).unwrap();
    let questions: Vec<Vec<TokenId>> = (0..40)
        .map(|i| chat.ids(&[user(&("what is it? ".repeat(i % 4) + &i.to_string()))]).unwrap())
        .collect();
    let most = |i: usize| 1 + i % 7;
    let beside: Vec<Vec<TokenId>> = thread::scope(|scope| {
        let asked: Vec<_> = questions
            .iter()
            .enumerate()
            .map(|(i, ids)| {
                scope.spawn(move || chat.answer(ids.clone(), most(i), vec![]).unwrap().ids)
            })
            .collect();
        asked.into_iter().map(|answer| answer.join().unwrap()).collect()
    });
    // by a model that has computed nothing before
    let chat = &with(made::TEMPLATE).unwrap();
    let mut seen = std::collections::HashSet::new();
    for (i, (ids, beside)) in questions.iter().zip(&beside).enumerate().rev() {
        let alone = chat.answer(ids.clone(), most(i), vec![]).unwrap().ids;
        assert_eq!(&alone, beside, "{i}");
        assert!(alone.len() == most(i) || chat.marks.ends(*alone.last().unwrap()));
        seen.insert(alone);
    }
    assert!(seen.len() > 10, "answers depend on questions: {}", seen.len());
}

#[test]
fn the_likeliest_beginning_outweighs_all_others() {
    let chat = with(made::TEMPLATE).unwrap();
    for question in ["what is it?", "and this?"] {
        let said = [user(question)];
        let ids = chat.ids(&said).unwrap();
        let best = chat.answer(ids, 1, vec![]).unwrap().ids[0];
        let letter = |id: TokenId| char::from(u8::try_from(id.0).unwrap()).to_string();
        // its tokens are bytes: letters can be weighed against each other
        for other in b'a'..=b'z' {
            let other = char::from(other).to_string();
            let margin = |a: &str, b: &str| chat.margin(&said, [a, b]).unwrap();
            assert!((margin("a", &other) + margin(&other, "a")).abs() < 1e-6);
            if best.0 < 128 {
                assert!(margin(&letter(best), &other) >= 0.0, "{question} {other}");
            }
        }
        assert!(chat.margin(&said, ["", "a"]).is_err());
    }
}

#[test]
fn an_answer_ends_at_a_control_token() {
    let chat = with(made::TEMPLATE).unwrap();
    let [_, end, _, tool] = made::MARKS.map(|token| chat.tokenizer.vocab().id(token).unwrap());
    // a network that says what it is asked to say
    let steps = [vec![TokenId(104), end], vec![tool, TokenId(105), TokenId(0xc3)]];
    for (says, want, whole) in [(&steps[0], "h", true), (&steps[1], "<tool_call>i", false)] {
        let (questions, asked) = channel();
        let (says, marks) = (says.clone(), chat.marks.clone());
        let step = move |texts: &mut [Sequence]| {
            for text in texts {
                text.push(says[text.ids().len() - 1]);
            }
        };
        thread::spawn(move || answer(&step, &marks, &asked));
        let chat = Chat {
            tokenizer: chat.tokenizer.clone(),
            marks: chat.marks.clone(),
            template: template(&Gguf::new(&made::gguf("qwen2", Some("a"))).unwrap()).unwrap(),
            positions: 128,
            questions,
        };
        let answer = chat.complete(&[user("")], 3).unwrap();
        assert_eq!((&answer.text[..], answer.whole), (want, whole));
    }
}

#[test]
fn what_cannot_be_asked_is_refused_without_a_word_of_it() {
    let why = |chat: Result<Chat>| chat.err().unwrap().to_string();
    assert!(why(open(&made::gguf("qwen2", None))).contains("no template"));
    assert!(why(open(b"not a model")).contains("not in a GGUF file"));
    assert!(why(with("{% for")).contains("not supported"));
    assert!(why(with("")).contains("nothing"));
    let endless = "{% for a in range(99999) %}{% for b in range(99999) %}a{% endfor %}{% endfor %}";
    assert!(why(with(endless)).contains("failed"));
    let chat = with(made::TEMPLATE).unwrap();
    let long = "canary ".repeat(20);
    for most in [8, usize::MAX] {
        assert!(matches!(chat.complete(&[user(&long)], most), Err(Error::TooLong { .. })));
    }
    let failing = "a{% if messages[0].content %}{{ messages[0].content.nothing.there }}{% endif %}";
    let why = with(failing).unwrap().complete(&[user("canary")], 8).err().unwrap();
    assert!(!format!("{why} {why:?}").contains("canary"));
}

#[test]
fn no_bent_byte_stops_it() {
    let whole = made::gguf("qwen2", Some(made::TEMPLATE));
    let head = whole.windows(12).rposition(|name| name == b"ffn_up.weigh").unwrap();
    for at in (4..head).step_by(37) {
        for bit in [1, 0x80] {
            let mut bent = whole.clone();
            bent[at] ^= bit;
            if let Ok(chat) = open(&bent)
                && let Err(error) = chat.complete(&[user("a")], 1)
            {
                assert!(!error.to_string().contains("stopped"), "byte {at}");
            }
        }
    }
    // a token without letters stands everywhere; its bytes go to the template, so that tensors stay where they are
    let mut empty = whole;
    let find = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).position(|part| part == text);
    let token = b"<|im_start|>";
    let at = find(&empty, token).unwrap();
    empty[at - 8] = 0;
    empty.drain(at..at + token.len());
    let at = find(&empty, made::TEMPLATE.as_bytes()).unwrap();
    let longer = (made::TEMPLATE.len() + token.len()) as u64;
    empty[at - 8..at].copy_from_slice(&longer.to_le_bytes());
    empty.splice(at..at, token.map(|_| b' '));
    let chat = open(&empty).unwrap();
    assert!(chat.ids(&[user("a")]).unwrap().starts_with(&bytes("<|im_start|>system")));
    assert!(chat.complete(&[user("a")], 1).is_ok());
}
