//! What all interfaces have, whatever they are for: numbers, hardware and link-local addresses, and being up.

use super::{ends, BuiltEnd};
use crate::error::{Error, Result};
use crate::kernel::netlink::Message;
use crate::plan::{Device, End, Node, Plan};

/// Interface indices begin here: above the loopback and whatever tunnels a kernel puts into a new namespace.
pub const FIRST_IFINDEX: u32 = 100;

const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
const IN6_ADDR_GEN_MODE_NONE: u8 = 1;

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
pub(super) fn ends_in<'a>(plan: &'a Plan, node: &'a Node) -> impl Iterator<Item = (u32, &'a End)> {
    (FIRST_IFINDEX..).zip(ends(plan)).filter(|(_, end)| end.node == node.name)
}

/// The bonds and bridges of a node, with their interface indices: behind those of all ends.
pub(super) fn devices_in<'a>(plan: &'a Plan, node: &'a Node) -> impl Iterator<Item = (u32, &'a Device)> {
    let first = FIRST_IFINDEX + (2 * plan.links.len() + plan.ingress.len()) as u32;
    (first..).zip(&plan.devices).filter(|(_, device)| device.node == node.name)
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

pub(crate) fn up(ifindex: u32, dev: &str) -> Message {
    Message::new(format!("bring {dev} up"), libc::RTM_SETLINK, 0, &ifinfomsg(ifindex, libc::IFF_UP as u32))
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
