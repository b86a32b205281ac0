//! Clocks, and sleeping by them.

use std::io;
use std::num::NonZeroU64;

use rustix::io::Errno;
use rustix::time::{ClockId, Timespec};

pub const SECOND_NS: i64 = 1_000_000_000;

#[must_use]
pub fn monotonic_ns() -> i64 {
    clock_ns(ClockId::Monotonic)
}

/// The clock of the kernel's packet stamps.
#[must_use]
pub fn realtime_ns() -> i64 {
    clock_ns(ClockId::Realtime)
}

/// CPU time of this thread so far, in the kernel's name and in its own.
#[must_use]
pub fn thread_cpu_ns() -> i64 {
    clock_ns(ClockId::ThreadCPUTime)
}

/// CPU time of all threads of this process so far, those included that have ended.
#[must_use]
pub fn process_cpu_ns() -> i64 {
    clock_ns(ClockId::ProcessCPUTime)
}

fn clock_ns(clock: ClockId) -> i64 {
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec * SECOND_NS + now.tv_nsec
}

/// A span or an instant as the kernel takes it.
pub(super) fn timespec(ns: i64) -> Timespec {
    Timespec { tv_sec: ns.div_euclid(SECOND_NS), tv_nsec: ns.rem_euclid(SECOND_NS) }
}

/// Sleeps until an absolute instant of `CLOCK_MONOTONIC`.
pub fn sleep_until(monotonic_ns: i64) {
    let at = timespec(monotonic_ns);
    while rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(Errno::INTR) {}
}

/// Timers of this thread fire at most this late (the default of 50 µs would show in every interval).
///
/// # Errors
/// What the kernel says; of 0 ns it would make its default.
pub fn set_timer_slack(ns: u64) -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(ns))?)
}
