//! Offloads and other features of a device, by the names of `ethtool -k`.
//!
//! What is kept and put back is what was *requested*: the kernel derives from it what is active (without checksums there
//! is no segmentation offload, for instance), so that features which others depend on come back by themselves.

use std::collections::BTreeMap;

use serde_json::{json, Map, Value};

use super::{device_name, link, Setting};
use crate::error::{Context, Error, Result, UNSUPPORTED};
use crate::kernel::ethtool::{Card, SET_FEATURES};
use crate::kernel::sys::{self, ethtool};
use crate::words;

const ETHTOOL_SFEATURES: u32 = 0x3b;

/// ethtool's names of groups, their short forms, and the kernel's features in them (`*` stands for anything).
const GROUPS: [(&str, &str, &str); 12] = [
    ("rx-checksumming", "rx", "rx-checksum"),
    ("tx-checksumming", "tx", "tx-checksum-*"),
    ("scatter-gather", "sg", "tx-scatter-gather*"),
    ("tcp-segmentation-offload", "tso", "tx-tcp*-segmentation"),
    ("udp-fragmentation-offload", "ufo", "tx-udp-fragmentation"),
    ("generic-segmentation-offload", "gso", "tx-generic-segmentation"),
    ("generic-receive-offload", "gro", "rx-gro"),
    ("large-receive-offload", "lro", "rx-lro"),
    ("rx-vlan-offload", "rxvlan", "rx-vlan-hw-parse"),
    ("tx-vlan-offload", "txvlan", "tx-vlan-hw-insert"),
    ("ntuple-filters", "ntuple", "rx-ntuple-filter"),
    ("receive-hashing", "rxhash", "rx-hashing"),
];

pub(super) struct Feature {
    dev: String,
    name: String,
    pattern: String,
    on: bool,
}

impl Feature {
    pub(super) fn new(dev: String, name: String, on: bool) -> Result<Self> {
        device_name(&dev)?;
        let group = GROUPS.iter().find(|(long, short, _)| *long == name || *short == name);
        let (name, pattern) = match group {
            Some((long, _, pattern)) => ((*long).to_owned(), (*pattern).to_owned()),
            None => (name.clone(), name),
        };
        Ok(Self { dev, name, pattern, on })
    }

    fn unknown(&self, features: &Map<String, Value>) -> Error {
        let known = GROUPS
            .iter()
            .flat_map(|(long, short, _)| [*long, *short])
            .chain(features.keys().map(String::as_str));
        let near = words::nearest(&self.name, known);
        let near = near.map(|near| format!("Did you mean {near:?}? ")).unwrap_or_default();
        Error::new(UNSUPPORTED, format!("{} has no feature {:?}", self.dev, self.name))
            .hint(format!("{near}See: ethtool -k {}.", self.dev))
    }
}

/// Whether a name fits a pattern with at most one `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => {
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        }
    }
}

fn all(value: &Value, on: bool) -> bool {
    value.as_object().is_some_and(|bits| bits.values().all(|bit| bit == on))
}

impl Setting for Feature {
    fn key(&self) -> String {
        format!("ethtool-feature {} {}", self.dev, self.name)
    }

    fn read(&self) -> Result<Value> {
        link::look(&self.dev, libc::IFLA_MTU)?;
        let features = Card::open(&self.dev)?.features();
        let (mut requested, mut active) = (BTreeMap::new(), BTreeMap::new());
        for (name, state) in features.iter().filter(|(name, _)| fits(&self.pattern, name)) {
            active.insert(name, &state["on"]);
            if state["fixed"] == false {
                requested.insert(name, &state["requested"]);
            }
        }
        if active.is_empty() {
            return Err(self.unknown(&features));
        }
        Ok(json!({ "requested": requested, "active": active }))
    }

    fn wanted(&self, now: &Value) -> Result<Value> {
        let mut wanted = now["requested"].clone();
        for bit in wanted.as_object_mut().into_iter().flat_map(|bits| bits.values_mut()) {
            *bit = self.on.into();
        }
        let fixed = wanted.as_object().is_none_or(Map::is_empty);
        if fixed && !all(&now["active"], self.on) {
            let state = if self.on { "off" } else { "on" };
            let message = format!("{} of {} is fixed {state} by its driver", self.name, self.dev);
            return Err(Error::new(UNSUPPORTED, message));
        }
        Ok(json!({ "requested": wanted, "active": self.on }))
    }

    fn write(&self, value: &Value) -> Result<()> {
        let names = Card::open(&self.dev)?.strings(SET_FEATURES);
        let blocks = names.len().div_ceil(32);
        // Each block: which bits are meant, and their values.
        let mut words = vec![0_u32; 2 + blocks * 2];
        (words[0], words[1]) = (ETHTOOL_SFEATURES, blocks as u32);
        for (index, name) in names.iter().enumerate() {
            let Some(on) = value["requested"][name].as_bool() else { continue };
            words[2 + index / 32 * 2] |= 1 << (index % 32);
            words[3 + index / 32 * 2] |= u32::from(on) << (index % 32);
        }
        let mut data = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let what = format!("set {} of {}", self.name, self.dev);
        let socket = sys::socket::open(libc::AF_INET, libc::SOCK_DGRAM, 0).context(&what)?;
        ethtool::command(&socket, &self.dev, &mut data).context(&what)
    }

    fn is_already(&self, now: &Value, wanted: &Value) -> bool {
        self.is_same(now, wanted) && self.became(now, wanted)
    }

    /// Off is off for all of a group; on it is as soon as one of them is, because hardware rarely has them all.
    fn became(&self, after: &Value, wanted: &Value) -> bool {
        let active = &after["active"];
        if wanted["active"] == true {
            !all(active, false)
        } else {
            all(active, false)
        }
    }

    fn is_same(&self, one: &Value, other: &Value) -> bool {
        one["requested"] == other["requested"]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_groups_are_patterns_of_the_kernels() {
        let feature = Feature::new("eth0".to_owned(), "tso".to_owned(), false).expect("a feature");
        assert_eq!(feature.name, "tcp-segmentation-offload");
        assert!(fits(&feature.pattern, "tx-tcp-ecn-segmentation"));
        assert!(fits(&feature.pattern, "tx-tcp6-segmentation"));
        assert!(!fits(&feature.pattern, "tx-udp-segmentation"));
        assert!(fits("rx-gro", "rx-gro") && !fits("rx-gro", "rx-gro-hw"));
    }

    #[test]
    fn features_of_the_loopback_are_read_and_a_wrong_name_is_answered_with_the_nearest() {
        let read = |name: &str| Feature::new("lo".to_owned(), name.to_owned(), false).expect("a name").read();
        let tso = read("tso").expect("features");
        assert!(tso["requested"]["tx-tcp-segmentation"].is_boolean(), "{tso}");
        let error = read("tcp-segmentation-ofload").expect_err("no such feature");
        assert!(error.hint.contains("\"tcp-segmentation-offload\""), "{error}");
    }

    #[test]
    fn on_needs_one_of_a_group_and_off_all() {
        let feature = Feature::new("eth0".to_owned(), "tso".to_owned(), true).expect("a feature");
        let mixed = json!({"active": {"a": true, "b": false}});
        assert!(feature.became(&mixed, &json!({"active": true})));
        assert!(!feature.became(&mixed, &json!({"active": false})));
    }
}
