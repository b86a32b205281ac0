//! Traffic control: tc's own words in, netlink messages out; statistics back.
//!
//! What [`kinds`] lists is encoded here; a line of any other kind is given to `tc` itself, if the lab has one.

mod action;
mod below;
mod by_hand;
mod change;
pub mod classifier;
mod control;
mod distribution;
mod filter;
mod found;
pub mod kinds;
mod lacking;
mod late;
mod outside;
mod police;
mod rate;
mod row;
mod stab;
pub mod units;
pub mod words;

use crate::error::{Error, Result};
use crate::kernel::netlink::{Attributes, Message, Refusal, Socket, CREATE, EXCL, REPLACE};
pub use below::is_below_root;
pub use by_hand::command;
pub use change::{carry_out, change};
use kinds::{gred, netem, Encoder, Hook, Kind};
pub use lacking::{lacking, lacks_action, lacks_filter};
pub use late::ACTIONS;
pub use row::{dump, Row};
pub(crate) use row::{list, told};
use words::{Find, Words};

pub(crate) const TC_H_ROOT: u32 = 0xffff_ffff;
pub(crate) const TC_H_INGRESS: u32 = 0xffff_fff1;
pub(crate) const TC_H_CLSACT_INGRESS: u32 = 0xffff_fff2;
pub(crate) const TC_H_CLSACT_EGRESS: u32 = 0xffff_fff3;
pub(crate) const TCA_KIND: u16 = 1;
pub(crate) const TCA_OPTIONS: u16 = 2;
/// Inside one action.
pub(crate) const TCA_ACT_KIND: u16 = 1;
pub(crate) const TCA_ACT_OPTIONS: u16 = 2;
const TCA_STAB: u16 = 8;
const NESTED: u16 = 0x8000;
/// First word of a line of a qdisc that is there already: it is to become what the line says.
const CHANGE: &str = "change";
/// What a message of tc holds at most (`MAX_MSG`); an attribute's length has 16 bits.
const LONGEST_OPTIONS: usize = 16_384;

/// The device a line is for.
#[derive(Debug, Clone, Copy)]
pub struct Device<'a> {
    pub name: &'a str,
    pub ifindex: u32,
}

/// The content of `TCA_OPTIONS`; `None` where tc sends no such attribute.
pub type Options = Option<Attributes>;

/// One thing to do on a device.
#[derive(Debug)]
pub enum Order {
    Native {
        line: String,
        kind: String,
        message: Message,
    },
    /// Words for `tc` itself.
    Outside {
        kind: String,
        words: Vec<String>,
    },
}

/// Where a qdisc, class or filter hangs and what it is called.
pub(crate) struct Place {
    pub parent: u32,
    pub handle: u32,
}

/// The lines of an egress in an order that always finds what it refers to: a qdisc's classes follow it at once, filters
/// come last. Lines of `filters` begin with `class` or `filter`; the qdisc lines come back beginning with `qdisc`.
#[must_use]
pub fn in_order(qdiscs: &[String], filters: &[String]) -> Vec<String> {
    let classes: Vec<&String> = filters.iter().filter(|line| line.starts_with("class ")).collect();
    let major = |line: &str, before: &str| {
        let mut found = line.split_whitespace().skip_while(|word| *word != before).skip(1);
        found.next().and_then(|handle| handle.split(':').next()).map(str::to_owned)
    };
    let mut lines = Vec::new();
    for qdisc in qdiscs {
        lines.push(format!("qdisc {qdisc}"));
        let handle = major(qdisc, "handle");
        let under = classes.iter().filter(|class| handle.is_some() && major(class, "parent") == handle);
        lines.extend(under.map(|class| (*class).clone()));
    }
    let missing: Vec<String> = filters.iter().filter(|line| !lines.contains(line)).cloned().collect();
    lines.extend(missing);
    lines
}

