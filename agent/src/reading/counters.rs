//! What the network stack of a node counts: `/proc/net/snmp`, `netstat` and `snmp6` (RFC 4293, 4022, 4113 and Linux's own).

use std::collections::BTreeMap;
use std::io;

use crate::error::{Context, Result};
use crate::kernel::netns::Nodes;
use crate::kernel::sys::files::{read_text, Text};
use crate::plan::Plan;

/// Of this thread, which is in the node: `/proc/net` would be of the process.
const FILES: [&str; 2] = ["/proc/thread-self/net/snmp", "/proc/thread-self/net/netstat"];
/// IPv6's own, a counter a line; absent where the kernel has no IPv6.
const FILE_6: &str = "/proc/thread-self/net/snmp6";
/// The groups of those, the longer of two that begin alike first.
const GROUPS_6: [&str; 4] = ["UdpLite6", "Udp6", "Icmp6", "Ip6"];
/// What is no counter.
const STATES: [&str; 7] = [
    "Ip.Forwarding",
    "Ip.DefaultTTL",
    "Tcp.RtoAlgorithm",
    "Tcp.RtoMin",
    "Tcp.RtoMax",
    "Tcp.MaxConn",
    "Tcp.CurrEstab",
];

/// Node → `Protocol.Counter` → value.
pub type Counters = BTreeMap<String, BTreeMap<String, i64>>;

/// All counters of the nodes where flows begin and end, and where sockets are followed.
pub fn read(plan: &Plan, nodes: &Nodes) -> Result<Counters> {
    let mut names: Vec<&str> = plan.flows.iter().flat_map(|flow| [&*flow.from, &*flow.to]).collect();
    names.extend(plan.found.iter().flat_map(|found| &found.nodes).map(String::as_str));
    names.sort_unstable();
    names.dedup();
    names.retain(|name| nodes.has(name));
    names.into_iter().map(|name| Ok((name.to_owned(), of_node(nodes, name)?))).collect()
}

fn of_node(nodes: &Nodes, name: &str) -> Result<BTreeMap<String, i64>> {
    let [texts @ .., text_6] = texts(nodes, name)?;
    let mut found = BTreeMap::new();
    for (file, text) in FILES.into_iter().zip(texts) {
        found.extend(parse(&text.context(format_args!("read {file}"))?));
    }
    match text_6 {
        Ok(text) => found.extend(parse_6(&text)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
        Err(cause) => return Err(cause).context(format_args!("read {FILE_6}")),
    }
    Ok(found)
}

/// What the files say in a node, that of IPv6 last.
fn texts(nodes: &Nodes, name: &str) -> Result<[io::Result<String>; 3]> {
    let mut texts = [FILES[0], FILES[1], FILE_6].map(Text::of);
    let (asked, results) = nodes.visit(name, |visit| texts.each_mut().map(|text| text.ask(visit)))?;
    let mut asked = asked.into_iter();
    let mut long = false;
    let found = texts.map(|text| {
        let text = asked.next().map_or(Ok(None), |asked| text.read_usual(asked, &results));
        long |= matches!(text, Ok(None));
        text.map(Option::unwrap_or_default)
    });
    if long {
        return nodes.within(name, || Ok([FILES[0], FILES[1], FILE_6].map(read_text)));
    }
    Ok(found)
}

/// Lines such as `Ip6InReceives 12`, which becomes `Ip6.InReceives`.
fn parse_6(text: &str) -> impl Iterator<Item = (String, i64)> + '_ {
    text.lines().filter_map(|line| {
        let (name, value) = line.split_once(char::is_whitespace)?;
        let group = GROUPS_6.into_iter().find(|group| name.starts_with(group))?;
        Some((format!("{group}.{}", &name[group.len()..]), value.trim().parse().ok()?))
    })
}

/// Pairs of lines: `Tcp: InSegs OutSegs` above `Tcp: 12 34`.
fn parse(text: &str) -> Vec<(String, i64)> {
    let lines: Vec<&str> = text.lines().collect();
    let pairs = lines.chunks_exact(2).filter_map(|pair| {
        let (kind, names) = pair[0].split_once(": ")?;
        let values = pair[1].strip_prefix(kind)?.strip_prefix(": ")?;
        Some((kind, names, values))
    });
    pairs
        .flat_map(|(kind, names, values)| {
            let named = names.split_whitespace().map(move |name| format!("{kind}.{name}"));
            named.zip(values.split_whitespace().filter_map(|value| value.parse().ok()))
        })
        .collect()
}

/// By how much the counters rose; those that stayed are left out.
#[must_use]
pub fn since(before: &Counters, after: &Counters) -> Counters {
    let none = BTreeMap::new();
    let risen = |name: &String, now: &BTreeMap<String, i64>| {
        let was = before.get(name).unwrap_or(&none);
        now.iter()
            .filter(|(key, _)| !STATES.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value - was.get(key).unwrap_or(&0)))
            .filter(|(_, rise)| *rise != 0)
            .collect()
    };
    after.iter().map(|(name, now)| (name.clone(), risen(name, now))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_ipv6_are_told_by_protocol() {
        let text = "Ip6InReceives                   \t12\nUdpLite6InErrors   1\nUdp6RcvbufErrors 3\nIcmp6InType135 4\nodd\n";
        let expected = [
            ("Ip6.InReceives", 12),
            ("UdpLite6.InErrors", 1),
            ("Udp6.RcvbufErrors", 3),
            ("Icmp6.InType135", 4),
        ]
        .map(|(name, value)| (name.to_owned(), value));
        assert_eq!(parse_6(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn counters_are_told_by_what_they_rose() {
        let text = |drops: u32| {
            format!("Udp: InDatagrams NoPorts InErrors\nUdp: 9 0 {drops}\nTcp: CurrEstab MaxConn\nTcp: {drops} -1\n")
        };
        let at = |drops| Counters::from([("a".to_owned(), parse(&text(drops)).into_iter().collect())]);
        assert_eq!(at(3)["a"]["Udp.InErrors"], 3);
        assert_eq!(at(3)["a"]["Tcp.MaxConn"], -1);
        let risen = since(&at(3), &at(7));
        assert_eq!(risen["a"], BTreeMap::from([("Udp.InErrors".to_owned(), 4)]));
    }
}
