//! The Hugging Face hub: models by their names there, in its cache on this machine, and fetched into it.

mod cache;
#[cfg(feature = "hub")]
mod pull;
#[cfg(feature = "hub")]
mod transfer;

pub use self::cache::{Hub, HubName, Pulled};
#[cfg(feature = "hub")]
pub use self::pull::{Remote, pull};
#[cfg(feature = "hub")]
pub use self::transfer::PullProgress;
