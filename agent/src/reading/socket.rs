//! TCP sockets by `sock_diag` (`inet_diag_msg` and its attributes, `include/uapi/linux/inet_diag.h`).

mod followed;
mod table;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{columns, fixed};
use crate::error::Result;
use crate::kernel::netlink::{attributes, u32_at, Message, Socket};
use crate::kernel::netns::Nodes;
use crate::plan::{subflow_of, Plan, Subflows, FIRST_PORT, LAST_PORT};
use crate::reading::found::Shared;
use crate::record::table::TableWriter;

use followed::{Followed, Last};
use table::Table;
pub(super) use table::{SOCK_DIAG_BY_FAMILY, STATES};
use turns::{Turn, Turns};

const INFO: u16 = 2;
const VEGASINFO: u16 = 3;
const CONG: u16 = 4;
const SKMEMINFO: u16 = 7;
const DCTCPINFO: u16 = 9;
const BBRINFO: u16 = 16;

pub(super) const MESSAGE: usize = 72;
const CC_NAME: usize = 16;
const SKMEM: usize = 36;
const CC_INFO: usize = 20;

/// The sockets of all nodes that flows begin or end at.
#[derive(Debug)]
pub struct Sockets {
    folder: PathBuf,
    asked: Vec<Table>,
    turns: Option<Turns>,
    table: Option<TableWriter>,
    flows: Flows,
    followed: Option<Followed>,
    duration_ns: i64,
}

/// Which sockets belong to which flow.
#[derive(Debug)]
struct Flows {
    count: u32,
    /// See [`Plan::only_ports`].
    only: BTreeMap<u32, u16>,
    /// See [`Plan::destinations`].
    destinations: Option<BTreeMap<u32, IpAddr>>,
    /// See [`Plan::subflows`].
    subflows: Subflows,
}

/// The nodes to be asked, and for which family: where flows begin and end, and where sockets are followed.
fn asked<'a>(plan: &'a Plan, nodes: &Nodes) -> Vec<(&'a str, u8)> {
    let mut asked: Vec<(&str, u8)> = Vec::new();
    for flow in plan.flows.iter().filter(|flow| flow.is_tcp()) {
        let family = if flow.src.contains(':') { libc::AF_INET6 } else { libc::AF_INET } as u8;
        for node in [flow.from.as_str(), flow.to.as_str()] {
            if nodes.has(node) && !asked.contains(&(node, family)) {
                asked.push((node, family));
            }
        }
    }
    let followed: BTreeSet<&str> =
        plan.found.iter().flat_map(|found| &found.nodes).map(String::as_str).collect();
    for node in followed {
        for family in [libc::AF_INET as u8, libc::AF_INET6 as u8] {
            if !asked.contains(&(node, family)) {
                asked.push((node, family));
            }
        }
    }
    asked
}

impl Sockets {
    pub fn open(plan: &Plan, nodes: &Nodes, raw: &Path, found: Option<&Shared>) -> Result<Self> {
        let asked = asked(plan, nodes).into_iter().map(|(node, family)| Table::open(nodes, node, family));
        Ok(Self {
            folder: raw.to_owned(),
            asked: asked.collect::<Result<_>>()?,
            turns: Turns::of(plan, nodes),
            table: None,
            flows: Flows {
                count: plan.flow_numbers(),
                only: plan.only_ports(),
                destinations: plan.destinations()?,
                subflows: plan.subflows()?,
            },
            followed: found.map(|book| Followed::open(plan, nodes, book)).transpose()?,
            duration_ns: plan.duration_ns,
        })
    }

    /// What [`Self::read`] will ask for.
    pub fn dumps(&mut self) -> impl Iterator<Item = (&mut Socket, &Message)> {
        self.asked.iter_mut().map(Table::dump)
    }

    pub fn read(&mut self, now_ns: i64) -> Result<()> {
        let Self { folder, asked, turns, table, flows, followed, duration_ns } = self;
        let mut rows = Rows { folder, table, turns: turns.as_mut() };
        if let Some(followed) = followed {
            for last in followed.last_words(now_ns, *duration_ns)? {
                rows.keep_last(followed, &last)?;
            }
        }
        let awaits = |since_ns| followed.as_ref().is_some_and(|followed| followed.awaits_sockets(since_ns));
        let turn = rows.turns.as_mut().map_or(Turn::Whole, |turns| turns.begin(now_ns, awaits));
        for table in asked {
            let keep = |payload: &[u8]| match followed {
                Some(followed) => rows.keep_followed(followed, now_ns, payload),
                None => rows.keep_of(flows, now_ns, payload),
            };
            match turn {
                Turn::Whole => table.go_through(keep)?,
                Turn::Known => table.ask_known(keep)?,
            }
        }
        if let (Some(turns), Turn::Whole) = (turns, turn) {
            turns.end(now_ns);
        }
        Ok(())
    }

