//! How far a load has come, told to whoever waits.

/// How far a load has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadProgress {
    /// The present phase; a load may go through several.
    pub phase: LoadPhase,
    /// Bytes done of this phase.
    pub done: u64,
    /// Bytes of this phase in all.
    pub total: u64,
}

/// A phase of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadPhase {
    /// Comparing a source, whose time has changed, with the one that the compact file was made of.
    Comparing,
    /// Reading the compact file.
    Checking,
    /// Reading the source.
    Reading,
    /// Writing the compact file, or at least its checksum.
    Writing,
}

/// Counts the bytes of a phase and tells them.
pub(super) struct Tell<'p> {
    to: &'p mut dyn FnMut(LoadProgress),
    progress: LoadProgress,
}

impl<'p> Tell<'p> {
    pub(super) fn new(phase: LoadPhase, total: u64, to: &'p mut dyn FnMut(LoadProgress)) -> Self {
        Self { to, progress: LoadProgress { phase, done: 0, total } }
    }

    pub(super) fn add(&mut self, bytes: u64) {
        self.progress.done += bytes;
        (self.to)(self.progress);
    }
}
