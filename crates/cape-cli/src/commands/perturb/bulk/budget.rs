//! What pays for a job: its draws are counted and reserved in the ledger before anything is drawn.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use cape::Cape;
use cape::mechanism::cape::Plan;
use cape_ledger::{Ledger, Limits};
use tokio::runtime::Runtime;

use crate::args::JobLedger;
use crate::commands::serve;
use crate::failure::{Done, Failure, io};
use crate::output;
use crate::settings::{File, ProxySettings, Setting, SettingsFile};

/// The different draws of a job: a sum of 128 bits for each, which no two of them share.
#[derive(Default)]
pub(super) struct Draws {
    seen: Mutex<HashSet<[u8; 16]>>,
    /// The most that there may be; none while they are counted.
    most: Option<u64>,
}

impl Draws {
    pub(super) fn at_most(self, most: u64) -> Self {
        Self { most: Some(most), ..self }
    }

    /// Counts what a text would draw, and refuses what was not reserved. Nothing may be drawn before.
    pub(super) fn admit(&self, cape: &Cape, plan: &Plan) -> Done {
        let sums = plan.keys.iter().map(|key| {
            let sum = ring::digest::digest(&ring::digest::SHA256, &cape.drawn_from(key));
            let mut short = [0; 16];
            short.copy_from_slice(&sum.as_ref()[..16]);
            short
        });
        let sums: Vec<[u8; 16]> = sums.collect();
        let mut seen = self.lock();
        let new = sums.iter().filter(|sum| !seen.contains(*sum)).count();
        match self.most {
            Some(most) if (seen.len() + new) as u64 > most => Err(Failure::new(
                format!("there are more different words than the {most} that were reserved"),
                "the input changed, or --draws is too small",
            )),
            _ => {
                seen.extend(sums);
                Ok(())
            }
        }
    }

    pub(super) fn most(&self) -> Option<u64> {
        self.most
    }

    pub(super) fn count(&self) -> u64 {
        self.lock().len() as u64
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<[u8; 16]>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The account of a job, in an open ledger.
pub(super) struct Account {
    ledger: Ledger,
    name: String,
    limits: Limits,
    runtime: Runtime,
}

impl Account {
    /// Opens the ledger that the settings of a proxy name.
    pub(super) fn open(args: &JobLedger, name: &str, file: &SettingsFile) -> Done<Self> {
        let given = ProxySettings {
            ledger: args.place.clone(),
            ledger_key: args.ledger_key.clone(),
            limits: args.limits.clone(),
            ..ProxySettings::default()
        };
        let proxy = given.or(File::read(file.config.as_deref())?.proxy);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| io("cannot wait for the ledger".into(), &error))?;
        let ledger = serve::open_ledger(&proxy, &runtime)?;
        Ok(Self { ledger, name: name.to_owned(), limits: proxy.limits.into(), runtime })
    }

    /// Reserves the draws of a job, and gives the secret of its map.
    pub(super) fn reserve(&self, job: &str, draws: u64, per_draw: f64) -> Done<cape::Secret> {
        let account = self.ledger.account(self.name.as_bytes(), "");
        let now = SystemTime::now();
        let reserved = self.ledger.reserve(&account, job, draws, per_draw, &self.limits, now);
        let reserved = self.runtime.block_on(reserved)?;
        let (job, spent) = (&reserved.name[..12], reserved.spent);
        output::note(&if spent.maps == 0 {
            format!("ledger: job {job} goes on with what it reserved\n")
        } else {
            format!("ledger: job {job} reserved {} draws, ε = {}\n", spent.draws, spent.epsilon)
        });
        Ok(cape::Secret::from_bytes(&reserved.secret))
    }

    /// Settles a job that has made so many draws, and will make no more.
    pub(super) fn settle(&self, job: &str, draws: u64) -> Done {
        let back = self.runtime.block_on(self.ledger.settle(job, draws))?;
        self.runtime.block_on(self.ledger.close());
        output::note(&format!("ledger: settled; {draws} draws are spent"));
        if back.draws > 0 {
            output::note(&format!(", {} were given back", back.draws));
        }
        output::note(&"\n");
        Ok(())
    }
}
