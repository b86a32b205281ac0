//! Tables of TCP connections: nodes in namespaces of this machine get their own (from Linux 6.1 on).
//!
//! The machine's is made by its memory, and each reading may go through all of it: on 24 GiB the readings of six nodes took a whole
//! processor.

use crate::error::Result;
use crate::kernel::netns::Nodes;
use crate::kernel::sysctl;
use crate::lab::Lab;
use crate::plan::Plan;

/// Places in the table of a namespace that is made; 0: that of the machine.
const CHILD_ENTRIES: &str = "net.ipv4.tcp_child_ehash_entries";
/// What the kernel derives from the number of places (`tcp_set_hashinfo()` in `net/ipv4/tcp_ipv4.c`).
const DERIVED: [&str; 2] = ["net.ipv4.tcp_max_tw_buckets", "net.ipv4.tcp_max_syn_backlog"];
const LEAST: usize = 1024;
/// Where nobody knows how many connections there will be.
const MANY: usize = 8192;

/// Runs `make`, which makes the nodes: in this lab with tables as large as those of a virtual kernel (`hash_entries` of `lab/uml.py`),
/// and all else as the machine has it.
pub fn fitting(
    plan: &Plan,
    lab: Lab,
    nodes: &mut Nodes,
    make: impl FnOnce(&mut Nodes) -> Result<()>,
) -> Result<()> {
    if lab != Lab::Namespaces || !sysctl::is_writable(CHILD_ENTRIES) {
        return make(nodes);
    }
    let before = sysctl::read(CHILD_ENTRIES)?;
    sysctl::write(CHILD_ENTRIES, &entries(plan).to_string())?;
    let outcome = make(nodes);
    sysctl::write(CHILD_ENTRIES, &before)?;
    outcome?;
    let derived = DERIVED.into_iter().map(|name| Ok((name, sysctl::read(name)?)));
    let derived = derived.collect::<Result<Vec<_>>>()?;
    let restore = || derived.iter().try_for_each(|(name, value)| sysctl::write(name, value));
    plan.nodes.iter().try_for_each(|node| nodes.within(&node.name, restore))
}

fn entries(plan: &Plan) -> usize {
    let least = if plan.connects_without_number() { MANY } else { LEAST };
    (4 * plan.flows.len()).next_power_of_two().max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_four_places_for_each_flow_and_some_thousand_for_what_is_not_known() {
        let plan = |kind: &str, count: usize| {
            let flow = |id: usize| {
                format!(
                    r#"{{"id": {id}, "name": "f{id}", "kind": "{kind}", "from": "a", "to": "b", "src": "10.0.0.1",
                    "dst": "10.0.0.2", "start_ns": 0}}"#
                )
            };
            let flows: Vec<_> = (0..count).map(flow).collect();
            let text = format!(
                r#"{{"format": "rushhour-plan/1", "seed": 1, "duration_ns": 1, "sample_ns": 1, "readings": {{}},
                "nodes": [{{"name": "a"}}, {{"name": "b"}}], "links": [], "flows": [{}]}}"#,
                flows.join(",")
            );
            Plan::parse(&text).expect("a plan")
        };
        let sizes = [("tcp", 1), ("tcp", 256), ("tcp", 257), ("crr", 1), ("tcp", 3000)];
        assert_eq!(sizes.map(|(kind, count)| entries(&plan(kind, count))), [1024, 1024, 2048, 8192, 16_384]);
    }
}
