//! A host's part of a plan: the flow sides at one node, and devices that are there already.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;

use super::{Flow, Generator, Plan, Wire};
use crate::error::{Error, Result};

/// A device whose counters are read.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    pub node: String,
    pub dev: String,
    /// Its number in the raw tables.
    pub end: u32,
}

/// What a device that is there already gets for the time of the experiment, as a link's end has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Egress {
    pub node: String,
    /// By which packets leave; with an `ifb`, at which they arrive.
    pub dev: String,
    pub end: u32,
    #[serde(default)]
    pub qdiscs: Vec<String>,
    #[serde(default)]
    pub filters: Vec<String>,
    #[serde(default)]
    pub wire: Option<Wire>,
    /// A device to make, for the queue that arriving packets are redirected to.
    #[serde(default)]
    pub ifb: Option<String>,
}

impl Egress {
    /// The device that has the queue.
    #[must_use]
    pub fn queue(&self) -> &str {
        self.ifb.as_deref().unwrap_or(&self.dev)
    }
}

impl Plan {
    /// Leaves of the plan what one host does of it.
    ///
    /// # Errors
    /// A host that is not in the plan, or something that only a whole network can do.
    pub fn part(mut self, here: &str) -> Result<Self> {
        if !self.nodes.iter().any(|node| node.name == here) {
            return Err(Error::new("plan", format!("node {here:?} is not in the plan")));
        }
        let whole =
            |what: &str| Err(Error::new("plan", format!("{what} cannot be done at one host of several")));
        if self.flows.iter().any(|flow| flow.generator == Generator::Iperf3) {
            return whole("flows by iperf3");
        }
        if !self.changes.is_empty() {
            return whole("changes while packets pass");
        }
        if self.found.is_some() {
            return whole("following sockets that no flow names");
        }
        if !self.calibration.trains.is_empty() {
            return whole("trains of packets");
        }
        self.nodes.retain(|node| node.name == here);
        if self.nodes.iter().any(|node| node.drop_input.is_some()) {
            return whole("drops at INPUT");
        }
        self.links.clear();
        self.ingress.clear();
        self.devices.clear();
        self.routes.clear();
        self.rules.clear();
        self.neighbours.clear();
        self.watch.retain(|watch| watch.node == here);
        self.egress.retain(|egress| egress.node == here);
        self.flows.retain(|flow| flow.from == here || flow.to == here);
        // The kernel knows which ports are free; one that was used just now may be held back for a minute.
        self.flows.iter_mut().for_each(|flow| flow.sport = 0);
        self.here = Some(here.to_owned());
        Ok(self)
    }

    /// Whether one host's part is all that is done here.
    #[must_use]
    pub fn is_part(&self) -> bool {
        self.here.is_some()
    }

    /// Where flows go, by their number: a host has other connections, by which one of ours must not be mistaken. Nothing
    /// where all there is is ours.
    ///
    /// # Errors
    /// A destination that is no address.
    pub fn destinations(&self) -> Result<Option<BTreeMap<u32, IpAddr>>> {
        if !self.is_part() {
            return Ok(None);
        }
        let to = |flow: &Flow| Ok((flow.id, flow.destination()?));
        self.flows.iter().map(to).collect::<Result<_>>().map(Some)
    }
}
