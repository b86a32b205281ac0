//! Flows: who talks to whom, how, and when.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;

use crate::error::{Error, Result};

include!(concat!(env!("OUT_DIR"), "/flow_kinds.rs"));

/// Who drives a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Generator {
    #[default]
    Agent,
    Iperf3,
}

/// Which ends connect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Open {
    /// The sender; the receiver listens.
    #[default]
    Sender,
    /// Both at the same instant, as RFC 9293 (section 3.5) has it.
    Both,
}

/// What a sender does with its socket when it has handed over everything; a client (`crr`) when it has its response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Close {
    /// It ends its direction and keeps the socket until the receiver has ended the other; a client waits for the server.
    #[default]
    Wait,
    /// It closes it: what is still to be sent is the kernel's own matter.
    Leave,
    /// It aborts the connection: what is still to be sent is dropped.
    Reset,
}

/// One conversation with one payload direction, `from` → `to`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "one switch for each option of a socket")]
pub struct Flow {
    pub id: u32,
    pub name: String,
    pub kind: Kind,
    #[serde(default)]
    pub generator: Generator,
    pub from: String,
    pub to: String,
    pub src: String,
    pub dst: String,
    #[serde(default)]
    pub sport: u16,
    #[serde(default)]
    pub dport: u16,
    pub start_ns: i64,
    #[serde(default)]
    pub stop_ns: Option<i64>,
    #[serde(default)]
    pub bytes: Option<u64>,
    #[serde(default)]
    pub cc: Option<String>,
    #[serde(default)]
    pub receiver_cc: Option<String>,
    #[serde(default)]
    pub rate_bps: Option<u64>,
    #[serde(default)]
    pub pacing_bps: Option<u64>,
    #[serde(default)]
    pub message_bytes: Option<u32>,
    #[serde(default)]
    pub packet_bytes: Option<u32>,
    #[serde(default)]
    pub count: Option<u64>,
    #[serde(default)]
    pub interval_ns: Option<i64>,
    #[serde(default)]
    pub patience_ns: Option<i64>,
    #[serde(default)]
    pub request_bytes: Option<u32>,
    #[serde(default)]
    pub response_bytes: Option<u32>,
    /// Requests that a client has under way at once over its one connection; without it, one.
    #[serde(default)]
    pub in_flight: Option<u32>,
    #[serde(default)]
    pub sndbuf: Option<u32>,
    #[serde(default)]
    pub rcvbuf: Option<u32>,
    #[serde(default)]
    pub read_bps: Option<u64>,
    /// How often the reader of a UDP flow comes; without it, as soon as something is there.
    #[serde(default)]
    pub read_interval_ns: Option<i64>,
    /// The receiver counts datagrams by the traffic class in which they come.
    #[serde(default)]
    pub read_class: bool,
    #[serde(default)]
    pub tos: Option<u8>,
    #[serde(default)]
    pub mss: Option<u32>,
    #[serde(default)]
    pub nodelay: Option<bool>,
    /// `SO_KEEPALIVE` at both ends.
    #[serde(default)]
    pub keepalive: bool,
    /// `TCP_KEEPIDLE`, `TCP_KEEPINTVL` and `TCP_KEEPCNT` at both ends.
    #[serde(default)]
    pub keepalive_time_ns: Option<i64>,
    #[serde(default)]
    pub keepalive_interval_ns: Option<i64>,
    #[serde(default)]
    pub keepalive_probes: Option<u32>,
    /// `TCP_USER_TIMEOUT` at the sender.
    #[serde(default)]
    pub user_timeout_ns: Option<i64>,
    /// The first data go with the SYN, where the kernels allow it.
    #[serde(default)]
    pub fastopen: bool,
    /// The kernel sends from the pages of the sender, and says when it is done with them (`MSG_ZEROCOPY`).
    #[serde(default)]
    pub zerocopy: bool,
    /// The receiver compares what arrives with what was sent, byte by byte.
    #[serde(default)]
    pub verify: bool,
    #[serde(default)]
    pub open: Open,
    #[serde(default)]
    pub close: Close,
    /// When the receiver closes its socket, whatever still comes.
    #[serde(default)]
    pub leave_ns: Option<i64>,
    /// Datagrams that leave at once.
    #[serde(default)]
    pub burst: Option<u32>,
    /// They are handed over as one packet, which the kernel cuts (`UDP_SEGMENT`).
    #[serde(default)]
    pub gso: bool,
    /// Payload of the last datagram of each burst, where it is shorter than the others.
    #[serde(default)]
    pub last_bytes: Option<u32>,
    /// The receiver takes datagrams that were put together in one read, and splits them (`UDP_GRO`).
    #[serde(default)]
    pub gro: bool,
    /// Echo requests that no one may fragment, not even here for a smaller path MTU that is known.
    #[serde(default)]
    pub whole: bool,
    /// The flow whose connection it is a part of.
    #[serde(default)]
    pub of: Option<u32>,
    /// When the source is on, from and to, ascending; absent: always.
    #[serde(default)]
    pub on: Vec<(i64, i64)>,
    /// How many flows before it send datagrams at the same instants, and how often everything is read; see [`take_turns`].
    #[serde(skip)]
    pub turn: u32,
    #[serde(skip)]
    pub sample_ns: i64,
}

/// Gives flows whose datagrams are all due at the same instants their turns: from one machine they would leave one by one.
pub(super) fn take_turns(flows: &mut [Flow], sample_ns: i64) {
    let mut before: BTreeMap<_, u32> = BTreeMap::new();
    for flow in flows.iter_mut().filter(|flow| flow.kind == Kind::Udp) {
        let same = before.entry((flow.rate_bps, flow.packet_bytes, flow.start_ns)).or_default();
        (flow.turn, flow.sample_ns) = (*same, sample_ns);
        *same += 1;
    }
}

fn address(text: &str) -> Result<IpAddr> {
    text.parse().map_err(|_| Error::new("plan", format!("{text:?} is not an IPv4 or IPv6 address")))
}

impl Flow {
    /// The listening side's address.
    ///
    /// # Errors
    /// The text is not an address.
    pub fn destination(&self) -> Result<IpAddr> {
        address(&self.dst)
    }

    /// The sending side's address.
    ///
    /// # Errors
    /// The text is not an address.
    pub fn source(&self) -> Result<IpAddr> {
        address(&self.src)
    }

    /// Whether it is opened here: a subflow is opened by the kernel.
    #[must_use]
    pub fn is_driven(&self) -> bool {
        self.kind != Kind::Subflow
    }

    /// Whether its packets are those of one TCP connection, or of several one after another.
    #[must_use]
    pub fn is_tcp(&self) -> bool {
        matches!(self.kind, Kind::Tcp | Kind::Rr | Kind::Crr | Kind::Subflow)
    }

    /// When its sender stops at the latest.
    #[must_use]
    pub fn stop_or(&self, duration_ns: i64) -> i64 {
        self.stop_ns.unwrap_or(duration_ns).min(duration_ns)
    }

    /// When its receiver reads no more.
    #[must_use]
    pub fn reading_until(&self, duration_ns: i64) -> i64 {
        self.leave_ns.unwrap_or(duration_ns).min(duration_ns)
    }
}
