//! TCP sockets by `sock_diag` (`inet_diag_msg` and its attributes, `include/uapi/linux/inet_diag.h`).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{columns, fixed};
use crate::error::Result;
use crate::kernel::netlink::{attributes, u32_at, Message, Socket};
use crate::kernel::netns::Nodes;
use crate::plan::{Kind, Plan, FIRST_PORT, LAST_PORT};
use crate::record::table::TableWriter;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Every state but `TIME_WAIT`, `CLOSE`, `LISTEN` and the two of half-open requests: those have no `tcp_info`.
const STATES: u32 = (1 << 1) | (1 << 2) | (1 << 4) | (1 << 5) | (1 << 8) | (1 << 9) | (1 << 11);

const INFO: u16 = 2;
const VEGASINFO: u16 = 3;
const CONG: u16 = 4;
const SKMEMINFO: u16 = 7;
const DCTCPINFO: u16 = 9;
const BBRINFO: u16 = 16;

const MESSAGE: usize = 72;
const CC_NAME: usize = 16;
const SKMEM: usize = 36;
const CC_INFO: usize = 20;

/// The sockets of all nodes that flows begin or end at.
#[derive(Debug)]
pub struct Sockets {
    folder: PathBuf,
    dumps: Vec<(Socket, Message)>,
    table: Option<TableWriter>,
    flows: Flows,
}

/// Which sockets belong to which flow.
#[derive(Debug)]
struct Flows {
    count: u32,
    /// See [`Plan::only_ports`].
    only: BTreeMap<u32, u16>,
    /// See [`Plan::destinations`].
    destinations: Option<BTreeMap<u32, IpAddr>>,
}

fn request(family: u8) -> Message {
    let wanted = [INFO, VEGASINFO, CONG, SKMEMINFO].iter().fold(0_u8, |bits, kind| bits | 1 << (kind - 1));
    // struct inet_diag_req_v2: family, protocol, extensions, padding, states, then a socket id that matches all.
    let mut header = vec![family, libc::IPPROTO_TCP as u8, wanted, 0];
    header.extend(STATES.to_ne_bytes());
    header.resize(56, 0);
    Message::new("list TCP sockets", SOCK_DIAG_BY_FAMILY, 0, &header)
}

impl Sockets {
    pub fn open(plan: &Plan, nodes: &Nodes, raw: &Path) -> Result<Self> {
        let mut asked: Vec<(&str, u8)> = Vec::new();
        for flow in plan.flows.iter().filter(|flow| matches!(flow.kind, Kind::Tcp | Kind::Rr | Kind::Crr)) {
            let family = if flow.src.contains(':') { libc::AF_INET6 } else { libc::AF_INET } as u8;
            for node in [flow.from.as_str(), flow.to.as_str()] {
                if nodes.has(node) && !asked.contains(&(node, family)) {
                    asked.push((node, family));
                }
            }
        }
        let dumps = asked.iter().map(|(node, family)| {
            let socket = nodes.within(node, || Socket::for_dumps(libc::NETLINK_SOCK_DIAG))?;
            Ok((socket, request(*family)))
        });
        let dumps = dumps.collect::<Result<_>>()?;
        Ok(Self {
            folder: raw.to_owned(),
            dumps,
            table: None,
            flows: Flows {
                count: plan.flow_numbers(),
                only: plan.only_ports(),
                destinations: plan.destinations()?,
            },
        })
    }

    /// What [`Self::read`] will ask for.
    pub fn dumps(&mut self) -> impl Iterator<Item = (&mut Socket, &Message)> {
        self.dumps.iter_mut().map(|(socket, message)| (socket, &*message))
    }

    pub fn read(&mut self, now_ns: i64) -> Result<()> {
        let Self { folder, dumps, table, flows } = self;
        let mut outcome = Ok(());
        for (socket, message) in dumps {
            socket.dump(message, |payload| {
                if outcome.is_ok() {
                    outcome = keep(folder, table, flows, now_ns, payload);
                }
            })?;
        }
        outcome
    }

    pub fn flush(&mut self) -> Result<()> {
        self.table.as_mut().map_or(Ok(()), TableWriter::flush)
    }
}

