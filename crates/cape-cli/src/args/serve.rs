//! The flags of `cape serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::{LedgerAt, LimitArgs, MechanismArgs};

/// What is not set here comes from `[proxy]` in cape.toml, and the policy from `[proxy.policy]`.
#[derive(Args)]
#[command(after_help = "Example: cape serve --upstream https://api.openai.com/v1\n\n\
    Then give clients http://127.0.0.1:8787/v1 as their base URL (Anthropic's: without /v1).\n\
    What may pass besides perturbed text is set in [proxy.policy] of cape.toml; SIGHUP reads it again.")]
pub(crate) struct ServeArgs {
    /// The service's address, with its version
    #[arg(long, env = "CAPE_UPSTREAM", hide_env = true, value_name = "URL")]
    pub(crate) upstream: Option<String>,

    /// Where to listen [default: 127.0.0.1:8787]
    #[arg(long, env = "CAPE_LISTEN", hide_env = true, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,

    /// A model that rewrites answers with the true prompt at hand: its OpenAI-compatible address
    #[arg(long, env = "CAPE_EXTRACTOR_URL", hide_env = true, value_name = "URL")]
    pub(crate) extractor_url: Option<String>,

    /// Its name
    #[arg(long, env = "CAPE_EXTRACTOR_MODEL", hide_env = true, value_name = "NAME")]
    pub(crate) extractor_model: Option<String>,

    /// Let the extractor be on another machine, which then sees the true prompts
    #[arg(long)]
    pub(crate) extractor_elsewhere: bool,

    /// A certificate (PEM), to serve over TLS
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_certificate: Option<PathBuf>,

    /// Its key (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) at: LedgerAt,

    /// The key of the ledger, made if there is none; back it up apart from the ledger
    /// [default: cape/ledger.key in the user's data folder]
    #[arg(long, env = "CAPE_LEDGER_KEY", hide_env = true, value_name = "FILE")]
    pub(crate) ledger_key: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    #[command(flatten)]
    pub(crate) mechanism: MechanismArgs,
}
