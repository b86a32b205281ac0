//! What the agent sends for a line is, byte for byte, what iproute2's tc sends (recorded by `scripts/golden-qdiscs`).

use rushhour_agent::error::Result;
use rushhour_agent::kernel::netlink::{attribute, u16_at, u32_at};
use rushhour_agent::tc::{parse_among, Device, Order};
use serde_json::Value;

const TCMSG: usize = 20;
const TCA_OPTIONS: u16 = 2;
const NESTED: u16 = 0x8000;
const TCA_STAB: u16 = 8;
const LONGEST_IN_FULL: usize = 400;

fn shown(bytes: Option<&[u8]>) -> Value {
    match bytes {
        None => Value::Null,
        Some(bytes) if bytes.len() > LONGEST_IN_FULL => {
            format!("{} bytes, fnv1a {:016x}", bytes.len(), fnv1a(bytes)).into()
        }
        Some(bytes) => bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")).into(),
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |value: u64, byte: &u8| (value ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A line on the loopback device, which it may name.
fn understood(line: &str) -> Result<Order> {
    parse_among(line, &Device { name: "lo", ifindex: 1 }, &|dev| (dev == "lo").then_some(1))
}

fn encoded(line: &str) -> Vec<u8> {
    match understood(line) {
        Ok(Order::Native { message, .. }) => message.body.bytes().to_vec(),
        Ok(Order::Outside { .. }) => panic!("{line:?} is left to tc"),
        Err(error) => panic!("{line:?}: {error}"),
    }
}

/// Whether the options are marked as nested: some kinds insist on it.
fn nested(mut attributes: &[u8]) -> bool {
    while let (Some(length), Some(kind)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
        if kind == TCA_OPTIONS | NESTED {
            return true;
        }
        attributes = attributes.get(usize::from(length).next_multiple_of(4)..).unwrap_or_default();
    }
    false
}

#[test]
fn every_line_is_encoded_as_tc_does() {
    let golden: Value = serde_json::from_str(include_str!("golden/qdiscs.json")).expect("a golden file");
    let lines = golden["lines"].as_array().expect("lines");
    let mut wrong = Vec::new();
    for golden in lines {
        let line = golden["line"].as_str().expect("a line");
        let bytes = encoded(line);
        let found = [
            u32_at(&bytes, 8).into(),
            u32_at(&bytes, 12).into(),
            u32_at(&bytes, 16).into(),
            nested(&bytes[TCMSG..]).into(),
            shown(attribute(&bytes[TCMSG..], TCA_OPTIONS)),
            shown(attribute(&bytes[TCMSG..], TCA_STAB)),
        ];
        let wanted = ["handle", "parent", "info", "nested", "options", "stab"].map(|key| golden[key].clone());
        if found != wanted {
            wrong.push(format!("{line}\n  tc    {wanted:?}\n  agent {found:?}"));
        }
    }
    assert!(lines.len() > 200 && wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A generator of test lines (Marsaglia's xorshift64).
struct Dice(u64);

impl Dice {
    fn throw<'a>(&mut self, words: &[&'a str]) -> &'a str {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        words[(self.0 % words.len() as u64) as usize]
    }
}

/// Words at which readers of numbers and addresses stumble.
const ODD: [&str; 24] = [
    "0",
    "1",
    "-1",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "1e300",
    "0.5",
    "100%",
    "101%",
    "1ns",
    "1000s",
    "1gbit",
    "1bit",
    "9999tbit",
    "4gb",
    "1/2147483648",
    "0x",
    "ffff:ffff",
    "1:",
    "/",
    "é",
    "nan",
    "2001:db8::/129",
];

#[test]
fn no_line_makes_the_agent_panic() {
    let golden: Vec<&str> =
        include_str!("golden/qdiscs.txt").lines().filter(|line| !line.starts_with('#')).collect();
    let vocabulary: Vec<&str> = golden.iter().flat_map(|line| line.split_whitespace()).chain(ODD).collect();
    let mut dice = Dice(7);
    let mut refused = 0;
    for turn in 0..20_000 {
        let mut line: Vec<&str> = dice.throw(&golden).split_whitespace().collect();
        let at = turn % line.len();
        match turn % 3 {
            0 => line[at] = dice.throw(&vocabulary),
            1 => line.insert(at, dice.throw(&ODD)),
            _ => line.truncate(at),
        }
        refused += usize::from(understood(&line.join(" ")).is_err());
    }
    assert!(refused > 1000, "{refused}");
}
