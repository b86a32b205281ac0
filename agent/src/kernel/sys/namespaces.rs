//! Namespaces: what a thread or a process has for itself.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use super::check;
use super::options::get_option_bytes;
use super::socket;

pub const MOUNT: i32 = libc::CLONE_NEWNS;
pub const USER: i32 = libc::CLONE_NEWUSER;
/// Processes, network and IPC: what a guest has of its own besides.
pub const GUEST: i32 = libc::CLONE_NEWPID | libc::CLONE_NEWNET | libc::CLONE_NEWIPC;

/// This thread's network namespace.
pub const OWN_NETNS: &str = "/proc/thread-self/ns/net";

const SO_NETNS_COOKIE: i32 = 71;

/// Moves this thread into new namespaces.
pub fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: no memory is passed. Files stay shared, as all of this program's flags are namespaces.
    check(unsafe { libc::unshare(flags) }).map(drop)
}

/// Moves this thread into a new network namespace and gives the namespace as a file.
pub fn new_netns() -> io::Result<OwnedFd> {
    unshare(libc::CLONE_NEWNET)?;
    current_netns()
}

pub fn current_netns() -> io::Result<OwnedFd> {
    File::open(OWN_NETNS).map(OwnedFd::from)
}

/// Moves this thread into a network namespace. To stay where one is takes no privilege.
pub fn enter_netns(netns: impl AsFd) -> io::Result<()> {
    let netns = netns.as_fd();
    // SAFETY: no memory is passed.
    match check(unsafe { libc::setns(netns.as_raw_fd(), libc::CLONE_NEWNET) }) {
        Err(cause) if cause.raw_os_error() == Some(libc::EPERM) && is_here(netns)? => Ok(()),
        other => other.map(drop),
    }
}

/// Whether this thread is in that namespace.
fn is_here(netns: impl AsFd) -> io::Result<bool> {
    let (that, this) = (rustix::fs::fstat(netns)?, rustix::fs::stat(OWN_NETNS)?);
    Ok((that.st_dev, that.st_ino) == (this.st_dev, this.st_ino))
}

/// From now on this thread, and what it starts, finds `name` as the host's, as much of it as a name may have.
///
/// # Errors
/// A kernel without namespaces for it, or no right to one; then the name is what it was.
pub fn be_called(name: &str) -> io::Result<()> {
    const MOST: usize = 64;
    unshare(libc::CLONE_NEWUTS)?;
    let most = (0..=name.len().min(MOST)).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    Ok(rustix::system::sethostname(&name.as_bytes()[..most])?)
}

/// The number of this thread's network namespace, never given again until the machine restarts (Linux 5.14).
pub fn netns_cookie() -> io::Result<u64> {
    let socket = socket::open(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let mut cookie = [0; 8];
    get_option_bytes(&socket, libc::SOL_SOCKET, SO_NETNS_COOKIE, &mut cookie)?;
    Ok(u64::from_ne_bytes(cookie))
}
