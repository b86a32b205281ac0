//! Sockets: addresses, and the calls that move many packets for one visit to the kernel.

use std::io;
use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use super::{check, check_size};

/// What the kernel takes at most in one list of buffers or messages (`UIO_MAXIOV`).
pub const MAX_LIST: usize = 1024;

/// An address in the kernel's own form.
struct Name {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Name {
    fn new(address: SocketAddr) -> Self {
        // SAFETY: all zeroes is a valid, unspecified address.
        let mut storage: libc::sockaddr_storage = unsafe { mem::zeroed() };
        let length = match address {
            SocketAddr::V4(v4) => {
                let name = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from(*v4.ip()).to_be() },
                    sin_zero: [0; 8],
                };
                // SAFETY: the storage is large enough and aligned for every kind of address.
                unsafe { ptr::write((&raw mut storage).cast(), name) };
                mem::size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                let name = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                // SAFETY: as above.
                unsafe { ptr::write((&raw mut storage).cast(), name) };
                mem::size_of::<libc::sockaddr_in6>()
            }
        };
        Self { storage, length: length as libc::socklen_t }
    }

    /// The address that the kernel has put here; `None` where it is of another family.
    fn address(&self) -> Option<SocketAddr> {
        // SAFETY: the storage is large enough, aligned and initialised for every kind of address; the family says which it is.
        unsafe {
            match i32::from(self.storage.ss_family) {
                libc::AF_INET => {
                    let name = (&raw const self.storage).cast::<libc::sockaddr_in>().read();
                    let ip = Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr));
                    Some(SocketAddr::from((ip, u16::from_be(name.sin_port))))
                }
                libc::AF_INET6 => {
                    let name = (&raw const self.storage).cast::<libc::sockaddr_in6>().read();
                    let ip = Ipv6Addr::from(name.sin6_addr.s6_addr);
                    Some(SocketAddr::from((ip, u16::from_be(name.sin6_port))))
                }
                _ => None,
            }
        }
    }

    fn pointer(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }
}

/// `AF_INET` or `AF_INET6`, as the address is.
#[must_use]
pub fn family(address: SocketAddr) -> i32 {
    if address.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    }
}

pub fn bind(socket: &impl AsRawFd, address: SocketAddr) -> io::Result<()> {
    let name = Name::new(address);
    // SAFETY: `name` is a valid address of the length given.
    check(unsafe { libc::bind(socket.as_raw_fd(), name.pointer(), name.length) }).map(drop)
}

/// Blocks until connected or refused; a shutdown from another thread ends the wait.
pub fn connect(socket: &impl AsRawFd, address: SocketAddr) -> io::Result<()> {
    let name = Name::new(address);
    // SAFETY: `name` is a valid address of the length given.
    check(unsafe { libc::connect(socket.as_raw_fd(), name.pointer(), name.length) }).map(drop)
}

pub fn listen(socket: &impl AsRawFd, backlog: i32) -> io::Result<()> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::listen(socket.as_raw_fd(), backlog) }).map(drop)
}

/// Waits for a connection; gives whose it is, too.
pub fn accept(socket: &impl AsRawFd) -> io::Result<(OwnedFd, Option<SocketAddr>)> {
    // SAFETY: all zeroes is a valid, unspecified address.
    let storage: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let mut name = Name { storage, length: mem::size_of_val(&storage) as libc::socklen_t };
    // SAFETY: `name` has room for every address and says how much; the descriptor is new and owned from here.
    let peer = unsafe {
        let (address, length) = ((&raw mut name.storage).cast(), &raw mut name.length);
        check(libc::accept4(socket.as_raw_fd(), address, length, libc::SOCK_CLOEXEC))
            .map(|fd| OwnedFd::from_raw_fd(fd))
    }?;
    Ok((peer, name.address()))
}

/// Ends one or both directions and wakes whoever waits in this socket, connected or not.
pub fn shutdown(socket: &impl AsRawFd, how: i32) {
    // SAFETY: no memory is passed. ENOTCONN is no failure: waiters are woken all the same.
    unsafe { libc::shutdown(socket.as_raw_fd(), how) };
}

