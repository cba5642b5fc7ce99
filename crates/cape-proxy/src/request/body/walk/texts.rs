//! Texts of a body: which part of each is perturbed, and which is sent as it is.

use serde_json::{Map, Value};

use super::{Read, Walk};
use crate::fault::Refusal;
use crate::request::body::outgoing::{BodyText, Node, Part};
use crate::request::body::segments::{SegmentKind, segments};
use crate::request::policy::{Action, Field};

impl Walk<'_> {
    pub(super) fn text(&mut self, text: &str, field: Field) -> Read<Node> {
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
        let rewritten = self.policy.rewritten && field == Field::Assistant;
        let [code, urls] = [self.policy.code, self.policy.urls].map(|action| match action {
            Action::Pass if rewritten => Action::Perturb,
            action => action,
        });
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

    pub(super) fn said(&mut self, text: &str, field: Field, passes: bool) {
        let begins = std::mem::take(&mut self.begins);
        self.said.push(BodyText { field, text: text.to_owned(), passes, begins, own: false });
    }

    /// A block of upstream's own, if it has all these fields.
    pub(super) fn own(&mut self, block: &Value, fields: &[&str]) -> Option<Node> {
        let field = |name: &&str| {
            let value = block.get(*name).filter(|value| !value.is_null())?;
            Some(((*name).to_owned(), value.clone()))
        };
        let block: Map<String, Value> = fields.iter().map(field).collect::<Option<_>>()?;
        let text = Value::Object(block).to_string();
        let field = Field::Assistant;
        self.said.push(BodyText { field, text, passes: false, begins: false, own: true });
        self.slots += 1;
        Some(Node::Own(self.slots - 1))
    }
}
