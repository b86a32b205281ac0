//! Options that came later than their kind: an older kernel takes them without a word and leaves them out. So what it
//! has is read back.

use super::{list, told, TCA_ACT_KIND, TCA_ACT_OPTIONS};
use crate::error::{Error, Result, UNSUPPORTED};
use crate::kernel::netlink::{attribute, attributes, u32_at, Message, Socket};

/// Of `struct tcmsg`.
const IFINDEX: usize = 4;
const PARENT: usize = 12;
const U32_POLICE: u16 = 6;

/// The attribute that holds a filter's actions, by its kind (`include/uapi/linux/pkt_cls.h`).
pub const ACTIONS: [(&str, u16); 6] =
    [("u32", 7), ("matchall", 2), ("flower", 3), ("bpf", 1), ("fw", 4), ("basic", 3)];

/// An option of a queue discipline or an action. Random numbers by a seed (netem's since 6.6) are none of them: without
/// it the same is done, to other packets.
#[derive(Debug, PartialEq, Eq)]
struct Late {
    kind: &'static str,
    attribute: u16,
    /// Another option, without which this one means nothing and is not told.
    with: u16,
    what: &'static str,
    since: &'static str,
}

const LATE: [Late; 5] = [
    Late { kind: "fq", attribute: 16, with: 16, what: "bands in fq", since: "6.7" },
    Late { kind: "fq", attribute: 17, with: 17, what: "weights in fq", since: "6.7" },
    Late { kind: "fq", attribute: 18, with: 18, what: "offload_horizon in fq", since: "6.13" },
    Late {
        kind: "fq_codel",
        attribute: 10,
        with: 7,
        what: "ce_threshold_selector in fq_codel",
        since: "5.16",
    },
    Late { kind: "police", attribute: 10, with: 10, what: "policer that counts packets", since: "5.13" },
];

/// Reads back what was just set, where the kernel may have taken an option that it does not know.
///
/// # Errors
/// It has no such option.
pub fn check<'a>(messages: impl IntoIterator<Item = &'a Message>, socket: &mut Socket) -> Result<()> {
    for message in messages {
        let asked = asked(message);
        if asked.is_empty() {
            continue;
        }
        let found = found(message, socket)?;
        if let Some(late) = asked.iter().find(|late| !found.contains(late)) {
            return Err(lacking(late));
        }
    }
    Ok(())
}

fn lacking(late: &Late) -> Error {
    Error::new(UNSUPPORTED, format!("this kernel has no {}", late.what))
        .hint(format!("Linux has it since {}; this one takes the words and leaves them out.", late.since))
}

/// What a message asks for; a message about routes asks for none of it.
fn asked(message: &Message) -> Vec<&'static Late> {
    match message.kind() {
        libc::RTM_NEWQDISC | libc::RTM_NEWTFILTER => within(message.body.bytes()),
        _ => Vec::new(),
    }
}

/// What the kernel tells of all qdiscs of the device, or of all filters at the same place.
fn found(asked: &Message, socket: &mut Socket) -> Result<Vec<&'static Late>> {
    let of = |payload: &[u8], field| u32_at(payload, field).unwrap_or_default();
    let device = of(asked.body.bytes(), IFINDEX);
    let order = match asked.kind() {
        libc::RTM_NEWTFILTER => (libc::RTM_GETTFILTER, device, of(asked.body.bytes(), PARENT)),
        _ => (libc::RTM_GETQDISC, 0, 0),
    };
    let mut found = Vec::new();
    socket.dump(&list("read back what was set", order.0, order.1, order.2), |payload| {
        if of(payload, IFINDEX) == device {
            found.extend(within(payload));
        }
    })?;
    Ok(found)
}

/// The late options in a message about a qdisc or a filter.
fn within(payload: &[u8]) -> Vec<&'static Late> {
    let bytes = told(payload).unwrap_or_default();
    let options = attribute(bytes, super::TCA_OPTIONS).unwrap_or_default();
    let Some(kind) = attribute(bytes, super::TCA_KIND).map(name) else { return Vec::new() };
    let mut found = of(kind, options);
    if kind == b"u32" {
        found.extend(of(b"police", attribute(options, U32_POLICE).unwrap_or_default()));
    }
    let holder = ACTIONS.iter().find(|(known, _)| known.as_bytes() == kind).map(|(_, holder)| *holder);
    let actions = holder.and_then(|holder| attribute(options, holder)).unwrap_or_default();
    for (_, action) in attributes(actions) {
        let kind = attribute(action, TCA_ACT_KIND).map(name).unwrap_or_default();
        found.extend(of(kind, attribute(action, TCA_ACT_OPTIONS).unwrap_or_default()));
    }
    found
}

fn of(kind: &[u8], options: &[u8]) -> Vec<&'static Late> {
    let has = |wanted| attribute(options, wanted).is_some();
    let of_kind = LATE.iter().filter(|late| late.kind.as_bytes() == kind);
    of_kind.filter(|late| has(late.attribute) && has(late.with)).collect()
}

/// A text without its zero.
fn name(text: &[u8]) -> &[u8] {
    text.strip_suffix(&[0]).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tc::{parse, Device, Order};

    fn words(line: &str) -> Vec<&'static str> {
        match parse(line, &Device { name: "eth0", ifindex: 3 }).expect("a line of ours") {
            Order::Native { message, .. } => asked(&message).iter().map(|late| late.what).collect(),
            Order::Outside { .. } => panic!("{line} is ours"),
        }
    }

    #[test]
    fn late_options_are_found_in_what_is_sent() {
        let police = "policer that counts packets";
        for (line, wanted) in [
            ("qdisc root fq limit 10 maxrate 1mbit", &[][..]),
            ("qdisc root fq weights 1 2 3", &["weights in fq"]),
            (
                "qdisc root fq_codel ce_threshold 1ms ce_threshold_selector 0xb8/0xfc",
                &["ce_threshold_selector in fq_codel"],
            ),
            // Without a threshold there is nothing to select, and no kernel tells of it.
            ("qdisc root fq_codel ce_threshold_selector 0xb8/0xfc", &[]),
            ("filter ingress matchall action police rate 1mbit burst 10kb drop", &[]),
            ("filter ingress matchall action police pkts_rate 250 pkts_burst 20 drop", &[police]),
            (
                "filter ingress u32 match u8 0 0 at 0 action police pkts_rate 250 pkts_burst 20 drop",
                &[police],
            ),
            ("filter ingress u32 match u8 0 0 at 0 police pkts_rate 250 pkts_burst 20 drop", &[police]),
        ] {
            assert_eq!(words(line), wanted, "{line}");
        }
    }

    #[test]
    fn what_a_kernel_lacks_is_said_as_other_things_that_it_lacks() {
        let error = lacking(&LATE[4]);
        assert_eq!(
            (error.kind, error.message.as_str()),
            (UNSUPPORTED, "this kernel has no policer that counts packets")
        );
        assert!(error.hint.contains("since 5.13"), "{error}");
    }

    #[test]
    fn a_torn_message_is_no_panic() {
        let order = parse(
            "filter ingress matchall action police pkts_rate 9 pkts_burst 9",
            &Device { name: "lo", ifindex: 1 },
        );
        let Ok(Order::Native { message, .. }) = order else { panic!("a line of ours") };
        let bytes = message.body.bytes();
        for end in 0..bytes.len() {
            let _ = within(&bytes[..end]);
        }
    }
}
