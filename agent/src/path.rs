//! Builds what the plan draws: namespaces, veth pairs, addresses, routes, queues, wires.
//!
//! A system call inside a virtual kernel costs some 15 µs of the host, so each node has one netlink socket and gets its
//! orders in a few large pieces.

mod addresses;
mod build;
mod devices;
pub mod disturb;
mod emulator;
pub mod firewall;
mod found;
mod ingress;
pub(crate) mod interface;
pub mod line;
mod lined;
mod links;
mod mptcp;
pub mod pause;
mod pinned;
pub mod serial;
mod tables;
pub mod wire;
mod wired;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::kernel::netlink::Socket;
use crate::kernel::netns::Nodes;
use crate::plan::{End, Plan};
use crate::tc;

pub(crate) use addresses::routes_over;
pub use build::build;
pub use lined::{Carried, Lines};
use wire::Element;
pub use wired::Wired;

pub use found::found;

/// One end of a link as it was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltEnd {
    pub node: String,
    pub dev: String,
    /// Unique in the whole experiment, not only in its namespace.
    pub ifindex: u32,
}

/// What was built, with an open netlink socket in each node.
#[derive(Debug)]
pub struct Topology {
    ends: Vec<BuiltEnd>,
    /// The numbers of ends that were found, not built.
    numbers: Option<Vec<u32>>,
    sockets: HashMap<String, Socket>,
    wires: Vec<(u32, Arc<Wired>)>,
    /// What carries the wires' packets, where that is not the kernel.
    lines: Option<Lines>,
    /// Policers' ends by the interface index of the device they sit at.
    policed: HashMap<u32, u32>,
    /// Devices that were given a clsact for what arrives.
    clsact: HashSet<u32>,
}

impl Topology {
    /// End `index` (2·link + side); `None` beyond the last.
    #[must_use]
    pub fn end(&self, index: usize) -> Option<&BuiltEnd> {
        self.ends.get(index)
    }

    #[must_use]
    pub fn ends(&self) -> &[BuiltEnd] {
        &self.ends
    }

    /// The index of the end with this interface index.
    #[must_use]
    pub fn end_of(&self, ifindex: u32) -> Option<u32> {
        number(&self.ends, self.numbers.as_deref(), ifindex)
    }

    /// The index of the end that a queue discipline belongs to: a policer's counts in the clsact of its device.
    #[must_use]
    pub fn end_of_queue(&self, row: &tc::Row) -> Option<u32> {
        let policer = self.policed.get(&row.ifindex).filter(|_| row.kind == "clsact");
        policer.copied().or_else(|| self.end_of(row.ifindex))
    }

    /// The seeded elements, by the index of their end.
    #[must_use]
    pub fn wires(&self) -> &[(u32, Arc<Wired>)] {
        &self.wires
    }

    /// Ends the line that carries the wires' packets, if there is one, and tells how it did.
    ///
    /// # Errors
    /// What made it end before.
    pub fn stop_line(&mut self) -> Result<Option<Vec<Carried>>> {
        self.lines.take().map(Lines::stop).transpose()
    }

    /// On every wire the next packet is number `first`.
    pub fn count_wires_from(&self, first: u64) -> Result<()> {
        let wires: Vec<&Wired> = self.wires.iter().map(|(_, wired)| &**wired).collect();
        Wired::count_each_from(&wires, first)
    }

    /// Says so where two packets of a wire may have one number.
    pub fn warn_of_wires(&self, warnings: &mut Vec<String>) {
        if !self.wires.iter().all(|(_, element)| element.is_exact()) {
            warnings.push(format!("a wire's program {}", crate::path::wire::INEXACT));
        }
    }

    /// What lines of a device ask for; they may name other devices of its node.
    fn orders(&self, node: &str, device: &tc::Device, lines: &[String]) -> Result<Vec<tc::Order>> {
        let find = |dev: &str| {
            let found = self.ends.iter().find(|end| end.node == node && end.dev == dev);
            found.map(|end| end.ifindex)
        };
        lines.iter().map(|line| tc::parse_among(line, device, &find)).collect()
    }

    /// The routing socket that is open in a node.
    pub fn socket(&mut self, node: &str) -> Result<&mut Socket> {
        self.sockets
            .get_mut(node)
            .ok_or_else(|| Error::new("plan", format!("node {node:?} is not in the plan")))
    }
}

