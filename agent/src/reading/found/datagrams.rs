//! Datagrams that no flow of the plan sends, counted by their conversation: those that leave a node and those that arrive at one.
//!
//! A program at either side of each device of a followed node writes the first bytes of every packet of UDP to a ring; here they
//! are added up, and at each sample the sums that have grown become rows.

mod program;

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Result;
use crate::kernel::clock::Clock;
use crate::path::{place, Topology};
use crate::plan::Plan;
use crate::reading::passage::{Kind, Passages};
use crate::record::table::TableWriter;
use crate::tc::classifier::Side;

use super::{open, Owner, Protocol, Shared};
use program::{only_udp, Datagram, SKB_SEGMENTS};

pub const TABLE: &str = "datagrams";
/// Of each Ethernet (14), IPv6 (40) and UDP (8), or IPv4 with all its options, and how many datagrams it still is; room for 290 000
/// packets.
const COUNTER: Kind = Kind {
    of: "datagrams",
    program: "counter",
    taker: "To count datagrams takes",
    kept: 88,
    number: SKB_SEGMENTS,
    ring_bytes: 32 << 20,
};
const COLUMNS: [(&str, &str); 5] =
    [("t_ns", "<i8"), ("flow", "<u4"), ("side", "u1"), ("packets", "<u8"), ("bytes", "<u8")];
const STRIDE: usize = 29;

/// What the programs write, and the sums so far.
#[derive(Debug)]
pub struct Datagrams {
    passages: Passages,
    clock: Clock,
    duration_ns: i64,
    book: Shared,
    /// The node of each end that has a program.
    nodes: BTreeMap<u32, String>,
    sums: BTreeMap<(u32, u8), Sum>,
    table: TableWriter,
}

#[derive(Debug, Default)]
struct Sum {
    packets: u64,
    bytes: u64,
    grown: bool,
}

impl Datagrams {
    /// Puts the programs on the devices of the nodes that are followed; nothing where none is.
    ///
    /// # Errors
    /// A kernel without programs or ring buffers.
    pub fn attach(
        plan: &Plan,
        topology: &mut Topology,
        clock: Clock,
        raw: &Path,
        book: Option<&Shared>,
    ) -> Result<Option<Self>> {
        let (Some(book), Some(found)) = (book, &plan.found) else { return Ok(None) };
        let passages = Passages::open(&COUNTER)?;
        let ends = plan.links.iter().flat_map(|link| &link.ends).enumerate();
        let theirs = ends.filter(|(_, end)| found.nodes.contains(&end.node));
        let nodes: BTreeMap<u32, String> =
            theirs.map(|(index, end)| (index as u32, end.node.clone())).collect();
        for index in nodes.keys() {
            for side in [Side::Leaving, Side::Arriving] {
                passages
                    .put(topology, *index as usize, (*index, side), only_udp)
                    .map_err(|error| error.at(place(plan, *index as usize)))?;
            }
        }
        let columns = COLUMNS.map(|(name, kind)| (name, kind.to_owned()));
        let table = TableWriter::create(raw, TABLE, &columns, STRIDE, &serde_json::json!({}))?;
        let sums = BTreeMap::new();
        let (duration_ns, book) = (plan.duration_ns, book.clone());
        Ok(Some(Self { passages, clock, duration_ns, book, nodes, sums, table }))
    }

    /// Takes what was written since the last call; what has grown becomes a row.
    pub fn read(&mut self, now_ns: i64) -> Result<()> {
        self.take()?;
        for ((flow, side), sum) in self.sums.iter_mut().filter(|(_, sum)| sum.grown) {
            sum.grown = false;
            let row = self.table.row();
            row.extend(now_ns.to_le_bytes());
            row.extend(flow.to_le_bytes());
            row.push(*side);
            row.extend(sum.packets.to_le_bytes());
            row.extend(sum.bytes.to_le_bytes());
            self.table.written()?;
        }
        Ok(())
    }

    fn take(&mut self) -> Result<()> {
        let Self { passages, clock, duration_ns, nodes, sums, .. } = self;
        let mut book = open(&self.book);
        passages.drain(|passage| {
            let Some(datagram) = Datagram::read(passage.bytes) else { return Ok(()) };
            let t_ns = clock.since_start(passage.at_ns);
            let leaving = passage.side == Side::Leaving;
            // What only passes through a node is counted where it comes from and where it goes to.
            let own = if leaving { datagram.way.from } else { datagram.way.to };
            let here = nodes.get(&passage.end).map(String::as_str);
            if t_ns > *duration_ns || book.node(own.address) != here {
                return Ok(());
            }
            let Owner::Found(at) = book.owner(Protocol::Udp, datagram.way, t_ns) else { return Ok(()) };
            let count = (u64::from(passage.number.max(1)), u64::from(datagram.payload));
            book.datagrams(at, leaving, count, t_ns);
            let sum = sums.entry((book.flow(at), u8::from(!leaving))).or_default();
            (sum.packets, sum.bytes, sum.grown) = (sum.packets + count.0, sum.bytes + count.1, true);
            Ok(())
        })
    }

    /// Ends the table; gives how many packets found no room.
    pub fn finish(mut self) -> Result<u64> {
        self.table.flush()?;
        self.passages.lost()
    }
}
