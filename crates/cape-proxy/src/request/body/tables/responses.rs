//! OpenAI's responses.

use super::super::rule::Rule::{
    Arguments, By, Domain, Either, Flag, Identity, Integer, List, Media, Model, Number, Object,
    Own, ResponseId, Schema, ServiceTool, Strip, Text, Tool, ToolName, ToolResult, Word,
};
use super::{CACHE_RETENTION, CALL, EFFORT, Entry, Rule, SEARCH_SIZE, TIER, TOKENS};
use crate::request::policy::Field::{Assistant, System, ToolCalls, User};

const STATUS: Rule = Word(&["in_progress", "completed", "incomplete"]);

const SYSTEM: Rule = Object(&[
    ("type", Word(&["message"])),
    ("role", Word(&["system", "developer"])),
    (
        "content",
        Either(&[
            Text(System),
            List(&Object(&[("type", Word(&["input_text"])), ("text", Text(System))])),
        ]),
    ),
    ("status", STATUS),
    ("id", Strip),
]);

const USER: Rule = Object(&[
    ("type", Word(&["message"])),
    ("role", Word(&["user"])),
    (
        "content",
        Either(&[
            Text(User),
            List(&By(
                "type",
                &[
                    (
                        "input_text",
                        Object(&[("type", Word(&["input_text"])), ("text", Text(User))]),
                    ),
                    ("input_image", Media),
                    ("input_audio", Media),
                    ("input_file", Media),
                ],
            )),
        ]),
    ),
    ("status", STATUS),
    ("id", Strip),
]);

const ASSISTANT: Rule = Object(&[
    ("type", Word(&["message"])),
    ("role", Word(&["assistant"])),
    (
        "content",
        Either(&[
            Text(Assistant),
            List(&By(
                "type",
                &[
                    (
                        "output_text",
                        Object(&[
                            ("type", Word(&["output_text"])),
                            ("text", Text(Assistant)),
                            ("annotations", Strip),
                            ("logprobs", Strip),
                        ]),
                    ),
                    (
                        "refusal",
                        Object(&[("type", Word(&["refusal"])), ("refusal", Text(Assistant))]),
                    ),
                ],
            )),
        ]),
    ),
    ("status", STATUS),
    ("phase", Strip),
    ("end_turn", Strip),
    ("id", Strip),
]);

const MESSAGE: Rule = By(
    "role",
    &[("system", SYSTEM), ("developer", SYSTEM), ("user", USER), ("assistant", ASSISTANT)],
);

/// What is no message says so in `type`; a message may leave that out.
const ITEM: Rule = By(
    "type",
    &[
        ("", MESSAGE),
        ("message", MESSAGE),
        (
            "function_call",
            Object(&[
                ("type", Word(&["function_call"])),
                ("call_id", CALL),
                ("name", ToolName),
                ("namespace", ToolName),
                ("arguments", Arguments),
                ("status", STATUS),
                ("id", Strip),
            ]),
        ),
        ("function_call_output", OUTPUT),
        (
            "custom_tool_call",
            Object(&[
                ("type", Word(&["custom_tool_call"])),
                ("call_id", CALL),
                ("name", ToolName),
                ("namespace", ToolName),
                ("input", Text(ToolCalls)),
                ("status", STATUS),
                ("id", Strip),
            ]),
        ),
        ("custom_tool_call_output", OUTPUT),
        (
            "local_shell_call",
            Object(&[
                ("type", Word(&["local_shell_call"])),
                ("call_id", CALL),
                (
                    "action",
                    Object(&[
                        ("type", Word(&["exec"])),
                        ("command", List(&Text(ToolCalls))),
                        ("working_directory", Text(ToolCalls)),
                        ("timeout_ms", Integer(0, 100_000_000)),
                        ("env", Strip),
                        ("user", Identity),
                    ]),
                ),
                ("status", STATUS),
                ("id", Strip),
            ]),
        ),
        ("local_shell_call_output", OUTPUT),
        ("reasoning", Own(&["type", "summary", "encrypted_content"])),
        // the service can do without its searches
        ("web_search_call", Strip),
    ],
);

/// What came of a call.
const OUTPUT: Rule = Object(&[
    ("type", Word(&["function_call_output", "custom_tool_call_output", "local_shell_call_output"])),
    ("call_id", CALL),
    (
        "output",
        Either(&[
            ToolResult,
            List(&By(
                "type",
                &[
                    (
                        "input_text",
                        Object(&[("type", Word(&["input_text"])), ("text", ToolResult)]),
                    ),
                    ("input_image", Media),
                    ("input_file", Media),
                ],
            )),
        ]),
    ),
    ("status", STATUS),
    ("id", Strip),
]);

/// OpenAI's search of the web.
const SEARCH: Rule = ServiceTool(&[
    ("type", Word(&["web_search", "web_search_2025_08_26", "web_search_preview"])),
    ("external_web_access", Flag),
    ("search_context_size", SEARCH_SIZE),
    ("filters", Object(&[("allowed_domains", List(&Domain)), ("blocked_domains", List(&Domain))])),
    ("user_location", Identity),
]);

/// POST /v1/responses
pub(crate) const RESPONSES: &[Entry] = &[
    ("model", Model),
    ("instructions", Text(System)),
    ("input", Either(&[Text(User), List(&ITEM)])),
    ("client_metadata", Identity),
    (
        "include",
        List(&Word(&[
            "message.output_text.logprobs",
            "reasoning.encrypted_content",
            "web_search_call.action.sources",
        ])),
    ),
    ("max_output_tokens", TOKENS),
    ("max_tool_calls", Integer(0, 10_000)),
    ("metadata", Identity),
    ("parallel_tool_calls", Flag),
    ("previous_response_id", ResponseId),
    // a key of the client's own choice, which could say anything
    ("prompt_cache_key", Identity),
    ("prompt_cache_retention", CACHE_RETENTION),
    (
        "reasoning",
        Object(&[("effort", EFFORT), ("summary", Word(&["auto", "concise", "detailed"]))]),
    ),
    ("safety_identifier", Identity),
    ("service_tier", TIER),
    ("store", Flag),
    ("stream", Flag),
    ("stream_options", Object(&[("include_obfuscation", Flag)])),
    ("temperature", Number(0.0, 2.0)),
    (
        "text",
        Object(&[
            ("verbosity", Word(&["low", "medium", "high"])),
            (
                "format",
                By(
                    "type",
                    &[
                        ("text", Object(&[("type", Word(&["text"]))])),
                        ("json_object", Object(&[("type", Word(&["json_object"]))])),
                        ("json_schema", Schema),
                    ],
                ),
            ),
        ]),
    ),
    (
        "tool_choice",
        Either(&[
            Word(&["none", "auto", "required"]),
            Object(&[("type", Word(&["function", "custom"])), ("name", ToolName)]),
        ]),
    ),
    (
        "tools",
        List(&By(
            "type",
            &[
                ("function", Tool),
                ("custom", Tool),
                ("namespace", Tool),
                ("local_shell", ServiceTool(&[("type", Word(&["local_shell"]))])),
                ("web_search", SEARCH),
                ("web_search_2025_08_26", SEARCH),
                ("web_search_preview", SEARCH),
            ],
        )),
    ),
    ("top_logprobs", Integer(0, 20)),
    ("top_p", Number(0.0, 1.0)),
    ("truncation", Word(&["auto", "disabled"])),
    ("user", Identity),
];
