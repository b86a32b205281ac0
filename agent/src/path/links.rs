//! Veth pairs: created straight into both namespaces, one message a pair.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use super::{addresses, ends, lined, BuiltEnd};
use crate::error::{Context, Error, Result};
use crate::kernel::netlink::{Attributes, Message, Socket, CREATE, EXCL};
use crate::kernel::netns::Nodes;
use crate::kernel::sys;
use crate::plan::{End, Node, Plan};

/// Interface indices begin here: above the loopback and whatever tunnels a kernel puts into a new namespace.
pub const FIRST_IFINDEX: u32 = 100;

const IFLA_GSO_MAX_SEGS: u16 = 40;
const VETH_INFO_PEER: u16 = 1;
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
const IN6_ADDR_GEN_MODE_NONE: u8 = 1;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_SGRO: u32 = 0x2c;

/// Every end, the arrivals behind the links'; that of a policer has no device.
pub(super) fn numbered(plan: &Plan) -> Vec<BuiltEnd> {
    let links = ends(plan).map(|end| (end.node.clone(), end.dev.clone()));
    let arrivals = plan.ingress.iter().map(|at| (at.node.clone(), at.ifb.clone().unwrap_or_default()));
    links
        .chain(arrivals)
        .zip(FIRST_IFINDEX..)
        .map(|((node, dev), ifindex)| BuiltEnd { node, dev, ifindex })
        .collect()
}

/// The ends that sit in a node, with their interface indices.
pub(super) fn of<'a>(plan: &'a Plan, node: &'a Node) -> impl Iterator<Item = (u32, &'a End)> {
    (FIRST_IFINDEX..).zip(ends(plan)).filter(|(_, end)| end.node == node.name)
}

/// `struct ifinfomsg`.
pub(crate) fn ifinfomsg(ifindex: u32, flags: u32) -> [u8; 16] {
    let mut header = [0; 16];
    header[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..16].copy_from_slice(&flags.to_ne_bytes());
    header
}

/// `02:00:00:00:01:01` as six bytes.
pub(super) fn mac(text: &str) -> Result<[u8; 6]> {
    let pair =
        |part: &str| u8::from_str_radix(part, 16).ok().filter(|_| part.len() == 2 && !part.contains('+'));
    let bytes: Vec<u8> = text.split(':').map_while(pair).collect();
    <[u8; 6]>::try_from(bytes).ok().filter(|_| text.len() == 17).ok_or_else(|| {
        Error::new("plan", format!("{text:?} is not a hardware address like 02:00:00:00:01:01"))
    })
}

fn properties(into: &mut Attributes, end: &End, mac: [u8; 6], netns: Option<BorrowedFd<'_>>) {
    into.text(libc::IFLA_IFNAME, &end.dev).put(libc::IFLA_ADDRESS, &mac).u32(libc::IFLA_MTU, end.mtu);
    into.u32(libc::IFLA_NUM_TX_QUEUES, 1).u32(libc::IFLA_NUM_RX_QUEUES, 1);
    if !end.offload {
        into.u32(IFLA_GSO_MAX_SEGS, 1);
    }
    if let Some(netns) = netns {
        into.u32(libc::IFLA_NET_NS_FD, netns.as_raw_fd() as u32);
    }
}

/// The pairs whose first end sits in `node`.
pub(super) fn create(plan: &Plan, node: &Node, nodes: &Nodes) -> Result<Vec<Message>> {
    let mine = plan
        .links
        .iter()
        .zip((FIRST_IFINDEX..).step_by(2))
        .filter(|(link, _)| link.ends[0].node == node.name && !lined::carries(plan, link));
    mine.map(|(link, ifindex)| {
        let [near, far] = &link.ends;
        pair((near, ifindex), (far, ifindex + 1, nodes.get(&far.node)?.as_fd()))
    })
    .collect()
}

