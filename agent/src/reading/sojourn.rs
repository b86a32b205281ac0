//! Sojourn times: one row for each packet that leaves a queue, with the time it spent there (`docs/record-format.md`).
//!
//! A program at the clsact of the queue's device stamps each packet before it enters the queue, another at the device across
//! the cable when it comes out of it: between the two nothing but the queue takes time. Both write the packet's first bytes
//! to one ring, and here the two are brought together. No patch of the kernel, no event, no name of its own structures.

mod header;

use std::collections::HashMap;

use crate::error::{Error, Result, UNSUPPORTED};
use crate::kernel::clock::Clock;
use crate::path::{is_carried, place, Topology};
use crate::plan::Plan;
use crate::reading::found::{open, Owner, Protocol, Shared};
use crate::reading::passage::{Kind, Passages, SKB_LEN};
use crate::record::table::TableWriter;
use crate::tc::classifier::Side;

use header::Header;

pub const TABLE: &str = "sojourn";
/// Of each packet so much is kept: Ethernet (14), IPv6 (40), TCP with a time stamp (32), and what tells datagrams apart.
const KEPT: usize = 96;
/// With the length of each frame; room for the two stamps of 139 000 packets.
const STAMP: Kind = Kind {
    of: "sojourn times",
    program: "stamp",
    taker: "readings.sojourn takes",
    kept: KEPT,
    number: SKB_LEN,
    ring_bytes: 32 << 20,
};
/// Beyond so many packets that did not come out, those are forgotten that entered long ago: they were dropped.
const MOST_INSIDE: usize = 1 << 18;
const FORGET_NS: i64 = 100_000_000_000;
const COLUMNS: [(&str, &str); 6] =
    [("t_ns", "<i8"), ("end", "<u4"), ("flow", "<u4"), ("side", "u1"), ("sojourn_ns", "<u8"), ("len", "<u4")];
const STRIDE: usize = 29;

/// What the programs write, and who is in which queue.
#[derive(Debug)]
pub struct Sojourns {
    stamps: Passages,
    clock: Clock,
    /// Above the highest number of a flow.
    flows: u32,
    /// Knows those that no flow of the plan names.
    book: Option<Shared>,
    /// When each packet entered.
    inside: HashMap<(u32, Header), i64>,
    table: TableWriter,
}

impl Sojourns {
    /// Puts the programs on both sides of every queue that the plan names; nothing where it names none.
    ///
    /// # Errors
    /// A kernel without programs or ring buffers; a link that a line in user space carries.
    pub fn attach(
        plan: &Plan,
        topology: &mut Topology,
        clock: Clock,
        raw: &std::path::Path,
        found: Option<&Shared>,
    ) -> Result<Option<Self>> {
        let ends = plan.links.iter().flat_map(|link| &link.ends);
        let queues: Vec<usize> =
            ends.enumerate().filter(|(_, end)| end.sojourn).map(|(index, _)| index).collect();
        if queues.is_empty() {
            return Ok(None);
        }
        let stamps = Passages::open(&STAMP)?;
        for index in queues {
            if is_carried(plan, index) {
                return Err(Error::new(
                    UNSUPPORTED,
                    "a line in user space carries this link: its queue has no other side in the kernel",
                )
                .hint("A kernel with fq has no lines. Or leave readings.sojourn out.")
                .at(place(plan, index)));
            }
            for (at, side) in [(index, Side::Leaving), (index ^ 1, Side::Arriving)] {
                stamps
                    .put(topology, at, (index as u32, side), |_, _| ())
                    .map_err(|error| error.at(place(plan, index)))?;
            }
        }
        let columns = COLUMNS.map(|(name, kind)| (name, kind.to_owned()));
        let table = TableWriter::create(raw, TABLE, &columns, STRIDE, &serde_json::json!({}))?;
        let (flows, book, inside) = (plan.flow_numbers(), found.cloned(), HashMap::new());
        Ok(Some(Self { stamps, clock, flows, book, inside, table }))
    }

    /// Takes what was written since the last call.
    pub fn read(&mut self) -> Result<()> {
        let Self { stamps, clock, flows, book, inside, table } = self;
        let mut last_ns = i64::MIN;
        stamps.drain(|passage| {
            last_ns = passage.at_ns;
            let key = (passage.end, Header::of(passage.bytes));
            if passage.side == Side::Leaving {
                inside.insert(key, passage.at_ns);
                return Ok(());
            }
            // One that came without a stamp entered before the programs were there.
            let Some(entered_ns) = inside.remove(&key) else { return Ok(()) };
            let (flow, side) = match book {
                Some(book) => followed(book, &key.1, *flows, clock.since_start(passage.at_ns)),
                None => key.1.flow(*flows),
            };
            let row = table.row();
            row.extend(clock.since_start(passage.at_ns).to_le_bytes());
            row.extend(passage.end.to_le_bytes());
            row.extend(flow.to_le_bytes());
            row.push(side);
            row.extend(passage.at_ns.saturating_sub(entered_ns).max(0).to_le_bytes());
            row.extend(passage.number.to_le_bytes());
            table.written()
        })?;
        if inside.len() > MOST_INSIDE {
            inside.retain(|_, entered_ns| last_ns - *entered_ns < FORGET_NS);
        }
        Ok(())
    }

    /// Takes the rest; gives how many stamps found no room.
    pub fn finish(mut self) -> Result<u64> {
        self.read()?;
        self.table.flush()?;
        self.stamps.lost()
    }
}

/// Whose a packet is where sockets are followed that no flow names, and its side.
fn followed(book: &Shared, header: &Header, flows: u32, t_ns: i64) -> (u32, u8) {
    let Some(passenger) = header.passenger() else { return header.flow(flows) };
    let mut book = open(book);
    match book.owner(passenger.protocol, passenger.way, t_ns) {
        Owner::Planned { flow, side } => (flow, side),
        Owner::Found(at) => {
            let (flow, answers) =
                book.of_packet(at, passenger.payload || passenger.protocol == Protocol::Udp);
            (flow, if answers { header::ANSWERS } else { header::DATA })
        }
        Owner::Nobody => (header::NOBODY, header::DATA),
    }
}
