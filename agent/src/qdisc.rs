//! Traffic control: tc's own words in, netlink messages out; statistics back.
//!
//! The common qdiscs are encoded here; a line of any other kind is given to `tc` itself, if the lab has one.

mod cake;
mod codel;
mod distribution;
mod fifo;
mod filter;
mod found;
mod fq;
mod htb;
mod netem;
mod outside;
mod pie;
mod prio;
mod rate;
mod red;
mod row;
mod sfq;
mod stab;
mod tbf;
pub mod units;
pub mod words;

use crate::error::{Error, Result};
use crate::netlink::{Attributes, Message, Refusal, Socket, CREATE, EXCL, REPLACE};
pub use outside::lacking;
pub use row::{dump, Row};
use words::Words;

pub(crate) const TC_H_ROOT: u32 = 0xffff_ffff;
const TC_H_INGRESS: u32 = 0xffff_fff1;
pub(crate) const TC_H_CLSACT_INGRESS: u32 = 0xffff_fff2;
pub(crate) const TC_H_CLSACT_EGRESS: u32 = 0xffff_fff3;
pub(crate) const TCA_KIND: u16 = 1;
pub(crate) const TCA_OPTIONS: u16 = 2;
const TCA_STAB: u16 = 8;
const NESTED: u16 = 0x8000;
/// Younger kinds want their options marked as nested; the older ones never were.
const INSIST_ON_NESTED: [&str; 2] = ["fq_pie", "ets"];

/// The device a line is for.
#[derive(Debug, Clone, Copy)]
pub struct Device<'a> {
    pub name: &'a str,
    pub ifindex: u32,
}

/// The content of `TCA_OPTIONS`; `None` where tc sends no such attribute.
pub type Options = Option<Attributes>;

/// A kind of qdisc that is encoded here, with its classes if it has any.
struct Kind {
    name: &'static str,
    qdisc: Encoder,
    class: Option<Encoder>,
}

/// Turns words into options.
#[derive(Clone, Copy)]
struct Encoder {
    /// Every word it takes, for errors.
    takes: &'static [&'static str],
    encode: fn(&mut Words) -> Result<Options>,
}

const fn kind(
    name: &'static str,
    takes: &'static [&'static str],
    encode: fn(&mut Words) -> Result<Options>,
) -> Kind {
    Kind { name, qdisc: Encoder { takes, encode }, class: None }
}

impl Kind {
    const fn with_class(
        self,
        takes: &'static [&'static str],
        encode: fn(&mut Words) -> Result<Options>,
    ) -> Self {
        Self { class: Some(Encoder { takes, encode }), ..self }
    }
}

const KINDS: &[Kind] = &[
    kind("pfifo", fifo::TAKES, fifo::encode),
    kind("bfifo", fifo::TAKES, fifo::encode),
    kind("pfifo_head_drop", fifo::TAKES, fifo::encode),
    kind("pfifo_fast", &[], words::nothing),
    kind("noqueue", &[], words::nothing),
    kind("ingress", &[], words::nothing),
    kind("clsact", &[], words::nothing),
    kind("tbf", tbf::TAKES, tbf::encode),
    kind("htb", htb::TAKES, htb::encode).with_class(htb::CLASS_TAKES, htb::class),
    kind("netem", netem::TAKES, netem::encode),
    kind("red", red::TAKES, red::encode),
    kind("codel", codel::TAKES, codel::encode),
    kind("fq_codel", codel::FQ_TAKES, codel::encode_fq),
    kind("fq", fq::TAKES, fq::encode),
    kind("pie", pie::TAKES, pie::encode),
    kind("fq_pie", pie::FQ_TAKES, pie::encode_fq),
    kind("cake", cake::TAKES, cake::encode),
    kind("sfq", sfq::TAKES, sfq::encode),
    kind("prio", prio::TAKES, prio::encode),
    kind("drr", &[], words::nothing).with_class(prio::QUANTUM_TAKES, prio::drr_class),
    kind("ets", prio::ETS_TAKES, prio::encode_ets).with_class(prio::QUANTUM_TAKES, prio::ets_class),
];

/// The filters that are encoded here.
const FILTERS: [(&str, Encoder); 2] = [
    ("matchall", Encoder { takes: filter::MATCHALL_TAKES, encode: filter::matchall }),
    ("u32", Encoder { takes: filter::U32_TAKES, encode: filter::u32 }),
];

/// The qdiscs that need no `tc`.
#[must_use]
pub fn native() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}

