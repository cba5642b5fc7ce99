//! LiteLLM's generic guardrail: texts in, perturbed texts out.
//!
//! LiteLLM forwards a request unless it is told not to, so every failure is an answer that blocks.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use serde_json::{Value, json};

use super::local::json_response;
use super::log::Told;
use super::service::Service;
use crate::fault::{Code, Fault, Refusal};
use crate::request::body::{self, Rule, pattern};
use crate::request::policy::{Action, Field, Gate, Policy};

/// Where LiteLLM asks.
pub(super) const PATH: &str = "/beta/litellm_basic_guardrail_api";

/// The fields of LiteLLM's request that are perturbed.
const TEXTS: &[(&str, Rule)] = &[("texts", Rule::List(&Rule::Text(Field::User)))];

/// The roles in the messages that LiteLLM shows.
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// POST /beta/litellm_basic_guardrail_api
pub(super) async fn guard(State(service): State<Arc<Service>>, request: Request) -> Response<Body> {
    match verdict(&service, request).await {
        Ok((verdict, told)) => {
            let mut response = json_response(&verdict);
            if let Some(told) = told {
                response.extensions_mut().insert(told);
            }
            response
        }
        Err(fault) => blocked(&fault),
    }
}

/// The answer that makes LiteLLM send nothing.
pub(super) fn blocked(fault: &Fault) -> Response<Body> {
    let blocked = json!({"action": "BLOCKED", "blocked_reason": fault.to_string()});
    let mut response = json_response(&blocked);
    response.extensions_mut().insert(Code(fault.code()));
    response
}

async fn verdict(service: &Service, request: Request) -> Result<(Value, Option<Told>), Fault> {
    let own = request.headers().clone();
    let (bytes, _permit) = service.receive(request).await?;
    let asked: Value = serde_json::from_slice(&bytes).map_err(Refusal::from)?;
    // an answer was made from a release, so there is nothing to protect
    if asked["input_type"] == "response" {
        return Ok((json!({"action": "NONE"}), None));
    }
    let policy = &service.live().policy;
    passes(&asked, policy)?;
    covered(&asked)?;
    let texts = json!({ "texts": asked["texts"] }).to_string();
    let outgoing = body::read(texts.as_bytes(), TEXTS, policy)?;
    // LiteLLM gives its clients keys of its own, and knows their users
    let data = &asked["request_data"];
    let users =
        ["user_api_key_end_user_id", "user_api_key_user_id"].map(|name| data[name].as_str());
    let user = users.into_iter().flatten().next().unwrap_or_default();
    let account = match data["user_api_key_hash"].as_str() {
        Some(key) => service.releaser.ledger.account(key.as_bytes(), user),
        None => service.account(&own, user),
    };
    let released = service.release(&account, &outgoing.said).await?;
    let texts = outgoing.fill(&released.texts)["texts"].take();
    let told = Told::new(&account, &released);
    Ok((json!({"action": "GUARDRAIL_INTERVENED", "texts": texts}), Some(told)))
}

/// Refuses messages with a text that is not among `texts`: it would be sent unchanged.
fn covered(asked: &Value) -> Result<(), Refusal> {
    let texts = asked["texts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let messages = asked["structured_messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let part = |part: &Value| part["type"] == "text" && texts.contains(&part["text"]);
    let said = |content: &Value| match content {
        Value::Array(parts) => parts.iter().all(part),
        content => texts.contains(content),
    };
    let known = |(key, value): (&String, &Value)| match (key.as_str(), value) {
        ("role", Value::String(role)) => ROLES.contains(&role.as_str()),
        ("tool_call_id", Value::String(id)) => pattern::tool(id),
        ("content", content) => said(content),
        // `passes` has checked them
        ("tool_calls", _) | (_, Value::Null) => true,
        _ => false,
    };
    for (i, message) in messages.iter().enumerate() {
        if !message.as_object().is_some_and(|fields| fields.iter().all(known)) {
            let path = format!("structured_messages[{i}]");
            let expected = "a message of which `texts` has every text, and nothing else".into();
            return Err(Refusal::Value { path, expected });
        }
    }
    Ok(())
}

/// Refuses what LiteLLM would send unchanged besides the texts.
fn passes(asked: &Value, policy: &Policy) -> Result<(), Refusal> {
    // messages without texts could not be perturbed
    let texts = asked["texts"].as_array().map(Vec::len);
    if texts.is_none() || (texts == Some(0) && !asked["structured_messages"].is_null()) {
        let expected = "a list of all texts of the request".into();
        return Err(Refusal::Value { path: "texts".into(), expected });
    }
    let passed = [
        ("images", "media", false),
        ("tools", "tools", policy.tools == Gate::Pass),
        ("tool_calls", "tool-calls", policy.action(Field::ToolCalls) == Action::Pass),
    ];
    let calls = |message: &Value| !message["tool_calls"].is_null();
    let messages = asked["structured_messages"].as_array();
    if messages.is_some_and(|messages| messages.iter().any(calls))
        && policy.action(Field::ToolCalls) != Action::Pass
    {
        let (path, why) = ("structured_messages".into(), "a guardrail can change texts alone");
        return Err(Refusal::Blocked { path, why, key: "tool-calls" });
    }
    for (name, key, passes) in passed {
        let empty = match &asked[name] {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if !empty && !passes {
            let why = "a guardrail can change texts alone";
            return Err(Refusal::Blocked { path: name.into(), why, key });
        }
    }
    Ok(())
}
