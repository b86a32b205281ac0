//! Filters: `matchall` and `u32` that choose a class or begin actions (`tc-matchall(8)`, `tc-u32(8)`).

use std::net::{Ipv4Addr, Ipv6Addr};

use super::words::Words;
use super::{action, handle, police, Options};
use crate::error::Result;
use crate::kernel::netlink::Attributes;

pub const MATCHALL_TAKES: &[&str] = &["classid", "flowid", "action", "skip_hw", "skip_sw"];
/// What only tc itself understands: hash tables, and what can be said of an action beside its own words.
pub const FOREIGN: [&str; 10] =
    ["offset", "hashkey", "divisor", "order", "link", "ht", "sample", "cookie", "hw_stats", "no_percpu"];
/// Headers of a match that only tc itself understands.
pub const FOREIGN_MATCHES: [&str; 5] = ["mark", "ether", "tcp", "udp", "icmp"];
/// Words of a filter that end a row of actions.
const AFTER_ACTIONS: [&str; 2] = ["classid", "flowid"];

const CLASSID: u16 = 1;
const MATCHALL_ACT: u16 = 2;
const MATCHALL_FLAGS: u16 = 3;
const U32_SEL: u16 = 5;
const U32_POLICE: u16 = 6;
const U32_ACT: u16 = 7;
const U32_INDEV: u16 = 8;
const U32_FLAGS: u16 = 11;
const SKIP_HARDWARE: u32 = 1;
const SKIP_SOFTWARE: u32 = 2;
const TERMINAL: u8 = 1;
const MOST_KEYS: usize = 128;
/// `IFNAMSIZ` without its zero.
const LONGEST_DEVICE: usize = 15;

/// Whether a line needs tc itself, by any of its words.
pub fn is_foreign(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let strange = |pair: &[&str]| pair[0] == "match" && FOREIGN_MATCHES.contains(&pair[1]);
    words.iter().any(|word| FOREIGN.contains(word))
        || words.windows(2).any(strange)
        || action::foreign(&words).is_some()
}

pub fn matchall(words: &mut Words) -> Result<Options> {
    let mut options = Attributes::new();
    let (mut flags, mut any) = (0, false);
    while let Some(word) = words.take() {
        match word {
            "classid" | "flowid" => {
                options.u32(CLASSID, handle(words.value(word)?)?);
            }
            "action" => {
                options.put(MATCHALL_ACT, action::row(words, &AFTER_ACTIONS)?.bytes());
            }
            _ => flags |= skipped(words, word)?,
        }
        any = true;
    }
    put_flags(words, &mut options, MATCHALL_FLAGS, flags)?;
    Ok(any.then_some(options))
}

/// Where a filter is not to be tried.
fn skipped(words: &Words, word: &str) -> Result<u32> {
    match word {
        "skip_hw" => Ok(SKIP_HARDWARE),
        "skip_sw" => Ok(SKIP_SOFTWARE),
        other => Err(words.unknown(other)),
    }
}

fn put_flags(words: &Words, options: &mut Attributes, kind: u16, flags: u32) -> Result<()> {
    if flags == SKIP_HARDWARE | SKIP_SOFTWARE {
        return Err(words.fault("'skip_hw' and 'skip_sw' exclude each other"));
    }
    if flags != 0 {
        options.u32(kind, flags);
    }
    Ok(())
}

/// Bits that must be found in one 32-bit word of the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    mask: u32,
    value: u32,
    offset: i32,
    /// -1 where the offset counts from the next header.
    next_header: i32,
}

pub fn u32(words: &mut Words) -> Result<Options> {
    let mut options = Attributes::new();
    let mut keys: Vec<Key> = Vec::new();
    let (mut ends, mut flags, mut any) = (0, 0, false);
    while let Some(word) = words.take() {
        match word {
            "match" => {
                any = true;
                selector(words)?.into_iter().try_for_each(|key| merge(words, &mut keys, key))?;
            }
            "classid" | "flowid" => {
                options.u32(CLASSID, handle(words.value(word)?)?);
                ends = TERMINAL;
            }
            "action" => {
                options.put(U32_ACT, action::row(words, &AFTER_ACTIONS)?.bytes());
                ends = TERMINAL;
            }
            "police" => {
                options.put(U32_POLICE, policed(words)?.bytes());
                ends = TERMINAL;
            }
            "indev" => {
                options.text(U32_INDEV, device_name(words)?);
            }
            _ => flags |= skipped(words, word)?,
        }
    }
    if any {
        options.put(U32_SEL, &selection(ends, &keys));
    }
    put_flags(words, &mut options, U32_FLAGS, flags)?;
    Ok(Some(options))
}

/// A policer without the word `action`.
fn policed(words: &mut Words) -> Result<Attributes> {
    let before = words.begin("police", police::TAKES);
    let options = police::encode(words)?;
    words.begin(before.0, before.1);
    Ok(options)
}

fn device_name<'a>(words: &mut Words<'a>) -> Result<&'a str> {
    let name = words.value("indev")?;
    if name.len() > LONGEST_DEVICE {
        return Err(
            words.fault(format_args!("'indev {name}': a device's name has at most {LONGEST_DEVICE} letters"))
        );
    }
    Ok(name)
}

/// A `struct tc_u32_sel` with its keys.
fn selection(flags: u8, keys: &[Key]) -> Vec<u8> {
    let mut bytes = vec![0; 16];
    (bytes[0], bytes[2]) = (flags, keys.len() as u8);
    for key in keys {
        bytes.extend(key.mask.to_be_bytes());
        bytes.extend(key.value.to_be_bytes());
        bytes.extend(key.offset.to_ne_bytes());
        bytes.extend(key.next_header.to_ne_bytes());
    }
    bytes
}

