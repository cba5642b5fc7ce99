//! What does cape.toml say?

use std::ops::Range;
use std::path::Path;

use cape_proxy::Action;
use serde::Deserialize;
use toml::de::DeTable;

use super::{ProxySettings, Setting, Settings};
use crate::failure::{Done, Failure, io};

const FILE: &str = "cape.toml";

/// The file named, or `cape.toml`.
pub(crate) fn file_name(named: Option<&Path>) -> &Path {
    named.unwrap_or(Path::new(FILE))
}

/// All settings of a file.
#[derive(Default)]
pub(crate) struct File {
    pub(crate) settings: Settings,
    pub(crate) proxy: ProxySettings,
}

#[derive(Default, Deserialize)]
struct Sections {
    #[serde(default)]
    proxy: ProxySettings,
}

/// A mistake in a file.
pub(super) struct Wrong {
    message: String,
    at: Option<Range<usize>>,
}

impl From<toml::de::Error> for Wrong {
    fn from(error: toml::de::Error) -> Self {
        Self { message: error.message().to_owned(), at: error.span() }
    }
}

impl File {
    /// The file named, or `cape.toml` where there is one.
    pub(crate) fn read(named: Option<&Path>) -> Done<Self> {
        let path = match named {
            Some(path) => path,
            None if Path::new(FILE).exists() => Path::new(FILE),
            None => return Ok(Self::default()),
        };
        let text = std::fs::read_to_string(path)
            .map_err(|error| io(format!("cannot read {}", path.display()), &error))?;
        let mut file = Self::parse(&text).map_err(|Wrong { message, at }| {
            let line = at.map_or(1, |at| text[..at.start].matches('\n').count() + 1);
            Failure::usage(
                format!("{}, line {line}: {message}", path.display()),
                "its keys are the settings of `cape perturb --help`, and a section [proxy]",
            )
        })?;
        file.lies_in(path.parent().unwrap_or(Path::new("")));
        Ok(file)
    }

    /// The settings of a proxy, with those of its preset where flags and file leave them out.
    pub(crate) fn with_preset(proxy: ProxySettings) -> Done<ProxySettings> {
        let Some(preset) = proxy.preset else { return Ok(proxy) };
        let mut file = Self::parse(preset.toml()).map_err(|Wrong { message, .. }| {
            Failure::usage(
                format!("the preset {}: {message}", preset.name()),
                "it is a defect of cape",
            )
        })?;
        if proxy.allow_system.is_some() {
            // a list of lines that pass is for prompts that do not pass as a whole
            file.proxy.policy.system = Some(Action::Perturb);
        }
        Ok(proxy.or(file.proxy))
    }

    /// Each group takes its own keys; a key that no group has is a mistake.
    pub(super) fn parse(text: &str) -> Result<Self, Wrong> {
        let known = Settings::default().fields();
        for key in DeTable::parse(text)?.get_ref().keys() {
            let name = key.get_ref();
            if name != "proxy" && !known.iter().any(|(known, _)| known == name) {
                let message = format!("there is no setting `{name}`");
                return Err(Wrong { message, at: Some(key.span()) });
            }
        }
        let settings = Settings {
            cape: toml::from_str(text)?,
            other: toml::from_str(text)?,
            paper: toml::from_str(text)?,
            baseline: toml::from_str(text)?,
            ..Settings::default()
        };
        Ok(Self { settings, proxy: toml::from_str::<Sections>(text)?.proxy })
    }

    /// Its paths begin where it lies.
    fn lies_in(&mut self, folder: &Path) {
        let (Settings { cape, baseline, .. }, proxy) = (&mut self.settings, &mut self.proxy);
        let paths = [&mut baseline.vectors, &mut baseline.corpus];
        let doors = [&mut proxy.tls_certificate, &mut proxy.tls_key, &mut proxy.token_file];
        let lists = [&mut proxy.allow_system, &mut proxy.learn_system, &mut proxy.ledger_key];
        for path in paths.into_iter().chain(doors).chain(lists).flatten() {
            *path = folder.join(&*path);
        }
        proxy.ledger.lies_in(folder);
        for list in [&mut cape.protect, &mut cape.keep, &mut cape.ordinary] {
            for word in list {
                folder.clone_into(&mut word.folder);
            }
        }
    }
}

