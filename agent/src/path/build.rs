//! Building a plan's network, stage by stage.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{
    addresses, devices, disturb, egress, ends, ingress, interface, lined, links, mptcp, pinned, place,
    tables, wire, Element, Topology,
};
use crate::error::{Context, Error, Result, UNSUPPORTED};
use crate::kernel::netlink::{Message, Opening, Refusal, Socket};
use crate::kernel::netns::Nodes;
use crate::kernel::sys;
use crate::kernel::sys::files::Text;
use crate::kernel::sysctl;
use crate::lab::Lab;
use crate::plan::{Node, Plan, Wire};

/// Time for the kernel's workers to notice that links are up and to take IPv6 addresses into use.
const SETTLE_NS: i64 = 10_000_000;

/// A namespace and a few netlink sockets.
const FILES_PER_NODE: u64 = 4;
/// Two sockets and what waits for them.
const FILES_PER_FLOW: u64 = 8;
const OTHER_FILES: u64 = 1024;

/// Builds the plan's network. On return every device is up and every queue in place.
pub fn build(plan: &Plan, nodes: &mut Nodes, lab: Lab) -> Result<Topology> {
    let mut topology = Topology {
        ends: interface::numbered(plan),
        numbers: None,
        sockets: HashMap::new(),
        wires: Vec::new(),
        lines: None,
        policed: HashMap::new(),
        clsact: HashSet::new(),
    };
    let files =
        FILES_PER_NODE * plan.nodes.len() as u64 + FILES_PER_FLOW * plan.flows.len() as u64 + OTHER_FILES;
    sys::limits::allow_open_files(files).context(format_args!("allow {files} open files"))?;
    if lab.is_virtual() {
        // Else some kernels put three idle tunnel devices into every node.
        sysctl::write_if_there("net.core.fb_tunnels_only_for_init_net", "2")?;
    }
    tables::fitting(plan, lab, nodes, |nodes| make_nodes(&mut topology, plan, nodes))?;
    let inner = lined::open(plan, nodes)?;
    make_links(&mut topology, plan, nodes)?;
    devices::wait_for_turn(plan, lab);
    make_devices(&mut topology, plan)?;
    bring_up(&mut topology, plan)?;
    if let Some(mut socket) = inner {
        socket.batch(&lined::configure(plan))?;
    }
    pinned::steer(plan, nodes)?;
    if plan.nodes.iter().any(|node| addresses::has_ipv6(plan, node)) {
        sys::time::sleep_until(sys::time::monotonic_ns() + SETTLE_NS);
    }
    route(&mut topology, plan, nodes, lab)?;
    queue(&mut topology, plan, nodes)?;
    Ok(topology)
}

/// A namespace for each node, and a socket in it.
fn make_nodes(topology: &mut Topology, plan: &Plan, nodes: &mut Nodes) -> Result<()> {
    for node in &plan.nodes {
        disturb::here();
        nodes.create(&node.name)?;
        let socket = prepare(plan, nodes, node).map_err(|error| error.at(&node.name))?;
        topology.sockets.insert(node.name.clone(), socket);
    }
    Ok(())
}

/// The cables.
fn make_links(topology: &mut Topology, plan: &Plan, nodes: &Nodes) -> Result<()> {
    for node in &plan.nodes {
        disturb::here();
        let mut orders = links::create(plan, node, nodes)?;
        orders.extend(lined::pairs(plan, node, nodes)?);
        run(topology, node, &orders)?;
    }
    Ok(())
}

/// Bonds and bridges.
fn make_devices(topology: &mut Topology, plan: &Plan) -> Result<()> {
    for node in &plan.nodes {
        let orders = devices::create(plan, node)?;
        topology
            .socket(&node.name)?
            .batch(&orders)
            .map_err(|refusal| devices::explain(plan, node, refusal).at(format!("node {}", node.name)))?;
    }
    Ok(())
}

/// All devices up, with their addresses.
fn bring_up(topology: &mut Topology, plan: &Plan) -> Result<()> {
    for node in &plan.nodes {
        let mut orders = addresses::loopback(node)?;
        orders.extend(links::configure(plan, node)?);
        orders.extend(devices::configure(plan, node)?);
        run(topology, node, &orders)?;
        links::switch_offloads(plan, node, topology.socket(&node.name)?)?;
    }
    Ok(())
}

/// Neighbours, rules and routes of each node, and its own settings.
fn route(topology: &mut Topology, plan: &Plan, nodes: &Nodes, lab: Lab) -> Result<()> {
    for node in &plan.nodes {
        disturb::here();
        let mut orders = addresses::neighbours(plan, node)?;
        orders.extend(addresses::rules(plan, node)?);
        orders.extend(addresses::routes(plan, node)?);
        topology
            .socket(&node.name)?
            .batch(&orders)
            .map_err(|refusal| no_route(plan, refusal).at(format!("node {}", node.name)))?;
        if let Some(asked) = &node.mptcp {
            nodes
                .within(&node.name, || mptcp::set_up(asked))
                .map_err(|error| error.at(format!("node {}", node.name)))?;
        }
        if !node.sysctl.is_empty() {
            settings(nodes, node, lab).map_err(|error| error.at(format!("node {}", node.name)))?;
        }
    }
    Ok(())
}

