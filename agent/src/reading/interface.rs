//! Interface counters, from before the start on, by `RTM_GETSTATS` (`struct rtnl_link_stats64`).

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::columns;
use super::queue::sockets;
use crate::error::Result;
use crate::kernel::netlink::{attribute, u32_at, u64_at, Message, Socket};
use crate::kernel::netns::Nodes;
use crate::path::Topology;
use crate::record::table::TableWriter;

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
    /// The counters before the start, by end: what set-up sent does not count.
    before: BTreeMap<u32, [u64; COUNTERS]>,
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
        let mut interfaces = Self {
            sockets: sockets(topology, nodes, |_| true)?,
            message: Message::new("list interface counters", RTM_GETSTATS, 0, &header),
            table: TableWriter::create(raw, "interface", &columns, 12 + 8 * COUNTERS, &json!({}))?,
            before: BTreeMap::new(),
        };
        let mut before = BTreeMap::new();
        interfaces.visit(topology, |end, counters, _| {
            before.insert(end, counters);
            Ok(())
        })?;
        interfaces.before = before;
        Ok(interfaces)
    }

    /// What [`Self::read`] will ask for.
    pub fn dumps(&mut self) -> impl Iterator<Item = (&mut Socket, &Message)> {
        let Self { sockets, message, .. } = self;
        sockets.iter_mut().map(|socket| (socket, &*message))
    }

    pub fn read(&mut self, topology: &Topology, now_ns: i64) -> Result<()> {
        let before = std::mem::take(&mut self.before);
        let outcome = self.visit(topology, |end, mut counters, table| {
            if let Some(before) = before.get(&end) {
                counters.iter_mut().zip(before).for_each(|(now, before)| *now = now.saturating_sub(*before));
            }
            keep(table, now_ns, end, counters)
        });
        self.before = before;
        outcome
    }

    /// Gives `each` the counters of every end, as they are now.
    fn visit(
        &mut self,
        topology: &Topology,
        mut each: impl FnMut(u32, [u64; COUNTERS], &mut TableWriter) -> Result<()>,
    ) -> Result<()> {
        let Self { sockets, message, table, .. } = self;
        let mut outcome = Ok(());
        for socket in sockets {
            socket.dump(message, |payload| {
                let Some(end) = u32_at(payload, 4).and_then(|ifindex| topology.end_of(ifindex)) else {
                    return;
                };
                let counters = payload.get(HEADER..).and_then(|rest| attribute(rest, IFLA_STATS_LINK_64));
                if let (Ok(()), Some(bytes)) = (&outcome, counters) {
                    let counters = std::array::from_fn(|index| u64_at(bytes, 8 * index).unwrap_or(0));
                    outcome = each(end, counters, table);
                }
            })?;
        }
        outcome
    }

    pub fn flush(&mut self) -> Result<()> {
        self.table.flush()
    }
}

fn keep(table: &mut TableWriter, now_ns: i64, end: u32, counters: [u64; COUNTERS]) -> Result<()> {
    let row = table.row();
    row.extend(now_ns.to_le_bytes());
    row.extend(end.to_le_bytes());
    row.extend(counters.iter().flat_map(|counter| counter.to_le_bytes()));
    table.written()
}
