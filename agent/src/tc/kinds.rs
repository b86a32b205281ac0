//! The kinds that are encoded here, and what is to be known of each: the one list of them.
//!
//! `rushhour-agent kinds` prints it; the Python side reads that as `plan/kinds.json`, and a test holds the two together.

use serde_json::{json, Map, Value};

use super::words::{self, Words};
use super::{
    action, cake, cbs, choke, codel, dualpi2, etf, fifo, filter, fq, gred, hfsc, hhf, htb, mqprio, netem,
    pie, plug, prio, qfq, red, sfb, sfq, tbf, Options,
};
use crate::error::Result;

type Encode = fn(&mut Words) -> Result<Options>;

/// Turns words into options.
#[derive(Clone, Copy)]
pub struct Encoder {
    /// Every word it takes, for errors.
    pub takes: &'static [&'static str],
    pub encode: Encode,
}

/// What a buffer becomes in the words of a kind: the word, and whether it counts packets or bytes.
#[derive(Clone, Copy)]
enum Buffer {
    None,
    Packets(&'static str),
    Bytes(&'static str),
}

/// A kind of queue discipline, with its classes if it has any.
pub struct Kind {
    pub name: &'static str,
    pub qdisc: Encoder,
    pub class: Option<Encoder>,
    /// What it takes beside its words before packets pass; empty where it works alone.
    pub needs: &'static str,
    /// The options of a dump are the options of a request, and nothing stands below it.
    pub returns: bool,
    /// The kernel insists on options that are marked as nested.
    pub nested: bool,
    buffer: Buffer,
}

const fn kind(name: &'static str, takes: &'static [&'static str], encode: Encode) -> Kind {
    let qdisc = Encoder { takes, encode };
    let (class, needs, buffer) = (None, "", Buffer::None);
    Kind { name, qdisc, class, needs, returns: false, nested: false, buffer }
}

impl Kind {
    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        QDISCS.iter().find(|kind| kind.name == name)
    }

    const fn with_class(self, takes: &'static [&'static str], encode: Encode) -> Self {
        Self { class: Some(Encoder { takes, encode }), ..self }
    }

    const fn needing(self, needs: &'static str) -> Self {
        Self { needs, ..self }
    }

    const fn returns(self) -> Self {
        Self { returns: true, ..self }
    }

    const fn nested(self) -> Self {
        Self { nested: true, ..self }
    }

    const fn packets(self) -> Self {
        Self { buffer: Buffer::Packets("limit"), ..self }
    }

    const fn bytes(self, word: &'static str) -> Self {
        Self { buffer: Buffer::Bytes(word), ..self }
    }
}

const CLASSES: &str = "classes, and filters that choose them";
const QUEUES: &str = "a device with several queues";
const DEPARTURES: &str = "packets with a time of departure (SO_TXTIME)";
const RELEASE: &str = "somebody who releases it";

/// Every kind, with the words of `pkt_sched.h`; in the order in which errors and documents name them.
pub const QDISCS: &[Kind] = &[
    kind("pfifo", fifo::TAKES, fifo::encode).packets().returns(),
    kind("bfifo", fifo::TAKES, fifo::encode).bytes("limit").returns(),
    kind("pfifo_head_drop", fifo::TAKES, fifo::encode).packets().returns(),
    kind("pfifo_fast", &[], words::nothing).returns(),
    kind("noqueue", &[], words::nothing),
    kind("ingress", &[], words::nothing),
    kind("clsact", &[], words::nothing),
    kind("tbf", tbf::TAKES, tbf::encode).returns(),
    kind("htb", htb::TAKES, htb::encode).with_class(htb::CLASS_TAKES, htb::class),
    kind("hfsc", hfsc::TAKES, hfsc::encode).with_class(hfsc::CLASS_TAKES, hfsc::class).needing(CLASSES),
    kind("netem", netem::TAKES, netem::encode).packets(),
    kind("red", red::TAKES, red::encode).bytes("limit"),
    kind("gred", gred::TAKES, gred::encode).bytes("limit"),
    kind("choke", choke::TAKES, choke::encode).packets(),
    kind("sfb", sfb::TAKES, sfb::encode).packets(),
    kind("codel", codel::TAKES, codel::encode).packets().returns(),
    kind("fq_codel", codel::FQ_TAKES, codel::encode_fq).packets().returns(),
    kind("fq", fq::TAKES, fq::encode).packets().returns(),
    kind("pie", pie::TAKES, pie::encode).packets().returns(),
    kind("fq_pie", pie::FQ_TAKES, pie::encode_fq).packets().returns().nested(),
    kind("dualpi2", dualpi2::TAKES, dualpi2::encode).packets().nested(),
    kind("cake", cake::TAKES, cake::encode).bytes("memlimit").returns(),
    kind("sfq", sfq::TAKES, sfq::encode).packets().returns(),
    kind("hhf", hhf::TAKES, hhf::encode).packets().returns(),
    kind("skbprio", fifo::TAKES, fifo::encode).packets(),
    kind("prio", prio::TAKES, prio::encode),
    kind("multiq", &[], prio::encode_multiq).needing(QUEUES),
    kind("drr", &[], words::nothing).with_class(prio::QUANTUM_TAKES, prio::drr_class).needing(CLASSES),
    kind("qfq", &[], words::nothing).with_class(qfq::CLASS_TAKES, qfq::class).needing(CLASSES),
    kind("ets", prio::ETS_TAKES, prio::encode_ets).with_class(prio::QUANTUM_TAKES, prio::ets_class).nested(),
    kind("mqprio", mqprio::TAKES, mqprio::encode).needing(QUEUES),
    kind("taprio", mqprio::TIMED_TAKES, mqprio::encode_timed).needing(QUEUES),
    kind("cbs", cbs::TAKES, cbs::encode),
    kind("etf", etf::TAKES, etf::encode).needing(DEPARTURES),
    kind("plug", plug::TAKES, plug::encode).needing(RELEASE),
];

/// The filters.
const FILTERS: [(&str, Encoder); 2] = [
    ("matchall", Encoder { takes: filter::MATCHALL_TAKES, encode: filter::matchall }),
    ("u32", Encoder { takes: filter::U32_TAKES, encode: filter::u32 }),
];

/// The filter of this name.
#[must_use]
pub fn filter(name: &str) -> Option<&'static Encoder> {
    FILTERS.iter().find(|(known, _)| *known == name).map(|(_, encoder)| encoder)
}

