//! The system calls, as thin safe functions, by subject. The only room with `unsafe`.
//!
//! What [`rustix`] has is taken from there. It calls the C library, as the rest does: so a run makes the same calls as often,
//! and a virtual kernel charges for each.

pub mod asking;
pub mod bpf;
pub mod confinement;
pub mod cpu;
pub mod ethtool;
pub mod files;
pub mod filter_table;
pub mod limits;
pub mod machine;
pub mod mapped;
pub mod mounts;
pub mod namespaces;
pub mod options;
pub mod packet;
pub mod passing;
pub mod process;
pub mod ring;
pub mod signals;
pub mod socket;
pub mod terminal;
pub mod thread;
pub mod time;
pub mod together;
pub mod visit;
pub mod zerocopy;

use std::io;

/// The result of a call that says by a negative number that it failed, and why by `errno`.
fn check<T: Into<i64> + Copy>(result: T) -> io::Result<T> {
    if result.into() < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// The same of a call that gives a number of bytes.
fn check_size(value: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(value).map_err(|_| io::Error::last_os_error())
}
