//! MTU and length of the transmit queue of a device.

use serde_json::{json, Value};

use super::{device_name, error, Setting};
use crate::error::{Error, Result, UNSUPPORTED};
use crate::kernel::netlink::{attribute, u32_at, Message, Socket};
use crate::kernel::sysctl;

/// Below this IPv6 leaves a device, and its addresses are gone for good (RFC 8200, section 5; `addrconf_notify`).
const IPV6_MIN_MTU: u32 = 1280;
const IFINFOMSG: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Property {
    Mtu,
    QueueLength,
}

pub(super) struct Link {
    property: Property,
    dev: String,
    value: u32,
}

/// A device's index and one of its attributes.
pub(super) fn look(dev: &str, kind: u16) -> Result<(u32, u32)> {
    let mut found = None;
    let order = Message::new("list devices", libc::RTM_GETLINK, 0, &[0; IFINFOMSG]);
    Socket::route()?.dump(&order, |payload| {
        let rest = payload.get(IFINFOMSG..).unwrap_or_default();
        let name = attribute(rest, libc::IFLA_IFNAME).and_then(|name| name.strip_suffix(&[0]));
        if name == Some(dev.as_bytes()) {
            let value = attribute(rest, kind).and_then(|value| u32_at(value, 0)).unwrap_or(0);
            found = u32_at(payload, 4).map(|index| (index, value));
        }
    })?;
    found.ok_or_else(|| {
        Error::new(UNSUPPORTED, format!("there is no device {dev:?}")).hint("See: ip link show.")
    })
}

impl Link {
    pub(super) fn new(property: Property, dev: String, value: u32) -> Result<Self> {
        device_name(&dev)?;
        Ok(Self { property, dev, value })
    }

    fn kind(&self) -> u16 {
        match self.property {
            Property::Mtu => libc::IFLA_MTU,
            Property::QueueLength => libc::IFLA_TXQLEN,
        }
    }

    fn word(&self) -> &'static str {
        match self.property {
            Property::Mtu => "mtu",
            Property::QueueLength => "txqueuelen",
        }
    }

    /// IPv6's own MTU of the device, which follows every change of the device's.
    fn ipv6(&self) -> Option<(String, String)> {
        // A dot inside a device's name is written as a slash where dots separate.
        let name = format!("net.ipv6.conf.{}.mtu", self.dev.replace('.', "/"));
        sysctl::read(&name).ok().map(|value| (name, value))
    }
}

impl Setting for Link {
    fn key(&self) -> String {
        format!("{} {}", self.word(), self.dev)
    }

    fn read(&self) -> Result<Value> {
        let (_, value) = look(&self.dev, self.kind())?;
        let own = if self.property == Property::Mtu { self.ipv6() } else { None };
        // What follows the device needs no word of its own.
        let own = own.map(|(_, own)| own).filter(|own| *own != value.to_string());
        Ok(json!({ "value": value, "ipv6": own }))
    }

    fn wanted(&self, now: &Value) -> Result<Value> {
        if self.property == Property::Mtu && self.value < IPV6_MIN_MTU && self.ipv6().is_some() {
            return Err(error(format!(
                "an MTU of {} takes IPv6 and its addresses from {}, which could not be put back",
                self.value, self.dev
            ))
            .hint(format!(
                "IPv6 needs {IPV6_MIN_MTU} bytes; or set net.ipv6.conf.{}.disable_ipv6.",
                self.dev
            )));
        }
        let own = if now["value"] == self.value { now["ipv6"].clone() } else { Value::Null };
        Ok(json!({ "value": self.value, "ipv6": own }))
    }

    fn write(&self, value: &Value) -> Result<()> {
        let number = value["value"].as_u64().unwrap_or_default() as u32;
        let (index, _) = look(&self.dev, self.kind())?;
        let mut header = [0; IFINFOMSG];
        header[4..8].copy_from_slice(&index.to_ne_bytes());
        let what = format!("set {} of {} to {number}", self.word(), self.dev);
        let mut order = Message::new(what, libc::RTM_NEWLINK, 0, &header);
        order.body.u32(self.kind(), number);
        Socket::route()?.request(&order)?;
        match (value["ipv6"].as_str(), self.ipv6()) {
            (Some(own), Some((name, _))) => sysctl::write(&name, own),
            _ => Ok(()),
        }
    }
}
