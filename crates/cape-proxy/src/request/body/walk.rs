//! A body read against its table.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde_json::{Number, Value};

use super::outgoing::{BodyText, Node, Outgoing};
use super::pattern;
use super::rule::{Entry, OTHER, Rule};
use crate::fault::Refusal;
use crate::request::policy::{Gate, Policy, Removal};

mod json;
mod texts;

type Read<T> = Result<T, Refusal>;

/// Reads a body against the table of its route.
pub(crate) fn read(body: &[u8], table: &'static [Entry], policy: &Policy) -> Read<Outgoing> {
    read_value(&serde_json::from_slice(body)?, table, policy)
}

/// Reads a body that is parsed already.
pub(crate) fn read_value(
    value: &Value,
    table: &'static [Entry],
    policy: &Policy,
) -> Read<Outgoing> {
    let mut names = HashSet::new();
    if policy.tools == Gate::Pass
        && let Some(tools) = value.get("tools")
    {
        declared(tools, &mut names);
    }
    let mut walk = Walk {
        policy,
        declared: names,
        ids: HashMap::new(),
        said: Vec::new(),
        begins: true,
        slots: 0,
        beside: Vec::new(),
        system: Vec::new(),
        prompt: Vec::new(),
        path: Path(String::new()),
    };
    let root = walk.object(value, table)?;
    let Walk { said, beside, system, prompt, .. } = walk;
    Ok(Outgoing { root, said, beside, system, prompt: prompt.join("\n\n") })
}

/// The names that the descriptions of tools declare.
fn declared(tools: &Value, names: &mut HashSet<String>) {
    match tools {
        Value::Array(items) => items.iter().for_each(|item| declared(item, names)),
        Value::Object(fields) => {
            for (key, value) in fields {
                names.insert(key.clone());
                if let ("name", Value::String(name)) = (key.as_str(), value) {
                    names.insert(name.clone());
                }
                declared(value, names);
            }
        }
        _ => {}
    }
}

/// The reader's position in the body.
struct Path(String);

impl Path {
    /// Goes into a field, and returns the argument of `leave`.
    fn field(&mut self, name: &str) -> usize {
        let before = self.0.len();
        let dot = if before == 0 { "" } else { "." };
        let _ = write!(self.0, "{dot}{name}");
        before
    }

    fn index(&mut self, i: usize) -> usize {
        let before = self.0.len();
        let _ = write!(self.0, "[{i}]");
        before
    }

    fn leave(&mut self, before: usize) {
        self.0.truncate(before);
    }
}

struct Walk<'a> {
    policy: &'a Policy,
    declared: HashSet<String>,
    /// The number of each id that was met.
    ids: HashMap<String, usize>,
    said: Vec<BodyText>,
    /// Whether the next text begins a conversation.
    begins: bool,
    /// The number of texts that are perturbed.
    slots: usize,
    /// What is sent whole.
    beside: Vec<String>,
    /// The system prompts.
    system: Vec<String>,
    /// The texts of users.
    prompt: Vec<String>,
    path: Path,
}

