//! What passes the devices of a network, without a part in it: a ring of packet(7), into which the kernel copies the begin of
//! each packet (`Documentation/networking/packet_mmap.rst`).
//!
//! A socket that is read like others would hold on to the packets, and TCP does otherwise with packets that someone holds.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use super::options::set_option;
use super::packet;

const VERSION_2: i32 = 1;
/// Of each packet at most: headers with all their options, and what is left of the room.
const FRAME: usize = 512;
const BLOCK: usize = 64 << 10;
const BLOCKS: usize = 128;
const FRAMES: usize = BLOCKS * BLOCK / FRAME;
/// `TPACKET_ALIGN(sizeof(struct tpacket2_hdr))`: where the address lies.
const ADDRESS: usize = 32;

/// A packet that passed.
#[derive(Debug, Clone, Copy)]
pub struct Passed<'a> {
    /// From the network header on.
    pub bytes: &'a [u8],
    /// How long all of it is.
    pub length: u32,
    /// The kernel's `CLOCK_REALTIME` stamp.
    pub realtime_ns: i64,
    /// Of Ethernet's kinds.
    pub protocol: u16,
    /// The device's number.
    pub ifindex: i32,
    /// The device's kind.
    pub hardware: u16,
    /// Whether it came (`PACKET_HOST`), or leaves (`PACKET_OUTGOING`).
    pub direction: u8,
}

/// The ring of all devices of the network in which it was opened, also of those that come later.
#[derive(Debug)]
pub struct Passing {
    socket: OwnedFd,
    ring: *mut libc::c_void,
    next: usize,
}

impl Passing {
    /// Begins to listen.
    ///
    /// # Errors
    /// No `CAP_NET_RAW`; no memory.
    pub fn open() -> io::Result<Self> {
        // Bound to no protocol, the socket hears nothing until all is set.
        let socket = super::socket::open(libc::AF_PACKET, libc::SOCK_DGRAM, 0)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, VERSION_2)?;
        let room = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: FRAMES as u32,
        };
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, room)?;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let ring = unsafe {
            libc::mmap(ptr::null_mut(), BLOCKS * BLOCK, rights, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        if ring == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let passing = Self { socket, ring, next: 0 };
        // No child has a part in it; Linux 6.12 as a process ends in a fault when a child that has one executes a program.
        // SAFETY: the mapping is ours and this long.
        if unsafe { libc::madvise(passing.ring, BLOCKS * BLOCK, libc::MADV_DONTFORK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        packet::bind(&passing.socket, 0)?;
        Ok(passing)
    }

    /// Gives every packet that has come to `take`, in order, and makes room for others.
    pub fn drain(&mut self, mut take: impl FnMut(Passed<'_>)) {
        loop {
            // SAFETY: frames lie one behind the other, as long as the ring, and begin with their aligned status.
            let frame = unsafe { self.ring.cast_const().byte_add(self.next * FRAME) };
            // SAFETY: as above; the kernel writes the status as a whole.
            let status = unsafe { &*frame.cast::<AtomicU32>() };
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return;
            }
            // SAFETY: a frame that is ours stays as it is until its status says otherwise.
            take(unsafe { passed(frame) });
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % FRAMES;
        }
    }

    /// Packets for which there was no room, since the last call.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn missed(&self) -> io::Result<u32> {
        packet::missed(&self.socket)
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and this long, and nobody borrows from it any more.
        unsafe { libc::munmap(self.ring, BLOCKS * BLOCK) };
    }
}

/// # Safety
/// The address is that of a frame that the kernel has filled, and the frame outlives what is returned.
unsafe fn passed<'a>(frame: *const libc::c_void) -> Passed<'a> {
    // SAFETY: a frame begins with its header and, behind it, the address; both may be read as they lie.
    let (header, address) = unsafe {
        (
            ptr::read_unaligned(frame.cast::<libc::tpacket2_hdr>()),
            ptr::read_unaligned(frame.byte_add(ADDRESS).cast::<libc::sockaddr_ll>()),
        )
    };
    let begin = usize::from(header.tp_net).min(FRAME);
    let length = (header.tp_snaplen as usize).min(FRAME - begin);
    Passed {
        // SAFETY: as long as the frame at most.
        bytes: unsafe { std::slice::from_raw_parts(frame.byte_add(begin).cast(), length) },
        length: header.tp_len,
        realtime_ns: i64::from(header.tp_sec) * 1_000_000_000 + i64::from(header.tp_nsec),
        protocol: u16::from_be(address.sll_protocol),
        ifindex: address.sll_ifindex,
        hardware: address.sll_hatype,
        direction: address.sll_pkttype,
    }
}

const _: () = assert!(ADDRESS >= mem::size_of::<libc::tpacket2_hdr>());
