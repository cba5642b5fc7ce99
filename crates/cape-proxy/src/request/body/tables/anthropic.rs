//! Anthropic's messages, and the count of their tokens.

use super::super::rule::OTHER;
use super::super::rule::Rule::{
    By, Domain, Either, Flag, Id, Identity, Integer, List, Media, Model, Number, Object, Own,
    Schema, ServiceTool, Stop, Strip, Text, Tool, ToolName, ToolResult, Tree, Word,
};
use super::{CACHE, EFFORT, Entry, Rule, TIER, TOKENS};
use crate::request::policy::Field::{Assistant, System, ToolCalls, User};

const CALL: Rule = Id("toolu_");

const SYSTEM: Rule = Either(&[
    Text(System),
    List(&Object(&[("type", Word(&["text"])), ("text", Text(System)), ("cache_control", CACHE)])),
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
                    (
                        "text",
                        Object(&[
                            ("type", Word(&["text"])),
                            ("text", Text(User)),
                            ("cache_control", CACHE),
                        ]),
                    ),
                    ("image", Media),
                    ("document", Media),
                    ("search_result", Media),
                    ("container_upload", Media),
                    (
                        "tool_result",
                        Object(&[
                            ("type", Word(&["tool_result"])),
                            ("tool_use_id", CALL),
                            ("is_error", Flag),
                            ("cache_control", CACHE),
                            ("content", Either(&[ToolResult, List(&RESULT)])),
                        ]),
                    ),
                ],
            )),
        ]),
    ),
]);

/// A part of the result of a tool.
const RESULT: Rule = By(
    "type",
    &[
        (
            "text",
            Object(&[("type", Word(&["text"])), ("text", ToolResult), ("cache_control", CACHE)]),
        ),
        ("tool_reference", Object(&[("type", Word(&["tool_reference"])), ("tool_name", ToolName)])),
        ("image", Media),
        ("document", Media),
        ("search_result", Media),
    ],
);

/// What a tool that runs at the service gave to it.
const RESULT_OF_SERVICE: Rule = Own(&["type", "tool_use_id", "content"]);

const ASSISTANT: Rule = Object(&[
    ("role", Word(&["assistant"])),
    (
        "content",
        Either(&[
            Text(Assistant),
            List(&By(
                "type",
                &[
                    (
                        "text",
                        Object(&[
                            ("type", Word(&["text"])),
                            ("text", Text(Assistant)),
                            ("citations", Strip),
                            ("cache_control", CACHE),
                        ]),
                    ),
                    (
                        "tool_use",
                        Object(&[
                            ("type", Word(&["tool_use"])),
                            ("id", CALL),
                            ("name", ToolName),
                            ("input", Tree(ToolCalls)),
                            ("caller", Strip),
                            ("cache_control", CACHE),
                        ]),
                    ),
                    ("thinking", Own(&["type", "thinking", "signature"])),
                    ("redacted_thinking", Own(&["type", "data"])),
                    ("server_tool_use", Own(&["type", "id", "name", "input"])),
                    ("web_search_tool_result", RESULT_OF_SERVICE),
                    ("web_fetch_tool_result", RESULT_OF_SERVICE),
                    ("code_execution_tool_result", RESULT_OF_SERVICE),
                    ("bash_code_execution_tool_result", RESULT_OF_SERVICE),
                    ("text_editor_code_execution_tool_result", RESULT_OF_SERVICE),
                    ("tool_search_tool_result", RESULT_OF_SERVICE),
                ],
            )),
        ]),
    ),
]);

/// A number of tokens or of turns.
const COUNT: Rule =
    Object(&[("type", Word(&["input_tokens", "tool_uses", "thinking_turns"])), ("value", TOKENS)]);

