//! Connections of several paths as a whole, by `sock_diag`: `struct mptcp_info` (`include/uapi/linux/mptcp.h`) of either end.
//!
//! Their subflows are TCP sockets and are read with all others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::socket::{ports, read_attributes, MESSAGE, SOCK_DIAG_BY_FAMILY, STATES};
use super::{columns, fixed};
use crate::error::Result;
use crate::kernel::netlink::{u32_at, Message, Socket};
use crate::kernel::netns::Nodes;
use crate::plan::{Kind, Plan, FIRST_PORT};
use crate::record::table::TableWriter;

const TABLE: &str = "mptcp_info";
const INFO: u16 = 2;
/// The protocol, where its number is more than a byte (`INET_DIAG_REQ_PROTOCOL`).
const REQ_PROTOCOL: u16 = 3;
/// Bytes of a row beside the kernel's.
const OWN: usize = 22;

/// The connections of all nodes that flows of this kind begin or end at.
#[derive(Debug)]
pub struct Connections {
    folder: PathBuf,
    dumps: Vec<(Socket, Message)>,
    table: Option<TableWriter>,
    flows: BTreeSet<u32>,
}

fn request(family: u8) -> Message {
    // struct inet_diag_req_v2: family, protocol, extensions, padding, states, then a socket id that matches all.
    let mut header = vec![family, 0, 1 << (INFO - 1), 0];
    header.extend(STATES.to_ne_bytes());
    header.resize(56, 0);
    let mut order = Message::new("list MPTCP sockets", SOCK_DIAG_BY_FAMILY, 0, &header);
    order.body.u32(REQ_PROTOCOL, libc::IPPROTO_MPTCP as u32);
    order
}

impl Connections {
    /// `None` where the plan has no such flow.
    pub fn open(plan: &Plan, nodes: &Nodes, raw: &Path) -> Result<Option<Self>> {
        let own = || plan.flows.iter().filter(|flow| flow.kind == Kind::Mptcp);
        let mut asked = BTreeSet::new();
        for flow in own() {
            let family = if flow.src.contains(':') { libc::AF_INET6 } else { libc::AF_INET } as u8;
            asked.extend([&flow.from, &flow.to].map(|node| (node.as_str(), family)));
        }
        let dumps = asked.into_iter().filter(|(node, _)| nodes.has(node)).map(|(node, family)| {
            let socket = Socket::for_dumps_in(nodes, node, libc::NETLINK_SOCK_DIAG)?;
            Ok((socket, request(family)))
        });
        let dumps = dumps.collect::<Result<Vec<_>>>()?;
        let flows = own().map(|flow| flow.id).collect();
        Ok((!dumps.is_empty()).then(|| Self { folder: raw.to_owned(), dumps, table: None, flows }))
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
                if let (Ok(()), Some(side)) = (&outcome, side_of(payload, flows)) {
                    outcome = keep(folder, table, side, now_ns, payload);
                }
            })?;
        }
        outcome
    }

    pub fn flush(&mut self) -> Result<()> {
        self.table.as_mut().map_or(Ok(()), TableWriter::flush)
    }
}

/// The flow of a connection's end, and its side: 0 for the one that connects (and sends), 1 for the one that listens.
fn side_of(payload: &[u8], flows: &BTreeSet<u32>) -> Option<(u32, u8)> {
    let (local, peer) = ports(payload)?;
    let of = |port: u16| port.checked_sub(FIRST_PORT).map(u32::from).filter(|number| flows.contains(number));
    of(peer).map(|flow| (flow, 0)).or_else(|| of(local).map(|flow| (flow, 1)))
}

fn keep(
    folder: &Path,
    table: &mut Option<TableWriter>,
    (flow, side): (u32, u8),
    now_ns: i64,
    payload: &[u8],
) -> Result<()> {
    let Some((message, rest)) = payload.split_at_checked(MESSAGE) else { return Ok(()) };
    let info = read_attributes(rest).info;
    if info.is_empty() {
        return Ok(());
    }
    // The kernel decides how long its mptcp_info is; all of one kernel agree.
    let table = match table {
        Some(table) => table,
        None => table.insert(create(folder, info.len())?),
    };
    let length = table.stride() - OWN;
    let row = table.row();
    row.extend(now_ns.to_le_bytes());
    row.extend(flow.to_le_bytes());
    row.extend([side, message[1]]);
    row.extend(u32_at(message, 56).unwrap_or(0).to_le_bytes());
    row.extend(u32_at(message, 60).unwrap_or(0).to_le_bytes());
    fixed(row, info, length);
    table.written()
}

fn create(folder: &Path, info: usize) -> Result<TableWriter> {
    let info_type = format!("V{info}");
    let columns = columns(&[
        ("t_ns", "<i8"),
        ("flow", "<u4"),
        ("side", "u1"),
        ("state", "u1"),
        ("rqueue", "<u4"),
        ("wqueue", "<u4"),
        ("info", &info_type),
    ]);
    TableWriter::create(folder, TABLE, &columns, OWN + info, &json!({}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_names_a_protocol_beyond_a_byte() {
        let bytes = request(2).body.bytes().to_vec();
        assert_eq!((bytes.len(), &bytes[..4]), (64, &[2, 0, 0b10, 0][..]));
        assert_eq!(bytes[56..], [8, 0, 3, 0, 6, 1, 0, 0]);
    }

    #[test]
    fn an_end_is_found_by_the_listening_port() {
        let payload = |local: u16, peer: u16| {
            let mut payload = vec![0; MESSAGE];
            payload[4..6].copy_from_slice(&local.to_be_bytes());
            payload[6..8].copy_from_slice(&peer.to_be_bytes());
            payload
        };
        let flows = BTreeSet::from([2]);
        assert_eq!(side_of(&payload(33_002, FIRST_PORT + 2), &flows), Some((2, 0)));
        assert_eq!(side_of(&payload(FIRST_PORT + 2, 33_002), &flows), Some((2, 1)));
        assert_eq!(side_of(&payload(FIRST_PORT + 1, 33_001), &flows), None);
        assert_eq!(side_of(&[0; 3], &flows), None);
    }
}
