//! `cake` (`tc-cake(8)`).

use crate::error::Result;
use crate::tc::found::Found;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::Options;

const TAKES: &[&str] = &[
    "bandwidth",
    "unlimited",
    "autorate-ingress",
    "rtt",
    "datacentre",
    "lan",
    "metro",
    "regional",
    "internet",
    "oceanic",
    "satellite",
    "interplanetary",
    "besteffort",
    "precedence",
    "diffserv8",
    "diffserv4",
    "diffserv",
    "diffserv3",
    "flowblind",
    "srchost",
    "dsthost",
    "hosts",
    "flows",
    "dual-srchost",
    "dual-dsthost",
    "triple-isolate",
    "nat",
    "nonat",
    "wash",
    "nowash",
    "split-gso",
    "no-split-gso",
    "ack-filter",
    "ack-filter-aggressive",
    "no-ack-filter",
    "memlimit",
    "fwmark",
    "ptm",
    "atm",
    "noatm",
    "raw",
    "conservative",
    "ipoa-vcmux",
    "ipoa-llcsnap",
    "bridged-vcmux",
    "bridged-llcsnap",
    "pppoa-vcmux",
    "pppoa-llc",
    "pppoe-vcmux",
    "pppoe-llcsnap",
    "pppoe-ptm",
    "bridged-ptm",
    "via-ethernet",
    "ethernet",
    "ether-vlan",
    "docsis",
    "overhead",
    "mpu",
    "ingress",
    "egress",
];

const BASE_RATE64: u16 = 2;
const DIFFSERV_MODE: u16 = 3;
const ATM: u16 = 4;
const FLOW_MODE: u16 = 5;
const OVERHEAD: u16 = 6;
const RTT: u16 = 7;
const TARGET: u16 = 8;
const AUTORATE: u16 = 9;
const MEMORY: u16 = 10;
const NAT: u16 = 11;
const RAW: u16 = 12;
const WASH: u16 = 13;
const MPU: u16 = 14;
const INGRESS: u16 = 15;
const ACK_FILTER: u16 = 16;
const SPLIT_GSO: u16 = 17;
const FWMARK: u16 = 18;
const ORDER: [u16; 17] = [
    BASE_RATE64,
    DIFFSERV_MODE,
    ATM,
    FLOW_MODE,
    OVERHEAD,
    RAW,
    MPU,
    RTT,
    TARGET,
    AUTORATE,
    MEMORY,
    FWMARK,
    NAT,
    WASH,
    SPLIT_GSO,
    INGRESS,
    ACK_FILTER,
];

/// Words that set one attribute to one number (`enum` values of `pkt_sched.h`).
const SWITCHES: [(&str, u16, u32); 26] = [
    ("autorate-ingress", AUTORATE, 1),
    ("diffserv3", DIFFSERV_MODE, 0),
    ("diffserv4", DIFFSERV_MODE, 1),
    ("diffserv", DIFFSERV_MODE, 1),
    ("diffserv8", DIFFSERV_MODE, 2),
    ("besteffort", DIFFSERV_MODE, 3),
    ("precedence", DIFFSERV_MODE, 4),
    ("flowblind", FLOW_MODE, 0),
    ("srchost", FLOW_MODE, 1),
    ("dsthost", FLOW_MODE, 2),
    ("hosts", FLOW_MODE, 3),
    ("flows", FLOW_MODE, 4),
    ("dual-srchost", FLOW_MODE, 5),
    ("dual-dsthost", FLOW_MODE, 6),
    ("triple-isolate", FLOW_MODE, 7),
    ("nat", NAT, 1),
    ("nonat", NAT, 0),
    ("wash", WASH, 1),
    ("nowash", WASH, 0),
    ("split-gso", SPLIT_GSO, 1),
    ("no-split-gso", SPLIT_GSO, 0),
    ("no-ack-filter", ACK_FILTER, 0),
    ("ack-filter", ACK_FILTER, 1),
    ("ack-filter-aggressive", ACK_FILTER, 2),
    ("ingress", INGRESS, 1),
    ("egress", INGRESS, 0),
];

/// Typical round-trip times: target and interval in microseconds.
const ROUND_TRIPS: [(&str, u32, u32); 8] = [
    ("datacentre", 5, 100),
    ("lan", 50, 1000),
    ("metro", 500, 10_000),
    ("regional", 1500, 30_000),
    ("internet", 5000, 100_000),
    ("oceanic", 15_000, 300_000),
    ("satellite", 50_000, 1_000_000),
    ("interplanetary", 50_000_000, 1_000_000_000),
];

