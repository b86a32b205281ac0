//! What the plan changes during the experiment: rates and classes by traffic control, delay, jitter and loss by a wire's
//! settings, and which routes a node has.
//!
//! Everything is understood before the start; one thread then waits for each instant in turn and hands the kernel what is
//! due. A queue keeps its packets: the qdisc is changed, not replaced.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use crate::error::{Error, Result};
use crate::kernel::beside::{Beside, Gate};
use crate::kernel::clock::Clock;
use crate::kernel::netlink::{Message, Socket};
use crate::kernel::netns::Nodes;
use crate::path::{self, Topology, Wired};
use crate::plan::{Change, Key, Plan, Wire};
use crate::record::table::TableWriter;
use crate::tc::{self, Device};

const KEY_BYTES: usize = 8;
const COLUMNS: [(&str, &str); 6] = [
    ("t_ns", "<i8"),
    ("done_ns", "<i8"),
    ("end", "<u4"),
    ("key", "S8"),
    ("value", "<f8"),
    ("packets", "<u8"),
];
const STRIDE: usize = 8 + 8 + 4 + KEY_BYTES + 8 + 8;

/// What is to be done at one instant to one end.
#[derive(Debug)]
enum Work {
    /// Requests for the socket of this node.
    Lines(String, Vec<Message>),
    Wire(Arc<Wired>, Wire),
}

#[derive(Debug)]
struct Due {
    change: Change,
    work: Work,
    /// `link left-right, left → right`, for errors.
    place: String,
}

/// All changes of a plan, ready to be carried out.
#[derive(Debug)]
pub struct Changes {
    due: Vec<Due>,
    sockets: HashMap<String, Socket>,
    table: TableWriter,
}

impl Changes {
    /// Understands every change and opens what they need; `None` when the plan has none.
    pub fn prepare(plan: &Plan, topology: &Topology, nodes: &Nodes, raw: &Path) -> Result<Option<Self>> {
        if plan.changes.is_empty() {
            return Ok(None);
        }
        let mut wires = HashMap::new();
        let mut sockets = HashMap::new();
        let mut due = Vec::with_capacity(plan.changes.len());
        for change in &plan.changes {
            let place = path::place(plan, change.end);
            let work = match change.key {
                Key::Rate | Key::Class => lines(change, topology, nodes, &mut sockets),
                Key::Route => routes(change, plan, topology, nodes, &mut sockets),
                _ => wire(change, plan, topology, &mut wires),
            };
            let work = work.map_err(|error| error.at(&place))?;
            due.push(Due { change: change.clone(), work, place });
        }
        let columns = COLUMNS.map(|(name, kind)| (name, kind.to_owned()));
        let table = TableWriter::create(raw, "changes", &columns, STRIDE, &json!({}))?;
        Ok(Some(Self { due, sockets, table }))
    }

    /// Begins to wait for the instants, counted by `clock`; all of them lie before the end of the experiment.
    ///
    /// # Errors
    /// No thread can be made.
    pub fn start(self, clock: Clock) -> Result<Beside> {
        Beside::start("changes", move |gate| self.run(clock, gate))
    }

    fn run(mut self, clock: Clock, gate: &Gate) -> Result<()> {
        let Self { due, sockets, table } = &mut self;
        for instant in due.chunk_by(|one, next| one.change.t_ns == next.change.t_ns) {
            clock.sleep_until(instant[0].change.t_ns);
            let Some(done) = gate.pass(|| carry_out(instant, sockets, table, clock)) else { return Ok(()) };
            done?;
        }
        self.table.flush()
    }
}

/// Carries out and notes what is due at one instant.
fn carry_out(
    instant: &[Due],
    sockets: &mut HashMap<String, Socket>,
    table: &mut TableWriter,
    clock: Clock,
) -> Result<()> {
    for due in instant {
        due.carry_out(sockets, clock.start_ns()).map_err(|error| error.at(&due.place))?;
    }
    let done_ns = clock.now();
    instant.iter().try_for_each(|due| due.write(table, done_ns))
}

impl Due {
    fn carry_out(&self, sockets: &mut HashMap<String, Socket>, start_ns: i64) -> Result<()> {
        match &self.work {
            Work::Lines(node, messages) => match sockets.get_mut(node) {
                Some(socket) => tc::carry_out(messages, socket),
                None => Err(Error::new("plan", format!("node {node:?} is not in the plan"))),
            },
            Work::Wire(element, wire) => element.change(wire, start_ns),
        }
    }