#[cfg(fuzzing)]
impl File {
    /// Any text is settings that can be completed, or has a mistake in one of its lines.
    ///
    /// # Panics
    /// If it is neither.
    pub(crate) fn fuzzed(text: &str) {
        match Self::parse(text) {
            Ok(mut file) => {
                file.lies_in(Path::new("folder"));
                let proxy = Self::with_preset(file.proxy);
                let _ = proxy.map(cape_proxy::Settings::from);
            }
            Err(Wrong { at, .. }) => {
                assert!(at.is_none_or(|at| text.get(..at.start).is_some()), "no place of the file");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cape::rng::{CryptoRng, seeded};
    use cape::sample::below;

    use super::*;

    const WHOLE: &str = "epsilon = 4\nprofile = \"names\"\nkeep = [\"Zürich\", \"words.txt\"]\n\
        [proxy]\nupstream = \"https://api.openai.com/v1\"\nmax-body = 1000\ntoken-file = \"t\"\n\
        [proxy.limits]\nkey-day = 50000\ntotal = 1.5\n[proxy.policy]\nsystem = \"pass\"\nmodels = []\n";

    #[test]
    fn paths_begin_where_the_file_lies() {
        let of = |ledger: &str| {
            let text =
                format!("[proxy]\nledger = {ledger:?}\nledger-key = \"k\"\ntoken-file = \"t\"\n");
            let Ok(mut file) = File::parse(&text) else { panic!("{text}") };
            file.lies_in(Path::new("/etc/cape"));
            assert_eq!(file.proxy.ledger_key.as_deref(), Some(Path::new("/etc/cape/k")));
            assert_eq!(file.proxy.token_file.as_deref(), Some(Path::new("/etc/cape/t")));
            file.proxy.ledger.ledger.unwrap_or_default()
        };
        assert_eq!(of("a/ledger.db"), "/etc/cape/a/ledger.db");
        assert_eq!(of("/var/ledger.db"), "/var/ledger.db");
        assert_eq!(of("sqlite:ledger.db"), "sqlite:/etc/cape/ledger.db");
        assert_eq!(of("sqlite:///var/ledger.db"), "sqlite:///var/ledger.db");
        for url in ["postgres://u@host/db", "postgresql://host/db", "mysql://host/db"] {
            assert_eq!(of(url), url);
        }
    }

    /// Any mistake is an error with a line of the file, never a panic.
    #[test]
    fn files_with_mistakes_are_refused_with_a_line() {
        assert!(Settings::default().fields().len() > 10 && File::parse(WHOLE).is_ok());
        let mut generator = seeded(1, 0);
        let rng: &mut dyn CryptoRng = &mut generator;
        let bits = [
            "\"", "'", "[", "]", "=", "\n", "ü", "\u{2028}", "x", "-", ".5", "{", "#", "proxy",
            "1e999",
        ];
        let (mut fine, mut wrong) = (0, 0);
        for _ in 0..20_000 {
            let mut text: Vec<char> = WHOLE.chars().collect();
            for _ in 0..=below(3, rng) {
                let at = below(text.len() as u64, rng) as usize;
                let to = (at + below(6, rng) as usize).min(text.len());
                let bit = bits[below(bits.len() as u64, rng) as usize];
                text.splice(at..to, bit.chars());
            }
            let text: String = text.into_iter().collect();
            match File::parse(&text) {
                Ok(_) => fine += 1,
                Err(Wrong { at, .. }) => {
                    wrong += 1;
                    assert!(at.is_none_or(|at| text.get(..at.start).is_some()));
                }
            }
        }
        assert!(fine > 100 && wrong > 10_000, "{fine} fine, {wrong} wrong");
    }
}
