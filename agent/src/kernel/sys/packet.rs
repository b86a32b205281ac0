//! Whole frames as they pass a device: packet(7), many for one visit to the kernel.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use super::check;
use super::options::{get_option_bytes, set_option};

/// Frames taken in one call.
const BATCH: usize = 64;
/// Room for a frame of usual size; the rest of a larger one goes elsewhere, so that queues of small ones stay small.
const SMALL: usize = 2048;
/// The largest frame that is not cut: a GSO super-frame, its link header and its `virtio_net_hdr`.
const LARGE: usize = (64 << 10) + 128;
/// Room for one `tpacket_auxdata` and one `timespec` with their headers.
const CONTROL_WORDS: usize = 12;
const RECEIVE_BUFFER: i32 = 64 << 20;

/// Bytes of `struct virtio_net_hdr` in front of each frame.
pub const OFFLOAD_HEADER: usize = 10;

const PACKET_IGNORE_OUTGOING: i32 = 23;

/// A frame that came.
#[derive(Debug)]
pub struct Arrival {
    /// `struct virtio_net_hdr`, then the frame without the VLAN tag that the kernel took out of it.
    pub bytes: Vec<u8>,
    /// The kernel's `CLOCK_REALTIME` stamp.
    pub realtime_ns: Option<i64>,
    /// The tag: protocol and control information, as on the wire.
    pub tag: Option<[u8; 4]>,
}

/// A socket for all that arrives at a device from its cable, whoever it is meant for, and for what is to leave by it.
///
/// # Errors
/// No `CAP_NET_RAW`; no such device.
pub fn open(ifindex: u32) -> io::Result<OwnedFd> {
    // Bound to no protocol, the socket hears nothing until all is set.
    let socket = super::socket::open(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
    for name in [libc::PACKET_VNET_HDR, libc::PACKET_AUXDATA, PACKET_IGNORE_OUTGOING] {
        set_option(&socket, libc::SOL_PACKET, name, 1_i32)?;
    }
    set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1_i32)?;
    // Beyond net.core.rmem_max; without the right to it what is allowed has to do.
    if set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER).is_err() {
        set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER)?;
    }
    let all = libc::packet_mreq {
        mr_ifindex: ifindex as i32,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, all)?;
    bind(&socket, ifindex)?;
    Ok(socket)
}

/// All protocols of a device; of all devices where it is 0.
pub(super) fn bind(socket: &OwnedFd, ifindex: u32) -> io::Result<()> {
    // SAFETY: all zeroes is a valid link-layer address.
    let mut name: libc::sockaddr_ll = unsafe { mem::zeroed() };
    name.sll_family = libc::AF_PACKET as u16;
    name.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    name.sll_ifindex = ifindex as i32;
    let length = mem::size_of_val(&name) as libc::socklen_t;
    // SAFETY: `name` is a valid address of the length given.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const name).cast(), length) }).map(drop)
}

/// Frames that the socket had no room for, since the last call.
pub fn missed(socket: &OwnedFd) -> io::Result<u32> {
    let mut statistics = [0_u8; 8];
    get_option_bytes(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut statistics)?;
    let [.., a, b, c, d] = statistics;
    Ok(u32::from_ne_bytes([a, b, c, d]))
}

/// Where frames are put as they come, reused from call to call.
#[derive(Debug)]
pub struct Inbox {
    small: Vec<Vec<u8>>,
    large: Vec<u8>,
    spare: Vec<Vec<u8>>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            small: vec![vec![0; SMALL]; BATCH],
            large: vec![0; BATCH * (LARGE - SMALL)],
            spare: Vec::new(),
        }
    }
}

impl Inbox {
    /// The frames that wait, [`BATCH`] at most; none is no failure.
    pub fn receive(&mut self, socket: &OwnedFd) -> io::Result<Vec<Arrival>> {
        let mut controls = [[0_u64; CONTROL_WORDS]; BATCH];
        let mut pieces: Vec<[libc::iovec; 2]> = self
            .small
            .iter_mut()
            .zip(self.large.chunks_exact_mut(LARGE - SMALL))
            .map(|(small, large)| [piece(small), piece(large)])
            .collect();
        let mut messages: Vec<libc::mmsghdr> = pieces
            .iter_mut()
            .zip(&mut controls)
            .map(|(pieces, control)| libc::mmsghdr { msg_hdr: message(pieces, control), msg_len: 0 })
            .collect();
        let (list, count) = (messages.as_mut_ptr(), messages.len() as u32);
        // SAFETY: messages, pieces, buffers and controls live through the call and are as long as they say.
        let received = check(unsafe {
            libc::recvmmsg(socket.as_raw_fd(), list, count, libc::MSG_DONTWAIT, ptr::null_mut())
        });
        let received = match received {
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return Ok(Vec::new()),
            other => other? as usize,
        };
        Ok((0..received).map(|at| self.arrival(at, &messages[at])).collect())
    }

    fn arrival(&mut self, at: usize, message: &libc::mmsghdr) -> Arrival {
        let fresh = self.spare.pop().unwrap_or_else(|| vec![0; SMALL]);
        let mut bytes = mem::replace(&mut self.small[at], fresh);
        let length = message.msg_len as usize;
        let beyond = length.saturating_sub(SMALL);
        bytes.truncate(length);
        bytes.extend_from_slice(&self.large[at * (LARGE - SMALL)..][..beyond]);
        let (realtime_ns, tag) = beside(&message.msg_hdr);
        Arrival { bytes, realtime_ns, tag }
    }

    /// Takes back the memory of a frame that has gone.
    pub fn recycle(&mut self, mut bytes: Vec<u8>) {
        if bytes.capacity() < 2 * SMALL {
            bytes.resize(SMALL, 0);
            self.spare.push(bytes);
        }
    }
}

fn piece(buffer: &mut [u8]) -> libc::iovec {
    libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() }
}

fn message(pieces: &mut [libc::iovec], control: &mut [u64]) -> libc::msghdr {
    // SAFETY: all zeroes is a valid message without address, data and control part.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = pieces.as_mut_ptr();
    message.msg_iovlen = pieces.len();
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = mem::size_of_val(control);
    message
}

/// The stamp and the VLAN tag among a message's control data.
fn beside(header: &libc::msghdr) -> (Option<i64>, Option<[u8; 4]>) {
    let (mut stamp, mut tag) = (None, None);
    // SAFETY: the kernel filled the control buffer, which still lives, and set its length; the macros walk inside it.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while let Some(entry) = control.as_ref() {
            let data = libc::CMSG_DATA(control);
            match (entry.cmsg_level, entry.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let at: libc::timespec = ptr::read_unaligned(data.cast());
                    stamp = Some(at.tv_sec * 1_000_000_000 + at.tv_nsec);
                }
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                    tag = vlan_tag(ptr::read_unaligned(data.cast()));
                }
                _ => {}
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    (stamp, tag)
}

fn vlan_tag(aside: libc::tpacket_auxdata) -> Option<[u8; 4]> {
    let has = |bit| aside.tp_status & bit != 0;
    let protocol =
        if has(libc::TP_STATUS_VLAN_TPID_VALID) { aside.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
    let [a, b] = protocol.to_be_bytes();
    let [c, d] = aside.tp_vlan_tci.to_be_bytes();
    has(libc::TP_STATUS_VLAN_VALID).then_some([a, b, c, d])
}
