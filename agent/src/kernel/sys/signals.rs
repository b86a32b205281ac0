//! Signals: which come, and how.

use std::io;
use std::mem;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr;

use super::check;

/// What ends a serving process in order.
const ENDING: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGHUP, libc::SIGINT];

/// The signals that end a process, as a file that becomes readable. Call it before the first thread: threads inherit that
/// these signals do not interrupt them.
pub fn endings() -> io::Result<OwnedFd> {
    let set = set_of(&ENDING);
    change(libc::SIG_BLOCK, &set)?;
    // SAFETY: the set lives through the call; the descriptor is new and owned from here.
    unsafe { check(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC)).map(|fd| OwnedFd::from_raw_fd(fd)) }
}

/// Makes signals do nothing.
pub fn ignore(signals: &[i32]) {
    for signal in signals {
        // SAFETY: no handler is installed.
        unsafe { libc::signal(*signal, libc::SIG_IGN) };
    }
}

/// Lets all signals wait that can.
pub fn block_all() -> io::Result<()> {
    let mut set = set_of(&[]);
    // SAFETY: the set is a valid one to fill.
    unsafe { libc::sigfillset(&raw mut set) };
    change(libc::SIG_SETMASK, &set)
}

/// Lets no signal wait.
pub fn unblock_all() -> io::Result<()> {
    change(libc::SIG_SETMASK, &set_of(&[]))
}

/// Waits until one of these signals comes, all of which are blocked; says which.
pub(super) fn next_of(signals: &[libc::c_int]) -> libc::c_int {
    let (set, mut signal) = (set_of(signals), 0);
    // SAFETY: the set and the place for the answer live through the call.
    unsafe { libc::sigwait(&raw const set, &raw mut signal) };
    signal
}

fn change(how: libc::c_int, set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: the set lives through the call; the old one is not asked for.
    check(unsafe { libc::sigprocmask(how, ptr::from_ref(set), ptr::null_mut()) }).map(drop)
}

fn set_of(signals: &[libc::c_int]) -> libc::sigset_t {
    // SAFETY: an all-zero set is an empty one, to which signals are added.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}
