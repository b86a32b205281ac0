//! When sources are on, and when flows end: one thread for all planned ends, and the switch that wakes a blocked thread.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::kernel::clock::Clock;
use crate::kernel::sys::socket::{self, Shutdown};
use crate::plan::Flow;

/// A planned end: the instant, and the direction to close (writing lets what was handed over drain).
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    pub at_ns: i64,
    pub how: Shutdown,
}

impl Stop {
    /// Of a receiver that leaves before its sender: it reads no more, and closes.
    pub fn of_receiver(flow: &Flow) -> Option<Self> {
        flow.leave_ns.map(|at_ns| Self { at_ns, how: Shutdown::Read })
    }
}

/// When a source is on: places the time it has been active on the clock.
#[derive(Debug, Clone)]
pub(super) struct Periods {
    start_ns: i64,
    /// Of each period: the time active before it, its begin, its end.
    on: Vec<(i64, i64, i64)>,
}

impl Periods {
    pub fn new(start_ns: i64, on: &[(i64, i64)]) -> Self {
        let before = on.iter().scan(0, |active, (from, to)| {
            let earlier = *active;
            *active += to - from;
            Some((earlier, *from, *to))
        });
        Self { start_ns, on: before.collect() }
    }

    /// When the source has been active for so long; `None` when it never is.
    pub fn at(&self, active_ns: i64) -> Option<i64> {
        if self.on.is_empty() {
            return Some(self.start_ns + active_ns);
        }
        let after = self.on.partition_point(|(before, ..)| *before <= active_ns);
        let (before, from, to) = *self.on.get(after.checked_sub(1)?)?;
        Some(from + active_ns - before).filter(|at| *at < to)
    }
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

    /// Forgets all sockets: the task is done, and its sockets may close. At the end of the experiment they need not.
    pub fn release(&self) {
        if !self.halted() {
            self.sockets().clear();
        }
    }

    /// The planned end of sending has come, or the end of all.
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// The experiment is over.
    pub fn halted(&self) -> bool {
        self.halted.load(Ordering::SeqCst)
    }

    pub fn stop(&self, how: Shutdown) {
        let sockets = self.sockets();
        self.stopped.store(true, Ordering::SeqCst);
        for socket in sockets.iter() {
            socket::shutdown(socket, how);
        }
    }

    /// Says that the experiment is over. Said to all before the first is halted: what one end sees of another that is
    /// halted is then no end of its own.
    pub fn say_over(&self) {
        self.halted.store(true, Ordering::SeqCst);
    }

    pub fn halt(&self, how: Shutdown) {
        self.say_over();
        self.stop(how);
    }

    /// Forgets all sockets, and has connections reset when they close.
    pub fn reset(&self) {
        let sockets = std::mem::take(&mut *self.sockets());
        for socket in &sockets {
            socket::reset_on_close(socket);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_always_on_counts_from_its_start() {
        assert_eq!(Periods::new(5, &[]).at(7), Some(12));
    }

    #[test]
    fn pauses_are_left_out_of_the_time_a_source_is_active() {
        let periods = Periods::new(10, &[(10, 30), (100, 105), (200, 300)]);
        let at = [0, 19, 20, 24, 25, 124, 125].map(|active_ns| periods.at(active_ns));
        assert_eq!(at, [Some(10), Some(29), Some(100), Some(104), Some(200), Some(299), None]);
    }
}
