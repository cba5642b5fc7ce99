//! `Ledger` and `Account`: the same budget as the proxy's.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use cape::Sanitizer;
use cape::sanitizer::written;
use cape_ledger::{Book, DataFolder, Draw, Each, Key, Lasts, Limits, Map, Micros, Whose};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::engine::Cape;
use crate::errors;
use crate::record::record;
use crate::secret::Secret;
use crate::threads::wait;

record! {
    /// The spending of one API key on one day.
    Spending {
        /// The keyed hash of the API key.
        key: String,
        /// The day, in UTC.
        day: String,
        /// The number of releases with at least one new draw.
        releases: u64,
        /// The number of draws.
        draws: u64,
        /// The number of maps that were opened.
        maps: u64,
        /// The ε that was spent.
        epsilon: f64,
    }
}

impl Spending {
    fn shown(&self) -> String {
        let Self { day, draws, epsilon, .. } = self;
        format!("Spending(day='{day}', draws={draws}, epsilon={epsilon})")
    }
}

/// What pays for draws: the ledger of a proxy, or one of its own.
#[pyclass(frozen, module = "cape_dp")]
pub(crate) struct Ledger {
    ledger: Arc<cape_ledger::Ledger>,
    pub(crate) place: String,
    pub(crate) key: PathBuf,
    pub(crate) limits: Limits,
    process: u32,
}

#[pymethods]
impl Ledger {
    /// Opens a ledger, a SQLite file or `postgres://…`, with its key file; makes them where there are none. Without
    /// names they are those of `cape serve`: `CAPE_LEDGER` and `CAPE_LEDGER_KEY`, or in the user's data folder.
    #[new]
    #[pyo3(signature = (
        place=None, key=None, *, limit_key_day=None, limit_key=None, limit_day=None, limit_total=None,
    ))]
    fn new(
        py: Python<'_>,
        place: Option<String>,
        key: Option<PathBuf>,
        limit_key_day: Option<f64>,
        limit_key: Option<f64>,
        limit_day: Option<f64>,
        limit_total: Option<f64>,
    ) -> PyResult<Self> {
        let place = match place.or_else(|| std::env::var("CAPE_LEDGER").ok()) {
            Some(place) => place,
            None => data_folder()?.ledger(),
        };
        let key = match key.or_else(|| std::env::var_os("CAPE_LEDGER_KEY").map(PathBuf::from)) {
            Some(key) => key,
            None => data_folder()?.key(),
        };
        let limits = Limits {
            key_day: limit_key_day.map(limit).transpose()?,
            key: limit_key.map(limit).transpose()?,
            day: limit_day.map(limit).transpose()?,
            total: limit_total.map(limit).transpose()?,
            maps: Each::default(),
        };
        let ledger = Arc::new(open(py, &place, &key)?);
        Ok(Self { ledger, place, key, limits, process: std::process::id() })
    }

    /// The account of an API key and a user id: the one that the proxy charges for requests with them. For a job or a
    /// notebook any name will do.
    #[pyo3(signature = (key, user=""))]
    fn account(&self, key: &str, user: &str) -> Account {
        let account = self.ledger.account(key.as_bytes(), user);
        let (ledger, limits, process) = (Arc::clone(&self.ledger), self.limits, self.process);
        Account { ledger, limits, account, whose: Whose::User, process }
    }

    /// The spending of each API key on each day.
    fn spending(&self, py: Python<'_>) -> PyResult<Vec<Spending>> {
        let rows = wait(py, async { Book::open(&self.place).await?.spending().await })?;
        let rows = rows.map_err(|error| errors::ledger(&error))?.into_iter();
        let row = |spent: cape_ledger::Spending| Spending {
            key: spent.spender,
            day: spent.day.to_string(),
            releases: spent.releases,
            draws: spent.cost.draws,
            maps: spent.cost.maps,
            epsilon: spent.cost.epsilon.epsilon(),
        };
        Ok(rows.map(row).collect())
    }

    /// Settles a job once it has ended: nobody may draw from its secret any more. It made so many different draws; the
    /// ε of the others is given back, and returned.
    fn settle(&self, py: Python<'_>, job: &str, draws: u64) -> PyResult<f64> {
        here(self.process)?;
        let back = wait(py, self.ledger.settle(job, draws))?;
        Ok(back.map_err(|error| errors::ledger(&error))?.epsilon.epsilon())
    }

    /// Closes the database.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        here(self.process)?;
        wait(py, self.ledger.close())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(errors::secret(
            "a ledger is not pickled: open it where it is needed, from the same files",
        ))
    }

    fn __repr__(&self) -> &'static str {
        "Ledger(…)"
    }
}

/// An account of a ledger: what `perturb` draws with it is paid for first, and a word that was paid for before becomes
/// what it became then, in the proxy, too.
#[pyclass(frozen, module = "cape_dp")]
pub(crate) struct Account {
    ledger: Arc<cape_ledger::Ledger>,
    limits: Limits,
    account: cape_ledger::Account,
    whose: Whose,
    process: u32,
}

#[pymethods]
impl Account {
    /// The same account for texts that the service may know, such as results of tools: it must not read the user's map off
    /// them, so they have another.
    fn known(&self) -> Self {
        Self {
            ledger: Arc::clone(&self.ledger),
            limits: self.limits,
            account: self.account.clone(),
            whose: Whose::Known,
            process: self.process,
        }
    }

