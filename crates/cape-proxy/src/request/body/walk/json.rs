//! Calls of tools and their results: JSON that keeps its structure.

use serde_json::{Map, Value};

use super::{Read, Walk};
use crate::fault::Refusal;
use crate::request::body::outgoing::Node;
use crate::request::body::pattern;
use crate::request::policy::{Action, Field, Names, Results};

impl Walk<'_> {
    pub(super) fn arguments(&mut self, text: &str) -> Read<Node> {
        let perturbed = self.policy.action(Field::ToolCalls) == Action::Perturb;
        match serde_json::from_str::<Value>(text) {
            Ok(value) if perturbed => {
                Ok(Node::InString(Box::new(self.tree(&value, Field::ToolCalls)?)))
            }
            _ => self.text(text, Field::ToolCalls),
        }
    }

    /// JSON keeps its structure where the operator says so and all its keys may pass; else it is a text
    /// like any other.
    pub(super) fn tool_result(&mut self, text: &str) -> Read<Node> {
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

    pub(super) fn tree(&mut self, value: &Value, field: Field) -> Read<Node> {
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
    pub(super) fn name(&self, name: &str) -> Read<()> {
        if self.policy.tool_names == Names::Pass || self.declared.contains(name) {
            return Ok(());
        }
        Err(self.blocked("no tool of this request declares the name", "tool-names"))
    }
}
