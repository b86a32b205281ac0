//! The packet filter, as far as it drops: base chains, and rules that end in a drop (`include/uapi/linux/netfilter/nf_tables.h`).
//!
//! Rules of `iptables` are here, too, where it works by `nf_tables`.

use serde_json::{json, Map, Value};

use super::string;
use crate::error::Result;
use crate::kernel::netlink::{attribute, attributes, Message, Socket};

const NFT_MSG_GETCHAIN: u16 = 10 << 8 | 4;
const NFT_MSG_GETRULE: u16 = 10 << 8 | 7;
/// `struct nfgenmsg`.
const NFGENMSG: usize = 4;
const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_POLICY: u16 = 5;
const RULE_CHAIN: u16 = 2;
const RULE_HANDLE: u16 = 3;
const RULE_EXPRESSIONS: u16 = 4;
const EXPR_NAME: u16 = 1;
const EXPR_DATA: u16 = 2;
const DATA_VERDICT: u16 = 2;
const NF_DROP: u32 = 0;
/// Rules that are told, at most.
const MOST: usize = 200;

const HOOKS: [&str; 5] = ["prerouting", "input", "forward", "output", "postrouting"];
const DEVICE_HOOKS: [&str; 2] = ["ingress", "egress"];
const FAMILIES: [(u8, &str); 6] =
    [(1, "inet"), (2, "ip"), (3, "arp"), (5, "netdev"), (7, "bridge"), (10, "ip6")];
const NETDEV: u8 = 5;

/// Base chains with hook and policy (`chains`), and the rules that drop (`dropping`).
pub fn all() -> Result<Value> {
    let mut socket = Socket::open(libc::NETLINK_NETFILTER)?;
    let (mut chains, mut dropping) = (Vec::new(), Vec::new());
    socket.dump(&Message::new("list chains", NFT_MSG_GETCHAIN, 0, &[0; NFGENMSG]), |payload| {
        chains.extend(chain(payload));
    })?;
    socket.dump(&Message::new("list rules", NFT_MSG_GETRULE, 0, &[0; NFGENMSG]), |payload| {
        dropping.extend(rule(payload).filter(|_| dropping.len() < MOST));
    })?;
    Ok(json!({"chains": chains, "dropping": dropping}))
}

fn family(number: u8) -> Option<&'static str> {
    FAMILIES.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