    /// What is left of each limit, by its name; None where there is no limit.
    fn left<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        here(self.process)?;
        let now = SystemTime::now();
        let left = wait(py, self.ledger.left(self.account.spender(), &self.limits, now))?;
        let left = left.map_err(|error| errors::ledger(&error))?;
        let all = PyDict::new(py);
        let each = [
            ("limit_key_day", left.key_day),
            ("limit_key", left.key),
            ("limit_day", left.day),
            ("limit_total", left.total),
        ];
        for (name, left) in each {
            all.set_item(name, left.map(Micros::epsilon))?;
        }
        Ok(all)
    }

    /// Reserves the draws of a job before it starts, at most so many different ones: all of them count as spent, until
    /// it is settled. The job draws with the reservation's secret. Reserving the same again costs nothing and gives the
    /// same secret, so that a job can go on after a crash.
    fn reserve(
        &self,
        py: Python<'_>,
        job: &str,
        draws: u64,
        cape: &Bound<'_, Cape>,
    ) -> PyResult<Reservation> {
        here(self.process)?;
        let (per_draw, now) = (cape.get().cape().guarantee().bound, SystemTime::now());
        let reserved = self.ledger.reserve(&self.account, job, draws, per_draw, &self.limits, now);
        let reserved = wait(py, reserved)?.map_err(|error| errors::ledger(&error))?;
        Ok(Reservation {
            secret: Py::new(py, Secret::of(reserved.secret))?,
            epsilon: reserved.spent.epsilon.epsilon(),
            name: reserved.name,
        })
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(errors::secret("an account is not pickled: open its ledger where it is needed"))
    }

    fn __repr__(&self) -> &'static str {
        "Account(…)"
    }
}

/// The draws of a job that are reserved, and what they are drawn from.
#[pyclass(frozen, get_all, module = "cape_dp")]
pub(crate) struct Reservation {
    /// The secret of the job's map: `perturb` takes it, and `reveal` gives it to workers.
    secret: Py<Secret>,
    /// The ε that was charged: 0 if the job was reserved before.
    epsilon: f64,
    /// The job's name in the ledger: a keyed hash.
    name: String,
}

#[pymethods]
impl Reservation {
    fn __reduce__(&self) -> PyResult<()> {
        Err(errors::secret("a reservation holds a secret, and is not pickled"))
    }

    fn __repr__(&self) -> String {
        format!("Reservation(name='{}', epsilon={})", self.name, self.epsilon)
    }
}

impl Account {
    /// Pays for the new words of some texts together, and draws.
    pub(crate) fn release(
        &self,
        py: Python<'_>,
        sanitizer: &Sanitizer,
        texts: &[&str],
    ) -> Result<Vec<cape::Release>, (usize, PyErr)> {
        here(self.process).map_err(|error| (0, error))?;
        let cape = sanitizer.cape();
        let cape = cape.ok_or_else(|| (0, errors::setting("an account pays for Cape alone")))?;
        let mut plans = Vec::with_capacity(texts.len());
        for (row, text) in texts.iter().enumerate() {
            plans.push(cape.plan(text).map_err(|error| (row, errors::cape(&error)))?);
        }
        let map = Map { whose: self.whose, lasts: Lasts::Account };
        let keys = plans.iter().flat_map(|plan| &plan.keys);
        let draws = keys.map(|key| Draw { map, from: cape.drawn_from(key), word: key.word() });
        let draws: Vec<Draw> = draws.collect();
        let (per_draw, now) = (cape.guarantee().bound, SystemTime::now());
        let receipt = self.ledger.charge(&self.account, &draws, per_draw, &self.limits, now);
        let receipt = wait(py, receipt).map_err(|error| (0, error))?;
        let receipt = receipt.map_err(|error| (0, errors::ledger(&error)))?;
        Ok(py.detach(|| {
            let mut secrets = receipt.secrets.iter().map(cape::Secret::from_bytes);
            let release = |(text, plan): (&&str, &cape::mechanism::cape::Plan)| {
                let drawn = plan.keys.iter().zip(&mut secrets);
                let drawn: Vec<_> =
                    drawn.map(|(key, secret)| cape.draw_one(key, &secret)).collect();
                written(cape, text, plan, &drawn, false)
            };
            texts.iter().zip(&plans).map(release).collect()
        }))
    }
}

/// Opens a ledger once more.
pub(crate) fn open(py: Python<'_>, place: &str, key: &Path) -> PyResult<cape_ledger::Ledger> {
    let opened = wait(py, async { cape_ledger::Ledger::open(place, Key::open(key)?).await })?;
    opened.map_err(|error| errors::ledger(&error))
}

/// Fails in a process that was forked: connections are not to be shared.
fn here(process: u32) -> PyResult<()> {
    if process == std::process::id() { Ok(()) } else { Err(errors::forked()) }
}

fn limit(epsilon: f64) -> PyResult<Micros> {
    format!("{epsilon}")
        .parse()
        .map_err(|_| errors::setting("a limit is a number of ε that is not negative"))
}

/// Where the ledger and its key are if nobody says so, made where it is missing.
fn data_folder() -> PyResult<DataFolder> {
    let folder = DataFolder::of_user().ok_or_else(|| {
        errors::setting("there is no data folder: name the ledger and its key file")
    })?;
    folder.make().map_err(|error| errors::internal(&error))?;
    Ok(folder)
}
