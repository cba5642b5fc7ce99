//! One file a command.

pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod check;
#[cfg(feature = "eval")]
pub(crate) mod choose;
pub(crate) mod completions;
#[cfg(feature = "eval")]
pub(crate) mod eval;
pub(crate) mod explain;
pub(crate) mod ledger;
pub(crate) mod models;
pub(crate) mod perturb;
pub(crate) mod playground;
pub(crate) mod serve;
