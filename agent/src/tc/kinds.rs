//! The kinds that are encoded here, and what is to be known of each.
//!
//! `src/rushhour/tc/kinds.json` is the one list of queue disciplines: `build.rs` makes [`QDISCS`] from it, and plans are
//! written by it. Every file of the folder beside this one has encoders that rows of the list name.

use super::words::{self, Words};
use super::{control, filter, Options};
use crate::error::Result;

type Encode = fn(&mut Words) -> Result<Options>;

/// Turns words into options.
#[derive(Clone, Copy)]
pub struct Encoder {
    /// Every word it takes, for errors.
    pub takes: &'static [&'static str],
    pub encode: Encode,
}

/// Of kinds without options.
const NOTHING: Encoder = Encoder { takes: &[], encode: words::nothing };

/// Where a kind hangs on a device.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    Root,
    /// Beside the root, where packets arrive.
    Ingress,
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
    /// Its words alone make it a device's queue.
    pub alone: bool,
    pub hook: Hook,
    /// The end of the option of the kernel's configuration that brings it, `CONFIG_NET_SCH_…`; empty where none does.
    pub option: &'static str,
    /// Options of four bytes that facts tell, by the number of their attribute.
    pub told: &'static [(u16, &'static str)],
}

impl Kind {
    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        QDISCS.iter().find(|kind| kind.name == name)
    }
}

include!(concat!(env!("OUT_DIR"), "/kinds.rs"));
encoders!();

/// The filters.
const FILTERS: [(&str, Encoder); 2] = [
    ("matchall", Encoder { takes: filter::MATCHALL_TAKES, encode: filter::matchall }),
    ("u32", Encoder { takes: control::U32_TAKES, encode: filter::u32 }),
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

/// The list that this agent was built with, for programs that write plans.
pub const LIST: &str = include_str!("../../../src/rushhour/tc/kinds.json");

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, Value};

    #[test]
    fn the_list_has_every_filter_and_action_that_is_encoded_here() {
        let list: Value = serde_json::from_str(LIST).expect("kinds.json parses");
        assert_eq!(list["filters"], json!(FILTERS.map(|(name, _)| name)));
        assert_eq!(list["actions"], json!(control::ACTIONS));
        assert_eq!(list["controls"], json!(control::CONTROLS.map(|(name, _)| name)));
        let foreign = json!({
            "filter": filter::FOREIGN,
            "match": filter::FOREIGN_MATCHES,
            "distribution": netem::FOREIGN_TABLES,
        });
        assert_eq!(list["foreign"], foreign);
    }

    #[test]
    fn no_kind_is_listed_twice() {
        let names = qdiscs();
        assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)));
    }
}