impl Walk<'_> {
    /// The node that is sent in place of a value; none where it is left out.
    fn value(&mut self, value: &Value, rule: &'static Rule) -> Read<Option<Node>> {
        if !rule.takes(value) {
            return Err(self.wrong(rule));
        }
        let text = value.as_str().unwrap_or_default();
        let allowed = |allowed: bool| allowed.then(|| Node::Fixed(value.clone()));
        let fixed = match rule {
            Rule::Flag => allowed(true),
            Rule::Integer(min, max) => {
                allowed(value.as_i64().is_some_and(|n| (*min..=*max).contains(&n)))
            }
            Rule::Number(min, max) => Self::number(value, *min, *max),
            Rule::Word(words) => allowed(words.contains(&text)),
            Rule::Model => {
                if !self.policy.allows(text) {
                    return Err(self.blocked("the operator allows other models", "models"));
                }
                allowed(pattern::model(text))
            }
            Rule::ResponseId => allowed(pattern::response_id(text)),
            Rule::Id(prefix) => {
                let next = self.ids.len() + 1;
                let number = *self.ids.entry(text.to_owned()).or_insert(next);
                Some(Node::Fixed(Value::String(format!("{prefix}{number}"))))
            }
            Rule::ToolName => {
                self.name(text)?;
                allowed(pattern::tool(text))
            }
            Rule::Text(field) => Some(self.text(text, *field)?),
            Rule::Tree(field) => Some(self.tree(value, *field)?),
            Rule::Arguments => Some(self.arguments(text)?),
            Rule::ToolResult => Some(self.tool_result(text)?),
            Rule::Domain => allowed(pattern::domain(text)),
            Rule::Stop => {
                let stop = self.policy.stop;
                self.gate(if pattern::marks(text) { Gate::Pass } else { stop }, "stop")?;
                self.beside(value);
                allowed(true)
            }
            Rule::Tool => {
                self.gate(self.policy.tools, "tools")?;
                self.beside(value);
                allowed(true)
            }
            Rule::ServiceTool(entries) => {
                self.gate(self.policy.tools, "tools")?;
                Some(self.object(value, entries)?)
            }
            Rule::Schema => {
                self.gate(self.policy.response_format, "response-format")?;
                self.beside(value);
                allowed(true)
            }
            Rule::Identity => return self.remove(self.policy.identity, "identity"),
            Rule::Media => return self.remove(self.policy.media, "media"),
            Rule::Own(fields) => return Ok(self.own(value, fields)),
            Rule::Strip => return Ok(None),
            Rule::List(item) => Some(self.list(value, item, false)?),
            Rule::Each(item) => Some(self.list(value, item, true)?),
            Rule::Object(entries) => Some(self.object(value, entries)?),
            Rule::By(tag, kinds) => {
                let kind = value.get(tag).and_then(Value::as_str).unwrap_or_default();
                let of = |wanted: &str| kinds.iter().find(|(name, _)| *name == wanted);
                match of(kind).or_else(|| of(OTHER)) {
                    Some((_, rule)) => return self.value(value, rule),
                    None => None,
                }
            }
            Rule::Either(rules) => match rules.iter().find(|rule| rule.takes(value)) {
                Some(rule) => return self.value(value, rule),
                None => None,
            },
        };
        fixed.map(Some).ok_or_else(|| self.wrong(rule))
    }

    fn object(&mut self, value: &Value, entries: &'static [Entry]) -> Read<Node> {
        let Value::Object(fields) = value else {
            return Err(self.wrong(&Rule::Object(&[])));
        };
        // a null says nothing, and a name that the table does not have is not sent
        let known = |name: &String| entries.iter().any(|(known, _)| known == name);
        if let Some((name, _)) =
            fields.iter().find(|(name, value)| !known(name) && !value.is_null())
        {
            self.path.field(name);
            return Err(Refusal::Unknown { path: self.path.0.clone() });
        }
        let mut nodes = Vec::with_capacity(fields.len());
        // in the table's order, which begins as a conversation does
        for (name, rule) in entries {
            let Some(value) = fields.get(*name) else { continue };
            let before = self.path.field(name);
            let node = match value {
                Value::Null => Some(Node::Fixed(Value::Null)),
                value => self.value(value, rule)?,
            };
            nodes.extend(node.map(|node| ((*name).to_owned(), node)));
            self.path.leave(before);
        }
        Ok(Node::Object(nodes))
    }

    fn list(&mut self, value: &Value, rule: &'static Rule, apart: bool) -> Read<Node> {
        let mut nodes = Vec::new();
        for (i, item) in value.as_array().into_iter().flatten().enumerate() {
            let before = self.path.index(i);
            self.begins |= apart;
            nodes.extend(self.value(item, rule)?);
            self.path.leave(before);
        }
        Ok(Node::List(nodes))
    }

    /// Rounded, so that the last digits carry no message.
    fn number(value: &Value, min: f64, max: f64) -> Option<Node> {
        let number = value.as_f64().filter(|n| (min..=max).contains(n))?;
        let rounded = Number::from_f64((number * 1e4).round() / 1e4)?;
        let whole = value.as_i64().map(Number::from);
        Some(Node::Fixed(Value::Number(whole.unwrap_or(rounded))))
    }

    /// Takes note of all strings of a value that is sent whole, and of its keys.
    fn beside(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.beside.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| self.beside(item)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.beside.push(key.clone());
                    self.beside(value);
                }
            }
            _ => {}
        }
    }

    fn gate(&self, gate: Gate, key: &'static str) -> Read<()> {
        match gate {
            Gate::Pass => Ok(()),
            Gate::Block => Err(self.blocked("it cannot be perturbed", key)),
        }
    }

    fn remove(&self, removal: Removal, key: &'static str) -> Read<Option<Node>> {
        match removal {
            Removal::Strip => Ok(None),
            Removal::Block => Err(self.blocked("it cannot be perturbed", key)),
        }
    }

    fn blocked(&self, why: &'static str, key: &'static str) -> Refusal {
        Refusal::Blocked { path: self.path.0.clone(), why, key }
    }

    fn wrong(&self, rule: &Rule) -> Refusal {
        let path = if self.path.0.is_empty() { "the body" } else { &self.path.0 };
        Refusal::Value { path: path.to_owned(), expected: rule.expected() }
    }
}
