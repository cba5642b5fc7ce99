//! A body read against its table.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use super::outgoing::{BodyText, Node, Outgoing, Part};
use super::pattern;
use super::rule::{Entry, OTHER, Rule};
use super::segments::{SegmentKind, segments};
use crate::fault::Refusal;
use crate::request::policy::{Action, Field, Gate, Names, Policy, Removal, Results};

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
        system: Vec::new(),
        prompt: Vec::new(),
        path: Path(String::new()),
    };
    let root = walk.object(value, table)?;
    let Walk { said, system, prompt, .. } = walk;
    Ok(Outgoing { root, said, system, prompt: prompt.join("\n\n") })
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
                allowed(true)
            }
            Rule::Tool => {
                self.gate(self.policy.tools, "tools")?;
                allowed(true)
            }
            Rule::ServiceTool(entries) => {
                self.gate(self.policy.tools, "tools")?;
                Some(self.object(value, entries)?)
            }
            Rule::Schema => {
                self.gate(self.policy.response_format, "response-format")?;
                allowed(true)
            }
            Rule::Identity => return self.remove(self.policy.identity, "identity"),
            Rule::Media => return self.remove(self.policy.media, "media"),
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
            // services refuse a message of which nothing is left
            nodes.extend(self.value(item, rule)?.filter(|node| !is_emptied(item, node)));
            self.path.leave(before);
        }
        Ok(Node::List(nodes))
    }

    fn text(&mut self, text: &str, field: Field) -> Read<Node> {
        if field == Field::User {
            self.prompt.push(text.to_owned());
        }
        if field == Field::System {
            self.system.push(text.to_owned());
        }
        match self.policy.action(field) {
            Action::Pass => {
                self.said(text, field, true);
                Ok(Node::Fixed(Value::String(text.to_owned())))
            }
            _ if field == Field::System && !self.policy.system_lines.is_empty() => {
                Ok(Node::Text(self.lines(text)?))
            }
            Action::Block => Err(self.blocked("the operator does not let it through", field.key())),
            Action::Perturb => Ok(Node::Text(self.parts(text, field)?)),
        }
    }

    /// Code and addresses by their own rules, the rest as one text between two of them.
    fn parts(&mut self, text: &str, field: Field) -> Read<Vec<Part>> {
        let (code, urls) = (self.policy.code, self.policy.urls);
        if (code, urls) == (Action::Perturb, Action::Perturb) {
            return Ok(vec![self.part(text, field)]);
        }
        if code == Action::Block && text.contains('`') {
            return Err(self.blocked("it may have code in it", "code"));
        }
        let (mut parts, mut perturbed) = (Vec::new(), 0..0);
        for (kind, range) in segments(text) {
            let (action, why, key) = match kind {
                SegmentKind::Prose => (Action::Perturb, "", ""),
                SegmentKind::Code => (code, "it has code in it", "code"),
                SegmentKind::Url => (urls, "it has a web address in it", "urls"),
            };
            match action {
                Action::Perturb => perturbed.end = range.end,
                Action::Block => return Err(self.blocked(why, key)),
                Action::Pass => {
                    parts.push(self.part(&text[perturbed], field));
                    self.said(&text[range.clone()], field, true);
                    parts.push(Part::Fixed(text[range.clone()].to_owned()));
                    perturbed = range.end..range.end;
                }
            }
        }
        parts.push(self.part(&text[perturbed], field));
        Ok(parts)
    }

    /// A system prompt by its lines: those that the operator listed as they are, each run of others as
    /// one text.
    fn lines(&mut self, text: &str) -> Read<Vec<Part>> {
        let listed = &self.policy.system_lines;
        let lines: Vec<(&str, bool)> =
            text.split_inclusive('\n').map(|line| (line, listed.has(line))).collect();
        let others: Vec<usize> = (1..).zip(&lines).filter(|(_, l)| !l.1).map(|(i, _)| i).collect();
        if self.policy.system == Action::Block && !others.is_empty() {
            let (path, of) = (self.path.0.clone(), lines.len());
            return Err(Refusal::Unlisted { path, others, of });
        }
        let (mut parts, mut start) = (Vec::new(), 0);
        for run in lines.chunk_by(|a, b| a.1 == b.1) {
            let len: usize = run.iter().map(|(line, _)| line.len()).sum();
            let stretch = &text[start..start + len];
            start += len;
            if run[0].1 {
                self.said(stretch, Field::System, true);
                parts.push(Part::Fixed(stretch.to_owned()));
            } else {
                parts.extend(self.parts(stretch, Field::System)?);
            }
        }
        Ok(parts)
    }

    fn part(&mut self, text: &str, field: Field) -> Part {
        // white space is kept by every release: there is nothing to draw
        if text.bytes().all(|b| b" \t\r\n".contains(&b)) {
            return Part::Fixed(text.to_owned());
        }
        self.said(text, field, false);
        self.slots += 1;
        Part::Slot(self.slots - 1)
    }

    fn said(&mut self, text: &str, field: Field, passes: bool) {
        let begins = std::mem::take(&mut self.begins);
        self.said.push(BodyText { field, text: text.to_owned(), passes, begins });
    }

    fn arguments(&mut self, text: &str) -> Read<Node> {
        let perturbed = self.policy.tool_calls == Action::Perturb;
        match serde_json::from_str::<Value>(text) {
            Ok(value) if perturbed => {
                Ok(Node::InString(Box::new(self.tree(&value, Field::ToolCalls)?)))
            }
            _ => self.text(text, Field::ToolCalls),
        }
    }

    /// JSON keeps its structure where the operator says so and all its keys may pass; else it is a text
    /// like any other.
    fn tool_result(&mut self, text: &str) -> Read<Node> {
        if self.policy.tool_results == Results::Json
            && let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
            && self.keys_pass(&value)
        {
            return Ok(Node::InString(Box::new(self.tree(&value, Field::ToolResults)?)));
        }
        self.text(text, Field::ToolResults)
    }

    /// Whether every key of a result may be sent.
    fn keys_pass(&self, value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().all(|item| self.keys_pass(item)),
            Value::Object(fields) => {
                fields.iter().all(|(key, value)| self.is_result_key(key) && self.keys_pass(value))
            }
            _ => true,
        }
    }

    fn is_result_key(&self, key: &str) -> bool {
        pattern::key(key)
            && (self.name(key).is_ok() || self.policy.result_keys.iter().any(|known| known == key))
    }

    fn tree(&mut self, value: &Value, field: Field) -> Read<Node> {
        Ok(match value {
            _ if self.policy.action(field) == Action::Pass => {
                self.said(&value.to_string(), field, true);
                Node::Fixed(value.clone())
            }
            _ if self.policy.action(field) == Action::Block => {
                return Err(self.blocked("the operator does not let it through", field.key()));
            }
            // structure, as in every JSON that is declared as such
            Value::Null | Value::Bool(_) => Node::Fixed(value.clone()),
            Value::String(text) => self.text(text, field)?,
            Value::Number(number) => {
                self.said(&number.to_string(), field, false);
                self.slots += 1;
                Node::Number(self.slots - 1)
            }
            Value::Array(items) => {
                let mut nodes = Vec::with_capacity(items.len());
                for (i, item) in items.iter().enumerate() {
                    let before = self.path.index(i);
                    nodes.push(self.tree(item, field)?);
                    self.path.leave(before);
                }
                Node::List(nodes)
            }
            Value::Object(fields) => self.branches(fields, field)?,
        })
    }

    fn branches(&mut self, fields: &Map<String, Value>, field: Field) -> Read<Node> {
        let mut nodes = Vec::with_capacity(fields.len());
        for (key, value) in fields {
            let before = self.path.field(key);
            if field == Field::ToolCalls {
                self.name(key)?;
                if !pattern::key(key) {
                    return Err(Refusal::Unknown { path: self.path.0.clone() });
                }
            }
            nodes.push((key.clone(), self.tree(value, field)?));
            self.path.leave(before);
        }
        Ok(Node::Object(nodes))
    }

    /// Whether a name of a tool or a key may be sent.
    fn name(&self, name: &str) -> Read<()> {
        if self.policy.tool_names == Names::Pass || self.declared.contains(name) {
            return Ok(());
        }
        Err(self.blocked("no tool of this request declares the name", "tool-names"))
    }

    /// Rounded, so that the last digits carry no message.
    fn number(value: &Value, min: f64, max: f64) -> Option<Node> {
        let number = value.as_f64().filter(|n| (min..=max).contains(n))?;
        let rounded = Number::from_f64((number * 1e4).round() / 1e4)?;
        let whole = value.as_i64().map(Number::from);
        Some(Node::Fixed(Value::Number(whole.unwrap_or(rounded))))
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

/// Whether a message had contents and has none any more.
fn is_emptied(item: &Value, node: &Node) -> bool {
    let had = item.get("content").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let Node::Object(fields) = node else { return false };
    let is_empty = |(name, node): &(String, Node)| {
        name == "content" && matches!(node, Node::List(nodes) if nodes.is_empty())
    };
    had && fields.iter().any(is_empty)
}
