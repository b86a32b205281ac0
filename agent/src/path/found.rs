//! Devices that are there already, at a host that takes part in an experiment.

use std::collections::{HashMap, HashSet};

use super::{emulator, BuiltEnd, Topology};
use crate::error::Result;
use crate::kernel::netlink::Socket;
use crate::plan::Plan;

/// The devices whose counters the plan wants, as ends, and those that become emulators.
///
/// # Errors
/// A device that is not there; the error names those that are.
pub fn found(plan: &Plan) -> Result<Topology> {
    let mut socket = Socket::route()?;
    let (mut ends, mut numbers) = (Vec::new(), Vec::new());
    for watch in &plan.watch {
        let ifindex = socket.ifindex(&watch.dev).map_err(|error| error.at(format!("node {}", watch.node)))?;
        ends.push(BuiltEnd { node: watch.node.clone(), dev: watch.dev.clone(), ifindex });
        numbers.push(watch.end);
    }
    let mut topology = Topology {
        ends,
        numbers: Some(numbers),
        sockets: HashMap::new(),
        wires: Vec::new(),
        lines: None,
        policed: HashMap::new(),
        clsact: HashSet::new(),
    };
    emulator::build(plan, &mut topology, &mut socket)?;
    topology.sockets.insert(plan.here.clone().unwrap_or_default(), socket);
    Ok(topology)
}
