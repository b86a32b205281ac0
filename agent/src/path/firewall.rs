//! Random drops at netfilter's INPUT hook: the rule of `iptables -A INPUT -m statistic --mode random --probability P -j DROP`,
//! written straight into the table `filter` of a node (`x_tables`; `iptables(8)`, `iptables-extensions(8)`).
//!
//! Each packet that arrives for the node itself is drawn for by the kernel's own generator: the drops are repeatable
//! on one virtual kernel, and others on another one.

use std::os::fd::{AsFd, OwnedFd};

use serde::Serialize;

use crate::error::{Context, Error, Result};
use crate::kernel::netns::Nodes;
use crate::kernel::sys;
use crate::kernel::sys::filter_table::{self, Counter};
use crate::plan::{Node, Plan};

const SO_GET_ENTRIES: i32 = 65;
const NAME_BYTES: usize = 32;
/// Of `struct ipt_replace` in front of its entries.
const HEAD: usize = 96;
/// `LOCAL_IN`, `FORWARD` and `LOCAL_OUT`, by their number among netfilter's five hooks.
const HOOKS: [usize; 3] = [1, 2, 3];
const ALL_HOOKS: usize = 5;
/// Three policies and the entry that ends a table: what is in it before anybody has put a rule there.
const EMPTY_TABLE: usize = 4;
/// Sizes of `xt_standard_target`, `xt_error_target`, and of `xt_entry_match` with `xt_statistic_info`.
const TARGET: usize = 40;
const ERROR_TARGET: usize = 64;
const MATCH: usize = 56;
/// `-NF_DROP - 1` and `-NF_ACCEPT - 1`.
const DROP: i32 = -1;
const ACCEPT: i32 = -2;
/// A probability of one, for `xt_statistic`.
const CERTAIN: f64 = 2_147_483_648.0;

/// What arrived for a node, and what netfilter dropped of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Input {
    pub node: String,
    pub packets: u64,
    pub dropped: u64,
}

/// A protocol's table: where its options are set, and how long an entry's head is (`ipt_entry`, `ip6t_entry`).
#[derive(Debug, Clone, Copy)]
struct Family {
    socket: i32,
    level: i32,
    head: usize,
    /// Offset of `target_offset` in the head.
    offsets: usize,
    /// Offset of the packets that it has counted.
    counters: usize,
}

const IPV4: Family =
    Family { socket: libc::AF_INET, level: libc::SOL_IP, head: 112, offsets: 88, counters: 96 };
const IPV6: Family =
    Family { socket: libc::AF_INET6, level: libc::SOL_IPV6, head: 168, offsets: 140, counters: 152 };

/// The rules that were put into nodes, to be counted at the end.
#[derive(Debug, Default)]
pub struct Firewalls(Vec<(String, Family, OwnedFd)>);

impl Firewalls {
    /// Puts the rule into each node that asks for one.
    ///
    /// # Errors
    /// A kernel without the table or the match.
    pub fn start(plan: &Plan, nodes: &Nodes) -> Result<Self> {
        let mut found = Vec::new();
        for node in &plan.nodes {
            let Some(probability) = node.drop_input else { continue };
            let family = if speaks_ipv6(plan, node) { IPV6 } else { IPV4 };
            let socket = nodes
                .within(&node.name, || family.put(probability))
                .map_err(|error| error.at(format!("node {}", node.name)))?;
            found.push((node.name.clone(), family, socket));
        }
        Ok(Self(found))
    }

    /// What arrived for each of these nodes and how much of it was dropped.
    pub fn read(&self) -> Result<Vec<Input>> {
        let inputs = self.0.iter().map(|(node, family, socket)| {
            let (packets, dropped) = family.read(socket)?;
            Ok(Input { node: node.clone(), packets, dropped })
        });
        inputs.collect()
    }
}

fn speaks_ipv6(plan: &Plan, node: &Node) -> bool {
    let ends = plan.links.iter().flat_map(|link| &link.ends).filter(|end| end.node == node.name);
    ends.flat_map(|end| &end.addresses).chain(&node.addresses).any(|address| address.contains(':'))
}

impl Family {
    fn put(self, probability: f64) -> Result<OwnedFd> {
        let socket = sys::socket::open(self.socket, libc::SOCK_RAW, libc::IPPROTO_RAW)
            .context("open a socket for the table filter")?;
        let mut old = [Counter::default(); EMPTY_TABLE];
        filter_table::replace(&socket, self.level, self.replacement(probability), &mut old).map_err(|cause| {
            let what = "put a rule of random drops into the table filter";
            Error::new(crate::error::UNSUPPORTED, format!("{what}: {cause}"))
                .hint("The kernel needs CONFIG_IP_NF_FILTER (IP6_NF_FILTER) and CONFIG_NETFILTER_XT_MATCH_STATISTIC.")
        })?;
        Ok(socket)
    }

