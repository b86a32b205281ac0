//! Addresses, permanent neighbours and static routes, IPv4 and IPv6 alike.

use std::net::IpAddr;

use super::{ends, interface};
use crate::error::{Error, Result};
use crate::kernel::netlink::{Attributes, Message, CREATE, EXCL, REPLACE};
use crate::plan::{Node, Plan, Route, Via};

const LOOPBACK: u32 = 1;
const IFA_F_NODAD: u8 = 2;
const NUD_PERMANENT: u16 = 0x80;
const RTPROT_STATIC: u8 = 4;
const RTN_UNICAST: u8 = 1;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const FR_ACT_TO_TBL: u8 = 1;
const RTAX_INITCWND: u16 = 11;
const RTAX_FEATURES: u16 = 12;
const RTAX_INITRWND: u16 = 14;
/// `RTAX_FEATURE_TCP_USEC_TS`
const TCP_USEC_TS: u32 = 1 << 4;
const FRA_SRC: u16 = 2;
const FRA_PRIORITY: u16 = 6;
const FRA_FWMARK: u16 = 10;

pub(super) fn family(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    }
}

pub(super) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

fn bits(address: IpAddr) -> u8 {
    octets(address).len() as u8 * 8
}

pub(super) fn address(text: &str) -> Result<IpAddr> {
    text.parse().map_err(|_| Error::new("plan", format!("{text:?} is not an IP address")))
}

/// `address/length`; without a length, the address alone.
fn prefix(text: &str) -> Result<(IpAddr, u8)> {
    let (host, length) = text.split_once('/').map_or((text, None), |(host, length)| (host, Some(length)));
    let host = address(host)?;
    let length = length.map_or(Ok(bits(host)), str::parse).ok().filter(|length| *length <= bits(host));
    let wrong = || Error::new("plan", format!("{text:?} is not a prefix like 10.0.0.0/24 or 2001:db8::/64"));
    Ok((host, length.ok_or_else(wrong)?))
}

/// Whether any address of the node is an IPv6 one.
pub(super) fn has_ipv6(plan: &Plan, node: &Node) -> bool {
    let of_links = ends(plan).filter(|end| end.node == node.name).flat_map(|end| &end.addresses);
    let of_devices = plan.devices.iter().filter(|device| device.node == node.name);
    let of_devices = of_devices.flat_map(|device| &device.addresses);
    of_links.chain(of_devices).chain(&node.addresses).any(|address| address.contains(':'))
}

/// Brings the loopback up, with the node's own addresses.
pub(super) fn loopback(node: &Node) -> Result<Vec<Message>> {
    let own = node.addresses.iter().map(|address| add(address, LOOPBACK, "lo"));
    std::iter::once(Ok(interface::up(LOOPBACK, "lo"))).chain(own).collect()
}

/// Adds an address to a device; IPv6 ones are usable at once (no duplicate detection).
pub(super) fn add(text: &str, ifindex: u32, dev: &str) -> Result<Message> {
    let (host, length) = prefix(text)?;
    let flags = if host.is_ipv6() { IFA_F_NODAD } else { 0 };
    let mut header = vec![family(host), length, flags, 0];
    header.extend(ifindex.to_ne_bytes());
    let what = format!("add address {text} to {dev}");
    let mut order = Message::new(what, libc::RTM_NEWADDR, CREATE | EXCL, &header);
    order.body.put(libc::IFA_LOCAL, &octets(host)).put(libc::IFA_ADDRESS, &octets(host));
    Ok(order)
}

fn device(plan: &Plan, node: &Node, dev: &str) -> Result<u32> {
    let end = interface::ends_in(plan, node).find(|(_, end)| end.dev == dev).map(|(ifindex, _)| ifindex);
    let joint =
        || interface::devices_in(plan, node).find(|(_, joint)| joint.dev == dev).map(|(ifindex, _)| ifindex);
    end.or_else(joint)
        .ok_or_else(|| Error::new("plan", format!("node {:?} has no device {dev:?}", node.name)))
}

/// The node's permanent neighbour entries, so that nobody asks for a hardware address during the experiment.
pub(super) fn neighbours(plan: &Plan, node: &Node) -> Result<Vec<Message>> {
    let mine = plan.neighbours.iter().filter(|neighbour| neighbour.node == node.name);
    mine.map(|neighbour| {
        let host = address(&neighbour.address)?;
        let mut header = vec![family(host), 0, 0, 0];
        header.extend(device(plan, node, &neighbour.dev)?.to_ne_bytes());
        header.extend(NUD_PERMANENT.to_ne_bytes());
        header.extend([0, RTN_UNICAST]);
        let what = format!("add neighbour {} to {}", neighbour.address, neighbour.dev);
        let mut order = Message::new(what, libc::RTM_NEWNEIGH, CREATE | REPLACE, &header);
        order.body.put(NDA_DST, &octets(host)).put(NDA_LLADDR, &interface::mac(&neighbour.mac)?);
        Ok(order)
    })
    .collect()
}

/// The node's routes over one of its devices, to be added again or taken away.
pub(crate) fn routes_over(plan: &Plan, name: &str, dev: &str, there: bool) -> Result<Vec<Message>> {
    let node = plan.nodes.iter().find(|node| node.name == name);
    let node = node.ok_or_else(|| Error::new("plan", format!("node {name:?} is not in the plan")))?;
    let over = plan.routes.iter().filter(|route| route.node == name && route.dev.as_deref() == Some(dev));
    let asked = |route| if there { add_route(plan, node, route) } else { remove_route(plan, node, route) };
    let found = over.map(asked).collect::<Result<Vec<_>>>()?;
    if found.is_empty() {
        return Err(Error::new("plan", format!("no route of node {name:?} leads over {dev:?}")));
    }
    Ok(found)
}

