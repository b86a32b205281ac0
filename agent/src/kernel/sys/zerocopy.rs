//! Sends without a copy (`MSG_ZEROCOPY`), and what the kernel says when it is done with the pages.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd};

use super::{check, check_size};

/// Which of the things that an error queue tells of (`SO_EE_ORIGIN_ZEROCOPY`; the `libc` crate has no such name).
const ZEROCOPY: u8 = 5;
/// The kernel had to copy the bytes after all (`SO_EE_CODE_ZEROCOPY_COPIED`).
const COPIED: u8 = 1;
/// Room for one `sock_extended_err`, the address behind it, and their header.
const CONTROL_WORDS: usize = 16;

/// Calls whose pages the kernel no longer needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Completed {
    pub sends: u64,
    /// Of these, those that were copied.
    pub copied: u64,
}

/// Allows it on a socket (`SO_ZEROCOPY`).
///
/// # Errors
/// The kernel is older than 4.14, or the socket of another kind.
pub fn allow(socket: &impl AsFd) -> io::Result<()> {
    super::options::set_option(socket, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1_i32)
}

/// Sends; the pages of `data` are the kernel's to read until it says that it is done.
///
/// # Errors
/// What the kernel says: `ENOBUFS` where too much waits in the error queue.
pub fn send(socket: &impl AsFd, data: &'static [u8]) -> io::Result<usize> {
    // SAFETY: `data` is valid for its length, for ever.
    check_size(unsafe {
        libc::send(
            socket.as_fd().as_raw_fd(),
            data.as_ptr().cast(),
            data.len(),
            libc::MSG_NOSIGNAL | libc::MSG_ZEROCOPY,
        )
    })
}

/// Takes all that the kernel has said until now.
///
/// # Errors
/// What the kernel says of the error queue.
pub fn completed(socket: &impl AsFd) -> io::Result<Completed> {
    let mut all = Completed::default();
    loop {
        match notification(socket) {
            Ok(Some(one)) => {
                all.sends += one.sends;
                all.copied += one.copied;
            }
            Ok(None) => {}
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return Ok(all),
            Err(cause) => return Err(cause),
        }
    }
}

/// Waits until the kernel has something to say, or the connection has ended.
///
/// # Errors
/// What the kernel says.
pub fn wait(socket: &impl AsFd) -> io::Result<()> {
    let mut one = libc::pollfd { fd: socket.as_fd().as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: one entry, which lives through the call.
    check(unsafe { libc::poll(&raw mut one, 1, -1) }).map(drop)
}

/// One entry of the error queue; nothing if it tells of something else.
fn notification(socket: &impl AsFd) -> io::Result<Option<Completed>> {
    let mut control = [0_u64; CONTROL_WORDS];
    // SAFETY: all zeroes is a valid message without address, data and control part.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = mem::size_of_val(&control);
    // SAFETY: the message and its control part live through the call.
    check_size(unsafe {
        libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT)
    })?;
    // SAFETY: the kernel has filled the control part, and said how much of it.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    if header.is_null() {
        return Ok(None);
    }
    // SAFETY: a header that is there is whole; what follows may lie anywhere.
    let error: libc::sock_extended_err = unsafe {
        if !matches!(
            ((*header).cmsg_level, (*header).cmsg_type),
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR)
        ) {
            return Ok(None);
        }
        libc::CMSG_DATA(header).cast::<libc::sock_extended_err>().read_unaligned()
    };
    Ok(told(&error))
}

/// What an entry says: a range of calls, and whether they were copied.
fn told(error: &libc::sock_extended_err) -> Option<Completed> {
    if error.ee_origin != ZEROCOPY || error.ee_errno != 0 {
        return None;
    }
    let sends = u64::from(error.ee_data.wrapping_sub(error.ee_info)) + 1;
    let copied = if error.ee_code & COPIED != 0 { sends } else { 0 };
    Some(Completed { sends, copied })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(origin: u8, first: u32, last: u32, code: u8) -> libc::sock_extended_err {
        libc::sock_extended_err {
            ee_errno: 0,
            ee_origin: origin,
            ee_type: 0,
            ee_code: code,
            ee_pad: 0,
            ee_info: first,
            ee_data: last,
        }
    }

    #[test]
    fn an_entry_tells_of_a_range_that_may_run_over() {
        let one = |first, last, code| told(&entry(ZEROCOPY, first, last, code));
        assert_eq!(one(3, 3, 0), Some(Completed { sends: 1, copied: 0 }));
        assert_eq!(one(3, 7, COPIED), Some(Completed { sends: 5, copied: 5 }));
        assert_eq!(one(u32::MAX, 1, 0), Some(Completed { sends: 3, copied: 0 }));
    }

    #[test]
    fn other_entries_tell_nothing() {
        assert_eq!(told(&entry(libc::SO_EE_ORIGIN_ICMP, 0, 0, 0)), None);
    }
}
