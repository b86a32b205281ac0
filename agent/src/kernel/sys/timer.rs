//! Timers that are files (`timerfd_create(2)`).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use super::check;
use super::time::timespec;

/// A timer on `CLOCK_MONOTONIC`. A read waits until it has expired and gives how often, eight bytes.
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    /// # Errors
    /// One file more than a process may have open.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no memory is passed; the descriptor is new and owned from here.
        unsafe {
            check(libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC))
                .map(|fd| Self(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Expires at `first_ns`, at once if that has passed, and then every `period_ns`.
    ///
    /// # Errors
    /// Times below 0.
    pub fn set(&self, first_ns: i64, period_ns: i64) -> io::Result<()> {
        let [it_value, it_interval] = [first_ns, period_ns].map(|ns| {
            let time = timespec(ns);
            libc::timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_nsec }
        });
        let times = libc::itimerspec { it_interval, it_value };
        let (fd, how) = (self.0.as_raw_fd(), libc::TFD_TIMER_ABSTIME);
        // SAFETY: the structure lives through the call.
        check(unsafe { libc::timerfd_settime(fd, how, &raw const times, ptr::null_mut()) }).map(drop)
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
