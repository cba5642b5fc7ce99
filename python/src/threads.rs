//! The threads that compute, without the interpreter's lock.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio::runtime::Runtime;

use crate::errors;

/// The threads of this process. A process that was forked has none of its parent's: it needs its own.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Computes on all cores, while other threads of Python run.
pub(crate) fn compute<R: Send>(py: Python<'_>, what: impl FnOnce() -> R + Send) -> PyResult<R> {
    let pool = py.detach(pool).map_err(|error| errors::internal(&error))?;
    Ok(py.detach(|| pool.install(what)))
}

fn pool() -> Result<Arc<ThreadPool>, rayon::ThreadPoolBuildError> {
    let process = std::process::id();
    let mut known = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, pool)) = &*known
        && *of == process
    {
        return Ok(Arc::clone(pool));
    }
    let pool = Arc::new(ThreadPoolBuilder::new().build()?);
    if let Some(parents) = known.replace((process, Arc::clone(&pool))) {
        // its threads are not here to be told to end
        std::mem::forget(parents);
    }
    Ok(pool)
}

/// What waits for databases and sockets, as long as the process lasts.
static RUNTIME: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);

/// The runtime of this process.
pub(crate) fn runtime() -> PyResult<Arc<Runtime>> {
    let process = std::process::id();
    let mut known = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, runtime)) = &*known
        && *of == process
    {
        return Ok(Arc::clone(runtime));
    }
    let runtime = Arc::new(Runtime::new().map_err(|error| errors::internal(&error))?);
    if let Some(parents) = known.replace((process, Arc::clone(&runtime))) {
        std::mem::forget(parents);
    }
    Ok(runtime)
}

/// Waits for something while other threads of Python run.
pub(crate) fn wait<F: Future<Output: Send> + Send>(py: Python<'_>, what: F) -> PyResult<F::Output> {
    let runtime = runtime()?;
    Ok(py.detach(|| runtime.block_on(what)))
}
