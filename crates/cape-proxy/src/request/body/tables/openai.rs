//! OpenAI's chat completions, completions and embeddings.

use super::super::rule::Rule::{
    Arguments, By, Each, Either, Flag, Identity, Integer, List, Media, Model, Number, Object,
    Schema, ServiceTool, Strip, Text, Tool, ToolName, ToolResult, Word,
};
use super::{CACHE, CACHE_RETENTION, CALL, EFFORT, Entry, Rule, SEARCH_SIZE, STOP, TIER, TOKENS};
use crate::request::policy::Field::{Assistant, System, ToolCalls, User};

/// A part of a message that is text. Gateways to other services have marks for their caches.
macro_rules! text_part {
    ($rule:expr) => {
        Object(&[("type", Word(&["text"])), ("text", $rule), ("cache_control", CACHE)])
    };
}

const SYSTEM: Rule = Object(&[
    ("role", Word(&["system", "developer"])),
    ("content", Either(&[Text(System), List(&text_part!(Text(System)))])),
    ("name", Identity),
]);

const USER: Rule = Object(&[
    ("role", Word(&["user"])),
    (
        "content",
        Either(&[
            Text(User),
            List(&By(
                "type",
                &[
                    ("text", text_part!(Text(User))),
                    ("image_url", Media),
                    ("input_audio", Media),
                    ("file", Media),
                ],
            )),
        ]),
    ),
    ("name", Identity),
]);

const ASSISTANT: Rule = Object(&[
    ("role", Word(&["assistant"])),
    (
        "content",
        Either(&[
            Text(Assistant),
            List(&By(
                "type",
                &[
                    ("text", text_part!(Text(Assistant))),
                    (
                        "refusal",
                        Object(&[("type", Word(&["refusal"])), ("refusal", Text(Assistant))]),
                    ),
                ],
            )),
        ]),
    ),
    ("refusal", Text(Assistant)),
    (
        "tool_calls",
        List(&By("type", &[("", FUNCTION), ("function", FUNCTION), ("custom", CUSTOM)])),
    ),
    ("name", Identity),
    // parts of an answer that clients send back with it, and that no service needs
    ("annotations", Strip),
    ("reasoning", Strip),
    ("reasoning_content", Strip),
    ("reasoning_details", Strip),
]);

/// A call of a function.
const FUNCTION: Rule = Object(&[
    ("id", CALL),
    ("type", Word(&["function"])),
    ("index", Integer(0, 1000)),
    ("function", Object(&[("name", ToolName), ("arguments", Arguments)])),
]);

/// A call of a tool that takes a text.
const CUSTOM: Rule = Object(&[
    ("id", CALL),
    ("type", Word(&["custom"])),
    ("index", Integer(0, 1000)),
    ("custom", Object(&[("name", ToolName), ("input", Text(ToolCalls))])),
]);

const TOOL: Rule = Object(&[
    ("role", Word(&["tool"])),
    ("content", Either(&[ToolResult, List(&text_part!(ToolResult))])),
    ("tool_call_id", CALL),
    ("name", Identity),
]);

const MESSAGE: Rule = By(
    "role",
    &[
        ("system", SYSTEM),
        ("developer", SYSTEM),
        ("user", USER),
        ("assistant", ASSISTANT),
        ("tool", TOOL),
    ],
);

const STREAM_OPTIONS: Rule = Object(&[("include_usage", Flag), ("include_obfuscation", Flag)]);
const SEED: Rule = Integer(0, u32::MAX as i64);

/// POST /v1/chat/completions
pub(crate) const CHAT: &[Entry] = &[
    ("model", Model),
    ("messages", List(&MESSAGE)),
    ("frequency_penalty", Number(-2.0, 2.0)),
    ("logprobs", Flag),
    ("max_completion_tokens", TOKENS),
    ("max_tokens", TOKENS),
    ("metadata", Identity),
    ("min_p", Number(0.0, 1.0)),
    ("modalities", List(&Word(&["text"]))),
    ("n", Integer(1, 128)),
    ("parallel_tool_calls", Flag),
    ("presence_penalty", Number(-2.0, 2.0)),
    // a key of the client's own choice, which could say anything
    ("prompt_cache_key", Identity),
    ("prompt_cache_retention", CACHE_RETENTION),
    ("reasoning_effort", EFFORT),
    ("repeat_penalty", Number(0.0, 10.0)),
    ("repetition_penalty", Number(0.0, 10.0)),
    (
        "response_format",
        By(
            "type",
            &[
                ("text", Object(&[("type", Word(&["text"]))])),
                ("json_object", Object(&[("type", Word(&["json_object"]))])),
                ("json_schema", Schema),
            ],
        ),
    ),
    ("safety_identifier", Identity),
    ("seed", SEED),
    ("service_tier", TIER),
    ("stop", STOP),
    ("store", Flag),
    ("stream", Flag),
    ("stream_options", STREAM_OPTIONS),
    ("temperature", Number(0.0, 2.0)),
    (
        "tool_choice",
        Either(&[
            Word(&["none", "auto", "required"]),
            By(
                "type",
                &[
                    (
                        "function",
                        Object(&[
                            ("type", Word(&["function"])),
                            ("function", Object(&[("name", ToolName)])),
                        ]),
                    ),
                    (
                        "custom",
                        Object(&[
                            ("type", Word(&["custom"])),
                            ("custom", Object(&[("name", ToolName)])),
                        ]),
                    ),
                ],
            ),
        ]),
    ),
    ("tools", List(&By("type", &[("function", Tool), ("custom", Tool)]))),
    ("top_k", Integer(-1, 1_000_000)),
    ("top_logprobs", Integer(0, 20)),
    ("top_p", Number(0.0, 1.0)),
    ("user", Identity),
    ("verbosity", Word(&["low", "medium", "high"])),
    (
        "web_search_options",
        ServiceTool(&[("search_context_size", SEARCH_SIZE), ("user_location", Identity)]),
    ),
];

/// POST /v1/completions
pub(crate) const COMPLETIONS: &[Entry] = &[
    ("model", Model),
    ("prompt", Either(&[Text(User), Each(&Text(User))])),
    ("suffix", Text(User)),
    ("best_of", Integer(1, 128)),
    ("echo", Flag),
    ("frequency_penalty", Number(-2.0, 2.0)),
    ("logprobs", Integer(0, 20)),
    ("max_tokens", TOKENS),
    ("min_p", Number(0.0, 1.0)),
    ("n", Integer(1, 128)),
    ("presence_penalty", Number(-2.0, 2.0)),
    ("repeat_penalty", Number(0.0, 10.0)),
    ("repetition_penalty", Number(0.0, 10.0)),
    ("seed", SEED),
    ("stop", STOP),
    ("stream", Flag),
    ("stream_options", STREAM_OPTIONS),
    ("temperature", Number(0.0, 2.0)),
    ("top_k", Integer(-1, 1_000_000)),
    ("top_p", Number(0.0, 1.0)),
    ("user", Identity),
];

/// POST /v1/embeddings
pub(crate) const EMBEDDINGS: &[Entry] = &[
    ("model", Model),
    ("input", Either(&[Text(User), Each(&Text(User))])),
    ("dimensions", Integer(1, 100_000)),
    ("encoding_format", Word(&["float", "base64"])),
    ("user", Identity),
];