/// `"10:"`, `"1:2"`, `"root"`: a handle as tc writes it (hexadecimal).
fn handle(text: &str) -> Result<u32> {
    let number =
        |digits: &str| if digits.is_empty() { Some(0) } else { u16::from_str_radix(digits, 16).ok() };
    let parsed = match text {
        "root" => Some(TC_H_ROOT),
        "none" => Some(0),
        _ => text
            .split_once(':')
            .and_then(|(major, minor)| Some(u32::from(number(major)?) << 16 | u32::from(number(minor)?))),
    };
    parsed.ok_or_else(|| {
        Error::new("qdisc", format!("{text:?} is not a handle")).hint("Handles are hexadecimal: 1: or 1:10.")
    })
}

/// Takes a device's root qdisc away, with all that hangs on it.
#[must_use]
pub fn removal(device: &Device) -> Message {
    let place = Place { parent: TC_H_ROOT, handle: 0 };
    let mut message = tcmsg("remove the root qdisc".to_owned(), libc::RTM_DELQDISC, device, &place, 0);
    message.flags = 0;
    message
}

/// Understands one line (`qdisc …`, `class …` or `filter …`, as [`in_order`] gives them) that names no other device.
pub fn parse(line: &str, device: &Device) -> Result<Order> {
    parse_among(line, device, &|_| None)
}

/// Understands one line; `find` finds the devices of the same node that it may name.
pub fn parse_among(line: &str, device: &Device, find: Find) -> Result<Order> {
    let order = match line.split_once(char::is_whitespace) {
        Some(("qdisc", rest)) => parse_qdisc(line, rest, device),
        Some(("class", rest)) => parse_class(line, rest, device),
        Some(("filter", rest)) => parse_filter(line, rest, device, find),
        _ => Err(Error::new("qdisc", "a line begins with 'class' or 'filter' and says more")),
    };
    order.map_err(|error| Error { kind: "qdisc", message: format!("{} in {line:?}", error.message), ..error })
}

fn outside(line: &str, device: &Device) -> Order {
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let tail = words.split_off(1);
    words.extend(["add", "dev", device.name].map(str::to_owned));
    words.extend(tail);
    Order::Outside { kind: kind_of(line), words }
}

/// The word of a line that names the qdisc.
fn kind_of(line: &str) -> String {
    let mut words = line.split_whitespace().skip(1);
    while let Some(word) = words.next() {
        match word {
            "root" => {}
            "parent" | "handle" | "classid" => drop(words.next()),
            kind => return kind.to_owned(),
        }
    }
    String::new()
}

fn parse_qdisc(line: &str, rest: &str, device: &Device) -> Result<Order> {
    let mut place = Place { parent: TC_H_ROOT, handle: 0 };
    let mut table = None;
    let mut words =
        Words::new("qdisc", &[CHANGE, "root", "parent", "handle", "stab"], rest.split_whitespace().collect());
    let changes = words.skip(CHANGE);
    let name = loop {
        match words.value("qdisc")? {
            "root" => place.parent = TC_H_ROOT,
            "parent" => place.parent = handle(words.value("parent")?)?,
            "handle" => place.handle = handle(words.value("handle")?)?,
            "stab" => table = Some(stab::encode(&mut words)?),
            kind => break kind,
        }
    };
    let Some(kind) = Kind::named(name).filter(|_| !netem::is_foreign(line)) else {
        if changes {
            return Err(Error::new("qdisc", format!("'change' of {name:?}, which the agent does not know")));
        }
        return Ok(outside(line, device));
    };
    if kind.hook == Hook::Ingress {
        place = Place { parent: TC_H_INGRESS, handle: 0xffff_0000 };
    }
    let verb = if changes { CHANGE } else { "add" };
    let mut message = tcmsg(format!("{verb} qdisc {name}"), libc::RTM_NEWQDISC, device, &place, 0);
    if changes || name == "gred" && gred::is_change(&words) {
        message.flags = 0;
    }
    complete(name, &kind.qdisc, kind.nested, &mut words, &mut message)?;
    if let Some(table) = table {
        message.body.put(TCA_STAB, table.bytes());
    }
    Ok(native(line, name, message))
}