/// The index of the end with this interface index; `numbers` are those of ends that were found.
fn number(ends: &[BuiltEnd], numbers: Option<&[u32]>, ifindex: u32) -> Option<u32> {
    if let Some(numbers) = numbers {
        let at = ends.iter().position(|end| end.ifindex == ifindex)?;
        return numbers.get(at).copied();
    }
    let index = ifindex.checked_sub(interface::FIRST_IFINDEX)?;
    (usize::try_from(index).ok()? < ends.len()).then_some(index)
}

/// All ends in the order of their index.
fn ends(plan: &Plan) -> impl Iterator<Item = &End> {
    plan.links.iter().flat_map(|link| &link.ends)
}

/// `link left-right, left → right`, for errors.
#[must_use]
pub fn place(plan: &Plan, index: usize) -> String {
    let link = &plan.links[index / 2];
    format!("link {}, {} → {}", link.name, link.ends[index % 2].node, link.ends[1 - index % 2].node)
}

/// Whether a line in user space carries the link of this end.
#[must_use]
pub fn is_carried(plan: &Plan, index: usize) -> bool {
    plan.is_carried(&plan.links[index / 2])
}

/// Queues, classes and filters of one end, and its wire, if an element for that is there.
fn egress(
    topology: &mut Topology,
    nodes: &Nodes,
    index: usize,
    end: &End,
    element: Option<Element>,
) -> Result<()> {
    queues(topology, nodes, index, &tc::in_order(&end.qdiscs, &end.filters))?;
    if let Some((wire, element)) = end.wire.as_ref().zip(element) {
        let device = tc::Device { name: &end.dev, ifindex: topology.ends[index].ifindex };
        let element = wire::attach(wire, element, &device, topology.socket(&end.node)?)?;
        topology.wires.push((index as u32, Arc::new(Wired::Program(element))));
    }
    Ok(())
}

fn queues(topology: &mut Topology, nodes: &Nodes, index: usize, lines: &[String]) -> Result<()> {
    let end = topology.ends[index].clone();
    let device = tc::Device { name: &end.dev, ifindex: end.ifindex };
    let orders = topology.orders(&end.node, &device, lines)?;
    tc::apply(&orders, topology.socket(&end.node)?, |work| nodes.within(&end.node, work))
}

/// Makes every queue anew: an average of red, a dropping probability of pie, tokens that were spent and what was counted
/// belong to calibration.
pub fn renew_queues(plan: &Plan, topology: &mut Topology, nodes: &Nodes) -> Result<()> {
    for (index, end) in ends(plan).enumerate() {
        let mut lines = tc::in_order(&end.qdiscs, &end.filters);
        lines.retain(|line| tc::is_below_root(line));
        renew(topology, nodes, index, &lines).map_err(|error| error.at(place(plan, index)))?;
    }
    for arrival in plan.ingress.iter().filter(|arrival| arrival.ifb.is_some()) {
        let place = format!("ingress of {} in node {}", arrival.dev, arrival.node);
        let lines = ingress::queues(arrival);
        renew(topology, nodes, arrival.end as usize, &lines).map_err(|error| error.at(place))?;
    }
    Ok(())
}

fn renew(topology: &mut Topology, nodes: &Nodes, index: usize, lines: &[String]) -> Result<()> {
    if !lines.iter().any(|line| line.starts_with("qdisc ")) {
        return Ok(());
    }
    let end = topology.ends[index].clone();
    let device = tc::Device { name: &end.dev, ifindex: end.ifindex };
    topology.socket(&end.node)?.batch(&[tc::removal(&device)]).map_err(|refusal| refusal.error)?;
    queues(topology, nodes, index, lines)
}

/// Every qdisc of every end, as the kernel tells it now.
pub fn read_back(topology: &mut Topology) -> Result<Vec<QdiscReadBack>> {
    let mut found = Vec::new();
    let Topology { ends, numbers, sockets, .. } = topology;
    for socket in sockets.values_mut() {
        tc::dump(socket, |row| {
            if let Some(end) = number(ends, numbers.as_deref(), row.ifindex) {
                found.push(QdiscReadBack {
                    end,
                    kind: row.kind.to_owned(),
                    handle: row.handle,
                    parent: row.parent,
                    options: hexadecimal(row.options),
                });
            }
        })?;
    }
    found.sort_by_key(|qdisc| (qdisc.end, qdisc.handle, qdisc.parent));
    Ok(found)
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// A qdisc as the kernel tells it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct QdiscReadBack {
    pub end: u32,
    pub kind: String,
    pub handle: u32,
    pub parent: u32,
    /// `TCA_OPTIONS` in hexadecimal.
    pub options: String,
}
