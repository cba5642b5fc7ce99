//! The flags of `cape playground`.

use clap::Args;

use crate::settings::{CapeSettings, SettingsFile};

#[derive(Args)]
#[command(after_help = "Example: cape playground --open\n\n\
    It prints the address of a page on this machine. While you type, the page shows what is\n\
    protected and what a release would cost, and draws nothing. `cape serve --playground` has\n\
    the same page beside the proxy.")]
pub(crate) struct PlaygroundArgs {
    /// Port to listen on, at 127.0.0.1 [default: a free one]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,

    /// Open the page in the browser
    #[arg(long)]
    pub(crate) open: bool,

    #[command(flatten)]
    pub(crate) cape: CapeSettings,

    #[command(flatten)]
    pub(crate) file: SettingsFile,
}
