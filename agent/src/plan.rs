//! The plan: a cell of a sweep resolved to the last number (`docs/plan-format.md`).

mod calibration;
mod check;
mod devices;
mod flow;
mod found;
mod half;
mod loads;
mod mptcp;
mod programs;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use calibration::{Calibration, PingPath, Train};
pub use devices::{Bond, Device, Rule};
pub use flow::{Close, Flow, Generator, Kind, Open};
pub use found::Found;
pub use half::{Egress, Watch};
pub use loads::{Load, LoadGenerator, LoadKind};
pub use mptcp::{subflow_of, Endpoint, Mptcp, Subflows};
pub use programs::Program;

pub const FORMAT: &str = "rushhour-plan/1";

/// A flow listens on this port plus its number: that is how it is found again in what the kernel reports.
pub const FIRST_PORT: u16 = 5001;
/// The last port a flow can listen on; the connecting sides' ports begin behind it.
pub const LAST_PORT: u16 = 32_999;

/// One run, as Python asks for it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub format: String,
    pub seed: u64,
    pub duration_ns: i64,
    pub sample_ns: i64,
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    #[serde(default)]
    pub ingress: Vec<Ingress>,
    #[serde(default)]
    pub devices: Vec<Device>,
    #[serde(default)]
    pub routes: Vec<Route>,
    #[serde(default)]
    pub rules: Vec<Rule>,
    #[serde(default)]
    pub neighbours: Vec<Neighbour>,
    pub flows: Vec<Flow>,
    /// In the order of their instants.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// Ports that are stopped while a queue behind them is nearly full.
    #[serde(default)]
    pub pauses: Option<Pauses>,
    pub readings: Readings,
    /// Conversations that no flow names are followed, too.
    #[serde(default)]
    pub found: Option<Found>,
    #[serde(default)]
    pub calibration: Calibration,
    /// Devices of hosts to read.
    #[serde(default)]
    pub watch: Vec<Watch>,
    /// Devices of hosts that become emulators.
    #[serde(default)]
    pub egress: Vec<Egress>,
    /// What else the nodes' computers do; in real time only.
    #[serde(default)]
    pub loads: Vec<Load>,
    /// What runs on nodes beside the flows.
    #[serde(default)]
    pub programs: Vec<Program>,
    /// Addresses of nodes, and what programs call them.
    #[serde(default)]
    pub names: Vec<(String, String)>,
    /// The processors of a node; absent: all.
    #[serde(default)]
    pub cpus: BTreeMap<String, Vec<usize>>,
    /// Programs from outside that the lab must have put into the guest's root.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Where wires are carried by a line in user space, in a kernel that cannot hold packets back itself.
    #[serde(default)]
    pub line: Option<LineSettings>,
    /// Seeds the disturbances of set-up (`disturb.rs`).
    #[cfg(feature = "disturb")]
    #[serde(default)]
    pub disturb: u64,
    /// The node whose part this is; `None` is the whole plan.
    #[serde(skip)]
    pub here: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineSettings {
    /// Where its thread runs; none: wherever the scheduler likes.
    #[serde(default)]
    pub cpus: Vec<usize>,
}

/// A network namespace.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    pub name: String,
    #[serde(default)]
    pub forward: bool,
    /// Pairs of dotted name and value, written in order.
    #[serde(default)]
    pub sysctl: Vec<(String, String)>,
    /// Addresses of its loopback interface, `address/prefix`.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Probability in `[0, 1]` with which netfilter drops what arrives for the node.
    #[serde(default)]
    pub drop_input: Option<f64>,
    /// How it takes part in connections of several paths.
    #[serde(default)]
    pub mptcp: Option<Mptcp>,
}

/// A veth pair.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub name: String,
    pub ends: [End; 2],
}

/// One side of a link, and the egress of that direction.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    pub node: String,
    pub dev: String,
    pub mac: String,
    pub mtu: u32,
    pub addresses: Vec<String>,
    #[serde(default)]
    pub offload: bool,
    /// What arrives at once is put together before anything else sees it (GRO); without `offload` only.
    #[serde(default)]
    pub receive_offload: bool,
    /// tc's own words after `tc qdisc add dev DEV`.
    #[serde(default)]
    pub qdiscs: Vec<String>,
    /// tc's own words, each line beginning with `class` or `filter`.
    #[serde(default)]
    pub filters: Vec<String>,
    #[serde(default)]
    pub wire: Option<Wire>,
    /// Whether it is recorded how long each packet was in its queue.
    #[serde(default)]
    pub sojourn: bool,
    /// The bond or bridge of its node that it belongs to.
    #[serde(default)]
    pub master: Option<String>,
}