    pub fn flush(&mut self) -> Result<()> {
        self.table.as_mut().map_or(Ok(()), TableWriter::flush)
    }
}

/// The ports of a `struct inet_diag_msg`: the socket's own, the other end's.
pub(super) fn ports(payload: &[u8]) -> Option<(u16, u16)> {
    let port = |at: usize| Some(u16::from_be_bytes(*payload.get(at..)?.first_chunk()?));
    Some((port(4)?, port(6)?))
}

/// The flow a socket belongs to, and its side: 0 for the one that connects (and sends), 1 for the one that listens.
fn flow_of(payload: &[u8], flows: &Flows) -> Option<(u32, u8)> {
    let by_port = |port: u16| {
        let id = u32::from(port.checked_sub(FIRST_PORT)?);
        (port <= LAST_PORT && id < flows.count).then_some(id)
    };
    let (local, peer) = ports(payload)?;
    let found = by_port(peer).map(|id| (id, 0, local)).or_else(|| by_port(local).map(|id| (id, 1, peer)));
    let (id, side, sender) = found?;
    let goes_there = |to: &BTreeMap<u32, IpAddr>| {
        // The listening side's address: `id.idiag_dst` of the one that connects, `id.idiag_src` of the other.
        let at = if side == 0 { 24 } else { 8 };
        to.get(&id).is_some_and(|to| is_at(payload, at, *to))
    };
    let ours = flows.only.get(&id).is_none_or(|only| *only == sender)
        && flows.destinations.as_ref().is_none_or(goes_there);
    // From the one that connects to the other: `id.idiag_src` and `id.idiag_dst` of itself.
    let between = || {
        let (own, peer) = (address_at(payload, 8)?, address_at(payload, 24)?);
        Some(if side == 0 { (own, peer) } else { (peer, own) })
    };
    ours.then(|| subflow_of(&flows.subflows, id, between)).flatten().map(|id| (id, side))
}

/// An address of a `struct inet_diag_msg`, which is of the family that it begins with.
fn address_at(payload: &[u8], at: usize) -> Option<IpAddr> {
    let bytes = payload.get(at..)?;
    let address = if i32::from(*payload.first()?) == libc::AF_INET {
        IpAddr::from(*bytes.first_chunk::<4>()?)
    } else {
        IpAddr::from(*bytes.first_chunk::<16>()?)
    };
    Some(address.to_canonical())
}

/// Whether these bytes are that address.
fn is_at(bytes: &[u8], at: usize, address: IpAddr) -> bool {
    let found = bytes.get(at..).unwrap_or_default();
    match address {
        IpAddr::V4(v4) => found.starts_with(&v4.octets()),
        IpAddr::V6(v6) => found.starts_with(&v6.octets()),
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attributes<'a> {
    pub info: &'a [u8],
    cc: &'a [u8],
    skmem: &'a [u8],
    cc_info: &'a [u8],
}

pub(super) fn read_attributes(bytes: &[u8]) -> Attributes<'_> {
    let mut found = Attributes::default();
    for (kind, value) in attributes(bytes) {
        match kind {
            INFO => found.info = value,
            CONG => found.cc = value.split(|byte| *byte == 0).next().unwrap_or_default(),
            SKMEMINFO => found.skmem = value,
            VEGASINFO | DCTCPINFO | BBRINFO => found.cc_info = value,
            _ => {}
        }
    }
    found
}

fn create(folder: &Path, info: usize) -> Result<TableWriter> {
    let info_type = format!("V{info}");
    let columns = columns(&[
        ("t_ns", "<i8"),
        ("flow", "<u4"),
        ("side", "u1"),
        ("state", "u1"),
        ("cc", "S16"),
        ("rqueue", "<u4"),
        ("wqueue", "<u4"),
        ("info", &info_type),
        ("skmem", "V36"),
        ("ccinfo", "V20"),
    ]);
    TableWriter::create(folder, "tcp_info", &columns, 38 + info + SKMEM + CC_INFO, &json!({}))
}

/// Where readings of sockets go.
struct Rows<'a> {
    folder: &'a Path,
    table: &'a mut Option<TableWriter>,
    turns: Option<&'a mut Turns>,
}

