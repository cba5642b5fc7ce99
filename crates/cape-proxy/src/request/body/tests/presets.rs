//! Bodies as well-known programs send them, under the preset for each: no canary leaves by any place of
//! them that is the user's.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::outgoing::Outgoing;
use super::super::read;
use super::super::rule::Entry;
use super::{canaries, sings};
use crate::preset::Preset;
use crate::request::policy::{Action, Policy, PolicyChanges};
use crate::request::route::ROUTES;

/// A request of a program.
#[derive(Deserialize)]
struct Fixture {
    preset: Preset,
    path: String,
    body: Value,
}

macro_rules! fixtures {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../tests/presets/", $name, ".json")))),*]
    };
}

fn fixtures() -> Vec<(&'static str, Fixture)> {
    let all = fixtures![
        "claude-code",
        "claude-code-count",
        "claude-code-search",
        "claude-code-title",
        "codex",
        "cursor",
        "openwebui",
        "openwebui-title",
        "openwebui-embedding",
    ];
    all.map(|(name, text)| (name, serde_json::from_str(text).unwrap())).into()
}

impl Fixture {
    fn table(&self) -> &'static [Entry] {
        ROUTES.iter().find(|route| route.path == self.path).unwrap().table
    }

    /// The policy of the preset, for the model of the body alone.
    fn policy(&self) -> Policy {
        let settings: toml::Table = self.preset.toml().parse().unwrap();
        let changes: PolicyChanges = settings["proxy"]["policy"].clone().try_into().unwrap();
        Policy { models: vec![self.body["model"].as_str().unwrap().into()], ..changes.policy() }
    }

    /// Whether the preset says that what stands there passes: descriptions of tools, schemas, and the
    /// program's own instructions.
    fn may_pass(&self, pointer: &str) -> bool {
        let mut parts = pointer.split('/').skip(1);
        let system = self.policy().system == Action::Pass;
        match (parts.next().unwrap_or_default(), parts.next()) {
            ("tools", Some(_)) | ("output_config" | "text", Some("format")) => true,
            ("system" | "instructions", _) => system,
            ("messages" | "input", Some(i)) => {
                let role = self
                    .body
                    .pointer(&format!("/{}/{i}/role", &pointer[1..].split('/').next().unwrap()));
                system && role.is_some_and(|role| role == "system" || role == "developer")
            }
            _ => false,
        }
    }
}

/// The pointers of all values.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    let step = |name: &str| format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                pointers(item, &step(&i.to_string()), all);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                pointers(value, &step(name), all);
            }
        }
        _ => {}
    }
}

/// The values that a value becomes with a canary in one place of it.
fn with_canary(value: &Value, canary: &Value) -> Vec<Value> {
    let mut all = vec![canary.clone()];
    match value {
        Value::Object(fields) => {
            let names = ["x_unknown", canary.as_str().unwrap_or("x")];
            for name in names {
                let mut fields = fields.clone();
                fields.insert(name.into(), canary.clone());
                all.push(Value::Object(fields));
            }
        }
        Value::Array(items) => {
            let mut items = items.clone();
            items.push(canary.clone());
            all.push(Value::Array(items));
        }
        Value::String(text) => {
            all.push(json!(format!("{text} {canary}")));
            // JSON in a string has places, too
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                let mut places = Vec::new();
                pointers(&inner, "", &mut places);
                for place in places {
                    for changed in with_canary(inner.pointer(&place).unwrap(), canary) {
                        let mut inner = inner.clone();
                        *inner.pointer_mut(&place).unwrap() = changed;
                        all.push(json!(inner.to_string()));
                    }
                }
            }
        }
        _ => {}
    }
    all
}

/// The body with its texts, and without blocks of the service's own: none was ever given.
fn filled(outgoing: &Outgoing, mark: impl Fn(&str) -> String) -> Value {
    let texts = outgoing.said.iter().filter(|said| !said.passes);
    let texts = texts.map(|said| if said.own { String::new() } else { mark(&said.text) });
    outgoing.fill(&texts.collect::<Vec<_>>())
}

#[test]
fn no_canary_leaves_by_a_place_that_is_the_users() {
    for (name, fixture) in fixtures() {
        let (mut places, mut refused, mut perturbed, mut passed) = (Vec::new(), 0, 0, 0);
        pointers(&fixture.body, "", &mut places);
        for place in &places[1..] {
            let original = fixture.body.pointer(place).unwrap();
            for canary in canaries() {
                for changed in with_canary(original, &canary) {
                    let mut body = fixture.body.clone();
                    *body.pointer_mut(place).unwrap() = changed;
                    let body = body.to_string();
                    let Ok(outgoing) = read(body.as_bytes(), fixture.table(), &fixture.policy())
                    else {
                        refused += 1;
                        continue;
                    };
                    let filled = filled(&outgoing, |_| "~".into());
                    if sings(&filled) {
                        assert!(fixture.may_pass(place), "{name}: {place}: {filled}");
                        passed += 1;
                    } else {
                        perturbed += 1;
                    }
                }
            }
        }
        // the test would be idle if all were refused, or if nothing could be seen to pass
        assert!(refused > 5 && perturbed > 5, "{name}: {refused} {perturbed}");
        let may = places.iter().any(|place| fixture.may_pass(place));
        assert_eq!(passed > 0, may, "{name}: {passed}");
    }
}

/// Each text that is perturbed stands in angle brackets, and each number that is becomes 0.
#[test]
fn outgoing_bodies() {
    for (name, fixture) in fixtures() {
        let outgoing =
            read(fixture.body.to_string().as_bytes(), fixture.table(), &fixture.policy()).unwrap();
        let mark = |text: &str| match text.parse::<f64>() {
            Ok(_) => "0".to_owned(),
            Err(_) => format!("<{text}>"),
        };
        let sent = serde_json::to_string_pretty(&filled(&outgoing, mark)).unwrap();
        insta::assert_snapshot!(name, sent);
    }
}