/// Queues, wires and lines, where packets leave and where they arrive.
fn queue(topology: &mut Topology, plan: &Plan, nodes: &Nodes) -> Result<()> {
    let elements = elements(plan)?;
    for ((index, end), element) in ends(plan).enumerate().zip(elements) {
        disturb::here();
        egress(topology, nodes, index, end, element).map_err(|error| error.at(place(plan, index)))?;
    }
    if let Some((lines, wires)) = lined::start(plan, nodes)? {
        topology.lines = Some(lines);
        topology.wires.extend(wires.into_iter().map(|(end, wired)| (end, Arc::new(wired))));
        topology.wires.sort_by_key(|(end, _)| *end);
    }
    devices::wait_until_joined(plan, &mut topology.sockets)?;
    for arrival in &plan.ingress {
        let place = format!("ingress of {} in node {}", arrival.dev, arrival.node);
        ingress::build(topology, plan, nodes, arrival).map_err(|error| error.at(place))?;
    }
    Ok(())
}

/// An element for each end that has a wire, unless a line carries it.
fn elements(plan: &Plan) -> Result<Vec<Option<Element>>> {
    let wires: Vec<Option<&Wire>> =
        ends(plan).map(|end| end.wire.as_ref().filter(|_| plan.line.is_none())).collect();
    for (index, wire) in wires.iter().enumerate() {
        wire.map_or(Ok(()), wire::check).map_err(|error| error.at(place(plan, index)))?;
    }
    let mut made = wire::elements(&wires.iter().flatten().copied().collect::<Vec<_>>())?.into_iter();
    Ok(wires.iter().map(|wire| wire.and_then(|_| made.next())).collect())
}

/// Why a route was refused; one with a feature that the kernel does not know is an invalid one.
fn no_route(plan: &Plan, refusal: Refusal) -> Error {
    if refusal.errno != libc::EINVAL || !plan.routes.iter().any(|route| route.microseconds) {
        return refusal.error;
    }
    Error::new(UNSUPPORTED, "this kernel's TCP has no timestamps of microseconds")
        .hint("Linux has them since 6.7.")
}

fn run(topology: &mut Topology, node: &Node, orders: &[Message]) -> Result<()> {
    topology
        .socket(&node.name)?
        .batch(orders)
        .map_err(|refusal| refusal.error.at(format!("node {}", node.name)))
}

/// Says no to packets whose way back is another one.
const RP_FILTERS: [&str; 2] = ["net.ipv4.conf.all.rp_filter", "net.ipv4.conf.default.rp_filter"];
const NO_IPV6: &str = "net.ipv6.conf.all.disable_ipv6";

/// What must be set before a node has devices, so that they inherit it.
fn wanted(plan: &Plan, node: &Node) -> Vec<(&'static str, &'static str)> {
    let forward = if node.forward { "1" } else { "0" };
    let mut wanted = Vec::new();
    if node.forward {
        wanted.push(("net.ipv4.ip_forward", forward));
    }
    if addresses::has_ipv6(plan, node) {
        // Nobody announces routers here, so nobody shall look for them.
        wanted.push(("net.ipv6.conf.default.accept_ra", "0"));
        wanted.push(("net.ipv6.conf.all.forwarding", forward));
    } else {
        wanted.push((NO_IPV6, "1"));
    }
    wanted
}

/// Sets that, and gives a socket in the node.
fn prepare(plan: &Plan, nodes: &Nodes, node: &Node) -> Result<Socket> {
    let text = |name| sysctl::path(name).map(Text::of);
    let (mut all, mut default) = (text(RP_FILTERS[0])?, text(RP_FILTERS[1])?);
    let (asked, mut results) = nodes.visit(&node.name, |visit| {
        let wanted = wanted(plan, node).into_iter();
        let written = wanted.map(|(name, value)| sysctl::ask_to_write(visit, name, value));
        let written = written.collect::<Result<Vec<_>>>();
        (written, [all.ask(visit), default.ask(visit)], Opening::route(visit))
    })?;
    let (written, read, opening) = asked;
    for one in written? {
        if one.name() == NO_IPV6 {
            one.check_if_there(&results)?;
        } else {
            one.check(&results)?;
        }
    }
    for ((name, text), asked) in RP_FILTERS.into_iter().zip([all, default]).zip(read) {
        if text.read(asked, &results).context(format_args!("read sysctl {name}"))?.trim_end() != "0" {
            nodes.within(&node.name, || sysctl::write(name, "0"))?;
        }
    }
    opening.socket(&mut results)
}

/// The node's own settings. One that a node cannot change but the kernel has (`net.core.rmem_max`) is set for the whole
/// kernel, where that is a virtual one.
fn settings(nodes: &Nodes, node: &Node, lab: Lab) -> Result<()> {
    let mut elsewhere = Vec::new();
    nodes.within(&node.name, || {
        for (name, value) in &node.sysctl {
            if lab.is_virtual() && !sysctl::is_writable(name) {
                elsewhere.push((name, value));
            } else if !lab.is_virtual() && !name.starts_with("net") {
                let message = format!("{name} is a setting of the whole machine, not of a network namespace");
                return Err(Error::new(UNSUPPORTED, message).hint("Set it before, for all of the machine."));
            } else {
                sysctl::write(name, value)?;
            }
        }
        Ok(())
    })?;
    elsewhere.into_iter().try_for_each(|(name, value)| sysctl::write(name, value))
}
