//! One conversation: what either end did, and how much of it arrived.

use super::{End, Protocol};
use crate::kernel::netlink::u64_at;

/// States of TCP (`include/net/tcp_states.h`).
const ESTABLISHED: i32 = 1;
const SYN_SENT: i32 = 2;
const SYN_RECV: i32 = 3;
const FIN_WAIT1: i32 = 4;
const FIN_WAIT2: i32 = 5;
const TIME_WAIT: i32 = 6;
const CLOSE: i32 = 7;
const CLOSE_WAIT: i32 = 8;
const LAST_ACK: i32 = 9;
const LISTEN: i32 = 10;
const CLOSING: i32 = 11;

/// What a change of state means for the end whose socket it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Its connection was answered.
    Connected,
    /// It has taken a connection.
    Accepted,
    /// Nobody answered, or somebody refused.
    Failed,
    /// It will send no more.
    Finished,
    /// It has all that the other end sent.
    GotAll,
    /// It is closed, after both ends said that they would send no more.
    Closed,
    /// It is closed although that was not said.
    Broken,
}

impl Step {
    /// `None` of what says nothing here.
    #[must_use]
    pub fn of(old: i32, new: i32) -> Option<Self> {
        match (old, new) {
            (SYN_SENT, ESTABLISHED) => Some(Self::Connected),
            (SYN_RECV, ESTABLISHED) => Some(Self::Accepted),
            (SYN_SENT, CLOSE) => Some(Self::Failed),
            (LISTEN, _) => None,
            (_, FIN_WAIT1 | LAST_ACK) => Some(Self::Finished),
            (_, CLOSE_WAIT | CLOSING | TIME_WAIT) => Some(Self::GotAll),
            (ESTABLISHED | FIN_WAIT1 | CLOSE_WAIT | SYN_RECV, CLOSE) => Some(Self::Broken),
            (FIN_WAIT2 | LAST_ACK | CLOSING, CLOSE) => Some(Self::Closed),
            _ => None,
        }
    }

    /// Whether a connection begins with it.
    #[must_use]
    pub fn is_first(self) -> bool {
        matches!(self, Self::Connected | Self::Accepted | Self::Failed)
    }
}

/// What the kernel counts of a socket (`struct tcp_info`, `include/uapi/linux/tcp.h`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Info {
    pub received: u64,
    pub sent: u64,
    pub again: u64,
}

impl Info {
    /// Bytes received, with the end of the stream as one of them; payload sent, and of it what was sent again (Linux 4.19).
    #[must_use]
    pub fn read(info: &[u8]) -> Self {
        const BYTES_RECEIVED: usize = 128;
        const BYTES_SENT: usize = 200;
        const BYTES_RETRANS: usize = 208;
        let [received, sent, again] =
            [BYTES_RECEIVED, BYTES_SENT, BYTES_RETRANS].map(|at| u64_at(info, at).unwrap_or(0));
        Self { received, sent, again }
    }
}

/// One end.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is known apart from the others")]
pub(super) struct Half {
    pub connected_ns: Option<i64>,
    pub finished_ns: Option<i64>,
    pub got_all_ns: Option<i64>,
    pub closed_ns: Option<i64>,
    pub broken: bool,
    /// Payload, what was sent again left out; of UDP, payload that left.
    pub sent: u64,
    pub received: u64,
    pub packets_sent: u64,
    pub packets_received: u64,
    /// Of UDP: the last packet that left, and that arrived.
    pub sent_ns: Option<i64>,
    pub received_ns: Option<i64>,
    /// Whether the kernel told of the socket.
    pub known: bool,
    pub had_last_words: bool,
    speaks: bool,
    in_flight: bool,
}

/// Two ends, the one first that was seen first; `halves` likewise.
#[derive(Debug)]
pub(super) struct Conversation {
    pub protocol: Protocol,
    pub ends: [End; 2],
    pub halves: [Half; 2],
    pub first_ns: i64,
    pub last_ns: i64,
    /// Which end began it.
    pub opener: usize,
    /// The process that did, where it is known.
    pub pid: Option<i32>,
    pub failed: bool,
    /// The conversation before it that had the same ends.
    pub previous: Option<usize>,
}