/// Which parts of a long conversation the service leaves out.
const CONTEXT: Rule = Object(&[(
    "edits",
    List(&By(
        "type",
        &[
            (
                "clear_tool_uses_20250919",
                Object(&[
                    ("type", Word(&["clear_tool_uses_20250919"])),
                    ("trigger", COUNT),
                    ("keep", COUNT),
                    ("clear_at_least", COUNT),
                    ("exclude_tools", List(&ToolName)),
                    ("clear_tool_inputs", Either(&[Flag, List(&ToolName)])),
                ]),
            ),
            (
                "clear_thinking_20251015",
                Object(&[
                    ("type", Word(&["clear_thinking_20251015"])),
                    ("keep", Either(&[Word(&["all"]), COUNT])),
                ]),
            ),
            (
                "compact_20260112",
                Object(&[
                    ("type", Word(&["compact_20260112"])),
                    ("trigger", COUNT),
                    ("pause_after_compaction", Flag),
                    ("instructions", Text(System)),
                ]),
            ),
        ],
    )),
)]);

/// The fields of the tools that Anthropic defines itself, whatever they do.
const DEFINED: Rule = ServiceTool(&[
    (
        "type",
        Word(&[
            "web_search_20250305",
            "web_search_20260209",
            "web_fetch_20250910",
            "web_fetch_20260209",
            "code_execution_20250522",
            "code_execution_20250825",
            "tool_search_tool_regex_20251119",
            "tool_search_tool_bm25_20251119",
            "bash_20250124",
            "text_editor_20250124",
            "text_editor_20250429",
            "text_editor_20250728",
            "computer_20250124",
            "memory_20250818",
        ]),
    ),
    ("name", ToolName),
    ("max_uses", Integer(0, 10_000)),
    ("max_content_tokens", TOKENS),
    ("max_characters", TOKENS),
    ("allowed_domains", List(&Domain)),
    ("blocked_domains", List(&Domain)),
    ("citations", Object(&[("enabled", Flag)])),
    ("display_width_px", Integer(1, 100_000)),
    ("display_height_px", Integer(1, 100_000)),
    ("display_number", Integer(0, 1000)),
    ("defer_loading", Flag),
    ("cache_control", CACHE),
    ("user_location", Identity),
]);

/// POST /v1/messages, and /v1/messages/count_tokens
pub(crate) const MESSAGES: &[Entry] = &[
    ("model", Model),
    ("system", SYSTEM),
    (
        "messages",
        List(&By(
            "role",
            &[
                ("user", USER),
                ("assistant", ASSISTANT),
                // in the midst of a conversation
                ("system", Object(&[("role", Word(&["system"])), ("content", SYSTEM)])),
            ],
        )),
    ),
    ("cache_control", CACHE),
    ("context_management", CONTEXT),
    ("inference_geo", Word(&["global", "us"])),
    ("max_tokens", TOKENS),
    ("metadata", Identity),
    (
        "output_config",
        Object(&[
            ("effort", EFFORT),
            ("format", Schema),
            ("task_budget", Object(&[("type", Word(&["tokens"])), ("total", TOKENS)])),
        ]),
    ),
    ("service_tier", TIER),
    ("speed", Word(&["standard", "fast"])),
    ("stop_sequences", List(&Stop)),
    ("stream", Flag),
    ("temperature", Number(0.0, 1.0)),
    (
        "thinking",
        Object(&[
            ("type", Word(&["enabled", "disabled", "adaptive"])),
            ("budget_tokens", TOKENS),
            ("display", Word(&["summarized", "omitted"])),
        ]),
    ),
    (
        "tool_choice",
        Object(&[
            ("type", Word(&["auto", "any", "tool", "none"])),
            ("name", ToolName),
            ("disable_parallel_tool_use", Flag),
        ]),
    ),
    (
        "tools",
        List(&By(
            "type",
            &[
                ("", Tool),
                ("custom", Tool),
                // its own table names the types
                (OTHER, DEFINED),
            ],
        )),
    ),
    ("top_k", Integer(0, 1_000_000)),
    ("top_p", Number(0.0, 1.0)),
];
