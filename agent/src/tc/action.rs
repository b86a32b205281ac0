//! Actions of a filter: what is done with the packets that it finds (`tc-actions(8)`).
//!
//! They stand in a row: `action skbedit mark 1 pipe action drop`. Each ends with what becomes of the packet then, its
//! control: `pipe` goes on with the next action, `pass` and `drop` end the row.

use super::control::{self, begins, ACTIONS, CONTROLS, PIPE};
use super::words::Words;
use super::{handle, police, NESTED, TCA_ACT_KIND, TCA_ACT_OPTIONS};
use crate::error::Result;
use crate::kernel::netlink::Attributes;

/// The words of each of [`ACTIONS`].
const TAKES: [&[&str]; ACTIONS.len()] = [GENERIC_TAKES, MIRROR_TAKES, police::TAKES, EDIT_TAKES];
const GENERIC_TAKES: &[&str] =
    &["pass", "drop", "pipe", "continue", "reclassify", "trap", "jump", "goto", "random", "index"];
const MIRROR_TAKES: &[&str] = &["ingress", "egress", "mirror", "redirect", "dev", "index"];
const EDIT_TAKES: &[&str] =
    &["mark", "priority", "queue_mapping", "ptype", "inheritdsfield", "pipe", "index"];

/// What takes the packet itself away (`TC_ACT_STOLEN`).
const STOLEN: u32 = 4;
/// `TCA_ACT_MAX_PRIO`: longest row.
const MOST: u16 = 32;

/// Of all kinds but `police`: a structure that begins with `tc_gen`.
const PARMS: u16 = 2;
const GACT_PROB: u16 = 3;
const EDIT_PRIORITY: u16 = 3;
const EDIT_QUEUE: u16 = 4;
const EDIT_MARK: u16 = 5;
const EDIT_PACKET_TYPE: u16 = 7;
const EDIT_MASK: u16 = 8;
const EDIT_FLAGS: u16 = 9;
const INHERIT_DS_FIELD: u64 = 0x20;
/// A probability of `random` is out of so many.
const MOST_OF_RANDOM: u16 = 10_000;

/// The first action of a line that is not encoded here.
#[must_use]
pub fn foreign<'a>(line: &[&'a str]) -> Option<&'a str> {
    let named = line.windows(2).filter(|pair| pair[0] == "action").map(|pair| pair[1]);
    named.filter(|word| *word != "action").find(|word| !begins(word))
}

