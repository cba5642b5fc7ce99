//! `cape completions`

use clap::CommandFactory;

use crate::args::Cli;
use crate::failure::Done;

#[expect(clippy::unnecessary_wraps, reason = "all commands look alike")]
pub(crate) fn run(shell: clap_complete::Shell) -> Done {
    clap_complete::generate(shell, &mut Cli::command(), "cape", &mut std::io::stdout());
    Ok(())
}