const NO_CELLS: u32 = 0;
const ATM_CELLS: u32 = 1;
const PTM_CODING: u32 = 2;

/// Framings that add overhead: bytes, cells if it says so, smallest packet if it says so.
const FRAMINGS: [(&str, i32, Option<u32>, Option<i32>); 14] = [
    ("ipoa-vcmux", 8, Some(ATM_CELLS), None),
    ("ipoa-llcsnap", 16, Some(ATM_CELLS), None),
    ("bridged-vcmux", 24, Some(ATM_CELLS), None),
    ("bridged-llcsnap", 32, Some(ATM_CELLS), None),
    ("pppoa-vcmux", 10, Some(ATM_CELLS), None),
    ("pppoa-llc", 14, Some(ATM_CELLS), None),
    ("pppoe-vcmux", 32, Some(ATM_CELLS), None),
    ("pppoe-llcsnap", 40, Some(ATM_CELLS), None),
    ("pppoe-ptm", 30, Some(PTM_CODING), None),
    ("bridged-ptm", 22, Some(PTM_CODING), None),
    ("ethernet", 38, None, Some(84)),
    ("ether-vlan", 4, None, None),
    ("docsis", 18, Some(NO_CELLS), Some(64)),
    ("via-ethernet", 0, None, None),
];

/// What several words add to.
#[derive(Default)]
struct Framing {
    overhead: Option<i32>,
    mpu: i32,
}

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

fn encode(words: &mut Words) -> Result<Options> {
    let mut found = Found::default();
    let mut framing = Framing::default();
    while let Some(word) = words.take() {
        if !named(word, &mut found, &mut framing) {
            valued(words, word, &mut found, &mut framing)?;
        }
    }
    if let Some(overhead) = framing.overhead {
        found.u32(OVERHEAD, overhead as u32);
    }
    if framing.mpu > 0 {
        found.u32(MPU, framing.mpu as u32);
    }
    Ok(Some(found.in_order(&ORDER)))
}

/// Words that stand alone; says whether this was one.
fn named(word: &str, found: &mut Found, framing: &mut Framing) -> bool {
    if let Some((_, kind, value)) = SWITCHES.iter().find(|(name, ..)| *name == word) {
        found.u32(*kind, *value);
    } else if let Some((_, target, interval)) = ROUND_TRIPS.iter().find(|(name, ..)| *name == word) {
        found.u32(TARGET, *target);
        found.u32(RTT, *interval);
    } else if let Some((name, bytes, cells, smallest)) = FRAMINGS.iter().find(|(name, ..)| *name == word) {
        if *name != "via-ethernet" {
            framing.overhead = Some(framing.overhead.unwrap_or(0) + bytes);
        }
        if let Some(cells) = cells {
            found.u32(ATM, *cells);
        }
        framing.mpu = smallest.unwrap_or(framing.mpu);
    } else {
        return false;
    }
    true
}

fn valued(words: &mut Words, word: &str, found: &mut Found, framing: &mut Framing) -> Result<()> {
    match word {
        "bandwidth" => bandwidth(found, words.rate(word)?),
        "unlimited" => bandwidth(found, 0),
        "rtt" => {
            let interval = words.micros(word)?;
            found.u32(RTT, interval);
            found.u32(TARGET, (interval / 20).max(1));
        }
        "ptm" => found.u32(ATM, PTM_CODING),
        "atm" => found.u32(ATM, ATM_CELLS),
        "noatm" => found.u32(ATM, NO_CELLS),
        "raw" => {
            found.u32(ATM, NO_CELLS);
            found.u32(RAW, 0);
            framing.overhead = Some(0);
        }
        "conservative" => {
            found.u32(ATM, ATM_CELLS);
            framing.overhead = Some(48);
        }
        "overhead" => framing.overhead = Some(words.integer_between(word, -64, 256)?),
        "mpu" => framing.mpu = words.integer_between(word, 0, 256)?,
        "memlimit" => found.unless_zero(MEMORY, words.size(word)?),
        "fwmark" => found.unless_zero(FWMARK, words.number(word)?),
        other => return Err(words.unknown(other)),
    }
    Ok(())
}

/// A rate in bytes a second; naming one ends automatic rates.
fn bandwidth(found: &mut Found, rate: u64) {
    found.put(BASE_RATE64, &rate.to_ne_bytes());
    found.u32(AUTORATE, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_tables_is_listed() {
        let named = SWITCHES.iter().map(|(name, ..)| name).chain(ROUND_TRIPS.iter().map(|(name, ..)| name));
        for name in named.chain(FRAMINGS.iter().map(|(name, ..)| name)) {
            assert!(TAKES.contains(name), "{name}");
        }
    }
}
