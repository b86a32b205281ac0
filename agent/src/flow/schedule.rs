//! When flows end: one thread for all planned ends, and the switch that wakes a blocked thread.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::Clock;
use crate::sys::socket;

/// A planned end: the instant, and the direction to close (`SHUT_WR` lets what was handed over drain).
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    pub at_ns: i64,
    pub how: i32,
}

/// Ends a task from outside by shutting down the sockets it may block in.
#[derive(Debug, Default)]
pub(super) struct Switch {
    stopped: AtomicBool,
    halted: AtomicBool,
    sockets: Mutex<Vec<Arc<OwnedFd>>>,
}

impl Switch {
    pub fn holding(socket: &Arc<OwnedFd>) -> Arc<Self> {
        let switch = Self::default();
        switch.sockets().push(Arc::clone(socket));
        Arc::new(switch)
    }

    /// Adds a socket that the task will block in; gives `false` when the task has been stopped already.
    pub fn hold(&self, socket: &Arc<OwnedFd>) -> bool {
        let mut sockets = self.sockets();
        sockets.push(Arc::clone(socket));
        !self.stopped()
    }

    /// Forgets the newest socket, which the task no longer blocks in.
    pub fn drop_newest(&self) {
        self.sockets().pop();
    }

    /// Forgets all sockets: the task is done, and its sockets may close.
    pub fn release(&self) {
        self.sockets().clear();
    }

    /// The planned end of sending has come, or the end of all.
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// The experiment is over.
    pub fn halted(&self) -> bool {
        self.halted.load(Ordering::SeqCst)
    }

    pub fn stop(&self, how: i32) {
        let sockets = self.sockets();
        self.stopped.store(true, Ordering::SeqCst);
        for socket in sockets.iter() {
            socket::shutdown(socket, how);
        }
    }

    pub fn halt(&self) {
        self.halted.store(true, Ordering::SeqCst);
        self.stop(libc::SHUT_RDWR);
    }

    fn sockets(&self) -> MutexGuard<'_, Vec<Arc<OwnedFd>>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for each planned end in turn.
pub(super) fn run(clock: Clock, mut stops: Vec<(Stop, Arc<Switch>)>) {
    stops.sort_by_key(|(stop, _)| stop.at_ns);
    for (stop, switch) in stops {
        clock.sleep_until(stop.at_ns);
        switch.stop(stop.how);
    }
}