impl Conversation {
    pub fn new(protocol: Protocol, ends: [End; 2], t_ns: i64, previous: Option<usize>) -> Self {
        Self {
            protocol,
            ends,
            halves: [Half::default(); 2],
            first_ns: t_ns,
            last_ns: t_ns,
            opener: 0,
            pid: None,
            failed: false,
            previous,
        }
    }

    pub fn step(&mut self, end: usize, step: Step, t_ns: i64, opening: Option<(i64, i32)>) {
        self.last_ns = self.last_ns.max(t_ns);
        let other_finished = self.halves[1 - end].finished_ns.is_some();
        let half = &mut self.halves[end];
        match step {
            Step::Connected | Step::Accepted => half.connected_ns = Some(t_ns),
            Step::Failed => half.closed_ns = Some(t_ns),
            Step::Finished => half.finished_ns = Some(t_ns),
            Step::GotAll => half.got_all_ns = Some(t_ns),
            Step::Closed => {
                half.closed_ns = Some(t_ns);
                // From FIN_WAIT2 a socket that nobody holds is closed at once, or with the other end's FIN.
                if other_finished && half.got_all_ns.is_none() {
                    half.got_all_ns = Some(t_ns);
                }
            }
            Step::Broken => (half.closed_ns, half.broken) = (Some(t_ns), true),
        }
        match step {
            Step::Connected | Step::Failed => self.opener = end,
            Step::Accepted => self.opener = 1 - end,
            _ => {}
        }
        self.failed |= step == Step::Failed;
        if let Some((began_ns, pid)) = opening {
            self.first_ns = self.first_ns.min(began_ns);
            self.pid = Some(pid);
        }
    }

    pub fn acknowledged(&mut self, end: usize, in_flight: bool) -> bool {
        let half = &mut self.halves[end];
        let before = std::mem::replace(&mut half.in_flight, in_flight);
        half.speaks |= in_flight;
        in_flight || before
    }

    pub fn told(&mut self, end: usize, info: &Info) {
        let half = &mut self.halves[end];
        half.known = true;
        half.sent = half.sent.max(info.sent.saturating_sub(info.again));
        half.received = half.received.max(info.received);
    }

    /// A datagram, or several that are still one packet, at the end that they leave (or arrive at).
    pub fn datagrams(&mut self, end: usize, leaving: bool, (packets, bytes): (u64, u64), t_ns: i64) {
        self.last_ns = self.last_ns.max(t_ns);
        self.first_ns = self.first_ns.min(t_ns);
        let half = &mut self.halves[end];
        half.known = true;
        if leaving {
            half.packets_sent += packets;
            half.sent += bytes;
            half.sent_ns = Some(t_ns);
            half.connected_ns.get_or_insert(t_ns);
        } else {
            half.packets_received += packets;
            half.received += bytes;
            half.received_ns = Some(t_ns);
        }
    }

    /// Whether the direction that begins at an end carries payload.
    pub fn carries(&self, end: usize) -> bool {
        let half = &self.halves[end];
        half.speaks || half.sent > 0 || half.packets_sent > 0 || self.arrived(end) > Some(0)
    }

    /// Whether what begins at an end counts as a flow so far: the opener's direction always does.
    pub fn is_flow(&self, end: usize) -> bool {
        end == self.opener || self.carries(end)
    }

    pub fn is_closed(&self, end: usize) -> bool {
        self.halves[end].closed_ns.is_some()
    }

    /// Payload of the direction that begins at an end, as it arrived at the other one; `None` where nobody knows.
    pub fn arrived(&self, end: usize) -> Option<u64> {
        let (half, other) = (&self.halves[end], &self.halves[1 - end]);
        let received = other.known.then_some(other.received);
        if other.got_all_ns.is_none() {
            return received;
        }
        // What was sent, then. The receiver counts the end of the stream as a byte, and is not asked any more where a process holds
        // its socket beyond the end.
        received.map(|bytes| bytes.saturating_sub(1)).max(half.known.then_some(half.sent))
    }
}