/// What packets meet when they arrive at a device.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ingress {
    /// Its index among the ends: behind those of the links.
    pub end: u32,
    pub node: String,
    /// The device at which they arrive.
    pub dev: String,
    /// An ifb to make, for the queue that they are redirected to.
    #[serde(default)]
    pub ifb: Option<String>,
    pub mac: String,
    pub mtu: u32,
    /// tc's own words after `tc qdisc add dev IFB`.
    #[serde(default)]
    pub qdiscs: Vec<String>,
    /// tc's own words for the device, each line beginning with `filter`.
    #[serde(default)]
    pub filters: Vec<String>,
}

/// The seeded element: fate by packet number, the same on every kernel.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wire {
    pub delay_ns: u64,
    #[serde(default)]
    pub jitter_ns: u64,
    #[serde(default)]
    pub reorder: bool,
    /// Probability in `[0, 1]`.
    #[serde(default)]
    pub loss: f64,
    /// Packet numbers that are lost whatever the dice say.
    #[serde(default)]
    pub drop: Vec<u64>,
    pub seed: u64,
    /// The link in front of it sends one packet after the other, each for as long as its bytes take.
    #[serde(default)]
    pub serial: Option<Serial>,
}

/// A link that sends its packets bit by bit, behind the shaper that keeps its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Serial {
    pub rate_bps: u64,
    /// What the shaper may have let go before the link can send it; more than that is not held back.
    pub ahead_bytes: u64,
    /// Nothing is sent before this instant of the experiment: an outage.
    #[serde(skip)]
    pub hold_ns: i64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    pub node: String,
    /// `default` or a prefix.
    pub to: String,
    pub via: Via,
    #[serde(default)]
    pub dev: Option<String>,
    /// Number of the routing table; absent: the main one.
    #[serde(default)]
    pub table: Option<u8>,
    /// TCP's timestamps count microseconds on it.
    #[serde(default)]
    pub microseconds: bool,
    /// Segments that its connections begin to send with, and of the first window that they offer; absent: the kernel's.
    #[serde(default)]
    pub initcwnd: Option<u32>,
    #[serde(default)]
    pub initrwnd: Option<u32>,
}

/// One next hop, or several of equal cost.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Via {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    pub node: String,
    pub dev: String,
    pub address: String,
    pub mac: String,
}

/// What a [`Change`] changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Key {
    Rate,
    Delay,
    Jitter,
    Loss,
    /// The rate at which the link behind the shaper sends.
    Serial,
    /// The end of an outage, before which it sends nothing.
    Hold,
    /// A class of the shaper's tree, or of the scheduler below it.
    Class,
    /// The node's routes over the end's device: taken away (0), or there again (1).
    Route,
}

/// One setting of an egress that becomes another one during the experiment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub t_ns: i64,
    /// Index of the end: 2·link + side.
    pub end: usize,
    pub key: Key,
    /// bit/s, nanoseconds, a probability, or whether it is there.
    pub value: f64,
    /// Of a rate and a class: tc's own words after `tc qdisc change dev DEV`, each line beginning with `qdisc` or
    /// `class`; after `tc class delete dev DEV` where `delete` goes before it.
    #[serde(default)]
    pub lines: Vec<String>,
}

/// PAUSE of Ethernet at some ports (`pause.rs`).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pauses {
    /// The queues are looked at so often.
    pub interval_ns: i64,
    pub ports: Vec<Port>,
}

/// A port, whose queue is a `plug`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Index of the end: 2·link + side.
    pub end: usize,
    /// The plug in tc's words, to which what it shall do is added.
    pub line: String,
    pub watch: Vec<Watched>,
}

/// A queue that stops a port when it holds `stop`, and lets it go below `go`: bytes, or packets.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    pub end: usize,
    pub stop: u32,
    pub go: u32,
    #[serde(default)]
    pub packets: bool,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "one switch for each reading")]
pub struct Readings {
    pub tcp_probe: bool,
    pub events: bool,
    pub tcp_info: bool,
    pub qdisc: bool,
    pub interface: bool,
    pub sojourn: bool,
}

impl Plan {
    /// Above the highest number of a flow.
    #[must_use]
    pub fn flow_numbers(&self) -> u32 {
        self.flows.iter().map(|flow| flow.id.saturating_add(1)).max().unwrap_or(0)
    }

    /// Whether there may be any number of connections: each transaction has its own, or others than flows make them.
    #[must_use]
    pub fn connects_without_number(&self) -> bool {
        let many = |flow: &Flow| flow.kind == Kind::Crr;
        self.flows.iter().any(many) || !self.programs.is_empty() || self.found.is_some()
    }

    /// Whether a line in user space carries the packets of this link.
    #[must_use]
    pub fn is_carried(&self, link: &Link) -> bool {
        self.line.is_some() && link.ends.iter().any(|end| end.wire.is_some())
    }

    /// The port of the sending side of each flow that has other connections to its listening port beside its own.
    #[must_use]
    pub fn only_ports(&self) -> BTreeMap<u32, u16> {
        let others = self.flows.iter().filter(|flow| flow.generator == Generator::Iperf3);
        others.map(|flow| (flow.id, flow.sport)).collect()
    }
}
