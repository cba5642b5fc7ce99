//! Every field that may leave, one table a route. What is not here is refused.

pub(crate) mod anthropic;
pub(crate) mod openai;
pub(crate) mod responses;

use super::rule::{Entry, Rule};

/// How many tokens an answer may have, at most, in any service's reckoning.
const TOKENS: Rule = Rule::Integer(0, 10_000_000);

/// A stop sequence or several.
const STOP: Rule = Rule::Either(&[Rule::Stop, Rule::List(&Rule::Stop)]);

/// Which of its machines the service should take.
const TIER: Rule = Rule::Word(&["auto", "default", "flex", "priority", "scale", "standard_only"]);

/// How hard a model should think.
const EFFORT: Rule = Rule::Word(&["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

const CALL: Rule = Rule::Id("call_");

/// How long the service may keep a prefix.
const CACHE: Rule = Rule::Object(&[
    ("type", Rule::Word(&["ephemeral"])),
    ("ttl", Rule::Word(&["5m", "1h"])),
    ("scope", Rule::Word(&["global", "org"])),
]);

const CACHE_RETENTION: Rule = Rule::Word(&["in-memory", "in_memory", "24h"]);

/// Where OpenAI's search looks, and how far; where the user is, it is not told.
const SEARCH_SIZE: Rule = Rule::Word(&["low", "medium", "high"]);
