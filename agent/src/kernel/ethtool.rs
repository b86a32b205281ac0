//! What a network card tells of itself: settings, limits, offloads, statistics (`include/uapi/linux/ethtool.h`).
//!
//! A card that does not support a question leaves the answer out; that is no error.

use std::os::fd::OwnedFd;

use serde_json::{json, Map, Value};

use crate::error::{Context, Error, Result};
use crate::kernel::netlink::{u32_at, u64_at};
use crate::kernel::sys;

const GDRVINFO: u32 = 0x03;
const GLINK: u32 = 0x0a;
const GCOALESCE: u32 = 0x0e;
const GRINGPARAM: u32 = 0x10;
const GPAUSEPARAM: u32 = 0x12;
const GSTRINGS: u32 = 0x1b;
const GSTATS: u32 = 0x1d;
const GSSET_INFO: u32 = 0x37;
const GFEATURES: u32 = 0x3a;
const GCHANNELS: u32 = 0x3c;
const GET_TS_INFO: u32 = 0x41;
const GLINKSETTINGS: u32 = 0x4c;
const GFECPARAM: u32 = 0x50;

/// Numbers of string sets (`enum ethtool_stringset`).
const SET_STATS: u32 = 1;
pub const SET_FEATURES: u32 = 4;
const SET_LINK_MODES: u32 = 9;

const STRING: usize = 32;
const SPEED_UNKNOWN: u32 = u32::MAX;
const PORTS: [&str; 7] = ["tp", "aui", "mii", "fibre", "bnc", "da", ""];
const FEC: [&str; 6] = ["none", "auto", "off", "rs", "baser", "llrs"];

const COALESCE: [&str; 22] = [
    "rx-usecs",
    "rx-frames",
    "rx-usecs-irq",
    "rx-frames-irq",
    "tx-usecs",
    "tx-frames",
    "tx-usecs-irq",
    "tx-frames-irq",
    "stats-block-usecs",
    "adaptive-rx",
    "adaptive-tx",
    "pkt-rate-low",
    "rx-usecs-low",
    "rx-frames-low",
    "tx-usecs-low",
    "tx-frames-low",
    "pkt-rate-high",
    "rx-usecs-high",
    "rx-frames-high",
    "tx-usecs-high",
    "tx-frames-high",
    "sample-interval",
];

/// One device of the namespace in which this was opened.
#[derive(Debug)]
pub struct Card {
    socket: OwnedFd,
    dev: String,
}

impl Card {
    /// # Errors
    /// There is no such device, or no socket could be opened.
    pub fn open(dev: &str) -> Result<Self> {
        let socket = sys::socket::open(libc::AF_INET, libc::SOCK_DGRAM, 0)
            .context("open a socket to ask a network card")?;
        let card = Self { socket, dev: dev.to_owned() };
        let mut question = GLINK.to_ne_bytes().to_vec();
        question.extend([0; 4]);
        match sys::ethtool::command(&card.socket, dev, &mut question) {
            Err(cause) if cause.raw_os_error() == Some(libc::ENODEV) => {
                Err(Error::new("device", format!("there is no device {dev:?}")))
            }
            _ => Ok(card),
        }
    }

    /// The answer to a command whose structure is `words` long, command included; `None` if the card has none.
    fn ask(&self, command: u32, words: usize) -> Option<Vec<u8>> {
        let mut data = command.to_ne_bytes().to_vec();
        data.resize(4 * words, 0);
        self.answer(data)
    }

    fn answer(&self, mut data: Vec<u8>) -> Option<Vec<u8>> {
        sys::ethtool::command(&self.socket, &self.dev, &mut data).ok()?;
        Some(data)
    }

    /// Numbers that follow the command, under these names; an empty name is left out.
    fn numbers(&self, command: u32, names: &[&str]) -> Option<Map<String, Value>> {
        let data = self.ask(command, 1 + names.len())?;
        let wanted = names.iter().enumerate().filter(|(_, name)| !name.is_empty());
        Some(
            wanted
                .filter_map(|(at, name)| Some(((*name).to_owned(), json!(u32_at(&data, 4 + 4 * at)?))))
                .collect(),
        )
    }

