//! The route to an address, with what it fixes for TCP: `RTM_GETROUTE` (`include/uapi/linux/rtnetlink.h`).

use std::net::IpAddr;

use serde_json::{json, Map, Value};

use super::{address, links, string};
use crate::error::{Error, Result};
use crate::kernel::netlink::{attribute, attributes, u32_at, Message, Socket};

/// `struct rtmsg`.
const RTMSG: usize = 12;
const RTM_F_LOOKUP_TABLE: u32 = 0x1000;
const RTM_F_FIB_MATCH: u32 = 0x2000;
const RTAX_LOCK: u16 = 1;
const RTAX_CC_ALGO: u16 = 16;
/// Ticks of the times that the kernel tells (`USER_HZ`).
const TICKS: i64 = 100;

/// `RTAX_*` by the words of `ip-route(8)`.
const METRICS: [(u16, &str); 13] = [
    (2, "mtu"),
    (3, "window"),
    (4, "rtt"),
    (5, "rttvar"),
    (6, "ssthresh"),
    (7, "cwnd"),
    (8, "advmss"),
    (9, "reordering"),
    (10, "hoplimit"),
    (11, "initcwnd"),
    (13, "rto_min"),
    (14, "initrwnd"),
    (15, "quickack"),
];

/// The way packets take (`found`, with what was learned of the path since) and the entry of the table behind it (`entry`).
pub fn to(to: &str, from: Option<&str>) -> Result<Value> {
    let names = links::names()?;
    let found = look_up(to, from, RTM_F_LOOKUP_TABLE, &names)?;
    let entry = look_up(to, from, RTM_F_FIB_MATCH, &names).ok();
    Ok(json!({"found": found, "entry": entry}))
}

fn look_up(to: &str, from: Option<&str>, flags: u32, names: &[(u32, String)]) -> Result<Value> {
    let mut found = None;
    Socket::route()?.ask(&question(to, from, flags)?, |payload| found = tell(payload, names))?;
    found.ok_or_else(|| Error::new("route", format!("the kernel told no route to {to}")))
}

fn question(to: &str, from: Option<&str>, flags: u32) -> Result<Message> {
    let parse = |text: &str| {
        text.parse::<IpAddr>().map_err(|_| Error::new("request", format!("{text:?} is not an IP address")))
    };
    let bytes = |address: IpAddr| match address {
        IpAddr::V4(four) => four.octets().to_vec(),
        IpAddr::V6(six) => six.octets().to_vec(),
    };
    let target = bytes(parse(to)?);
    let source = from.map(parse).transpose()?.map(bytes);
    let family = if target.len() == 4 { libc::AF_INET } else { libc::AF_INET6 };
    let bits = |address: &[u8]| 8 * address.len() as u8;
    let mut header = [0; RTMSG];
    header[0] = family as u8;
    header[1] = bits(&target);
    header[2] = source.as_deref().map_or(0, bits);
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    let mut message = Message::new(format!("ask for the route to {to}"), libc::RTM_GETROUTE, 0, &header);
    message.body.put(libc::RTA_DST, &target);
    if let Some(source) = source {
        message.body.put(libc::RTA_SRC, &source);
    }
    Ok(message)
}

fn tell(payload: &[u8], names: &[(u32, String)]) -> Option<Value> {
    let bytes = payload.get(RTMSG..)?;
    let mut told = Map::new();
    let mut put = |name: &str, value: Value| drop(told.insert(name.to_owned(), value));
    for (kind, value) in attributes(bytes) {
        match kind {
            libc::RTA_OIF => {
                let index = u32_at(value, 0);
                put(
                    "dev",
                    json!(names.iter().find(|(other, _)| Some(*other) == index).map(|(_, name)| name)),
                );
            }
            libc::RTA_GATEWAY => put("gateway", address(value)),
            libc::RTA_PREFSRC => put("source", address(value)),
            libc::RTA_DST => put("to", json!(format!("{}/{}", address(value).as_str()?, payload[1]))),
            libc::RTA_PRIORITY => put("metric", json!(u32_at(value, 0))),
            libc::RTA_TABLE => put("table", json!(u32_at(value, 0))),
            libc::RTA_METRICS => metrics(value, &mut put),
            // When what was learned of the path is forgotten.
            libc::RTA_CACHEINFO => {
                let ticks = u32_at(value, 8).map_or(0, |ticks| i64::from(ticks as i32));
                if ticks > 0 {
                    put("expires_s", json!(ticks / TICKS));
                }
            }
            libc::RTA_MULTIPATH => put("multipath", json!(hops(value))),
            _ => {}
        }
    }
    Some(told.into())
}

fn metrics(bytes: &[u8], put: &mut impl FnMut(&str, Value)) {
    let lock = attribute(bytes, RTAX_LOCK).and_then(|value| u32_at(value, 0)).unwrap_or(0);
    let locked: Vec<&str> =
        METRICS.iter().filter(|(kind, _)| lock >> kind & 1 == 1).map(|(_, name)| *name).collect();
    for (kind, name) in METRICS {
        if let Some(value) = attribute(bytes, kind).and_then(|value| u32_at(value, 0)) {
            put(name, json!(value));
        }
    }
    if let Some(name) = attribute(bytes, RTAX_CC_ALGO) {
        put("congctl", json!(string(name)));
    }
    if !locked.is_empty() {
        put("locked", json!(locked));
    }
}

/// How many next hops share the traffic (`struct rtnexthop`, length first).
fn hops(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Some(length) = crate::kernel::netlink::u16_at(bytes, 0).filter(|length| *length >= 8) {
        count += 1;
        bytes = bytes.get(usize::from(length).next_multiple_of(4)..).unwrap_or(&[]);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::netlink::Attributes;

    #[test]
    fn the_way_to_oneself_is_the_loopback_device() {
        let way = to("127.0.0.1", None).expect("a route");
        assert_eq!(way["found"]["dev"], json!("lo"));
        assert_eq!(way["found"]["source"], json!("127.0.0.1"));
    }

    #[test]
    fn what_is_no_address_is_told_so() {
        for text in ["", "example.org", "1.2.3", "-x"] {
            let error = to(text, None).expect_err("no address");
            assert!(error.message.contains("is not an IP address"), "{error}");
        }
    }

    #[test]
    fn what_a_route_fixes_is_told_by_name() {
        let mut body = Attributes::new();
        body.raw(&[2, 24, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0]).put(libc::RTA_DST, &[10, 0, 0, 0]);
        body.u32(libc::RTA_OIF, 7).nest(libc::RTA_METRICS, |metrics| {
            metrics.u32(RTAX_LOCK, 1 << 2).u32(2, 1400).u32(11, 4).text(RTAX_CC_ALGO, "reno");
        });
        let mut cache = [0_u8; 32];
        cache[8..12].copy_from_slice(&54_321_u32.to_ne_bytes());
        body.put(libc::RTA_CACHEINFO, &cache);
        let told = tell(body.bytes(), &[(7, "eth7".to_owned())]).expect("whole");
        let wanted = json!({"to": "10.0.0.0/24", "dev": "eth7", "mtu": 1400, "initcwnd": 4, "congctl": "reno",
            "locked": ["mtu"], "expires_s": 543});
        assert_eq!(told, wanted);
    }
}
