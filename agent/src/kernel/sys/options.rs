//! Options of sockets.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd};

use super::check;

/// What [`set_option`] may hand to the kernel.
///
/// # Safety
/// The type holds no pointer, and no bytes that are not initialised: the kernel follows the one and reads the other.
pub unsafe trait Plain: Copy {}
// SAFETY: numbers.
unsafe impl Plain for i32 {}
// SAFETY: a number.
unsafe impl Plain for u64 {}
// SAFETY: two numbers, without a gap.
unsafe impl Plain for libc::linger {}
// SAFETY: two numbers, without a gap.
unsafe impl Plain for libc::timeval {}
// SAFETY: numbers and their array, without a gap.
unsafe impl Plain for libc::packet_mreq {}
// SAFETY: four numbers, without a gap.
unsafe impl Plain for libc::tpacket_req {}

/// Sets a socket option of a plain type. Structures that lead the kernel elsewhere are none:
///
/// ```compile_fail
/// let socket = rushhour_agent::kernel::sys::socket::open(libc::AF_INET, libc::SOCK_DGRAM, 0).unwrap();
/// let program = libc::sock_fprog { len: 1, filter: 8 as *mut libc::sock_filter };
/// rushhour_agent::kernel::sys::options::set_option(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program).unwrap();
/// ```
///
/// A number is one:
///
/// ```no_run
/// let socket = rushhour_agent::kernel::sys::socket::open(libc::AF_INET, libc::SOCK_DGRAM, 0).unwrap();
/// rushhour_agent::kernel::sys::options::set_option(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1_i32).unwrap();
/// ```
pub fn set_option<T: Plain>(socket: &impl AsFd, level: i32, name: i32, value: T) -> io::Result<()> {
    // SAFETY: a plain type leads nowhere else.
    unsafe { set_payload(socket, level, name, &value) }
}

/// Sets a socket option of any type.
///
/// # Safety
/// What pointers in the value lead to is valid for what the kernel does with it.
pub(super) unsafe fn set_payload<T>(socket: &impl AsFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let (at, length) = (std::ptr::from_ref(value).cast(), mem::size_of::<T>() as u32);
    // SAFETY: `value` is valid for its own size; for the rest the caller answers.
    check(unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, at, length) }).map(drop)
}

/// `TCP_CONGESTION`, by name.
pub fn set_congestion_control(socket: &impl AsFd, name: &str) -> io::Result<()> {
    let (at, length) = (name.as_ptr().cast(), name.len() as u32);
    // SAFETY: the name is valid for its length, and a name to the kernel.
    check(unsafe {
        libc::setsockopt(socket.as_fd().as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, at, length)
    })
    .map(drop)
}

/// Fills `value` with a socket option that is as long.
///
/// # Errors
/// An option that takes an address in `value`, to write elsewhere; what the kernel says.
pub fn get_option_bytes(socket: &impl AsFd, level: i32, name: i32, value: &mut [u8]) -> io::Result<()> {
    if (level, name) == (libc::IPPROTO_TCP, libc::TCP_ZEROCOPY_RECEIVE) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut length = value.len() as u32;
    // SAFETY: `value` is valid for `length`, which the kernel does not exceed.
    check(unsafe {
        libc::getsockopt(socket.as_fd().as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut length)
    })
    .map(drop)
}