    /// The names of a string set, in its order.
    #[must_use]
    pub fn strings(&self, set: u32) -> Vec<String> {
        let mut info = words(&[GSSET_INFO, 0]);
        info.extend((1_u64 << set).to_ne_bytes());
        info.extend([0; 4]);
        let count =
            self.answer(info).filter(|data| u64_at(data, 8) != Some(0)).and_then(|data| u32_at(&data, 16));
        let Some(count) = count.filter(|count| *count > 0) else { return Vec::new() };
        let mut question = words(&[GSTRINGS, set, count]);
        question.resize(12 + STRING * count as usize, 0);
        let Some(data) = self.answer(question) else { return Vec::new() };
        let found = u32_at(&data, 8).unwrap_or(0).min(count);
        data[12..].chunks_exact(STRING).take(found as usize).map(text).collect()
    }

    /// Driver, its version, the firmware's, and where on the bus the card is.
    #[must_use]
    pub fn driver(&self) -> Option<Value> {
        let data = self.ask(GDRVINFO, 49)?;
        let field = |index: usize| data.get(4 + STRING * index..4 + STRING * (index + 1)).map(text);
        Some(json!({"name": field(0)?, "version": field(1)?, "firmware": field(2)?, "bus": field(3)?}))
    }

    /// Speed in Mbit/s, duplex, autonegotiation, port, and modes by name: supported, advertised, the partner's.
    #[must_use]
    pub fn link(&self) -> Option<Value> {
        // The first question tells (as a negative number) how many words a mask has.
        let first = self.ask(GLINKSETTINGS, 12)?;
        let masks = usize::from((*first.get(15)? as i8).unsigned_abs());
        let mut question = words(&[GLINKSETTINGS, 0, 0, 0]);
        question[15] = masks as u8;
        question.resize(48 + 12 * masks, 0);
        let data = self.answer(question)?;
        let names = self.strings(SET_LINK_MODES);
        let modes = |which: usize| {
            let mask = &data[48 + 4 * masks * which..][..4 * masks];
            let set = names.iter().enumerate().filter(|(bit, _)| is_set(mask, *bit));
            set.map(|(_, name)| name.as_str()).collect::<Vec<_>>()
        };
        let speed = u32_at(&data, 4).filter(|speed| !matches!(*speed, 0 | SPEED_UNKNOWN));
        Some(json!({
            "speed_mbps": speed,
            "duplex": match data[8] { 0 => Some("half"), 1 => Some("full"), _ => None },
            "port": PORTS.get(usize::from(data[9])).filter(|port| !port.is_empty()),
            "autoneg": data[11] == 1,
            "supported": modes(0),
            "advertised": modes(1),
            "partner": modes(2),
        }))
    }

    /// Whether the card sees a partner.
    #[must_use]
    pub fn has_link(&self) -> Option<bool> {
        u32_at(&self.ask(GLINK, 2)?, 4).map(|value| value != 0)
    }

    /// Offloads by the kernel's names: on, asked for, and whether they are fixed (cannot be changed).
    #[must_use]
    pub fn features(&self) -> Map<String, Value> {
        let names = self.strings(SET_FEATURES);
        let blocks = names.len().div_ceil(32);
        let mut question = words(&[GFEATURES, blocks as u32]);
        question.resize(8 + 16 * blocks, 0);
        let Some(data) = self.answer(question) else { return Map::new() };
        let bit = |index: usize, field: usize| {
            u32_at(&data, 8 + 16 * (index / 32) + 4 * field).is_some_and(|word| word >> (index % 32) & 1 == 1)
        };
        let used = names.into_iter().enumerate().filter(|(_, name)| !name.is_empty());
        let told = used.map(|(index, name)| {
            let fixed = !bit(index, 0) || bit(index, 3);
            (name, json!({"on": bit(index, 2), "requested": bit(index, 1), "fixed": fixed}))
        });
        told.collect()
    }

    /// Packets that the rings hold, now and at most.
    #[must_use]
    pub fn rings(&self) -> Option<Map<String, Value>> {
        let names = ["rx-max", "rx-mini-max", "rx-jumbo-max", "tx-max", "rx", "rx-mini", "rx-jumbo", "tx"];
        self.numbers(GRINGPARAM, &names)
    }

