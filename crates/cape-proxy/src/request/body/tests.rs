//! No canary leaves, wherever it is put; and what may leave does.

use serde_json::{Value, json};

use super::read;
use super::rule::{Entry, OTHER, Rule};
use super::tables::{anthropic::MESSAGES, openai, responses::RESPONSES};
use crate::fault::Refusal;
use crate::request::policy::{Action, Gate, Names, Policy, Removal, Results};
use crate::request::system::SystemLines;

mod presets;
mod results;

const ROUTES: [(&str, &[Entry]); 5] = [
    ("chat", openai::CHAT),
    ("completions", openai::COMPLETIONS),
    ("embeddings", openai::EMBEDDINGS),
    ("responses", RESPONSES),
    ("messages", MESSAGES),
];

/// Two words, one that fits every pattern, and a number.
fn canaries() -> [Value; 4] {
    [
        json!("Zqcanary Straße"),
        json!("zqcanary"),
        json!(4_111_111_111_111_111_i64),
        json!(0.411_111_111_111_111_1),
    ]
}

/// Whether a body says something of any canary.
fn sings(body: &Value) -> bool {
    let text = body.to_string().to_lowercase();
    ["zqcanary", "straße", "4111111"].iter().any(|canary| text.contains(canary))
}

/// A canary as a value of every shape.
fn shapes(canary: &Value) -> Vec<Value> {
    let mut shapes = vec![
        canary.clone(),
        json!([canary]),
        json!([[canary]]),
        json!({ "x": canary }),
        json!({ "type": canary }),
        json!({ "type": "text", "text": canary }),
    ];
    if let Some(text) = canary.as_str() {
        shapes.push(json!({ text: 1 }));
        shapes.push(json!(json!({ text: text }).to_string()));
        shapes.push(json!(json!({ "x": [text] }).to_string()));
    }
    shapes
}

/// Values that a rule takes or nearly takes, each with a canary in one place: in every field, in
/// place of every field, as an unknown field and as a key, at every depth.
fn values(rule: &Rule, canary: &Value) -> Vec<Value> {
    let mut all = shapes(canary);
    match rule {
        Rule::List(item) | Rule::Each(item) => {
            all.extend(values(item, canary).into_iter().map(|item| json!([item])));
        }
        Rule::Object(entries) | Rule::ServiceTool(entries) => {
            all.extend(objects(entries, canary));
        }
        Rule::Either(rules) => all.extend(rules.iter().flat_map(|rule| values(rule, canary))),
        Rule::By(tag, kinds) => {
            for (kind, rule) in *kinds {
                let kind = if *kind == OTHER { "web_search_20250305" } else { kind };
                for mut value in values(rule, canary) {
                    if let Some(object) = value.as_object_mut()
                        && !kind.is_empty()
                        && object.get(*tag) != Some(canary)
                    {
                        object.insert((*tag).into(), json!(kind));
                    }
                    all.push(value);
                }
            }
        }
        _ => {}
    }
    all
}

fn objects(entries: &[Entry], canary: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    let names = entries.iter().map(|(name, rule)| (*name, values(rule, canary)));
    for (name, values) in names {
        all.extend(values.into_iter().map(|value| json!({ name: value })));
    }
    all.push(json!({ "x_unknown": canary }));
    if let Some(text) = canary.as_str() {
        all.push(json!({ text: true }));
    }
    all
}

fn policies() -> Vec<Policy> {
    let models = vec!["m".to_owned()];
    let shut = Policy { models, ..Policy::default() };
    let strip = Policy { media: Removal::Strip, ..shut.clone() };
    // everything that may pass without carrying the canary's own words
    let open = Policy {
        system: Action::Perturb,
        tool_results: Results::Json,
        result_keys: vec!["x".into()],
        code: Action::Block,
        urls: Action::Pass,
        ..strip.clone()
    };
    vec![shut, strip, open]
}

#[test]
fn no_canary_leaves_by_any_field() {
    let mut sent = 0;
    for policy in policies() {
        for (route, table) in ROUTES {
            for canary in canaries() {
                for mut body in objects(table, &canary) {
                    if let Some(body) = body.as_object_mut() {
                        body.entry("model").or_insert(json!("m"));
                    }
                    let Ok(outgoing) = read(body.to_string().as_bytes(), table, &policy) else {
                        continue;
                    };
                    sent += 1;
                    let filled = outgoing.fill(&vec!["~"; outgoing.texts().count()]);
                    assert!(!sings(&filled), "{route}: {filled}");
                }
            }
        }
    }
    // the test would be idle if all were refused
    assert!(sent > 500, "{sent}");
}