/// The actions that a line names, each once.
#[must_use]
pub fn named(line: &str) -> Vec<&'static str> {
    let generic = ACTIONS[0];
    let mut found: Vec<&str> = line
        .split_whitespace()
        .filter_map(|word| {
            let known = ACTIONS.iter().find(|name| **name == word).copied();
            known.or_else(|| control::of(word).map(|_| generic))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Reads the row of actions after the word `action`, up to a word of `follow`: those of the filter.
pub fn row(words: &mut Words, follow: &[&str]) -> Result<Attributes> {
    let mut actions = Attributes::new();
    let mut order = 0;
    loop {
        while words.skip("action") {}
        let word = words.value("action")?;
        let is_control = control::of(word).is_some();
        let name = if is_control { "gact" } else { word };
        let Some((name, takes)) = ACTIONS.iter().zip(TAKES).find(|(kind, _)| **kind == name) else {
            let known = ACTIONS.join(" ");
            return Err(words.fault(format_args!("'action {word}': known are {known}, and pass drop pipe …")));
        };
        order += 1;
        if order > MOST {
            return Err(words.fault(format_args!("a filter has at most {MOST} actions")));
        }
        if is_control {
            words.step_back();
        }
        let before = words.begin(name, takes);
        let options = one(words, name)?;
        actions.nest(order, |action| {
            action.text(TCA_ACT_KIND, name).put(TCA_ACT_OPTIONS | NESTED, options.bytes());
        });
        match words.peek() {
            Some(word) if word == "action" || begins(word) => words.begin(before.0, before.1),
            Some(word) if !follow.contains(&word) => return Err(words.unknown(word)),
            _ => {
                words.begin(before.0, before.1);
                return Ok(actions);
            }
        };
    }
}

fn one(words: &mut Words, name: &str) -> Result<Attributes> {
    match name {
        "police" => police::encode(words),
        "mirred" => mirror(words),
        "skbedit" => edit(words),
        _ => generic(words),
    }
}

/// A control that must be there.
fn needed(words: &mut Words) -> Result<u32> {
    control::read(words)?.ok_or_else(|| {
        let known = CONTROLS.map(|(name, _)| name).join(" ");
        words.fault(format_args!("it needs one of {known}"))
    })
}

fn index(words: &mut Words) -> Result<u32> {
    if words.skip("index") {
        return words.number("index");
    }
    Ok(0)
}

/// A `struct` of `tc_gen`: the action's number among its kind, its control; counters are the kernel's.
fn general(index: u32, control: u32) -> Vec<u8> {
    [index, 0, control, 0, 0].map(u32::to_ne_bytes).concat()
}

/// `CONTROL [random netrand|determ CONTROL NUMBER] [index NUMBER]`
fn generic(words: &mut Words) -> Result<Attributes> {
    let mut by_chance = None;
    let first = if words.peek() == Some("index") { 0 } else { needed(words)? };
    if words.skip("random") {
        let kind: u16 = match words.value("random")? {
            "netrand" => 1,
            "determ" => 2,
            other => return Err(words.fault(format_args!("'random {other}': it is netrand or determ"))),
        };
        let other = needed(words)?;
        let number = words.number_up_to("random", MOST_OF_RANDOM.into())? as u16;
        let mut bytes = [kind, number].map(u16::to_ne_bytes).concat();
        bytes.extend(other.to_ne_bytes());
        by_chance = Some(bytes);
    }
    let mut options = Attributes::new();
    options.put(PARMS, &general(index(words)?, first));
    if let Some(bytes) = by_chance {
        options.put(GACT_PROB, &bytes);
    }
    Ok(options)
}

/// `ingress|egress mirror|redirect [index NUMBER] dev DEVICE [CONTROL] [index NUMBER]`; only a mirror has a control.
fn mirror(words: &mut Words) -> Result<Attributes> {
    let incoming = match words.value("mirred")? {
        "egress" => 0,
        "ingress" => 2,
        other => return Err(words.unknown(other)),
    };
    let (copies, mut control) = match words.value("mirred")? {
        "redirect" => (0, STOLEN),
        "mirror" => (1, PIPE),
        other => return Err(words.unknown(other)),
    };
    let mut number = index(words)?;
    if !words.skip("dev") {
        return Err(words.fault("it needs 'dev' and a device"));
    }
    let device = words.device("dev")?;
    if copies == 1 {
        control = control::read(words)?.unwrap_or(control);
    }
    number = number.max(index(words)?);
    let mut bytes = general(number, control);
    bytes.extend([1 + incoming + copies, device].map(u32::to_ne_bytes).concat());
    let mut options = Attributes::new();
    options.put(PARMS, &bytes);
    Ok(options)
}

/// What is changed of a packet on its way.
#[derive(Default)]
struct Edit {
    queue: Option<u16>,
    priority: Option<u32>,
    mark: Option<u32>,
    mask: Option<u32>,
    packet_type: Option<u16>,
    inherits: bool,
}

impl Edit {
    /// Reads a word if it is one of these.
    fn read(&mut self, words: &mut Words, word: &str) -> Result<()> {
        match word {
            "queue_mapping" => self.queue = Some(words.number(word)?),
            "priority" => self.priority = Some(handle(words.value(word)?)?),
            "mark" => (self.mark, self.mask) = words.number_and_mask(word)?,
            "inheritdsfield" => self.inherits = true,
            _ => {
                let types = ["host", "broadcast", "multicast", "otherhost"];
                let name = words.value(word)?;
                let found = (0..).zip(types).find(|(_, known)| *known == name);
                let unknown =
                    || words.fault(format_args!("'ptype {name}': it is one of {}", types.join(" ")));
                self.packet_type = Some(found.ok_or_else(unknown)?.0);
            }
        }
        Ok(())
    }
}

impl Edit {
    fn put(&self, options: &mut Attributes) {
        if let Some(queue) = self.queue {
            options.u16(EDIT_QUEUE, queue);
        }
        for (kind, value) in [(EDIT_PRIORITY, self.priority), (EDIT_MARK, self.mark), (EDIT_MASK, self.mask)]
        {
            if let Some(value) = value {
                options.u32(kind, value);
            }
        }
        if let Some(packet_type) = self.packet_type {
            options.u16(EDIT_PACKET_TYPE, packet_type);
        }
        if self.inherits {
            options.u64(EDIT_FLAGS, INHERIT_DS_FIELD);
        }
    }
}

fn edit(words: &mut Words) -> Result<Attributes> {
    const OWN: [&str; 5] = ["queue_mapping", "priority", "mark", "ptype", "inheritdsfield"];
    let mut edit = Edit::default();
    let mut any = false;
    while let Some(word) = words.peek().filter(|word| OWN.contains(word)) {
        words.take();
        edit.read(words, word)?;
        any = true;
    }
    let control = control::read(words)?.unwrap_or(PIPE);
    let number = index(words)?;
    control::ended(words)?;
    if !any && number == 0 {
        return Err(words
            .fault("it needs something to change: mark, priority, queue_mapping, ptype or inheritdsfield"));
    }
    let mut options = Attributes::new();
    options.put(PARMS, &general(number, control));
    edit.put(&mut options);
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_its_actions_and_the_foreign_ones() {
        let line = "filter egress matchall action skbedit mark 1 pipe action gact drop action mirred egress mirror dev x";
        assert_eq!(named(line), ["gact", "mirred", "skbedit"]);
        assert_eq!(foreign(&line.split(' ').collect::<Vec<_>>()), None);
        assert_eq!(foreign(&["matchall", "action", "drop", "action", "vlan", "pop"]), Some("vlan"));
    }

    #[test]
    fn a_row_of_actions_is_not_endless() {
        let line = vec!["drop"; 40];
        let mut words = Words::new("matchall", &[], line);
        let error = row(&mut words, &[]).expect_err("too many");
        assert!(error.message.contains("at most 32"), "{error}");
    }
}
