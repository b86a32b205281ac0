//! Devices that join others: bonds of parallel cables, and bridges, which are switches.
//!
//! A member is enslaved before it is up, as bonding asks for, and an experiment starts when every member carries: with
//! LACP (IEEE 802.1AX) the two sides first have to agree, which takes seconds.

use std::collections::HashMap;

use super::addresses;
use super::interface::{self, devices_in, ends_in, ifinfomsg, link_local, mac, without_own_address};
use crate::error::{Error, Result, UNSUPPORTED};
use crate::kernel::netlink::{attribute, u16_at, Message, Refusal, Socket, CREATE, EXCL};
use crate::kernel::sys;
use crate::lab::Lab;
use crate::plan::{Bond, Device, Node, Plan};

const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
const IFLA_BOND_MODE: u16 = 1;
const IFLA_BOND_MIIMON: u16 = 3;
const IFLA_BOND_PRIMARY: u16 = 11;
const IFLA_BOND_XMIT_HASH_POLICY: u16 = 14;
const IFLA_BOND_AD_LACP_RATE: u16 = 21;
const IFLA_BOND_SLAVE_MII_STATUS: u16 = 2;
const IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE: u16 = 7;
const IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE: u16 = 8;
const IFLA_BR_AGEING_TIME: u16 = 4;
const IFLA_BRPORT_GROUP_FWD_MASK: u16 = 31;

/// In the order of their numbers in `include/uapi/linux/if_bonding.h`.
const MODES: [&str; 5] = ["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad"];
const HASHES: [&str; 6] = ["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"];
const LACP: &str = "802.3ad";
const LACP_FAST: u8 = 1;
/// How often bonding looks at its members' carriers.
const MIIMON_MS: u32 = 100;
/// The address LACP speaks to, 01:80:c2:00:00:02, as a bit of the mask.
const PASS_LACP: u16 = 1 << 2;
/// In hundredths of a second. Neighbours are permanent here: no ARP keeps a switch's table fresh, so it must not age.
const AGEING_TIME: u32 = 100_000_000;

const TURN_NS: i64 = 16_000_000_000;

const UP: u8 = 0;
/// Both collecting and distributing (IEEE 802.1AX, section 6.4.2.3).
const CARRIES: u16 = 0x30;
const LOOK_NS: i64 = 100_000_000;
/// LACP waits 2 s before it aggregates; far beyond that it never will.
const PATIENCE: u32 = 600;

/// Waits, in a virtual kernel, for the instant at which these devices are made: they have clocks of their own, whose phase at
/// the start of the experiment shall not depend on what was done before.
pub(super) fn wait_for_turn(plan: &Plan, lab: Lab) {
    if lab.is_virtual() && !plan.devices.is_empty() {
        sys::time::sleep_until((sys::time::monotonic_ns().div_euclid(TURN_NS) + 1) * TURN_NS);
    }
}

/// Makes a node's bonds and bridges and joins their members, which are still down.
pub(super) fn create(plan: &Plan, node: &Node) -> Result<Vec<Message>> {
    let mut orders = Vec::new();
    for (ifindex, device) in devices_in(plan, node) {
        orders.push(made(plan, node, device, ifindex)?);
    }
    // Bonds are filled before they become ports themselves.
    for (ifindex, end) in ends_in(plan, node) {
        if let Some(master) = &end.master {
            orders.extend(join(plan, node, (&end.dev, ifindex), master)?);
        }
    }
    for (ifindex, device) in devices_in(plan, node) {
        if let Some(master) = &device.master {
            orders.extend(join(plan, node, (&device.dev, ifindex), master)?);
        }
    }
    Ok(orders)
}

fn made(plan: &Plan, node: &Node, device: &Device, ifindex: u32) -> Result<Message> {
    let kind = if device.bond.is_some() { "bond" } else { "bridge" };
    let what = format!("create {kind} {} in node {}", device.dev, device.node);
    let mut order = Message::new(what, libc::RTM_NEWLINK, CREATE | EXCL, &ifinfomsg(ifindex, 0));
    order.body.text(libc::IFLA_IFNAME, &device.dev).put(libc::IFLA_ADDRESS, &mac(&device.mac)?);
    order.body.u32(libc::IFLA_MTU, device.mtu);
    let bond = device.bond.as_ref().map(Choices::of).transpose()?;
    let first = ends_in(plan, node).find(|(_, end)| end.master.as_ref() == Some(&device.dev));
    order.body.nest(libc::IFLA_LINKINFO, |info| {
        info.text(libc::IFLA_INFO_KIND, kind).nest(libc::IFLA_INFO_DATA, |data| {
            let Some(bond) = bond else {
                data.u32(IFLA_BR_AGEING_TIME, AGEING_TIME);
                return;
            };
            data.u8(IFLA_BOND_MODE, bond.mode).u32(IFLA_BOND_MIIMON, MIIMON_MS);
            if let Some(hash) = bond.hash {
                data.u8(IFLA_BOND_XMIT_HASH_POLICY, hash);
            }
            if bond.lacp {
                data.u8(IFLA_BOND_AD_LACP_RATE, LACP_FAST);
            }
            // Both sides must use the same one.
            if let Some((first, _)) = first.filter(|_| bond.backup) {
                data.u32(IFLA_BOND_PRIMARY, first);
            }
        });
    });
    Ok(order)
}

