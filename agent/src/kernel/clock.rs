//! The experiment's clock: `CLOCK_MONOTONIC`, counted from the start of the experiment. The only clock in the agent.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::kernel::sys;
use crate::kernel::sys::visit::{Moment, Visit};

/// The instant the experiment starts; all stamps count from here.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start_ns: i64,
    /// Whether nothing shall be waited for any more.
    over: Option<&'static AtomicBool>,
}

/// How long a sleep goes on after an experiment has been ended early.
const NAP_NS: i64 = 250_000_000;

impl Clock {
    /// `start_ns` on `CLOCK_MONOTONIC`.
    #[must_use]
    pub fn starting_at(start_ns: i64) -> Self {
        Self { start_ns, over: None }
    }

    /// A clock whose sleeps end soon after `over` has been set.
    #[must_use]
    pub fn interruptible(start_ns: i64, over: &'static AtomicBool) -> Self {
        Self { start_ns, over: Some(over) }
    }

    /// From now on nothing is waited for, where this clock can be interrupted.
    pub fn end(self) {
        if let Some(over) = self.over {
            over.store(true, Ordering::SeqCst);
        }
    }

    #[must_use]
    pub fn is_over(self) -> bool {
        self.over.is_some_and(|over| over.load(Ordering::SeqCst))
    }

    #[must_use]
    pub fn start_ns(self) -> i64 {
        self.start_ns
    }

    /// Nanoseconds since the start. Reading the clock costs 256 ns of virtual time in a virtual kernel.
    #[must_use]
    pub fn now(self) -> i64 {
        sys::time::monotonic_ns() - self.start_ns
    }

    /// A `CLOCK_MONOTONIC` stamp as time since the start.
    #[must_use]
    pub fn since_start(self, monotonic_ns: i64) -> i64 {
        monotonic_ns - self.start_ns
    }

    /// Sleeps until `t_ns` after the start; returns at once when that has passed.
    pub fn sleep_until(self, t_ns: i64) {
        if let Some(due_ns) = self.doze(t_ns) {
            sys::time::sleep_until(due_ns);
        }
    }

    /// The same, and reads the clock then.
    #[must_use]
    pub fn awake_at(self, t_ns: i64) -> i64 {
        let Some(due_ns) = self.doze(t_ns) else { return self.now() };
        let (due, mut now) = (Moment::of(due_ns), Moment::of(0));
        let mut visit = Visit::new();
        visit.sleep_until(&due);
        visit.clock(&mut now);
        // It can only fail before any of its calls.
        visit.carry_out().map_or_else(|_| self.now(), |_| self.since_start(now.ns()))
    }

    /// Whether its sleeps can be interrupted.
    #[must_use]
    pub fn is_interruptible(self) -> bool {
        self.over.is_some()
    }

    /// Sleeps nearly until `t_ns` after the start, where this clock can be interrupted: what is left, until the instant on
    /// `CLOCK_MONOTONIC` that is given, may be slept at one go. Nothing when it has been interrupted.
    #[must_use]
    pub fn doze(self, t_ns: i64) -> Option<i64> {
        let due_ns = self.start_ns + t_ns;
        while self.over.is_some() && !self.is_over() && due_ns - sys::time::monotonic_ns() > 2 * NAP_NS {
            sys::time::sleep_until(sys::time::monotonic_ns() + NAP_NS);
        }
        (!self.is_over()).then_some(due_ns)
    }
}

/// `CLOCK_REALTIME` minus `CLOCK_MONOTONIC`, to place the kernel's packet stamps. Read between two readings of the other clock:
/// in a virtual kernel every reading takes the same 256 ns, so the middle is exact.
///
/// Where time is real somebody else may run in between: then it is read again.
#[must_use]
pub fn realtime_offset_ns() -> i64 {
    const CLOSE_NS: i64 = 1000;
    const TRIES: usize = 20;
    let mut best = reading();
    for _ in 1..TRIES {
        if best.0 <= CLOSE_NS {
            break;
        }
        best = best.min(reading());
    }
    best.1
}

/// How far apart the readings were, and the offset between them.
fn reading() -> (i64, i64) {
    let before = sys::time::monotonic_ns();
    let real = sys::time::realtime_ns();
    let after = sys::time::monotonic_ns();
    (after - before, real - (before + (after - before) / 2))
}
