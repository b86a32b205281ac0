//! Changes as they are written, and the setting behind each.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::device::{Device, CHANNELS, COALESCE, PAUSE, RING};
use super::emulator::Emulator;
use super::feature::Feature;
use super::link::{Link, Property};
use super::machine::{Affinity, Governor};
use super::queue::Queue;
use super::service::Service;
use super::sysctls::Sysctl;
use super::{error, Setting};
use crate::error::Result;
use crate::words;

const KINDS: [&str; 12] = [
    "sysctl",
    "ethtool-feature",
    "ring",
    "coalesce",
    "channels",
    "flow-control",
    "qdisc",
    "mtu",
    "txqueuelen",
    "governor",
    "irq-affinity",
    "emulator",
];

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Change {
    Sysctl { name: String, value: Value },
    EthtoolFeature { dev: String, name: String, value: bool },
    Qdisc { dev: String, words: String },
    Mtu { dev: String, value: u32 },
    Txqueuelen { dev: String, value: u32 },
    Governor { value: String },
    Service { name: String, state: String },
    IrqAffinity { dev: String, cpus: String },
    Emulator { dev: String, ifbs: Vec<String> },
}

/// The setting that a change is about.
///
/// # Errors
/// The change has no or an unknown kind, or its words make no sense.
pub fn parse(change: &Value) -> Result<Box<dyn Setting>> {
    let object = change.as_object().ok_or_else(|| error(format!("a change is an object, not {change}")))?;
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let numbers = match kind {
        "ring" => Some(&RING),
        "coalesce" => Some(&COALESCE),
        "channels" => Some(&CHANNELS),
        "flow-control" => Some(&PAUSE),
        _ => None,
    };
    if let Some(kind) = numbers {
        return Ok(Box::new(Device::new(kind, object)?));
    }
    let known = kind == "service" || KINDS.contains(&kind);
    if !known {
        let near = words::nearest(kind, KINDS.iter().copied().chain(["service"]));
        let hint = near.map(|near| format!("Did you mean {near:?}? ")).unwrap_or_default();
        return Err(error(format!("{kind:?} is not a kind of setting"))
            .hint(format!("{hint}There are: {} service.", KINDS.join(" "))));
    }
    plain(object)
}

fn plain(object: &Map<String, Value>) -> Result<Box<dyn Setting>> {
    let text = Value::Object(object.clone());
    let change: Change =
        serde_json::from_value(text).map_err(|cause| error(format!("a change makes no sense: {cause}")))?;
    Ok(match change {
        Change::Sysctl { name, value } => Box::new(Sysctl::new(name, &value)?),
        Change::EthtoolFeature { dev, name, value } => Box::new(Feature::new(dev, name, value)?),
        Change::Qdisc { dev, words } => Box::new(Queue::new(dev, &words)?),
        Change::Mtu { dev, value } => Box::new(Link::new(Property::Mtu, dev, value)?),
        Change::Txqueuelen { dev, value } => Box::new(Link::new(Property::QueueLength, dev, value)?),
        Change::Governor { value } => Box::new(Governor::new(value)?),
        Change::Service { name, state } => Box::new(Service::new(&name, &state)?),
        Change::IrqAffinity { dev, cpus } => Box::new(Affinity::new(dev, cpus)?),
        Change::Emulator { dev, ifbs } => Box::new(Emulator::new(dev, ifbs)?),
    })
}

/// The name of a device as the kernel allows it (`dev_valid_name`): nothing that could be a path.
pub(super) fn device_name(dev: &str) -> Result<()> {
    let fits = !dev.is_empty() && dev.len() < libc::IFNAMSIZ && !matches!(dev, "." | "..");
    if fits && dev.bytes().all(|letter| letter.is_ascii_graphic() && !matches!(letter, b'/' | b':')) {
        return Ok(());
    }
    Err(error(format!("{dev:?} is not the name of a device")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(change: &Value) -> String {
        parse(change).err().expect("an error").to_string()
    }

    #[test]
    fn every_kind_has_a_key() {
        let keys: Vec<String> = [
            json!({"kind": "sysctl", "name": "net/ipv4/tcp_ecn", "value": 1}),
            json!({"kind": "ethtool-feature", "dev": "eth0", "name": "tso", "value": false}),
            json!({"kind": "ring", "dev": "eth0", "rx": 512}),
            json!({"kind": "coalesce", "dev": "eth0", "rx-usecs": 0}),
            json!({"kind": "channels", "dev": "eth0", "combined": 1}),
            json!({"kind": "flow-control", "dev": "eth0", "rx": true}),
            json!({"kind": "qdisc", "dev": "eth0", "words": "pfifo limit 9"}),
            json!({"kind": "mtu", "dev": "eth0", "value": 9000}),
            json!({"kind": "txqueuelen", "dev": "eth0", "value": 10000}),
            json!({"kind": "governor", "value": "performance"}),
            json!({"kind": "service", "name": "irqbalance", "state": "stopped"}),
            json!({"kind": "irq-affinity", "dev": "eth0", "cpus": "0-1"}),
        ]
        .iter()
        .map(|change| parse(change).expect("a change").key())
        .collect();
        assert_eq!(keys[0], "sysctl net.ipv4.tcp_ecn");
        assert_eq!(keys[1], "ethtool-feature eth0 tcp-segmentation-offload");
        assert_eq!(keys[2..6], ["ring eth0", "coalesce eth0", "channels eth0", "flow-control eth0"]);
        assert_eq!(keys[6..10], ["qdisc eth0", "mtu eth0", "txqueuelen eth0", "governor"]);
        assert_eq!(keys[10..], ["service irqbalance.service", "irq-affinity eth0"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_there_is() {
        assert!(refused(&json!({"kind": "rings", "dev": "a"})).contains("Did you mean \"ring\"?"));
        assert!(refused(&json!([])).contains("an object"));
        assert!(refused(&json!({"kind": "mtu", "dev": "a"})).contains("value"));
        assert!(refused(&json!({"kind": "mtu", "dev": "a/b", "value": 1500})).contains("name of a device"));
        assert!(refused(&json!({"kind": "ring", "dev": "a", "rxx": 1})).contains("rx"));
        assert!(refused(&json!({"kind": "ring", "dev": "a"})).contains("nothing"));
        assert!(refused(&json!({"kind": "mtu", "dev": "a", "value": 1500, "more": 1})).contains("more"));
    }
}
