//! The table of rules that `x_tables` has: replaced as a whole, and the counters of the old one given back.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::check;

const SO_SET_REPLACE: i32 = 64;
/// Offsets in `struct ipt_replace`, and in `ip6t_replace`, which is laid out alike.
const COUNTERS: usize = 84;
const POINTER: usize = 88;

/// Packets and bytes of a rule (`struct xt_counters`).
pub type Counter = [u64; 2];

/// Replaces a table by another one, whose head names no counters yet. The kernel writes those of the old table to `old`, which
/// must have as many as there are rules.
///
/// # Errors
/// What the kernel says; a table without a head.
pub fn replace(socket: &impl AsFd, level: i32, mut table: Vec<u8>, old: &mut [Counter]) -> io::Result<()> {
    if table.len() < POINTER + 8 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    table[COUNTERS..COUNTERS + 4].copy_from_slice(&(old.len() as u32).to_ne_bytes());
    table[POINTER..POINTER + 8].copy_from_slice(&(old.as_mut_ptr() as u64).to_ne_bytes());
    let (at, length) = (table.as_ptr().cast(), table.len() as u32);
    // SAFETY: the table is valid for its length; the one pointer in it leads to room for as many counters as it says, which
    // is ours to write to.
    check(unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, SO_SET_REPLACE, at, length) })
        .map(drop)
}