fn be32(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

fn be64(value: &[u8]) -> Option<u64> {
    value.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

/// A chain that packets enter by a hook; others are reached from these.
fn chain(payload: &[u8]) -> Option<Value> {
    let bytes = payload.get(NFGENMSG..)?;
    let number = be32(attribute(attribute(bytes, CHAIN_HOOK)?, 1)?)? as usize;
    let hooks: &[&str] = if payload[0] == NETDEV { &DEVICE_HOOKS } else { &HOOKS };
    let policy = attribute(bytes, CHAIN_POLICY).and_then(be32);
    Some(json!({
        "family": family(payload[0]),
        "table": attribute(bytes, CHAIN_TABLE).map(string)?,
        "chain": attribute(bytes, CHAIN_NAME).map(string)?,
        "hook": hooks.get(number),
        "policy": if policy == Some(NF_DROP) { "drop" } else { "accept" },
    }))
}

/// A rule whose verdict is to drop, with the expressions that decide.
fn rule(payload: &[u8]) -> Option<Value> {
    let bytes = payload.get(NFGENMSG..)?;
    let (mut names, mut told, mut drops) = (Vec::new(), Map::new(), false);
    for (_, expression) in attributes(attribute(bytes, RULE_EXPRESSIONS)?) {
        let name = attribute(expression, EXPR_NAME).map(string)?;
        let data = attribute(expression, EXPR_DATA).unwrap_or_default();
        match name.as_str() {
            "immediate" => {
                let verdict = attribute(data, 2).and_then(|value| attribute(value, DATA_VERDICT));
                drops |= verdict.and_then(|value| attribute(value, 1)).and_then(be32) == Some(NF_DROP);
            }
            "reject" => drops = true,
            "counter" => drop(told.insert("packets".to_owned(), json!(attribute(data, 2).and_then(be64)))),
            "limit" => drop(told.insert("limit".to_owned(), limit(data))),
            _ => {}
        }
        // A match of iptables says by its own name what it does.
        let own = (name == "match").then(|| attribute(data, 1).map(string)).flatten();
        names.push(own.unwrap_or(name));
    }
    told.insert("family".to_owned(), json!(family(payload[0])));
    told.insert("table".to_owned(), json!(attribute(bytes, CHAIN_TABLE).map(string)?));
    told.insert("chain".to_owned(), json!(attribute(bytes, RULE_CHAIN).map(string)?));
    told.insert("handle".to_owned(), json!(attribute(bytes, RULE_HANDLE).and_then(be64)));
    told.insert("expressions".to_owned(), json!(names));
    drops.then(|| told.into())
}

/// What a limit lets pass: a rate in packets or bytes a second; `over` where it matches what exceeds it.
fn limit(data: &[u8]) -> Value {
    let seconds = attribute(data, 2).and_then(be64).filter(|seconds| *seconds > 0).unwrap_or(1);
    let unit = if attribute(data, 4).and_then(be32) == Some(1) { "bytes" } else { "packets" };
    let rate = attribute(data, 1).and_then(be64).map(|rate| rate as f64 / seconds as f64);
    json!({"a_second": rate, "of": unit, "over": attribute(data, 5).and_then(be32) == Some(1)})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::netlink::Attributes;

    fn dropping(limit_rate: u64) -> Vec<u8> {
        let mut body = Attributes::new();
        body.raw(&[2, 0, 0, 0]).text(CHAIN_TABLE, "bed").text(RULE_CHAIN, "in");
        body.put(RULE_HANDLE, &7_u64.to_be_bytes());
        body.nest(RULE_EXPRESSIONS, |list| {
            list.nest(1, |one| {
                one.text(EXPR_NAME, "limit").nest(EXPR_DATA, |data| {
                    data.put(1, &limit_rate.to_be_bytes()).put(2, &60_u64.to_be_bytes());
                    data.put(4, &1_u32.to_be_bytes()).put(5, &1_u32.to_be_bytes());
                });
            });
            list.nest(1, |one| {
                one.text(EXPR_NAME, "counter").nest(EXPR_DATA, |data| {
                    data.put(2, &99_u64.to_be_bytes());
                });
            });
            list.nest(1, |one| {
                one.text(EXPR_NAME, "immediate").nest(EXPR_DATA, |data| {
                    data.nest(2, |value| {
                        value.nest(DATA_VERDICT, |verdict| {
                            verdict.put(1, &NF_DROP.to_be_bytes());
                        });
                    });
                });
            });
        });
        body.bytes().to_vec()
    }

    #[test]
    fn a_rule_that_drops_is_told_with_what_decides() {
        let told = rule(&dropping(600)).expect("it drops");
        assert_eq!(told["limit"], json!({"a_second": 10.0, "of": "bytes", "over": true}));
        assert_eq!(told["expressions"], json!(["limit", "counter", "immediate"]));
        assert_eq!(
            (&told["packets"], &told["handle"], &told["family"]),
            (&json!(99), &json!(7), &json!("ip"))
        );
    }

    #[test]
    fn a_torn_rule_is_none_and_no_panic() {
        let whole = dropping(1);
        for end in 0..whole.len() {
            rule(&whole[..end]);
            chain(&whole[..end]);
        }
    }

    #[test]
    fn a_base_chain_tells_its_hook() {
        let mut body = Attributes::new();
        body.raw(&[5, 0, 0, 0]).text(CHAIN_TABLE, "t").text(CHAIN_NAME, "c");
        body.nest(CHAIN_HOOK, |hook| {
            hook.put(1, &0_u32.to_be_bytes());
        });
        body.put(CHAIN_POLICY, &1_u32.to_be_bytes());
        let wanted =
            json!({"family": "netdev", "table": "t", "chain": "c", "hook": "ingress", "policy": "accept"});
        assert_eq!(chain(body.bytes()), Some(wanted));
    }
}