#[test]
fn a_canary_in_a_text_is_perturbed_and_not_lost() {
    let bodies = [
        (openai::CHAT, json!({"messages": [{"role": "user", "content": "zqcanary"}]})),
        (openai::COMPLETIONS, json!({"prompt": ["a", "zqcanary"]})),
        (openai::EMBEDDINGS, json!({"input": "zqcanary"})),
        (
            RESPONSES,
            json!({"input": [{"role": "user", "content": [{"type": "input_text", "text": "zqcanary"}]}]}),
        ),
        (
            MESSAGES,
            json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "zqcanary"}]}]}),
        ),
    ];
    for (table, body) in bodies {
        let outgoing = read(body.to_string().as_bytes(), table, &Policy::default()).unwrap();
        let texts: Vec<&str> = outgoing.texts().collect();
        assert_eq!(outgoing.fill(&texts), body);
        assert!(texts.contains(&"zqcanary"));
        assert!(!format!("{outgoing:?}").contains("zqcanary"));
    }
}

fn chat(body: &Value, policy: &Policy) -> Result<Value, Refusal> {
    let outgoing = read(body.to_string().as_bytes(), openai::CHAT, policy)?;
    let texts: Vec<String> = outgoing.texts().map(|text| format!("<{text}>")).collect();
    Ok(outgoing.fill(&texts))
}

#[test]
fn a_whole_conversation_is_rebuilt() {
    let policy = Policy { system: Action::Pass, tools: Gate::Pass, ..Policy::default() };
    let tool = json!({"type": "function", "function": {
        "name": "weather", "parameters": {"properties": {"city": {}, "days": {}}}}});
    let ask = |id: &str, city: &str, days: u8| {
        let arguments = format!(r#"{{"city":"{city}","days":{days}}}"#);
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
            "function": {"name": "weather", "arguments": arguments}}]})
    };
    let body = json!({"model": "m", "temperature": 0.70001, "stream": true, "user": "me",
        "stop": ["\n", "###"], "tools": [tool], "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Rain in Ulm?", "name": "Eve"},
        ask("call_abc", "Ulm", 3),
        {"role": "tool", "tool_call_id": "call_abc", "content": "wet"}]});
    let want = json!({"model": "m", "temperature": 0.7, "stream": true,
        "stop": ["\n", "###"], "tools": [tool], "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "<Rain in Ulm?>"},
        // the digits of <3>
        ask("call_1", "<Ulm>", 3),
        {"role": "tool", "tool_call_id": "call_1", "content": "<wet>"}]});
    assert_eq!(chat(&body, &policy).unwrap(), want);
}

