//! Sockets: addresses, and the calls that move many packets for one visit to the kernel.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use rustix::net::netlink::SocketAddrNetlink;
pub use rustix::net::Shutdown;
use rustix::net::{self, RecvFlags, SendFlags, SocketFlags};

use super::visit::Visit;
use super::{check, check_size};

/// What the kernel takes at most in one list of buffers or messages (`UIO_MAXIOV`).
pub const MAX_LIST: usize = 1024;

/// A new socket.
///
/// # Errors
/// What the kernel says.
pub fn open(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed; the descriptor is new and owned from here.
    unsafe {
        check(libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol)).map(|fd| OwnedFd::from_raw_fd(fd))
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

pub fn bind(socket: &impl AsFd, address: SocketAddr) -> io::Result<()> {
    Ok(net::bind(socket, &address)?)
}

/// Gives a netlink socket a number of its own, without which groups do not reach it, and joins these (a bit for each).
pub fn join_groups(socket: &impl AsFd, groups: u32) -> io::Result<()> {
    Ok(net::bind(socket, &SocketAddrNetlink::new(0, groups))?)
}

/// Blocks until connected or refused; a shutdown from another thread ends the wait.
pub fn connect(socket: &impl AsFd, address: SocketAddr) -> io::Result<()> {
    Ok(net::connect(socket, &address)?)
}

pub fn listen(socket: &impl AsFd, backlog: i32) -> io::Result<()> {
    Ok(net::listen(socket, backlog)?)
}

/// Waits for a connection; gives whose it is, too.
pub fn accept(socket: &impl AsFd) -> io::Result<(OwnedFd, Option<SocketAddr>)> {
    let (peer, address) = net::acceptfrom_with(socket, SocketFlags::CLOEXEC)?;
    Ok((peer, address.and_then(|address| address.try_into().ok())))
}

/// Ends one or both directions and wakes whoever waits in this socket, connected or not.
pub fn shutdown(socket: &impl AsFd, how: Shutdown) {
    // ENOTCONN is no failure: waiters are woken all the same.
    let _not_connected = net::shutdown(socket, how);
}

pub fn send(socket: &impl AsFd, data: &[u8]) -> io::Result<usize> {
    Ok(net::send(socket, data, SendFlags::NOSIGNAL)?)
}

pub fn receive(socket: &impl AsFd, data: &mut [u8]) -> io::Result<usize> {
    Ok(net::recv(socket, data, RecvFlags::empty())?.1)
}

/// Has a connection ended by a reset when it is closed, without anything that is still to be sent.
pub fn reset_on_close(socket: &impl AsFd) {
    let now = libc::linger { l_onoff: 1, l_linger: 0 };
    let _other_kinds_have_none = super::options::set_option(socket, libc::SOL_SOCKET, libc::SO_LINGER, now);
}

/// Bytes that a socket's send buffer holds, by the kernel's count.
pub fn send_buffer(socket: &impl AsFd) -> io::Result<usize> {
    let mut bytes = [0; 4];
    super::options::get_option_bytes(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &mut bytes)?;
    Ok(u32::from_ne_bytes(bytes) as usize)
}

/// Bytes of it that are taken by what has not left yet (`SIOCOUTQ`).
pub fn unsent(socket: &impl AsFd) -> io::Result<usize> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one number.
    check(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
    Ok(bytes as usize)
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
    pub fn send(&self, socket: &impl AsFd, times: usize) -> io::Result<usize> {
        // SAFETY: all zeroes is a valid message without address, data and control part.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = self.pieces.as_ptr().cast_mut();
        message.msg_iovlen = times.min(MAX_LIST);
        // SAFETY: the message points to live pieces, which the kernel only reads.
        check_size(unsafe {
            libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
        })
    }
}

/// Sends one message after the other, [`MAX_LIST`] at most, in one call; gives how many went and their bytes.
pub fn send_messages(socket: &impl AsFd, messages: &[&[u8]]) -> io::Result<(usize, usize)> {
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
        libc::sendmmsg(socket.as_fd().as_raw_fd(), messages.as_mut_ptr(), count, libc::MSG_NOSIGNAL)
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
pub fn discard(socket: &impl AsFd, length: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC TCP writes nothing to the buffer; an address of 0 could not be written to anyway.
    check_size(unsafe {
        libc::recv(socket.as_fd().as_raw_fd(), ptr::null_mut(), length, libc::MSG_TRUNC | libc::MSG_WAITALL)
    })
}

/// Takes what a TCP stream gives until `data` is full, the stream ends or the socket is shut down.
pub fn take(socket: &impl AsFd, data: &mut [u8]) -> io::Result<usize> {
    Ok(net::recv(socket, data, RecvFlags::WAITALL)?.1)
}

/// A datagram as it was received: its whole length, the first bytes, the kernel's `CLOCK_REALTIME` stamp, and the traffic class if the
/// socket asks for it.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    pub length: usize,
    pub head: [u8; HEAD],
    pub realtime_ns: Option<i64>,
    pub class: Option<u8>,
}

/// Bytes of a datagram that are kept.
pub const HEAD: usize = 64;

/// Bytes that one read may give of datagrams that were put together: `IP_MAX_MTU`.
pub const MERGED: usize = 65_536;

/// For a stamp, a traffic class and the size of datagrams that were put together.
const CONTROL_WORDS: usize = 10;

/// How long a call waits for datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Until all have come that it may take.
    All,
    /// For the first; it takes those that wait behind it.
    First,
    /// Not at all.
    None,
}