    /// Queues, now and at most.
    #[must_use]
    pub fn channels(&self) -> Option<Map<String, Value>> {
        let names = ["rx-max", "tx-max", "other-max", "combined-max", "rx", "tx", "other", "combined"];
        self.numbers(GCHANNELS, &names)
    }

    /// How interrupts are put together, by ethtool's words.
    #[must_use]
    pub fn coalesce(&self) -> Option<Map<String, Value>> {
        self.numbers(GCOALESCE, &COALESCE)
    }

    /// Flow control by pause frames.
    #[must_use]
    pub fn pause(&self) -> Option<Value> {
        let found = self.numbers(GPAUSEPARAM, &["autoneg", "rx", "tx"])?;
        Some(found.into_iter().map(|(name, value)| (name, json!(value != 0))).collect())
    }

    /// The driver's own counters by its own names.
    #[must_use]
    pub fn statistics(&self) -> Map<String, Value> {
        let names = self.strings(SET_STATS);
        let mut question = words(&[GSTATS, names.len() as u32]);
        question.resize(8 + 8 * names.len(), 0);
        let Some(data) = self.answer(question).filter(|_| !names.is_empty()) else { return Map::new() };
        let count = u32_at(&data, 4).unwrap_or(0) as usize;
        let counted = names.into_iter().take(count).enumerate();
        counted.filter_map(|(at, name)| Some((name, json!(u64_at(&data, 8 + 8 * at)?)))).collect()
    }

    /// Whether packets are stamped by the card (`hardware`, in either direction), and its clock's number.
    #[must_use]
    pub fn timestamping(&self) -> Option<Value> {
        const HARDWARE: u32 = 1 << 0 | 1 << 2;
        let data = self.ask(GET_TS_INFO, 11)?;
        let clock = u32_at(&data, 8)? as i32;
        Some(json!({
            "hardware": u32_at(&data, 4)? & HARDWARE != 0,
            "clock": (clock >= 0).then_some(clock),
        }))
    }

    /// Forward error correction: what may be used, what is.
    #[must_use]
    pub fn fec(&self) -> Option<Value> {
        let data = self.ask(GFECPARAM, 4)?;
        let modes = |at: usize| {
            let bits = u32_at(&data, at).unwrap_or(0);
            let named = FEC.iter().enumerate().filter(move |(bit, _)| bits >> bit & 1 == 1);
            named.map(|(_, name)| *name).collect::<Vec<_>>()
        };
        Some(json!({"active": modes(4), "configured": modes(8)}))
    }

    /// Everything at once; what the card does not support is left out.
    #[must_use]
    pub fn everything(&self) -> Value {
        let asked = [
            ("driver", self.driver()),
            ("link", self.link()),
            ("link_detected", self.has_link().map(Value::from)),
            ("features", Some(self.features().into())),
            ("rings", self.rings().map(Value::from)),
            ("channels", self.channels().map(Value::from)),
            ("coalesce", self.coalesce().map(Value::from)),
            ("pause", self.pause()),
            ("statistics", Some(self.statistics().into())),
            ("timestamping", self.timestamping()),
            ("fec", self.fec()),
        ];
        asked.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn is_set(mask: &[u8], bit: usize) -> bool {
    u32_at(mask, 4 * (bit / 32)).is_some_and(|word| word >> (bit % 32) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_tells_what_it_can() {
        let card = Card::open("lo").expect("lo is always there");
        let known = card.everything();
        assert_eq!(known["features"]["loopback"], json!({"on": true, "requested": false, "fixed": true}));
        assert_eq!(known["features"]["tx-tcp-segmentation"]["fixed"], json!(false));
        assert!(known.get("rings").is_none(), "lo has no rings");
        assert_eq!(known["statistics"], json!({}));
    }

    #[test]
    fn a_device_that_is_not_there_is_named() {
        let error = Card::open("no such").expect_err("no device has a space in its name");
        assert!(error.message.contains("no such"), "{error}");
    }

    #[test]
    fn bits_are_counted_across_words() {
        let mask = words(&[1 << 5, 1 << 31]);
        let set: Vec<usize> = (0..70).filter(|bit| is_set(&mask, *bit)).collect();
        assert_eq!(set, [5, 63]);
    }
}
