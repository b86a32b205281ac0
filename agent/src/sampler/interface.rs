//! Interface counters by `RTM_GETSTATS` (`struct rtnl_link_stats64`).

use std::path::Path;

use serde_json::json;

use super::columns;
use super::queue::sockets;
use crate::error::Result;
use crate::netlink::{attribute, u32_at, u64_at, Message, Socket};
use crate::netns::Nodes;
use crate::table::TableWriter;
use crate::topology::Topology;

const RTM_GETSTATS: u16 = 94;
const IFLA_STATS_LINK_64: u16 = 1;
/// `struct if_stats_msg`: family, padding, index of the device, mask of what is wanted.
const HEADER: usize = 12;
/// The first eight counters of `rtnl_link_stats64`.
const COUNTERS: usize = 8;

#[derive(Debug)]
pub struct Interfaces {
    sockets: Vec<Socket>,
    message: Message,
    table: TableWriter,
}

impl Interfaces {
    pub fn open(topology: &Topology, nodes: &Nodes, raw: &Path) -> Result<Self> {
        let columns = columns(&[
            ("t_ns", "<i8"),
            ("end", "<u4"),
            ("rx_packets", "<u8"),
            ("tx_packets", "<u8"),
            ("rx_bytes", "<u8"),
            ("tx_bytes", "<u8"),
            ("rx_errors", "<u8"),
            ("tx_errors", "<u8"),
            ("rx_dropped", "<u8"),
            ("tx_dropped", "<u8"),
        ]);
        let mut header = [0; HEADER];
        header[8] = 1 << (IFLA_STATS_LINK_64 - 1);
        Ok(Self {
            sockets: sockets(topology, nodes, |_| true)?,
            message: Message::new("list interface counters", RTM_GETSTATS, 0, &header),
            table: TableWriter::create(raw, "interface", &columns, 12 + 8 * COUNTERS, &json!({}))?,
        })
    }

    pub fn read(&mut self, topology: &Topology, now_ns: i64) -> Result<()> {
        let Self { sockets, message, table } = self;
        let mut outcome = Ok(());
        for socket in sockets {
            socket.dump(message, |payload| {
                let Some(end) = u32_at(payload, 4).and_then(|ifindex| topology.end_of(ifindex)) else {
                    return;
                };
                let counters = payload.get(HEADER..).and_then(|rest| attribute(rest, IFLA_STATS_LINK_64));
                if let (Ok(()), Some(counters)) = (&outcome, counters) {
                    outcome = keep(table, now_ns, end, counters);
                }
            })?;
        }
        outcome
    }

    pub fn flush(&mut self) -> Result<()> {
        self.table.flush()
    }
}

fn keep(table: &mut TableWriter, now_ns: i64, end: u32, counters: &[u8]) -> Result<()> {
    let row = table.row();
    row.extend(now_ns.to_le_bytes());
    row.extend(end.to_le_bytes());
    for index in 0..COUNTERS {
        row.extend(u64_at(counters, 8 * index).unwrap_or(0).to_le_bytes());
    }
    table.written()
}
