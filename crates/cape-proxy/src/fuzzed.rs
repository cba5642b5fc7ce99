//! Doors for fuzzing, which are in no other build: `scripts/fuzz request`, `scripts/fuzz events`.

use std::collections::VecDeque;

use crate::answer::sse::Events;
use crate::request::body;
use crate::request::policy::{Action, Calls, Gate, Names, Policy, Results};
use crate::request::route::ROUTES;

/// Reads a body as one of the routes does, with a policy that lets nothing or everything pass. Whatever is
/// accepted can be filled and is read again, and nothing that must be perturbed is sent.
///
/// # Panics
/// If one of these does not hold.
pub fn request(route: u8, open: bool, bytes: &[u8]) {
    let policy = if open {
        Policy {
            system: Action::Pass,
            tool_calls: Calls::Pass,
            tool_results: Results::Pass,
            code: Action::Pass,
            urls: Action::Pass,
            tools: Gate::Pass,
            response_format: Gate::Pass,
            stop: Gate::Pass,
            tool_names: Names::Pass,
            ..Policy::default()
        }
    } else {
        Policy { system: Action::Perturb, ..Policy::default() }
    };
    let route = ROUTES[usize::from(route) % ROUTES.len()];
    let Ok(outgoing) = body::read(bytes, route.table, &policy) else { return };
    let texts = vec!["drawn"; outgoing.texts().count()];
    let sent = outgoing.fill(&texts).to_string();
    let again = body::read(sent.as_bytes(), route.table, &policy);
    assert!(again.is_ok(), "what is sent is what may be sent");
    // bodies of users' words alone: none of the strange ones is in what is sent
    if !open {
        for text in outgoing.texts().filter(|text| text.contains("canary")) {
            assert!(!sent.contains(text), "a text was sent as it came");
        }
    }
}

/// Cuts a stream at these places: the events are those of the whole.
///
/// # Panics
/// If they are not.
pub fn events(cuts: &[u8], bytes: &[u8]) {
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let (mut events, mut whole) = (Events::default(), VecDeque::new());
        for piece in pieces {
            if events.push(piece, &mut whole).is_err() {
                return (whole, None);
            }
        }
        let end = events.end().ok();
        (whole, end)
    };
    let mut rest = bytes;
    let mut pieces = Vec::new();
    for cut in cuts {
        let (piece, after) = rest.split_at(usize::from(*cut).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    assert!(read(&mut pieces.into_iter()) == read(&mut std::iter::once(bytes)));
}