/// Keys on the same word become one.
fn merge(words: &Words, keys: &mut Vec<Key>, key: Key) -> Result<()> {
    let value = key.value & key.mask;
    if let Some(old) =
        keys.iter_mut().find(|old| old.offset == key.offset && old.next_header == key.next_header)
    {
        if (old.value ^ value) & old.mask & key.mask != 0 {
            return Err(words.fault("two matches of one filter contradict each other"));
        }
        old.value |= value;
        old.mask |= key.mask;
        return Ok(());
    }
    if keys.len() == MOST_KEYS {
        return Err(words.fault(format_args!("a filter has at most {MOST_KEYS} matches")));
    }
    keys.push(Key { value, ..key });
    Ok(())
}

fn selector(words: &mut Words) -> Result<Vec<Key>> {
    let layer = words.value("match")?;
    match layer {
        "u32" => number(words, layer, 32, 0),
        "u16" => number(words, layer, 16, 0),
        "u8" => number(words, layer, 8, 0),
        "ip" => {
            let field = words.value(layer)?;
            match field {
                "src" => ipv4(words, 12),
                "dst" => ipv4(words, 16),
                "tos" | "dsfield" => number(words, field, 8, 1),
                "protocol" => number(words, field, 8, 9),
                "sport" => number(words, field, 16, 20),
                "dport" => number(words, field, 16, 22),
                other => Err(words
                    .fault(format_args!("'ip {other}' is not one of src dst dsfield protocol sport dport"))),
            }
        }
        "ip6" => {
            let field = words.value(layer)?;
            match field {
                "src" => ipv6(words, 8),
                "dst" => ipv6(words, 24),
                "priority" => traffic_class(words),
                "protocol" => number(words, field, 8, 6),
                "sport" => number(words, field, 16, 40),
                "dport" => number(words, field, 16, 42),
                other => Err(words.fault(format_args!(
                    "'ip6 {other}' is not one of src dst priority protocol sport dport"
                ))),
            }
        }
        other => Err(words.fault(format_args!("'match {other}' is not one of ip ip6 u32 u16 u8"))),
    }
}

/// `VALUE MASK [at [nexthdr+]OFFSET]` of 8, 16 or 32 bits.
fn number(words: &mut Words, key: &str, bits: u32, offset: i32) -> Result<Vec<Key>> {
    let most = u32::MAX >> (32 - bits);
    let value: u32 = words.number(key)?;
    let mask = words.hexadecimal(key)?;
    if value > most || mask > most {
        return Err(words.fault(format_args!("'{key}' takes a value and a mask of {bits} bits")));
    }
    let (offset, next_header) = if words.skip("at") { place(words)? } else { (offset, 0) };
    let within = offset.rem_euclid(4) as u32 * 8;
    if within + bits > 32 {
        return Err(
            words.fault(format_args!("'{key}' does not fit at {offset}: it would cross a 32-bit word"))
        );
    }
    let shift = 32 - bits - within;
    Ok(vec![Key {
        mask: mask << shift,
        value: value << shift,
        offset: offset.div_euclid(4) * 4,
        next_header,
    }])
}

fn place(words: &mut Words) -> Result<(i32, i32)> {
    let word = words.value("at")?;
    let (digits, next_header) = word.strip_prefix("nexthdr+").map_or((word, 0), |digits| (digits, -1));
    let offset = digits.parse().map_err(|_| words.fault(format_args!("'at {word}': not an offset")))?;
    Ok((offset, next_header))
}

fn prefix<'a>(words: &mut Words<'a>, bits: u32) -> Result<(&'a str, u32)> {
    let word = words.value("match")?;
    let (address, length) =
        word.split_once('/').map_or((word, Some(bits)), |(address, length)| (address, length.parse().ok()));
    let length = length.filter(|length| *length <= bits);
    Ok((address, length.ok_or_else(|| words.fault(format_args!("'{word}' is not a prefix")))?))
}

fn mask(length: u32) -> u32 {
    u32::MAX.checked_shl(32 - length.min(32)).unwrap_or(0)
}

fn ipv4(words: &mut Words, offset: i32) -> Result<Vec<Key>> {
    let (address, length) = prefix(words, 32)?;
    let address: Ipv4Addr =
        address.parse().map_err(|_| words.fault(format_args!("'{address}' is not an IPv4 address")))?;
    Ok(vec![Key { mask: mask(length), value: address.to_bits(), offset, next_header: 0 }])
}

fn ipv6(words: &mut Words, offset: i32) -> Result<Vec<Key>> {
    let (address, length) = prefix(words, 128)?;
    let address: Ipv6Addr =
        address.parse().map_err(|_| words.fault(format_args!("'{address}' is not an IPv6 address")))?;
    let word = |index: u32| Key {
        mask: mask(length - 32 * index),
        value: (address.to_bits() >> (96 - 32 * index)) as u32,
        offset: offset + 4 * index as i32,
        next_header: 0,
    };
    Ok((0..length.div_ceil(32)).map(word).collect())
}

/// The traffic class, which straddles bytes: bits 20 to 27 of the first word.
fn traffic_class(words: &mut Words) -> Result<Vec<Key>> {
    let (value, mask): (u8, u32) = (words.number("priority")?, words.hexadecimal("priority")?);
    Ok(vec![Key { mask: (mask & 0xff) << 20, value: u32::from(value) << 20, offset: 0, next_header: 0 }])
}