impl Wait {
    fn flags(self) -> i32 {
        match self {
            Self::All => 0,
            Self::First => libc::MSG_WAITFORONE,
            Self::None => libc::MSG_DONTWAIT,
        }
    }
}

/// Waits until `count` datagrams have come, the socket is shut down or its receive timeout has passed since the last one;
/// what has come until then is given. The thread sleeps inside the kernel in between.
pub fn receive_batch(socket: &impl AsFd, count: usize) -> io::Result<Vec<Received>> {
    receive_datagrams(socket, Wait::All, count)
}

/// Takes `count` datagrams at most.
pub fn receive_datagrams(socket: &impl AsFd, wait: Wait, count: usize) -> io::Result<Vec<Received>> {
    let mut heads = vec![0_u8; count.min(MAX_LIST) * HEAD];
    let taken = receive_parts(socket, wait, &mut heads, HEAD)?;
    Ok(taken
        .iter()
        .zip(heads.chunks_exact(HEAD))
        .map(|(told, head)| told.datagram(told.length, head))
        .collect())
}

/// Takes what one read gives for each `size` bytes of `buffer` at most, and splits what was put together (a socket with
/// `UDP_GRO`); shows each datagram with its bytes, and gives them all and how many reads gave some.
pub fn receive_whole(
    socket: &impl AsFd,
    wait: Wait,
    buffer: &mut [u8],
    size: usize,
    mut look: impl FnMut(&Received, &[u8]),
) -> io::Result<(Vec<Received>, usize)> {
    let taken = receive_parts(socket, wait, buffer, size)?;
    let mut datagrams = Vec::new();
    for (told, part) in taken.iter().zip(buffer.chunks_exact(size)) {
        let payload = &part[..told.length.min(part.len())];
        // A datagram that came alone has no size to split by.
        for piece in payload.chunks(told.segment.unwrap_or(size).max(1)) {
            // What is longer than its part was cut off: it counts with all that came.
            let length = if told.segment.is_some() { piece.len() } else { told.length };
            let datagram = told.datagram(length, piece);
            look(&datagram, piece);
            datagrams.push(datagram);
        }
    }
    // A socket that is shut down gives empty messages.
    Ok((datagrams, taken.iter().filter(|told| told.length > 0).count()))
}

/// What is told of a message that was received.
#[derive(Debug, Default)]
struct Told {
    length: usize,
    realtime_ns: Option<i64>,
    class: Option<u8>,
    segment: Option<usize>,
}

impl Told {
    /// A datagram of the message, `length` bytes long, that begins with `payload`.
    fn datagram(&self, length: usize, payload: &[u8]) -> Received {
        let mut head = [0; HEAD];
        let kept = payload.len().min(HEAD);
        head[..kept].copy_from_slice(&payload[..kept]);
        Received { length, head, realtime_ns: self.realtime_ns, class: self.class }
    }
}

