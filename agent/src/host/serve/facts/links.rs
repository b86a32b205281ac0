//! Network devices, and what lies under them: `RTM_GETLINK` (`include/uapi/linux/if_link.h`).

use serde_json::{json, Map, Value};

use super::{address, string};
use crate::error::{Error, Result};
use crate::kernel::netlink::{attribute, u16_at, u32_at, u64_at, Message, Socket};

/// `struct ifinfomsg`.
const IFINFOMSG: usize = 16;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_CARRIER: u16 = 33;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_ATTACHED: u16 = 2;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;

/// Attributes of four bytes that are told as they are.
const NUMBERS: [(u16, &str); 16] = [
    (4, "mtu"),
    (13, "txqlen"),
    (30, "promiscuity"),
    (31, "tx_queues"),
    (32, "rx_queues"),
    (35, "carrier_changes"),
    (40, "gso_max_segs"),
    (41, "gso_max_size"),
    (50, "min_mtu"),
    (51, "max_mtu"),
    (47, "carrier_up_count"),
    (48, "carrier_down_count"),
    (58, "gro_max_size"),
    (60, "tso_max_segs"),
    (59, "tso_max_size"),
    (63, "gso_ipv4_max_size"),
];

const OPERSTATES: [&str; 7] = ["unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"];

/// `struct rtnl_link_stats64`, in its order.
const STATISTICS: [&str; 24] = [
    "rx_packets",
    "tx_packets",
    "rx_bytes",
    "tx_bytes",
    "rx_errors",
    "tx_errors",
    "rx_dropped",
    "tx_dropped",
    "multicast",
    "collisions",
    "rx_length_errors",
    "rx_over_errors",
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_fifo_errors",
    "rx_missed_errors",
    "tx_aborted_errors",
    "tx_carrier_errors",
    "tx_fifo_errors",
    "tx_heartbeat_errors",
    "tx_window_errors",
    "rx_compressed",
    "tx_compressed",
    "rx_nohandler",
];

const BOND_MODES: [&str; 7] =
    ["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"];

/// A device as the kernel tells it.
struct Link {
    index: u32,
    name: String,
    /// The device this one sits on (a VLAN's card), if it is in the same namespace.
    under: Option<u32>,
    /// The bond or bridge that this one belongs to.
    master: Option<u32>,
    told: Map<String, Value>,
}

/// Every device, or one with all that lies under it: name → what is known, `lower` naming the next ones down.
pub fn below(dev: Option<&str>) -> Result<Value> {
    let all = list()?;
    let Some(dev) = dev else {
        return Ok(all.iter().map(|link| (link.name.clone(), tell(link, &all))).collect());
    };
    let first = all.iter().find(|link| link.name == dev);
    let first = first.ok_or_else(|| Error::new("device", format!("there is no device {dev:?}")))?;
    let (mut found, mut waiting) = (Map::new(), vec![first]);
    while let Some(link) = waiting.pop() {
        if found.insert(link.name.clone(), tell(link, &all)).is_none() {
            waiting.extend(lower(link, &all));
        }
    }
    Ok(found.into())
}

fn lower<'a>(link: &'a Link, all: &'a [Link]) -> impl Iterator<Item = &'a Link> {
    all.iter().filter(|other| {
        other.index != link.index && (other.master == Some(link.index) || link.under == Some(other.index))
    })
}

fn tell(link: &Link, all: &[Link]) -> Value {
    let mut told = link.told.clone();
    told.insert("lower".to_owned(), lower(link, all).map(|other| other.name.as_str()).collect());
    let name = |index: u32| all.iter().find(|other| other.index == index).map(|other| other.name.as_str());
    told.insert("master".to_owned(), json!(link.master.and_then(name)));
    told.into()
}

fn list() -> Result<Vec<Link>> {
    let mut found = Vec::new();
    let order = Message::new("list devices", libc::RTM_GETLINK, 0, &[0; IFINFOMSG]);
    Socket::route()?.dump(&order, |payload| found.extend(parse(payload)))?;
    Ok(found)
}

/// Whether there is a signal, and how far the device is.
fn state(bytes: &[u8]) -> impl Iterator<Item = (String, Value)> {
    let first = |kind| attribute(bytes, kind).and_then(<[u8]>::first);
    let carrier = first(IFLA_CARRIER).map(|value| ("carrier".to_owned(), json!(*value != 0)));
    let named = first(IFLA_OPERSTATE).and_then(|state| OPERSTATES.get(usize::from(*state)));
    carrier.into_iter().chain(named.map(|state| ("state".to_owned(), json!(state))))
}

