//! Sojourn times: one row for each packet that leaves a queue, with the time it spent there (`docs/record-format.md`).
//!
//! A program at the clsact of the queue's device stamps each packet before it enters the queue, another at the device across
//! the cable when it comes out of it: between the two nothing but the queue takes time. Both write the packet's first bytes
//! to one ring, and here the two are brought together. No patch of the kernel, no event, no name of its own structures.

mod header;
mod program;

use std::collections::HashMap;

use crate::error::{Context, Error, Result, UNSUPPORTED};
use crate::kernel::clock::Clock;
use crate::kernel::netlink::u64_at;
use crate::kernel::sys::bpf::{Map, MapKind};
use crate::kernel::sys::ring::Ring;
use crate::path::{is_carried, place, Topology};
use crate::plan::Plan;
use crate::record::table::TableWriter;
use crate::tc::classifier::{self, Side};
use crate::tc::Device;

use header::Header;

pub const TABLE: &str = "sojourn";
/// Room for the two stamps of 139 000 packets between two readings; it has to be a power of two.
const RING_BYTES: usize = 32 << 20;
/// Beyond so many packets that did not come out, those are forgotten that entered long ago: they were dropped.
const MOST_INSIDE: usize = 1 << 18;
const FORGET_NS: i64 = 100_000_000_000;
const COLUMNS: [(&str, &str); 6] =
    [("t_ns", "<i8"), ("end", "<u4"), ("flow", "<u4"), ("side", "u1"), ("sojourn_ns", "<u8"), ("len", "<u4")];
const STRIDE: usize = 29;

/// What the programs write, and who is in which queue.
#[derive(Debug)]
pub struct Sojourns {
    ring: Ring,
    lost: Map,
    clock: Clock,
    /// Above the highest number of a flow.
    flows: u32,
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
    ) -> Result<Option<Self>> {
        let ends = plan.links.iter().flat_map(|link| &link.ends);
        let queues: Vec<usize> =
            ends.enumerate().filter(|(_, end)| end.sojourn).map(|(index, _)| index).collect();
        if queues.is_empty() {
            return Ok(None);
        }
        let lacking = |error: Error| {
            let hint = "readings.sojourn takes CONFIG_BPF_SYSCALL with ring buffers, from Linux 5.8 on.";
            error.kind(UNSUPPORTED).hint(hint)
        };
        let records = Map::create(MapKind::Ring, 0, 0, RING_BYTES)
            .context("create a ring for sojourn times")
            .map_err(lacking)?;
        let lost = Map::create(MapKind::Array, 4, 8, 1).context("create a counter").map_err(lacking)?;
        let ring = Ring::map(records.fd(), RING_BYTES).context("map the ring of sojourn times")?;
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
                put(topology, at, (index as u32, side), &records, &lost)
                    .map_err(|error| error.at(place(plan, index)))?;
            }
        }
        let columns = COLUMNS.map(|(name, kind)| (name, kind.to_owned()));
        let table = TableWriter::create(raw, TABLE, &columns, STRIDE, &serde_json::json!({}))?;
        Ok(Some(Self { ring, lost, clock, flows: plan.flow_numbers(), inside: HashMap::new(), table }))
    }

    /// Takes what was written since the last call.
    pub fn read(&mut self) -> Result<()> {
        let Self { ring, clock, flows, inside, table, .. } = self;
        let mut last_ns = i64::MIN;
        ring.drain(|record| {
            let Some(passage) = program::Passage::read(record) else { return Ok(()) };
            last_ns = passage.at_ns;
            let key = (passage.end, Header::of(passage.bytes));
            if passage.side == Side::Leaving {
                inside.insert(key, passage.at_ns);
                return Ok(());
            }
            // One that came without a stamp entered before the programs were there.
            let Some(entered_ns) = inside.remove(&key) else { return Ok(()) };
            let (flow, side) = key.1.flow(*flows);
            let row = table.row();
            row.extend(clock.since_start(passage.at_ns).to_le_bytes());
            row.extend(passage.end.to_le_bytes());
            row.extend(flow.to_le_bytes());
            row.push(side);
            row.extend(passage.at_ns.saturating_sub(entered_ns).max(0).to_le_bytes());
            row.extend(passage.length.to_le_bytes());
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
        let mut count = [0; 8];
        self.lost.get(&0_u32.to_ne_bytes(), &mut count).context("read the counter of lost stamps")?;
        Ok(u64_at(&count, 0).unwrap_or(0))
    }
}

/// Puts one program on the device of an end.
fn put(topology: &mut Topology, at: usize, stamp: (u32, Side), records: &Map, lost: &Map) -> Result<()> {
    let own = topology.ends()[at].clone();
    let device = Device { name: &own.dev, ifindex: own.ifindex };
    let code = program::program(stamp, records, lost)
        .ok_or_else(|| Error::new("topology", "a stamp's program does not assemble"))?;
    let program = classifier::load(&code, "stamp")?;
    classifier::attach(&program, "stamp", stamp.1, &device, topology.socket(&own.node)?)
        .map_err(|error| error.hint("The kernel needs CONFIG_NET_CLS_BPF and CONFIG_NET_SCH_INGRESS."))
}
