//! The threads that plan and draw, so that the server's own threads never wait for a long text.

use std::sync::Arc;
use std::time::Instant;

use cape::mechanism::cape::{Cape, Plan};
use cape::rng::Secret;
use cape::sanitizer::{Sanitizer, written};
use cape::text::Release;
use tokio::sync::{mpsc, oneshot};

use crate::fault::Fault;

/// A piece of work for a thread.
type Job = Box<dyn FnOnce(&Cape) + Send>;

/// A request with more bytes than this is a long one.
const LONG: usize = 4096;

/// Two threads: long requests have one of their own, and short ones do not wait for them.
pub(super) struct Perturber {
    short: mpsc::UnboundedSender<Job>,
    long: mpsc::UnboundedSender<Job>,
}

/// A text before any draw.
pub(super) struct Planned {
    pub(super) text: String,
    pub(super) plan: Plan,
}

impl Perturber {
    pub(super) fn start(sanitizer: &Arc<Sanitizer>) -> std::io::Result<Self> {
        let thread = || {
            // the server limits the number of requests, so the queue needs no bound
            let (jobs, queue) = mpsc::unbounded_channel();
            let own = Arc::clone(sanitizer);
            std::thread::Builder::new()
                .name("perturber".into())
                .spawn(move || work(&own, queue))?;
            std::io::Result::Ok(jobs)
        };
        let (short, long) = (thread()?, thread()?);
        Ok(Self { short, long })
    }

    /// Cuts texts and finds what is to be drawn for, all or none. Nothing is drawn.
    pub(super) async fn plan(&self, texts: Vec<String>) -> Result<Vec<Planned>, Fault> {
        let bytes = texts.iter().map(String::len).sum();
        let plan = |cape: &Cape, text: String| {
            let plan = cape.plan(&text)?;
            Ok(Planned { text, plan })
        };
        let planned = self.run(bytes, move |cape, wanted| {
            let planned = texts.into_iter().map(|text| wanted().then(|| plan(cape, text)));
            Some(planned.collect::<Option<Vec<_>>>()?.into_iter().collect::<Result<Vec<_>, _>>())
        });
        planned.await?.map_err(Fault::Text)
    }

    /// Draws for every key of every text, from the secret that was paid for: one per key, in order.
    pub(super) async fn draw(
        &self,
        texts: Vec<Planned>,
        secrets: Vec<[u8; 32]>,
    ) -> Result<Vec<Release>, Fault> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = texts.iter().map(|planned| planned.text.len()).sum();
        self.run(bytes, move |cape, wanted| {
            let mut secrets = secrets.iter().map(Secret::from_bytes);
            let release = |Planned { text, plan }: Planned| {
                let draws = plan.keys.iter().zip(&mut secrets);
                let draws =
                    draws.map(|(key, secret)| wanted().then(|| cape.draw_one(key, &secret)));
                Some(written(cape, &text, &plan, &draws.collect::<Option<Vec<_>>>()?, false))
            };
            texts.into_iter().map(release).collect()
        })
        .await
    }

    /// Has a thread do some work on a request of so many bytes. The work asks whether it is still wanted,
    /// and gives up where it is not: its client has gone away.
    async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce(&Cape, &dyn Fn() -> bool) -> Option<T> + Send + 'static,
    ) -> Result<T, Fault> {
        let (done, result) = oneshot::channel();
        let jobs = if bytes > LONG { &self.long } else { &self.short };
        let job: Job = Box::new(move |cape| {
            let wanted = || !done.is_closed();
            let result = if wanted() { work(cape, &wanted) } else { None };
            if let Some(result) = result {
                let _ = done.send(result);
            }
        });
        jobs.send(job).map_err(|_| Fault::Perturber)?;
        result.await.map_err(|_| Fault::Perturber)
    }
}

fn work(sanitizer: &Sanitizer, mut queue: mpsc::UnboundedReceiver<Job>) {
    let Some(cape) = sanitizer.cape() else { return };
    while let Some(job) = queue.blocking_recv() {
        let started = Instant::now();
        job(cape);
        tracing::debug!(milliseconds = started.elapsed().as_millis() as u64, "perturbed");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use cape::lexicon::Lexicon;
    use cape::mechanism::cape::Settings;

    use super::*;

    #[tokio::test]
    async fn work_whose_client_is_gone_is_given_up() {
        let cape = Cape::new(Lexicon::embedded(), Settings::default()).unwrap();
        let perturber = Perturber::start(&Arc::new(Sanitizer::words(cape))).unwrap();
        let (begun, begins) = channel();
        let (told, tells) = channel::<()>();
        let tells = Mutex::new(tells);
        let (seen, sees) = channel();
        let mut work = Box::pin(perturber.run(1, move |_, wanted| {
            begun.send(wanted()).unwrap();
            tells.lock().unwrap().recv().unwrap();
            seen.send(wanted()).unwrap();
            None::<()>
        }));
        // it is asked for once, and then its client goes away
        assert!(tokio::time::timeout(Duration::ZERO, work.as_mut()).await.is_err());
        assert!(begins.recv().unwrap(), "wanted at first");
        drop(work);
        told.send(()).unwrap();
        assert!(!sees.recv().unwrap(), "and then no more");
        // the thread goes on
        let planned = perturber.plan(vec!["Alice has asthma".into()]).await.unwrap();
        assert_eq!(planned[0].plan.keys.len(), 3);
    }
}
