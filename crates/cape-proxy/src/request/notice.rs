//! A line for the service that some details are substitutes: models otherwise comment on them.

use serde_json::{Value, json};

use super::route::AnswerFormat;

/// It is the same for all requests, so it tells nothing about any of them.
const NOTICE: &str = "Some names, numbers and other details in this conversation are substitutes. \
                      Use them as they are, and do not comment on them.";

/// Adds the notice to a body that is sent: to its system prompt, or as one. A text to be completed has no
/// place for it.
pub(crate) fn add(body: &mut Value, format: AnswerFormat) {
    match format {
        AnswerFormat::Chat => {
            let Some(messages) = body["messages"].as_array_mut() else { return };
            let is_system = |first: &&mut Value| {
                ["system", "developer"].map(Value::from).contains(&first["role"])
            };
            match messages.first_mut().filter(is_system) {
                Some(first) => append(&mut first["content"], "text"),
                None => messages.insert(0, json!({"role": "system", "content": NOTICE})),
            }
        }
        AnswerFormat::Message => append(&mut body["system"], "text"),
        AnswerFormat::Response => append(&mut body["instructions"], "input_text"),
        AnswerFormat::Completion | AnswerFormat::Vectors => {}
    }
}

/// At the end of a text, or of the parts of one.
fn append(text: &mut Value, part: &str) {
    match text {
        Value::String(text) => *text = format!("{text}\n\n{NOTICE}"),
        Value::Array(parts) => parts.push(json!({"type": part, "text": NOTICE})),
        none => *none = NOTICE.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_service_is_told_in_its_own_way() {
        let user = json!({"role": "user", "content": "hi"});
        let system = |content: Value| json!({"role": "system", "content": content});
        let text = |text: &str| json!({"type": "text", "text": text});
        let both = format!("Be brief.\n\n{NOTICE}");
        for (format, mut body, expected) in [
            (
                AnswerFormat::Chat,
                json!({"messages": [user]}),
                json!({"messages": [system(NOTICE.into()), user]}),
            ),
            (
                AnswerFormat::Chat,
                json!({"messages": [system("Be brief.".into()), user]}),
                json!({"messages": [system(both.clone().into()), user]}),
            ),
            (
                AnswerFormat::Chat,
                json!({"messages": [system(json!([text("Be brief.")])), user]}),
                json!({"messages": [system(json!([text("Be brief."), text(NOTICE)])), user]}),
            ),
            (
                AnswerFormat::Message,
                json!({"messages": [user]}),
                json!({"messages": [user], "system": NOTICE}),
            ),
            (
                AnswerFormat::Message,
                json!({"messages": [user], "system": [text("Be brief.")]}),
                json!({"messages": [user], "system": [text("Be brief."), text(NOTICE)]}),
            ),
            (
                AnswerFormat::Response,
                json!({"input": "hi"}),
                json!({"input": "hi", "instructions": NOTICE}),
            ),
            (
                AnswerFormat::Response,
                json!({"input": "hi", "instructions": "Be brief."}),
                json!({"input": "hi", "instructions": both}),
            ),
            (AnswerFormat::Completion, json!({"prompt": "hi"}), json!({"prompt": "hi"})),
            (AnswerFormat::Vectors, json!({"input": "hi"}), json!({"input": "hi"})),
        ] {
            add(&mut body, format);
            assert_eq!(body, expected);
        }
    }
}