/// The names of all queue disciplines.
#[must_use]
pub fn qdiscs() -> Vec<&'static str> {
    QDISCS.iter().map(|kind| kind.name).collect()
}

/// The list for programs that write plans.
#[must_use]
pub fn document() -> Value {
    let qdiscs: Map<String, Value> = QDISCS.iter().map(|kind| (kind.name.to_owned(), about(kind))).collect();
    json!({
        "qdiscs": qdiscs,
        "filters": FILTERS.map(|(name, _)| name),
        "actions": action::KINDS.map(|(name, _)| name),
        "controls": action::CONTROLS.map(|(name, _)| name),
        "foreign": {
            "filter": filter::FOREIGN,
            "match": filter::FOREIGN_MATCHES,
            "distribution": netem::FOREIGN_TABLES,
        },
    })
}

fn about(kind: &Kind) -> Value {
    let mut about = Map::new();
    match kind.buffer {
        Buffer::None => {}
        Buffer::Packets(word) => drop(about.insert("packets".to_owned(), word.into())),
        Buffer::Bytes(word) => drop(about.insert("bytes".to_owned(), word.into())),
    }
    if kind.class.is_some() {
        about.insert("classes".to_owned(), true.into());
    }
    if !kind.needs.is_empty() {
        about.insert("needs".to_owned(), kind.needs.into());
    }
    about.into()
}

/// Writes the list to standard output.
pub fn command() {
    println!("{:#}", document());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_plans_are_written_by_is_this_list() {
        let kept: Value = serde_json::from_str(include_str!("../../../src/rushhour/plan/kinds.json"))
            .expect("src/rushhour/plan/kinds.json parses");
        assert_eq!(kept, document(), "renew it: rushhour-agent kinds > src/rushhour/plan/kinds.json");
    }

    #[test]
    fn no_kind_is_listed_twice() {
        let names = qdiscs();
        assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)));
    }
}