/// Has a connection ended by a reset when it is closed, without anything that is still to be sent.
pub fn reset_on_close(socket: &impl AsRawFd) {
    let now = libc::linger { l_onoff: 1, l_linger: 0 };
    let _other_kinds_have_none = super::set_option(socket, libc::SOL_SOCKET, libc::SO_LINGER, now);
}

/// One buffer named [`MAX_LIST`] times, for all who send it: sixteen kilobytes that each sender would else fill for itself.
pub struct Repeated {
    buffer: Vec<u8>,
    pieces: Vec<libc::iovec>,
}

// SAFETY: the pointers lead into `buffer`, which is never written to and lives as long.
unsafe impl Send for Repeated {}
// SAFETY: as above.
unsafe impl Sync for Repeated {}

impl Repeated {
    #[must_use]
    pub fn new(buffer: Vec<u8>) -> Self {
        let piece = libc::iovec { iov_base: buffer.as_ptr().cast_mut().cast(), iov_len: buffer.len() };
        Self { buffer, pieces: vec![piece; MAX_LIST] }
    }

    /// The buffer once.
    #[must_use]
    pub fn once(&self) -> &[u8] {
        &self.buffer
    }

    /// Sends it `times` over in one call, [`MAX_LIST`] times at most; gives the bytes the kernel took.
    pub fn send(&self, socket: &impl AsRawFd, times: usize) -> io::Result<usize> {
        // SAFETY: all zeroes is a valid message without address, data and control part.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = self.pieces.as_ptr().cast_mut();
        message.msg_iovlen = times.min(MAX_LIST);
        // SAFETY: the message points to live pieces, which the kernel only reads.
        check_size(unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) })
    }
}

/// Sends one message after the other, [`MAX_LIST`] at most, in one call; gives how many went and their bytes.
pub fn send_messages(socket: &impl AsRawFd, messages: &[&[u8]]) -> io::Result<(usize, usize)> {
    let mut pieces: Vec<libc::iovec> = messages
        .iter()
        .take(MAX_LIST)
        .map(|data| libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() })
        .collect();
    let mut messages: Vec<libc::mmsghdr> = pieces
        .iter_mut()
        .map(|piece| libc::mmsghdr { msg_hdr: message(std::slice::from_mut(piece)), msg_len: 0 })
        .collect();
    let count = messages.len() as u32;
    // SAFETY: messages and pieces live through the call; the kernel reads the data and writes `msg_len`.
    let sent = check(unsafe {
        libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), count, libc::MSG_NOSIGNAL)
    })? as usize;
    Ok((sent, messages[..sent].iter().map(|message| message.msg_len as usize).sum()))
}

fn message(pieces: &mut [libc::iovec]) -> libc::msghdr {
    // SAFETY: all zeroes is a valid message without address, data and control part.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = pieces.as_mut_ptr();
    message.msg_iovlen = pieces.len();
    message
}

/// Takes `length` bytes from a TCP stream and drops them, without coming back before they are all there, the stream
/// ends or the socket is shut down. The kernel consumes each segment as it arrives and copies nothing.
pub fn discard(socket: &impl AsRawFd, length: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC TCP writes nothing to the buffer; an address of 0 could not be written to anyway.
    check_size(unsafe {
        libc::recv(socket.as_raw_fd(), ptr::null_mut(), length, libc::MSG_TRUNC | libc::MSG_WAITALL)
    })
}

/// A datagram as it was received: its whole length, the first bytes, and the kernel's `CLOCK_REALTIME` stamp.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    pub length: usize,
    pub head: [u8; HEAD],
    pub realtime_ns: Option<i64>,
}

/// Bytes of a datagram that are kept.
pub const HEAD: usize = 64;

const CONTROL_WORDS: usize = 8;

/// Waits until `count` datagrams have come, the socket is shut down or its receive timeout has passed since the last one;
/// what has come until then is given. The thread sleeps inside the kernel in between.
pub fn receive_batch(socket: &impl AsRawFd, count: usize) -> io::Result<Vec<Received>> {
    receive(socket, count, 0)
}

