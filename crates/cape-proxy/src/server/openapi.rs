//! The OpenAPI description of the proxy, made from its tables so that the two cannot differ.

use axum::body::Body;
use axum::http::Response;
use serde_json::{Map, Value, json};

use super::local::json_response;
use crate::request::body::Rule;
use crate::request::policy::Field;
use crate::request::route::{AnswerFormat, ROUTES};

/// GET /openapi.json
pub(super) async fn openapi() -> Response<Body> {
    json_response(&description())
}

fn description() -> Value {
    let text = Rule::Object(&[("text", Rule::Text(Field::User)), ("user", Rule::Identity)]);
    let texts = json!({"type": "object", "properties": {
        "texts": {"type": "array", "items": {"type": "string"}}}});
    let mut paths = Map::new();
    let own = [("/perturb", schema(&text)), ("/beta/litellm_basic_guardrail_api", texts)];
    let routes = ROUTES.map(|route| (format!("/v1/{}", route.path), object(route.table)));
    for (path, schema) in
        own.map(|(path, schema)| (path.to_owned(), schema)).into_iter().chain(routes)
    {
        let body = json!({"required": true, "content": {"application/json": {"schema": schema}}});
        paths.insert(path, json!({"post": {"requestBody": body, "responses": responses()}}));
    }
    let model = json!([{"name": "model", "in": "path", "required": true,
        "schema": {"type": "string", "description": Rule::Model.expected()}}]);
    let described = json!({"get": {"parameters": model, "responses": responses()}});
    paths.insert("/v1/models/{model}".into(), described);
    for route in ROUTES.iter().filter(|route| route.answer != AnswerFormat::Vectors) {
        let restored =
            "how many of the user's words were put back into an answer that is no stream";
        let served = &mut paths[&format!("/v1/{}", route.path)]["post"]["responses"]["200"];
        served["headers"] = json!({"X-Cape-Restored": {"description": restored,
            "schema": {"type": "integer", "minimum": 0}}});
    }
    for path in ["/v1/models", "/health", "/ready", "/metrics", "/openapi.json"] {
        paths.insert(path.into(), json!({"get": {"responses": responses()}}));
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": "cape serve", "version": env!("CARGO_PKG_VERSION")},
        "paths": paths,
    })
}

fn responses() -> Value {
    json!({
        "200": {"description": "served"},
        "4XX": {"description": "refused: nothing was sent"},
        "5XX": {"description": "cape or upstream failed"},
    })
}

fn object(entries: &'static [(&'static str, Rule)]) -> Value {
    let properties = entries.iter().map(|(name, rule)| ((*name).to_owned(), schema(rule)));
    let properties: Map<String, Value> = properties.collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn schema(rule: &Rule) -> Value {
    match rule {
        Rule::Flag => json!({"type": "boolean"}),
        Rule::Integer(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
        Rule::Number(min, max) => json!({"type": "number", "minimum": min, "maximum": max}),
        Rule::Word(words) => json!({"enum": words}),
        Rule::Text(_) | Rule::Arguments | Rule::ToolResult => json!({"type": "string"}),
        Rule::Model
        | Rule::Id(_)
        | Rule::ResponseId
        | Rule::ToolName
        | Rule::Domain
        | Rule::Stop => {
            json!({"type": "string", "description": rule.expected()})
        }
        Rule::Tool | Rule::Schema | Rule::Own(_) => json!({"type": "object"}),
        Rule::List(item) | Rule::Each(item) => json!({"type": "array", "items": schema(item)}),
        Rule::Object(entries) | Rule::ServiceTool(entries) => object(entries),
        Rule::By(_, kinds) => {
            json!({"oneOf": kinds.iter().map(|(_, rule)| schema(rule)).collect::<Vec<_>>()})
        }
        Rule::Either(rules) => json!({"anyOf": rules.iter().map(schema).collect::<Vec<_>>()}),
        Rule::Tree(_) | Rule::Identity | Rule::Media | Rule::Strip => json!({}),
    }
}
