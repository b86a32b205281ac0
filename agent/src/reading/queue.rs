//! Queues, from before the start on, by a dump of each node's qdiscs (`struct tcmsg`, `TCA_STATS2`).

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::{columns, fixed};
use crate::error::Result;
use crate::kernel::netlink::{Message, Socket};
use crate::kernel::netns::Nodes;
use crate::path::Topology;
use crate::plan::Plan;
use crate::record::table::TableWriter;
use crate::tc::{self, Row};

const KIND: usize = 16;
const XSTATS: usize = 128;
const STRIDE: usize = 8 + 4 + 4 + 4 + 8 + 8 + 5 * 4 + KIND + 4 + XSTATS;

#[derive(Debug)]
pub struct Queues {
    sockets: Vec<Socket>,
    message: Message,
    table: TableWriter,
    /// Bytes and packets before the start, by end, handle and parent. A queue is made anew then, but a clsact stays.
    before: BTreeMap<(u32, u32, u32), (u64, u64)>,
}

/// A routing socket in each node that has a wanted end.
pub fn sockets(topology: &Topology, nodes: &Nodes, wanted: impl Fn(usize) -> bool) -> Result<Vec<Socket>> {
    let mut names: Vec<&str> = Vec::new();
    for (index, end) in topology.ends().iter().enumerate() {
        if wanted(index) && !names.contains(&end.node.as_str()) {
            names.push(&end.node);
        }
    }
    names.iter().map(|name| Socket::for_dumps_in(nodes, name, libc::NETLINK_ROUTE)).collect()
}

impl Queues {
    pub fn open(plan: &Plan, topology: &Topology, nodes: &Nodes, raw: &Path) -> Result<Self> {
        let wanted = |index: usize| {
            plan.links.get(index / 2).is_none_or(|link| !link.ends[index % 2].qdiscs.is_empty())
        };
        let mut queues = Self {
            sockets: sockets(topology, nodes, wanted)?,
            message: tc::list("list qdiscs", libc::RTM_GETQDISC, 0, 0),
            table: table(raw, "qdisc")?,
            before: BTreeMap::new(),
        };
        let mut before = BTreeMap::new();
        queues.visit(topology, |end, row, _| {
            before.insert((end, row.handle, row.parent), (row.bytes, row.packets));
            Ok(())
        })?;
        queues.before = before;
        Ok(queues)
    }

    /// What [`Self::read`] will ask for.
    pub fn dumps(&mut self) -> impl Iterator<Item = (&mut Socket, &Message)> {
        let Self { sockets, message, .. } = self;
        sockets.iter_mut().map(|socket| (socket, &*message))
    }

    pub fn read(&mut self, topology: &Topology, now_ns: i64) -> Result<()> {
        let before = std::mem::take(&mut self.before);
        let outcome = self.visit(topology, |end, mut row, table| {
            if let Some((bytes, packets)) = before.get(&(end, row.handle, row.parent)) {
                row.bytes = row.bytes.saturating_sub(*bytes);
                row.packets = row.packets.saturating_sub(*packets);
            }
            keep(table, now_ns, end, &row)
        });
        self.before = before;
        outcome
    }

    /// Gives `each` every queue discipline, as it is now.
    fn visit(
        &mut self,
        topology: &Topology,
        mut each: impl FnMut(u32, Row<'_>, &mut TableWriter) -> Result<()>,
    ) -> Result<()> {
        let Self { sockets, message, table, .. } = self;
        let mut outcome = Ok(());
        for socket in sockets {
            socket.dump(message, |payload| {
                let Some(row) = Row::parse(payload) else { return };
                let Some(end) = topology.end_of_queue(&row) else { return };
                if outcome.is_ok() {
                    outcome = each(end, row, table);
                }
            })?;
        }
        outcome
    }

    pub fn flush(&mut self) -> Result<()> {
        self.table.flush()
    }
}

/// A table of rows as [`keep`] writes them.
pub(super) fn table(raw: &Path, name: &str) -> Result<TableWriter> {
    let columns = columns(&[
        ("t_ns", "<i8"),
        ("end", "<u4"),
        ("handle", "<u4"),
        ("parent", "<u4"),
        ("bytes", "<u8"),
        ("packets", "<u8"),
        ("qlen", "<u4"),
        ("backlog", "<u4"),
        ("drops", "<u4"),
        ("requeues", "<u4"),
        ("overlimits", "<u4"),
        ("kind", "S16"),
        ("xstats_len", "<u4"),
        ("xstats", "V128"),
    ]);
    TableWriter::create(raw, name, &columns, STRIDE, &json!({}))
}

pub(super) fn keep(table: &mut TableWriter, now_ns: i64, end: u32, qdisc: &Row<'_>) -> Result<()> {
    let row = table.row();
    row.extend(now_ns.to_le_bytes());
    for word in [end, qdisc.handle, qdisc.parent] {
        row.extend(word.to_le_bytes());
    }
    row.extend(qdisc.bytes.to_le_bytes());
    row.extend(qdisc.packets.to_le_bytes());
    for word in [qdisc.qlen, qdisc.backlog, qdisc.drops, qdisc.requeues, qdisc.overlimits] {
        row.extend(word.to_le_bytes());
    }
    fixed(row, qdisc.kind.as_bytes(), KIND);
    row.extend((qdisc.xstats.len() as u32).to_le_bytes());
    fixed(row, qdisc.xstats, XSTATS);
    table.written()
}
