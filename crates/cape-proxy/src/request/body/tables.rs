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
