//! The settings as the page has them, and the mechanisms made from them.

use std::sync::{Arc, Mutex, PoisonError};

use cape::{Cape, Epsilon, Lexicon, Profile, Settings, Shape};
use serde::{Deserialize, Serialize};

use super::refused::Refused;

/// Settings that the page chooses.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chosen {
    profile: String,
    epsilon: f64,
    k: usize,
    protect: Vec<String>,
    ordinary: Vec<String>,
    keep: Vec<String>,
    /// The page passes these back as it got them.
    alpha: Option<f64>,
    epsilon_ordinary: Option<f64>,
    format: String,
    any_script: bool,
}

impl From<&Settings> for Chosen {
    fn from(settings: &Settings) -> Self {
        let Settings { profile, epsilon, shape, epsilon_ordinary, .. } = settings;
        let Settings { protect, ordinary, keep, cut, any_script, .. } = settings.clone();
        Self {
            profile: profile.as_str().to_owned(),
            epsilon: epsilon.get(),
            k: shape.k,
            protect,
            ordinary,
            keep,
            alpha: shape.alpha,
            epsilon_ordinary: epsilon_ordinary.map(Epsilon::get),
            format: cut.as_str().to_owned(),
            any_script,
        }
    }
}

impl Chosen {
    /// The settings of the mechanism; what the page does not choose is as it was.
    pub(super) fn settings(&self, base: &Settings) -> Result<Settings, Refused> {
        let profile = Profile::ALL.into_iter().find(|profile| profile.as_str() == self.profile);
        Ok(Settings {
            profile: profile.ok_or_else(|| Refused::request("There is no such profile."))?,
            epsilon: Epsilon::new(self.epsilon)?,
            shape: Shape { k: self.k, alpha: base.shape.alpha },
            protect: self.protect.clone(),
            ordinary: self.ordinary.clone(),
            keep: self.keep.clone(),
            ..base.clone()
        })
    }
}

/// How many mechanisms are kept: those of three profiles, and of what was tried before.
const KEPT: usize = 8;

/// The mechanisms that were asked for last.
pub(super) struct Mechanisms {
    base: Settings,
    lexicon: Arc<Lexicon>,
    recent: Mutex<Vec<(Chosen, Arc<Cape>)>>,
}

impl Mechanisms {
    pub(super) fn new(base: Settings) -> Self {
        Self { base, lexicon: Lexicon::embedded(), recent: Mutex::default() }
    }

    pub(super) fn base(&self) -> &Settings {
        &self.base
    }

    /// The mechanism with these settings.
    pub(super) fn get(&self, chosen: &Chosen) -> Result<Arc<Cape>, Refused> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let known = recent.iter().position(|(known, _)| known == chosen);
        let (chosen, cape) = if let Some(at) = known {
            recent.remove(at)
        } else {
            let settings = chosen.settings(&self.base)?;
            (chosen.clone(), Arc::new(Cape::new(Arc::clone(&self.lexicon), settings)?))
        };
        recent.insert(0, (chosen, Arc::clone(&cape)));
        recent.truncate(KEPT);
        Ok(cape)
    }
}
