//! Queues and wires on devices that are there already. Who had them before gets them back by `settings::emulator`.

use std::sync::Arc;

use super::{BuiltEnd, Topology, Wired};
use crate::error::{Error, Result};
use crate::kernel::netlink::{Message, Socket, CREATE, EXCL, REPLACE};
use crate::path::{interface, wire};
use crate::plan::{Egress, Plan};
use crate::tc::{self, Device, Order};

/// Builds what the plan wants on devices of this host, and counts these among the ends.
///
/// # Errors
/// A device that is not there, a queue discipline or a filter that this kernel does not have.
pub(super) fn build(plan: &Plan, topology: &mut Topology, socket: &mut Socket) -> Result<()> {
    for egress in &plan.egress {
        one(egress, topology, socket)
            .map_err(|error| error.at(format!("{} {}", egress.node, egress.queue())))?;
    }
    Ok(())
}

fn one(egress: &Egress, topology: &mut Topology, socket: &mut Socket) -> Result<()> {
    let at = socket.ifindex(&egress.dev)?;
    if let Some(ifb) = &egress.ifb {
        socket.batch(&[created(ifb)]).map_err(|refusal| lacks_ifb(refusal.errno, refusal.error))?;
        let ifindex = socket.ifindex(ifb)?;
        socket.request(&interface::up(ifindex, ifb))?;
    }
    let name = egress.queue();
    let device = Device { name, ifindex: socket.ifindex(name)? };
    let lines = tc::in_order(&egress.qdiscs, &egress.filters);
    let orders = lines.iter().map(|line| order(line, &device)).collect::<Result<Vec<_>>>()?;
    tc::apply(&orders, socket, |work| work())?;
    topology.ends.push(BuiltEnd { node: egress.node.clone(), dev: name.to_owned(), ifindex: device.ifindex });
    if let Some(numbers) = &mut topology.numbers {
        numbers.push(egress.end);
    }
    if let Some(wire) = &egress.wire {
        let element = wire::attach(wire, wire::element(wire)?, &device, socket)?;
        topology.wires.push((egress.end, Arc::new(Wired::Program(element))));
    }
    if egress.ifb.is_some() {
        let arriving = Device { name: &egress.dev, ifindex: at };
        tc::apply(&[redirect(&arriving, &device)?], socket, |work| work())?;
    }
    Ok(())
}

fn created(ifb: &str) -> Message {
    let mut order =
        Message::new(format!("create {ifb}"), libc::RTM_NEWLINK, CREATE | EXCL, &interface::ifinfomsg(0, 0));
    order.body.text(libc::IFLA_IFNAME, ifb).nest(libc::IFLA_LINKINFO, |info| {
        info.text(libc::IFLA_INFO_KIND, "ifb");
    });
    order
}

fn lacks_ifb(errno: i32, error: Error) -> Error {
    match errno {
        libc::EOPNOTSUPP => error
            .kind(crate::error::UNSUPPORTED)
            .hint("The kernel needs CONFIG_IFB (modprobe ifb) for a delay behind a queue."),
        _ => error,
    }
}

/// A line's order; the root takes the place of what is there.
fn order(line: &str, device: &Device) -> Result<Order> {
    let mut order = tc::parse(line, device)?;
    if let Order::Native { message, .. } = &mut order {
        if line.starts_with("qdisc root") {
            message.flags = CREATE | REPLACE;
        }
    }
    Ok(order)
}

/// Has all that arrives at a device go through another one.
fn redirect(from: &Device, to: &Device) -> Result<Order> {
    let line = format!(
        "filter ingress protocol all prio 2 u32 match u32 0 0 action mirred egress redirect dev {}",
        to.name
    );
    tc::parse_among(&line, from, &|dev| (dev == to.name).then_some(to.ifindex))
}