/// The node's static routes.
pub(super) fn routes(plan: &Plan, node: &Node) -> Result<Vec<Message>> {
    plan.routes
        .iter()
        .filter(|route| route.node == node.name)
        .map(|route| add_route(plan, node, route))
        .collect()
}

fn add_route(plan: &Plan, node: &Node, route: &Route) -> Result<Message> {
    order_route(plan, node, route, ("add", libc::RTM_NEWROUTE, CREATE | EXCL))
}

fn remove_route(plan: &Plan, node: &Node, route: &Route) -> Result<Message> {
    order_route(plan, node, route, ("remove", libc::RTM_DELROUTE, 0))
}

fn order_route(
    plan: &Plan,
    node: &Node,
    route: &Route,
    (verb, kind, flags): (&str, u16, u16),
) -> Result<Message> {
    let via = match &route.via {
        Via::One(one) => std::slice::from_ref(one),
        Via::Many(many) => many.as_slice(),
    };
    let hops = via.iter().map(|hop| address(hop)).collect::<Result<Vec<_>>>()?;
    let first = *hops
        .first()
        .ok_or_else(|| Error::new("plan", format!("the route to {} has no next hop", route.to)))?;
    let target = if route.to == "default" { None } else { Some(prefix(&route.to)?) };
    let same = |hop: &IpAddr| family(*hop) == family(target.map_or(first, |(host, _)| host));
    if !hops.iter().all(same) {
        return Err(Error::new("plan", format!("the route to {} mixes IPv4 and IPv6", route.to)));
    }
    let oif = route.dev.as_deref().map(|dev| device(plan, node, dev)).transpose()?;
    let length = target.map_or(0, |(_, length)| length);
    let table = route.table.unwrap_or(libc::RT_TABLE_MAIN);
    let header = [family(first), length, 0, 0, table, RTPROT_STATIC, 0, RTN_UNICAST, 0, 0, 0, 0];
    let what = format!("{verb} route to {} via {}", route.to, via.join(", "));
    let mut order = Message::new(what, kind, flags, &header);
    if let Some((host, _)) = target {
        order.body.put(libc::RTA_DST, &octets(host));
    }
    match hops.as_slice() {
        [only] => next_hop(&mut order.body, *only, oif),
        several => multipath(&mut order.body, several, oif),
    }
    let features = route.microseconds.then_some(TCP_USEC_TS);
    let asked = [(RTAX_INITCWND, route.initcwnd), (RTAX_FEATURES, features), (RTAX_INITRWND, route.initrwnd)];
    if asked.iter().any(|(_, value)| value.is_some()) {
        order.body.nest(libc::RTA_METRICS, |metrics| {
            for (kind, value) in asked {
                value.map(|value| metrics.u32(kind, value));
            }
        });
    }
    Ok(order)
}

/// Which packets of the node another table routes: marked ones, or those from an address.
pub(super) fn rules(plan: &Plan, node: &Node) -> Result<Vec<Message>> {
    let mine = plan.rules.iter().filter(|rule| rule.node == node.name);
    mine.map(|rule| {
        let from = rule.from.as_deref().map(address).transpose()?;
        let family = if rule.ipv6 { libc::AF_INET6 } else { libc::AF_INET } as u8;
        // `struct fib_rule_hdr`
        let header = [family, 0, from.map_or(0, bits), 0, rule.table, 0, 0, FR_ACT_TO_TBL, 0, 0, 0, 0];
        let what = match (&rule.from, rule.mark) {
            (Some(from), _) => format!("add rule for packets from {from}"),
            (None, Some(mark)) => format!("add rule for packets with mark {mark}"),
            (None, None) => return Err(Error::new("plan", "a rule names neither a mark nor an address")),
        };
        let mut order = Message::new(what, libc::RTM_NEWRULE, CREATE | EXCL, &header);
        order.body.u32(FRA_PRIORITY, u32::from(rule.table));
        if let Some(mark) = rule.mark {
            order.body.u32(FRA_FWMARK, mark);
        }
        if let Some(from) = from {
            order.body.put(FRA_SRC, &octets(from));
        }
        Ok(order)
    })
    .collect()
}

fn next_hop(body: &mut Attributes, gateway: IpAddr, oif: Option<u32>) {
    body.put(libc::RTA_GATEWAY, &octets(gateway));
    if let Some(oif) = oif {
        body.u32(libc::RTA_OIF, oif);
    }
}

/// Several next hops of equal weight: a `struct rtnexthop` and a gateway each.
fn multipath(body: &mut Attributes, gateways: &[IpAddr], oif: Option<u32>) {
    body.nest(libc::RTA_MULTIPATH, |hops| {
        for gateway in gateways {
            let mut inner = Attributes::new();
            inner.put(libc::RTA_GATEWAY, &octets(*gateway));
            let [low, high] = (inner.bytes().len() as u16 + 8).to_ne_bytes();
            hops.raw(&[low, high, 0, 0]).raw(&oif.unwrap_or(0).to_ne_bytes()).raw(inner.bytes());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_have_a_length_that_fits() {
        assert_eq!(prefix("10.0.0.1/30").ok(), Some((IpAddr::from([10, 0, 0, 1]), 30)));
        assert_eq!(prefix("2001:db8::1").map(|(_, length)| length).ok(), Some(128));
        for wrong in ["", "10.0.0.1/33", "10.0.0/24", "::/129", "10.0.0.1/-1", "default"] {
            assert!(prefix(wrong).is_err(), "{wrong}");
        }
    }
}