/// One thing to do on a device.
#[derive(Debug)]
pub enum Order {
    Native {
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

/// Whether a line belongs to what is removed with the root.
#[must_use]
pub fn is_below_root(line: &str) -> bool {
    !line.split_whitespace().any(|word| matches!(word, "clsact" | "ingress" | "egress"))
}

/// Takes a device's root qdisc away, with all that hangs on it.
#[must_use]
pub fn removal(device: &Device) -> Message {
    let place = Place { parent: TC_H_ROOT, handle: 0 };
    let mut message = tcmsg("remove the root qdisc".to_owned(), libc::RTM_DELQDISC, device, &place, 0);
    message.flags = 0;
    message
}

/// A line of a qdisc or class that is there already, as what it is to become.
///
/// # Errors
/// A line that makes no sense, or whose kind is not encoded here.
pub fn change(line: &str, device: &Device) -> Result<Message> {
    match parse(line, device)? {
        Order::Native { kind, mut message } => {
            message.flags = 0;
            Ok(message.called(format!("change {kind} of {}", device.name)))
        }
        Order::Outside { kind, .. } => {
            Err(Error::new("qdisc", format!("a change of {kind:?} is not possible while packets pass"))
                .hint("Rates are changed at tbf and htb."))
        }
    }
}

/// Understands one line (`qdisc …`, `class …` or `filter …`, as [`in_order`] gives them).
pub fn parse(line: &str, device: &Device) -> Result<Order> {
    let order = match line.split_once(char::is_whitespace) {
        Some(("qdisc", rest)) => parse_qdisc(line, rest, device),
        Some(("class", rest)) => parse_class(line, rest, device),
        Some(("filter", rest)) => parse_filter(line, rest, device),
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
        Words::new("qdisc", &["root", "parent", "handle", "stab"], rest.split_whitespace().collect());
    let name = loop {
        match words.value("qdisc")? {
            "root" => place.parent = TC_H_ROOT,
            "parent" => place.parent = handle(words.value("parent")?)?,
            "handle" => place.handle = handle(words.value("handle")?)?,
            "stab" => table = Some(stab::encode(&mut words)?),
            kind => break kind,
        }
    };
    let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else { return Ok(outside(line, device)) };
    if matches!(name, "ingress" | "clsact") {
        place = Place { parent: TC_H_INGRESS, handle: 0xffff_0000 };
    }
    let mut message = tcmsg(format!("add qdisc {name}"), libc::RTM_NEWQDISC, device, &place, 0);
    kind.qdisc.complete(name, &mut words, &mut message)?;
    if let Some(table) = table {
        message.body.put(TCA_STAB, table.bytes());
    }
    Ok(Order::Native { kind: name.to_owned(), message })
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
    let known = KINDS.iter().find(|kind| kind.name == name).and_then(|kind| kind.class);
    let Some(class) = known else { return Ok(outside(line, device)) };
    let mut message = tcmsg(format!("add class of {name}"), libc::RTM_NEWTCLASS, device, &place, 0);
    if name == "ets" {
        // Its classes are there from the beginning: adding one is changing it.
        message.flags = REPLACE;
    }
    class.complete(name, &mut words, &mut message)?;
    Ok(Order::Native { kind: name.to_owned(), message })
}

fn parse_filter(line: &str, rest: &str, device: &Device) -> Result<Order> {
    let mut place = Place { parent: 0, handle: 0 };
    let (mut protocol, mut priority) = (libc::ETH_P_ALL as u16, 0_u16);
    let takes = &["root", "ingress", "egress", "parent", "protocol", "prio"];
    let mut words = Words::new("filter", takes, rest.split_whitespace().collect());
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
    let known = FILTERS.iter().find(|(known, _)| *known == name).filter(|_| !filter::is_foreign(line));
    let Some((_, encoder)) = known else { return Ok(outside(line, device)) };
    let info = u32::from(priority) << 16 | u32::from(protocol.to_be());
    let mut message = tcmsg(format!("add filter {name}"), libc::RTM_NEWTFILTER, device, &place, info);
    encoder.complete(name, &mut words, &mut message)?;
    Ok(Order::Native { kind: name.to_owned(), message })
}

impl Encoder {
    /// Reads the words that follow the kind's name and adds kind and options to the message.
    fn complete<'a>(&self, name: &'a str, words: &mut Words<'a>, message: &mut Message) -> Result<()> {
        words.begin(name, self.takes);
        let options = (self.encode)(words)?;
        message.body.text(TCA_KIND, name);
        if let Some(options) = options {
            let mark = if INSIST_ON_NESTED.contains(&name) { NESTED } else { 0 };
            message.body.put(TCA_OPTIONS | mark, options.bytes());
        }
        Ok(())
    }
}

/// A message with a `struct tcmsg`.
pub(crate) fn tcmsg(what: String, kind: u16, device: &Device, place: &Place, info: u32) -> Message {
    let mut header = vec![libc::AF_UNSPEC as u8, 0, 0, 0];
    for field in [device.ifindex, place.handle, place.parent, info] {
        header.extend(field.to_ne_bytes());
    }
    Message::new(what, kind, CREATE | EXCL, &header)
}

/// Carries out orders. `socket` is open in the device's node; `within` runs work inside that node.
pub fn apply(
    orders: &[Order],
    socket: &mut Socket,
    mut within: impl FnMut(&mut dyn FnMut() -> Result<()>) -> Result<()>,
) -> Result<()> {
    let mut batch = Vec::new();
    let mut kinds = Vec::new();
    for order in orders {
        match order {
            Order::Native { kind, message } => {
                kinds.push(kind.as_str());
                batch.push(message.clone());
            }
            Order::Outside { kind, words } => {
                flush(socket, &mut batch, &mut kinds)?;
                within(&mut || outside::run(kind, words))?;
            }
        }
    }
    flush(socket, &mut batch, &mut kinds)
}

fn flush(socket: &mut Socket, batch: &mut Vec<Message>, kinds: &mut Vec<&str>) -> Result<()> {
    if batch.is_empty() {
        return Ok(());
    }
    let outcome = socket.batch(batch).map_err(|refusal| explain(kinds[refusal.index], refusal));
    batch.clear();
    kinds.clear();
    outcome
}

/// Tells a kind that this kernel lacks from options that it refuses.
fn explain(kind: &str, refusal: Refusal) -> Error {
    let Refusal { errno, error, .. } = refusal;
    let error = Error { kind: "qdisc", ..error };
    if errno != libc::ENOENT {
        return error;
    }
    outside::lacking(kind).unwrap_or(error)
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
    fn a_foreign_kind_goes_to_tc_as_it_is() {
        let device = Device { name: "eth0", ifindex: 3 };
        match parse("qdisc root handle 1: hfsc default 1", &device).expect("words for tc") {
            Order::Outside { kind, words } => {
                assert_eq!(kind, "hfsc");
                assert_eq!(words.join(" "), "qdisc add dev eth0 root handle 1: hfsc default 1");
            }
            Order::Native { .. } => panic!("hfsc is not native"),
        }
    }
}
