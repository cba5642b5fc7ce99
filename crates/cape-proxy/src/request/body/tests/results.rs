//! JSON in the results of tools, perturbed by the true mechanism, stays the JSON that it was but for its values.

use std::sync::LazyLock;

use cape::lexicon::Lexicon;
use cape::mechanism::cape::{Cape, Settings};
use cape::rng::Secret;
use cape::sanitizer::Sanitizer;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::read;
use super::super::tables::openai::CHAT;
use crate::request::policy::{Policy, Results};

static CAPE: LazyLock<Sanitizer> = LazyLock::new(|| {
    Sanitizer::words(Cape::new(Lexicon::embedded(), Settings::default()).unwrap())
});

/// The structure of JSON: its keys, lists, types, and what is no value.
fn structure(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        Value::Number(_) => json!(0),
        Value::String(_) => json!(""),
        Value::Array(items) => items.iter().map(structure).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), structure(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}

fn policy() -> Policy {
    let result_keys = ["name", "age", "list"].map(str::to_owned).into();
    Policy { tool_results: Results::Json, result_keys, ..Policy::default() }
}

/// A result as it is sent.
fn sent(result: &Value) -> String {
    let message = json!({"role": "tool", "tool_call_id": "x", "content": result.to_string()});
    let body = json!({"messages": [message]}).to_string();
    let outgoing = read(body.as_bytes(), CHAT, &policy()).unwrap();
    let release = |text: &str| CAPE.release(text, &Secret::fresh().unwrap()).unwrap().text;
    let texts: Vec<String> = outgoing.texts().map(release).collect();
    outgoing.fill(&texts)["messages"][0]["content"].as_str().unwrap().to_owned()
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1000_i64..10_000).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|x| json!(x)),
        "[ -~]{0,20}".prop_map(Value::from),
        proptest::sample::select(vec!["Alice", "2026-11-17", "\"\\", "{}", "\n", ""])
            .prop_map(Value::from),
    ];
    let several = leaf.prop_recursive(3, 12, 4, |inner| {
        let keys = prop_oneof![Just("name"), Just("age"), Just("list")];
        let field = (keys.prop_map(str::to_owned), inner.clone());
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(Value::from),
            proptest::collection::vec(field, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    several.prop_filter("a list or an object", |value| value.is_array() || value.is_object())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_result_keeps_its_structure(result in values()) {
        let sent: Value = serde_json::from_str(&sent(&result)).unwrap();
        prop_assert_eq!(structure(&sent), structure(&result));
    }
}

#[test]
fn values_are_of_the_kind_that_they_were() {
    let result =
        json!({"name": "Zqcanary", "age": -54.25, "list": [4_111_111_111_111_111_i64, true]});
    let sent: Value = serde_json::from_str(&sent(&result)).unwrap();
    assert_eq!(structure(&sent), structure(&result));
    assert!(!sent.to_string().to_lowercase().contains("zqcanary"));
    // a number becomes one of the grid, and a long one an identifier of its one shape
    assert!(sent["age"].as_u64().is_some_and(|age| age < 10_000_000), "{sent}");
    let identifier = sent["list"][0].as_u64().unwrap().to_string();
    assert!(identifier.len() == 15 && identifier.starts_with("9999"), "{sent}");
}