impl Rows<'_> {
    /// Gives whether it is one of a flow.
    fn keep_of(&mut self, flows: &Flows, now_ns: i64, payload: &[u8]) -> Result<bool> {
        let Some(side) = flow_of(payload, flows) else { return Ok(false) };
        let Some((message, rest)) = payload.split_at_checked(MESSAGE) else { return Ok(false) };
        self.row(side, now_ns, message, &read_attributes(rest))?;
        Ok(true)
    }

    /// Likewise; a socket may be a side of two flows: of what it sends and of what it receives.
    fn keep_followed(&mut self, followed: &mut Followed, now_ns: i64, payload: &[u8]) -> Result<bool> {
        let Some((message, rest)) = payload.split_at_checked(MESSAGE) else { return Ok(false) };
        let found = read_attributes(rest);
        let sides = followed.sides(payload, found.info, now_ns);
        for side in &sides {
            let name = followed.name(*side, found.cc);
            self.row(*side, now_ns, message, &Attributes { cc: &name, ..found })?;
        }
        Ok(!sides.is_empty())
    }

    /// The last words of a socket, which was closed meanwhile.
    fn keep_last(&mut self, followed: &mut Followed, last: &Last) -> Result<()> {
        let Some((message, rest)) = last.payload.split_at_checked(MESSAGE) else { return Ok(()) };
        let found = read_attributes(rest);
        for side in followed.sides_of(last.at, found.info) {
            let name = followed.name(side, &[]);
            self.row(side, last.at_ns, message, &Attributes { cc: &name, ..found })?;
        }
        Ok(())
    }

    fn row(
        &mut self,
        (flow, side): (u32, u8),
        now_ns: i64,
        message: &[u8],
        found: &Attributes,
    ) -> Result<()> {
        if found.info.is_empty() {
            return Ok(());
        }
        self.turns.iter_mut().for_each(|turns| turns.seen((flow, side)));
        // The kernel decides how long its tcp_info is; all sockets of one kernel agree.
        let table = match self.table {
            Some(table) => table,
            None => self.table.insert(create(self.folder, found.info.len())?),
        };
        let info = table.stride() - 38 - SKMEM - CC_INFO;
        let row = table.row();
        row.extend(now_ns.to_le_bytes());
        row.extend(flow.to_le_bytes());
        row.extend([side, message[1]]);
        fixed(row, found.cc, CC_NAME);
        row.extend(u32_at(message, 56).unwrap_or(0).to_le_bytes());
        row.extend(u32_at(message, 60).unwrap_or(0).to_le_bytes());
        fixed(row, found.info, info);
        fixed(row, found.skmem, SKMEM);
        fixed(row, found.cc_info, CC_INFO);
        table.written()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(sport: u16, dport: u16) -> Vec<u8> {
        let mut payload = vec![0; MESSAGE];
        payload[4..6].copy_from_slice(&sport.to_be_bytes());
        payload[6..8].copy_from_slice(&dport.to_be_bytes());
        payload
    }

    #[test]
    fn a_socket_is_found_by_the_listening_port() {
        let flows = Flows { count: 3, only: BTreeMap::new(), destinations: None, subflows: Subflows::new() };
        assert_eq!(flow_of(&payload(33_002, FIRST_PORT + 2), &flows), Some((2, 0)));
        assert_eq!(flow_of(&payload(FIRST_PORT + 2, 33_002), &flows), Some((2, 1)));
        assert_eq!(flow_of(&payload(FIRST_PORT + 3, 40_000), &flows), None);
        assert_eq!(flow_of(&payload(22, 80), &flows), None);
        assert_eq!(flow_of(&[0; 3], &flows), None);
    }

    #[test]
    fn on_a_host_a_connection_to_elsewhere_is_not_the_flow() {
        let to = IpAddr::from([10, 0, 0, 2]);
        let flows = Flows {
            count: 1,
            only: BTreeMap::new(),
            destinations: Some(BTreeMap::from([(0, to)])),
            subflows: Subflows::new(),
        };
        let mut sending = payload(40_000, FIRST_PORT);
        assert_eq!(flow_of(&sending, &flows), None);
        sending[24..28].copy_from_slice(&[10, 0, 0, 2]);
        assert_eq!(flow_of(&sending, &flows), Some((0, 0)));
        let mut listening = payload(FIRST_PORT, 40_000);
        listening[8..12].copy_from_slice(&[10, 0, 0, 2]);
        assert_eq!(flow_of(&listening, &flows), Some((0, 1)));
        assert_eq!(flow_of(&listening[..20], &flows), Some((0, 1)));
        assert_eq!(flow_of(&listening[..8], &flows), None);
    }

    #[test]
    fn other_connections_to_that_port_are_not_the_flow() {
        let flows = Flows {
            count: 3,
            only: BTreeMap::from([(2, 33_002)]),
            destinations: None,
            subflows: Subflows::new(),
        };
        assert_eq!(flow_of(&payload(33_002, FIRST_PORT + 2), &flows), Some((2, 0)));
        assert_eq!(flow_of(&payload(FIRST_PORT + 2, 33_002), &flows), Some((2, 1)));
        assert_eq!(flow_of(&payload(40_000, FIRST_PORT + 2), &flows), None);
        assert_eq!(flow_of(&payload(FIRST_PORT + 2, 40_000), &flows), None);
        assert_eq!(flow_of(&payload(40_000, FIRST_PORT + 1), &flows), Some((1, 0)));
    }
}
