//! The experiment's clock: `CLOCK_MONOTONIC`, counted from the start of the experiment. The only clock in the agent.

use crate::sys;

/// The instant the experiment starts; all stamps count from here.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start_ns: i64,
}

impl Clock {
    /// `start_ns` on `CLOCK_MONOTONIC`.
    #[must_use]
    pub fn starting_at(start_ns: i64) -> Self {
        Self { start_ns }
    }

    #[must_use]
    pub fn start_ns(self) -> i64 {
        self.start_ns
    }

    /// Nanoseconds since the start. Reading the clock costs 256 ns of virtual time in a virtual kernel.
    #[must_use]
    pub fn now(self) -> i64 {
        sys::monotonic_ns() - self.start_ns
    }

    /// A `CLOCK_MONOTONIC` stamp as time since the start.
    #[must_use]
    pub fn since_start(self, monotonic_ns: i64) -> i64 {
        monotonic_ns - self.start_ns
    }

    /// Sleeps until `t_ns` after the start; returns at once when that has passed.
    pub fn sleep_until(self, t_ns: i64) {
        sys::sleep_until(self.start_ns + t_ns);
    }
}

/// `CLOCK_REALTIME` minus `CLOCK_MONOTONIC`, to place the kernel's packet stamps. Read between two readings of the other clock:
/// in a virtual kernel every reading takes the same 256 ns, so the middle is exact.
#[must_use]
pub fn realtime_offset_ns() -> i64 {
    let before = sys::monotonic_ns();
    let real = sys::realtime_ns();
    let after = sys::monotonic_ns();
    real - (before + (after - before) / 2)
}
