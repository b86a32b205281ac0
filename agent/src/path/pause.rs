//! PAUSE of Ethernet (IEEE 802.3, annex 31B): a port is stopped while a queue behind it is nearly full, instead of that queue
//! dropping.
//!
//! The port's own queue is a `plug` under its shaper: blocked, it keeps all that comes, whomever it is for (head-of-line
//! blocking). One thread looks at the watched queues at equal intervals; a frame that has begun to leave is not stopped.

use std::collections::HashMap;
use std::path::Path;

use serde_json::json;

use crate::error::{Error, Result};
use crate::kernel::beside::{Beside, Gate};
use crate::kernel::clock::Clock;
use crate::kernel::netlink::{Message, Socket};
use crate::kernel::netns::Nodes;
use crate::path::{self, Topology};
use crate::plan::{Plan, Watched};
use crate::record::table::TableWriter;
use crate::tc::{self, Device, Row, TC_H_ROOT};

const COLUMNS: [(&str, &str); 3] = [("t_ns", "<i8"), ("end", "<u4"), ("stopped", "<u4")];
const STRIDE: usize = 8 + 4 + 4;

/// A port, and how it is told.
#[derive(Debug)]
struct Port {
    end: u32,
    node: String,
    stop: Message,
    go: Message,
    watched: Vec<Watched>,
    stopped: bool,
    place: String,
}

/// Ports that can be stopped, ready.
#[derive(Debug)]
pub struct Pauses {
    ports: Vec<Port>,
    /// Where the ports are.
    tell: HashMap<String, Socket>,
    /// Where the watched queues are, with the ends by interface index.
    look: Vec<(Socket, HashMap<u32, u32>)>,
    interval_ns: i64,
    until_ns: i64,
    table: TableWriter,
}

/// Lets every port of the plan go: a new `plug` holds everything.
pub fn open(plan: &Plan, topology: &mut Topology) -> Result<()> {
    let Some(pauses) = &plan.pauses else { return Ok(()) };
    for port in &pauses.ports {
        let (node, go) = told(topology, port.end, &port.line, "release_indefinite")
            .map_err(|error| error.at(path::place(plan, port.end)))?;
        topology.socket(&node)?.request(&go)?;
    }
    Ok(())
}

fn told(topology: &Topology, end: usize, line: &str, word: &str) -> Result<(String, Message)> {
    let built = topology.end(end).ok_or_else(|| Error::new("plan", "a pause at no end"))?;
    let device = Device { name: &built.dev, ifindex: built.ifindex };
    Ok((built.node.clone(), tc::change(&format!("{line} {word}"), &device)?))
}

impl Pauses {
    /// Opens what watching needs; `None` when no port of the plan can be stopped.
    pub fn prepare(plan: &Plan, topology: &Topology, nodes: &Nodes, raw: &Path) -> Result<Option<Self>> {
        let Some(pauses) = &plan.pauses else { return Ok(None) };
        let mut ports = Vec::new();
        let mut tell = HashMap::new();
        let mut watched: HashMap<String, HashMap<u32, u32>> = HashMap::new();
        for port in &pauses.ports {
            let (node, stop) = told(topology, port.end, &port.line, "block")?;
            let (_, go) = told(topology, port.end, &port.line, "release_indefinite")?;
            if !tell.contains_key(&node) {
                tell.insert(node.clone(), Socket::route_in(nodes, &node)?);
            }
            for one in &port.watch {
                let far =
                    topology.end(one.end).ok_or_else(|| Error::new("plan", "a pause watches no end"))?;
                watched.entry(far.node.clone()).or_default().insert(far.ifindex, one.end as u32);
            }
            let place = path::place(plan, port.end);
            let watched = port.watch.clone();
            ports.push(Port { end: port.end as u32, node, stop, go, watched, stopped: false, place });
        }
        // In the order of their names: the same on every run.
        let mut named: Vec<_> = watched.into_iter().collect();
        named.sort_by(|one, other| one.0.cmp(&other.0));
        let look = named
            .into_iter()
            .map(|(node, ends)| Ok((Socket::route_in(nodes, &node)?, ends)))
            .collect::<Result<_>>()?;
        let columns = COLUMNS.map(|(name, kind)| (name, kind.to_owned()));
        let table = TableWriter::create(raw, "pauses", &columns, STRIDE, &json!({}))?;
        let (interval_ns, until_ns) = (pauses.interval_ns, plan.duration_ns);
        Ok(Some(Self { ports, tell, look, interval_ns, until_ns, table }))
    }

    /// Begins to watch, by `clock`; the last look lies before the end of the experiment.
    ///
    /// # Errors
    /// No thread can be made.
    pub fn start(self, clock: Clock) -> Result<Beside> {
        Beside::start("pauses", move |gate| self.run(clock, gate))
    }

    fn run(mut self, clock: Clock, gate: &Gate) -> Result<()> {
        let mut next_ns = 0;
        while next_ns < self.until_ns && !clock.is_over() {
            clock.sleep_until(next_ns);
            let now_ns = clock.now();
            let Some(done) = gate.pass(|| self.act(now_ns)) else { return Ok(()) };
            done?;
            // What was missed is not made up for.
            next_ns += self.interval_ns * (1 + ((now_ns - next_ns) / self.interval_ns).max(0));
        }
        self.table.flush()
    }

    fn act(&mut self, now_ns: i64) -> Result<()> {
        let queues = self.queues()?;
        for port in &mut self.ports {
            let filled = |one: &Watched, limit: u32| {
                queues
                    .get(&(one.end as u32))
                    .is_some_and(|(packets, bytes)| *(if one.packets { packets } else { bytes }) >= limit)
            };
            let stop = if port.stopped {
                port.watched.iter().any(|one| filled(one, one.go))
            } else {
                port.watched.iter().any(|one| filled(one, one.stop))
            };
            if stop == port.stopped {
                continue;
            }
            let socket =
                self.tell.get_mut(&port.node).ok_or_else(|| Error::new("plan", "a port in no node"))?;
            let message = if stop { &port.stop } else { &port.go };
            socket.request(message).map_err(|error| error.at(&port.place))?;
            port.stopped = stop;
            let row = self.table.row();
            row.extend(now_ns.to_le_bytes());
            row.extend(port.end.to_le_bytes());
            row.extend(u32::from(stop).to_le_bytes());
            self.table.written()?;
        }
        Ok(())
    }

    /// Packets and bytes that wait at each watched end.
    fn queues(&mut self) -> Result<HashMap<u32, (u32, u32)>> {
        let message = tc::list("list qdiscs", libc::RTM_GETQDISC, 0, 0);
        let mut found = HashMap::new();
        for (socket, ends) in &mut self.look {
            socket.dump(&message, |payload| {
                let Some(row) = Row::parse(payload).filter(|row| row.parent == TC_H_ROOT) else { return };
                if let Some(end) = ends.get(&row.ifindex) {
                    found.insert(*end, (row.qlen, row.backlog));
                }
            })?;
        }
        Ok(found)
    }
}
