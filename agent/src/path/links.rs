//! Veth pairs: created straight into both namespaces, one message a pair.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use super::addresses;
use super::interface::{ends_in, ifinfomsg, link_local, mac, up, without_own_address, FIRST_IFINDEX};
use crate::error::{Error, Result};
use crate::kernel::netlink::{Attributes, Message, Socket, CREATE, EXCL};
use crate::kernel::netns::Nodes;
use crate::kernel::sys::ethtool::switch;
use crate::plan::{End, Node, Plan};

const IFLA_GSO_MAX_SEGS: u16 = 40;
const VETH_INFO_PEER: u16 = 1;
/// `ETHTOOL_STSO`, `_SGSO`.
const SEGMENTATION: [u32; 2] = [0x1f, 0x24];
/// `ETHTOOL_SGRO`.
const RECEIVING: u32 = 0x2c;

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
        .filter(|(link, _)| link.ends[0].node == node.name && !plan.is_carried(link));
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
    for (ifindex, end) in ends_in(plan, node) {
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

/// Puts offloads out where every packet is an event, but for what a link's ends are to put together again.
pub(super) fn switch_offloads(plan: &Plan, node: &Node, socket: &Socket) -> Result<()> {
    let segmented = ends_in(plan, node).filter(|(_, end)| !end.offload);
    let switches = segmented.flat_map(|(_, end)| {
        let [tso, gso] = SEGMENTATION.map(|name| (end.dev.as_str(), name, false));
        [tso, gso, (end.dev.as_str(), RECEIVING, end.receive_offload)]
    });
    switch(socket, &switches.collect::<Vec<_>>()).map_err(|(dev, cause)| {
        Error::system(format_args!("switch offloads of {dev} in node {}", node.name), &cause)
    })
}
