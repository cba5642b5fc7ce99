//! OpenAI's responses.

use super::super::rule::Rule::{
    By, Either, Flag, Identity, Integer, List, Media, Model, Number, Object, ResponseId, Schema,
    Strip, Text, TextOrTree, Tool, ToolName, TreeInString, Word,
};
use super::{CALL, EFFORT, Entry, Rule, TIER, TOKENS};
use crate::request::policy::Field::{Assistant, System, ToolCalls, ToolResults, User};

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
                ("arguments", TreeInString(ToolCalls)),
                ("status", STATUS),
                ("id", Strip),
            ]),
        ),
        (
            "function_call_output",
            Object(&[
                ("type", Word(&["function_call_output"])),
                ("call_id", CALL),
                (
                    "output",
                    Either(&[
                        TextOrTree(ToolResults),
                        List(&By(
                            "type",
                            &[
                                (
                                    "input_text",
                                    Object(&[
                                        ("type", Word(&["input_text"])),
                                        ("text", TextOrTree(ToolResults)),
                                    ]),
                                ),
                                ("input_image", Media),
                                ("input_file", Media),
                            ],
                        )),
                    ]),
                ),
                ("status", STATUS),
                ("id", Strip),
            ]),
        ),
        // the service's own thoughts: it can do without them, and nobody can tell what is in them
        ("reasoning", Strip),
    ],
);

/// POST /v1/responses
pub(crate) const RESPONSES: &[Entry] = &[
    ("model", Model),
    ("instructions", Text(System)),
    ("input", Either(&[Text(User), List(&ITEM)])),
    ("include", List(&Word(&["message.output_text.logprobs", "reasoning.encrypted_content"]))),
    ("max_output_tokens", TOKENS),
    ("max_tool_calls", Integer(0, 10_000)),
    ("metadata", Identity),
    ("parallel_tool_calls", Flag),
    ("previous_response_id", ResponseId),
    ("prompt_cache_key", Identity),
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
            Object(&[("type", Word(&["function"])), ("name", ToolName)]),
        ]),
    ),
    // a tool that runs at the service is no function, and is refused
    ("tools", List(&By("type", &[("function", Tool)]))),
    ("top_logprobs", Integer(0, 20)),
    ("top_p", Number(0.0, 1.0)),
    ("truncation", Word(&["auto", "disabled"])),
    ("user", Identity),
];