#[test]
fn refusals_name_the_place_and_not_what_stood_there() {
    let user = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let cases = [
        (json!({"logit_bias": {"50256": -100}}), "unknown field logit_bias"),
        (json!({"temperature": 3}), "temperature must be a number from 0 to 2"),
        (json!({"seed": 4_111_111_111_111_111_i64}), "seed must be an integer"),
        (json!({"model": "my name is Bob"}), "model must be the name of a model"),
        (json!({"stop": "Bob"}), "stop is blocked"),
        (json!({"messages": [{"role": "system", "content": "Bob"}]}), "`system` in [proxy.policy]"),
        (
            json!({"messages": [{"role": "Bob"}]}),
            "messages[0] must be an object whose role is one of",
        ),
        (
            user(json!([{"type": "image_url", "image_url": {"url": "Bob"}}])),
            "messages[0].content[0] is blocked",
        ),
        (
            user(json!([{"type": "text", "text": 5}])),
            "messages[0].content[0].text must be a string",
        ),
        (json!([1]), "the body must be an object"),
    ];
    for (body, want) in cases {
        let refusal = chat(&body, &Policy::default()).unwrap_err().to_string();
        assert!(refusal.contains(want), "{refusal}");
        assert!(!refusal.contains("Bob") && !refusal.contains("4111"), "{refusal}");
    }
    let broken = read(br#"{"model": Bob"#, openai::CHAT, &Policy::default()).unwrap_err();
    assert_eq!(broken, Refusal::Json { line: 1, column: 11 });
}

#[test]
fn code_and_addresses_have_rules_of_their_own() {
    use Action::{Block, Pass, Perturb};
    let text = "fix `x = 1` at https://a.example/b now";
    let body = json!({"messages": [{"role": "user", "content": text}]});
    let sent = |code, urls| {
        let policy = Policy { code, urls, ..Policy::default() };
        chat(&body, &policy).map(|body| body["messages"][0]["content"].clone())
    };
    assert_eq!(sent(Perturb, Perturb).unwrap(), format!("<{text}>"));
    assert_eq!(sent(Pass, Perturb).unwrap(), "<fix >`x = 1`< at https://a.example/b now>");
    assert_eq!(sent(Pass, Pass).unwrap(), "<fix >`x = 1`< at >https://a.example/b< now>");
    assert!(sent(Block, Pass).is_err() && sent(Pass, Block).is_err());
}

#[test]
fn results_of_tools_keep_their_structure_where_their_keys_may_pass() {
    let result = |name: &str| format!(r#"{{"{name}":"Eve","list":["a",null,true],"n":-7.5}}"#);
    let sent = |result: &str, policy: &Policy| {
        let message = json!({"role": "tool", "tool_call_id": "x", "content": result});
        let body = chat(&json!({ "messages": [message] }), policy).unwrap();
        body["messages"][0]["content"].as_str().unwrap().to_owned()
    };
    let whole = |result: &str| format!("<{result}>");
    let name = result("name");
    assert_eq!(sent(&name, &Policy::default()), whole(&name));
    let json = Policy { tool_results: Results::Json, ..Policy::default() };
    // no key is declared
    assert_eq!(sent(&name, &json), whole(&name));
    let keys = ["name", "list", "n"].map(str::to_owned).into();
    let listed = Policy { result_keys: keys, ..json.clone() };
    let want = json!({"name": "<Eve>", "list": ["<a>", null, true], "n": 75});
    // `<-7.5>` is no number: its digits are one
    assert_eq!(serde_json::from_str::<Value>(&sent(&name, &listed)).unwrap(), want);
    // a name as a key is a text
    for other in ["Eve", "Eve Weber", "n a"] {
        assert_eq!(sent(&result(other), &listed), whole(&result(other)));
    }
    let names = Policy { tool_names: Names::Pass, ..json };
    assert!(sent(&result("Eve"), &names).contains(r#""Eve":"<Eve>""#));
    assert_eq!(sent(&result("Eve Weber"), &names), whole(&result("Eve Weber")));
    for text in ["wet", "7", "\"a\"", "{", "[1] [2]"] {
        assert_eq!(sent(text, &names), whole(text));
    }
    let pass = Policy { tool_results: Results::Pass, ..Policy::default() };
    assert_eq!(sent(&name, &pass), name);
}

#[test]
fn lines_of_a_system_prompt_pass_if_the_operator_listed_them() {
    let prompt = "You are kind.\n\n  Be brief.\nToday is Monday.\nIn /home/alice\nBe brief.";
    let body = json!({"messages": [{"role": "system", "content": prompt}]});
    let listed = |system: Action, lines: &str| {
        let system_lines = SystemLines::of(lines).into();
        Policy { system, system_lines, ..Policy::default() }
    };
    let sent =
        |policy: &Policy| chat(&body, policy).map(|body| body["messages"][0]["content"].clone());
    let some = "You are kind.\nBe brief.";
    assert_eq!(
        sent(&listed(Action::Perturb, some)).unwrap(),
        "You are kind.\n\n  Be brief.\n<Today is Monday.\nIn /home/alice\n>Be brief."
    );
    assert_eq!(sent(&listed(Action::Block, prompt)).unwrap(), prompt);
    let refusal = sent(&listed(Action::Block, some)).unwrap_err().to_string();
    assert!(refusal.contains("of its 6 lines 2 are not on the list"), "{refusal}");
    assert!(refusal.contains("the first is line 4") && !refusal.contains("Monday"), "{refusal}");
    // it is a list for system prompts alone
    let user = json!({"messages": [{"role": "user", "content": "Be brief."}]});
    let user = chat(&user, &listed(Action::Block, some)).unwrap();
    assert_eq!(user["messages"][0]["content"], "<Be brief.>");
}

#[test]
fn a_message_of_which_nothing_is_left_is_left_out() {
    let body = json!({"messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "b", "signature": "c"}]},
        // a result without contents is one all the same
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "d", "content": []}]}]});
    let outgoing = read(body.to_string().as_bytes(), MESSAGES, &Policy::default()).unwrap();
    let empty = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": []});
    let want = json!({"messages": [
        {"role": "user", "content": "~"}, {"role": "user", "content": [empty]}]});
    assert_eq!(outgoing.fill(&["~", ""]), want);
}

#[test]
fn a_block_of_the_services_own_is_sent_as_it_came_or_not_at_all() {
    let block =
        json!({"type": "thinking", "thinking": "zqcanary", "signature": "c", "x": "zqcanary"});
    let said = json!({"type": "text", "text": "d"});
    let body = json!({"messages": [{"role": "assistant", "content": [block, said]}]});
    let outgoing = read(body.to_string().as_bytes(), MESSAGES, &Policy::default()).unwrap();
    let own: Vec<bool> = outgoing.said.iter().map(|said| said.own).collect();
    assert_eq!(own, [true, false]);
    // it is known by the fields that count
    let text = json!({"type": "thinking", "thinking": "zqcanary", "signature": "c"}).to_string();
    assert_eq!(outgoing.said[0].text, text);
    let sent = |known: &str| outgoing.fill(&[known, "~"])["messages"][0]["content"].clone();
    let said = json!({"type": "text", "text": "~"});
    assert_eq!(sent(""), json!([said]));
    assert_eq!(sent(r#"{"type":"thinking"}"#), json!([{"type": "thinking"}, said]));
    // without a signature it is nothing that a service would take back
    let unsigned = json!({"type": "thinking", "thinking": "a", "signature": null});
    let body = json!({"messages": [{"role": "assistant", "content": [unsigned]}]});
    let outgoing = read(body.to_string().as_bytes(), MESSAGES, &Policy::default()).unwrap();
    assert_eq!((outgoing.said.len(), outgoing.fill(&[""; 0])), (0, json!({"messages": []})));
}