/// Tells a way of bonding that this kernel lacks from other refusals.
pub(super) fn explain(plan: &Plan, node: &Node, refusal: Refusal) -> Error {
    let refused = devices_in(plan, node).nth(refusal.index).and_then(|(_, device)| device.bond.as_ref());
    let Some(bond) = refused.filter(|_| refusal.errno == libc::EINVAL) else { return refusal.error };
    let hash = bond.hash.as_deref().map(|hash| format!(" with hash {hash}")).unwrap_or_default();
    Error::new(UNSUPPORTED, format!("this kernel has no bond in mode {}{hash}", bond.mode))
        .hint("Some hashes are younger than bonding itself: vlan+srcmac came with Linux 5.12.")
}

/// A bond's words as the kernel's numbers.
#[derive(Clone, Copy)]
struct Choices {
    mode: u8,
    hash: Option<u8>,
    lacp: bool,
    backup: bool,
}

impl Choices {
    fn of(bond: &Bond) -> Result<Self> {
        let number = |known: &[&str], word: &str| {
            known.iter().position(|have| *have == word).map(|place| place as u8).ok_or_else(|| {
                Error::new("plan", format!("there is no bonding mode {word:?}"))
                    .hint(format!("There are: {}.", known.join(" ")))
            })
        };
        let hash = bond.hash.as_deref().map(|hash| number(&HASHES, hash)).transpose()?;
        let (lacp, backup) = (bond.mode == LACP, bond.mode == "active-backup");
        Ok(Self { mode: number(&MODES, &bond.mode)?, hash, lacp, backup })
    }
}

/// Makes a device a member of another one of its node.
fn join(plan: &Plan, node: &Node, (dev, ifindex): (&str, u32), master: &str) -> Result<Vec<Message>> {
    let known = devices_in(plan, node).find(|(_, device)| device.dev == master);
    let (index, device) =
        known.ok_or_else(|| Error::new("plan", format!("node {:?} has no device {master:?}", node.name)))?;
    let change = |what: String| Message::new(what, libc::RTM_NEWLINK, 0, &ifinfomsg(ifindex, 0));
    let mut order = change(format!("join {dev} to {master}"));
    order.body.u32(libc::IFLA_MASTER, index);
    let mut orders = vec![order];
    if device.passes_lacp {
        let mut port = change(format!("let LACP pass {dev}"));
        port.body.nest(libc::IFLA_LINKINFO, |info| {
            info.text(IFLA_INFO_SLAVE_KIND, "bridge").nest(IFLA_INFO_SLAVE_DATA, |data| {
                data.u16(IFLA_BRPORT_GROUP_FWD_MASK, PASS_LACP);
            });
        });
        orders.push(port);
    }
    Ok(orders)
}

/// Brings a node's bonds and bridges up and gives them their addresses.
pub(super) fn configure(plan: &Plan, node: &Node) -> Result<Vec<Message>> {
    let mut orders = Vec::new();
    let ipv6 = addresses::has_ipv6(plan, node);
    for (ifindex, device) in devices_in(plan, node) {
        if ipv6 {
            orders.push(without_own_address(ifindex, &device.dev));
        }
        orders.push(if device.bond.is_some() {
            interface::up(ifindex, &device.dev)
        } else {
            on(ifindex, device)
        });
        if ipv6 && device.master.is_none() {
            orders.push(addresses::add(&link_local(mac(&device.mac)?), ifindex, &device.dev)?);
        }
        for address in &device.addresses {
            orders.push(addresses::add(address, ifindex, &device.dev)?);
        }
    }
    Ok(orders)
}