fn parse_class(line: &str, rest: &str, device: &Device) -> Result<Order> {
    let mut place = Place { parent: TC_H_ROOT, handle: 0 };
    let mut words = Words::new("class", &["root", "parent", "classid"], rest.split_whitespace().collect());
    let name = loop {
        match words.value("class")? {
            "root" => place.parent = TC_H_ROOT,
            "parent" => place.parent = handle(words.value("parent")?)?,
            "classid" => place.handle = handle(words.value("classid")?)?,
            kind => break kind,
        }
    };
    let Some(kind) = Kind::named(name) else { return Ok(outside(line, device)) };
    let Some(class) = kind.class else { return Ok(outside(line, device)) };
    let mut message = tcmsg(format!("add class of {name}"), libc::RTM_NEWTCLASS, device, &place, 0);
    if name == "ets" {
        // Its classes are there from the beginning: adding one is changing it.
        message.flags = REPLACE;
    }
    complete(name, &class, kind.nested, &mut words, &mut message)?;
    Ok(native(line, name, message))
}

fn parse_filter(line: &str, rest: &str, device: &Device, find: Find) -> Result<Order> {
    let mut place = Place { parent: 0, handle: 0 };
    let (mut protocol, mut priority) = (libc::ETH_P_ALL as u16, 0_u16);
    let takes = &["root", "ingress", "egress", "parent", "protocol", "prio"];
    let mut words = Words::new("filter", takes, rest.split_whitespace().collect()).among(find);
    let name = loop {
        match words.value("filter")? {
            "root" => place.parent = TC_H_ROOT,
            "ingress" => place.parent = TC_H_CLSACT_INGRESS,
            "egress" => place.parent = TC_H_CLSACT_EGRESS,
            "parent" => place.parent = handle(words.value("parent")?)?,
            "protocol" => protocol = words.protocol("protocol")?,
            "prio" | "pref" | "priority" => priority = words.number("prio")?,
            kind => break kind,
        }
    };
    let known = kinds::filter(name).filter(|_| !filter::is_foreign(line));
    let Some(encoder) = known else { return Ok(outside(line, device)) };
    let info = u32::from(priority) << 16 | u32::from(protocol.to_be());
    let mut message = tcmsg(format!("add filter {name}"), libc::RTM_NEWTFILTER, device, &place, info);
    complete(name, encoder, false, &mut words, &mut message)?;
    Ok(native(line, name, message))
}

fn native(line: &str, kind: &str, message: Message) -> Order {
    Order::Native { line: line.to_owned(), kind: kind.to_owned(), message }
}

/// Reads the words that follow the kind's name and adds kind and options to the message.
fn complete<'a>(
    name: &'a str,
    encoder: &Encoder,
    nested: bool,
    words: &mut Words<'a>,
    message: &mut Message,
) -> Result<()> {
    words.begin(name, encoder.takes);
    let options = (encoder.encode)(words)?;
    message.body.text(TCA_KIND, name);
    if let Some(options) = options {
        if options.bytes().len() > LONGEST_OPTIONS {
            return Err(words.fault(format_args!("its options are more than {LONGEST_OPTIONS} bytes")));
        }
        message.body.put(TCA_OPTIONS | if nested { NESTED } else { 0 }, options.bytes());
    }
    Ok(())
}

/// A message with a `struct tcmsg`.
pub(crate) fn tcmsg(what: String, kind: u16, device: &Device, place: &Place, info: u32) -> Message {
    let mut header = vec![libc::AF_UNSPEC as u8, 0, 0, 0];
    for field in [device.ifindex, place.handle, place.parent, info] {
        header.extend(field.to_ne_bytes());
    }
    Message::new(what, kind, CREATE | EXCL, &header)
}

/// Carries out orders, and makes sure that the kernel has what it took. `socket` is open in the device's node; `within` runs work inside that node.
pub fn apply(
    orders: &[Order],
    socket: &mut Socket,
    mut within: impl FnMut(&mut dyn FnMut() -> Result<()>) -> Result<()>,
) -> Result<()> {
    let mut batch = Vec::new();
    for order in orders {
        match order {
            Order::Native { line, kind, message } => batch.push((line.as_str(), kind.as_str(), message)),
            Order::Outside { kind, words } => {
                flush(socket, &mut batch)?;
                within(&mut || outside::run(kind, words))?;
            }
        }
    }
    flush(socket, &mut batch)?;
    let native = orders.iter().filter_map(|order| match order {
        Order::Native { message, .. } => Some(message),
        Order::Outside { .. } => None,
    });
    late::check(native, socket)
}

