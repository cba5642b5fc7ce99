//! The texts of many requests, perturbed together.

use std::sync::Arc;
use std::time::Instant;

use cape::rng::Secret;
use cape::sanitizer::Sanitizer;
use cape::text::Release;
use tokio::sync::{mpsc, oneshot};

use crate::fault::Fault;

/// The number of texts that are perturbed together: more make each of them wait for the others.
const SIDE_BY_SIDE: usize = 16;

/// The texts of one request, and where their releases go.
struct Job {
    texts: Vec<String>,
    done: oneshot::Sender<Result<Vec<Release>, cape::Error>>,
}

/// A request with more bytes than this is a long one.
const LONG: usize = 4096;

/// Two threads that each perturb whatever has come in while they were busy, all at once. Nobody waits
/// for company: a text that comes alone goes alone. Long requests have a thread of their own, and
/// short ones do not wait for them.
pub(super) struct Perturber {
    short: mpsc::UnboundedSender<Job>,
    long: mpsc::UnboundedSender<Job>,
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

    /// The releases of some texts, all or none.
    pub(super) async fn perturb(&self, texts: Vec<String>) -> Result<Vec<Release>, Fault> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let (done, releases) = oneshot::channel();
        let is_long = texts.iter().map(String::len).sum::<usize>() > LONG;
        let jobs = if is_long { &self.long } else { &self.short };
        jobs.send(Job { texts, done }).map_err(|_| Fault::Perturber)?;
        releases.await.map_err(|_| Fault::Perturber)?.map_err(Fault::Text)
    }
}

fn work(sanitizer: &Sanitizer, mut queue: mpsc::UnboundedReceiver<Job>) {
    while let Some(first) = queue.blocking_recv() {
        let mut batch = vec![first];
        let mut texts = batch[0].texts.len();
        while texts < SIDE_BY_SIDE
            && let Ok(job) = queue.try_recv()
        {
            texts += job.texts.len();
            batch.push(job);
        }
        let started = Instant::now();
        let requests = batch.len();
        perturb(sanitizer, batch);
        let milliseconds = started.elapsed().as_millis() as u64;
        tracing::debug!(requests, texts, milliseconds, "perturbed");
    }
}

/// Answers every job. A job that cannot be perturbed fails alone: the others are drawn again.
fn perturb(sanitizer: &Sanitizer, mut batch: Vec<Job>) {
    // a client that has gone away in the meantime needs no release
    batch.retain(|job| !job.done.is_closed());
    while !batch.is_empty() {
        let texts: Vec<&str> =
            batch.iter().flat_map(|job| &job.texts).map(String::as_str).collect();
        // a client that goes away while its texts are long in the making
        let owners: Vec<usize> = batch
            .iter()
            .enumerate()
            .flat_map(|(job, it)| std::iter::repeat_n(job, it.texts.len()))
            .collect();
        let wanted = |text: usize| !batch[owners[text]].done.is_closed();
        match draw(sanitizer, &texts, &wanted) {
            Ok(releases) => {
                let mut releases = releases.into_iter();
                for job in batch.drain(..) {
                    let own = releases.by_ref().take(job.texts.len()).collect();
                    // nobody waits any more: the release is dropped
                    let _ = job.done.send(Ok(own));
                }
            }
            Err((text, error)) => {
                let mut before = 0;
                let job = batch.iter().position(|job| {
                    before += job.texts.len();
                    text < before
                });
                let job = batch.remove(job.unwrap_or(0));
                let _ = job.done.send(Err(error));
            }
        }
    }
}

/// The releases of all texts, or the index of the one that failed.
fn draw(
    sanitizer: &Sanitizer,
    texts: &[&str],
    wanted: &dyn Fn(usize) -> bool,
) -> Result<Vec<Release>, (usize, cape::Error)> {
    // each text has its own secret: what a word becomes in one text tells nothing about another
    let secrets = (0..texts.len()).map(|i| Secret::fresh().map_err(|error| (i, error)));
    let secrets = secrets.collect::<Result<Vec<Secret>, _>>()?;
    sanitizer.releases_while(texts, &secrets.iter().collect::<Vec<_>>(), wanted)
}