/// Waits for one datagram and takes those that wait behind it, `count` at most.
pub fn receive_first(socket: &impl AsRawFd, count: usize) -> io::Result<Vec<Received>> {
    receive(socket, count, libc::MSG_WAITFORONE)
}

/// Takes what waits, `count` datagrams at most, and waits for none.
pub fn receive_waiting(socket: &impl AsRawFd, count: usize) -> io::Result<Vec<Received>> {
    match receive(socket, count, libc::MSG_DONTWAIT) {
        Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => Ok(Vec::new()),
        other => other,
    }
}

fn receive(socket: &impl AsRawFd, count: usize, flags: i32) -> io::Result<Vec<Received>> {
    let count = count.min(MAX_LIST);
    let mut heads = vec![[0_u8; HEAD]; count];
    let mut controls = vec![[0_u64; CONTROL_WORDS]; count];
    let mut pieces: Vec<libc::iovec> = heads
        .iter_mut()
        .map(|head| libc::iovec { iov_base: head.as_mut_ptr().cast(), iov_len: HEAD })
        .collect();
    let mut messages: Vec<libc::mmsghdr> = pieces
        .iter_mut()
        .zip(&mut controls)
        .map(|(piece, control)| {
            let mut header = message(std::slice::from_mut(piece));
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = mem::size_of_val(control);
            libc::mmsghdr { msg_hdr: header, msg_len: 0 }
        })
        .collect();
    // SAFETY: messages, pieces, heads and controls live through the call and are as long as they say.
    let received = check(unsafe {
        libc::recvmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            count as u32,
            libc::MSG_TRUNC | flags,
            ptr::null_mut(),
        )
    })? as usize;
    Ok(messages[..received]
        .iter()
        .zip(heads)
        .map(|(message, head)| Received {
            length: message.msg_len as usize,
            head,
            realtime_ns: stamp(&message.msg_hdr),
        })
        .collect())
}

/// Waits for one message and takes those that have come with it, each into its own part of `buffer`, `size` bytes long;
/// gives their lengths.
pub fn receive_ready(socket: &impl AsRawFd, buffer: &mut [u8], size: usize) -> io::Result<Vec<usize>> {
    let mut pieces: Vec<libc::iovec> = buffer
        .chunks_exact_mut(size)
        .map(|part| libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: part.len() })
        .collect();
    let mut messages: Vec<libc::mmsghdr> = pieces
        .iter_mut()
        .map(|piece| libc::mmsghdr { msg_hdr: message(std::slice::from_mut(piece)), msg_len: 0 })
        .collect();
    let (list, count) = (messages.as_mut_ptr(), messages.len() as u32);
    // SAFETY: messages, pieces and the buffer live through the call and are as long as they say.
    let received = check(unsafe {
        libc::recvmmsg(socket.as_raw_fd(), list, count, libc::MSG_WAITFORONE, ptr::null_mut())
    })? as usize;
    Ok(messages[..received].iter().map(|message| message.msg_len as usize).collect())
}

/// The `SO_TIMESTAMPNS` stamp among a message's control data.
fn stamp(header: &libc::msghdr) -> Option<i64> {
    // SAFETY: the kernel filled the control buffer, which still lives, and set its length; the macros walk inside it.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while let Some(entry) = control.as_ref() {
            if entry.cmsg_level == libc::SOL_SOCKET && entry.cmsg_type == libc::SCM_TIMESTAMPNS {
                let at: libc::timespec = ptr::read_unaligned(libc::CMSG_DATA(control).cast());
                return Some(at.tv_sec * 1_000_000_000 + at.tv_nsec);
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    None
}

/// Lets only those packets into the socket that a classic BPF program accepts.
pub fn attach_filter(socket: &impl AsRawFd, program: &mut [libc::sock_filter]) -> io::Result<()> {
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program lives through the call and is as long as it says.
    unsafe { super::set_payload(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter) }
}
