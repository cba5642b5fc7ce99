//! `cape completions`

use crate::args;
use crate::failure::Done;
use crate::output;

pub(crate) fn run(shell: clap_complete::Shell) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "cape", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
