//! What is to be found: conversations that no flow of the plan names.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;

use super::Plan;
use crate::error::{Error, Result};

/// More conversations than this are counted, not followed.
const MOST: u32 = 4096;

/// Whose sockets are followed although no flow of the plan is theirs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Conversations with one end in these nodes at least.
    pub nodes: Vec<String>,
    /// The number of the first flow that is found, above those of the plan's.
    pub first: u32,
    /// So many conversations at most.
    #[serde(default = "most")]
    pub most: u32,
}

fn most() -> u32 {
    MOST
}

impl Plan {
    pub(super) fn check_found(&self) -> Result<()> {
        let Some(found) = &self.found else { return Ok(()) };
        let fault = |message: String| Err(Error::new("plan", message));
        if found.nodes.is_empty() {
            return fault("`found` names no node whose sockets are to be followed".into());
        }
        let known = |name: &String| self.nodes.iter().any(|node| node.name == *name);
        if let Some(node) = found.nodes.iter().find(|name| !known(name)) {
            return fault(format!("sockets of node {node:?} are to be followed, which is not in the plan"));
        }
        if found.first < self.flow_numbers() {
            return fault(format!("flows that are found begin with {}, which the plan has", found.first));
        }
        if !(1..=MOST).contains(&found.most) {
            return fault(format!("{} conversations are to be followed, it must be 1 to {MOST}", found.most));
        }
        self.node_of_addresses().map(drop)
    }

    /// The node that has each address: its own, its links', its bonds' and bridges'.
    ///
    /// # Errors
    /// What is no address.
    pub fn node_of_addresses(&self) -> Result<BTreeMap<IpAddr, String>> {
        let nodes = self.nodes.iter().map(|node| (&node.name, &node.addresses));
        let ends = self.links.iter().flat_map(|link| &link.ends).map(|end| (&end.node, &end.addresses));
        let devices = self.devices.iter().map(|device| (&device.node, &device.addresses));
        let told = nodes.chain(ends).chain(devices);
        told.flat_map(|(node, addresses)| addresses.iter().map(move |address| (node, address)))
            .map(|(node, address)| {
                let bare = address.split('/').next().unwrap_or_default();
                let fault = |_| Error::new("plan", format!("{address:?} of node {node} is no address"));
                Ok((bare.parse().map_err(fault)?, node.clone()))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(found: &str) -> Result<Plan> {
        Plan::parse(&format!(
            r#"{{"format": "rushhour-plan/1", "seed": 1, "duration_ns": 1, "sample_ns": 1, "readings": {{}},
            "nodes": [{{"name": "a", "addresses": ["10.9.0.1/32"]}}, {{"name": "b"}}],
            "links": [{{"name": "l", "ends": [
                {{"node": "a", "dev": "b", "mac": "", "mtu": 1500, "addresses": ["10.0.0.1/30", "fd00::1/64"]}},
                {{"node": "b", "dev": "a", "mac": "", "mtu": 1500, "addresses": ["10.0.0.2/30"]}}]}}],
            "flows": [{{"id": 4, "name": "f", "kind": "tcp", "from": "a", "to": "b", "src": "10.9.0.1", "dst": "10.0.0.2",
                "start_ns": 0}}], "found": {found}}}"#
        ))
    }

    #[test]
    fn every_address_is_of_a_node() {
        let plan = plan(r#"{"nodes": ["a"], "first": 5}"#).expect("a plan");
        let known = plan.node_of_addresses().expect("addresses");
        let of = |text: &str| known.get(&text.parse::<IpAddr>().expect("an address")).map(String::as_str);
        assert_eq!((of("10.9.0.1"), of("fd00::1"), of("10.0.0.2")), (Some("a"), Some("a"), Some("b")));
        assert_eq!(of("10.0.0.3"), None);
        assert_eq!(plan.found.expect("told").most, MOST);
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        for (found, words) in [
            (r#"{"nodes": [], "first": 5}"#, "names no node"),
            (r#"{"nodes": ["c"], "first": 5}"#, "node \"c\""),
            (r#"{"nodes": ["a"], "first": 4}"#, "begin with 4"),
            (r#"{"nodes": ["a"], "first": 5, "most": 0}"#, "1 to 4096"),
            (r#"{"nodes": ["a"], "first": 5, "more": 1}"#, "unknown field"),
        ] {
            let message = plan(found).expect_err("refused").message;
            assert!(message.contains(words), "{message}");
        }
    }
}
