//! The machine as a whole: its random numbers, its power, its memory's pages.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::system::RebootCommand;

use super::check;

/// Whether this is the first process of a virtual kernel: nobody else's settings can be touched then, and time is virtual.
#[must_use]
pub fn owns_kernel() -> bool {
    std::process::id() == 1
}

/// The size of the kernel's pages in bytes: 4096 on x86-64, up to 65536 elsewhere.
#[must_use]
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// Gives the kernel bytes for its random numbers and says that they are enough (`RNDADDENTROPY`, random(4)).
pub fn add_entropy(device: &File, bytes: [u8; 32], bits: i32) -> io::Result<()> {
    #[repr(C)]
    struct Pool {
        bits: libc::c_int,
        size: libc::c_int,
        bytes: [u8; 32],
    }
    const RNDADDENTROPY: libc::Ioctl = 0x4008_5203;
    let pool = Pool { bits, size: 32, bytes };
    // SAFETY: the structure is a `struct rand_pool_info` with its bytes behind it and lives through the call.
    check(unsafe { libc::ioctl(device.as_raw_fd(), RNDADDENTROPY, &raw const pool) }).map(drop)
}

/// Makes the kernel's generator of random numbers begin anew from its pool, whatever was drawn before.
pub fn reseed(device: &File) -> io::Result<()> {
    const RNDRESEEDCRNG: libc::Ioctl = 0x5207;
    // SAFETY: no memory is passed.
    check(unsafe { libc::ioctl(device.as_raw_fd(), RNDRESEEDCRNG) }).map(drop)
}

pub fn power_off() -> ! {
    rustix::fs::sync();
    let _refused = rustix::system::reboot(RebootCommand::PowerOff);
    std::process::exit(0)
}
