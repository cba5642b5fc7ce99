//! `cape completions`

use clap::CommandFactory;

use crate::args::Cli;
use crate::failure::Done;
use crate::output;

pub(crate) fn run(shell: clap_complete::Shell) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "cape", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
