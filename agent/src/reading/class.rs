//! Classes by a dump of each device that divides its rate among some (`RTM_GETTCLASS`).

use std::path::Path;

use super::queue::{keep, table};
use crate::error::Result;
use crate::kernel::netlink::{Message, Socket};
use crate::kernel::netns::Nodes;
use crate::path::Topology;
use crate::plan::Plan;
use crate::record::table::TableWriter;
use crate::tc::{self, Row};

/// What is asked for each end with classes, through a socket in its node.
#[derive(Debug)]
pub struct Classes {
    ends: Vec<(u32, Socket, Message)>,
    table: TableWriter,
}

impl Classes {
    /// Nothing where no egress sends flows to classes.
    pub fn open(plan: &Plan, topology: &Topology, nodes: &Nodes, raw: &Path) -> Result<Option<Self>> {
        let mut ends = Vec::new();
        for (index, end) in plan.links.iter().flat_map(|link| &link.ends).enumerate() {
            if !end.filters.iter().any(|line| line.starts_with("filter parent")) {
                continue;
            }
            let message = tc::list("list classes", libc::RTM_GETTCLASS, topology.ends()[index].ifindex, 0);
            ends.push((index as u32, Socket::for_dumps_in(nodes, &end.node, libc::NETLINK_ROUTE)?, message));
        }
        if ends.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { ends, table: table(raw, "class")? }))
    }

    /// What [`Self::read`] will ask for.
    pub fn dumps(&mut self) -> impl Iterator<Item = (&mut Socket, &Message)> {
        self.ends.iter_mut().map(|(_, socket, message)| (socket, &*message))
    }

    pub fn read(&mut self, now_ns: i64) -> Result<()> {
        let Self { ends, table } = self;
        let mut outcome = Ok(());
        for (end, socket, message) in ends {
            socket.dump(message, |payload| {
                if let (Ok(()), Some(row)) = (&outcome, Row::parse(payload)) {
                    outcome = keep(table, now_ns, *end, &row);
                }
            })?;
        }
        outcome
    }

    pub fn flush(&mut self) -> Result<()> {
        self.table.flush()
    }
}