/// A pair, its first end here, the other one in the namespace that is given; with their interface indices.
pub(super) fn pair(
    (near, ifindex): (&End, u32),
    (far, far_ifindex, netns): (&End, u32, BorrowedFd<'_>),
) -> Result<Message> {
    let (near_mac, far_mac) = (mac(&near.mac)?, mac(&far.mac)?);
    let what = format!("create link {} {} to {} {}", near.node, near.dev, far.node, far.dev);
    let mut order = Message::new(what, libc::RTM_NEWLINK, CREATE | EXCL, &ifinfomsg(ifindex, 0));
    properties(&mut order.body, near, near_mac, None);
    order.body.nest(libc::IFLA_LINKINFO, |info| {
        info.text(libc::IFLA_INFO_KIND, "veth").nest(libc::IFLA_INFO_DATA, |data| {
            data.nest(VETH_INFO_PEER, |peer| {
                peer.raw(&ifinfomsg(far_ifindex, 0));
                properties(peer, far, far_mac, Some(netns));
            });
        });
    });
    Ok(order)
}

/// Brings a node's devices up and gives them their addresses.
pub(super) fn configure(plan: &Plan, node: &Node) -> Result<Vec<Message>> {
    let mut orders = Vec::new();
    let ipv6 = addresses::has_ipv6(plan, node);
    for (ifindex, end) in of(plan, node) {
        if ipv6 {
            orders.push(without_own_address(ifindex, &end.dev));
        }
        orders.push(up(ifindex, &end.dev));
        // What belongs to another device is no interface of its own.
        if ipv6 && end.master.is_none() {
            orders.push(addresses::add(&link_local(mac(&end.mac)?), ifindex, &end.dev)?);
        }
        for address in &end.addresses {
            orders.push(addresses::add(address, ifindex, &end.dev)?);
        }
    }
    Ok(orders)
}

/// The link-local address of a hardware address (RFC 4291, appendix A): who lacks a neighbour entry asks from it.
pub(super) fn link_local(mac: [u8; 6]) -> String {
    let pair = |high: u8, low: u8| format!("{high:02x}{low:02x}");
    let groups = [pair(mac[0] ^ 2, mac[1]), pair(mac[2], 0xff), pair(0xfe, mac[3]), pair(mac[4], mac[5])];
    format!("fe80::{}/64", groups.join(":"))
}

/// Keeps the kernel from adding a link-local address of its own, which it would probe for duplicates for a second.
pub(super) fn without_own_address(ifindex: u32, dev: &str) -> Message {
    let what = format!("set how {dev} gets its link-local address");
    let mut order = Message::new(what, libc::RTM_SETLINK, 0, &ifinfomsg(ifindex, 0));
    order.body.nest(libc::IFLA_AF_SPEC, |spec| {
        spec.nest(libc::AF_INET6 as u16, |inet6| {
            inet6.u8(IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
        });
    });
    order
}

pub(super) fn up(ifindex: u32, dev: &str) -> Message {
    Message::new(format!("bring {dev} up"), libc::RTM_SETLINK, 0, &ifinfomsg(ifindex, libc::IFF_UP as u32))
}

pub(super) fn switch_offload_off(plan: &Plan, node: &Node, socket: &Socket) -> Result<()> {
    for (_, end) in of(plan, node).filter(|(_, end)| !end.offload) {
        for command in [ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO] {
            sys::ethtool::set(socket, &end.dev, command, 0)
                .context(format_args!("switch offloads of {} in node {} off", end.dev, node.name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_local_addresses_come_from_the_hardware() {
        assert_eq!(link_local([2, 0, 0, 0xa, 1, 0xff]), "fe80::0000:00ff:fe0a:01ff/64");
    }

    #[test]
    fn hardware_addresses_are_six_pairs_of_digits() {
        assert_eq!(mac("02:00:00:0a:01:ff").ok(), Some([2, 0, 0, 10, 1, 255]));
        for wrong in
            ["", "02:00", "02:00:00:00:01:01:02", "2:0:0:0:1:1", "02-00-00-00-01-01", "02:00:00:00:01:+1"]
        {
            assert!(mac(wrong).is_err(), "{wrong}");
        }
    }
}
