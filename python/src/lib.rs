//! `cape_dp._cape_dp`: the Python package's own module, in Rust.
//!
//! Each file is a class or a few that belong together. What they compute is in the other crates; here it is given
//! Python's types, without the interpreter's lock while it is computed.

#![allow(
    clippy::needless_pass_by_value,
    clippy::struct_field_names,
    clippy::unused_self,
    reason = "methods and attributes are as Python has them"
)]

mod attack;
mod audit;
mod cape;
mod column;
mod engine;
mod errors;
mod ledger;
mod mechanism;
mod metric;
mod perturb;
mod plan;
#[cfg(unix)]
mod proxy;
mod record;
mod release;
mod secret;
mod threads;

#[pyo3::pymodule]
mod _cape_dp {
    #[pymodule_export]
    use crate::column::Column;
    #[pymodule_export]
    use crate::engine::Cape;
    #[pymodule_export]
    use crate::ledger::{Account, Ledger, Reservation, Spending};
    #[pymodule_export]
    use crate::mechanism::Mechanism;
    #[pymodule_export]
    use crate::plan::{Candidate, Explanation, Plan, PlannedWord};
    #[pymodule_export]
    use crate::release::{Guarantee, Privacy, Release, Word};
    #[pymodule_export]
    use crate::secret::Secret;

    #[pymodule_export]
    use crate::attack::{Bayes, Guess, Nearness, nearest};
    #[pymodule_export]
    use crate::audit::{DrawLoss, ExactAudit, SampleAudit, WorstPair, context, exact, sampled};
    #[pymodule_export]
    use crate::metric::{SentenceEncoder, rouge_l};
    #[cfg(unix)]
    #[pymodule_export]
    use crate::proxy::Server;
}
