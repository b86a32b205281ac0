//! Links whose wires a line carries, where the kernel's own queues cannot hold packets back: two veth pairs instead of one.
//! Their inner ends are in a namespace that holds nothing else, and the line takes frames from one to the other.

use std::os::fd::AsFd;

use super::interface::{up, FIRST_IFINDEX};
use super::{links, Wired};
use crate::error::Result;
use crate::kernel::netlink::{Message, Socket};
use crate::kernel::netns::Nodes;
use crate::kernel::sys;
use crate::kernel::sysctl;
use crate::path::line::{Carrying, Line, Port, Report, Treatment};
use crate::plan::{End, Node, Plan, Wire};

/// A node's name that no plan has.
const PLACE: &str = "(line)";

/// What a line carries: the indices of the ends whose directions it treats, in its order.
#[derive(Debug)]
pub struct Lines {
    carrying: Carrying,
    ends: Vec<u32>,
}

/// What one direction's frames met, by its end.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Carried {
    pub end: u32,
    #[serde(flatten)]
    pub report: Report,
}

/// A line at work, and for each end that has a wire its control.
type Started = (Lines, Vec<(u32, Wired)>);

/// Makes the namespace, if there is a link for it. Nobody in it may send anything by itself.
pub(super) fn open(plan: &Plan, nodes: &mut Nodes) -> Result<Option<Socket>> {
    if !plan.links.iter().any(|link| plan.is_carried(link)) {
        return Ok(None);
    }
    nodes.create(PLACE)?;
    nodes
        .within(PLACE, || {
            sysctl::write_if_there("net.ipv6.conf.all.disable_ipv6", "1")?;
            sysctl::write_if_there("net.ipv6.conf.default.disable_ipv6", "1")?;
            Socket::route()
        })
        .map(Some)
}

/// The outer ends that sit in `node`, each with its inner one.
pub(super) fn pairs(plan: &Plan, node: &Node, nodes: &Nodes) -> Result<Vec<Message>> {
    let mine = of(plan).filter(|(_, end)| end.node == node.name);
    mine.map(|(index, end)| {
        let place = nodes.get(PLACE)?.as_fd();
        links::pair((end, FIRST_IFINDEX + index), (&inner(index, end), FIRST_IFINDEX + index, place))
    })
    .collect()
}

/// Brings the inner ends up.
pub(super) fn configure(plan: &Plan) -> Vec<Message> {
    of(plan).map(|(index, _)| up(FIRST_IFINDEX + index, &name(index))).collect()
}

/// Begins to carry; nothing where the plan has no wires for a line.
pub(super) fn start(plan: &Plan, nodes: &Nodes) -> Result<Option<Started>> {
    let Some(settings) = plan.line.as_ref().filter(|_| of(plan).next().is_some()) else { return Ok(None) };
    let (mut line, mut ends, mut wires) = (Line::default(), Vec::new(), Vec::new());
    for (link, index) in plan.links.iter().zip((0..).step_by(2)).filter(|(link, _)| plan.is_carried(link)) {
        let ports = nodes.within(PLACE, || Ok([Port::open(&name(index))?, Port::open(&name(index + 1))?]))?;
        let treatments = [0, 1].map(|side: usize| Treatment::from(wire(&link.ends[side])));
        let controls = line.join(&ports[0], &ports[1], treatments)?;
        ends.extend([index, index + 1]);
        let controlled = (index..).zip(controls).zip(&link.ends).filter(|(_, end)| end.wire.is_some());
        wires.extend(controlled.map(|((index, control), _)| (index, Wired::Line(control))));
    }
    let cpus = settings.cpus.clone();
    let carrying = line.start(move || {
        if !cpus.is_empty() {
            // Where it may not run it runs elsewhere: its lateness tells.
            let _ = sys::cpu::pin(&cpus);
        }
        // As an interrupt would: a packet that is due does not wait for its turn among processes.
        let _ = sys::cpu::come_first(true);
        let _ = sys::time::set_timer_slack(1);
    })?;
    Ok(Some((Lines { carrying, ends }, wires)))
}

impl Lines {
    /// Ends the line and tells of every direction.
    ///
    /// # Errors
    /// What made it end before.
    pub fn stop(self) -> Result<Vec<Carried>> {
        let reports = self.carrying.stop().map_err(|error| error.at("the line that carries frames"))?;
        Ok(self.ends.into_iter().zip(reports).map(|(end, report)| Carried { end, report }).collect())
    }
}

/// The ends of lined links with their indices.
fn of(plan: &Plan) -> impl Iterator<Item = (u32, &End)> {
    let every = plan.links.iter().flat_map(|link| link.ends.iter().map(move |end| (link, end)));
    (0..).zip(every).filter(|(_, (link, _))| plan.is_carried(link)).map(|(index, (_, end))| (index, end))
}

fn name(index: u32) -> String {
    format!("line{index}")
}

fn inner(index: u32, end: &End) -> End {
    let [high, low] = (index as u16).to_be_bytes();
    let mac = format!("02:00:04:00:{high:02x}:{low:02x}");
    End { dev: name(index), mac, ..end.clone() }
}

/// The way back of a link may be without a wire: then its frames pass at once.
fn wire(end: &End) -> Wire {
    end.wire.clone().unwrap_or_default()
}
