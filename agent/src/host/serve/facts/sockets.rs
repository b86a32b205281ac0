//! The sockets of this end, in sum: `sock_diag` (`include/uapi/linux/inet_diag.h`).

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::{json, Value};

use super::address;
use crate::error::{Error, Result};
use crate::kernel::netlink::{attribute, u32_at, Message, Socket};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `struct inet_diag_req_v2`, `struct inet_diag_msg`.
const REQUEST: usize = 56;
const MESSAGE: usize = 72;
/// `idiag_rqueue`, and behind it `idiag_wqueue`.
const RQUEUE: usize = 56;
const INFO: u16 = 2;
const CONG: u16 = 4;
const SKMEMINFO: u16 = 7;
/// `SK_MEMINFO_DROPS` of the array of words.
const DROPS: usize = 8;
/// Connections that are told one by one, at most.
const MOST: usize = 50;

const STATES: [&str; 13] = [
    "",
    "established",
    "syn-sent",
    "syn-recv",
    "fin-wait-1",
    "fin-wait-2",
    "time-wait",
    "close",
    "close-wait",
    "last-ack",
    "listen",
    "closing",
    "new-syn-recv",
];

/// TCP and UDP: how many are in which state, what they hold and dropped; TCP connections with `peer` one by one:
/// algorithm, ports, what lies unread and unsent, `struct tcp_info` in hexadecimal. Of very many those that live.
pub fn summary(peer: Option<&str>) -> Result<Value> {
    let peer = peer.map(|text| {
        text.parse::<IpAddr>().map_err(|_| Error::new("request", format!("{text:?} is not an IP address")))
    });
    let peer = peer.transpose()?;
    Ok(json!({"tcp": of(libc::IPPROTO_TCP, peer)?, "udp": of(libc::IPPROTO_UDP, None)?}))
}

fn of(protocol: i32, peer: Option<IpAddr>) -> Result<Value> {
    let mut socket = Socket::open(libc::NETLINK_SOCK_DIAG)?;
    let mut states = BTreeMap::new();
    let (mut held, mut drops) = (0_u64, 0_u64);
    let (mut with_peer, mut over) = (Vec::new(), Vec::new());
    for family in [libc::AF_INET, libc::AF_INET6] {
        // A kernel without IPv6, or without this kind of diagnosis, has none of these.
        let _ = socket.dump(&question(family, protocol), |payload| {
            let Some(found) = parse(payload) else { return };
            *states.entry(found.state).or_insert(0) += 1;
            held += u64::from(found.held);
            drops += u64::from(found.drops);
            let listed = if found.info.is_some() { &mut with_peer } else { &mut over };
            if peer.is_some_and(|peer| found.peer == json!(peer.to_string())) && listed.len() < MOST {
                listed.push(json!({
                    "state": found.state, "cc": found.cc, "port": found.port, "local": found.local,
                    "unread": found.unread, "unsent": found.unsent, "info": found.info,
                }));
            }
        });
    }
    with_peer.extend(over);
    with_peer.truncate(MOST);
    Ok(json!({"states": states, "held_bytes": held, "drops": drops, "with_peer": with_peer}))
}

fn question(family: i32, protocol: i32) -> Message {
    let wanted = 1_u8 << (CONG - 1) | 1 << (SKMEMINFO - 1) | 1 << (INFO - 1);
    let mut header = vec![family as u8, protocol as u8, wanted, 0];
    header.extend(u32::MAX.to_ne_bytes());
    header.resize(REQUEST, 0);
    Message::new("list sockets", SOCK_DIAG_BY_FAMILY, 0, &header)
}

struct Found {
    state: &'static str,
    peer: Value,
    port: u16,
    local: u16,
    unread: u32,
    unsent: u32,
    info: Option<String>,
    cc: Option<String>,
    held: u32,
    drops: u32,
}

fn parse(payload: &[u8]) -> Option<Found> {
    let bytes = payload.get(MESSAGE..)?;
    let length = if i32::from(payload[0]) == libc::AF_INET { 4 } else { 16 };
    let memory = attribute(bytes, SKMEMINFO).unwrap_or_default();
    let word = |at: usize| u32_at(memory, 4 * at).unwrap_or(0);
    Some(Found {
        state: STATES.get(usize::from(payload[1]))?,
        port: u16::from_be_bytes([payload[6], payload[7]]),
        local: u16::from_be_bytes([payload[4], payload[5]]),
        unread: u32_at(payload, RQUEUE).unwrap_or(0),
        unsent: u32_at(payload, RQUEUE + 4).unwrap_or(0),
        info: attribute(bytes, INFO).map(hex),
        peer: address(&payload[24..24 + length]),
        cc: attribute(bytes, CONG).map(super::string),
        held: word(0) + word(2),
        drops: word(DROPS),
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_counted_and_its_algorithm_told() {
        // An address that nobody else on this machine talks to.
        let listener = std::net::TcpListener::bind("127.83.79.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let connect = || std::net::TcpStream::connect(("127.83.79.1", port)).expect("a connection");
        for _ in 0..2 * MOST {
            // Closed at this side first, it stays as one that waits for its time to pass.
            drop(connect());
            drop(listener.accept().expect("the other side"));
        }
        let _here = connect();
        let found = summary(Some("127.83.79.1")).expect("a summary");
        assert_eq!(found["tcp"]["with_peer"].as_array().map(Vec::len), Some(MOST));
        assert!(found["tcp"]["states"]["listen"].as_u64() >= Some(1));
        assert!(found["tcp"]["states"]["established"].as_u64() >= Some(2));
        let ours = found["tcp"]["with_peer"].as_array().into_iter().flatten();
        let ours: Vec<&Value> = ours.filter(|one| one["port"] == json!(port)).collect();
        assert!(ours.iter().any(|one| one["cc"].as_str().is_some_and(|name| !name.is_empty())), "{found}");
        // tcpi_state is the first byte of the structure: 1, established.
        assert!(ours.iter().any(|one| one["info"].as_str().is_some_and(|info| info.starts_with("01"))));
    }
}
