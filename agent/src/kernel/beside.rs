//! A thread that works beside the flows until its work is done, or until the run ends in whatever way.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::error::{Context, Error, Result};

/// What the thread passes before each piece of work.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<Mutex<bool>>);

impl Gate {
    /// Does a piece of work; `None` when the run has ended. Whoever closes the gate waits for this piece, and for no other.
    pub fn pass<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let closed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (!*closed).then(work)
    }

    fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

/// The thread. When this is dropped nothing more is done: a thread that sleeps then ends when it wakes, or with the process.
#[derive(Debug)]
pub struct Beside {
    what: &'static str,
    gate: Gate,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Beside {
    /// Starts the thread; `what` it does is for errors.
    ///
    /// # Errors
    /// No thread can be made.
    pub fn start(
        what: &'static str,
        work: impl FnOnce(&Gate) -> Result<()> + Send + 'static,
    ) -> Result<Self> {
        let gate = Gate::default();
        let passed = gate.clone();
        let thread = thread::Builder::new()
            .spawn(move || work(&passed))
            .context(format_args!("start a thread for {what}"))?;
        Ok(Self { what, gate, thread: Some(thread) })
    }

    /// Waits until all is done.
    ///
    /// # Errors
    /// Those of the work: from then on nothing was done.
    pub fn finish(mut self) -> Result<()> {
        let ended = self.thread.take().map(JoinHandle::join);
        let broken = || Error::new("topology", format!("the thread for {} broke down", self.what));
        ended.and_then(std::result::Result::ok).unwrap_or_else(|| Err(broken()))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.gate.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc;

    #[test]
    fn what_is_begun_ends_before_the_drop_and_nothing_is_begun_after_it() {
        let done = Arc::new(AtomicU32::new(0));
        let (begin, first) = mpsc::channel();
        let (tell, over) = mpsc::channel();
        let counted = Arc::clone(&done);
        let beside = Beside::start("a test", move |gate| {
            while gate
                .pass(|| {
                    let _nobody_waits = begin.send(());
                    counted.fetch_add(1, Ordering::SeqCst);
                })
                .is_some()
            {}
            let _nobody_waits = tell.send(());
            Ok(())
        });
        first.recv().expect("it began");
        drop(beside.expect("a thread"));
        let after = done.load(Ordering::SeqCst);
        over.recv().expect("the thread ended");
        assert_eq!(done.load(Ordering::SeqCst), after);
    }

    #[test]
    fn work_that_fails_or_breaks_down_is_told() {
        let fault = || Error::new("plan", "no such port");
        let failed = Beside::start("pauses", move |_| Err(fault())).expect("a thread").finish();
        assert_eq!(failed.expect_err("an error").message, "no such port");
        let broken = Beside::start("changes", |_| panic!("on purpose")).expect("a thread").finish();
        assert_eq!(broken.expect_err("an error").message, "the thread for changes broke down");
        assert!(Beside::start("nothing", |_| Ok(())).expect("a thread").finish().is_ok());
    }
}
