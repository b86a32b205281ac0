//! Lines of what is there already, while packets pass: what it is to become, or that it goes.

use super::{handle, late, parse, tcmsg, Device, Order, Place};
use crate::error::{Error, Result};
use crate::kernel::netlink::{Message, Socket};

/// A line of a qdisc or class that is there already, as what it is to become; after `delete` a class, or all filters of a
/// priority, that go.
///
/// # Errors
/// A line that makes no sense, or whose kind is not encoded here.
pub fn change(line: &str, device: &Device) -> Result<Message> {
    if let Some(rest) = line.strip_prefix("delete ") {
        return delete(rest, device);
    }
    match parse(line, device)? {
        Order::Native { kind, mut message, .. } => {
            message.flags = 0;
            Ok(message.called(format!("change {kind} of {}", device.name)))
        }
        Order::Outside { kind, .. } => {
            Err(Error::new("qdisc", format!("a change of {kind:?} is not possible while packets pass"))
                .hint("Rates are changed at tbf and htb."))
        }
    }
}

/// Sends what [`change`] gave, and makes sure that the kernel has what it took.
///
/// # Errors
/// The kernel refuses it, or leaves an option out that it does not know.
pub fn carry_out(messages: &[Message], socket: &mut Socket) -> Result<()> {
    socket.batch(messages)?;
    late::check(messages, socket)
}

fn delete(line: &str, device: &Device) -> Result<Message> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let none = Place { parent: 0, handle: 0 };
    let mut message = match words[..] {
        ["class", "classid", id] => {
            let place = Place { handle: handle(id)?, ..none };
            tcmsg(format!("delete class {id} of {}", device.name), libc::RTM_DELTCLASS, device, &place, 0)
        }
        ["filter", "parent", parent, "prio", prio] => {
            let what = format!("delete the filters {prio} of {}", device.name);
            let priority: u16 =
                prio.parse().map_err(|_| Error::new("qdisc", format!("{prio:?} is no priority")))?;
            let place = Place { parent: handle(parent)?, ..none };
            tcmsg(what, libc::RTM_DELTFILTER, device, &place, u32::from(priority) << 16)
        }
        _ => {
            return Err(Error::new("qdisc", format!("'delete' of what in {line:?}?"))
                .hint("class classid ID, or filter parent ID prio NUMBER."))
        }
    };
    message.flags = 0;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_is_a_class_or_the_filters_of_a_priority() {
        let device = Device { name: "eth0", ifindex: 3 };
        for line in ["delete filter parent 1: prio 2", "delete class classid 1:10"] {
            assert_eq!(change(line, &device).map(|message| message.flags).ok(), Some(0), "{line}");
        }
        for wrong in ["delete qdisc root", "delete filter parent 1: prio 70000", "delete class classid x"] {
            assert!(change(wrong, &device).is_err(), "{wrong}");
        }
    }
}