fn parse(payload: &[u8]) -> Option<Link> {
    let index = u32_at(payload, 4)?;
    let flags = u32_at(payload, 8)?;
    let bytes = payload.get(IFINFOMSG..)?;
    let find = |kind: u16| attribute(bytes, kind);
    let number = |kind: u16| find(kind).and_then(|value| u32_at(value, 0));
    let mut told = Map::new();
    told.insert("up".to_owned(), json!(flags & libc::IFF_UP as u32 != 0));
    for (kind, name) in NUMBERS {
        if let Some(value) = number(kind) {
            told.insert(name.to_owned(), json!(value));
        }
    }
    if let Some(value) = find(libc::IFLA_ADDRESS) {
        told.insert("address".to_owned(), address(value));
    }
    if let Some(value) = find(libc::IFLA_QDISC) {
        told.insert("qdisc".to_owned(), json!(string(value)));
    }
    told.extend(state(bytes));
    let xdp = find(IFLA_XDP).and_then(|xdp| attribute(xdp, IFLA_XDP_ATTACHED)).and_then(<[u8]>::first);
    if xdp.is_some_and(|attached| *attached != 0) {
        told.insert("xdp".to_owned(), json!(true));
    }
    if let Some(info) = find(IFLA_LINKINFO) {
        told.extend(kind(info));
    }
    // What a veth is linked to is its other end, not what carries it.
    let is_carried = find(IFLA_LINK_NETNSID).is_none() && told.get("kind") != Some(&json!("veth"));
    told.insert("statistics".to_owned(), statistics(find(IFLA_STATS64).unwrap_or_default()));
    Some(Link {
        index,
        name: string(find(libc::IFLA_IFNAME)?),
        under: number(libc::IFLA_LINK).filter(|_| is_carried),
        master: number(IFLA_MASTER),
        told,
    })
}

/// The kind of a virtual device, and what of its settings bears on transfers.
fn kind(info: &[u8]) -> Map<String, Value> {
    let mut told = Map::new();
    let Some(kind) = attribute(info, IFLA_INFO_KIND).map(string) else { return told };
    let data = attribute(info, IFLA_INFO_DATA).unwrap_or_default();
    let byte = |wanted: u16| attribute(data, wanted).and_then(<[u8]>::first).copied();
    let number = |wanted: u16| attribute(data, wanted).and_then(|value| u32_at(value, 0));
    match kind.as_str() {
        "vlan" => {
            let id = attribute(data, 1).and_then(|value| u16_at(value, 0));
            told.insert("vlan".to_owned(), json!(id));
        }
        "bond" => {
            let mode = byte(1).and_then(|mode| BOND_MODES.get(usize::from(mode)));
            told.insert("bond".to_owned(), json!({"mode": mode, "miimon": number(3), "hash": byte(14)}));
        }
        "bridge" => {
            told.insert("bridge".to_owned(), json!({"stp": number(5), "vlan_filtering": byte(7)}));
        }
        _ => {}
    }
    told.insert("kind".to_owned(), json!(kind));
    told
}

fn statistics(bytes: &[u8]) -> Value {
    let named = STATISTICS.iter().enumerate();
    named.filter_map(|(at, name)| Some(((*name).to_owned(), json!(u64_at(bytes, 8 * at)?)))).collect()
}

/// The index of a device of this thread's namespace.
pub fn index(dev: &str) -> Result<u32> {
    Socket::route()?.ifindex(dev)
}

/// The names of devices by index.
pub fn names() -> Result<Vec<(u32, String)>> {
    Ok(list()?.into_iter().map(|link| (link.index, link.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::netlink::Attributes;

    fn link(index: u32, name: &str, under: Option<u32>, master: Option<u32>) -> Link {
        Link { index, name: name.to_owned(), under, master, told: Map::new() }
    }

    #[test]
    fn the_loopback_device_is_among_all() {
        let all = below(None).expect("a list");
        assert_eq!(all["lo"]["mtu"], json!(65536));
        assert!(below(Some("no such")).is_err());
    }

    #[test]
    fn what_lies_under_a_device_is_found_through_all_layers() {
        let all = [
            link(5, "bond0.7", Some(4), None),
            link(4, "bond0", None, None),
            link(2, "eth0", None, Some(4)),
            link(3, "eth1", None, Some(4)),
            link(9, "other", None, None),
        ];
        let names = |of: &Link| lower(of, &all).map(|link| link.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&all[0]), ["bond0"]);
        assert_eq!(names(&all[1]), ["eth0", "eth1"]);
        assert!(names(&all[2]).is_empty());
        assert_eq!(tell(&all[2], &all)["master"], json!("bond0"));
    }

    #[test]
    fn a_bond_tells_its_mode() {
        let mut info = Attributes::new();
        info.text(IFLA_INFO_KIND, "bond").nest(IFLA_INFO_DATA, |data| {
            data.u8(1, 4).u32(3, 100).u8(14, 1);
        });
        let told = kind(info.bytes());
        assert_eq!(told["bond"], json!({"mode": "802.3ad", "miimon": 100, "hash": 1}));
        assert_eq!(told["kind"], json!("bond"));
    }

    #[test]
    fn a_torn_message_is_no_device() {
        let mut body = Attributes::new();
        body.raw(&[0; IFINFOMSG]).text(libc::IFLA_IFNAME, "eth0").u32(4, 1500);
        let whole = body.bytes();
        assert_eq!(parse(whole).expect("whole").told["mtu"], json!(1500));
        assert!((0..whole.len()).all(|end| parse(&whole[..end]).is_none_or(|link| link.name == "eth0")));
    }
}
