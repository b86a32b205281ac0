//! A device that becomes an emulator for the time of an experiment.
//!
//! The change itself only marks the device, by a clsact: queues, filters and ifb devices are put there by whoever asked. To
//! undo it is to take all of that away, whatever it is, and to give the device the queue back that it had.

use serde_json::{json, Value};

use super::queue::Queue;
use super::{device_name, error, link, Setting};
use crate::error::Result;
use crate::kernel::netlink::{Message, Socket};
use crate::tc::{self, Device, Order};

const IFINFOMSG: usize = 16;

pub(super) struct Emulator {
    dev: String,
    root: Queue,
    /// Devices that are made for what arrives.
    ifbs: Vec<String>,
}

impl Emulator {
    pub(super) fn new(dev: String, ifbs: Vec<String>) -> Result<Self> {
        ifbs.iter().try_for_each(|ifb| device_name(ifb))?;
        let root = Queue::new(dev.clone(), "pfifo")?;
        Ok(Self { dev, root, ifbs })
    }

    /// Whether somebody's filters, or ours, are on the device.
    fn is_marked(&self) -> Result<bool> {
        let (ifindex, _) = link::look(&self.dev, libc::IFLA_MTU)?;
        let mut found = false;
        tc::dump(&mut Socket::route()?, |row| {
            found |= row.ifindex == ifindex && matches!(row.kind, "clsact" | "ingress");
        })?;
        Ok(found)
    }

    fn there(&self) -> Vec<&str> {
        self.ifbs.iter().map(String::as_str).filter(|ifb| link::look(ifb, libc::IFLA_MTU).is_ok()).collect()
    }

    fn mark(&self) -> Result<()> {
        let (ifindex, _) = link::look(&self.dev, libc::IFLA_MTU)?;
        let order = tc::parse("qdisc clsact", &Device { name: &self.dev, ifindex })?;
        tc::apply(&[order], &mut Socket::route()?, |work| work())
    }

    fn take_away(&self) -> Result<()> {
        let mut socket = Socket::route()?;
        for ifb in self.there() {
            let (ifindex, _) = link::look(ifb, libc::IFLA_MTU)?;
            let mut header = [0; IFINFOMSG];
            header[4..8].copy_from_slice(&ifindex.to_ne_bytes());
            socket.request(&Message::new(format!("remove {ifb}"), libc::RTM_DELLINK, 0, &header))?;
        }
        if self.is_marked()? {
            let (ifindex, _) = link::look(&self.dev, libc::IFLA_MTU)?;
            let device = Device { name: &self.dev, ifindex };
            if let Order::Native { mut message, .. } = tc::parse("qdisc clsact", &device)? {
                message.flags = 0;
                socket.request(&message.of_kind(libc::RTM_DELQDISC).called("remove clsact"))?;
            }
        }
        Ok(())
    }
}

impl Setting for Emulator {
    /// That of the queue: both cannot be had at once.
    fn key(&self) -> String {
        self.root.key()
    }

    fn read(&self) -> Result<Value> {
        let mut now = self.root.read()?;
        now["marked"] = self.is_marked()?.into();
        now["ifbs"] = json!(self.there());
        Ok(now)
    }

    fn wanted(&self, now: &Value) -> Result<Value> {
        self.root.wanted(now)?;
        if now["marked"] == true {
            let hint = "Take them away for the time being: tc qdisc del dev DEV clsact (or ingress).";
            return Err(
                error(format!("somebody's filters are on {}", self.dev)).hint(hint.replace("DEV", &self.dev))
            );
        }
        if let Some(ifb) = now["ifbs"].get(0) {
            return Err(error(format!("there is a device {ifb} already")));
        }
        Ok(json!({ "marked": true }))
    }

    fn write(&self, value: &Value) -> Result<()> {
        if value.get("qdisc").is_none() {
            return self.mark();
        }
        self.take_away()?;
        self.root.write(value)
    }

    fn became(&self, after: &Value, _wanted: &Value) -> bool {
        after["marked"] == true
    }

    /// While the device is marked it is ours, whatever its queue is.
    fn is_same(&self, one: &Value, other: &Value) -> bool {
        match (one["marked"] == true, other["marked"] == true) {
            (true, true) => true,
            (false, false) => self.root.is_same(one, other) && one["ifbs"] == other["ifbs"],
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_marked_is_ours_and_what_was_there_before_is_not_touched() {
        let emulator = Emulator::new("eth0".into(), vec!["rush3".into()]).expect("an emulator");
        let state = |marked: bool, kind: &str, ifbs: Value| json!({"qdisc": kind, "handle": 0, "options": "", "below": [], "filters": false, "marked": marked, "ifbs": ifbs});
        let before = state(false, "noqueue", json!([]));
        assert!(emulator.is_same(&state(true, "noqueue", json!([])), &state(true, "htb", json!(["rush3"]))));
        assert!(!emulator.is_same(&before, &state(true, "noqueue", json!([]))));
        assert!(!emulator.is_same(&before, &state(false, "pfifo", json!([]))));
        assert!(emulator.is_same(&before, &before));
        assert!(emulator.wanted(&before).is_ok());
        assert!(emulator.wanted(&state(true, "noqueue", json!([]))).is_err());
        assert!(emulator.wanted(&state(false, "noqueue", json!(["rush3"]))).is_err());
        assert!(Emulator::new("eth0".into(), vec!["a/b".into()]).is_err());
    }
}
