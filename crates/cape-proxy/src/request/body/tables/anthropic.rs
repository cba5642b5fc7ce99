//! Anthropic's messages.

use super::super::rule::Rule::{
    By, Either, Flag, Id, Identity, Integer, List, Media, Model, Number, Object, Stop, Strip, Text,
    TextOrTree, Tool, ToolName, Tree, Word,
};
use super::{EFFORT, Entry, Rule, TIER, TOKENS};
use crate::request::policy::Field::{Assistant, System, ToolCalls, ToolResults, User};

const CACHE: Rule = Object(&[("type", Word(&["ephemeral"])), ("ttl", Word(&["5m", "1h"]))]);

const CALL: Rule = Id("toolu_");

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
                            (
                                "content",
                                Either(&[
                                    TextOrTree(ToolResults),
                                    List(&By(
                                        "type",
                                        &[
                                            (
                                                "text",
                                                Object(&[
                                                    ("type", Word(&["text"])),
                                                    ("text", TextOrTree(ToolResults)),
                                                    ("cache_control", CACHE),
                                                ]),
                                            ),
                                            ("image", Media),
                                            ("document", Media),
                                            ("search_result", Media),
                                        ],
                                    )),
                                ]),
                            ),
                        ]),
                    ),
                ],
            )),
        ]),
    ),
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
                            ("cache_control", CACHE),
                        ]),
                    ),
                    // signed by the service, so they cannot be perturbed; it can do without them
                    ("thinking", Strip),
                    ("redacted_thinking", Strip),
                ],
            )),
        ]),
    ),
]);

/// POST /v1/messages
pub(crate) const MESSAGES: &[Entry] = &[
    ("model", Model),
    (
        "system",
        Either(&[
            Text(System),
            List(&Object(&[
                ("type", Word(&["text"])),
                ("text", Text(System)),
                ("cache_control", CACHE),
            ])),
        ]),
    ),
    ("messages", List(&By("role", &[("user", USER), ("assistant", ASSISTANT)]))),
    ("max_tokens", TOKENS),
    ("metadata", Identity),
    ("output_config", Object(&[("effort", EFFORT)])),
    ("service_tier", TIER),
    ("stop_sequences", List(&Stop)),
    ("stream", Flag),
    ("temperature", Number(0.0, 1.0)),
    (
        "thinking",
        Object(&[
            ("type", Word(&["enabled", "disabled", "adaptive"])),
            ("budget_tokens", Integer(0, 10_000_000)),
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
    // a tool that runs at the service has a type of its own, and is refused
    ("tools", List(&By("type", &[("", Tool), ("custom", Tool)]))),
    ("top_k", Integer(0, 1_000_000)),
    ("top_p", Number(0.0, 1.0)),
];