/// The flow a socket belongs to, and its side: 0 for the one that connects (and sends), 1 for the one that listens.
fn flow_of(payload: &[u8], flows: &Flows) -> Option<(u32, u8)> {
    let port = |at: usize| Some(u16::from_be_bytes(*payload.get(at..)?.first_chunk()?));
    let by_port = |port: u16| {
        let id = u32::from(port.checked_sub(FIRST_PORT)?);
        (port <= LAST_PORT && id < flows.count).then_some(id)
    };
    let (local, peer) = (port(4)?, port(6)?);
    let found = by_port(peer).map(|id| (id, 0, local)).or_else(|| by_port(local).map(|id| (id, 1, peer)));
    let (id, side, sender) = found?;
    let goes_there = |to: &BTreeMap<u32, IpAddr>| {
        // The listening side's address: `id.idiag_dst` of the one that connects, `id.idiag_src` of the other.
        let at = if side == 0 { 24 } else { 8 };
        to.get(&id).is_some_and(|to| is_at(payload, at, *to))
    };
    let ours = flows.only.get(&id).is_none_or(|only| *only == sender)
        && flows.destinations.as_ref().is_none_or(goes_there);
    ours.then_some((id, side))
}

/// Whether these bytes are that address.
fn is_at(bytes: &[u8], at: usize, address: IpAddr) -> bool {
    let found = bytes.get(at..).unwrap_or_default();
    match address {
        IpAddr::V4(v4) => found.starts_with(&v4.octets()),
        IpAddr::V6(v6) => found.starts_with(&v6.octets()),
    }
}

#[derive(Debug, Default)]
struct Attributes<'a> {
    info: &'a [u8],
    cc: &'a [u8],
    skmem: &'a [u8],
    cc_info: &'a [u8],
}

fn read_attributes(bytes: &[u8]) -> Attributes<'_> {
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

fn keep(
    folder: &Path,
    table: &mut Option<TableWriter>,
    flows: &Flows,
    now_ns: i64,
    payload: &[u8],
) -> Result<()> {
    let Some((flow, side)) = flow_of(payload, flows) else { return Ok(()) };
    let Some((message, rest)) = payload.split_at_checked(MESSAGE) else { return Ok(()) };
    let found = read_attributes(rest);
    if found.info.is_empty() {
        return Ok(());
    }
    // The kernel decides how long its tcp_info is; all sockets of one kernel agree.
    let table = match table {
        Some(table) => table,
        None => table.insert(create(folder, found.info.len())?),
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
        let flows = Flows { count: 3, only: BTreeMap::new(), destinations: None };
        assert_eq!(flow_of(&payload(33_002, FIRST_PORT + 2), &flows), Some((2, 0)));
        assert_eq!(flow_of(&payload(FIRST_PORT + 2, 33_002), &flows), Some((2, 1)));
        assert_eq!(flow_of(&payload(FIRST_PORT + 3, 40_000), &flows), None);
        assert_eq!(flow_of(&payload(22, 80), &flows), None);
        assert_eq!(flow_of(&[0; 3], &flows), None);
    }

    #[test]
    fn on_a_host_a_connection_to_elsewhere_is_not_the_flow() {
        let to = IpAddr::from([10, 0, 0, 2]);
        let flows = Flows { count: 1, only: BTreeMap::new(), destinations: Some(BTreeMap::from([(0, to)])) };
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
        let flows = Flows { count: 3, only: BTreeMap::from([(2, 33_002)]), destinations: None };
        assert_eq!(flow_of(&payload(33_002, FIRST_PORT + 2), &flows), Some((2, 0)));
        assert_eq!(flow_of(&payload(FIRST_PORT + 2, 33_002), &flows), Some((2, 1)));
        assert_eq!(flow_of(&payload(40_000, FIRST_PORT + 2), &flows), None);
        assert_eq!(flow_of(&payload(FIRST_PORT + 2, 40_000), &flows), None);
        assert_eq!(flow_of(&payload(40_000, FIRST_PORT + 1), &flows), Some((1, 0)));
    }

    #[test]
    fn the_request_is_an_inet_diag_req_v2() {
        let bytes = request(2).body.bytes().to_vec();
        assert_eq!(bytes.len(), 56);
        assert_eq!(bytes[..4], [2, 6, 0b100_1110, 0]);
    }
}
