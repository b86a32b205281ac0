//! What a process needs that outlives the one that started it: locks on files, a session of its own, deafness to signals.

use std::io;
use std::os::fd::AsRawFd;

use super::{check, get_option_bytes, socket};

const SO_NETNS_COOKIE: i32 = 71;

/// Locks an open file against other openings of it; false if another one has it and `wait` is not wanted.
pub fn lock(file: &impl AsRawFd, wait: bool) -> io::Result<bool> {
    let how = libc::LOCK_EX | if wait { 0 } else { libc::LOCK_NB };
    loop {
        // SAFETY: no memory is passed.
        match check(unsafe { libc::flock(file.as_raw_fd(), how) }) {
            Ok(_) => return Ok(true),
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
}

/// Leaves the session of the parent, so that its end is not this process's.
pub fn leave_session() {
    // SAFETY: touches no memory; fails only for a group leader, which then already stands alone.
    unsafe { libc::setsid() };
}

/// Makes signals do nothing.
pub fn ignore(signals: &[i32]) {
    for signal in signals {
        // SAFETY: no handler is installed.
        unsafe { libc::signal(*signal, libc::SIG_IGN) };
    }
}

/// The number of this thread's network namespace, never given again until the machine restarts (Linux 5.14).
pub fn netns_cookie() -> io::Result<u64> {
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let mut cookie = [0; 8];
    get_option_bytes(&socket, libc::SOL_SOCKET, SO_NETNS_COOKIE, &mut cookie)?;
    Ok(u64::from_ne_bytes(cookie))
}