/// Brings a bridge up, and has it look at every frame: then it forwards copies.
///
/// A frame itself would stay on its sender's account until it reaches an address, so that TCP small queues and the send
/// buffer would count what waits in a switch; on a real cable it leaves the account with the machine.
fn on(ifindex: u32, bridge: &Device) -> Message {
    let flags = (libc::IFF_UP | libc::IFF_PROMISC) as u32;
    let what = format!("bring {} up", bridge.dev);
    Message::new(what, libc::RTM_SETLINK, 0, &ifinfomsg(ifindex, flags))
}

/// Waits until all members of all bonds carry packets.
pub(super) fn wait_until_joined(plan: &Plan, sockets: &mut HashMap<String, Socket>) -> Result<()> {
    for device in &plan.devices {
        let Some(bond) = &device.bond else { continue };
        let Some(socket) = sockets.get_mut(&device.node) else { continue };
        let mut tries = 0;
        while let Some(lacking) = lacking(plan, device, bond, socket)? {
            tries += 1;
            if tries > PATIENCE {
                let place = format!("node {}, bond {}", device.node, device.dev);
                return Err(Error::new("topology", format!("{lacking} does not carry packets after 60 s"))
                    .hint("Both sides must bond the same cables in the same mode, and nothing may hold LACP back.")
                    .at(place));
            }
            sys::time::sleep_until(sys::time::monotonic_ns() + LOOK_NS);
        }
    }
    Ok(())
}

/// The first member of a bond that does not carry packets yet.
fn lacking(plan: &Plan, device: &Device, bond: &Bond, socket: &mut Socket) -> Result<Option<String>> {
    let member = |name: &str| {
        let mut ends = plan.links.iter().flat_map(|link| &link.ends);
        ends.any(|end| end.node == device.node && end.dev == name && end.master.as_ref() == Some(&device.dev))
    };
    let mut found = None;
    let order = Message::new("list members of bonds", libc::RTM_GETLINK, 0, &[0; 16]);
    socket.dump(&order, |payload| {
        let rest = payload.get(16..).unwrap_or_default();
        let name = attribute(rest, libc::IFLA_IFNAME).and_then(|name| name.strip_suffix(&[0]));
        let name = String::from_utf8_lossy(name.unwrap_or_default());
        if found.is_none() && member(&name) && !carries(rest, bond.mode == LACP) {
            found = Some(name.into_owned());
        }
    })?;
    Ok(found)
}

/// Whether a member, by its attributes, is up and (with LACP) in use by both sides.
fn carries(attributes: &[u8], lacp: bool) -> bool {
    let info = attribute(attributes, libc::IFLA_LINKINFO).unwrap_or_default();
    let own = attribute(info, IFLA_INFO_SLAVE_DATA).unwrap_or_default();
    let byte = |kind| attribute(own, kind).and_then(|value| value.first().copied());
    let actor = byte(IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE).map(u16::from);
    let partner =
        attribute(own, IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE).and_then(|value| u16_at(value, 0));
    let agreed = [actor, partner].iter().all(|state| state.is_some_and(|state| state & CARRIES == CARRIES));
    byte(IFLA_BOND_SLAVE_MII_STATUS) == Some(UP) && (!lacp || agreed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::netlink::Attributes;

    fn member(up: u8, actor: u8, partner: u16) -> Attributes {
        let mut made = Attributes::new();
        made.nest(libc::IFLA_LINKINFO, |info| {
            info.nest(IFLA_INFO_SLAVE_DATA, |own| {
                own.u8(IFLA_BOND_SLAVE_MII_STATUS, up);
                own.u8(IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE, actor);
                own.u16(IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE, partner);
            });
        });
        made
    }

    #[test]
    fn a_member_carries_when_it_is_up_and_with_lacp_when_both_sides_use_it() {
        assert!(carries(member(0, 0x3f, 0x3f).bytes(), true));
        assert!(!carries(member(0, 0x3f, 0x0f).bytes(), true));
        assert!(!carries(member(0, 0x0f, 0x3f).bytes(), true));
        assert!(carries(member(0, 0, 0).bytes(), false));
        assert!(!carries(member(2, 0x3f, 0x3f).bytes(), false));
        assert!(!carries(&[], false));
    }

    #[test]
    fn words_of_bonding_are_the_kernels_numbers() {
        let words = |mode: &str, hash: &str| Bond { mode: mode.to_owned(), hash: Some(hash.to_owned()) };
        let numbers = Choices::of(&words("802.3ad", "layer2+3")).map(|found| (found.mode, found.hash));
        assert_eq!(numbers.ok(), Some((4, Some(2))));
        let error = Choices::of(&words("802.3ad", "layer9")).err().expect("no such hash");
        assert!(error.hint.contains("layer3+4"), "{error}");
    }
}