fn flush(socket: &mut Socket, batch: &mut Vec<(&str, &str, &Message)>) -> Result<()> {
    if batch.is_empty() {
        return Ok(());
    }
    let messages: Vec<Message> = batch.iter().map(|(_, _, message)| (*message).clone()).collect();
    let outcome = socket.batch(&messages).map_err(|refusal| {
        let (line, kind, _) = batch[refusal.index];
        explain(line, kind, refusal)
    });
    batch.clear();
    outcome
}

/// Tells a kind that this kernel lacks, or that this device cannot have, from options that it refuses.
fn explain(line: &str, kind: &str, refusal: Refusal) -> Error {
    let Refusal { errno, error, .. } = refusal;
    let error = Error { kind: "qdisc", ..error };
    let is_filter = line.starts_with("filter ");
    match errno {
        libc::ENOENT if is_filter => lacking::of_filter(line, kind).unwrap_or(error),
        libc::ENOENT => lacking(kind).unwrap_or(error),
        libc::EOPNOTSUPP if !is_filter => match Kind::named(kind).map(|kind| kind.needs) {
            Some(needs) if !needs.is_empty() => error.hint(format!("{kind} needs {needs}.")),
            _ => error,
        },
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_hexadecimal() {
        assert_eq!(handle("1:").ok(), Some(0x10000));
        assert_eq!(handle("1:10").ok(), Some(0x10010));
        assert_eq!(handle("ffff:").ok(), Some(0xffff_0000));
        for wrong in ["", "1", "x:", "10000:", "1:2:3"] {
            assert!(handle(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn classes_follow_their_qdisc_and_filters_come_last() {
        let qdiscs = ["root handle 1: htb default 10", "parent 1:10 handle 20: fq_codel"].map(str::to_owned);
        let filters =
            ["filter parent 1: matchall", "class parent 1: classid 1:10 htb rate 1mbit"].map(str::to_owned);
        let order = in_order(&qdiscs, &filters);
        let firsts: Vec<&str> = order.iter().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(firsts, ["qdisc", "class", "qdisc", "filter"]);
    }

    #[test]
    fn a_wrong_word_is_answered_with_the_nearest() {
        let device = Device { name: "eth0", ifindex: 3 };
        let error = parse("qdisc root fq limmit 10", &device).expect_err("no such word");
        assert!(error.message.starts_with("fq: unknown word 'limmit'"), "{error}");
        assert!(error.hint.starts_with("Did you mean 'limit'? fq takes: limit flow_limit"), "{error}");
    }

    #[test]
    fn a_line_may_change_what_is_there() {
        let device = Device { name: "eth0", ifindex: 3 };
        let flags = |line| match parse(line, &device).expect("a line of ours") {
            Order::Native { message, .. } => message.flags,
            Order::Outside { .. } => panic!("{line} is ours"),
        };
        assert_eq!(flags("qdisc root handle 1: fq buckets 8"), CREATE | EXCL);
        assert_eq!(flags("qdisc change root handle 1: fq buckets 8"), 0);
        assert!(parse("qdisc change root handle 1: dsmark indices 8", &device).is_err());
    }

    #[test]
    fn a_foreign_kind_goes_to_tc_as_it_is() {
        let device = Device { name: "eth0", ifindex: 3 };
        match parse("qdisc root handle 1: dsmark indices 8", &device).expect("words for tc") {
            Order::Outside { kind, words } => {
                assert_eq!(kind, "dsmark");
                assert_eq!(words.join(" "), "qdisc add dev eth0 root handle 1: dsmark indices 8");
            }
            Order::Native { .. } => panic!("dsmark is not native"),
        }
    }
}