    /// A `struct ipt_replace` (or `ip6t_replace`, which is laid out alike) and its entries: the rule, the policies of
    /// the three hooks, the end.
    fn replacement(self, probability: f64) -> Vec<u8> {
        let policy = self.head + TARGET;
        let rule = self.head + MATCH + TARGET;
        let size = rule + HOOKS.len() * policy + self.head + ERROR_TARGET;
        let begins = [0, rule + policy, rule + 2 * policy];
        let policies = [rule, rule + policy, rule + 2 * policy];
        let mut bytes = name("filter").to_vec();
        let word = |bytes: &mut Vec<u8>, value: usize| bytes.extend((value as u32).to_ne_bytes());
        word(&mut bytes, HOOKS.iter().fold(0, |hooks, hook| hooks | 1 << hook));
        word(&mut bytes, EMPTY_TABLE + 1);
        word(&mut bytes, size);
        for places in [begins, policies] {
            for hook in 0..ALL_HOOKS {
                let index = HOOKS.iter().position(|known| *known == hook);
                word(&mut bytes, index.map_or(0, |index| places[index]));
            }
        }
        // How many counters the old table has, and where they go: for whoever has room for them.
        bytes.resize(HEAD, 0);
        self.entry(&mut bytes, &statistic(probability), &standard(DROP));
        for _ in HOOKS {
            self.entry(&mut bytes, &[], &standard(ACCEPT));
        }
        self.entry(&mut bytes, &[], &error_target());
        bytes
    }

    fn entry(self, bytes: &mut Vec<u8>, matches: &[u8], target: &[u8]) {
        let begin = bytes.len();
        bytes.resize(begin + self.head, 0);
        let target_offset = self.head + matches.len();
        let next_offset = target_offset + target.len();
        for (place, offset) in [(0, target_offset), (2, next_offset)] {
            let at = begin + self.offsets + place;
            bytes[at..at + 2].copy_from_slice(&(offset as u16).to_ne_bytes());
        }
        bytes.extend(matches);
        bytes.extend(target);
    }

    /// Packets that came to the hook, and those that the rule took.
    fn read(self, socket: &impl AsFd) -> Result<(u64, u64)> {
        let rule = self.head + MATCH + TARGET;
        let size = rule + HOOKS.len() * (self.head + TARGET) + self.head + ERROR_TARGET;
        let mut bytes = name("filter").to_vec();
        bytes.extend((size as u32).to_ne_bytes());
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let entries = bytes.len();
        bytes.resize(entries + size, 0);
        sys::options::get_option_bytes(socket, self.level, SO_GET_ENTRIES, &mut bytes)
            .context("read the counters of the table filter")?;
        let packets = |entry: usize| {
            let at = entries + entry + self.counters;
            crate::kernel::netlink::u64_at(&bytes, at).unwrap_or(0)
        };
        let dropped = packets(0);
        Ok((dropped + packets(rule), dropped))
    }
}

fn name(text: &str) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes
}

/// `struct xt_entry_match` or `xt_entry_target`: its size, its name in 29 bytes, its revision.
fn extension(size: usize, called: &str) -> Vec<u8> {
    let mut bytes = (size as u16).to_ne_bytes().to_vec();
    bytes.extend(&name(called)[..30]);
    bytes.resize(size, 0);
    bytes
}

fn statistic(probability: f64) -> Vec<u8> {
    let mut bytes = extension(MATCH, "statistic");
    // Mode and flags are zero: random, not inverted.
    let share = (probability * CERTAIN).round() as u32;
    bytes[36..40].copy_from_slice(&share.to_ne_bytes());
    bytes
}

fn standard(verdict: i32) -> Vec<u8> {
    let mut bytes = extension(TARGET, "");
    bytes[32..36].copy_from_slice(&verdict.to_ne_bytes());
    bytes
}

fn error_target() -> Vec<u8> {
    let mut bytes = extension(ERROR_TARGET, "ERROR");
    bytes[32..37].copy_from_slice(b"ERROR");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_laid_out_as_the_kernel_walks_it() {
        for family in [IPV4, IPV6] {
            let table = family.replacement(0.25);
            let word = |at: usize| crate::kernel::netlink::u32_at(&table, at).expect("within") as usize;
            assert_eq!((word(32), word(36)), (0b1110, 5));
            let begin = HEAD;
            assert_eq!(word(40), table.len() - begin);
            assert_eq!((word(84), crate::kernel::netlink::u64_at(&table, 88)), (0, Some(0)));
            // Hopping from entry to entry ends at the end, and every hook begins at one of them.
            let mut entries = Vec::new();
            let mut at = 0;
            while at < table.len() - begin {
                entries.push(at);
                let next = begin + at + family.offsets + 2;
                at += usize::from(crate::kernel::netlink::u16_at(&table, next).expect("within"));
            }
            assert_eq!((entries.len(), at), (5, table.len() - begin));
            for (hook, entry) in HOOKS.iter().zip([0, 2, 3]) {
                assert_eq!(word(44 + 4 * hook), entries[entry]);
                assert_eq!(word(64 + 4 * hook), entries[[1, 2, 3][hook - 1]]);
            }
        }
    }

    #[test]
    fn a_probability_is_a_share_of_31_bits() {
        let share = |probability| crate::kernel::netlink::u32_at(&statistic(probability), 36);
        assert_eq!([share(0.0), share(0.25), share(1.0)], [Some(0), Some(1 << 29), Some(1 << 31)]);
    }
}
