//! The playground: a page on this machine that shows what Cape does before anything leaves.
//!
//! While one types, the *plan* is shown and nothing is drawn. A release is drawn from a map that lasts until
//! another draw is asked for: an edited prompt is released in the same words, so that nobody draws until a
//! release is to their liking without noticing that it counts. The page is built from `playground/` at the
//! top of the repository; its files are embedded.

mod answers;
mod api;
mod chosen;
mod exchange;
mod explain;
mod guard;
mod law;
mod page;
mod refused;
mod router;
mod session;
mod state;

pub(crate) use exchange::{About, Asked, Exchange, Later, Owed};
pub use router::playground_router;
pub(crate) use router::{is_page, router};
pub use state::{Attack, Guess, Options, Paper, Playground, ReadLedger, Save};
