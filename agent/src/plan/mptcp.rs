//! Connections of several paths (MPTCP, RFC 8684): what the nodes' path managers are told, and which flow each subflow is.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;

use super::Plan;
use crate::error::{Error, Result};

/// What a node's path manager is told.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mptcp {
    /// So many subflows beside the first, opened or taken, may a connection have.
    pub subflows: u32,
    /// So many addresses that a peer announces does it take.
    #[serde(default)]
    pub accepted: u32,
    /// From where it opens them, and what it announces.
    #[serde(default)]
    pub endpoints: Vec<Endpoint>,
}

/// An address of a node from which its connections open a subflow, or that they announce.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub address: String,
    /// Whether it is to be used only where no other subflow can be.
    #[serde(default)]
    pub backup: bool,
    /// Whether the peer is told of it (`ADD_ADDR`), who then opens a subflow to it.
    #[serde(default)]
    pub signal: bool,
}

/// From which address a subflow goes to which.
pub type Pair = (IpAddr, IpAddr);

/// Subflows by the number of their connection's flow: between which addresses each is, and its own number.
pub type Subflows = BTreeMap<u32, Vec<(Pair, u32)>>;

impl Plan {
    /// Which flow each subflow is. All of a connection go to one port, so they are told by their addresses.
    ///
    /// # Errors
    /// What is no address.
    pub fn subflows(&self) -> Result<Subflows> {
        let mut found = Subflows::new();
        for flow in &self.flows {
            if let Some(of) = flow.of {
                let pair = (flow.source()?.to_canonical(), flow.destination()?.to_canonical());
                found.entry(of).or_default().push((pair, flow.id));
            }
        }
        Ok(found)
    }

    pub(super) fn check_subflows(&self) -> Result<()> {
        for flow in &self.flows {
            let whole = flow.of.map(|of| self.flows.iter().find(|one| one.id == of));
            if whole.is_some_and(|whole| whole.is_none()) || (whole.is_none() != flow.is_driven()) {
                let message = format!("flow {:?}: a subflow, and nothing else, is `of` a flow", flow.name);
                return Err(Error::new("plan", message));
            }
        }
        Ok(())
    }
}

/// The subflow's number, if the flow has subflows; `None` where none of them is between these addresses.
pub fn subflow_of(subflows: &Subflows, flow: u32, between: impl FnOnce() -> Option<Pair>) -> Option<u32> {
    let Some(several) = subflows.get(&flow) else { return Some(flow) };
    let between = between()?;
    several.iter().find(|(pair, _)| *pair == between).map(|(_, number)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(subflow: &str) -> Result<Plan> {
        Plan::parse(&format!(
            r#"{{"format": "rushhour-plan/1", "seed": 1, "duration_ns": 1, "sample_ns": 1, "readings": {{}}, "links": [],
            "nodes": [{{"name": "a", "mptcp": {{"subflows": 1, "endpoints": [{{"address": "10.0.1.1", "backup": true}}]}}}},
                {{"name": "b"}}],
            "flows": [
                {{"id": 0, "name": "f", "kind": "mptcp", "from": "a", "to": "b", "src": "10.0.0.1", "dst": "10.9.0.2",
                    "start_ns": 0}},
                {{"id": 1, "name": "f.x", "kind": {subflow}, "from": "a", "to": "b", "src": "10.0.1.1", "dst": "10.9.0.2",
                    "start_ns": 0}},
                {{"id": 2, "name": "f.y", "kind": "subflow", "of": 0, "from": "a", "to": "b", "src": "10.0.1.1",
                    "dst": "10.0.7.2", "start_ns": 0}}]}}"#
        ))
    }

    #[test]
    fn a_subflow_is_told_by_its_addresses() {
        let subflows = plan(r#""subflow", "of": 0"#).and_then(|plan| plan.subflows()).expect("a plan");
        let of = |flow, from: [u8; 4], to: [u8; 4]| {
            subflow_of(&subflows, flow, || Some((IpAddr::from(from), IpAddr::from(to))))
        };
        assert_eq!(of(0, [10, 0, 1, 1], [10, 9, 0, 2]), Some(1));
        assert_eq!(of(0, [10, 0, 1, 1], [10, 0, 7, 2]), Some(2));
        assert_eq!(of(0, [10, 0, 2, 1], [10, 9, 0, 2]), None);
        assert_eq!(of(7, [10, 0, 2, 1], [10, 9, 0, 2]), Some(7));
    }

    #[test]
    fn a_subflow_is_of_a_flow() {
        for wrong in [r#""subflow""#, r#""subflow", "of": 5"#, r#""tcp", "of": 0"#] {
            let message = plan(wrong).expect_err("refused").message;
            assert!(message.contains("`of` a flow"), "{message}");
        }
    }
}
