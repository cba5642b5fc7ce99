//! The flags of `cape serve`.

use clap::Args;

use crate::settings::{CapeSettings, ProxySettings, SettingsFile};

/// A proxy runs Cape; the file alone may name the paper's mechanism, and the other mechanisms prove too
/// little for a proxy.
#[derive(Args, Clone)]
#[command(after_help = "Examples: cape serve --upstream https://api.openai.com/v1\n          \
    cape serve --preset claude-code\n\n\
    Then give clients http://127.0.0.1:8787/v1 as their base URL (Anthropic's clients: without /v1).\n\
    Settings may also be variables (CAPE_UPSTREAM=…) or lines of cape.toml ([proxy] has the proxy's).\n\
    What may pass besides perturbed text is set in [proxy.policy]; SIGHUP reads the file again.\n\
    `cape check` says what the settings mean, and what is risky about them.")]
pub(crate) struct ServeArgs {
    /// Print the settings of --preset, to be copied into cape.toml, and end
    #[arg(long, requires = "preset")]
    pub(crate) show: bool,

    #[command(flatten)]
    pub(crate) proxy: ProxySettings,

    #[command(flatten, next_help_heading = None::<&str>)]
    pub(crate) cape: CapeSettings,

    #[command(flatten)]
    pub(crate) file: SettingsFile,
}
