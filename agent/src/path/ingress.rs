//! What packets meet on arrival: filters with policers, and devices that they are redirected to for a queue.

use super::interface::{ifinfomsg, mac, up, without_own_address};
use super::{addresses, Topology};
use crate::error::{Error, Result};
use crate::kernel::netlink::{Message, CREATE, EXCL};
use crate::kernel::netns::Nodes;
use crate::plan::{Ingress, Plan};
use crate::tc::{self, Device};

/// Builds one arrival. A device of a policer alone is only watched through the clsact of the device it sits at.
pub(super) fn build(topology: &mut Topology, plan: &Plan, nodes: &Nodes, arrival: &Ingress) -> Result<()> {
    let at = topology.ends.iter().position(|end| end.node == arrival.node && end.dev == arrival.dev);
    let Some(at) = at else {
        return Err(Error::new("plan", format!("node {} has no device {}", arrival.node, arrival.dev)));
    };
    let watched = topology.ends[at].ifindex;
    let own = &topology.ends[arrival.end as usize];
    let (name, ifindex) = (own.dev.clone(), own.ifindex);
    if arrival.ifb.is_some() {
        let orders = device(plan, arrival, &name, ifindex)?;
        topology.socket(&arrival.node)?.batch(&orders).map_err(|refusal| refusal.error)?;
        apply(topology, nodes, arrival, &Device { name: &name, ifindex }, &queues(arrival))?;
    } else {
        topology.policed.insert(watched, arrival.end);
    }
    let mut lines = Vec::new();
    let has_wire = topology.wires.iter().any(|(end, _)| *end as usize == at);
    if !has_wire && topology.clsact.insert(watched) {
        lines.push("qdisc clsact".to_owned());
    }
    lines.extend(arrival.filters.iter().cloned());
    apply(topology, nodes, arrival, &Device { name: &arrival.dev, ifindex: watched }, &lines)
}

/// The queues of its device.
pub(super) fn queues(arrival: &Ingress) -> Vec<String> {
    arrival.qdiscs.iter().map(|line| format!("qdisc {line}")).collect()
}

fn apply(
    topology: &mut Topology,
    nodes: &Nodes,
    arrival: &Ingress,
    device: &Device,
    lines: &[String],
) -> Result<()> {
    let orders = topology.orders(&arrival.node, device, lines)?;
    tc::apply(&orders, topology.socket(&arrival.node)?, |work| nodes.within(&arrival.node, work))
}

/// An ifb: what is redirected to it comes back as if it had arrived just now.
fn device(plan: &Plan, arrival: &Ingress, name: &str, ifindex: u32) -> Result<Vec<Message>> {
    let what = format!("create {name}");
    let mut order = Message::new(what, libc::RTM_NEWLINK, CREATE | EXCL, &ifinfomsg(ifindex, 0));
    order.body.text(libc::IFLA_IFNAME, name).put(libc::IFLA_ADDRESS, &mac(&arrival.mac)?);
    order.body.u32(libc::IFLA_MTU, arrival.mtu);
    order.body.u32(libc::IFLA_NUM_TX_QUEUES, 1).u32(libc::IFLA_NUM_RX_QUEUES, 1);
    order.body.nest(libc::IFLA_LINKINFO, |info| {
        info.text(libc::IFLA_INFO_KIND, "ifb");
    });
    let mut orders = vec![order];
    let node = plan.nodes.iter().find(|node| node.name == arrival.node);
    if node.is_some_and(|node| addresses::has_ipv6(plan, node)) {
        orders.push(without_own_address(ifindex, name));
    }
    orders.push(up(ifindex, name));
    Ok(orders)
}
