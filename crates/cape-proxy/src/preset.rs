//! Settings for well-known programs, each a file that can be read and copied into `cape.toml`.

use serde::Deserialize;

/// The settings for one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Anthropic's agent.
    ClaudeCode,
    /// OpenAI's agent.
    Codex,
    /// The editor.
    Cursor,
    /// The web page for chat models.
    #[serde(rename = "openwebui")]
    OpenWebUi,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Cursor, Self::OpenWebUi];

    /// The name in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::OpenWebUi => "openwebui",
        }
    }

    /// Its settings, as they would stand in `cape.toml`.
    #[must_use]
    pub fn toml(self) -> &'static str {
        match self {
            Self::ClaudeCode => include_str!("../presets/claude-code.toml"),
            Self::Codex => include_str!("../presets/codex.toml"),
            Self::Cursor => include_str!("../presets/cursor.toml"),
            Self::OpenWebUi => include_str!("../presets/openwebui.toml"),
        }
    }
}
