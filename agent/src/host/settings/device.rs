//! Numbers of a network card: rings, interrupt moderation, channels, pause frames. Each is a command of ethtool with a
//! structure of 32-bit words (`include/uapi/linux/ethtool.h`), of which only the words asked for are ever changed.

use std::collections::BTreeMap;
use std::io;

use serde_json::{json, Map, Value};

use super::{device_name, error, link, Setting};
use crate::error::{Error, Result, UNSUPPORTED};
use crate::kernel::netlink::u32_at;
use crate::kernel::sys::{self, ethtool};

/// One group of numbers: how it is got and set, and where each word lies in its structure.
pub(super) struct Kind {
    name: &'static str,
    /// In words of a sentence: "ring sizes".
    what: &'static str,
    get: u32,
    set: u32,
    /// Words of the structure, the command among them.
    length: usize,
    /// Name, place, and the place of its maximum.
    words: &'static [(&'static str, usize, Option<usize>)],
}

/// `struct ethtool_ringparam`.
pub(super) const RING: Kind = Kind {
    name: "ring",
    what: "ring sizes",
    get: 0x10,
    set: 0x11,
    length: 9,
    words: &[("rx", 5, Some(1)), ("tx", 8, Some(4))],
};

/// `struct ethtool_coalesce`.
pub(super) const COALESCE: Kind = Kind {
    name: "coalesce",
    what: "interrupt moderation",
    get: 0x0e,
    set: 0x0f,
    length: 23,
    words: &[
        ("rx-usecs", 1, None),
        ("rx-frames", 2, None),
        ("rx-usecs-irq", 3, None),
        ("rx-frames-irq", 4, None),
        ("tx-usecs", 5, None),
        ("tx-frames", 6, None),
        ("tx-usecs-irq", 7, None),
        ("tx-frames-irq", 8, None),
        ("adaptive-rx", 10, None),
        ("adaptive-tx", 11, None),
    ],
};

/// `struct ethtool_channels`.
pub(super) const CHANNELS: Kind = Kind {
    name: "channels",
    what: "channels",
    get: 0x3c,
    set: 0x3d,
    length: 9,
    words: &[("rx", 5, Some(1)), ("tx", 6, Some(2)), ("combined", 8, Some(4))],
};

/// `struct ethtool_pauseparam`.
pub(super) const PAUSE: Kind = Kind {
    name: "flow-control",
    what: "pause frames",
    get: 0x12,
    set: 0x13,
    length: 4,
    words: &[("autoneg", 1, None), ("rx", 2, None), ("tx", 3, None)],
};

pub(super) struct Device {
    kind: &'static Kind,
    dev: String,
    asked: BTreeMap<String, u32>,
}

impl Device {
    pub(super) fn new(kind: &'static Kind, object: &Map<String, Value>) -> Result<Self> {
        let dev = object.get("dev").and_then(Value::as_str).unwrap_or_default().to_owned();
        device_name(&dev)?;
        let mut asked = BTreeMap::new();
        for (word, value) in object.iter().filter(|(word, _)| !matches!(word.as_str(), "kind" | "dev")) {
            let number =
                value.as_bool().map(u32::from).or(value.as_u64().and_then(|n| u32::try_from(n).ok()));
            let known = kind.words.iter().any(|(name, _, _)| name == word);
            let Some(number) = number.filter(|_| known) else {
                let names: Vec<&str> = kind.words.iter().map(|(name, _, _)| *name).collect();
                return Err(error(format!("{}: {word} = {value} makes no sense", kind.name))
                    .hint(format!("It takes numbers for: {}.", names.join(" "))));
            };
            asked.insert(word.clone(), number);
        }
        if asked.is_empty() {
            return Err(error(format!("{} of {dev}: nothing is asked for", kind.name)));
        }
        Ok(Self { kind, dev, asked })
    }

    fn place(&self, name: &str) -> (usize, Option<usize>) {
        let found = self.kind.words.iter().find(|(word, _, _)| *word == name);
        found.map_or((0, None), |(_, place, limit)| (*place, *limit))
    }

    /// The whole structure, as words.
    fn get(&self) -> Result<Vec<u32>> {
        let words = self.exchange(self.kind.get, vec![0; self.kind.length]);
        words.map_err(|cause| self.explain(&cause, &format!("read the {} of {}", self.kind.what, self.dev)))
    }

    fn exchange(&self, command: u32, mut words: Vec<u32>) -> io::Result<Vec<u32>> {
        words[0] = command;
        let mut data: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let socket = sys::socket::open(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
        ethtool::command(&socket, &self.dev, &mut data)?;
        let words = data.chunks_exact(4).filter_map(|word| u32_at(word, 0));
        Ok(words.take(self.kind.length).collect())
    }

    fn explain(&self, cause: &io::Error, what: &str) -> Error {
        match cause.raw_os_error() {
            Some(libc::EOPNOTSUPP) => Error::new(
                UNSUPPORTED,
                format!("the driver of {} has no {} to read or set", self.dev, self.kind.what),
            ),
            _ => error(format!("{what}: {cause}")),
        }
    }
}

impl Setting for Device {
    fn key(&self) -> String {
        format!("{} {}", self.kind.name, self.dev)
    }

    fn read(&self) -> Result<Value> {
        link::look(&self.dev, libc::IFLA_MTU)?;
        let words = self.get()?;
        let asked = self.asked.keys().map(|name| (name.clone(), json!(words[self.place(name).0])));
        Ok(Value::Object(asked.collect()))
    }

    fn wanted(&self, _now: &Value) -> Result<Value> {
        let words = self.get()?;
        for (name, value) in &self.asked {
            let limit = self.place(name).1.map(|place| words[place]);
            if let Some(limit) = limit.filter(|limit| value > limit) {
                return Err(error(format!(
                    "{} {name} of {} cannot be {value}: its driver allows at most {limit}",
                    self.kind.name, self.dev
                )));
            }
        }
        Ok(json!(self.asked))
    }

    fn write(&self, value: &Value) -> Result<()> {
        let mut words = self.get()?;
        for (name, value) in value.as_object().into_iter().flatten() {
            words[self.place(name).0] = value.as_u64().unwrap_or_default() as u32;
        }
        let what = format!("set the {} of {} to {value}", self.kind.what, self.dev);
        self.exchange(self.kind.set, words).map(drop).map_err(|cause| self.explain(&cause, &what))
    }
}
