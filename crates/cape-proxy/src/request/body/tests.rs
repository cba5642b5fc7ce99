//! No canary leaves, wherever it is put; and what may leave does.

use serde_json::{Map, Value, json};

use super::read;
use super::rule::{Entry, Rule};
use super::tables::{anthropic::MESSAGES, openai, responses::RESPONSES};
use crate::fault::Refusal;
use crate::request::policy::{Action, Gate, Names, Policy, Removal};

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
        Rule::Object(entries) => all.extend(objects(entries, canary)),
        Rule::Either(rules) => all.extend(rules.iter().flat_map(|rule| values(rule, canary))),
        Rule::By(tag, kinds) => {
            for (kind, rule) in *kinds {
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
        tool_values: Gate::Pass,
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
                // a number that may pass, may
                if canary.is_number() && policy.tool_values == Gate::Pass {
                    continue;
                }
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
    let policy = Policy {
        system: Action::Pass,
        tools: Gate::Pass,
        tool_values: Gate::Pass,
        ..Policy::default()
    };
    let tool = json!({"type": "function", "function": {
        "name": "weather", "parameters": {"properties": {"city": {}, "days": {}}}}});
    let ask = |id: &str, city: &str| {
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
            "function": {"name": "weather", "arguments": format!(r#"{{"city":"{city}","days":3}}"#)}}]})
    };
    let body = json!({"model": "m", "temperature": 0.70001, "stream": true, "user": "me",
        "stop": ["\n", "###"], "tools": [tool], "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Rain in Ulm?", "name": "Eve"},
        ask("call_abc", "Ulm"),
        {"role": "tool", "tool_call_id": "call_abc", "content": "wet"}]});
    let want = json!({"model": "m", "temperature": 0.7, "stream": true,
        "stop": ["\n", "###"], "tools": [tool], "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "<Rain in Ulm?>"},
        ask("call_1", "<Ulm>"),
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
fn results_of_tools_keep_their_structure_where_names_may_pass() {
    let result = r#"{"name":"Eve","list":["a"],"n":7}"#;
    let body = json!({"messages": [{"role": "tool", "tool_call_id": "x", "content": result}]});
    let sent =
        |policy: Policy| chat(&body, &policy).map(|body| body["messages"][0]["content"].clone());
    assert_eq!(sent(Policy::default()).unwrap(), format!("<{result}>"));
    let names = Policy { tool_names: Names::Pass, ..Policy::default() };
    assert!(sent(names.clone()).unwrap_err().to_string().contains("`tool-values`"));
    let values = Policy { tool_values: Gate::Pass, ..names };
    let sent = sent(values).unwrap();
    let sent: Map<String, Value> = serde_json::from_str(sent.as_str().unwrap()).unwrap();
    assert_eq!(Value::Object(sent), json!({"name": "<Eve>", "list": ["<a>"], "n": 7}));
}