/// Receives messages, each into its own part of `buffer`, `size` bytes long.
fn receive_parts(socket: &impl AsFd, wait: Wait, buffer: &mut [u8], size: usize) -> io::Result<Vec<Told>> {
    let mut pieces: Vec<libc::iovec> = buffer
        .chunks_exact_mut(size)
        .map(|part| libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: part.len() })
        .collect();
    let mut controls = vec![[0_u64; CONTROL_WORDS]; pieces.len()];
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
    // SAFETY: messages, pieces, the buffer and controls live through the call and are as long as they say.
    let received = check(unsafe {
        libc::recvmmsg(
            socket.as_fd().as_raw_fd(),
            messages.as_mut_ptr(),
            messages.len() as u32,
            libc::MSG_TRUNC | wait.flags(),
            ptr::null_mut(),
        )
    });
    let received = match received {
        Err(cause) if wait == Wait::None && cause.kind() == io::ErrorKind::WouldBlock => 0,
        other => other? as usize,
    };
    let told = |message: &libc::mmsghdr| Told { length: message.msg_len as usize, ..told(&message.msg_hdr) };
    Ok(messages[..received].iter().map(told).collect())
}

/// Waits for one message and takes those that have come with it, each into its own part of `buffer`, `size` bytes long;
/// gives their lengths.
pub fn receive_ready(socket: &impl AsFd, buffer: &mut [u8], size: usize) -> io::Result<Vec<usize>> {
    receive_ready_after(Visit::new(), socket, buffer, size)
}

/// The same after the calls of a list, in one visit to the kernel.
///
/// # Errors
/// Why nothing could be received, or the first call failed that was needed.
pub fn receive_ready_after(
    mut visit: Visit<'_>,
    socket: &impl AsFd,
    buffer: &mut [u8],
    size: usize,
) -> io::Result<Vec<usize>> {
    let mut pieces: Vec<libc::iovec> = buffer
        .chunks_exact_mut(size)
        .map(|part| libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: part.len() })
        .collect();
    let mut messages: Vec<libc::mmsghdr> = pieces
        .iter_mut()
        .map(|piece| libc::mmsghdr { msg_hdr: message(std::slice::from_mut(piece)), msg_len: 0 })
        .collect();
    let (list, count) = (messages.as_mut_ptr() as u64, messages.len() as u64);
    let arguments = [socket.as_fd().as_raw_fd() as u64, list, count, libc::MSG_WAITFORONE as u64, 0];
    // SAFETY: messages, pieces and the buffer live through the call and are as long as they say.
    let received = unsafe { visit.call(libc::SYS_recvmmsg, &arguments) };
    let results = visit.carry_out()?;
    results.check()?;
    Ok(messages[..results.of(received)?].iter().map(|message| message.msg_len as usize).collect())
}

/// What a message's control data tell: the `SO_TIMESTAMPNS` stamp, the traffic class, the size of what was put together.
fn told(header: &libc::msghdr) -> Told {
    let mut known = Told::default();
    // SAFETY: the kernel filled the control buffer, which still lives, and set its length; the macros walk inside it.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while let Some(entry) = control.as_ref() {
            let data = libc::CMSG_DATA(control);
            match (entry.cmsg_level, entry.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let at: libc::timespec = ptr::read_unaligned(data.cast());
                    known.realtime_ns = Some(at.tv_sec * 1_000_000_000 + at.tv_nsec);
                }
                // A byte of the header here, a whole number there.
                (libc::IPPROTO_IP, libc::IP_TOS) => known.class = Some(*data),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    known.class = Some(ptr::read_unaligned(data.cast::<libc::c_int>()) as u8);
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let size = ptr::read_unaligned(data.cast::<libc::c_int>());
                    known.segment = usize::try_from(size).ok();
                }
                _ => {}
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    known
}

/// Lets only those packets into the socket that a classic BPF program accepts.
pub fn attach_filter(socket: &impl AsFd, program: &mut [libc::sock_filter]) -> io::Result<()> {
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program lives through the call and is as long as it says.
    unsafe { super::options::set_payload(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter) }
}
