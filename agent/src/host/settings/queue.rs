//! The root queue discipline of a device.
//!
//! Only what the kernel takes back as it gave it is replaced: the default that it attaches by itself, or one discipline
//! that returns ([`Kind::returns`]) with nothing below. For those the options of a dump are the options of a request: not
//! for `red` (its table is not dumped), nor for `netem` (its distribution).

use serde_json::{json, Map, Value};

use super::{device_name, error, link, Setting};
use crate::error::Result;
use crate::kernel::netlink::{Message, Socket, CREATE, REPLACE};
use crate::tc::kinds::Kind;
use crate::tc::{self, Device, Order, Place, TCA_KIND, TCA_OPTIONS, TC_H_INGRESS, TC_H_ROOT};

pub(super) struct Queue {
    dev: String,
    words: String,
}

/// What stands on a device's egress.
struct Standing {
    kind: String,
    handle: u32,
    options: String,
    /// Disciplines below the root, by their kinds; those that the kernel attached by itself have no handle.
    below: Vec<(u32, String)>,
    /// Classes and filters that somebody made.
    more: bool,
}

fn returns(kind: &str) -> bool {
    Kind::named(kind).is_some_and(|kind| kind.returns)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks_exact(2);
    pairs.map_while(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

impl Queue {
    pub(super) fn new(dev: String, words: &str) -> Result<Self> {
        device_name(&dev)?;
        let queue = Self { dev, words: words.split_whitespace().collect::<Vec<&str>>().join(" ") };
        queue.order(1)?;
        Ok(queue)
    }

    fn kind(&self) -> &str {
        self.words.split(' ').next().unwrap_or_default()
    }

    /// The message that puts the words in the place of the root.
    fn order(&self, ifindex: u32) -> Result<Message> {
        let alone = |kind: &Kind| kind.alone && kind.needs.is_empty() && kind.class.is_none();
        if !Kind::named(self.kind()).is_some_and(alone) {
            return Err(error(format!("{:?} cannot be the queue of a device by itself", self.words))
                .hint("Give a kind and its options as for tc: fq limit 10000."));
        }
        let device = Device { name: &self.dev, ifindex };
        match tc::parse(&format!("qdisc root {}", self.words), &device)? {
            Order::Native { kind, mut message, .. } => {
                message.flags = CREATE | REPLACE;
                Ok(message.called(format!("make {kind} the queue of {}", self.dev)))
            }
            Order::Outside { .. } => Err(error(format!("{:?} is not known to the agent", self.words))),
        }
    }

    fn standing(&self) -> Result<(u32, Standing)> {
        let (ifindex, _) = link::look(&self.dev, libc::IFLA_MTU)?;
        let mut socket = Socket::route()?;
        let none = ("noqueue".to_owned(), 0, String::new());
        let mut found =
            Standing { kind: none.0, handle: none.1, options: none.2, below: Vec::new(), more: false };
        tc::dump(&mut socket, |row| match row.parent {
            _ if row.ifindex != ifindex => {}
            TC_H_ROOT => {
                row.kind.clone_into(&mut found.kind);
                (found.handle, found.options) = (row.handle, hex(row.options));
            }
            TC_H_INGRESS => {}
            _ => found.below.push((row.handle, row.kind.to_owned())),
        })?;
        let automatic = found.kind == "mq" || found.kind == "noqueue";
        found.more = !automatic && self.has_more(&mut socket, ifindex, found.handle);
        Ok((ifindex, found))
    }

    /// Whether filters hang on the root.
    fn has_more(&self, socket: &mut Socket, ifindex: u32, handle: u32) -> bool {
        let mut filters = false;
        let what = format!("list filters of {}", self.dev);
        let order = tc::list(what, libc::RTM_GETTFILTER, ifindex, handle);
        // A discipline that takes no filters answers with an error.
        let _ = socket.dump(&order, |_| filters = true);
        filters
    }

    fn replace(&self, ifindex: u32, before: &Map<String, Value>) -> Result<()> {
        let text = |name: &str| before.get(name).and_then(Value::as_str).unwrap_or_default();
        let handle = before.get("handle").and_then(Value::as_u64).unwrap_or_default() as u32;
        let device = Device { name: &self.dev, ifindex };
        let place = Place { parent: TC_H_ROOT, handle };
        let what = format!("put {} of {} back", text("qdisc"), self.dev);
        let mut message = tc::tcmsg(what, libc::RTM_NEWQDISC, &device, &place, 0);
        message.flags = CREATE | REPLACE;
        message.body.text(TCA_KIND, text("qdisc"));
        let options = unhex(text("options"));
        if !options.is_empty() {
            message.body.put(TCA_OPTIONS, &options);
        }
        Socket::route()?.request(&message)
    }

    /// Gives the place back to the kernel, which attaches its default.
    fn give_back(&self, ifindex: u32, before: &Map<String, Value>) -> Result<()> {
        let device = Device { name: &self.dev, ifindex };
        let removed = Socket::route()?.batch(&[tc::removal(&device)]);
        // Nothing of ours is there any more: the kernel's own cannot be removed.
        removed.or_else(|refusal| match refusal.errno {
            libc::ENOENT | libc::EINVAL => Ok(()),
            _ => Err(refusal.error),
        })?;
        // The default may be another one by now than when this one was attached.
        let (_, now) = self.standing()?;
        match before.get("qdisc").and_then(Value::as_str) {
            Some(kind) if kind != now.kind && returns(kind) => self.replace(ifindex, before),
            _ => Ok(()),
        }
    }
}

impl Setting for Queue {
    fn key(&self) -> String {
        format!("qdisc {}", self.dev)
    }

    fn read(&self) -> Result<Value> {
        let (_, now) = self.standing()?;
        let below: Vec<Value> = now.below.iter().map(|(handle, kind)| json!([handle, kind])).collect();
        Ok(json!({ "qdisc": now.kind, "handle": now.handle, "options": now.options, "below": below,
                   "filters": now.more }))
    }

    fn wanted(&self, now: &Value) -> Result<Value> {
        if let Some(error) = tc::lacking(self.kind()) {
            return Err(error);
        }
        let below = now["below"].as_array().map_or(&[][..], Vec::as_slice);
        let made = below.iter().any(|one| one[0] != 0);
        let one_kind = below.iter().all(|one| one[1] == below[0][1]);
        let kind = now["qdisc"].as_str().unwrap_or_default();
        let automatic = now["handle"] == 0 && !made && one_kind;
        let alone = returns(kind) && below.is_empty();
        if (automatic || alone) && now["filters"] == false {
            return Ok(json!({ "words": self.words }));
        }
        Err(error(format!(
            "the queue of {} ({kind}, made by somebody) could not be put back as it is",
            self.dev
        ))
        .hint(format!("Take it away for the time being: tc qdisc del dev {} root.", self.dev)))
    }

    fn write(&self, value: &Value) -> Result<()> {
        let (ifindex, _) = link::look(&self.dev, libc::IFLA_MTU)?;
        match value.as_object() {
            Some(before) if before.contains_key("qdisc") && before["handle"] == 0 => {
                self.give_back(ifindex, before)
            }
            Some(before) if before.contains_key("qdisc") => self.replace(ifindex, before),
            _ if self.kind() == "noqueue" => Ok(Socket::route()?.request(&self.order(ifindex)?)?),
            _ => tc::apply(
                &[Order::Native {
                    line: format!("qdisc root {}", self.words),
                    kind: self.kind().to_owned(),
                    message: self.order(ifindex)?,
                }],
                &mut Socket::route()?,
                |work| work(),
            ),
        }
    }

    /// With options it is set again: what the kernel makes of them is not known before.
    fn is_already(&self, now: &Value, _wanted: &Value) -> bool {
        now["qdisc"] == self.words
    }

    fn became(&self, after: &Value, _wanted: &Value) -> bool {
        after["qdisc"] == self.kind()
    }

    /// A discipline that the kernel attached, or that it numbered by itself, has another number each time.
    fn is_same(&self, one: &Value, other: &Value) -> bool {
        let own =
            |value: &Value| value["handle"].as_u64().filter(|handle| *handle != 0 && handle >> 16 < 0x8000);
        one["qdisc"] == other["qdisc"] && one["options"] == other["options"] && own(one) == own(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(words: &str) -> Result<Queue> {
        Queue::new("eth0".to_owned(), words)
    }

    #[test]
    fn only_disciplines_that_stand_alone_are_taken() {
        assert!(queue("fq limit 10000").is_ok() && queue("pfifo").is_ok());
        for wrong in ["", "htb default 1", "ingress", "root fq", "parent 1: fq", "hfsc", "fq limmit 1"] {
            assert!(queue(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_could_not_be_put_back_is_left_alone() {
        let queue = queue("pfifo").expect("a queue");
        let now = |kind: &str, handle: u32, below: Value, filters: bool| json!({"qdisc": kind, "handle": handle, "options": "", "below": below, "filters": filters});
        assert!(queue.wanted(&now("noqueue", 0, json!([]), false)).is_ok());
        assert!(queue.wanted(&now("mq", 0, json!([[0, "fq"], [0, "fq"]]), false)).is_ok());
        assert!(queue.wanted(&now("tbf", 0x1_0000, json!([]), false)).is_ok());
        assert!(queue.wanted(&now("mq", 0, json!([[0x1_0000, "fq"]]), false)).is_err());
        assert!(queue.wanted(&now("htb", 0x1_0000, json!([]), false)).is_err());
        assert!(queue.wanted(&now("tbf", 0x1_0000, json!([[0x2_0000, "fq"]]), false)).is_err());
        assert!(queue.wanted(&now("fq_codel", 0x1_0000, json!([]), true)).is_err());
    }

    #[test]
    fn bytes_survive_the_journal() {
        assert_eq!(unhex(&hex(&[0, 1, 0xab, 0xff])), [0, 1, 0xab, 0xff]);
    }
}