    fn write(&self, table: &mut TableWriter, done_ns: i64) -> Result<()> {
        let packets = match &self.work {
            Work::Lines(..) => 0,
            Work::Wire(element, _) => {
                Wired::read_each(&[&**element])?.first().map_or(0, |(packets, _)| *packets)
            }
        };
        let mut key = [0; KEY_BYTES];
        let name = name(self.change.key).as_bytes();
        key[..name.len()].copy_from_slice(name);
        let row = table.row();
        row.extend(self.change.t_ns.to_le_bytes());
        row.extend(done_ns.to_le_bytes());
        row.extend((self.change.end as u32).to_le_bytes());
        row.extend(key);
        row.extend(self.change.value.to_le_bytes());
        row.extend(packets.to_le_bytes());
        table.written()
    }
}

fn name(key: Key) -> &'static str {
    match key {
        Key::Rate => "rate",
        Key::Delay => "delay",
        Key::Jitter => "jitter",
        Key::Loss => "loss",
        Key::Serial => "serial",
        Key::Hold => "hold",
        Key::Class => "class",
        Key::Route => "route",
    }
}

fn lines(
    change: &Change,
    topology: &Topology,
    nodes: &Nodes,
    sockets: &mut HashMap<String, Socket>,
) -> Result<Work> {
    let end = topology.end(change.end).ok_or_else(|| Error::new("plan", "a change at no end"))?;
    let device = Device { name: &end.dev, ifindex: end.ifindex };
    let messages = change.lines.iter().map(|line| tc::change(line, &device)).collect::<Result<Vec<_>>>()?;
    if messages.is_empty() {
        return Err(Error::new("plan", "a change of a rate or a class has no lines"));
    }
    asking(&end.node, messages, nodes, sockets)
}

/// The routes of the end's node over its device.
fn routes(
    change: &Change,
    plan: &Plan,
    topology: &Topology,
    nodes: &Nodes,
    sockets: &mut HashMap<String, Socket>,
) -> Result<Work> {
    let end = topology.end(change.end).ok_or_else(|| Error::new("plan", "a change at no end"))?;
    let messages = path::routes_over(plan, &end.node, &end.dev, change.value > 0.0)?;
    asking(&end.node, messages, nodes, sockets)
}

fn asking(
    node: &str,
    messages: Vec<Message>,
    nodes: &Nodes,
    sockets: &mut HashMap<String, Socket>,
) -> Result<Work> {
    if !sockets.contains_key(node) {
        sockets.insert(node.to_owned(), Socket::route_in(nodes, node)?);
    }
    Ok(Work::Lines(node.to_owned(), messages))
}

/// The wire of the change's end as it is from then on; `wires` holds each one as the changes so far have left it.
fn wire(change: &Change, plan: &Plan, topology: &Topology, wires: &mut HashMap<usize, Wire>) -> Result<Work> {
    let planned = plan.links[change.end / 2].ends[change.end % 2].wire.as_ref();
    let element = topology.wires().iter().find(|(end, _)| *end as usize == change.end);
    let (Some(planned), Some((_, element))) = (planned, element) else {
        return Err(Error::new("plan", "a change at an end without a wire"));
    };
    let wire = wires.entry(change.end).or_insert_with(|| Wire { drop: Vec::new(), ..planned.clone() });
    match change.key {
        Key::Delay => wire.delay_ns = change.value as u64,
        Key::Jitter => wire.jitter_ns = change.value as u64,
        Key::Loss => wire.loss = change.value,
        Key::Rate | Key::Class | Key::Route => {
            return Err(Error::new("plan", "a wire has no rate, no class and no route"));
        }
        Key::Serial | Key::Hold => serial(change, wire)?,
    }
    crate::path::wire::check(wire)?;
    Ok(Work::Wire(Arc::clone(element), wire.clone()))
}

fn serial(change: &Change, wire: &mut Wire) -> Result<()> {
    let serial = wire.serial.as_mut().ok_or_else(|| Error::new("plan", "a wire that sends at no rate"))?;
    match change.key {
        Key::Hold => serial.hold_ns = change.value as i64,
        _ => serial.rate_bps = change.value as u64,
    }
    Ok(())
}
