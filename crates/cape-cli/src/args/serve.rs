//! The flags of `cape serve`.

use clap::Args;

use crate::settings::{CapeSettings, ProxySettings, SettingsFile};

/// A proxy runs Cape; the file alone may name the paper's mechanism, and the other mechanisms prove too
/// little for a proxy.
#[derive(Args)]
#[command(after_help = "Example: cape serve --upstream https://api.openai.com/v1\n\n\
    Then give clients http://127.0.0.1:8787/v1 as their base URL (Anthropic's clients: without /v1).\n\
    Settings may also be variables (CAPE_UPSTREAM), or lines of cape.toml: those of the proxy in [proxy],\n\
    and in [proxy.policy] what may pass besides perturbed text; SIGHUP reads the policy again.")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) proxy: ProxySettings,

    #[command(flatten)]
    pub(crate) cape: CapeSettings,

    #[command(flatten)]
    pub(crate) file: SettingsFile,
}
